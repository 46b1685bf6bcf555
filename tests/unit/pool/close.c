/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* close.c - a pool goes in the reverse order of its making, at whatever point it is told to */

#include "pools.h"

static rpma_uv_pool_t *pool;
static unsigned done;
static int status_seen;

static void new_done(rpma_uv_future_t *f, int status)
{
	(void)f;
	done++;
	status_seen = status;
}

/* cancelled while libuv's pool registers, and while the ring takes slice after slice */
static void close__cancelled_while_made(void **state)
{
	(void)state;
	for (unsigned slices = 0; slices < 4; slices++) {
		rpma_uv_op_t op;

		pool = UNIT_UNTOUCHED;
		done = 0;
		rpma_uv_then(pool_start(&op, 4, 16 * MIB, &pool), new_done, NULL);
		while (ring_double_buffers() < slices)
			uv_run(&turn.loop, UV_RUN_ONCE);
		assert_int_equal(rpma_uv_cancel(&op.future, 0), 0);
		turn_until(&turn, &done);
		assert_int_equal(status_seen, UV_ECANCELED);
		assert_ptr_equal(pool, UNIT_UNTOUCHED);
		assert_int_equal(ring_double_buffers(), 0);
	}
}

/* the reactor closes while a pool is being made (pools_teardown() checks that all is gone) */
static void close__reactor_while_registering(void **state)
{
	(void)state;
	pool = UNIT_UNTOUCHED;
	done = 0;
	rpma_uv_then(pool_start(NULL, 4, 16 * MIB, &pool), new_done, NULL);
	rpma_uv_reactor_close(&turn.reactor, turn_count, &turn.closed);
	turn_until(&turn, &turn.closed);
	assert_int_equal(done, 1);
	assert_int_equal(status_seen, UV_ECANCELED);
	assert_ptr_equal(pool, UNIT_UNTOUCHED);
	assert_int_equal(registered, 1);
	assert_int_equal(deregistered, 1);
	assert_int_equal(uv_loop_close(&turn.loop), 0);
	turn_open(&turn, NULL);
}

/* the program was first, the reactor comes while the pool is on its way out */
static void close__reactor_while_closing(void **state)
{
	unsigned closed = 0;

	(void)state;
	pool = pool_now(4, 16 * MIB);
	assert_int_equal(ring_double_buffers(), 4);
	rpma_uv_pool_close(pool, turn_count, &closed);
	rpma_uv_reactor_close(&turn.reactor, turn_count, &turn.closed);
	turn_until(&turn, &turn.closed);
	assert_int_equal(closed, 1);
	assert_int_equal(uv_loop_close(&turn.loop), 0);
	turn_open(&turn, NULL);
}

/* the reactor was first: the program's callback comes all the same, and once */
static void close__reactor_was_first(void **state)
{
	unsigned closed = 0;

	(void)state;
	pool = pool_now(4, 16 * MIB);
	rpma_uv_reactor_close(&turn.reactor, turn_count, &turn.closed);
	assert_true(ring_double_buffers() > 0);
	rpma_uv_pool_close(pool, turn_count, &closed);
	assert_int_equal(closed, 0);
	assert_null(rpma_uv_buf_get(pool));
	turn_until(&turn, &turn.closed);
	assert_int_equal(closed, 1);
	assert_int_equal(ring_double_buffers(), 0);
	assert_int_equal(uv_loop_close(&turn.loop), 0);
	turn_open(&turn, NULL);
}

/* a pool asked for on a reactor that closes */
static void close__too_late(void **state)
{
	(void)state;
	pool = NULL;
	done = 0;
	rpma_uv_reactor_close(&turn.reactor, turn_count, &turn.closed);
	rpma_uv_then(pool_start(NULL, 1, 4096, &pool), new_done, NULL);
	turn_until(&turn, &turn.closed);
	assert_int_equal(done, 1);
	assert_int_equal(status_seen, UV_ECANCELED);
	assert_null(pool);
	assert_int_equal(registered, 0);
	assert_int_equal(uv_loop_close(&turn.loop), 0);
	turn_open(&turn, NULL);
}

UNIT_MAIN(POOLS_TEST(close__cancelled_while_made), POOLS_TEST(close__reactor_while_registering),
	POOLS_TEST(close__reactor_while_closing), POOLS_TEST(close__reactor_was_first),
	POOLS_TEST(close__too_late))
