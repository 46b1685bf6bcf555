/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * again.c - EAGAIN and EINTR are asked again, within a bound and with pauses
 *
 * Proven: for writes, reads, syncs and allocations; neither is reported while it can pass, and what
 * does not pass ends.
 */

#include "scripted.h"

static struct scripted s;

static void again__write(void **state)
{
	(void)state;
	scripted_start(&s, 0);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, -EAGAIN);
	ring_double_rule(RPMA_UV__IO_WRITE, 2, -EINTR);
	ring_double_rule(RPMA_UV__IO_WRITE, 3, -EAGAIN);
	ring_double_rule(RPMA_UV__IO_WRITE, 4, -EAGAIN);
	assert_int_equal(write_now(&s, 0, 4096), 0);
	assert_int_equal(ring_double_count(RPMA_UV__IO_WRITE), 5);
	assert_memory_equal(ring_double_data(), s.memory, 4096);
	scripted_end(&s);
}

/* the pauses grow: while one lasts, the loop sleeps */
static void again__with_pauses(void **state)
{
	struct attempt a;
	uint64_t start = uv_hrtime();

	(void)state;
	scripted_start(&s, 0);
	for (unsigned k = 1; k <= 6; k++)
		ring_double_rule(RPMA_UV__IO_WRITE, k, -EAGAIN);
	write_start(&s, &a, 0, 4096);
	turn_until(&s.turn, &a.done);
	/* 0 + 2 + 4 + 8 + 16 + 32 ms */
	assert_true(uv_hrtime() - start > UINT64_C(55000000));
	assert_int_equal(a.status, 0);
	scripted_end(&s);
}

static void again__has_an_end(void **state)
{
	struct attempt a;

	(void)state;
	scripted_start(&s, 0);
	for (unsigned k = 1; k <= 30; k++)
		ring_double_rule(RPMA_UV__IO_WRITE, k, -EINTR);
	write_start(&s, &a, 0, 4096);
	turn_until(&s.turn, &a.done);
	assert_int_equal(a.status, UV_EINTR);
	assert_true(ring_double_count(RPMA_UV__IO_WRITE) < 20);
	/* the sync that would cover it tells the same; one that is interrupted itself is the last */
	assert_int_equal(sync_now(&s), UV_EINTR);
	assert_int_equal(sync_now(&s), 0);
	ring_double_log_clear();
	for (unsigned k = 1; k <= 30; k++)
		ring_double_rule(RPMA_UV__IO_FDATASYNC, k, -EINTR);
	assert_int_equal(sync_now(&s), UV_EINTR);
	assert_true(ring_double_count(RPMA_UV__IO_FDATASYNC) < 20);
	assert_int_equal(sync_now(&s), UV_EINTR);
	scripted_end(&s);
}

/* progress makes the bound start anew */
static void again__between_progress(void **state)
{
	(void)state;
	scripted_start(&s, 0);
	for (unsigned k = 1; k <= 40; k++)
		ring_double_rule(RPMA_UV__IO_WRITE, k, k % 2 != 0 ? -EINTR : 10);
	assert_int_equal(write_now(&s, 0, 1000), 0);
	assert_memory_equal(ring_double_data(), s.memory, 1000);
	scripted_end(&s);
}

/* a sync that could not be started has not failed: it is not final */
static void again__sync(void **state)
{
	(void)state;
	scripted_start(&s, 0);
	assert_int_equal(write_now(&s, 0, 4096), 0);
	ring_double_rule(RPMA_UV__IO_FDATASYNC, 1, -EAGAIN);
	ring_double_rule(RPMA_UV__IO_FDATASYNC, 2, -EAGAIN);
	ring_double_rule(RPMA_UV__IO_FDATASYNC, 3, -EINTR);
	assert_int_equal(sync_now(&s), 0);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 4);
	assert_int_equal(ring_double_durable(), 4096);
	scripted_end(&s);
}

static void again__read_and_allocate(void **state)
{
	char back[100];
	uv_buf_t buf = uv_buf_init(back, sizeof(back));

	(void)state;
	scripted_start(&s, 0);
	ring_double_rule(RPMA_UV__IO_READ, 1, -EAGAIN);
	ring_double_rule(RPMA_UV__IO_FALLOCATE, 1, -EINTR);
	ring_double_rule(RPMA_UV__IO_FALLOCATE, 3, -EOPNOTSUPP);
	assert_int_equal(turn_wait(rpma_uv_file_read(s.file, NULL, &buf, 1, 0)), 0);
	assert_int_equal(ring_double_count(RPMA_UV__IO_READ), 2);
	assert_int_equal(turn_wait(rpma_uv_file_allocate(s.file, NULL, 0, 10000)), 0);
	assert_int_equal(turn_wait(rpma_uv_file_allocate(s.file, NULL, 0, 10000)), UV_ENOTSUP);
	/* nothing is lost by that */
	assert_int_equal(sync_now(&s), 0);
	/* no such range */
	assert_int_equal(turn_wait(rpma_uv_file_allocate(s.file, NULL, -1, 1)), UV_EINVAL);
	assert_int_equal(turn_wait(rpma_uv_file_allocate(s.file, NULL, 0, 0)), UV_EINVAL);
	assert_int_equal(
		turn_wait(rpma_uv_file_allocate(s.file, NULL, 2, INT64_MAX - 1)), UV_EINVAL);
	scripted_end(&s);
}

/* a signal that comes while the kernel opens */
static void again__open(void **state)
{
	rpma_uv_file_t *file = NULL;

	(void)state;
	scripted_start(&s, 0);
	ring_double_rule(RPMA_UV__IO_OPENAT, 1, -EINTR);
	ring_double_rule(RPMA_UV__IO_OPENAT, 2, -EINTR);
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&s.turn.reactor, NULL, "x", O_RDWR, 0, 0, &file)), 0);
	assert_int_equal(ring_double_count(RPMA_UV__IO_OPENAT), 3);
	rpma_uv_file_close(file, NULL, NULL);
	ring_double_log_clear();
	file = NULL;
	for (unsigned k = 1; k <= 30; k++)
		ring_double_rule(RPMA_UV__IO_OPENAT, k, -EINTR);
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&s.turn.reactor, NULL, "x", O_RDWR, 0, 0, &file)),
		UV_EINTR);
	assert_true(ring_double_count(RPMA_UV__IO_OPENAT) < 20);
	assert_null(file);
	scripted_end(&s);
}

TURN_MAIN(cmocka_unit_test(again__write), cmocka_unit_test(again__with_pauses),
	cmocka_unit_test(again__has_an_end), cmocka_unit_test(again__between_progress),
	cmocka_unit_test(again__sync), cmocka_unit_test(again__read_and_allocate),
	cmocka_unit_test(again__open))
