/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * rounds.c - a reaping has an end, however much there is
 *
 * Proven: with a queue that shows one completion at a time, a reaping that would go on for longer
 * than its bound leaves the rest to the next turn, which comes without anything to wake the loop.
 */

#include <liburing.h>

#include "probe.h"

#define COUNT 3000

unsigned __real_io_uring_peek_batch_cqe(
	struct io_uring *ring, struct io_uring_cqe **cqes, unsigned count);
unsigned __wrap_io_uring_peek_batch_cqe(
	struct io_uring *ring, struct io_uring_cqe **cqes, unsigned count);

unsigned __wrap_io_uring_peek_batch_cqe(
	struct io_uring *ring, struct io_uring_cqe **cqes, unsigned count)
{
	(void)count;
	return __real_io_uring_peek_batch_cqe(ring, cqes, 1);
}

static void rounds__rest_in_the_next_turn(void **state)
{
	static const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .ring_entries = 4096 };
	static struct probe probes[COUNT];
	struct turn turn;
	unsigned turns = 0;

	(void)state;
	turn_open(&turn, &opts);
	probe_ring(&turn);
	for (int i = 0; i < COUNT; i++)
		probe_null(&turn, &probes[i]);
	rpma_uv__ring_flush(turn.r);
	assert_int_equal(turn_stats(&turn).ring_submitted, COUNT);
	assert_true(rpma_uv__ring_reap(turn.r));
	assert_true(probes_done < COUNT);
	/* what wakes the loop came with what was taken: it has to be awake by itself */
	rpma_uv__reactor_hold(turn.r);
	for (; probes_done < COUNT; turns++)
		assert_int_not_equal(uv_run(&turn.loop, UV_RUN_ONCE), 0);
	rpma_uv__reactor_drop(turn.r);
	assert_true(turns < 4);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(probes[i].order, i + 1);
	turn_close(&turn);
}

TURN_MAIN(cmocka_unit_test(rounds__rest_in_the_next_turn))
