/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* recv.c - a receive is posted for whichever connection gets a message next, or not at all */

#include "unit.h"

#define SIZE 64

static struct rpma_peer *peer;
static struct rpma_srq *srq;
static struct ibv_srq *ibv_srq;
static struct rpma_cq *rcq;
static struct unit_conn one, other;
static struct rpma_mr_local *mr;
static char memory[SIZE];

static int setup(void **state)
{
	struct rpma_conn_cfg *cfg;

	(void)unit_setup(state);
	peer = unit_peer_new();
	srq = unit_srq(peer, 3, 7);
	ibv_srq = double_last_srq();
	assert_int_equal(rpma_srq_get_rcq(srq, &rcq), 0);
	cfg = unit_cfg(0, false);
	assert_int_equal(rpma_conn_cfg_set_srq(cfg, srq), 0);
	unit_conn_new_on(&one, peer, cfg);
	unit_conn_new_on(&other, peer, cfg);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	mr = unit_mr(peer, memory, SIZE, RPMA_MR_USAGE_RECV);
	memset(memory, 0, SIZE);
	unit_log_forget();
	double_log_clear();
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(rpma_conn_delete(&one.conn), 0);
	assert_int_equal(rpma_conn_delete(&other.conn), 0);
	assert_int_equal(rpma_srq_delete(&srq), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(peer);
	return unit_teardown(state);
}

static void expect_recv(const void *op_context, const struct unit_conn *by)
{
	struct ibv_wc wc;

	assert_int_equal(rpma_cq_get_wc(rcq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wr_id, (uintptr_t)op_context);
	assert_int_equal(wc.qp_num, by->qp->qp_num);
}

static void srq_recv__posts(void **state)
{
	const struct double_wr *wr;

	(void)state;
	assert_int_equal(rpma_srq_recv(srq, mr, 8, 16, &one), 0);
	wr = double_srq_last_recv(ibv_srq);
	assert_int_equal(wr->wr_id, (uintptr_t)&one);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sge[0].addr, (uintptr_t)memory + 8);
	assert_int_equal(wr->sge[0].length, 16);
	assert_int_equal(wr->sge[0].lkey, double_last_mr()->lkey);
	assert_string_equal(double_log(), "ibv_post_srq_recv");
}

/* the oldest receive goes to whom the message is for, whose number the completion has */
static void srq_recv__taken_by_either(void **state)
{
	(void)state;
	assert_int_equal(rpma_srq_recv(srq, mr, 0, 8, (void *)1), 0);
	assert_int_equal(rpma_srq_recv(srq, mr, 8, 8, (void *)2), 0);
	assert_int_equal(rpma_srq_recv(srq, mr, 16, 8, (void *)3), 0);
	assert_true(double_deliver(other.qp, "first", 6, NULL));
	assert_true(double_deliver(one.qp, "second", 7, NULL));
	assert_true(double_deliver(other.qp, "third", 6, NULL));
	assert_false(double_deliver(one.qp, "fourth", 7, NULL));
	expect_recv((void *)1, &other);
	expect_recv((void *)2, &one);
	expect_recv((void *)3, &other);
	assert_string_equal(memory, "first");
	assert_string_equal(memory + 8, "second");
	assert_string_equal(memory + 16, "third");
}

/* a connection's end takes no receive along */
static void srq_recv__outlives_connections(void **state)
{
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(rpma_srq_recv(srq, mr, 0, 8, (void *)1), 0);
	(void)double_flush(one.qp);
	assert_int_equal(rpma_conn_delete(&one.conn), 0);
	assert_int_equal(rpma_cq_get_wc(rcq, 1, &wc, NULL), RPMA_E_NO_COMPLETION);
	assert_int_equal(double_srq_pending_recvs(ibv_srq), 1);
	assert_true(double_deliver(other.qp, "message", 8, NULL));
	expect_recv((void *)1, &other);
}

static void srq_recv__zero_bytes(void **state)
{
	(void)state;
	assert_int_equal(rpma_srq_recv(srq, NULL, 0, 0, NULL), 0);
	assert_int_equal(double_srq_last_recv(ibv_srq)->num_sge, 0);
	assert_int_equal(double_srq_last_recv(ibv_srq)->wr_id, 0);
	assert_int_equal(rpma_srq_recv(srq, NULL, 1, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_recv(srq, NULL, 0, 1, NULL), RPMA_E_INVAL);
	assert_int_equal(double_srq_pending_recvs(ibv_srq), 1);
}

static void srq_recv__invalid(void **state)
{
	(void)state;
	assert_int_equal(rpma_srq_recv(NULL, mr, 0, 8, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_recv(NULL, NULL, 0, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_recv(srq, mr, 1, SIZE, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_recv(srq, mr, SIZE_MAX, 2, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_recv(srq, mr, 0, ((size_t)1 << 32) + 5, NULL), RPMA_E_INVAL);
	assert_null(double_srq_last_recv(ibv_srq));
	assert_int_equal(double_calls_total(), 0);
}

static void srq_recv__device_refuses(void **state)
{
	(void)state;
	double_fail("ibv_post_srq_recv", 1, UNIT_ERRNO);
	assert_int_equal(rpma_srq_recv(srq, mr, 0, 8, NULL), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_non_null(strstr(unit_log_text, "ibv_post_srq_recv"));
}

/* full it refuses, until a completion was fetched */
static void srq_recv__full(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(rpma_srq_recv(srq, mr, 0, 8, NULL), 0);
	assert_int_equal(rpma_srq_recv(srq, mr, 0, 8, NULL), RPMA_E_PROVIDER);
	assert_errno(ENOMEM);
	assert_true(double_deliver(one.qp, "message", 8, NULL));
	expect_recv(NULL, &one);
	assert_int_equal(rpma_srq_recv(srq, mr, 0, 8, NULL), 0);
}

/* a connection on a shared queue takes no receives of its own */
static void srq_recv__not_through_connections(void **state)
{
	(void)state;
	assert_int_equal(rpma_recv(one.conn, mr, 0, 8, NULL), RPMA_E_PROVIDER);
	assert_errno(EINVAL);
	assert_int_equal(double_srq_pending_recvs(ibv_srq), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(srq_recv__device_refuses), TEST(srq_recv__full), TEST(srq_recv__invalid),
	TEST(srq_recv__not_through_connections), TEST(srq_recv__outlives_connections),
	TEST(srq_recv__posts), TEST(srq_recv__taken_by_either), TEST(srq_recv__zero_bytes))
