/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* new_delete.c - a configuration comes with the values that hold without one, and goes */

#include "unit.h"

static void srq_cfg_new__defaults(void **state)
{
	struct rpma_srq_cfg *cfg = NULL;
	uint32_t size = UNIT_UNTOUCHED_INT;

	(void)state;
	assert_int_equal(rpma_srq_cfg_new(&cfg), 0);
	assert_int_equal(rpma_srq_cfg_get_rq_size(cfg, &size), 0);
	assert_int_equal(size, 20);
	size = UNIT_UNTOUCHED_INT;
	assert_int_equal(rpma_srq_cfg_get_rcq_size(cfg, &size), 0);
	assert_int_equal(size, 20);
	assert_int_equal(rpma_srq_cfg_delete(&cfg), 0);
	assert_null(cfg);
}

/* unlike other outputs this one becomes NULL when there is no memory */
static void srq_cfg_new__fails(void **state)
{
	struct rpma_srq_cfg *cfg = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_srq_cfg_new(NULL), RPMA_E_INVAL);
	unit_alloc_fail(1);
	assert_int_equal(rpma_srq_cfg_new(&cfg), RPMA_E_NOMEM);
	assert_null(cfg);
}

static void srq_cfg_delete__null(void **state)
{
	struct rpma_srq_cfg *cfg = NULL;

	(void)state;
	assert_int_equal(rpma_srq_cfg_delete(NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_cfg_delete(&cfg), 0);
}

UNIT_MAIN(UNIT_TEST(srq_cfg_delete__null), UNIT_TEST(srq_cfg_new__defaults),
	UNIT_TEST(srq_cfg_new__fails))
