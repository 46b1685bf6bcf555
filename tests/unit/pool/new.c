/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* new.c - a pool is one region, known to the device first and to the ring second */

#include "pools.h"

static void new__defaults(void **state)
{
	rpma_uv_pool_t *pool = NULL;
	rpma_uv_buf_t *bufs[16];

	(void)state;
	assert_int_equal(turn_wait(rpma_uv_pool_new(&turn.reactor, NULL, peer, NULL, &pool)), 0);
	assert_int_equal(registered, 1);
	assert_false(was_elsewhere);
	assert_true(rpma_uv_pool_is_fixed(pool));
	assert_int_equal(ring_double_buffers(), 1);
	for (unsigned i = 0; i < 16; i++) {
		bufs[i] = rpma_uv_buf_get(pool);
		assert_non_null(bufs[i]);
		assert_int_equal(bufs[i]->index, i);
		assert_int_equal(bufs[i]->size, 256 << 10);
		assert_int_equal((uintptr_t)bufs[i]->base % 4096, 0);
		assert_int_equal(bufs[i]->local.offset, i * bufs[i]->size);
		assert_ptr_equal(bufs[i]->base, (char *)bufs[0]->base + i * bufs[i]->size);
		assert_ptr_equal(bufs[i]->local.mr, bufs[0]->local.mr);
		memset(bufs[i]->base, 1, bufs[i]->size);
	}
	assert_null(rpma_uv_buf_get(pool));
	for (unsigned i = 0; i < 16; i++)
		rpma_uv_buf_put(bufs[i]);
	pool_close_now(pool);
	assert_int_equal(deregistered, 1);
}

/* never done inside the call, and the output not written there either */
static void new__not_inside_the_call(void **state)
{
	rpma_uv_pool_t *pool = NULL;
	rpma_uv_op_t op;
	rpma_uv_future_t *f = pool_start(&op, 2, 4096, &pool);

	(void)state;
	assert_int_equal(f->status, RPMA_UV_PENDING);
	assert_int_equal(turn_wait(f), 0);
	assert_non_null(pool);
}

/* above 4 MiB pinning runs elsewhere, and the loop goes on meanwhile */
static void new__big(void **state)
{
	rpma_uv_pool_t *pool = pool_now(4, MIB);

	(void)state;
	assert_false(was_elsewhere);
	pool_close_now(pool);
	assert_false(was_elsewhere);
	pool = pool_now(5, MIB);
	assert_true(was_elsewhere);
	pool_close_now(pool);
	assert_true(was_elsewhere);
}

/* the ring gets slices of at most 16 MiB, one a turn, cut between buffers */
static void new__slices(void **state)
{
	rpma_uv_pool_t *pool = NULL;
	rpma_uv_future_t *f;
	unsigned before = 0;

	(void)state;
	f = pool_start(NULL, 11, 5 * MIB, &pool);
	while (pool == NULL) {
		uv_run(&turn.loop, UV_RUN_ONCE);
		assert_true(ring_double_buffers() <= before + 1);
		before = ring_double_buffers();
	}
	assert_int_equal(before, 4); /* 15 + 15 + 15 + 10 MiB */
	assert_int_equal(turn_wait(f), 0);
	assert_true(rpma_uv_pool_is_fixed(pool));
	pool_close_now(pool);
	assert_int_equal(ring_double_buffers(), 0);
}

/* a buffer larger than a slice may be: ordinary memory for the ring */
static void new__buffers_too_large(void **state)
{
	rpma_uv_pool_t *pool = pool_now(2, 17 * MIB);

	(void)state;
	assert_false(rpma_uv_pool_is_fixed(pool));
	assert_int_equal(ring_double_buffers(), 0);
	pool_close_now(pool);
}

/* one that stays open is closed by the reactor */
static void new__left_open(void **state)
{
	(void)state;
	has_others = true;
	pool_now(2, 4096);
	pool_now(3, 2 * MIB);
}

UNIT_MAIN(POOLS_TEST(new__defaults), POOLS_TEST(new__not_inside_the_call), POOLS_TEST(new__big),
	POOLS_TEST(new__slices), POOLS_TEST(new__buffers_too_large), POOLS_TEST(new__left_open))
