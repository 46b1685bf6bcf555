/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * failed_write.c - a sync that covers a failed write fails with it
 *
 * Proven: for syncs that wait for the write, and for the first that is called after it; the kernel
 *         is
 * not asked then. It is told once: a later sync covers later writes.
 */

#include "scripted.h"

static struct scripted s;

static void failed_write__sync_that_waits(void **state)
{
	struct attempt before, write, sync[2];

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_WRITE);
	sync_start(&s, &before);
	settle(&s);
	write_start(&s, &write, 0, 4096);
	sync_start(&s, &sync[0]);
	sync_start(&s, &sync[1]);
	settle(&s);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 1);
	ring_double_complete_as(ring_double_at(0), -ENOSPC);
	settle(&s);
	assert_int_equal(before.status, 0);
	assert_int_equal(write.status, UV_ENOSPC);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sync[i].done, 1);
		assert_int_equal(sync[i].status, UV_ENOSPC);
		assert_true(sync[i].order > write.order);
	}
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 1);
	assert_int_equal(sync_now(&s), 0);
	scripted_end(&s);
}

static void failed_write__sync_called_after(void **state)
{
	(void)state;
	scripted_start(&s, 0);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, -ENOSPC);
	ring_double_rule(RPMA_UV__IO_WRITE, 2, -EIO);
	assert_int_equal(write_now(&s, 0, 4096), UV_ENOSPC);
	assert_int_equal(write_now(&s, 0, 4096), UV_EIO);
	assert_int_equal(write_now(&s, 0, 4096), 0);
	assert_int_equal(sync_now(&s), UV_ENOSPC); /* the first of the two */
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 0);
	assert_int_equal(sync_now(&s), 0);
	assert_int_equal(ring_double_durable(), 4096);
	scripted_end(&s);
}

/* a sync that was taken back has told nobody: the next one does */
static void failed_write__sync_cancelled(void **state)
{
	struct attempt failing, other, sync;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_WRITE);
	write_start(&s, &failing, 0, 4096);
	write_start(&s, &other, 4096, 4096);
	sync_start(&s, &sync);
	settle(&s);
	ring_double_complete_as(ring_double_at(0), -ENOSPC);
	settle(&s);
	assert_int_equal(rpma_uv_cancel(&sync.op.future, 0), 0);
	ring_double_go();
	settle(&s);
	assert_int_equal(sync.status, UV_ECANCELED);
	assert_int_equal(sync_now(&s), UV_ENOSPC);
	assert_int_equal(sync_now(&s), 0);
	scripted_end(&s);
}

/* two that it covers: the first that failed is told */
static void failed_write__two_of_a_sync(void **state)
{
	struct attempt write[2], sync;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_WRITE);
	write_start(&s, &write[0], 0, 4096);
	write_start(&s, &write[1], 4096, 4096);
	sync_start(&s, &sync);
	settle(&s);
	ring_double_complete_as(ring_double_at(1), -ENOSPC);
	settle(&s);
	ring_double_complete_as(ring_double_at(0), -EIO);
	settle(&s);
	assert_int_equal(sync.status, UV_ENOSPC);
	assert_int_equal(sync_now(&s), 0);
	scripted_end(&s);
}

/* a sync is taken back when a write that it does not cover has failed before: that is not lost */
static void failed_write__sync_cancelled_after_another(void **state)
{
	struct attempt covered, sync, later;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_WRITE);
	write_start(&s, &covered, 0, 4096);
	sync_start(&s, &sync);
	write_start(&s, &later, 4096, 4096);
	settle(&s);
	ring_double_complete_as(ring_double_at(1), -ENOSPC);
	settle(&s);
	assert_int_equal(rpma_uv_cancel(&sync.op.future, 0), 0);
	ring_double_go();
	settle(&s);
	assert_int_equal(sync.status, UV_ECANCELED);
	assert_int_equal(covered.status, 0);
	assert_int_equal(sync_now(&s), UV_ENOSPC);
	assert_int_equal(sync_now(&s), 0);
	scripted_end(&s);
}

TURN_MAIN(cmocka_unit_test(failed_write__sync_that_waits),
	cmocka_unit_test(failed_write__sync_called_after),
	cmocka_unit_test(failed_write__sync_cancelled),
	cmocka_unit_test(failed_write__two_of_a_sync),
	cmocka_unit_test(failed_write__sync_cancelled_after_another))
