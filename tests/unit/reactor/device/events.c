/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* events.c - asynchronous events of a device: what they do to connections, and that they are read */

#include "rig.h"

/* what ends of an event, with which status */
static void events__end_connections(void **state)
{
	static const struct {
		enum ibv_event_type type;
		enum { QP, CQ, DEVICE } of;
		int expected, expected_of_other;
	} cases[] = {
		{ IBV_EVENT_QP_FATAL, QP, UV_EIO, 1 },
		{ IBV_EVENT_QP_REQ_ERR, QP, UV_EIO, 1 },
		{ IBV_EVENT_QP_ACCESS_ERR, QP, UV_EIO, 1 },
		{ IBV_EVENT_CQ_ERR, CQ, UV_EIO, 1 },
		{ IBV_EVENT_PORT_ERR, DEVICE, UV_ENETDOWN, UV_ENETDOWN },
		{ IBV_EVENT_DEVICE_FATAL, DEVICE, UV_ENODEV, UV_ENODEV },
		{ IBV_EVENT_COMM_EST, QP, 1, 1 },
		{ IBV_EVENT_SQ_DRAINED, QP, 1, 1 },
		{ IBV_EVENT_QP_LAST_WQE_REACHED, QP, 1, 1 },
		{ IBV_EVENT_PATH_MIG, QP, 1, 1 },
		{ IBV_EVENT_PORT_ACTIVE, DEVICE, 1, 1 },
		{ IBV_EVENT_GID_CHANGE, DEVICE, 1, 1 },
		{ IBV_EVENT_SM_CHANGE, DEVICE, 1, 1 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig_done end, other_end;
		struct rig_conn c, other;
		void *elements[3];

		/* arrange: two connections that share nothing but the device */
		rig_conn_ready_sizes(&c, 4000, 96);
		rig_conn_ready_sizes(&other, 4000, 96);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
		rig_watch(rpma_uv_conn_end(other.conn, NULL), &other_end);
		elements[QP] = c.qp;
		elements[CQ] = c.qp->send_cq;
		elements[DEVICE] = NULL;

		/* run */
		double_push_async(cases[i].type, elements[cases[i].of]);
		rig_settle();

		/* verify */
		assert_int_equal(double_async_pending(), 0);
		assert_int_equal(rig_stats().async_events, i + 1);
		assert_int_equal(end.times, cases[i].expected < 0);
		if (cases[i].expected < 0)
			assert_int_equal(end.status, cases[i].expected);
		assert_int_equal(other_end.times, cases[i].expected_of_other < 0);
		if (cases[i].expected_of_other < 0)
			assert_int_equal(other_end.status, cases[i].expected_of_other);
		rig_conn_gone(&c);
		rig_conn_gone(&other);
	}
	assert_int_equal(double_problems(), 0);
}

/* operations that are posted end with the event's status, receives too */
static void events__end_operations(void **state)
{
	static struct rig_op read, recv;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_recv(&c, &recv, 8);
	rig_settle();
	double_push_async(IBV_EVENT_PORT_ERR, NULL);
	rig_settle();
	assert_done(read.done, UV_ENETDOWN);
	assert_done(recv.done, UV_ENETDOWN);
	rig_conn_gone(&c);
}

/* a port that is not the connection's, one that there cannot be; a connection that has no port yet */
static void events__of_other_ports(void **state)
{
	struct rig_done end;
	struct rig_conn c, fresh;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_conn_new(&fresh, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	double_push_async_port(IBV_EVENT_PORT_ERR, 2);
	double_push_async_port(IBV_EVENT_PORT_ERR, 0);
	double_push_async_port(IBV_EVENT_PORT_ERR, 255);
	double_push_async_port(IBV_EVENT_PORT_ERR, 256);
	rig_settle();
	assert_int_equal(end.times, 0);
	double_push_async_port(IBV_EVENT_PORT_ERR, 1);
	rig_settle();
	assert_done(end, UV_ENETDOWN);
	/* the port may be up again by the time it is needed */
	assert_int_equal(
		rig_await(rpma_uv_connect(fresh.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
}

/* three at once, then EAGAIN: all three are handled, and EAGAIN ends the look */
static void events__three_at_once(void **state)
{
	struct rig_conn c[3];
	struct rig_done end[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		rig_conn_ready(&c[i], NULL);
		rig_watch(rpma_uv_conn_end(c[i].conn, NULL), &end[i]);
	}
	rig_settle();
	double_log_clear();
	for (unsigned i = 0; i < 3; i++)
		double_push_async(IBV_EVENT_QP_FATAL, c[i].qp);
	rig_glance();
	assert_int_equal(double_calls("ibv_get_async_event"), 4);
	rig_settle();
	for (unsigned i = 0; i < 3; i++)
		assert_done(end[i], UV_EIO);
	assert_int_equal(double_calls("ibv_get_async_event"), 4);
	for (unsigned i = 0; i < 3; i++)
		rig_conn_gone(&c[i]);
	assert_int_equal(double_problems(), 0);
}

/* more than are read in a turn: the rest in the next; an interrupted look goes on */
static void events__many(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_settle();
	for (unsigned i = 0; i < 200; i++)
		double_push_async(IBV_EVENT_SQ_DRAINED, c.qp);
	double_fail("ibv_get_async_event", 3, EINTR);
	rig_glance();
	assert_true(rig_stats().async_events < 200);
	rig_settle();
	assert_int_equal(rig_stats().async_events, 200);
	assert_int_equal(rig_stats().conns_ready, 1);
}

/* the same twice, and several of one object at once: each is handled, the first reason counts */
static void events__of_one_object(void **state)
{
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	double_push_async(IBV_EVENT_QP_FATAL, c.qp);
	double_push_async(IBV_EVENT_QP_LAST_WQE_REACHED, c.qp);
	double_push_async(IBV_EVENT_QP_FATAL, c.qp);
	double_push_async(IBV_EVENT_DEVICE_FATAL, NULL);
	rig_settle();
	/* the whole before its parts */
	assert_done(end, UV_ENODEV);
	rig_conn_gone(&c);
}

static bool is_other_closed;

static void on_other_closed(void *data)
{
	*(bool *)data = true;
}

/* events of objects that nobody watches, and that are unread when their object goes */
static void events__of_strangers(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	rpma_uv_reactor_t other;
	rpma_uv_conn_t *conn;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	opts.async_events = -1;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &other, &opts), 0);
	assert_int_equal(rpma_uv_conn_new(&other, rig.peer, NULL, &conn), 0);
	assert_int_equal(rig_await(rpma_uv_connect(conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
	double_push_async(IBV_EVENT_QP_FATAL, double_last_id()->qp);
	double_push_async((enum ibv_event_type)40, NULL);
	rig_settle();
	assert_int_equal(rig_stats().async_events, 2);
	assert_int_equal(rig_stats().conns_ready, 1);
	is_other_closed = false;
	rpma_uv_reactor_close(&other, on_other_closed, &is_other_closed);
	RIG_UNTIL(is_other_closed);
	double_push_async(IBV_EVENT_QP_FATAL, c.qp);
	rig_conn_gone(&c);
	rig_settle();
	assert_int_equal(double_problems(), 0);
}

/* the descriptor itself fails: nothing more will come, the device is gone */
static void events__descriptor_fails(void **state)
{
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	double_fail_always("ibv_get_async_event", EIO);
	double_push_async(IBV_EVENT_SQ_DRAINED, c.qp);
	rig_settle();
	assert_done(end, UV_ENODEV);
	/* nor is it looked at again, full of events as it is */
	double_log_clear();
	double_push_async(IBV_EVENT_PORT_ACTIVE, NULL);
	rig_settle();
	assert_int_equal(double_calls("ibv_get_async_event"), 0);
	rig_conn_gone(&c);
	double_fail_none();
}

/* a message has come, the word that we are connected has not: the connection manager is told */
static void events__established_by_message(void **state)
{
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	rig_conn_new(&c, NULL);
	rig_watch(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), &done);
	c.id = double_last_id();
	rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	rig_settle();
	assert_int_equal(done.times, 0);
	double_push_async(IBV_EVENT_COMM_EST, c.id->qp);
	rig_settle();
	assert_int_equal(double_calls("rdma_notify"), 1);
	assert_done(done, 0);
	/* and not again */
	double_push_async(IBV_EVENT_COMM_EST, c.id->qp);
	rig_settle();
	assert_int_equal(double_calls("rdma_notify"), 1);
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_conn_gone(&c);
}

/* an event wakes nobody up who has nothing to do, and keeps no loop alive */
static void events__are_no_work(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_settle();
	double_push_async(IBV_EVENT_PORT_ACTIVE, NULL);
	assert_false(uv_loop_alive(&rig.loop));
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	rig_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(events__end_connections),
		RIG_TEST(events__end_operations),
		RIG_TEST(events__of_other_ports),
		RIG_TEST(events__three_at_once),
		RIG_TEST(events__many),
		RIG_TEST(events__of_one_object),
		RIG_TEST(events__of_strangers),
		RIG_TEST(events__descriptor_fails),
		RIG_TEST(events__established_by_message),
		RIG_TEST(events__are_no_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
