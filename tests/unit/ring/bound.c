/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * bound.c - more requests than the ring has room for wait in order
 *
 * Proven: with 16 submission entries, 2,000 requests that all block are accepted; the kernel never
 * holds more than its completion queue has room for; a cancel gets through all the same; and each
 * request ends once, in the order of queuing.
 */

#include <sys/eventfd.h>

#include "probe.h"

#define COUNT 2000

static struct turn turn;
static struct probe probes[COUNT];
static uint64_t values[COUNT];

static const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .ring_entries = 16 };

static void bound__full_ring_waits(void **state)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	unsigned turns;

	(void)state;
	turn_open(&turn, &opts);
	probe_ring(&turn);
	for (int i = 0; i < COUNT; i++)
		probe_read(&turn, &probes[i], fd, &values[i]);
	/* a full ring is no reason not to sleep */
	turns = turn_for(&turn, 50);
	assert_true(turns < 30);
	assert_int_equal(probes_done, 0);
	assert_true(turn_stats(&turn).ring_submitted <= 32);
	assert_int_equal(rpma_uv__ring_in_flight(turn.r), COUNT);

	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(eventfd_write(fd, 1), 0);
		uv_run(&turn.loop, UV_RUN_NOWAIT);
	}
	turn_until(&turn, &probes[COUNT - 1].done);
	assert_int_equal(probes_done, COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(probes[i].done, 1);
	assert_int_equal(turn_stats(&turn).ring_submitted, COUNT);
	turn_close(&turn);
	close(fd);
}

static void bound__cancel_gets_through(void **state)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, &opts);
	probe_ring(&turn);
	for (int i = 0; i < 100; i++)
		probe_read(&turn, &probes[i], fd, &values[i]);
	turn_for(&turn, 5);
	rpma_uv__ring_cancel(turn.r, &probes[0].io);
	rpma_uv__ring_cancel(turn.r, &probes[99].io);
	turn_until(&turn, &probes[0].done);
	assert_int_equal(probes[0].res, -ECANCELED);
	assert_int_equal(probes[99].res, -ECANCELED);
	assert_int_equal(probes_done, 2);
	turn_close(&turn);
	assert_int_equal(probes_done, 100);
	close(fd);
}

TURN_MAIN(cmocka_unit_test(bound__full_ring_waits), cmocka_unit_test(bound__cancel_gets_through))
