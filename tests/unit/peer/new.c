/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* new.c - a peer is a protection domain; each way of not getting one has its code */

#include "../../../src/peer.h"
#include "unit.h"

static void peer_new__has_a_domain(void **state)
{
	struct rpma_peer *peer = unit_peer_new();

	(void)state;
	assert_string_equal(double_log(), "ibv_query_device_ex ibv_alloc_pd");
	assert_int_equal(double_live(DOUBLE_PD), 1);
	assert_ptr_equal(rpma__peer_context(peer), double_ctx());
	assert_ptr_equal(rpma__peer_pd(peer)->context, double_ctx());
	unit_peer_delete(peer);
}

static void peer_new__several_on_one_device(void **state)
{
	struct rpma_peer *peers[] = { unit_peer_new(), unit_peer_new() };

	(void)state;
	assert_ptr_not_equal(rpma__peer_pd(peers[0]), rpma__peer_pd(peers[1]));
	unit_peer_delete(peers[0]);
	unit_peer_delete(peers[1]);
}

static void expect(struct ibv_context *ibv_ctx, int expected)
{
	struct rpma_peer *peer = UNIT_UNTOUCHED;

	assert_int_equal(rpma_peer_new(ibv_ctx, &peer), expected);
	assert_ptr_equal(peer, UNIT_UNTOUCHED);
}

static void peer_new__null(void **state)
{
	(void)state;
	expect(NULL, RPMA_E_INVAL);
	assert_int_equal(rpma_peer_new(double_ctx(), NULL), RPMA_E_INVAL);
	assert_int_equal(double_calls_total(), 0);
}

static void peer_new__query_fails(void **state)
{
	(void)state;
	double_fail("ibv_query_device_ex", 1, UNIT_ERRNO);
	expect(double_ctx(), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(double_calls("ibv_alloc_pd"), 0);
}

/* out of memory, any other reason, no reason at all */
static void peer_new__no_domain(void **state)
{
	(void)state;
	double_fail("ibv_alloc_pd", 1, ENOMEM);
	expect(double_ctx(), RPMA_E_NOMEM);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 0);

	double_fail("ibv_alloc_pd", 1, UNIT_ERRNO);
	expect(double_ctx(), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);

	errno = UNIT_ERRNO; /* of some earlier call: must not be taken for the reason */
	double_fail("ibv_alloc_pd", 1, 0);
	expect(double_ctx(), RPMA_E_UNKNOWN);
}

static void peer_new__no_memory(void **state)
{
	(void)state;
	unit_alloc_fail(1);
	expect(double_ctx(), RPMA_E_NOMEM);
	assert_string_equal(double_log(), "ibv_query_device_ex ibv_alloc_pd ibv_dealloc_pd");
}

UNIT_MAIN(UNIT_TEST(peer_new__has_a_domain), UNIT_TEST(peer_new__no_domain),
	UNIT_TEST(peer_new__no_memory), UNIT_TEST(peer_new__null), UNIT_TEST(peer_new__query_fails),
	UNIT_TEST(peer_new__several_on_one_device))
