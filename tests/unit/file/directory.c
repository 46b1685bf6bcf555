/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * directory.c - the directory of a file that we created is synced once, with the first sync
 *
 * Proven: a file that was there costs nothing; a failure to sync the name is a failure to sync; the
 * file's descriptors are all closed in the end (scripted_end() counts).
 */

#include "reactor/file.h"
#include "scripted.h"

#define CREATE (O_CREAT | O_RDWR)

static struct scripted s;

static void directory__of_a_new_file(void **state)
{
	(void)state;
	scripted_open(&s, 0, CREATE, -1);
	assert_true(rpma_uv__file_is_unnamed(s.file));
	assert_int_equal(write_now(&s, 0, 4096), 0);
	assert_false(ring_double_has_name());
	assert_int_equal(sync_now(&s), 0);
	assert_true(ring_double_has_name());
	assert_false(rpma_uv__file_is_unnamed(s.file));
	assert_string_equal(ring_double_log(), "openat openat write(0,4096) fdatasync fsync close");
	assert_int_equal(sync_now(&s), 0);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FSYNC), 1);
	scripted_end(&s);
}

static void directory__of_an_old_file(void **state)
{
	(void)state;
	scripted_open(&s, 0, CREATE, 100);
	assert_false(rpma_uv__file_is_unnamed(s.file));
	assert_int_equal(sync_now(&s), 0);
	/* O_EXCL says that it is there; its size says that it was not made between two openings */
	assert_string_equal(ring_double_log(), "openat openat statx fdatasync");
	scripted_end(&s);
}

static void directory__without_o_creat(void **state)
{
	(void)state;
	scripted_open(&s, 0, O_RDWR, 0);
	assert_int_equal(sync_now(&s), 0);
	assert_string_equal(ring_double_log(), "openat fdatasync");
	scripted_end(&s);
}

static void directory__sync_fails(void **state)
{
	(void)state;
	scripted_open(&s, 0, CREATE | O_EXCL, -1);
	ring_double_rule(RPMA_UV__IO_FSYNC, 1, -EIO);
	assert_int_equal(sync_now(&s), UV_EIO);
	assert_int_equal(sync_now(&s), UV_EIO);
	assert_true(rpma_uv__file_is_unnamed(s.file));
	scripted_end(&s);
}

/* a file system whose directories cannot be synced, for they need not be */
static void directory__sync_unknown(void **state)
{
	(void)state;
	scripted_open(&s, 0, CREATE, -1);
	ring_double_rule(RPMA_UV__IO_FSYNC, 1, -EINVAL);
	assert_int_equal(sync_now(&s), 0);
	assert_int_equal(sync_now(&s), 0);
	scripted_end(&s);
}

/* a directory that may be written and not read: the file works, what it promises does not */
static void directory__cannot_be_opened(void **state)
{
	(void)state;
	ring_double_reset(SCRIPTED_SIZE, 0);
	turn_open(&s.turn, NULL);
	s.memory = calloc(1, 4096);
	s.closed = 0;
	ring_double_rule(RPMA_UV__IO_OPENAT, 2, -EACCES);
	assert_int_equal(turn_wait(rpma_uv_file_open(
				 &s.turn.reactor, NULL, "d/new", CREATE, 0600, 0, &s.file)),
		0);
	assert_int_equal(write_now(&s, 0, 4096), 0);
	assert_int_equal(sync_now(&s), UV_EACCES);
	scripted_end(&s);
}

static int open_fails(int oflags)
{
	rpma_uv_file_t *file = NULL;
	int status = turn_wait(
		rpma_uv_file_open(&s.turn.reactor, NULL, "d/new", oflags, 0600, 0, &file));

	assert_null(file);
	assert_int_equal(ring_double_open_fds(), 0);
	return status;
}

/* what stands in the way between two steps */
static void directory__open_fails(void **state)
{
	(void)state;
	ring_double_reset(SCRIPTED_SIZE, 0);
	turn_open(&s.turn, NULL);
	/* taken, and then gone; taken for whoever may make it, and for whoever may not */
	ring_double_exists(0);
	ring_double_rule(RPMA_UV__IO_OPENAT, 2, -ENOENT);
	assert_int_equal(open_fails(CREATE), UV_ENOENT);
	ring_double_rule(RPMA_UV__IO_OPENAT, 2, -EEXIST);
	assert_int_equal(open_fails(CREATE), UV_EEXIST);
	ring_double_rule(RPMA_UV__IO_STATX, 1, -EIO);
	assert_int_equal(open_fails(CREATE), UV_EIO);
	/* the file is made by us, but its name was taken away before its directory was found */
	assert_int_equal(open_fails(CREATE), UV_ENOENT);
	turn_close(&s.turn);
}

TURN_MAIN(cmocka_unit_test(directory__of_a_new_file), cmocka_unit_test(directory__of_an_old_file),
	cmocka_unit_test(directory__without_o_creat), cmocka_unit_test(directory__sync_fails),
	cmocka_unit_test(directory__sync_unknown), cmocka_unit_test(directory__cannot_be_opened),
	cmocka_unit_test(directory__open_fails))
