/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* close.c - closing a connection from wherever its callbacks run */

#include "rig.h"

static struct rig_conn conn;
static unsigned ids_in_callback;

static void close_it(rpma_uv_future_t *f, int status)
{
	(void)f;
	(void)status;
	rig_conn_close(&conn);
	/* nothing is destroyed below the callback */
	ids_in_callback = double_live(DOUBLE_ID);
}

static void expect_closed(void)
{
	RIG_UNTIL(conn.closed > 0);
	rig_settle();
	assert_int_equal(conn.closed, 1);
	assert_int_equal(double_live(DOUBLE_ID), 0);
	assert_int_equal(double_live(DOUBLE_QP), 0);
	assert_int_equal(double_problems(), 0);
}

/* in the callback of its connect, refused or not */
static void close__in_connect_callback(void **state)
{
	(void)state;
	rig_conn_new(&conn, NULL);
	rpma_uv_then(rpma_uv_connect(conn.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), close_it, NULL);
	expect_closed();
	assert_int_equal(ids_in_callback, 1);

	rig_conn_new(&conn, NULL);
	double_fail("rdma_connect", 1, ECONNREFUSED);
	rpma_uv_then(rpma_uv_connect(conn.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), close_it, NULL);
	expect_closed();
}

/* in the callback of an operation, with others posted and unread events */
static void close__in_operation_callback(void **state)
{
	static struct rig_op more, recv;

	(void)state;
	rig_conn_ready(&conn, NULL);
	rpma_uv_then(
		rpma_uv_read(conn.conn, NULL, rig_local(0), rig_remote(0), 8, 0), close_it, NULL);
	rig_read(&conn, &more, 8);
	rig_recv(&conn, &recv, 8);
	rig_settle();
	double_complete_send(conn.qp, 1, IBV_WC_SUCCESS);
	rig_cm(&conn, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	expect_closed();
	assert_int_equal(ids_in_callback, 1);
	assert_done(more.done, UV_ECANCELED);
	assert_done(recv.done, UV_ECANCELED);
	assert_true(more.done.at < conn.closed_at);
	assert_true(recv.done.at < conn.closed_at);
}

/* in the callback that tells of its end, with the event that ended it just acknowledged */
static void close__in_end_callback(void **state)
{
	(void)state;
	rig_conn_ready(&conn, NULL);
	rpma_uv_then(rpma_uv_conn_end(conn.conn, NULL), close_it, NULL);
	rig_cm(&conn, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_closed();
}

/* in the callback of its disconnect: CLOSED by then */
static void close__in_disconnect_callback(void **state)
{
	(void)state;
	rig_conn_ready(&conn, NULL);
	rpma_uv_then(rpma_uv_disconnect(conn.conn, NULL), close_it, NULL);
	expect_closed();
	assert_int_equal(ids_in_callback, 0);
}

/* no callback is no must; the reactor's waits for it */
static void close__without_callback(void **state)
{
	(void)state;
	rig_conn_ready(&conn, NULL);
	rpma_uv_conn_close(conn.conn, NULL, NULL);
	rig_close();
	assert_int_equal(double_live(DOUBLE_QP), 0);
}

static void make_another(void *data)
{
	static struct rig_conn another;

	rig_conn_new(&another, NULL);
	rig_on_conn_closed(data);
}

/* a connection made in the close callback of another */
static void close__another_in_callback(void **state)
{
	(void)state;
	rig_conn_ready(&conn, NULL);
	rpma_uv_conn_close(conn.conn, make_another, &conn);
	RIG_UNTIL(conn.closed > 0);
	assert_int_equal(rig_stats().conns, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(close__in_connect_callback),
		RIG_TEST(close__in_operation_callback),
		RIG_TEST(close__in_end_callback),
		RIG_TEST(close__in_disconnect_callback),
		RIG_TEST(close__without_callback),
		RIG_TEST(close__another_in_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
