/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* disabled.c - with the log off nothing is logged, and every result is what it is otherwise */

#include "unit.h"

static struct unit_conn u;

static int setup(void **state)
{
	(void)unit_setup(state);
	unit_conn_new(&u, NULL);
	unit_log_forget();
	assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED), 0);
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(unit_log_level, RPMA_LOG_DISABLED);
	unit_conn_delete(&u);
	assert_int_equal(unit_log_level, RPMA_LOG_DISABLED);
	return unit_teardown(state);
}

static void disabled__descriptors(void **state)
{
	static const uint8_t bytes[21] = { 0 };
	struct rpma_mr_remote *remote = UNIT_UNTOUCHED;
	struct rpma_peer_cfg *pcfg = NULL;

	(void)state;
	assert_int_equal(rpma_mr_remote_from_descriptor(bytes, 20, &remote), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_remote_from_descriptor(bytes, 21, &remote), RPMA_E_INVAL);
	assert_ptr_equal(remote, UNIT_UNTOUCHED);
	assert_int_equal(rpma_peer_cfg_from_descriptor(bytes, 0, &pcfg), RPMA_E_INVAL);
	assert_int_equal(rpma_peer_cfg_from_descriptor(bytes, 1, &pcfg), 0);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
}

static void disabled__flush(void **state)
{
	static uint8_t memory[8];
	struct rpma_mr_local *mr = unit_mr(u.peer, memory, 8, RPMA_MR_USAGE_WRITE_DST);
	struct rpma_mr_remote *remote = unit_mr_remote(mr);

	(void)state;
	assert_int_equal(rpma_flush(u.conn, remote, 0, 8, RPMA_FLUSH_TYPE_PERSISTENT, 1, NULL),
		RPMA_E_NOSUPP);
	assert_int_equal(rpma_flush(u.conn, remote, 0, 8, RPMA_FLUSH_TYPE_VISIBILITY, 1, NULL),
		RPMA_E_NOSUPP);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	double_fail("ibv_advise_mr", 1, UNIT_ERRNO);
	assert_int_equal(rpma_mr_advise(mr, 0, 8, 0, 0), RPMA_E_PROVIDER);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
}

static void disabled__events(void **state)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct rpma_conn_req *req = UNIT_UNTOUCHED;
	struct unit_ep e;

	(void)state;
	double_push_cm(u.id, RDMA_CM_EVENT_ADDR_CHANGE, 0, NULL, 0);
	assert_int_equal(rpma_conn_next_event(u.conn, &event), RPMA_E_UNKNOWN);
	unit_ep_listen(&e, u.peer);
	double_push_cm(e.listen_id, RDMA_CM_EVENT_ADDR_CHANGE, 0, NULL, 0);
	assert_int_equal(rpma_ep_next_conn_req(e.ep, NULL, &req), RPMA_E_INVAL);
	unit_ep_shutdown(&e);
}

static void disabled__polls(void **state)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	double_poll_returns(-1);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), RPMA_E_PROVIDER);
	double_poll_returns(2);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), RPMA_E_UNKNOWN);
}

static void disabled__foreign_queue(void **state)
{
	struct rpma_conn_cfg *cfg = unit_cfg(0, true);
	struct rpma_cq *cq = UNIT_UNTOUCHED;
	struct unit_conn shared;
	struct ibv_cq *foreign;

	(void)state;
	unit_conn_new(&shared, cfg);
	foreign = ibv_create_cq(shared.qp->context, 1, NULL, shared.qp->send_cq->channel, 0);
	assert_non_null(foreign);
	double_spurious_event(foreign);
	assert_int_equal(rpma_conn_wait(shared.conn, 0, &cq, NULL), RPMA_E_UNKNOWN);
	assert_int_equal(ibv_destroy_cq(foreign), 0);
	unit_conn_delete(&shared);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

static void disabled__device(void **state)
{
	struct ibv_context *ibv_ctx = NULL;

	(void)state;
	assert_int_equal(
		rpma_utils_get_ibv_context("0.0.0.0", RPMA_UTIL_IBV_CONTEXT_LOCAL, &ibv_ctx),
		RPMA_E_PROVIDER);
}

#define DISABLED_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(DISABLED_TEST(disabled__descriptors), DISABLED_TEST(disabled__device),
	DISABLED_TEST(disabled__events), DISABLED_TEST(disabled__flush),
	DISABLED_TEST(disabled__foreign_queue), DISABLED_TEST(disabled__polls))
