/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* set_get.c - both sizes are stored by themselves, and what is set is what is read */

#include <limits.h>

#include "unit.h"

static struct rpma_srq_cfg *cfg;

static int setup(void **state)
{
	(void)unit_setup(state);
	return rpma_srq_cfg_new(&cfg);
}

static int teardown(void **state)
{
	(void)rpma_srq_cfg_delete(&cfg);
	return unit_teardown(state);
}

/* any value of 32 bits is accepted, and neither disturbs the other */
static void srq_cfg__sizes(void **state)
{
	static const uint32_t values[] = { 0, 1, INT_MAX, (uint32_t)INT_MAX + 1, UINT32_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		uint32_t rq_size = UNIT_UNTOUCHED_INT, rcq_size = UNIT_UNTOUCHED_INT;

		assert_int_equal(rpma_srq_cfg_set_rq_size(cfg, values[i]), 0);
		assert_int_equal(rpma_srq_cfg_set_rcq_size(cfg, ~values[i]), 0);
		assert_int_equal(rpma_srq_cfg_get_rq_size(cfg, &rq_size), 0);
		assert_int_equal(rpma_srq_cfg_get_rcq_size(cfg, &rcq_size), 0);
		assert_int_equal(rq_size, values[i]);
		assert_int_equal(rcq_size, ~values[i]);
	}
}

static void srq_cfg__null(void **state)
{
	uint32_t size = UNIT_UNTOUCHED_INT;

	(void)state;
	assert_int_equal(rpma_srq_cfg_set_rq_size(NULL, 1), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_cfg_get_rq_size(NULL, &size), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_cfg_get_rq_size(cfg, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_cfg_set_rcq_size(NULL, 1), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_cfg_get_rcq_size(NULL, &size), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_cfg_get_rcq_size(cfg, NULL), RPMA_E_INVAL);
	assert_int_equal(size, UNIT_UNTOUCHED_INT);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(srq_cfg__null), TEST(srq_cfg__sizes))
