/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* queues.c - the queues that a request gets, ours or an incoming one, by its configuration */

#include "../../../src/peer.h"
#include "unit.h"

static const struct ibv_qp_init_attr_ex *attr_of_last(void)
{
	return double_qp_attr(double_last_id()->qp);
}

static void expect_fixed_attributes(struct rpma_peer *peer)
{
	const struct ibv_qp_init_attr_ex *attr = attr_of_last();

	assert_null(attr->qp_context);
	assert_null(attr->srq);
	assert_int_equal(attr->cap.max_send_sge, 1);
	assert_int_equal(attr->cap.max_recv_sge, 1);
	assert_int_equal(attr->qp_type, IBV_QPT_RC);
	assert_int_equal(attr->sq_sig_all, 0);
	assert_int_equal(attr->comp_mask, IBV_QP_INIT_ATTR_PD);
	assert_ptr_equal(attr->pd, rpma__peer_pd(peer));
}

/* without a configuration: one completion queue of 10, with a channel of its own, armed */
static void queues__defaults(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = unit_req_active(peer, NULL);
	const struct ibv_qp_init_attr_ex *attr = attr_of_last();

	(void)state;
	expect_fixed_attributes(peer);
	assert_int_equal(attr->cap.max_send_wr, 10);
	assert_int_equal(attr->cap.max_recv_wr, 10);
	assert_int_equal(attr->cap.max_inline_data, 8);
	assert_ptr_equal(attr->send_cq, attr->recv_cq);
	assert_int_equal(attr->send_cq->cqe, 10);
	assert_null(attr->send_cq->cq_context);
	assert_true(double_cq_is_armed(attr->send_cq));
	assert_int_equal(double_live(DOUBLE_CQ), 1);
	assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 1);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_peer_delete(peer);
}

static void queues__configured(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_cfg *cfg = unit_cfg(7, false);
	const struct ibv_qp_init_attr_ex *attr;
	struct rpma_conn_req *req;

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_cq_size(cfg, 5), 0);
	assert_int_equal(rpma_conn_cfg_set_sq_size(cfg, 3), 0);
	assert_int_equal(rpma_conn_cfg_set_rq_size(cfg, 4), 0);
	req = unit_req_active(peer, cfg);
	attr = attr_of_last();
	expect_fixed_attributes(peer);
	assert_int_equal(attr->cap.max_send_wr, 3);
	assert_int_equal(attr->cap.max_recv_wr, 4);
	assert_int_equal(attr->send_cq->cqe, 5);
	assert_int_equal(attr->recv_cq->cqe, 7);
	assert_true(double_cq_is_armed(attr->send_cq));
	assert_true(double_cq_is_armed(attr->recv_cq));
	assert_ptr_not_equal(attr->send_cq->channel, attr->recv_cq->channel);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	unit_peer_delete(peer);
}

static void queues__shared_channel(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_cfg *cfg = unit_cfg(7, true);
	struct rpma_conn_req *req;
	const struct ibv_qp_init_attr_ex *attr;

	(void)state;
	double_log_clear();
	req = unit_req_active(peer, cfg);
	attr = attr_of_last();
	assert_ptr_equal(attr->send_cq->channel, attr->recv_cq->channel);
	assert_ptr_not_equal(attr->send_cq, attr->recv_cq);
	assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 1);
	assert_non_null(strstr(double_log(),
		"ibv_create_comp_channel ibv_create_cq ibv_req_notify_cq ibv_create_cq "
		"ibv_req_notify_cq rdma_create_qp_ex"));
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	unit_peer_delete(peer);
}

/* an incoming request gets the same */
static void queues__incoming(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_cfg *cfg = unit_cfg(7, true);
	struct rpma_conn_req *req;
	struct unit_ep u;

	(void)state;
	unit_ep_listen(&u, peer);
	req = unit_req_passive(&u, cfg);
	expect_fixed_attributes(peer);
	assert_int_equal(attr_of_last()->send_cq->cqe, 10);
	assert_int_equal(attr_of_last()->recv_cq->cqe, 7);
	assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 1);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

/* a size that verbs has no int for counts as INT_MAX; the device decides */
static void queues__clipped(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_cfg *cfg = unit_cfg(0, false);
	struct rpma_conn_req *req = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_cq_size(cfg, UINT32_MAX), 0);
	assert_int_equal(rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, cfg, &req), RPMA_E_PROVIDER);
	assert_errno(EINVAL);
	assert_non_null(strstr(unit_log_text, "cqe=2147483647"));
	assert_int_equal(rpma_conn_cfg_set_cq_size(cfg, 1), 0);
	assert_int_equal(rpma_conn_cfg_set_rcq_size(cfg, (uint32_t)1 << 31), 0);
	assert_int_equal(rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, cfg, &req), RPMA_E_PROVIDER);
	assert_non_null(strstr(unit_log_text, "cqe=2147483647"));
	assert_ptr_equal(req, UNIT_UNTOUCHED);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	unit_peer_delete(peer);
}

/* with both completion queues each step may fail: all of it is undone */
static void queues__undone(void **state)
{
	static const struct {
		const char *call;
		unsigned k;
	} cases[] = { { "ibv_create_comp_channel", 1 }, { "ibv_create_comp_channel", 2 },
		{ "ibv_create_cq", 1 }, { "ibv_create_cq", 2 }, { "ibv_req_notify_cq", 1 },
		{ "ibv_req_notify_cq", 2 }, { "rdma_create_qp_ex", 1 } };
	struct rpma_peer *peer = unit_peer_new();
	size_t i;

	(void)state;
	for (i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct rpma_conn_cfg *cfg = unit_cfg(7, i % 2);
		struct rpma_conn_req *req = UNIT_UNTOUCHED;

		if (i % 2 == 0 || cases[i / 2].k == 1 || i / 2 > 1) {
			double_fail(cases[i / 2].call, cases[i / 2].k, UNIT_ERRNO);
			assert_int_equal(rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, cfg, &req),
				RPMA_E_PROVIDER);
			assert_errno(UNIT_ERRNO);
			assert_ptr_equal(req, UNIT_UNTOUCHED);
			assert_int_equal(double_live(DOUBLE_ID), 0);
			assert_int_equal(double_live(DOUBLE_CQ), 0);
			assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 0);
		}
		assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	}
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(queues__clipped), UNIT_TEST(queues__configured), UNIT_TEST(queues__defaults),
	UNIT_TEST(queues__incoming), UNIT_TEST(queues__shared_channel), UNIT_TEST(queues__undone))
