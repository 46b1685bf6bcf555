/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* stop.c - giving a reconnect up, in each of its states: by cancel, time-out, hook, reactor */

#include "rig.h"

static struct rig_done done;
static rpma_uv_op_t op;
static rpma_uv_conn_t *conn, *shown;
static unsigned shown_count;
static int verdict;
static void (*in_hook)(void);

static int on_conn(rpma_uv_conn_t *c, void *data)
{
	assert_ptr_equal(data, &shown);
	shown = c;
	shown_count++;
	if (in_hook != NULL)
		in_hook();
	return verdict;
}

static void begin(void)
{
	rpma_uv_reconnect_opts_t opts = {
		.size = sizeof(opts),
		.seed = 11,
		.on_conn = on_conn,
		.data = &shown,
	};

	conn = UNIT_UNTOUCHED;
	shown_count = 0;
	verdict = 0;
	in_hook = NULL;
	rig_watch(rpma_uv_reconnect(&rig.reactor, &op, rig.peer, NULL, UNIT_ADDR, UNIT_PORT, NULL,
			  &opts, &conn),
		&done);
}

static void until_attempt(unsigned count)
{
	RIG_UNTIL(shown_count == count);
}

static void expect_nothing_left(int status)
{
	RIG_UNTIL(done.times > 0);
	assert_done(done, status);
	rig_settle();
	assert_done(done, status);
	assert_ptr_equal(conn, UNIT_UNTOUCHED);
	assert_int_equal(rig_stats().conns, 0);
	assert_int_equal(double_live(DOUBLE_ID), 0);
	assert_false(uv_loop_alive(&rig.loop));
}

/* before the first attempt, while it waits for the next, while it connects, while that one closes */
static void stop__cancelled(void **state)
{
	(void)state;
	begin();
	assert_int_equal(rpma_uv_cancel(&op.future, 0), 0);
	expect_nothing_left(UV_ECANCELED);
	assert_int_equal(shown_count, 0);

	/* a delay */
	double_fail_always("rdma_connect", ECONNREFUSED);
	begin();
	until_attempt(2);
	rig_settle();
	assert_int_equal(rig_stats().conns, 0);
	assert_int_equal(rpma_uv_cancel(&op.future, 0), 0);
	assert_int_equal(rpma_uv_cancel(&op.future, 0), UV_EALREADY);
	expect_nothing_left(UV_ECANCELED);
	assert_int_equal(shown_count, 2);
	double_fail_none();

	/* an attempt */
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	begin();
	until_attempt(1);
	rig_settle();
	assert_int_equal(done.times, 0);
	assert_int_equal(rpma_uv_cancel(&op.future, 0), 0);
	assert_int_equal(rpma_uv_cancel(&op.future, 0), 0); /* it is on its way */
	assert_int_equal(done.times, 0);
	expect_nothing_left(UV_ECANCELED);
	assert_int_equal(shown_count, 1);
}

static void on_end(rpma_uv_future_t *f, int status)
{
	(void)f;
	assert_int_equal(status, UV_ECONNREFUSED);
	assert_int_equal(rpma_uv_cancel(&op.future, 0), 0);
	assert_int_equal(done.times, 0);
}

static void cancel_at_the_end(void)
{
	rpma_uv_then(rpma_uv_conn_end(shown, NULL), on_end, NULL);
}

/* an attempt has failed, and its connection is about to close */
static void stop__cancelled_when_failed(void **state)
{
	(void)state;
	double_fail("rdma_connect", 1, ECONNREFUSED);
	begin();
	in_hook = cancel_at_the_end;
	expect_nothing_left(UV_ECANCELED);
	assert_int_equal(shown_count, 1);
}

/* it has just become READY: the connection is nobody's, and goes */
static void stop__cancelled_when_ready(void **state)
{
	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	begin();
	until_attempt(1);
	rig_settle();
	double_push_cm(double_last_id(), RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
	double_push_cm(double_last_id(), RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
	rig_settle();
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
	double_push_cm(double_last_id(), RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	/* the answer is there, and unread */
	assert_int_equal(rpma_uv_cancel(&op.future, 0), 0);
	expect_nothing_left(UV_ECANCELED);
}

/* a time-out calls it so, at whatever point it comes */
static void stop__timed_out(void **state)
{
	(void)state;
	double_fail_always("rdma_connect", ECONNREFUSED);
	begin();
	assert_int_equal(rpma_uv_timeout(&op.future, 5000, 0), 0);
	expect_nothing_left(UV_ETIMEDOUT);
	assert_true(shown_count > 2);
}

static void cancel_now(void)
{
	assert_int_equal(rpma_uv_cancel(&op.future, 0), 0);
}

static void close_reactor_now(void)
{
	rig_close_begin();
}

/* the hook refuses, cancels, closes the reactor */
static void stop__in_hook(void **state)
{
	(void)state;
	begin();
	verdict = UV_EPERM;
	expect_nothing_left(UV_EPERM);
	assert_int_equal(shown_count, 1);
	assert_int_equal(double_calls("rdma_create_id"), 0);

	begin();
	verdict = 1; /* not a status */
	expect_nothing_left(UV_EINVAL);

	begin();
	in_hook = cancel_now;
	expect_nothing_left(UV_ECANCELED);

	begin();
	in_hook = cancel_now;
	verdict = UV_EPERM; /* the first reason is it */
	expect_nothing_left(UV_ECANCELED);

	begin();
	in_hook = close_reactor_now;
	rig_close();
	assert_done(done, UV_ECANCELED);
	assert_true(done.at < rig.closed_at);
}

/* what the hook has posted is on the queue before the peer is asked, and ends with its attempt */
static struct rig_op recvs[3];

static void post_receive(void)
{
	struct rig_conn c = { .conn = shown };

	rig_recv(&c, &recvs[shown_count - 1], 8);
}

static void stop__receives_of_attempts(void **state)
{
	(void)state;
	begin();
	in_hook = post_receive;
	double_fail_always("rdma_connect", ECONNREFUSED);
	until_attempt(2);
	rig_settle();
	double_fail_none();
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 3);
	assert_done(recvs[0].done, UV_ECONNREFUSED);
	assert_done(recvs[1].done, UV_ECONNREFUSED);
	assert_int_equal(recvs[2].done.times, 0);
	assert_ptr_equal(conn, shown);
	assert_true(double_deliver(double_last_id()->qp, "x", 1, NULL));
	rig_settle();
	assert_done(recvs[2].done, 0);
}

/* the reactor closes: in a delay, in an attempt, and both at once */
static void stop__reactor_closes(void **state)
{
	(void)state;
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		rpma_uv_reactor_opts_t opts = rig_opts();

		double_auto_bits(DOUBLE_AUTO_FLUSH);
		begin();
		if (attempt)
			until_attempt(1);
		rig_close();
		assert_done(done, UV_ECANCELED);
		assert_true(done.at < rig.closed_at);
		assert_ptr_equal(conn, UNIT_UNTOUCHED);
		rig_reactor(&opts);
	}
}

/* one that the loop need not live for: neither its delays nor its attempts keep it */
static void stop__unref(void **state)
{
	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	begin();
	rpma_uv_unref(&op.future);
	assert_false(uv_loop_alive(&rig.loop));
	rig_advance(100);
	rig_settle();
	assert_int_equal(shown_count, 1);
	assert_false(uv_loop_alive(&rig.loop));
	rig_close();
	assert_done(done, UV_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(stop__cancelled),
		RIG_TEST(stop__cancelled_when_failed),
		RIG_TEST(stop__cancelled_when_ready),
		RIG_TEST(stop__timed_out),
		RIG_TEST(stop__in_hook),
		RIG_TEST(stop__receives_of_attempts),
		RIG_TEST(stop__reactor_closes),
		RIG_TEST(stop__unref),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
