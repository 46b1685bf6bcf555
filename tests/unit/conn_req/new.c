/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* new.c - a request of our own is resolved and has its queues; the peer learns nothing */

#include "unit.h"

#define RESOLVED "rdma_getaddrinfo rdma_create_id rdma_resolve_addr rdma_resolve_route"
#define CREATED  " ibv_create_comp_channel ibv_create_cq ibv_req_notify_cq rdma_create_qp_ex"
#define CQ_GONE  " ibv_destroy_cq ibv_destroy_comp_channel"
#define ID_GONE  " rdma_destroy_id"

static void conn_req_new__steps(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = NULL;

	(void)state;
	double_log_clear();
	assert_int_equal(rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, NULL, &req), 0);
	assert_string_equal(double_log(), RESOLVED CREATED);
	assert_string_equal(double_node(), UNIT_ADDR);
	assert_string_equal(double_service(), UNIT_PORT);
	assert_int_equal(double_hints()->ai_flags, 0);
	assert_int_equal(double_hints()->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(double_hints()->ai_qp_type, IBV_QPT_RC);
	assert_int_equal(double_timeout_ms(double_last_id()), RPMA_DEFAULT_TIMEOUT_MS);
	assert_null(double_last_id()->channel); /* synchronous */
	assert_int_equal(double_live(DOUBLE_ADDRINFO), 0);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_peer_delete(peer);
}

static void conn_req_new__logs(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = unit_req_active(peer, NULL);
	unsigned notices = unit_logged(RPMA_LOG_LEVEL_NOTICE);

	(void)state;
#ifdef DEBUG
	notices--; /* the GIDs */
#endif
	assert_int_equal(notices, 1);
	assert_non_null(strstr(unit_log_text, UNIT_ADDR ":" UNIT_PORT));
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_peer_delete(peer);
}

/* the configuration's time-out counts for both resolutions */
static void conn_req_new__timeout(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_cfg *cfg = unit_cfg(0, false);
	struct rpma_conn_req *req = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_timeout(cfg, 4321), 0);
	double_fail("rdma_resolve_addr", 1, ETIMEDOUT);
	assert_int_equal(rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, cfg, &req), RPMA_E_PROVIDER);
	assert_errno(ETIMEDOUT);
	assert_non_null(strstr(unit_log_text, "4321"));
	assert_ptr_equal(req, UNIT_UNTOUCHED);

	req = unit_req_active(peer, cfg);
	assert_int_equal(double_timeout_ms(double_last_id()), 4321);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0); /* not needed any more */
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_peer_delete(peer);
}

static void conn_req_new__null(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = UNIT_UNTOUCHED;

	(void)state;
	double_log_clear();
	assert_int_equal(rpma_conn_req_new(NULL, UNIT_ADDR, UNIT_PORT, NULL, &req), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_req_new(peer, NULL, UNIT_PORT, NULL, &req), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_req_new(peer, UNIT_ADDR, NULL, NULL, &req), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, NULL, NULL), RPMA_E_INVAL);
	assert_ptr_equal(req, UNIT_UNTOUCHED);
	assert_int_equal(double_calls_total(), 0);
	unit_peer_delete(peer);
}

/* whichever call fails: it is logged once, errno is its own, what was made before is undone */
static void conn_req_new__provider_fails(void **state)
{
	static const struct {
		const char *call;
		const char *calls;
	} cases[] = {
		{ "rdma_getaddrinfo", "rdma_getaddrinfo" },
		{ "rdma_create_id", "rdma_getaddrinfo rdma_create_id" },
		{ "rdma_resolve_addr",
			"rdma_getaddrinfo rdma_create_id rdma_resolve_addr" ID_GONE },
		{ "rdma_resolve_route", RESOLVED ID_GONE },
		{ "ibv_create_comp_channel", RESOLVED " ibv_create_comp_channel" ID_GONE },
		{ "ibv_create_cq", RESOLVED
			" ibv_create_comp_channel ibv_create_cq ibv_destroy_comp_channel" ID_GONE },
		{ "ibv_req_notify_cq",
			RESOLVED " ibv_create_comp_channel ibv_create_cq ibv_req_notify_cq" CQ_GONE
				ID_GONE },
		{ "rdma_create_qp_ex", RESOLVED CREATED CQ_GONE ID_GONE },
	};
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = UNIT_UNTOUCHED;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unit_log_forget();
		double_log_clear();
		double_fail(cases[i].call, 1, UNIT_ERRNO);
		assert_int_equal(
			rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, NULL, &req), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_ptr_equal(req, UNIT_UNTOUCHED);
		assert_string_equal(double_log(), cases[i].calls);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
		assert_non_null(strstr(unit_log_text, cases[i].call));
	}
	unit_peer_delete(peer);
}

static void conn_req_new__undoing_fails(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = UNIT_UNTOUCHED;

	(void)state;
	double_fail("rdma_create_qp_ex", 1, UNIT_ERRNO);
	double_fail("ibv_destroy_cq", 1, EBUSY);
	double_fail("ibv_destroy_comp_channel", 1, EBUSY);
	double_fail("rdma_destroy_id", 1, EBUSY);
	assert_int_equal(
		rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, NULL, &req), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_ptr_equal(req, UNIT_UNTOUCHED);
	unit_peer_delete(peer);
}

static void conn_req_new__no_memory(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = UNIT_UNTOUCHED;
	unsigned k, allocs;

	(void)state;
	unit_alloc_fail(0);
	req = unit_req_active(peer, NULL);
	allocs = unit_allocs();
	assert_true(allocs > 0);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	for (k = 1; k <= allocs; k++) {
		req = UNIT_UNTOUCHED;
		unit_alloc_fail(k);
		assert_int_equal(
			rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, NULL, &req), RPMA_E_NOMEM);
		assert_ptr_equal(req, UNIT_UNTOUCHED);
		assert_int_equal(double_live(DOUBLE_ID), 0);
		assert_int_equal(double_live(DOUBLE_ADDRINFO), 0);
	}
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(conn_req_new__logs), UNIT_TEST(conn_req_new__no_memory),
	UNIT_TEST(conn_req_new__null), UNIT_TEST(conn_req_new__provider_fails),
	UNIT_TEST(conn_req_new__steps), UNIT_TEST(conn_req_new__timeout),
	UNIT_TEST(conn_req_new__undoing_fails))
