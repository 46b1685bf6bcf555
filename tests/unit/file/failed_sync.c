/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * failed_sync.c - a failed sync is final
 *
 * Proven: the kernel would answer the second one with success although it has dropped the pages; we
 * answer every later write and sync with the first failure, and never ask the kernel again.
 */

#include "scripted.h"

static struct scripted s;

static void failed_sync__is_final(void **state)
{
	unsigned writes;

	(void)state;
	scripted_start(&s, 0);
	assert_int_equal(write_now(&s, 0, 4096), 0);
	ring_double_rule(RPMA_UV__IO_FDATASYNC, 1, -EIO);
	assert_int_equal(sync_now(&s), UV_EIO);
	writes = ring_double_count(RPMA_UV__IO_WRITE);
	assert_int_equal(sync_now(&s), UV_EIO);
	assert_int_equal(write_now(&s, 0, 4096), UV_EIO);
	assert_int_equal(turn_wait(rpma_uv_file_allocate(s.file, NULL, 0, 10)), UV_EIO);
	assert_int_equal(sync_now(&s), UV_EIO);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 1);
	assert_int_equal(ring_double_count(RPMA_UV__IO_WRITE), writes);
	assert_int_equal(ring_double_durable(), 0);
	scripted_end(&s);
}

/* the status is that of the failure, whatever it was */
static void failed_sync__keeps_its_status(void **state)
{
	(void)state;
	scripted_start(&s, 0);
	ring_double_rule(RPMA_UV__IO_FDATASYNC, 1, -ENOSPC);
	assert_int_equal(sync_now(&s), UV_ENOSPC);
	assert_int_equal(write_now(&s, 0, 10), UV_ENOSPC);
	assert_int_equal(sync_now(&s), UV_ENOSPC);
	scripted_end(&s);
}

/* those that share the failed one, those that wait for the next, and writes that are out */
static void failed_sync__others(void **state)
{
	struct attempt shared[2], waiting, write, after;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(-1);
	sync_start(&s, &shared[0]);
	sync_start(&s, &shared[1]);
	settle(&s);
	write_start(&s, &write, 0, 4096);
	sync_start(&s, &waiting);
	settle(&s);
	ring_double_complete_as(ring_double_at(0), -EIO);
	settle(&s);
	assert_int_equal(shared[0].status, UV_EIO);
	assert_int_equal(shared[1].status, UV_EIO);
	assert_int_equal(waiting.done, 0);
	sync_start(&s, &after);
	ring_double_go();
	settle(&s);
	assert_int_equal(write.done, 1);
	assert_int_equal(write.status, 0);
	assert_int_equal(waiting.done, 1);
	assert_int_equal(waiting.status, UV_EIO);
	assert_int_equal(after.status, UV_EIO);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 1);
	scripted_end(&s);
}

/* what can be read is still readable */
static void failed_sync__reads_go_on(void **state)
{
	char back[10];
	uv_buf_t buf = uv_buf_init(back, sizeof(back));

	(void)state;
	scripted_start(&s, 0);
	assert_int_equal(write_now(&s, 0, 10), 0);
	ring_double_rule(RPMA_UV__IO_FDATASYNC, 1, -EIO);
	assert_int_equal(sync_now(&s), UV_EIO);
	assert_int_equal(turn_wait(rpma_uv_file_read(s.file, NULL, &buf, 1, 0)), 0);
	scripted_end(&s);
}

TURN_MAIN(cmocka_unit_test(failed_sync__is_final), cmocka_unit_test(failed_sync__keeps_its_status),
	cmocka_unit_test(failed_sync__others), cmocka_unit_test(failed_sync__reads_go_on))
