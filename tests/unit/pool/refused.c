/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * refused.c - what a pool cannot have
 *
 * Proven: when the device may not lock so much memory, one line names what is needed and what is
 * allowed; when the ring may not, or is missing, the pool works all the same and says so. On
 * failure nothing is left, and the output is not written.
 */

#include <sys/resource.h>

#include "pools.h"

int __real_getrlimit(__rlimit_resource_t resource, struct rlimit *limit);
int __wrap_getrlimit(__rlimit_resource_t resource, struct rlimit *limit);

static bool is_unlimited;

int __wrap_getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	int ret = __real_getrlimit(resource, limit);

	if (is_unlimited && resource == RLIMIT_MEMLOCK)
		limit->rlim_cur = RLIM_INFINITY;
	return ret;
}

static void refuse(const rpma_uv_pool_opts_t *opts, int status)
{
	rpma_uv_pool_t *pool = UNIT_UNTOUCHED;
	rpma_uv_op_t op;

	assert_int_equal(
		turn_wait(rpma_uv_pool_new(&turn.reactor, &op, peer, opts, &pool)), status);
	assert_ptr_equal(pool, UNIT_UNTOUCHED);
	assert_int_equal(ring_double_buffers(), 0);
}

static void refused__arguments(void **state)
{
	rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .chunk = 1000 };
	rpma_uv_pool_t *pool;
	rpma_uv_op_t op;

	(void)state;
	refuse(&opts, UV_EINVAL);
	opts.chunk = SIZE_MAX - 4095;
	refuse(&opts, UV_EINVAL);
	opts.chunk = 4096;
	opts.size = 4;
	refuse(&opts, UV_EINVAL);
	assert_int_equal(
		turn_wait(rpma_uv_pool_new(&turn.reactor, NULL, NULL, NULL, &pool)), UV_EINVAL);
	assert_int_equal(
		turn_wait(rpma_uv_pool_new(&turn.reactor, &op, peer, NULL, NULL)), UV_EINVAL);
	assert_string_equal(rpma_uv_strerror(&op.future), "pool: invalid argument");
}

static void memlock(size_t chunk)
{
	const struct rlimit limit = { 65536, 65536 };
	rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 10, .chunk = chunk };
	rpma_uv_pool_t *pool = NULL;
	char expected[256];
	rpma_uv_op_t op;

	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	double_fail("ibv_reg_mr", 1, ENOMEM);
	assert_int_equal(
		turn_wait(rpma_uv_pool_new(&turn.reactor, &op, peer, &opts, &pool)), UV_ENOMEM);
	snprintf(expected, sizeof(expected),
		"pool of 10 buffers of %zu bytes, which needs %zu bytes locked where "
		"RLIMIT_MEMLOCK allows 65536: not enough memory",
		chunk, 10 * chunk);
	assert_string_equal(rpma_uv_strerror(&op.future), expected);
	assert_null(pool);
}

static void refused__memlock(void **state)
{
	(void)state;
	memlock(65536); /* here */
	memlock(2 * MIB); /* and from libuv's pool */
}

/* no limit is to blame */
static void refused__memlock_unlimited(void **state)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 2, .chunk = 4096 };
	rpma_uv_pool_t *pool = NULL;
	rpma_uv_op_t op;

	(void)state;
	is_unlimited = true;
	double_fail("ibv_reg_mr", 1, ENOMEM);
	assert_int_equal(
		turn_wait(rpma_uv_pool_new(&turn.reactor, &op, peer, &opts, &pool)), UV_ENOMEM);
	is_unlimited = false;
	assert_string_equal(
		rpma_uv_strerror(&op.future), "pool of 2 buffers of 4096 bytes: not enough memory");
}

/* a size that is a size, and that no address space has */
static void refused__too_large(void **state)
{
	const rpma_uv_pool_opts_t opts = {
		.size = sizeof(opts), .count = 1, .chunk = SIZE_MAX / 2 - 4095
	};

	(void)state;
	refuse(&opts, UV_ENOMEM);
	assert_int_equal(registered, 0);
}

/* another reason is told as it is */
static void refused__by_the_device(void **state)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 2, .chunk = 4096 };
	rpma_uv_pool_t *pool = NULL;
	rpma_uv_op_t op;

	(void)state;
	double_fail("ibv_reg_mr", 1, EPERM);
	assert_int_equal(
		turn_wait(rpma_uv_pool_new(&turn.reactor, &op, peer, &opts, &pool)), UV_EPERM);
	assert_string_equal(rpma_uv_strerror(&op.future),
		"pool of 2 buffers of 4096 bytes: operation not permitted");
}

static void refused__no_memory(void **state)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts) };
	unsigned k;

	(void)state;
	for (k = 1; k <= 3; k++) {
		rpma_uv_pool_t *pool = NULL;
		rpma_uv_op_t op;

		unit_alloc_fail(k);
		assert_int_equal(
			turn_wait(rpma_uv_pool_new(&turn.reactor, &op, peer, &opts, &pool)),
			UV_ENOMEM);
		unit_alloc_fail(0);
		assert_null(pool);
	}
}

/* no room for a future: there is none, and nothing was begun */
static void refused__no_future(void **state)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 1, .chunk = 4096 };
	rpma_uv_pool_t *pool = UNIT_UNTOUCHED;
	rpma_uv_buf_t *buf = UNIT_UNTOUCHED;
	rpma_uv_op_t op;

	(void)state;
	unit_alloc_fail(3); /* after those of the pool itself */
	assert_null(rpma_uv_pool_new(&turn.reactor, NULL, peer, &opts, &pool));
	unit_alloc_fail(0);
	assert_ptr_equal(pool, UNIT_UNTOUCHED);
	assert_int_equal(registered, 0);
	assert_int_equal(turn_wait(rpma_uv_pool_new(&turn.reactor, &op, peer, &opts, &pool)), 0);
	unit_alloc_fail(1);
	assert_null(rpma_uv_buf_wait(pool, NULL, &buf));
	unit_alloc_fail(0);
	assert_ptr_equal(buf, UNIT_UNTOUCHED);
	buf = rpma_uv_buf_get(pool);
	assert_non_null(buf);
	rpma_uv_buf_put(buf);
}

/* the ring takes none, or some: none stay, and the buffers work */
static void refused__by_the_ring(void **state)
{
	(void)state;
	for (unsigned max = 0; max < 4; max++) {
		rpma_uv_pool_t *pool;
		rpma_uv_buf_t *buf;

		ring_double_buffers_max(max);
		pool = pool_now(4, 16 * MIB);
		assert_false(rpma_uv_pool_is_fixed(pool));
		assert_int_equal(ring_double_buffers(), 0);
		buf = rpma_uv_buf_get(pool);
		assert_non_null(buf);
		rpma_uv_buf_put(buf);
		pool_close_now(pool);
	}
}

static void refused__no_ring(void **state)
{
	rpma_uv_pool_t *pool;

	(void)state;
	ring_double_missing(UV_ENOSYS);
	pool = pool_now(4, 4096);
	assert_false(rpma_uv_pool_is_fixed(pool));
	pool_close_now(pool);
}

UNIT_MAIN(POOLS_TEST(refused__arguments), POOLS_TEST(refused__memlock),
	POOLS_TEST(refused__memlock_unlimited), POOLS_TEST(refused__too_large),
	POOLS_TEST(refused__no_future), POOLS_TEST(refused__by_the_device),
	POOLS_TEST(refused__no_memory), POOLS_TEST(refused__by_the_ring),
	POOLS_TEST(refused__no_ring))
