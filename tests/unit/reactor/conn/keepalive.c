/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* keepalive.c - a sign of life from the peer of a connection that sends nothing */

#include "rig.h"

#define INTERVAL 1000

/* the clock goes on by this much, and the loop does what is due */
static void pass(uint64_t ms)
{
	rig_advance(ms);
	rig_settle();
}

static void ready(struct rig_conn *c)
{
	rig_conn_ready(c, NULL);
	assert_int_equal(rpma_uv_conn_set_keepalive(c->conn, INTERVAL), 0);
	rig_settle();
}

/* without a word from the program: none is sent */
static void keepalive__none_by_default(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	pass(3600 * 1000);
	assert_int_equal(double_sends(c.qp), 0);
}

/* silent for the interval: a write of nothing, which needs no memory and no future; and again */
static void keepalive__writes_nothing(void **state)
{
	const struct double_wr *wr;
	struct rig_conn c;
	uint64_t futures;
	unsigned allocs;

	(void)state;
	ready(&c);
	futures = rig_stats().futures_pending;
	unit_alloc_fail(0);
	for (unsigned i = 0; i < 3; i++) {
		pass(INTERVAL - 1);
		assert_int_equal(double_sends(c.qp), i);
		pass(1);
		assert_int_equal(double_sends(c.qp), i + 1);
		wr = double_pending_send(c.qp, 0);
		assert_int_equal(wr->opcode, IBV_WR_RDMA_WRITE);
		assert_int_equal(wr->num_sge, 0);
		assert_true(wr->send_flags & IBV_SEND_SIGNALED);
		assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
		rig_settle();
	}
	allocs = unit_allocs();
	assert_int_equal(allocs, 0);
	assert_int_equal(rig_stats().futures_pending, futures);
	assert_int_equal(rig_stats().conns_ready, 1);
}

/* what is sent meanwhile counts, receives do not */
static void keepalive__only_when_silent(void **state)
{
	static struct rig_op send, recv;
	struct rig_conn c;

	(void)state;
	ready(&c);
	for (unsigned i = 0; i < 3; i++) {
		pass(INTERVAL - 1);
		rig_send(&c, &send, 8);
		rig_settle();
		assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
		rig_settle();
		assert_done(send.done, 0);
	}
	pass(INTERVAL - 1);
	assert_int_equal(double_sends(c.qp), 3);
	rig_recv(&c, &recv, 8);
	rig_settle();
	pass(1);
	assert_int_equal(double_sends(c.qp), 4);
	assert_int_equal(double_last_send(c.qp)->opcode, IBV_WR_RDMA_WRITE);
}

/* what is posted tells of the peer by itself; so does a keep-alive that has no answer yet */
static void keepalive__one_at_a_time(void **state)
{
	static struct rig_op send;
	struct rig_conn c;

	(void)state;
	ready(&c);
	rig_send(&c, &send, 8);
	for (unsigned i = 0; i < 3; i++)
		pass(INTERVAL);
	assert_int_equal(double_sends(c.qp), 1);
	assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
	rig_settle();
	assert_done(send.done, 0);
	for (unsigned i = 0; i < 3; i++)
		pass(INTERVAL);
	assert_int_equal(double_sends(c.qp), 2);
}

/* it takes a place in the queue, and what is called later waits behind it */
static void keepalive__takes_credits(void **state)
{
	static struct rig_op sends[2];
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 2, 1);
	assert_int_equal(rpma_uv_conn_set_keepalive(c.conn, INTERVAL), 0);
	pass(INTERVAL);
	rig_send(&c, &sends[0], 8);
	rig_send(&c, &sends[1], 8);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 2);
	assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
	rig_settle();
	assert_int_equal(double_complete_send(c.qp, 2, IBV_WC_SUCCESS), 2);
	rig_settle();
	assert_done(sends[0].done, 0);
	assert_done(sends[1].done, 0);
}

/* a peer that has lost its power, with only receives posted: they learn */
static void keepalive__peer_is_gone(void **state)
{
	static struct rig_op recv;
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	ready(&c);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	rig_recv(&c, &recv, 8);
	rig_settle();
	pass(INTERVAL);
	assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_RETRY_EXC_ERR), 1);
	rig_settle();
	assert_done(recv.done, UV_ETIMEDOUT);
	assert_done(end, UV_ETIMEDOUT);
	assert_int_equal(end.detail & 0xff, IBV_WC_RETRY_EXC_ERR);
	rig_conn_gone(&c);
}

/* one that the device refuses, or that the queue has no room for, is nobody's failure */
static void keepalive__refused(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c);
	double_fail("ibv_post_send", 1, ENOMEM);
	pass(INTERVAL);
	assert_int_equal(double_sends(c.qp), 0);
	assert_int_equal(rig_stats().conns_ready, 1);
	pass(INTERVAL);
	assert_int_equal(double_sends(c.qp), 1);
}

/* it ends with READY: on its way, it is waited for as everything is; none comes later */
static void keepalive__ends_with_ready(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct rig_done done;
		struct rig_conn c;

		double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
		ready(&c);
		if (i > 0)
			pass(INTERVAL);
		assert_int_equal(double_sends(c.qp), i > 0);
		/* the device says nothing: the deadline of the end does */
		if (i > 1)
			double_auto_bits(DOUBLE_AUTO_CM);
		rig_watch(rpma_uv_disconnect(c.conn, NULL), &done);
		rig_settle();
		assert_int_equal(done.times, i < 2);
		RIG_UNTIL(done.times > 0);
		assert_done(done, 0);
		rig_close();
		rig_reactor(&(rpma_uv_reactor_opts_t){ .size = sizeof(rpma_uv_reactor_opts_t) });
	}
}

/* one that waits for its turn when the connection ends goes with it */
static void keepalive__waiting_at_the_end(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c);
	/* it is queued by the check phase of the turn whose poll brings the news */
	rig_advance(INTERVAL);
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle();
	rig_conn_gone(&c);
	assert_int_equal(double_live(DOUBLE_QP), 0);
}

/* it does not keep the loop running */
static void keepalive__is_no_work(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c);
	assert_false(uv_loop_alive(&rig.loop));
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	/* nor does one on its way */
	pass(INTERVAL);
	assert_int_equal(double_pending_sends(c.qp), 1);
	assert_false(uv_loop_alive(&rig.loop));
}

/* set before connecting, changed and taken back at READY, refused later */
static void keepalive__set(void **state)
{
	struct rig_conn c;

	(void)state;
	assert_int_equal(rpma_uv_conn_set_keepalive(NULL, 1), UV_EINVAL);
	rig_conn_new(&c, NULL);
	assert_int_equal(rpma_uv_conn_set_keepalive(c.conn, INTERVAL), 0);
	pass(INTERVAL);
	assert_int_equal(rig_await(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
	c.id = double_last_id();
	c.qp = c.id->qp;
	pass(INTERVAL);
	assert_int_equal(double_sends(c.qp), 1);
	assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
	rig_settle();
	/* longer */
	assert_int_equal(rpma_uv_conn_set_keepalive(c.conn, 3 * INTERVAL), 0);
	pass(2 * INTERVAL);
	assert_int_equal(double_sends(c.qp), 1);
	pass(INTERVAL);
	assert_int_equal(double_sends(c.qp), 2);
	assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
	/* beyond the end of time, and none */
	assert_int_equal(rpma_uv_conn_set_keepalive(c.conn, UINT64_MAX), 0);
	pass(100 * INTERVAL);
	assert_int_equal(rpma_uv_conn_set_keepalive(c.conn, 0), 0);
	pass(100 * INTERVAL);
	assert_int_equal(double_sends(c.qp), 2);
	/* too late */
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle();
	assert_int_equal(rpma_uv_conn_set_keepalive(c.conn, INTERVAL), UV_ENOTCONN);
	rig_conn_close(&c);
	assert_int_equal(rpma_uv_conn_set_keepalive(c.conn, INTERVAL), UV_ECANCELED);
	RIG_UNTIL(c.closed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(keepalive__none_by_default),
		RIG_TEST(keepalive__writes_nothing),
		RIG_TEST(keepalive__only_when_silent),
		RIG_TEST(keepalive__one_at_a_time),
		RIG_TEST(keepalive__takes_credits),
		RIG_TEST(keepalive__peer_is_gone),
		RIG_TEST(keepalive__refused),
		RIG_TEST(keepalive__ends_with_ready),
		RIG_TEST(keepalive__waiting_at_the_end),
		RIG_TEST(keepalive__is_no_work),
		RIG_TEST(keepalive__set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
