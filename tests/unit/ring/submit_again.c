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
	struct turn turn;
	unsigned turns = 0;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_null(&turn, &probe);
	calls = 0;
	refusals = 8; /* 1 + 2 + 4 + 8 + 16 + 32 + 64 ms, and no more than 64 */
	rpma_uv__reactor_hold(turn.r);
	for (; !probe.done; turns++)
		assert_int_not_equal(uv_run(&turn.loop, UV_RUN_ONCE), 0);
	rpma_uv__reactor_drop(turn.r);
	assert_int_equal(calls, 9);
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

/* still refused while it closes: the loop wakes itself until the kernel takes the cancels */
static void again__refused_while_closing(void **state)
{
	struct probe probe;
	struct turn turn;
	uint64_t value;
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_read(&turn, &probe, fd, &value);
	rpma_uv__ring_flush(turn.r);
	refusals = 20;
	calls = 0;
	turn_close(&turn);
	assert_int_equal(calls, 21);
	assert_int_equal(probe.done, 1);
	assert_int_equal(probe.res, -ECANCELED);
	close(fd);
}

/* the submission queue is full of what the kernel does not take: a cancel waits for its turn */
static void again__cancel_finds_no_entry(void **state)
{
	static const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .ring_entries = 16 };
	struct probe probes[16];
	uint64_t values[16];
	struct turn turn;
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, &opts);
	probe_ring(&turn);
	for (int i = 0; i < 16; i++)
		probe_read(&turn, &probes[i], fd, &values[i]);
	refusals = 2;
	rpma_uv__ring_flush(turn.r);
	rpma_uv__ring_cancel(turn.r, &probes[3].io);
	turn_until(&turn, &probes[3].done);
	assert_int_equal(refusals, 0);
	assert_int_equal(probes[3].res, -ECANCELED);
	assert_int_equal(probes_done, 1);
	assert_int_equal(turn_stats(&turn).ring_submitted, 17);
	turn_close(&turn);
	assert_int_equal(probes_done, 16);
	close(fd);
}

TURN_MAIN(cmocka_unit_test(again__by_timer), cmocka_unit_test(again__closed_meanwhile),
	cmocka_unit_test(again__completion_cuts_it_short),
	cmocka_unit_test(again__refused_while_closing),
	cmocka_unit_test(again__cancel_finds_no_entry))
