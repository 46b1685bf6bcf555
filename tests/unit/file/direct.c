/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * direct.c - what goes around the page cache, and what does not
 *
 * Proven: whole pages with aligned memory do; heads and tails go through the other descriptor, and
 *         no
 * page ever through both in one write; a file system that says nothing, or takes its word back, is
 * written through the cache.
 */

#include "scripted.h"

static struct scripted s;

static void direct__head_and_tail(void **state)
{
	(void)state;
	scripted_start(&s, 512);
	assert_int_equal(write_now(&s, 4096, 8192), 0);
	assert_int_equal(write_now(&s, 0, 5000), 0);
	assert_int_equal(write_now(&s, 512, 8000), 0);
	assert_int_equal(write_now(&s, 100, 200), 0);
	assert_string_equal(ring_double_log(), "write*(4096,8192) "
					       "write*(0,4096) write(4096,904) "
					       "write(512,3584) write*(4096,4096) write(8192,320) "
					       "write(100,200)");
	scripted_end(&s);
}

/* memory that the device cannot reach goes through the cache in one piece */
static void direct__memory(void **state)
{
	uv_buf_t buf;

	(void)state;
	scripted_start(&s, 512);
	buf = uv_buf_init(s.memory + 100, 8192);
	assert_int_equal(turn_wait(rpma_uv_file_write(s.file, NULL, &buf, 1, 0, 0)), 0);
	buf = uv_buf_init(s.memory + 512, 8192);
	assert_int_equal(turn_wait(rpma_uv_file_write(s.file, NULL, &buf, 1, 0, 0)), 0);
	assert_string_equal(ring_double_log(), "write(0,8192) write*(0,8192)");
	scripted_end(&s);
}

/* an array: each buffer by itself */
static void direct__vector(void **state)
{
	uv_buf_t bufs[3];

	(void)state;
	scripted_start(&s, 512);
	bufs[0] = uv_buf_init(s.memory, 4096);
	bufs[1] = uv_buf_init(s.memory + 4096, 100);
	bufs[2] = uv_buf_init(s.memory + 4196, 3996 + 4096);
	assert_int_equal(turn_wait(rpma_uv_file_write(s.file, NULL, bufs, 3, 0, 0)), 0);
	assert_string_equal(ring_double_log(),
		"write*(0,4096) write(4096,100) write(4196,3996) write*(8192,4096)");
	assert_memory_equal(ring_double_data(), s.memory, 4096 * 3);
	scripted_end(&s);
}

/* EINVAL in spite of all: the cache takes over, for good */
static void direct__word_taken_back(void **state)
{
	(void)state;
	scripted_start(&s, 512);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, -EINVAL);
	assert_int_equal(write_now(&s, 0, 8192), 0);
	assert_int_equal(write_now(&s, 8192, 8192), 0);
	assert_string_equal(ring_double_log(), "write*(0,8192) write(0,8192) write(8192,8192)");
	assert_false(rpma_uv_file_is_direct(s.file));
	assert_memory_equal(ring_double_data(), s.memory, 16384);
	scripted_end(&s);
}

/* two are out when the first is refused: so is the second, and the cache takes that over, too */
static void direct__word_taken_back_twice(void **state)
{
	struct attempt a[2];

	(void)state;
	scripted_start(&s, 512);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, -EINVAL);
	ring_double_rule(RPMA_UV__IO_WRITE, 2, -EINVAL);
	write_start(&s, &a[0], 0, 4096);
	write_start(&s, &a[1], 4096, 4096);
	settle(&s);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(a[i].done, 1);
		assert_int_equal(a[i].status, 0);
	}
	assert_string_equal(ring_double_log(),
		"write*(0,4096) write*(4096,4096) write(0,4096) write(4096,4096)");
	assert_memory_equal(ring_double_data(), s.memory, 8192);
	assert_int_equal(sync_now(&s), 0);
	scripted_end(&s);
}

/* of the first descriptor, EINVAL means what it says */
static void direct__invalid(void **state)
{
	(void)state;
	scripted_start(&s, 512);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, -EINVAL);
	assert_int_equal(write_now(&s, 0, 100), UV_EINVAL);
	assert_string_equal(ring_double_log(), "write(0,100)");
	assert_true(rpma_uv_file_is_direct(s.file));
	scripted_end(&s);
}

/* whole units of the file system, where those are larger than a page */
static void direct__large_unit(void **state)
{
	rpma_uv_file_t *file;
	uv_buf_t buf;

	(void)state;
	scripted_start(&s, 512);
	ring_double_dio_told(512, 8192);
	assert_int_equal(turn_wait(rpma_uv_file_open(&s.turn.reactor, NULL, "d/x", O_RDWR, 0,
				 RPMA_UV_FILE_DIRECT, &file)),
		0);
	ring_double_log_clear();
	buf = uv_buf_init(s.memory, 20480);
	assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, &buf, 1, 0, 0)), 0);
	assert_string_equal(ring_double_log(), "write*(0,16384) write(16384,4096)");
	rpma_uv_file_close(file, NULL, NULL);
	scripted_end(&s);
}

/* a file of which the file system says that it has no direct I/O */
static void direct__none(void **state)
{
	static const unsigned told[][2] = { { 0, 0 }, { 512, 0 } };
	rpma_uv_file_t *file;

	(void)state;
	scripted_start(&s, 512);
	for (int i = 0; i < 2; i++) {
		ring_double_dio_told(told[i][0], told[i][1]);
		ring_double_log_clear();
		assert_int_equal(turn_wait(rpma_uv_file_open(&s.turn.reactor, NULL, "d/x", O_RDWR,
					 0, RPMA_UV_FILE_DIRECT, &file)),
			0);
		assert_false(rpma_uv_file_is_direct(file));
		assert_string_equal(ring_double_log(), "openat statx");
		rpma_uv_file_close(file, NULL, NULL);
		settle(&s);
	}
	scripted_end(&s);
}

/* asked for, but the file system does not say: no second descriptor */
static void direct__unknown(void **state)
{
	rpma_uv_file_t *file;

	(void)state;
	scripted_start(&s, 0);
	assert_int_equal(turn_wait(rpma_uv_file_open(&s.turn.reactor, NULL, "d/x", O_RDWR, 0,
				 RPMA_UV_FILE_DIRECT, &file)),
		0);
	assert_false(rpma_uv_file_is_direct(file));
	assert_string_equal(ring_double_log(), "openat statx");
	rpma_uv_file_close(file, NULL, NULL);
	scripted_end(&s);
}

/* the second descriptor is refused */
static void direct__refused(void **state)
{
	rpma_uv_file_t *file;

	(void)state;
	scripted_start(&s, 512);
	ring_double_rule(RPMA_UV__IO_OPENAT, 2, -EINVAL);
	assert_int_equal(turn_wait(rpma_uv_file_open(&s.turn.reactor, NULL, "d/x", O_RDWR, 0,
				 RPMA_UV_FILE_DIRECT, &file)),
		0);
	assert_false(rpma_uv_file_is_direct(file));
	rpma_uv_file_close(file, NULL, NULL);
	scripted_end(&s);
}

/* DSYNC is asked for with each piece */
static void direct__dsync(void **state)
{
	uv_buf_t buf;

	(void)state;
	scripted_start(&s, 512);
	buf = uv_buf_init(s.memory, 5000);
	assert_int_equal(
		turn_wait(rpma_uv_file_write(s.file, NULL, &buf, 1, 0, RPMA_UV_FILE_DSYNC)), 0);
	assert_int_equal(ring_double_durable(), 5000);
	assert_int_equal(turn_wait(rpma_uv_file_write(s.file, NULL, &buf, 1, 0, 0x80)), UV_EINVAL);
	scripted_end(&s);
}

TURN_MAIN(cmocka_unit_test(direct__head_and_tail), cmocka_unit_test(direct__memory),
	cmocka_unit_test(direct__vector), cmocka_unit_test(direct__word_taken_back),
	cmocka_unit_test(direct__unknown), cmocka_unit_test(direct__refused),
	cmocka_unit_test(direct__dsync), cmocka_unit_test(direct__word_taken_back_twice),
	cmocka_unit_test(direct__invalid), cmocka_unit_test(direct__large_unit),
	cmocka_unit_test(direct__none))
