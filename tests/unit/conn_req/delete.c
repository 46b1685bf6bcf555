/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* delete.c - dropping a request undoes all of it; an incoming one is rejected */

#include "unit.h"

static void conn_req_delete__ours(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = unit_req_active(peer, NULL);

	(void)state;
	double_log_clear();
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	assert_null(req);
	assert_string_equal(double_log(), "rdma_destroy_qp ibv_destroy_cq ibv_destroy_comp_channel "
					  "rdma_destroy_id");
	unit_peer_delete(peer);
}

/* the id is destroyed too, not just rejected */
static void conn_req_delete__incoming(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_cfg *cfg = unit_cfg(7, true);
	struct rpma_conn_req *req;
	struct unit_ep u;

	(void)state;
	unit_ep_listen(&u, peer);
	req = unit_req_passive(&u, cfg);
	double_log_clear();
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	assert_null(req);
	assert_string_equal(double_log(), "rdma_destroy_qp ibv_destroy_cq ibv_destroy_cq "
					  "rdma_reject rdma_destroy_id ibv_destroy_comp_channel "
					  "rdma_destroy_event_channel");
	assert_ptr_equal(double_last_id(), u.listen_id);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

static void conn_req_delete__null(void **state)
{
	struct rpma_conn_req *req = NULL;

	(void)state;
	assert_int_equal(rpma_conn_req_delete(NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	assert_int_equal(double_calls_total(), 0);
}

/* a failing step is reported, and the others run all the same */
static void conn_req_delete__step_fails(void **state)
{
	static const struct {
		const char *call;
		unsigned k;
	} steps[] = { { "ibv_destroy_cq", 1 }, { "ibv_destroy_comp_channel", 1 },
		{ "ibv_destroy_cq", 2 }, { "ibv_destroy_comp_channel", 2 }, { "rdma_reject", 1 },
		{ "rdma_destroy_id", 1 } };
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_cfg *cfg = unit_cfg(7, false);
	struct rpma_conn_req *req;
	struct unit_ep u;
	size_t i;

	(void)state;
	unit_ep_listen(&u, peer);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		req = unit_req_passive(&u, cfg);
		unit_log_forget();
		double_log_clear();
		double_fail(steps[i].call, steps[i].k, UNIT_ERRNO);
		assert_int_equal(rpma_conn_req_delete(&req), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_null(req);
		assert_string_equal(double_log(),
			"rdma_destroy_qp ibv_destroy_cq ibv_destroy_comp_channel ibv_destroy_cq "
			"ibv_destroy_comp_channel rdma_reject rdma_destroy_id "
			"rdma_destroy_event_channel");
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	}
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

/* of several failures the first one counts */
static void conn_req_delete__steps_fail(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_cfg *cfg = unit_cfg(0, true);
	struct rpma_conn_req *req = unit_req_active(peer, cfg);

	(void)state;
	double_fail("rdma_destroy_id", 1, UNIT_ERRNO);
	double_fail("ibv_destroy_comp_channel", 1, EBUSY);
	assert_int_equal(rpma_conn_req_delete(&req), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_null(req);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 2);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(conn_req_delete__incoming), UNIT_TEST(conn_req_delete__null),
	UNIT_TEST(conn_req_delete__ours), UNIT_TEST(conn_req_delete__step_fails),
	UNIT_TEST(conn_req_delete__steps_fail))
