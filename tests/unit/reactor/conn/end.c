/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* end.c - learning when and why a connection has left READY, and disconnecting */

#include "rig.h"

/* each reason: by event, by failure of an operation, by us */
static void end__reasons(void **state)
{
	static const struct {
		enum rdma_cm_event_type type;
		int status;
		int expected;
	} events[] = {
		{ RDMA_CM_EVENT_DISCONNECTED, 0, UV_ECONNRESET },
		{ RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, UV_ECONNRESET },
		{ RDMA_CM_EVENT_DEVICE_REMOVAL, 0, UV_ENODEV },
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct rig_conn c;
		struct rig_done end[2], late;

		rig_conn_ready(&c, NULL);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end[0]);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end[1]); /* any number may wait */
		rig_cm(&c, events[i].type, events[i].status);
		RIG_UNTIL(end[0].times > 0);
		rig_settle();
		assert_done(end[0], events[i].expected);
		assert_done(end[1], events[i].expected);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &late);
		RIG_UNTIL(late.times > 0);
		assert_done(late, events[i].expected);
		rig_conn_gone(&c);
	}
}

/* a wait for the end can be given up */
static void end__cancelled(void **state)
{
	struct rig_conn c;
	rpma_uv_op_t op;

	(void)state;
	rig_conn_ready(&c, NULL);
	(void)rpma_uv_conn_end(c.conn, &op);
	assert_int_equal(rpma_uv_cancel(&op.future, 0), 0);
	assert_int_equal(rpma_uv_cancel(&op.future, 0), UV_EALREADY);
	assert_int_equal(rig_await(&op.future), UV_ECANCELED);
	rig_conn_gone(&c);
}

/* a connection that never was READY ends with the reason for that */
static void end__never_ready(void **state)
{
	struct rig_conn c;
	struct rig_done end;

	(void)state;
	rig_conn_new(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	double_fail("rdma_resolve_route", 1, ENETDOWN);
	assert_int_equal(
		rig_await(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), UV_ENETDOWN);
	rig_settle();
	assert_done(end, UV_ENETDOWN);
}

/* a disconnect: what waits ends, what is posted comes back, then it is done; a second is refused */
static void end__disconnect(void **state)
{
	static struct rig_op sends[3], recv;
	struct rig_done done, second, end;
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 2, 2);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	rig_recv(&c, &recv, 8);
	for (unsigned i = 0; i < 3; i++)
		rig_send(&c, &sends[i], 8);
	rig_settle();
	double_auto_bits(0);
	rig_watch(rpma_uv_disconnect(c.conn, NULL), &done);
	rig_watch(rpma_uv_disconnect(c.conn, NULL), &second);
	assert_int_equal(rpma_uv_cancel(rpma_uv_disconnect(c.conn, NULL), 0), UV_EALREADY);
	rig_settle();
	assert_done(second, UV_ENOTCONN);
	assert_done(sends[2].done, UV_ECANCELED); /* never posted */
	assert_int_equal(sends[0].done.times, 0);
	assert_int_equal(done.times, 0);
	double_flush(c.qp);
	rig_settle();
	assert_done(sends[0].done, UV_ECANCELED);
	assert_done(sends[1].done, UV_ECANCELED);
	assert_done(recv.done, UV_ECANCELED);
	assert_int_equal(done.times, 0); /* the peer has not answered */
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle();
	assert_done(done, 0);
	assert_done(end, 0);
	assert_int_equal(double_live(DOUBLE_QP), 0);
	assert_int_equal(rig_stats().conns_ready, 0);
	assert_int_equal(rig_stats().conns, 1);
	/* nothing can be done with it any more */
	assert_int_equal(rig_await(rpma_uv_recv(c.conn, NULL, rig_local(0), 8)), UV_ENOTCONN);
	assert_int_equal(rig_await(rpma_uv_send(c.conn, NULL, rig_local(0), 8, 0)), UV_ENOTCONN);
}

/* a running disconnect cannot be recalled */
static void end__disconnect_cancelled(void **state)
{
	struct rig_conn c;
	rpma_uv_op_t op;

	(void)state;
	rig_conn_ready(&c, NULL);
	(void)rpma_uv_disconnect(c.conn, &op);
	assert_int_equal(rpma_uv_cancel(&op.future, 0), UV_EBUSY);
	assert_int_equal(rig_await(&op.future), 0);
}

/* on one that is not READY */
static void end__disconnect_refused(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_new(&c, NULL);
	assert_int_equal(rig_await(rpma_uv_disconnect(c.conn, NULL)), UV_ENOTCONN);
	unit_alloc_fail(1);
	/* the slab has room: it does not grow */
	assert_int_equal(rig_await(rpma_uv_disconnect(c.conn, NULL)), UV_ENOTCONN);
}

/* no room for the future: NULL, and the connection is as it was */
static void end__out_of_memory(void **state)
{
	struct rpma_conn_cfg *cfg = rig_cfg(10, 10, 0);
	rpma_uv_op_t op;
	struct rig_conn c;

	(void)state;
	rig_conn_new(&c, cfg);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	assert_int_equal(rig_await(rpma_uv_connect(c.conn, &op, UNIT_ADDR, UNIT_PORT, NULL)), 0);
	assert_int_equal(rig_stats().slab_objects, 0);
	unit_alloc_fail(1);
	assert_null(rpma_uv_disconnect(c.conn, NULL));
	unit_alloc_fail(1);
	assert_null(rpma_uv_conn_end(c.conn, NULL));
	unit_alloc_fail(1);
	assert_null(rpma_uv_read(c.conn, NULL, rig_local(0), rig_remote(0), 8, 0));
	assert_int_equal(rig_stats().conns_ready, 1);
	rig_settle();
	assert_int_equal(rig_stats().futures_pending, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(end__reasons),
		RIG_TEST(end__cancelled),
		RIG_TEST(end__never_ready),
		RIG_TEST(end__disconnect),
		RIG_TEST(end__disconnect_cancelled),
		RIG_TEST(end__disconnect_refused),
		RIG_TEST(end__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
