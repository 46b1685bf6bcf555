/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * tail.c - a length that is no multiple of the block makes neither the file nor the next offset
 * wrong
 *
 * Proven: direct writes of odd lengths, one behind the other, give a file of exactly their sum,
 *         with
 * the bytes in their places; nothing is padded, not even for a moment.
 */

#include "real.h"

static struct turn turn;

static void tail__odd_lengths(void **state)
{
	static const size_t lengths[] = { 10000, 4096, 1, 511, 8192, 4095, 65537, 12288, 3 };
	rpma_uv_file_t *file;
	struct stat st;
	char *memory, *back;
	size_t off = 0;
	int fd;

	(void)state;
	turn_open(&turn, NULL);
	assert_int_equal(posix_memalign((void **)&memory, 4096, 1 << 20), 0);
	back = malloc(1 << 20);
	file = real_open(&turn, "tail", O_CREAT | O_RDWR, RPMA_UV_FILE_DIRECT);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uv_buf_t buf = uv_buf_init(memory, (unsigned)lengths[i]);

		turn_pattern(memory, lengths[i], off);
		assert_int_equal(
			turn_wait(rpma_uv_file_write(file, NULL, &buf, 1, (int64_t)off, 0)), 0);
		off += lengths[i];
		assert_int_equal(stat(turn_path("tail"), &st), 0);
		assert_int_equal(st.st_size, off);
	}
	assert_int_equal(turn_wait(rpma_uv_file_sync(file, NULL)), 0);
	real_close(&turn, file);
	fd = open(turn_path("tail"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, back, 1 << 20), off);
	assert_true(turn_is_pattern(back, off, 0));
	close(fd);
	free(back);
	free(memory);
	turn_close(&turn);
}

static void tail__allocated_before(void **state)
{
	rpma_uv_file_t *file;
	struct stat st;
	char *memory;
	uv_buf_t buf;

	(void)state;
	turn_open(&turn, NULL);
	assert_int_equal(posix_memalign((void **)&memory, 4096, 16384), 0);
	turn_pattern(memory, 16384, 0);
	file = real_open(&turn, "allocated", O_CREAT | O_RDWR, RPMA_UV_FILE_DIRECT);
	assert_int_equal(turn_wait(rpma_uv_file_allocate(file, NULL, 0, 10001)), 0);
	assert_int_equal(stat(turn_path("allocated"), &st), 0);
	assert_int_equal(st.st_size, 10001);
	buf = uv_buf_init(memory, 10001);
	assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, &buf, 1, 0, 0)), 0);
	assert_int_equal(stat(turn_path("allocated"), &st), 0);
	assert_int_equal(st.st_size, 10001);
	assert_int_equal(turn_wait(rpma_uv_file_allocate(file, NULL, -1, 1)), UV_EINVAL);
	assert_int_equal(turn_wait(rpma_uv_file_allocate(file, NULL, 0, 0)), UV_EINVAL);
	real_close(&turn, file);
	free(memory);
	turn_close(&turn);
}

/* no bytes, and arguments that make no sense */
static void tail__nothing(void **state)
{
	rpma_uv_file_t *file;
	uv_buf_t bufs[17], *none = NULL;
	int64_t result = -1;

	(void)state;
	turn_open(&turn, NULL);
	file = real_open(&turn, "nothing", O_CREAT | O_RDWR, 0);
	for (int i = 0; i < 17; i++)
		bufs[i] = uv_buf_init(NULL, 0);
	assert_int_equal(
		rpma_uv_wait(rpma_uv_file_write(file, NULL, bufs, 16, 5, 0), 1000, &result), 0);
	assert_int_equal(result, 0);
	assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, bufs, 17, 0, 0)), UV_EINVAL);
	assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, bufs, 0, 0, 0)), UV_EINVAL);
	assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, none, 1, 0, 0)), UV_EINVAL);
	assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, bufs, 1, -1, 0)), UV_EINVAL);
	bufs[0].len = 2;
	assert_int_equal(
		turn_wait(rpma_uv_file_write(file, NULL, bufs, 1, INT64_MAX - 1, 0)), UV_EINVAL);
	assert_int_equal(turn_wait(rpma_uv_file_read(file, NULL, bufs, 1, -1)), UV_EINVAL);
	real_close(&turn, file);
	turn_close(&turn);
}

TURN_MAIN(cmocka_unit_test(tail__odd_lengths), cmocka_unit_test(tail__allocated_before),
	cmocka_unit_test(tail__nothing))
