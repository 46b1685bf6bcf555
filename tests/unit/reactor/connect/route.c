/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* route.c - on InfiniBand the route is asked for on libuv's pool: nothing waits for it */

#include "rig.h"

/* the linker sends these calls here */
int __real_uv_queue_work(uv_loop_t *loop, uv_work_t *req, uv_work_cb work, uv_after_work_cb after);
int __wrap_uv_queue_work(uv_loop_t *loop, uv_work_t *req, uv_work_cb work, uv_after_work_cb after);
int __real_rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms);
int __wrap_rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms);

static int pool_error;
static uv_after_work_cb after_route;
static unsigned returned;

static void on_return(uv_work_t *req, int status)
{
	returned++;
	after_route(req, status);
}

int __wrap_uv_queue_work(uv_loop_t *loop, uv_work_t *req, uv_work_cb work, uv_after_work_cb after)
{
	after_route = after;
	return pool_error ? pool_error : __real_uv_queue_work(loop, req, work, on_return);
}

static uv_sem_t go, asked;
static bool is_slow, is_event_early;
static uv_thread_t loop_thread;

int __wrap_rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	uv_thread_t self = uv_thread_self();
	int ret;

	if (!is_slow)
		return __real_rdma_resolve_route(id, timeout_ms);
	if (uv_thread_equal(&self, &loop_thread))
		return -1;
	if (is_event_early) {
		ret = __real_rdma_resolve_route(id, timeout_ms);
		uv_sem_post(&asked);
		uv_sem_wait(&go);
		return ret;
	}
	uv_sem_post(&asked);
	uv_sem_wait(&go);
	return __real_rdma_resolve_route(id, timeout_ms);
}

static rpma_uv_future_t *start(struct rig_conn *c, struct rig_done *done)
{
	rpma_uv_future_t *f;

	double_device.link_layer = IBV_LINK_LAYER_INFINIBAND;
	uv_sem_init(&go, 0);
	uv_sem_init(&asked, 0);
	loop_thread = uv_thread_self();
	is_slow = true;
	rig.is_patient = true;
	rig_conn_new(c, NULL);
	f = rig_watch(rpma_uv_connect(c->conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), done);
	return f;
}

/* until the pool's thread is within the call */
static void await_call(void)
{
	while (uv_sem_trywait(&asked) != 0)
		rig_glance();
}

/* it connects, and the loop turned meanwhile */
static void route__connects(void **state)
{
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	for (unsigned early = 0; early < 2; early++) {
		is_event_early = early;
		start(&c, &done);
		await_call();
		for (unsigned i = 0; i < 10; i++)
			rig_glance();
		assert_int_equal(done.times, 0);
		/* even if the event has come: the id is in use on another thread */
		assert_null(double_last_id()->qp);
		uv_sem_post(&go);
		RIG_UNTIL(done.times > 0);
		assert_done(done, 0);
		rig.is_patient = false;
		rig_conn_gone(&c);
	}
}

/* the call has returned long before its event comes */
static void route__event_is_late(void **state)
{
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	is_event_early = false;
	start(&c, &done);
	c.id = double_last_id();
	rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	await_call();
	returned = 0;
	uv_sem_post(&go);
	RIG_UNTIL(returned > 0);
	rig_glance();
	assert_int_equal(done.times, 0);
	assert_null(c.id->qp);
	rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	rig_cm(&c, RDMA_CM_EVENT_ESTABLISHED, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_non_null(c.id->qp);
	rig.is_patient = false;
	rig_conn_gone(&c);
}

/* the call fails on the pool's thread */
static void route__refused(void **state)
{
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	is_event_early = false;
	start(&c, &done);
	await_call();
	double_fail("rdma_resolve_route", 1, ENETUNREACH);
	uv_sem_post(&go);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ENETUNREACH);
	rig_conn_gone(&c);
}

/* closed, cancelled or too late while the pool's thread is in the call: the id waits for it */
static void route__ended_meanwhile(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	(void)state;
	for (unsigned how = 0; how < 8; how++) {
		struct rig_done done;
		rpma_uv_future_t *f;
		struct rig_conn c;

		is_event_early = how >= 4;
		f = start(&c, &done);
		await_call();
		switch (how % 4) {
		case 0:
			rig_conn_close(&c);
			break;
		case 1:
			assert_int_equal(rpma_uv_cancel(f, 0), 0);
			break;
		case 2:
			rig_close_begin();
			break;
		default:
			rig.is_patient = false; /* the clock jumps */
			break;
		}
		RIG_UNTIL(done.times > 0);
		assert_done(done, how % 4 == 3 ? UV_ETIMEDOUT : UV_ECANCELED);
		/* however long that takes */
		rig_advance(10 * RPMA_UV_DRAIN_TIMEOUT);
		for (unsigned i = 0; i < 10; i++)
			rig_glance();
		assert_int_equal(double_live(DOUBLE_ID), 1);
		assert_int_equal(c.closed, 0);
		assert_false(rig.is_closed);
		uv_sem_post(&go);
		rig.is_patient = true;
		if (how % 4 == 0)
			RIG_UNTIL(c.closed > 0);
		rig_reactor(&opts);
	}
}

/* no memory for it, or the pool does not take it */
static void route__no_pool(void **state)
{
	(void)state;
	double_device.link_layer = IBV_LINK_LAYER_INFINIBAND;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	is_slow = false;
	for (unsigned i = 0; i < 2; i++) {
		struct rig_conn c;
		rpma_uv_op_t op;

		rig_conn_new(&c, NULL);
		rpma_uv_connect(c.conn, &op, UNIT_ADDR, UNIT_PORT, NULL);
		c.id = double_last_id();
		rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
		if (i == 0)
			unit_alloc_fail(1);
		else
			pool_error = UV_EAGAIN;
		assert_int_equal(rig_await(&op.future), i == 0 ? UV_ENOMEM : UV_EAGAIN);
		pool_error = 0;
		rig_conn_gone(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(route__connects),
		RIG_TEST(route__event_is_late),
		RIG_TEST(route__refused),
		RIG_TEST(route__ended_meanwhile),
		RIG_TEST(route__no_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
