/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * overflow.c - completions that found no room are not lost
 *
 * Proven: with a completion queue of 8 entries and a library that takes it for one of 4096, the
 * kernel keeps back what does not fit, and a single reaping gets all of it, once each.
 */

#include <liburing.h>

#include "probe.h"

#define REAL 8

int __real_io_uring_queue_init_params(
	unsigned entries, struct io_uring *ring, struct io_uring_params *params);
int __wrap_io_uring_queue_init_params(
	unsigned entries, struct io_uring *ring, struct io_uring_params *params);

static unsigned *kernel_flags;

int __wrap_io_uring_queue_init_params(
	unsigned entries, struct io_uring *ring, struct io_uring_params *params)
{
	int ret;

	(void)entries;
	params->flags |= IORING_SETUP_CQSIZE;
	params->cq_entries = REAL;
	ret = __real_io_uring_queue_init_params(REAL, ring, params);
	assert_int_equal(params->cq_entries, REAL);
	params->cq_entries = 4096;
	kernel_flags = ring->sq.kflags;
	return ret;
}

static void overflow__nothing_is_lost(void **state)
{
	struct probe probes[10 * REAL];
	struct turn turn;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	for (int i = 0; i < 10 * REAL; i++)
		probe_null(&turn, &probes[i]);
	/* each flush carries as many as the submission queue holds; nobody reaps between */
	for (int i = 0; i < 10; i++)
		rpma_uv__ring_flush(turn.r);
	assert_true(*kernel_flags & IORING_SQ_CQ_OVERFLOW);

	assert_true(rpma_uv__ring_reap(turn.r));

	assert_false(*kernel_flags & IORING_SQ_CQ_OVERFLOW);
	assert_int_equal(probes_done, 10 * REAL);
	for (int i = 0; i < 10 * REAL; i++)
		assert_int_equal(probes[i].done, 1);
	turn_close(&turn);
}

/* the loop gets there by itself */
static void overflow__loop_goes_on(void **state)
{
	struct probe probes[40 * REAL];
	struct turn turn;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	for (int i = 0; i < 40 * REAL; i++)
		probe_null(&turn, &probes[i]);
	for (int i = 0; i < 20; i++)
		rpma_uv__ring_flush(turn.r);
	turn_until(&turn, &probes[40 * REAL - 1].done);
	assert_int_equal(probes_done, 40 * REAL);
	turn_close(&turn);
}

TURN_MAIN(cmocka_unit_test(overflow__nothing_is_lost), cmocka_unit_test(overflow__loop_goes_on))
