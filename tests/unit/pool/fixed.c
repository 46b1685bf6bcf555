/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* fixed.c - writes from a pool's memory take the registered path by themselves, others do not */

#include <fcntl.h>

#include "pools.h"
#include "reactor/pool.h"

static rpma_uv_file_t *file;

static int index_of_write(void *base, size_t len)
{
	uv_buf_t buf = uv_buf_init(base, (unsigned)len);

	assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, &buf, 1, 0, 0)), 0);
	return ring_double_last(RPMA_UV__IO_WRITE)->buf_index;
}

static void fixed__writes(void **state)
{
	rpma_uv_pool_t *first, *second, *plain;
	rpma_uv_buf_t *bufs[3];
	char byte = 0;

	(void)state;
	has_others = true;
	ring_double_exists(0);
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&turn.reactor, NULL, "x", O_RDWR, 0, 0, &file)), 0);
	first = pool_now(3, 8192);
	second = pool_now(2, 4096);
	ring_double_buffers_max(2);
	plain = pool_now(1, 4096);
	bufs[0] = rpma_uv_buf_get(first);
	bufs[1] = rpma_uv_buf_get(second);
	bufs[2] = rpma_uv_buf_get(plain);
	assert_int_equal(index_of_write(bufs[0]->base, 8192), 0);
	assert_int_equal(index_of_write((char *)bufs[0]->base + 100, 10000), 0);
	assert_int_equal(index_of_write(bufs[1]->base, 4096), 1);
	assert_int_equal(index_of_write(bufs[2]->base, 4096), -1);
	assert_int_equal(index_of_write(&byte, 1), -1);
	/* once its pool is closed the place means nothing any more */
	rpma_uv_buf_put(bufs[0]);
	pool_close_now(first);
	assert_int_equal(index_of_write(bufs[1]->base, 4096), 1);
}

/* a range that crosses from one slice to the next is not one registered buffer */
static void fixed__slices(void **state)
{
	rpma_uv_pool_t *pool = pool_now(3, 10 * MIB);
	rpma_uv_buf_t *buf = rpma_uv_buf_get(pool);
	char *base = buf->base;
	int first = rpma_uv__pool_find(turn.r, base, 10 * MIB);
	int third = rpma_uv__pool_find(turn.r, base + 20 * MIB, 10 * MIB);

	(void)state;
	assert_true(first >= 0);
	assert_true(third >= 0);
	assert_int_not_equal(first, third);
	assert_int_equal(rpma_uv__pool_find(turn.r, base + 10 * MIB - 1, 2), -1);
	assert_int_equal(rpma_uv__pool_find(turn.r, base + 30 * MIB - 1, 1), third);
	assert_int_equal(rpma_uv__pool_find(turn.r, base + 30 * MIB - 1, 2), -1);
	assert_int_equal(rpma_uv__pool_find(turn.r, base - 1, 1), -1);
	assert_int_equal(rpma_uv__pool_find(turn.r, base + 30 * MIB, 1), -1);
}

UNIT_MAIN(POOLS_TEST(fixed__writes), POOLS_TEST(fixed__slices))
