/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* ibv_context_is_odp_capable.c - only a device that pages on demand for reads and writes is */

#include "unit.h"

static int query(void)
{
	int is_capable = UNIT_UNTOUCHED_INT;

	assert_int_equal(rpma_utils_ibv_context_is_odp_capable(double_ctx(), &is_capable), 0);
	return is_capable;
}

static void is_odp_capable__what_the_device_can(void **state)
{
	(void)state;
	assert_int_equal(query(), 0);
	double_device.has_odp = true;
	assert_int_equal(query(), 1);
	double_device.odp_is_complete = false; /* writes, but not reads */
	assert_int_equal(query(), 0);
}

static void is_odp_capable__null(void **state)
{
	int is_capable = UNIT_UNTOUCHED_INT;

	(void)state;
	assert_int_equal(rpma_utils_ibv_context_is_odp_capable(NULL, &is_capable), RPMA_E_INVAL);
	assert_int_equal(is_capable, UNIT_UNTOUCHED_INT);
	assert_int_equal(rpma_utils_ibv_context_is_odp_capable(double_ctx(), NULL), RPMA_E_INVAL);
	assert_int_equal(double_calls_total(), 0);
}

/* unlike other outputs this one is written when the query fails: the answer is no */
static void is_odp_capable__query_fails(void **state)
{
	int is_capable = UNIT_UNTOUCHED_INT;

	(void)state;
	double_fail("ibv_query_device_ex", 1, UNIT_ERRNO);
	assert_int_equal(
		rpma_utils_ibv_context_is_odp_capable(double_ctx(), &is_capable), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(is_capable, 0);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

UNIT_MAIN(UNIT_TEST(is_odp_capable__null), UNIT_TEST(is_odp_capable__query_fails),
	UNIT_TEST(is_odp_capable__what_the_device_can))
