/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* recv.c - rpma_recv posts one receive, which always completes, or nothing at all */

#include "regions.h"

static void recv__posts(void **state)
{
	const struct double_wr *wr;

	(void)state;
	assert_int_equal(rpma_recv(u.conn, mr, 8, 16, &u), 0);
	wr = double_last_recv(u.qp);
	assert_int_equal(wr->wr_id, (uintptr_t)&u);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sge[0].addr, (uintptr_t)memory + 8);
	assert_int_equal(wr->sge[0].length, 16);
	assert_int_equal(wr->sge[0].lkey, double_last_mr()->lkey);
	assert_int_equal(double_recv_doorbells(u.qp), 1);
}

static void recv__completes(void **state)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(rpma_recv(u.conn, mr, 0, REGION_SIZE, &u), 0);
	assert_true(double_deliver(u.qp, "message", 8, NULL));
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 8);
	assert_int_equal(wc.wc_flags & IBV_WC_WITH_IMM, 0);
	assert_int_equal(wc.wr_id, (uintptr_t)&u);
	assert_string_equal(memory, "message");
}

/* with a receive completion queue it completes there */
static void recv__completes_in_rcq(void **state)
{
	struct rpma_conn_cfg *cfg = unit_cfg(7, false);
	struct rpma_cq *cq = NULL, *rcq = NULL;
	struct unit_conn other;
	struct ibv_wc wc;

	(void)state;
	unit_conn_new(&other, cfg);
	assert_int_equal(rpma_recv(other.conn, NULL, 0, 0, &other), 0);
	assert_true(double_deliver(other.qp, NULL, 0, NULL));
	assert_int_equal(rpma_conn_get_cq(other.conn, &cq), 0);
	assert_int_equal(rpma_conn_get_rcq(other.conn, &rcq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), RPMA_E_NO_COMPLETION);
	assert_int_equal(rpma_cq_get_wc(rcq, 1, &wc, NULL), 0);
	assert_int_equal(wc.wr_id, (uintptr_t)&other);
	unit_conn_delete(&other);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

static void recv__zero_bytes(void **state)
{
	(void)state;
	assert_int_equal(rpma_recv(u.conn, NULL, 0, 0, NULL), 0);
	assert_int_equal(double_last_recv(u.qp)->num_sge, 0);
	assert_int_equal(double_last_recv(u.qp)->wr_id, 0);
	assert_int_equal(rpma_recv(u.conn, NULL, 1, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_recv(u.conn, NULL, 0, 1, NULL), RPMA_E_INVAL);
	assert_int_equal(double_recv_doorbells(u.qp), 1);
}

static void recv__invalid(void **state)
{
	(void)state;
	assert_int_equal(rpma_recv(NULL, mr, 0, 8, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_recv(NULL, NULL, 0, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_recv(u.conn, mr, 1, REGION_SIZE, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_recv(u.conn, mr, SIZE_MAX, 2, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_recv(u.conn, mr, 0, ((size_t)1 << 32) + 5, NULL), RPMA_E_INVAL);
	assert_int_equal(double_recv_doorbells(u.qp), 0);
}

static void recv__device_refuses(void **state)
{
	int i;

	(void)state;
	double_fail("ibv_post_recv", 1, UNIT_ERRNO);
	assert_int_equal(rpma_recv(u.conn, mr, 0, 8, NULL), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	for (i = 0; i < 10; i++)
		assert_int_equal(rpma_recv(u.conn, mr, 0, 8, NULL), 0);
	assert_int_equal(rpma_recv(u.conn, mr, 0, 8, NULL), RPMA_E_PROVIDER); /* full */
	assert_errno(ENOMEM);
}

UNIT_MAIN(REGIONS_TEST(recv__completes), REGIONS_TEST(recv__completes_in_rcq),
	REGIONS_TEST(recv__device_refuses), REGIONS_TEST(recv__invalid), REGIONS_TEST(recv__posts),
	REGIONS_TEST(recv__zero_bytes))
