/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * requeue.c - a request that is queued again from its own done() is submitted
 *
 * Proven: also when nothing else is queued and no other event comes: the loop does not sleep on it.
 */

#include "probe.h"

static struct turn turn;
static struct rpma_uv__io io;
static unsigned rounds, is_over;
static bool is_inside;

static void again(struct rpma_uv__io *self, int res)
{
	assert_ptr_equal(self, &io);
	assert_int_equal(res, -EBADF);
	assert_false(is_inside);
	if (++rounds == 50) {
		is_over = 1;
		return;
	}
	is_inside = true;
	rpma_uv__ring_queue(turn.r, &io);
	is_inside = false;
}

static void requeue__the_last_one(void **state)
{
	uint64_t start;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	io = (struct rpma_uv__io){ .done = again, .code = RPMA_UV__IO_CLOSE, .fd = -1 };
	start = uv_hrtime();
	rpma_uv__ring_queue(turn.r, &io);
	turn_until(&turn, &is_over);
	/* at once, and not by the guard's time-out */
	assert_true(uv_hrtime() - start < UINT64_C(5000000000));
	assert_int_equal(rounds, 50);
	turn_close(&turn);
}

static struct probe foreign;

static void on_foreign_prepare(uv_prepare_t *prepare)
{
	uv_prepare_stop(prepare);
	probe_null(&turn, &foreign);
}

/* queued by a prepare callback that runs after ours: the poll that follows must not sleep on it */
static void requeue__from_a_foreign_prepare(void **state)
{
	uv_prepare_t prepare;
	uv_prepare_cb ours;
	uint64_t start;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	/* callbacks run in the reverse order of their start: ours is started anew, and so first */
	uv_prepare_init(&turn.loop, &prepare);
	uv_prepare_start(&prepare, on_foreign_prepare);
	ours = turn.r->prepare.prepare_cb;
	uv_prepare_stop(&turn.r->prepare);
	uv_prepare_start(&turn.r->prepare, ours);
	start = uv_hrtime();
	turn_until(&turn, &foreign.done);
	assert_true(uv_hrtime() - start < UINT64_C(5000000000));
	uv_close((uv_handle_t *)&prepare, NULL);
	turn_close(&turn);
}

TURN_MAIN(
	cmocka_unit_test(requeue__the_last_one), cmocka_unit_test(requeue__from_a_foreign_prepare))
