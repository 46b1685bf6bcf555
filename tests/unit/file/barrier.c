/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * barrier.c - a sync starts when every byte of the writes before it is confirmed
 *
 * Proven: not one request earlier, also when a write is short; later writes are not waited for;
 * syncs share a call only with those that are ready when it starts.
 */

#include "scripted.h"

static struct scripted s;

static unsigned syncs(void)
{
	return ring_double_count(RPMA_UV__IO_FDATASYNC);
}

static void barrier__waits_for_writes(void **state)
{
	struct attempt first, second, sync, later;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_WRITE);
	write_start(&s, &first, 0, 4096);
	write_start(&s, &second, 4096, 4096);
	sync_start(&s, &sync);
	write_start(&s, &later, 8192, 4096);
	settle(&s);
	assert_int_equal(syncs(), 0);
	ring_double_complete(ring_double_at(1));
	settle(&s);
	assert_int_equal(second.done, 1);
	assert_int_equal(syncs(), 0);
	ring_double_complete(ring_double_at(0));
	settle(&s);
	assert_int_equal(syncs(), 1);
	assert_int_equal(sync.done, 1);
	assert_int_equal(sync.status, 0);
	assert_true(sync.order > first.order);
	assert_int_equal(later.done, 0);
	assert_int_equal(ring_double_durable(), 8192);
	ring_double_go();
	settle(&s);
	assert_int_equal(later.done, 1);
	scripted_end(&s);
}

static void barrier__waits_for_the_rest_of_a_short_write(void **state)
{
	struct attempt write, sync;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_WRITE);
	write_start(&s, &write, 0, 8192);
	sync_start(&s, &sync);
	settle(&s);
	ring_double_complete_as(ring_double_at(0), 4096);
	settle(&s);
	assert_int_equal(ring_double_held(), 1);
	assert_int_equal(syncs(), 0);
	ring_double_complete(ring_double_at(0));
	settle(&s);
	assert_int_equal(sync.status, 0);
	assert_int_equal(sync.done, 1);
	assert_int_equal(ring_double_durable(), 8192);
	scripted_end(&s);
}

/* three that wait for the same become one call */
static void barrier__shared(void **state)
{
	struct attempt write, sync[3];

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_WRITE);
	write_start(&s, &write, 0, 4096);
	for (int i = 0; i < 3; i++)
		sync_start(&s, &sync[i]);
	settle(&s);
	ring_double_go();
	settle(&s);
	assert_int_equal(syncs(), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sync[i].done, 1);
	scripted_end(&s);
}

/*
 * one that comes while another runs gets a call of its own, which covers what was written between
 */
static void barrier__not_shared_with_a_running_one(void **state)
{
	struct attempt first, second, third;

	(void)state;
	scripted_start(&s, 0);
	assert_int_equal(write_now(&s, 0, 4096), 0);
	ring_double_hold(RPMA_UV__IO_FDATASYNC);
	sync_start(&s, &first);
	settle(&s);
	assert_int_equal(write_now(&s, 4096, 4096), 0);
	sync_start(&s, &second);
	sync_start(&s, &third);
	settle(&s);
	assert_int_equal(syncs(), 1);
	ring_double_complete(ring_double_at(0));
	settle(&s);
	assert_int_equal(first.done, 1);
	assert_int_equal(second.done, 0);
	assert_int_equal(ring_double_durable(), 4096);
	assert_int_equal(syncs(), 2);
	ring_double_go();
	settle(&s);
	assert_int_equal(second.done, 1);
	assert_int_equal(third.done, 1);
	assert_int_equal(syncs(), 2);
	assert_int_equal(ring_double_durable(), 8192);
	scripted_end(&s);
}

/* one that is not ready does not hold an earlier one back, nor is it taken along */
static void barrier__by_generation(void **state)
{
	struct attempt early, late, first, second;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_WRITE);
	write_start(&s, &early, 0, 4096);
	sync_start(&s, &first);
	write_start(&s, &late, 4096, 4096);
	sync_start(&s, &second);
	settle(&s);
	ring_double_complete(ring_double_at(0));
	settle(&s);
	assert_int_equal(first.done, 1);
	assert_int_equal(second.done, 0);
	assert_int_equal(syncs(), 1);
	ring_double_go();
	settle(&s);
	assert_int_equal(second.done, 1);
	assert_int_equal(syncs(), 2);
	scripted_end(&s);
}

/* reads are nothing to wait for; allocations are */
static void barrier__reads_and_allocations(void **state)
{
	struct attempt read, allocate, sync;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(-1);
	memset(&read, 0, sizeof(read));
	memset(&allocate, 0, sizeof(allocate));
	read.buf = uv_buf_init(s.memory, 10);
	rpma_uv_then(rpma_uv_file_read(s.file, &read.op, &read.buf, 1, 0), attempt_done, &read);
	rpma_uv_then(rpma_uv_file_allocate(s.file, &allocate.op, 0, 4096), attempt_done, &allocate);
	sync_start(&s, &sync);
	settle(&s);
	assert_string_equal(ring_double_log(), "read(0,10) fallocate");
	ring_double_complete(ring_double_at(1));
	settle(&s);
	assert_string_equal(ring_double_log(), "read(0,10) fallocate fdatasync");
	ring_double_go();
	settle(&s);
	assert_int_equal(sync.done, 1);
	assert_int_equal(read.done, 1);
	scripted_end(&s);
}

TURN_MAIN(cmocka_unit_test(barrier__waits_for_writes),
	cmocka_unit_test(barrier__waits_for_the_rest_of_a_short_write),
	cmocka_unit_test(barrier__shared), cmocka_unit_test(barrier__not_shared_with_a_running_one),
	cmocka_unit_test(barrier__by_generation), cmocka_unit_test(barrier__reads_and_allocations))
