/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* delete.c - deleting a peer frees its domain, and takes the pointer even if that fails */

#include "unit.h"

static void peer_delete__frees(void **state)
{
	struct rpma_peer *peer = unit_peer_new();

	(void)state;
	assert_int_equal(rpma_peer_delete(&peer), 0);
	assert_null(peer);
	assert_int_equal(double_live(DOUBLE_PD), 0);
}

static void peer_delete__null(void **state)
{
	struct rpma_peer *peer = NULL;

	(void)state;
	assert_int_equal(rpma_peer_delete(NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_peer_delete(&peer), 0);
	assert_int_equal(double_calls_total(), 0);
}

static void peer_delete__provider_fails(void **state)
{
	struct rpma_peer *peer = unit_peer_new();

	(void)state;
	double_fail("ibv_dealloc_pd", 1, UNIT_ERRNO);
	assert_int_equal(rpma_peer_delete(&peer), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_null(peer);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

/* a region keeps the domain busy: then it is leaked */
static void peer_delete__busy(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	uint8_t byte;
	struct rpma_mr_local *mr = unit_mr(peer, &byte, 1, RPMA_MR_USAGE_SEND);

	(void)state;
	assert_int_equal(rpma_peer_delete(&peer), RPMA_E_PROVIDER);
	assert_errno(EBUSY);
	assert_null(peer);
	assert_int_equal(double_live(DOUBLE_PD), 1);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	double_reset();
}

UNIT_MAIN(UNIT_TEST(peer_delete__busy), UNIT_TEST(peer_delete__frees), UNIT_TEST(peer_delete__null),
	UNIT_TEST(peer_delete__provider_fails))
