/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * rounds.c - a reaping has an end, however much there is or however long the kernel holds it back
 *
 * Proven: with a queue that shows one completion at a time, or none for long, a reaping that would
 * go on for longer than its bound leaves the rest to the next turn, which comes although nothing
 * wakes the loop any more.
 */

#include <liburing.h>
#include <sys/eventfd.h>

#include "probe.h"

#define COUNT 3000

unsigned __real_io_uring_peek_batch_cqe(
	struct io_uring *ring, struct io_uring_cqe **cqes, unsigned count);
unsigned __wrap_io_uring_peek_batch_cqe(
	struct io_uring *ring, struct io_uring_cqe **cqes, unsigned count);

static unsigned blind; /* looks to come that see nothing */

unsigned __wrap_io_uring_peek_batch_cqe(
	struct io_uring *ring, struct io_uring_cqe **cqes, unsigned count)
{
	(void)count;
	if (blind == 0)
		return __real_io_uring_peek_batch_cqe(ring, cqes, 1);
	blind--;
	return 0;
}

static void rounds__rest_in_the_next_turn(void **state)
{
	static const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .ring_entries = 4096 };
	static struct probe probes[COUNT];
	struct turn turn;

	(void)state;
	turn_open(&turn, &opts);
	probe_ring(&turn);
	for (int i = 0; i < COUNT; i++)
		probe_null(&turn, &probes[i]);
	rpma_uv__ring_flush(turn.r);
	assert_int_equal(turn_stats(&turn).ring_submitted, COUNT);
	assert_true(rpma_uv__ring_reap(turn.r));
	assert_true(probes_done < COUNT);
	turn_until(&turn, &probes[COUNT - 1].done);
	assert_int_equal(probes_done, COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(probes[i].order, i + 1);
	turn_close(&turn);
}

static void rounds__nothing_seen(void **state)
{
	struct probe probe;
	struct turn turn;
	uint64_t value;
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	if (!(turn_stats(&turn).ring_flags & IORING_SETUP_TASKRUN_FLAG)) {
		printf("this kernel does not tell what it holds back\n");
		skip();
	}
	probe_read(&turn, &probe, fd, &value);
	turn_for(&turn, 5);
	blind = 10000;
	assert_int_equal(eventfd_write(fd, 1), 0);
	turn_until(&turn, &probe.done);
	assert_int_equal(blind, 0);
	assert_int_equal(probe.res, sizeof(value));
	turn_close(&turn);
	close(fd);
}

TURN_MAIN(cmocka_unit_test(rounds__rest_in_the_next_turn), cmocka_unit_test(rounds__nothing_seen))
