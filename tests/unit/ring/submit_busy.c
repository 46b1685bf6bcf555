/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * submit_busy.c - a submission that is refused for want of completion room is made again
 *
 * Proven: EBUSY makes room by taking completions and submits again; nobody is called back from
 * within the flush; no completion is lost, and a kernel that stays busy costs no spinning.
 */

#include <liburing.h>

#include "probe.h"

int __real_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit(struct io_uring *ring);

static unsigned calls, refusals;

int __wrap_io_uring_submit(struct io_uring *ring)
{
	calls++;
	if (refusals > 0) {
		refusals--;
		return -EBUSY;
	}
	return __real_io_uring_submit(ring);
}

static void busy__room_is_made(void **state)
{
	struct probe first, second;
	struct turn turn;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_null(&turn, &first);
	rpma_uv__ring_flush(turn.r);
	probe_null(&turn, &second);
	calls = 0;
	refusals = 1;

	rpma_uv__ring_flush(turn.r);

	assert_int_equal(calls, 2);
	assert_int_equal(first.done, 0);
	assert_int_equal(second.done, 0);
	assert_true(rpma_uv__ring_reap(turn.r));
	assert_int_equal(first.done, 1);
	assert_int_equal(second.done, 1);
	turn_close(&turn);
}

static void busy__no_spinning(void **state)
{
	struct probe probe;
	struct turn turn;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_null(&turn, &probe);
	calls = 0;
	refusals = 5;
	turn_until(&turn, &probe.done);
	assert_int_equal(probe.done, 1);
	assert_int_equal(probe.res, -EBADF);
	/* five refusals, one success, each at its own time */
	assert_int_equal(calls, 6);
	turn_close(&turn);
}

TURN_MAIN(cmocka_unit_test(busy__room_is_made), cmocka_unit_test(busy__no_spinning))
