/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* open.c - opening real files: what open(2) would do, and what we know of the file then */

#include "real.h"

#include "reactor/file.h"

static struct turn turn;

static int open_status_flags(const char *path, int oflags, unsigned flags)
{
	rpma_uv_file_t *const none = (rpma_uv_file_t *)&turn, *file = none;
	int status =
		turn_wait(rpma_uv_file_open(&turn.reactor, NULL, path, oflags, 0600, flags, &file));

	assert_true(status < 0);
	assert_ptr_equal(file, none);
	return status;
}

static int open_status(const char *path, int oflags)
{
	return open_status_flags(path, oflags, 0);
}

static void open__refusals(void **state)
{
	(void)state;
	turn_open(&turn, NULL);
	real_close(&turn, real_open(&turn, "there", O_CREAT | O_WRONLY, 0));
	assert_int_equal(open_status(turn_path("missing"), O_RDWR), UV_ENOENT);
	assert_int_equal(open_status(turn_path("no/where"), O_RDWR | O_CREAT), UV_ENOENT);
	assert_int_equal(open_status(turn_path("there/x"), O_RDWR | O_CREAT), UV_ENOTDIR);
	assert_int_equal(open_status(turn_path("there"), O_RDWR | O_CREAT | O_EXCL), UV_EEXIST);
	assert_int_equal(open_status(turn_path("."), O_RDWR | O_CREAT), UV_EISDIR);
	assert_int_equal(open_status("", O_RDWR), UV_ENOENT);
	assert_int_equal(open_status(NULL, O_RDWR), UV_EINVAL);
	assert_int_equal(open_status(turn_path("there"), O_RDWR | O_APPEND), UV_EINVAL);
	assert_int_equal(open_status(turn_path("there"), O_PATH), UV_EINVAL);
	assert_int_equal(open_status(turn_path("."), O_RDWR | O_CREAT | O_TMPFILE), UV_EINVAL);
	assert_int_equal(
		open_status_flags(turn_path("there"), O_RDWR, RPMA_UV_FILE_DIRECT << 1), UV_EINVAL);
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&turn.reactor, NULL, "there", O_RDWR, 0, 0, NULL)),
		UV_EINVAL);
	turn_close(&turn);
}

static bool is_unnamed(const char *name, int oflags)
{
	rpma_uv_file_t *file = real_open(&turn, name, oflags, 0);
	bool ret = rpma_uv__file_is_unnamed(file);

	assert_int_equal(turn_wait(rpma_uv_file_sync(file, NULL)), 0);
	assert_false(rpma_uv__file_is_unnamed(file));
	real_close(&turn, file);
	return ret;
}

/* did we create it? */
static void open__created(void **state)
{
	char link_path[4096];

	(void)state;
	turn_open(&turn, NULL);
	assert_true(is_unnamed("new", O_CREAT | O_WRONLY));
	assert_int_equal(truncate(turn_path("new"), 10), 0);
	assert_false(is_unnamed("new", O_CREAT | O_WRONLY));
	assert_false(is_unnamed("new", O_WRONLY));
	assert_true(is_unnamed("new2", O_CREAT | O_EXCL | O_WRONLY));
	/* a link that leads to no file yet: O_EXCL finds it taken, and yet we create */
	strcpy(link_path, turn_path("link"));
	assert_int_equal(symlink("target", link_path), 0);
	assert_true(is_unnamed("link", O_CREAT | O_WRONLY));
	assert_int_equal(access(turn_path("target"), F_OK), 0);
	assert_false(is_unnamed(".", O_TMPFILE | O_RDWR));
	turn_close(&turn);
}

/* the working directory, in which the name was, is another one when the sync comes */
static void open__moved_meanwhile(void **state)
{
	rpma_uv_file_t *file = NULL;
	char *before = getcwd(NULL, 0);

	(void)state;
	turn_open(&turn, NULL);
	assert_int_equal(chdir(turn_path("")), 0);
	assert_int_equal(turn_wait(rpma_uv_file_open(&turn.reactor, NULL, "relative",
				 O_CREAT | O_RDWR, 0600, 0, &file)),
		0);
	assert_int_equal(chdir(before), 0);
	assert_int_equal(turn_wait(rpma_uv_file_sync(file, NULL)), 0);
	real_close(&turn, file);
	turn_close(&turn);
	free(before);
}

static void open__mode_and_flags(void **state)
{
	rpma_uv_file_t *file;
	struct stat st;
	mode_t mask = umask(0);

	(void)state;
	turn_open(&turn, NULL);
	file = real_open(&turn, "mode", O_CREAT | O_RDWR, 0);
	assert_int_equal(stat(turn_path("mode"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	real_close(&turn, file);
	assert_int_equal(truncate(turn_path("mode"), 100), 0);
	file = real_open(&turn, "mode", O_CREAT | O_RDWR | O_TRUNC, 0);
	assert_int_equal(stat(turn_path("mode"), &st), 0);
	assert_int_equal(st.st_size, 0);
	real_close(&turn, file);
	turn_close(&turn);
	umask(mask);
}

/* O_DIRECT in the flags of open(2) means the same as ours: the tail still works */
static void open__o_direct(void **state)
{
	rpma_uv_file_t *file;
	char bytes[100] = "";
	uv_buf_t buf = uv_buf_init(bytes, sizeof(bytes));

	(void)state;
	turn_open(&turn, NULL);
	file = real_open(&turn, "direct", O_CREAT | O_RDWR | O_DIRECT, 0);
	assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, &buf, 1, 3, 0)), 0);
	real_close(&turn, file);
	turn_close(&turn);
}

/* a file system that says nothing about direct I/O */
static void open__tmpfs(void **state)
{
	rpma_uv_file_t *file = NULL;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/dev/shm/rpma-uv-%d", (int)getpid());
	turn_open(&turn, NULL);
	if (turn_wait(rpma_uv_file_open(&turn.reactor, NULL, path, O_CREAT | O_RDWR, 0600,
		    RPMA_UV_FILE_DIRECT, &file)) == 0) {
		uv_buf_t buf = uv_buf_init(path, sizeof(path));

		unlink(path);
		assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, &buf, 1, 0, 0)), 0);
		assert_int_equal(turn_wait(rpma_uv_file_sync(file, NULL)), 0);
		real_close(&turn, file);
	}
	turn_close(&turn);
}

TURN_MAIN(cmocka_unit_test(open__refusals), cmocka_unit_test(open__created),
	cmocka_unit_test(open__moved_meanwhile), cmocka_unit_test(open__mode_and_flags),
	cmocka_unit_test(open__o_direct), cmocka_unit_test(open__tmpfs))
