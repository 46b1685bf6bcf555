/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * short.c - short results are continued
 *
 * Proven: a write is done when every byte is confirmed; a short direct write goes on from a page's
 * start, so that the rest stays direct; a read is done at the end of the file.
 */

#include "scripted.h"

static struct scripted s;

static void short__buffered_goes_on(void **state)
{
	(void)state;
	scripted_start(&s, 0);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, 1000);
	ring_double_rule(RPMA_UV__IO_WRITE, 2, 1);
	assert_int_equal(write_now(&s, 0, 10000), 0);
	assert_string_equal(ring_double_log(), "write(0,10000) write(1000,9000) write(1001,8999)");
	assert_memory_equal(ring_double_data(), s.memory, 10000);
	scripted_end(&s);
}

static void short__direct_from_a_page(void **state)
{
	(void)state;
	scripted_start(&s, 512);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, 4096 + 512);
	assert_int_equal(write_now(&s, 0, 16384), 0);
	assert_string_equal(ring_double_log(), "write*(0,16384) write*(4096,12288)");
	assert_memory_equal(ring_double_data(), s.memory, 16384);
	scripted_end(&s);
}

/* less than a page was taken: on from there, and not round in circles */
static void short__direct_within_a_page(void **state)
{
	(void)state;
	scripted_start(&s, 512);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, 512);
	assert_int_equal(write_now(&s, 4096, 8192), 0);
	assert_string_equal(
		ring_double_log(), "write*(4096,8192) write(4608,3584) write*(8192,4096)");
	assert_memory_equal(ring_double_data() + 4096, s.memory + 4096, 8192);
	scripted_end(&s);
}

/* a short result within an array of buffers, in the middle of one */
static void short__vector(void **state)
{
	uv_buf_t bufs[3];

	(void)state;
	scripted_start(&s, 0);
	bufs[0] = uv_buf_init(s.memory, 100);
	bufs[1] = uv_buf_init(s.memory + 100, 0);
	bufs[2] = uv_buf_init(s.memory + 100, 900);
	ring_double_rule(RPMA_UV__IO_WRITEV, 1, 300);
	assert_int_equal(turn_wait(rpma_uv_file_write(s.file, NULL, bufs, 3, 0, 0)), 0);
	assert_string_equal(ring_double_log(), "writev(0,3) write(300,700)");
	assert_memory_equal(ring_double_data(), s.memory, 1000);
	scripted_end(&s);
}

/* nothing written and no error: an error of its own, not an endless loop */
static void short__zero(void **state)
{
	(void)state;
	scripted_start(&s, 0);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, 0);
	assert_int_equal(write_now(&s, 0, 100), UV_EIO);
	assert_int_equal(ring_double_count(RPMA_UV__IO_WRITE), 1);
	scripted_end(&s);
}

/* no space after a part: the part is no success */
static void short__then_no_space(void **state)
{
	(void)state;
	scripted_start(&s, 0);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, 500);
	ring_double_rule(RPMA_UV__IO_WRITE, 2, -ENOSPC);
	assert_int_equal(write_now(&s, 0, 1000), UV_ENOSPC);
	scripted_end(&s);
}

static void short__read_to_the_end(void **state)
{
	char back[1000];
	uv_buf_t buf = uv_buf_init(back, sizeof(back));
	int64_t result = -1;

	(void)state;
	scripted_start(&s, 0);
	assert_int_equal(write_now(&s, 0, 700), 0);
	ring_double_rule(RPMA_UV__IO_READ, 1, 300);
	assert_int_equal(
		rpma_uv_wait(rpma_uv_file_read(s.file, NULL, &buf, 1, 0), 1000, &result), 0);
	assert_int_equal(result, 700);
	assert_memory_equal(back, s.memory, 700);
	scripted_end(&s);
}

TURN_MAIN(cmocka_unit_test(short__buffered_goes_on), cmocka_unit_test(short__direct_from_a_page),
	cmocka_unit_test(short__direct_within_a_page), cmocka_unit_test(short__vector),
	cmocka_unit_test(short__zero), cmocka_unit_test(short__then_no_space),
	cmocka_unit_test(short__read_to_the_end))
