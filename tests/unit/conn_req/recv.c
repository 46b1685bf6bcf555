/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* recv.c - a receive is there before the connection, and completes on it */

#include "unit.h"

static uint8_t memory[64];

static void conn_req_recv__posts(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory, 64, RPMA_MR_USAGE_RECV);
	struct rpma_conn_req *req;
	const struct double_wr *wr;
	struct unit_ep u;

	(void)state;
	unit_ep_listen(&u, peer);
	req = unit_req_passive(&u, NULL);
	assert_int_equal(rpma_conn_req_recv(req, mr, 16, 8, &u), 0);
	wr = double_last_recv(u.id->qp);
	assert_non_null(wr);
	assert_int_equal(wr->wr_id, (uintptr_t)&u);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sge[0].addr, (uintptr_t)memory + 16);
	assert_int_equal(wr->sge[0].length, 8);
	assert_int_equal(wr->sge[0].lkey, double_last_mr()->lkey);
	assert_int_equal(rpma_conn_req_recv(req, mr, 0, 64, NULL), 0); /* NULL comes back too */
	assert_int_equal(double_last_recv(u.id->qp)->wr_id, 0);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

static void conn_req_recv__invalid(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory, 64, RPMA_MR_USAGE_RECV);
	struct rpma_conn_req *req = unit_req_active(peer, NULL);

	(void)state;
	assert_int_equal(rpma_conn_req_recv(NULL, mr, 0, 64, req), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_req_recv(req, NULL, 0, 0, req), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_req_recv(req, mr, 1, 64, req), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_req_recv(req, mr, SIZE_MAX, 2, req), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_req_recv(req, mr, 0, ((size_t)1 << 32) + 5, req), RPMA_E_INVAL);
	assert_int_equal(double_recv_doorbells(double_last_id()->qp), 0);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(peer);
}

static void conn_req_recv__fails(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory, 64, RPMA_MR_USAGE_RECV);
	struct rpma_conn_cfg *cfg = unit_cfg(0, false);
	struct rpma_conn_req *req;

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_rq_size(cfg, 1), 0);
	req = unit_req_active(peer, cfg);
	unit_log_forget();
	double_fail("ibv_post_recv", 1, UNIT_ERRNO);
	assert_int_equal(rpma_conn_req_recv(req, mr, 0, 64, req), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_int_equal(rpma_conn_req_recv(req, mr, 0, 64, req), 0);
	assert_int_equal(rpma_conn_req_recv(req, mr, 0, 64, req), RPMA_E_PROVIDER); /* full */
	assert_errno(ENOMEM);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(conn_req_recv__fails), UNIT_TEST(conn_req_recv__invalid),
	UNIT_TEST(conn_req_recv__posts))
