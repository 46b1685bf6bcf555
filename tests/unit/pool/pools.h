/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pools.h - what tests of pools share
 *
 * Every registration and deregistration checks the order: verbs first and last, the ring between.
 */

#ifndef RPMA_TEST_POOLS_H
#define RPMA_TEST_POOLS_H

#include "ring_double.h"
#include "turn.h"
#include "unit.h"

#define MIB ((size_t)1 << 20)

static struct turn turn;
static struct rpma_peer *peer;
static unsigned registered, deregistered;
static bool has_others; /* several pools: whose buffers the ring has is not known */
static bool was_elsewhere; /* the last registration ran in another thread */
static uv_thread_t home;

int __real_rpma_mr_reg(
	struct rpma_peer *p, void *ptr, size_t size, int usage, struct rpma_mr_local **mr_ptr);
int __wrap_rpma_mr_reg(
	struct rpma_peer *p, void *ptr, size_t size, int usage, struct rpma_mr_local **mr_ptr);
int __real_rpma_mr_dereg(struct rpma_mr_local **mr_ptr);
int __wrap_rpma_mr_dereg(struct rpma_mr_local **mr_ptr);

static void note_thread(void)
{
	uv_thread_t self = uv_thread_self();

	was_elsewhere = !uv_thread_equal(&self, &home);
}

int __wrap_rpma_mr_reg(
	struct rpma_peer *p, void *ptr, size_t size, int usage, struct rpma_mr_local **mr_ptr)
{
	note_thread();
	if (!has_others)
		assert_int_equal(ring_double_buffers(), 0);
	/* nobody on the other side of the wire gets at it */
	assert_false(usage & (RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST));
	registered++;
	return __real_rpma_mr_reg(p, ptr, size, usage, mr_ptr);
}

int __wrap_rpma_mr_dereg(struct rpma_mr_local **mr_ptr)
{
	note_thread();
	if (!has_others)
		assert_int_equal(ring_double_buffers(), 0);
	deregistered++;
	return __real_rpma_mr_dereg(mr_ptr);
}

static int pools_setup(void **state)
{
	unit_setup(state);
	home = uv_thread_self();
	ring_double_reset(MIB, 512);
	/* the double opens its device at first use, for good */
	peer = unit_peer_new();
	turn_open(&turn, NULL);
	registered = deregistered = 0;
	has_others = false;
	return 0;
}

static int pools_teardown(void **state)
{
	turn_close(&turn);
	unit_peer_delete(peer);
	assert_int_equal(ring_double_buffers(), 0);
	return unit_teardown(state);
}

#define POOLS_TEST(function) cmocka_unit_test_setup_teardown(function, pools_setup, pools_teardown)

static inline rpma_uv_future_t *pool_start(
	rpma_uv_op_t *op, unsigned count, size_t chunk, rpma_uv_pool_t **pool_ptr)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = count, .chunk = chunk };

	return rpma_uv_pool_new(&turn.reactor, op, peer, &opts, pool_ptr);
}

static inline rpma_uv_pool_t *pool_now(unsigned count, size_t chunk)
{
	rpma_uv_pool_t *pool = NULL;

	assert_int_equal(turn_wait(pool_start(NULL, count, chunk, &pool)), 0);
	assert_non_null(pool);
	return pool;
}

static inline void pool_close_now(rpma_uv_pool_t *pool)
{
	unsigned closed = 0;

	rpma_uv_pool_close(pool, turn_count, &closed);
	assert_int_equal(closed, 0);
	turn_until(&turn, &closed);
	assert_int_equal(closed, 1);
}

#endif /* RPMA_TEST_POOLS_H */
