/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * submit_again.c - a kernel that takes nothing for now is asked again
 *
 * Proven: EAGAIN with nothing in flight, so that no completion could wake the loop, ends by a
 *         timer;
 * meanwhile the loop sleeps; a completion that comes meanwhile cuts the wait short.
 */

#include <liburing.h>
#include <sys/eventfd.h>

#include "probe.h"

int __real_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit(struct io_uring *ring);

static unsigned calls, refusals;

int __wrap_io_uring_submit(struct io_uring *ring)
{
	calls++;
	if (refusals > 0) {
		refusals--;
		return -EAGAIN;
	}
	return __real_io_uring_submit(ring);
}

static void again__by_timer(void **state)
{
	struct probe probe;
	uint64_t start = uv_hrtime();
	struct turn turn;
	unsigned turns = 0;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_null(&turn, &probe);
	calls = 0;
	refusals = 6; /* 1 + 2 + 4 + 8 + 16 + 32 ms */
	rpma_uv__reactor_hold(turn.r);
	for (; !probe.done; turns++)
		assert_int_not_equal(uv_run(&turn.loop, UV_RUN_ONCE), 0);
	rpma_uv__reactor_drop(turn.r);
	assert_int_equal(calls, 7);
	assert_true(uv_hrtime() - start > UINT64_C(55000000));
	/* a few turns for each try; a loop that spins would have made a hundred thousand */
	assert_true(turns < 60);
	turn_close(&turn);
}

/* nothing can be submitted: what is closed then is not waited for */
static void again__closed_meanwhile(void **state)
{
	struct probe probe;
	struct turn turn;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	refusals = 1000000;
	probe_null(&turn, &probe);
	turn_for(&turn, 5);
	assert_int_equal(probe.done, 0);
	refusals = 0;
	turn_close(&turn);
	assert_int_equal(probe.done, 1);
}

static void again__completion_cuts_it_short(void **state)
{
	struct probe waiting, probe;
	struct turn turn;
	uint64_t value;
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_read(&turn, &waiting, fd, &value);
	rpma_uv__ring_flush(turn.r);
	probe_null(&turn, &probe);
	refusals = 1000000; /* the tries are 64 ms apart before long */
	turn_for(&turn, 100);
	assert_int_equal(probe.done, 0);
	refusals = 0;
	assert_int_equal(eventfd_write(fd, 1), 0);
	calls = 0;
	turn_until(&turn, &probe.done);
	assert_int_equal(waiting.done, 1);
	assert_int_equal(calls, 1);
	turn_close(&turn);
	close(fd);
}

TURN_MAIN(cmocka_unit_test(again__by_timer), cmocka_unit_test(again__closed_meanwhile),
	cmocka_unit_test(again__completion_cuts_it_short))
