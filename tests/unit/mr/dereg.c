/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* dereg.c - deregistering, which takes the pointer even if it fails */

#include "unit.h"

static uint8_t memory[64];

static void mr_dereg__done(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory, 64, RPMA_MR_USAGE_RECV);

	(void)state;
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	assert_null(mr);
	assert_int_equal(double_live(DOUBLE_MR), 0);
	unit_peer_delete(peer);
}

static void mr_dereg__null(void **state)
{
	struct rpma_mr_local *mr = NULL;

	(void)state;
	assert_int_equal(rpma_mr_dereg(NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	assert_int_equal(double_calls_total(), 0);
}

static void mr_dereg__provider_fails(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory, 64, RPMA_MR_USAGE_RECV);

	(void)state;
	double_fail("ibv_dereg_mr", 1, UNIT_ERRNO);
	assert_int_equal(rpma_mr_dereg(&mr), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_null(mr);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(mr_dereg__done), UNIT_TEST(mr_dereg__null), UNIT_TEST(mr_dereg__provider_fails))
