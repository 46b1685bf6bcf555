/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* set_get.c - every value is stored by itself, and what is set is what is read */

#include <limits.h>

#include "unit.h"

typedef int set_size(struct rpma_conn_cfg *cfg, uint32_t size);
typedef int get_size(const struct rpma_conn_cfg *cfg, uint32_t *size);

static const struct {
	set_size *set;
	get_size *get;
} sizes[] = {
	{ rpma_conn_cfg_set_cq_size, rpma_conn_cfg_get_cq_size },
	{ rpma_conn_cfg_set_rcq_size, rpma_conn_cfg_get_rcq_size },
	{ rpma_conn_cfg_set_sq_size, rpma_conn_cfg_get_sq_size },
	{ rpma_conn_cfg_set_rq_size, rpma_conn_cfg_get_rq_size },
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct rpma_conn_cfg *cfg;

static int setup(void **state)
{
	(void)unit_setup(state);
	return rpma_conn_cfg_new(&cfg);
}

static int teardown(void **state)
{
	(void)rpma_conn_cfg_delete(&cfg);
	return unit_teardown(state);
}

/* any value of 32 bits is accepted, and no value disturbs another */
static void conn_cfg__sizes(void **state)
{
	static const uint32_t values[] = { 0, 1, INT_MAX, (uint32_t)INT_MAX + 1, UINT32_MAX };
	size_t i, j;

	(void)state;
	for (j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
		for (i = 0; i < SIZES; i++)
			assert_int_equal(sizes[i].set(cfg, values[j] - (uint32_t)i), 0);
		for (i = 0; i < SIZES; i++) {
			uint32_t size = UNIT_UNTOUCHED_INT;

			assert_int_equal(sizes[i].get(cfg, &size), 0);
			assert_int_equal(size, values[j] - (uint32_t)i);
		}
	}
}

static void conn_cfg__sizes_null(void **state)
{
	uint32_t size = UNIT_UNTOUCHED_INT;
	size_t i;

	(void)state;
	for (i = 0; i < SIZES; i++) {
		assert_int_equal(sizes[i].set(NULL, 1), RPMA_E_INVAL);
		assert_int_equal(sizes[i].get(NULL, &size), RPMA_E_INVAL);
		assert_int_equal(sizes[i].get(cfg, NULL), RPMA_E_INVAL);
		assert_int_equal(size, UNIT_UNTOUCHED_INT);
	}
}

static void conn_cfg__timeout(void **state)
{
	int timeout_ms = -1;

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_timeout(cfg, INT_MAX), 0);
	assert_int_equal(rpma_conn_cfg_get_timeout(cfg, &timeout_ms), 0);
	assert_int_equal(timeout_ms, INT_MAX);
	assert_int_equal(rpma_conn_cfg_set_timeout(cfg, 0), 0);
	assert_int_equal(rpma_conn_cfg_get_timeout(cfg, &timeout_ms), 0);
	assert_int_equal(timeout_ms, 0);
}

static void conn_cfg__timeout_invalid(void **state)
{
	int timeout_ms = UNIT_UNTOUCHED_INT;

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_timeout(NULL, 1), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_cfg_set_timeout(cfg, -1), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_cfg_set_timeout(cfg, INT_MIN), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_cfg_get_timeout(NULL, &timeout_ms), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_cfg_get_timeout(cfg, NULL), RPMA_E_INVAL);
	assert_int_equal(timeout_ms, UNIT_UNTOUCHED_INT);
	assert_int_equal(rpma_conn_cfg_get_timeout(cfg, &timeout_ms), 0);
	assert_int_equal(timeout_ms, RPMA_DEFAULT_TIMEOUT_MS);
}

static void conn_cfg__compl_channel(void **state)
{
	bool shared = false;

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_compl_channel(cfg, true), 0);
	assert_int_equal(rpma_conn_cfg_get_compl_channel(cfg, &shared), 0);
	assert_true(shared);
	assert_int_equal(rpma_conn_cfg_get_compl_channel(NULL, &shared), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_cfg_get_compl_channel(cfg, NULL), RPMA_E_INVAL);
	assert_true(shared);
	assert_int_equal(rpma_conn_cfg_set_compl_channel(NULL, true), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_cfg_set_compl_channel(cfg, false), 0);
	assert_int_equal(rpma_conn_cfg_get_compl_channel(cfg, &shared), 0);
	assert_false(shared);
}

/* the pointer is kept and not followed; NULL does not take it back */
static void conn_cfg__srq(void **state)
{
	struct rpma_srq *first = (void *)(uintptr_t)0xcd12, *second = (void *)(uintptr_t)0xcd15;
	struct rpma_srq *srq = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_srq(NULL, first), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_cfg_get_srq(NULL, &srq), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_cfg_get_srq(cfg, NULL), RPMA_E_INVAL);
	assert_ptr_equal(srq, UNIT_UNTOUCHED);
	assert_int_equal(rpma_conn_cfg_set_srq(cfg, first), 0);
	assert_int_equal(rpma_conn_cfg_get_srq(cfg, &srq), 0);
	assert_ptr_equal(srq, first);
	assert_int_equal(rpma_conn_cfg_set_srq(cfg, second), 0);
	assert_int_equal(rpma_conn_cfg_set_srq(cfg, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_cfg_get_srq(cfg, &srq), 0);
	assert_ptr_equal(srq, second);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(conn_cfg__compl_channel), TEST(conn_cfg__sizes), TEST(conn_cfg__sizes_null),
	TEST(conn_cfg__srq), TEST(conn_cfg__timeout), TEST(conn_cfg__timeout_invalid))
