/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * many.c - all completions that are there are taken, in one go
 *
 * Proven: of a hundred reads that become ready at once a single reaping delivers all; with deferred
 * task work one entry of the kernel runs only a part of them.
 */

#include <sys/eventfd.h>

#include "probe.h"

#define COUNT 100

static void many__one_reaping_takes_all(void **state)
{
	struct probe probes[COUNT];
	uint64_t values[COUNT];
	struct turn turn;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	for (int i = 0; i < COUNT; i++)
		probe_read(&turn, &probes[i], fd, &values[i]);
	turn_for(&turn, 5);
	assert_int_equal(probes_done, 0);
	assert_int_equal(rpma_uv__ring_in_flight(turn.r), COUNT);

	assert_int_equal(eventfd_write(fd, COUNT), 0);
	assert_true(rpma_uv__ring_reap(turn.r));

	assert_int_equal(probes_done, COUNT);
	assert_false(rpma_uv__ring_reap(turn.r));
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(probes[i].done, 1);
		assert_int_equal(values[i], 1);
	}
	turn_close(&turn);
	close(fd);
}

TURN_MAIN(cmocka_unit_test(many__one_reaping_takes_all))
