/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* listen.c - an endpoint listens where it is told to, or leaves nothing behind */

#include "unit.h"

#define CHANNEL "rdma_create_event_channel"
#define ID      CHANNEL " rdma_create_id"
#define INFO    ID " rdma_getaddrinfo"
#define UNDONE  " rdma_destroy_id rdma_destroy_event_channel"

static void ep_listen__steps(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_ep *ep = NULL;
	struct rdma_cm_id *id;

	(void)state;
	unit_log_forget();
	double_log_clear();
	assert_int_equal(rpma_ep_listen(peer, UNIT_ADDR, UNIT_PORT, &ep), 0);
	id = double_last_id();
	assert_string_equal(double_log(), INFO " rdma_bind_addr rdma_listen");
	assert_string_equal(double_node(), UNIT_ADDR);
	assert_string_equal(double_service(), UNIT_PORT);
	assert_int_equal(double_hints()->ai_flags, RAI_PASSIVE);
	assert_int_equal(double_hints()->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(double_hints()->ai_qp_type, IBV_QPT_RC);
	assert_int_equal(double_backlog(id), 0);
	assert_int_equal(double_live(DOUBLE_ADDRINFO), 0);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_NOTICE), 1);
	assert_non_null(strstr(unit_log_text, UNIT_ADDR ":" UNIT_PORT));
	assert_int_equal(rpma_ep_shutdown(&ep), 0);
	unit_peer_delete(peer);
}

/* an endpoint at every address of the host is fine */
static void ep_listen__wildcard(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_ep *ep = NULL;

	(void)state;
	assert_int_equal(rpma_ep_listen(peer, "0.0.0.0", UNIT_PORT, &ep), 0);
	assert_int_equal(rpma_ep_shutdown(&ep), 0);
	unit_peer_delete(peer);
}

static void ep_listen__null(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_ep *ep = UNIT_UNTOUCHED;

	(void)state;
	double_log_clear();
	assert_int_equal(rpma_ep_listen(NULL, UNIT_ADDR, UNIT_PORT, &ep), RPMA_E_INVAL);
	assert_int_equal(rpma_ep_listen(peer, NULL, UNIT_PORT, &ep), RPMA_E_INVAL);
	assert_int_equal(rpma_ep_listen(peer, UNIT_ADDR, NULL, &ep), RPMA_E_INVAL);
	assert_int_equal(rpma_ep_listen(peer, UNIT_ADDR, UNIT_PORT, NULL), RPMA_E_INVAL);
	assert_ptr_equal(ep, UNIT_UNTOUCHED);
	assert_int_equal(double_calls_total(), 0);
	unit_peer_delete(peer);
}

static void ep_listen__provider_fails(void **state)
{
	static const struct {
		const char *call;
		const char *calls;
	} cases[] = {
		{ "rdma_create_event_channel", CHANNEL },
		{ "rdma_create_id", ID " rdma_destroy_event_channel" },
		{ "rdma_getaddrinfo", INFO UNDONE },
		{ "rdma_bind_addr", INFO " rdma_bind_addr" UNDONE },
		{ "rdma_listen", INFO " rdma_bind_addr rdma_listen" UNDONE },
	};
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_ep *ep = UNIT_UNTOUCHED;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unit_log_forget();
		double_log_clear();
		double_fail(cases[i].call, 1, UNIT_ERRNO);
		assert_int_equal(rpma_ep_listen(peer, UNIT_ADDR, UNIT_PORT, &ep), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_ptr_equal(ep, UNIT_UNTOUCHED);
		assert_string_equal(double_log(), cases[i].calls);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
		assert_non_null(strstr(unit_log_text, cases[i].call));
		assert_int_equal(double_live(DOUBLE_ADDRINFO), 0);
	}
	unit_peer_delete(peer);
}

static void ep_listen__no_memory(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_ep *ep = UNIT_UNTOUCHED;

	(void)state;
	unit_alloc_fail(1);
	assert_int_equal(rpma_ep_listen(peer, UNIT_ADDR, UNIT_PORT, &ep), RPMA_E_NOMEM);
	assert_ptr_equal(ep, UNIT_UNTOUCHED);
	unit_peer_delete(peer);
}

static void ep_listen__undoing_fails(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_ep *ep = UNIT_UNTOUCHED;

	(void)state;
	double_fail("rdma_listen", 1, UNIT_ERRNO);
	double_fail("rdma_destroy_id", 1, EBUSY);
	assert_int_equal(rpma_ep_listen(peer, UNIT_ADDR, UNIT_PORT, &ep), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_ptr_equal(ep, UNIT_UNTOUCHED);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(ep_listen__no_memory), UNIT_TEST(ep_listen__null),
	UNIT_TEST(ep_listen__provider_fails), UNIT_TEST(ep_listen__steps),
	UNIT_TEST(ep_listen__undoing_fails), UNIT_TEST(ep_listen__wildcard))
