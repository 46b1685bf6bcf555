/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* disconnect.c - a connection is ended from this side, before or after the other one did */

#include "unit.h"

static void expect_event(struct rpma_conn *conn, enum rpma_conn_event expected)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;

	assert_int_equal(rpma_conn_next_event(conn, &event), 0);
	assert_int_equal(event, expected);
}

/* it brings CLOSED, and what is still posted completes with a flush error */
static void disconnect__ours(void **state)
{
	static uint8_t memory[8];
	struct rpma_mr_local *mr;
	struct rpma_cq *cq = NULL;
	struct unit_conn u;
	struct ibv_wc wc;

	(void)state;
	unit_conn_new(&u, NULL);
	mr = unit_mr(u.peer, memory, 8, RPMA_MR_USAGE_RECV);
	assert_int_equal(rpma_recv(u.conn, mr, 0, 8, &u), 0);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	unit_log_forget();
	double_log_clear();
	double_auto(true);
	assert_int_equal(rpma_conn_disconnect(u.conn), 0);
	assert_string_equal(double_log(), "rdma_disconnect");
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_NOTICE), 1);
	expect_event(u.conn, RPMA_CONN_CLOSED);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.wr_id, (uintptr_t)&u);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_conn_delete(&u);
}

static void disconnect__after_the_peer(void **state)
{
	struct unit_conn u;

	(void)state;
	unit_conn_new(&u, NULL);
	double_push_cm(u.id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	expect_event(u.conn, RPMA_CONN_CLOSED);
	assert_int_equal(rpma_conn_disconnect(u.conn), 0);
	unit_conn_delete(&u);
}

static void disconnect__fails(void **state)
{
	struct unit_conn u;

	(void)state;
	assert_int_equal(rpma_conn_disconnect(NULL), RPMA_E_INVAL);
	assert_int_equal(double_calls_total(), 0);
	unit_conn_new(&u, NULL);
	double_fail("rdma_disconnect", 1, UNIT_ERRNO);
	assert_int_equal(rpma_conn_disconnect(u.conn), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_NOTICE), 0);
	unit_conn_delete(&u);
}

UNIT_MAIN(UNIT_TEST(disconnect__after_the_peer), UNIT_TEST(disconnect__fails),
	UNIT_TEST(disconnect__ours))
