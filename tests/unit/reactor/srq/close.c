/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* close.c - making and closing a shared receive queue: what it waits for, and what ends when */

#include "rig.h"

static rpma_uv_srq_t *srq;
static struct rig_op recvs[4];
static unsigned closed_at;

static void on_closed(void *data)
{
	assert_ptr_equal(data, &closed_at);
	assert_int_equal(closed_at, 0);
	closed_at = rig_count();
}

static void close_it(void)
{
	closed_at = 0;
	rpma_uv_srq_close(srq, on_closed, &closed_at);
}

static void expect_no_queue(rpma_uv_future_t *f, int status)
{
	/* the memory is ours again: nothing of the device may hold it */
	assert_int_equal(double_live(DOUBLE_SRQ), 0);
	rig_on_done(f, status);
}

static void make(void)
{
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 2, &srq), 0);
	for (unsigned i = 0; i < 4; i++) {
		memset(&recvs[i], 0, sizeof(recvs[i]));
		rpma_uv_then(rpma_uv_srq_recv(srq, &recvs[i].op, rig_local(0), 8),
			i < 2 ? expect_no_queue : rig_on_done, &recvs[i].done);
	}
	rig_settle();
	assert_int_equal(double_srq_pending_recvs(double_last_srq()), 2);
}

static void ready(struct rig_conn *c)
{
	rig_conn_new(c, NULL);
	assert_int_equal(rpma_uv_conn_set_srq(c->conn, srq), 0);
	assert_int_equal(rig_await(rpma_uv_connect(c->conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
}

static void expect_all(int status)
{
	for (unsigned i = 0; i < 4; i++) {
		assert_done(recvs[i].done, status);
		assert_true(recvs[i].done.at < closed_at);
	}
}

/* NULL, sizes beyond reason, providers and memory that fail: outputs untouched, nothing left */
static void close__new_refused(void **state)
{
	rpma_uv_srq_t *none = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_uv_srq_new(NULL, rig.peer, 2, &none), UV_EINVAL);
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, NULL, 2, &none), UV_EINVAL);
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 0, &none), UV_EINVAL);
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, UINT32_MAX, &none), UV_EINVAL);
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 2, NULL), UV_EINVAL);
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 100000, &none), UV_EINVAL);
	double_fail("ibv_create_srq", 1, ENOSPC);
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 2, &none), UV_ENOSPC);
	double_fail("ibv_create_cq", 1, EMFILE);
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 2, &none), UV_EMFILE);
	for (unsigned k = 1; k <= 3; k++) {
		unit_alloc_fail(k);
		assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 2, &none), UV_ENOMEM);
	}
	unit_alloc_fail(0);
	assert_ptr_equal(none, UNIT_UNTOUCHED);
	assert_int_equal(double_live(DOUBLE_SRQ), 0);
	rig_close_begin();
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 2, &none), UV_ECANCELED);
	rig_close();
}

/* nobody draws from it: waiting and posted receives end, the latter when the device has let go */
static void close__without_connections(void **state)
{
	(void)state;
	make();
	close_it();
	assert_int_equal(rig_await(rpma_uv_srq_recv(srq, NULL, rig_local(0), 8)), UV_ECANCELED);
	RIG_UNTIL(closed_at > 0);
	expect_all(UV_ECANCELED);
	/* not even used, and nobody wants to know */
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 2, &srq), 0);
	rpma_uv_srq_close(srq, NULL, NULL);
	rig_settle();
	assert_int_equal(double_live(DOUBLE_SRQ), 0);
}

/* it waits for its connections, in whatever state, and takes what comes to them meanwhile */
static void close__waits_for_connections(void **state)
{
	struct rig_conn a, fresh;

	(void)state;
	make();
	ready(&a);
	a.qp = double_last_id()->qp;
	rig_conn_new(&fresh, NULL);
	assert_int_equal(rpma_uv_conn_set_srq(fresh.conn, srq), 0);
	memset(&recvs[0].done, 0, sizeof(recvs[0].done));
	close_it();
	rig_settle();
	assert_int_equal(closed_at, 0);
	assert_int_equal(double_live(DOUBLE_SRQ), 1);
	assert_int_equal(recvs[0].done.times, 0);
	assert_done(recvs[2].done, UV_ECANCELED); /* it only waited */
	assert_done(recvs[3].done, UV_ECANCELED);
	assert_int_equal(double_srq_pending_recvs(double_last_srq()), 2);
	rig_conn_gone(&a);
	rig_settle();
	assert_int_equal(closed_at, 0);
	rig_conn_gone(&fresh);
	RIG_UNTIL(closed_at > 0);
	assert_done(recvs[0].done, UV_ECANCELED);
	assert_done(recvs[1].done, UV_ECANCELED);
}

/* a connection that has ended by itself holds nothing up, though nobody has closed it */
static void close__after_an_end(void **state)
{
	struct rig_conn c;

	(void)state;
	make();
	ready(&c);
	double_push_cm(double_last_id(), RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	rig_settle();
	close_it();
	RIG_UNTIL(closed_at > 0);
	expect_all(UV_ECANCELED);
	rig_conn_gone(&c);
}

/* the reactor closes: connections first; the program may still ask to be told */
static void close__with_the_reactor(void **state)
{
	(void)state;
	for (unsigned asks = 0; asks < 2; asks++) {
		rpma_uv_reactor_opts_t opts = rig_opts();
		struct rig_conn c;

		make();
		ready(&c);
		closed_at = 0;
		rig_close_begin();
		if (asks)
			close_it();
		rig_close();
		assert_int_equal(closed_at > 0, asks);
		assert_true(closed_at < rig.closed_at);
		for (unsigned i = 0; i < 4; i++)
			assert_done(recvs[i].done, UV_ECANCELED);
		rig_reactor(&opts);
	}
}

/* the same, when the program has closed it before */
static void close__before_the_reactor(void **state)
{
	struct rig_conn c;

	(void)state;
	make();
	ready(&c);
	close_it();
	rig_close();
	assert_true(closed_at > 0);
	assert_true(closed_at < rig.closed_at);
	expect_all(UV_ECANCELED);
}

static void close_in_callback(rpma_uv_future_t *f, int status)
{
	rig_on_done(f, status);
	close_it();
}

/* in the callback of one of its receives */
static void close__in_callback(void **state)
{
	struct rig_done done = { 0 };
	struct rig_conn c;

	(void)state;
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 2, &srq), 0);
	ready(&c);
	c.qp = double_last_id()->qp;
	rpma_uv_then(rpma_uv_srq_recv(srq, NULL, rig_local(0), 8), close_in_callback, &done);
	rig_settle();
	assert_true(double_deliver(c.qp, "x", 1, NULL));
	RIG_UNTIL(done.times > 0);
	rig_conn_gone(&c);
	RIG_UNTIL(closed_at > 0);
}

/* a receive is called and the queue closed before the loop turns: it is never posted */
static void close__at_once(void **state)
{
	(void)state;
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 2, &srq), 0);
	rig_watch(rpma_uv_srq_recv(srq, &recvs[0].op, rig_local(0), 8), &recvs[0].done);
	close_it();
	RIG_UNTIL(closed_at > 0);
	assert_done(recvs[0].done, UV_ECANCELED);
	assert_int_equal(double_calls("ibv_post_srq_recv"), 0);
}

/* a device that will not give it up: it is as good as gone */
static void close__destroy_fails(void **state)
{
	(void)state;
	make();
	double_fail("ibv_destroy_srq", 1, EIO);
	close_it();
	RIG_UNTIL(closed_at > 0);
	expect_all(UV_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(close__new_refused),
		RIG_TEST(close__without_connections),
		RIG_TEST(close__waits_for_connections),
		RIG_TEST(close__after_an_end),
		RIG_TEST(close__with_the_reactor),
		RIG_TEST(close__before_the_reactor),
		RIG_TEST(close__in_callback),
		RIG_TEST(close__at_once),
		RIG_TEST(close__destroy_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
