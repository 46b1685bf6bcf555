/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * srq.c - a request on a shared receive queue, ours or an incoming one: where its receives complete
 */

#include "unit.h"

static struct rpma_peer *peer;
static struct rpma_srq *srq;
static struct rpma_conn_cfg *cfg;

/* of the queue, of the connection; 0: none */
static void prepare(uint32_t srq_rcq_size, uint32_t rcq_size, bool is_shared)
{
	srq = unit_srq(peer, 3, srq_rcq_size);
	cfg = unit_cfg(rcq_size, is_shared);
	assert_int_equal(rpma_conn_cfg_set_srq(cfg, srq), 0);
	unit_log_forget();
	double_log_clear();
}

static int setup(void **state)
{
	(void)unit_setup(state);
	peer = unit_peer_new();
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	assert_int_equal(rpma_srq_delete(&srq), 0);
	unit_peer_delete(peer);
	return unit_teardown(state);
}

static struct ibv_cq *ibv_cq_of(struct rpma_cq *cq, struct ibv_cq *either, struct ibv_cq * or)
{
	int fd = -1;

	assert_int_equal(rpma_cq_get_fd(cq, &fd), 0);
	return fd == either->channel->fd ? either : or ;
}

static void expect_qp(const struct ibv_qp_init_attr_ex *attr)
{
	assert_ptr_equal(attr->srq, double_last_srq());
	assert_int_equal(attr->cap.max_recv_wr, 10);
	assert_int_equal(attr->cap.max_recv_sge, 1);
	assert_int_equal(attr->comp_mask, IBV_QP_INIT_ATTR_PD);
	assert_true(double_cq_is_armed(attr->send_cq));
	assert_true(double_cq_is_armed(attr->recv_cq));
}

/* the first arrangement; the connection's own size for it is of no effect */
static void srq__its_own_rcq(void **state)
{
	struct rpma_cq *rcq = UNIT_UNTOUCHED, *srq_rcq = NULL, *cq = NULL;
	const struct ibv_qp_init_attr_ex *attr;
	struct unit_conn u;

	(void)state;
	prepare(7, 5, false);
	unit_conn_new_on(&u, peer, cfg);
	attr = double_qp_attr(u.qp);
	expect_qp(attr);
	assert_int_equal(attr->recv_cq->cqe, 7);
	assert_int_equal(attr->send_cq->cqe, 10);
	assert_int_equal(double_live(DOUBLE_CQ), 2);
	assert_int_equal(rpma_conn_get_rcq(u.conn, &rcq), 0);
	assert_null(rcq); /* it is not the connection's */
	assert_int_equal(rpma_srq_get_rcq(srq, &srq_rcq), 0);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_ptr_equal(ibv_cq_of(srq_rcq, attr->send_cq, attr->recv_cq), attr->recv_cq);
	assert_ptr_equal(ibv_cq_of(cq, attr->send_cq, attr->recv_cq), attr->send_cq);
	assert_int_equal(rpma_conn_delete(&u.conn), 0);
	assert_int_equal(double_live(DOUBLE_CQ), 1); /* nor does it go with it */
}

/* the second one */
static void srq__rcq_of_the_connection(void **state)
{
	const struct ibv_qp_init_attr_ex *attr;
	struct rpma_cq *rcq = NULL;
	struct unit_conn u;

	(void)state;
	prepare(0, 5, false);
	unit_conn_new_on(&u, peer, cfg);
	attr = double_qp_attr(u.qp);
	expect_qp(attr);
	assert_int_equal(attr->recv_cq->cqe, 5);
	assert_ptr_not_equal(attr->send_cq, attr->recv_cq);
	assert_int_equal(rpma_conn_get_rcq(u.conn, &rcq), 0);
	assert_ptr_equal(ibv_cq_of(rcq, attr->send_cq, attr->recv_cq), attr->recv_cq);
	assert_int_equal(rpma_conn_delete(&u.conn), 0);
	assert_int_equal(double_live(DOUBLE_CQ), 0);
}

/* the third one */
static void srq__main_cq(void **state)
{
	const struct ibv_qp_init_attr_ex *attr;
	struct rpma_cq *rcq = UNIT_UNTOUCHED;
	struct unit_conn u;

	(void)state;
	prepare(0, 0, false);
	unit_conn_new_on(&u, peer, cfg);
	attr = double_qp_attr(u.qp);
	expect_qp(attr);
	assert_ptr_equal(attr->send_cq, attr->recv_cq);
	assert_int_equal(double_live(DOUBLE_CQ), 1);
	assert_int_equal(rpma_conn_get_rcq(u.conn, &rcq), 0);
	assert_null(rcq);
	assert_int_equal(rpma_conn_delete(&u.conn), 0);
}

/* without a completion queue of its own it goes together with a shared channel */
static void srq__shared_channel(void **state)
{
	struct rpma_cq *rcq = NULL, *found = NULL;
	const struct ibv_qp_init_attr_ex *attr;
	bool is_rcq = false;
	struct unit_conn u;
	struct ibv_wc wc;

	(void)state;
	prepare(0, 5, true);
	unit_conn_new_on(&u, peer, cfg);
	attr = double_qp_attr(u.qp);
	expect_qp(attr);
	assert_ptr_equal(attr->send_cq->channel, attr->recv_cq->channel);
	assert_int_equal(rpma_srq_recv(srq, NULL, 0, 0, &u), 0);
	assert_true(double_deliver(u.qp, NULL, 0, NULL));
	assert_int_equal(rpma_conn_wait(u.conn, 0, &found, &is_rcq), 0);
	assert_int_equal(rpma_conn_get_rcq(u.conn, &rcq), 0);
	assert_ptr_equal(found, rcq);
	assert_true(is_rcq);
	assert_int_equal(rpma_cq_get_wc(found, 1, &wc, NULL), 0);
	assert_int_equal(wc.wr_id, (uintptr_t)&u);
	assert_int_equal(rpma_conn_delete(&u.conn), 0);
}

/* with one it does not: nothing is made, and the reason is logged */
static void srq__conflict(void **state)
{
	struct rpma_conn_req *req = UNIT_UNTOUCHED;

	(void)state;
	prepare(7, 0, true);
	assert_int_equal(rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, cfg, &req), RPMA_E_INVAL);
	assert_ptr_equal(req, UNIT_UNTOUCHED);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_non_null(strstr(unit_log_text, "channel"));
	assert_int_equal(double_live(DOUBLE_ID), 0);
	assert_int_equal(double_live(DOUBLE_ADDRINFO), 0);
	assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 1); /* the shared receive queue's */
	assert_int_equal(double_calls("ibv_create_cq"), 0);
}

/* an incoming request that cannot be had is rejected, and the endpoint goes on */
static void srq__conflict_incoming(void **state)
{
	struct rpma_conn_req *req = UNIT_UNTOUCHED;
	struct unit_ep u;

	(void)state;
	prepare(7, 0, true);
	unit_ep_listen(&u, peer);
	(void)double_push_request(u.listen_id, NULL, 0);
	assert_int_equal(rpma_ep_next_conn_req(u.ep, cfg, &req), RPMA_E_INVAL);
	assert_ptr_equal(req, UNIT_UNTOUCHED);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_int_equal(double_calls("rdma_reject"), 1);
	assert_int_equal(double_live(DOUBLE_ID), 1); /* the endpoint's */
	assert_int_equal(rpma_conn_cfg_set_compl_channel(cfg, false), 0);
	req = unit_req_passive(&u, cfg);
	expect_qp(double_qp_attr(u.id->qp));
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_ep_shutdown(&u);
}

/* whatever fails, the request is undone and the shared receive queue is free again */
static void srq__undone(void **state)
{
	static const char *const calls[] = { "ibv_create_comp_channel", "ibv_create_cq",
		"ibv_req_notify_cq", "rdma_create_qp_ex" };
	size_t i;

	(void)state;
	prepare(7, 5, false);
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct rpma_conn_req *req = UNIT_UNTOUCHED;

		double_fail(calls[i], 1, UNIT_ERRNO);
		assert_int_equal(
			rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, cfg, &req), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_ptr_equal(req, UNIT_UNTOUCHED);
		assert_int_equal(double_live(DOUBLE_ID), 0);
		assert_int_equal(double_live(DOUBLE_CQ), 1);
		assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 1);
	}
}

/* receives are posted to the shared queue, before there is a connection too */
static void srq__no_receives_of_its_own(void **state)
{
	static uint8_t memory[64];
	struct rpma_mr_local *mr = unit_mr(peer, memory, 64, RPMA_MR_USAGE_RECV);
	struct rpma_conn_req *req;

	(void)state;
	prepare(7, 0, false);
	req = unit_req_active(peer, cfg);
	assert_int_equal(rpma_conn_req_recv(req, mr, 0, 64, NULL), RPMA_E_PROVIDER);
	assert_errno(EINVAL);
	assert_int_equal(rpma_srq_recv(srq, mr, 0, 64, NULL), 0);
	assert_int_equal(double_srq_pending_recvs(double_last_srq()), 1);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	assert_int_equal(double_srq_pending_recvs(double_last_srq()), 1);
	assert_int_equal(rpma_srq_delete(&srq), 0); /* and its receive, which uses the memory */
	assert_int_equal(rpma_mr_dereg(&mr), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(srq__conflict), TEST(srq__conflict_incoming), TEST(srq__its_own_rcq),
	TEST(srq__main_cq), TEST(srq__no_receives_of_its_own), TEST(srq__rcq_of_the_connection),
	TEST(srq__shared_channel), TEST(srq__undone))
