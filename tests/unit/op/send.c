/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* send.c - rpma_send posts one message, or nothing at all */

#include "regions.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS

static void send__posts(void **state)
{
	const struct double_wr *wr;

	(void)state;
	assert_int_equal(rpma_send(u.conn, mr, 8, 16, ALWAYS, &u), 0);
	wr = double_last_send(u.qp);
	assert_int_equal(wr->opcode, IBV_WR_SEND);
	assert_int_equal(wr->send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(wr->wr_id, (uintptr_t)&u);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sge[0].addr, (uintptr_t)memory + 8);
	assert_int_equal(wr->sge[0].length, 16);
	assert_int_equal(wr->sge[0].lkey, double_last_mr()->lkey);
	assert_int_equal(double_send_doorbells(u.qp), 1);
}

static void send__completes(void **state)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(rpma_send(u.conn, mr, 8, 16, ALWAYS, &u), 0);
	assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_SUCCESS), 1);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(wc.wr_id, (uintptr_t)&u);
}

static void send__zero_bytes(void **state)
{
	(void)state;
	assert_int_equal(rpma_send(u.conn, NULL, 0, 0, ALWAYS, NULL), 0);
	assert_int_equal(double_last_send(u.qp)->num_sge, 0);
	assert_int_equal(double_last_send(u.qp)->wr_id, 0);
	assert_int_equal(rpma_send(u.conn, NULL, 1, 0, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_send(u.conn, NULL, 0, 1, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 1);
}

static void send__flags(void **state)
{
	int flags;

	(void)state;
	for (flags = 1; flags <= 4; flags++) {
		assert_int_equal(rpma_send(u.conn, mr, 0, 8, flags, NULL), 0);
		assert_int_equal(
			double_last_send(u.qp)->send_flags, flags & 2 ? IBV_SEND_SIGNALED : 0);
	}
}

static void send__invalid(void **state)
{
	(void)state;
	assert_int_equal(rpma_send(NULL, mr, 0, 8, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_send(u.conn, mr, 0, 8, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_send(u.conn, NULL, 0, 0, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_send(u.conn, mr, 1, REGION_SIZE, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_send(u.conn, mr, SIZE_MAX, 2, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(
		rpma_send(u.conn, mr, 0, ((size_t)1 << 32) + 5, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

static void send__device_refuses(void **state)
{
	int i;

	(void)state;
	double_fail("ibv_post_send", 1, UNIT_ERRNO);
	assert_int_equal(rpma_send(u.conn, mr, 0, 8, ALWAYS, NULL), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	for (i = 0; i < 10; i++)
		assert_int_equal(rpma_send(u.conn, mr, 0, 8, ALWAYS, NULL), 0);
	assert_int_equal(rpma_send(u.conn, mr, 0, 8, ALWAYS, NULL), RPMA_E_PROVIDER); /* full */
	assert_errno(ENOMEM);
}

UNIT_MAIN(REGIONS_TEST(send__completes), REGIONS_TEST(send__device_refuses),
	REGIONS_TEST(send__flags), REGIONS_TEST(send__invalid), REGIONS_TEST(send__posts),
	REGIONS_TEST(send__zero_bytes))
