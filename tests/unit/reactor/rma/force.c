/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* force.c - a posted operation that is cancelled by force, and what that costs its connection */

#include "rig.h"

static struct rig_op ops[4];

/* the one that is forced ends ECANCELED, all others ECONNABORTED, posted and not, of both sides */
static void force__posted(void **state)
{
	struct rig_op recv;
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 3, 2);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	rig_recv(&c, &recv, 8);
	for (unsigned i = 0; i < 4; i++)
		rig_send(&c, &ops[i], 8);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 3);
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, 0), UV_EBUSY);
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, RPMA_UV_FORCE), 0);
	assert_int_equal(ops[1].done.times, 0); /* not within the call */
	RIG_UNTIL(end.times > 0 && recv.done.times > 0 && ops[2].done.times > 0);
	assert_done(ops[0].done, UV_ECONNABORTED);
	assert_done(ops[1].done, UV_ECANCELED);
	assert_done(ops[2].done, UV_ECONNABORTED);
	assert_done(ops[3].done, UV_ECONNABORTED);
	assert_done(recv.done, UV_ECONNABORTED);
	assert_done(end, UV_ECONNABORTED);
	assert_int_equal(rig_stats().cancels_forced, 1);
	assert_int_equal(rig_stats().conns_ready, 0);
	/* it is over and only waits for its close */
	rig_settle();
	assert_int_equal(double_live(DOUBLE_QP), 0);
	rig_conn_gone(&c);
	assert_int_equal(rig_stats().posted, 0);
}

/* several of them: each that is forced ends ECANCELED */
static void force__twice(void **state)
{
	struct rig_conn c;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_CM); /* it does not come back at once */
	rig_conn_ready(&c, NULL);
	for (unsigned i = 0; i < 3; i++)
		rig_read(&c, &ops[i], 8);
	rig_settle();
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, RPMA_UV_FORCE), 0);
	assert_int_equal(rpma_uv_cancel(&ops[2].op.future, RPMA_UV_FORCE), 0);
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, 0), UV_EBUSY);
	rig_settle();
	assert_int_equal(ops[0].done.times, 0);
	double_flush(c.qp);
	RIG_UNTIL(ops[2].done.times > 0);
	assert_done(ops[0].done, UV_ECANCELED);
	assert_done(ops[1].done, UV_ECONNABORTED);
	assert_done(ops[2].done, UV_ECANCELED);
}

/* nothing ever comes back: the drain's deadline ends it, by the same names */
static void force__never_comes_back(void **state)
{
	struct rig_op recv[2];
	struct rig_conn c;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_CM);
	rig_conn_ready_sizes(&c, 2, 2);
	rig_read(&c, &ops[0], 8);
	rig_read(&c, &ops[1], 8);
	rig_recv(&c, &recv[0], 8);
	rig_recv(&c, &recv[1], 8);
	rig_settle();
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, RPMA_UV_FORCE), 0);
	assert_int_equal(rpma_uv_cancel(&recv[0].op.future, RPMA_UV_FORCE), 0);
	RIG_UNTIL(recv[1].done.times > 0);
	assert_done(ops[0].done, UV_ECONNABORTED);
	assert_done(ops[1].done, UV_ECANCELED);
	assert_done(recv[0].done, UV_ECANCELED);
	assert_done(recv[1].done, UV_ECONNABORTED);
}

/*
 * A success that is on the completion queue, and was not looked at, wins: the call says so, and the
 * connection lives on. It wins as well for the neighbours of one that is forced.
 */
static void force__success_is_there(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	for (unsigned i = 0; i < 3; i++)
		rig_read(&c, &ops[i], 8);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	assert_int_equal(ops[0].done.times, 0);
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, RPMA_UV_FORCE), UV_EALREADY);
	rig_settle();
	assert_done(ops[0].done, 0);
	assert_int_equal(ops[0].done.result, 8);
	assert_int_equal(rig_stats().cancels_forced, 0);
	assert_int_equal(rig_stats().conns_ready, 1);

	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	assert_int_equal(rpma_uv_cancel(&ops[2].op.future, RPMA_UV_FORCE), 0);
	RIG_UNTIL(ops[2].done.times > 0);
	assert_done(ops[1].done, 0);
	assert_done(ops[2].done, UV_ECANCELED);
}

/* the success comes after the call and before the queue pair has stopped: the true outcome */
static void force__success_comes(void **state)
{
	struct rig_conn c;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_CM);
	rig_conn_ready(&c, NULL);
	rig_read(&c, &ops[0], 8);
	rig_read(&c, &ops[1], 8);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	/* on its way into the queue when the call looked */
	double_poll_returns(0);
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, RPMA_UV_FORCE), 0);
	double_flush(c.qp);
	RIG_UNTIL(ops[1].done.times > 0);
	assert_done(ops[0].done, 0);
	assert_done(ops[1].done, UV_ECONNABORTED);
}

/* a failure that is there: the connection has ended of it, and of nothing else */
static void force__failure_is_there(void **state)
{
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	rig_read(&c, &ops[0], 8);
	rig_read(&c, &ops[1], 8);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, RPMA_UV_FORCE), UV_EALREADY);
	RIG_UNTIL(ops[1].done.times > 0 && end.times > 0);
	assert_done(ops[0].done, UV_EACCES);
	assert_done(ops[1].done, UV_EACCES);
	assert_done(end, UV_EACCES);
}

/* queued: taken out, as without force; the connection lives on */
static void force__queued(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 1, 1);
	rig_send(&c, &ops[0], 8);
	rig_send(&c, &ops[1], 8);
	rig_settle();
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, RPMA_UV_FORCE), 0);
	rig_settle();
	assert_done(ops[1].done, UV_ECANCELED);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(ops[0].done.times > 0);
	assert_done(ops[0].done, 0);
	assert_int_equal(rig_stats().conns_ready, 1);
}

#define LIMIT 4096

/*
 * An operation of several work requests, some posted, some not: soft, it posts no more and waits for
 * those; forced, it does not wait; with nothing left out it needs no force.
 */
static void force__in_parts(void **state)
{
	struct rig_conn c;

	(void)state;
	double_device.max_msg_size = LIMIT;
	for (unsigned late = 0; late < 2; late++) {
		double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
		rig_conn_ready_sizes(&c, 2, 1);
		rig_read(&c, &ops[0], 4 * LIMIT);
		rig_settle();
		assert_int_equal(double_pending_sends(c.qp), 2);
		if (late)
			assert_int_equal(rpma_uv_cancel(&ops[0].op.future, 0), 0);
		assert_int_equal(rpma_uv_cancel(&ops[0].op.future, RPMA_UV_FORCE), 0);
		RIG_UNTIL(ops[0].done.times > 0);
		assert_done(ops[0].done, UV_ECANCELED);
		rig_conn_gone(&c);
	}
	assert_int_equal(rig_stats().cancels_forced, 2);

	/* its last posted parts are back by now: no reason to end the connection */
	rig_conn_ready_sizes(&c, 2, 1);
	rig_read(&c, &ops[0], 4 * LIMIT);
	rig_settle();
	double_complete_send(c.qp, 2, IBV_WC_SUCCESS);
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, RPMA_UV_FORCE), 0);
	rig_settle();
	assert_done(ops[0].done, UV_ECANCELED);
	assert_int_equal(rig_stats().conns_ready, 1);
	assert_int_equal(rig_stats().cancels_forced, 2);
}

/* a receive, posted while the connection is on its way to READY: the connect ends with it */
static void force__receive_before_ready(void **state)
{
	struct rig_done connect;
	struct rig_op recv;
	struct rig_conn c;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	rig_conn_new(&c, NULL);
	rig_recv(&c, &recv, 8);
	rig_watch(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), &connect);
	c.id = double_last_id();
	rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	rig_settle();
	rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	rig_settle();
	assert_int_equal(double_pending_recvs(c.id->qp), 1);
	assert_int_equal(rpma_uv_cancel(&recv.op.future, RPMA_UV_FORCE), 0);
	RIG_UNTIL(recv.done.times > 0 && connect.times > 0);
	assert_done(recv.done, UV_ECANCELED);
	assert_done(connect, UV_ECONNABORTED);
}

/* all, any, chain: passed on with its force */
static void force__passed_on(void **state)
{
	rpma_uv_future_t *f[2];
	struct rig_done done;
	struct rig_conn c;
	rpma_uv_all_t all;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &ops[0], 8);
	rig_read(&c, &ops[1], 8);
	rig_settle();
	f[0] = &ops[0].op.future;
	f[1] = rpma_uv_any(&rig.reactor, NULL, (rpma_uv_future_t *[]){ &ops[1].op.future }, 1, 0);
	rig_watch(rpma_uv_all(&rig.reactor, &all, f, 2), &done);
	assert_int_equal(rpma_uv_cancel(&all.future, 0), UV_EBUSY);
	assert_int_equal(rpma_uv_cancel(&all.future, RPMA_UV_FORCE), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ECANCELED);
	assert_done(ops[0].done, UV_ECANCELED);
	assert_done(ops[1].done, UV_ECANCELED);
}

/* a second look at what cannot be recalled: a disconnect, forced or not */
static void force__disconnect(void **state)
{
	struct rig_done done;
	struct rig_conn c;
	rpma_uv_op_t op;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_CM);
	rig_conn_ready(&c, NULL);
	rig_read(&c, &ops[0], 8);
	rig_settle();
	rig_watch(rpma_uv_disconnect(c.conn, &op), &done);
	assert_int_equal(rpma_uv_cancel(&op.future, RPMA_UV_FORCE), UV_EBUSY);
	/* the operation is on its way back already: it is still called by what was asked of it */
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, RPMA_UV_FORCE), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_done(ops[0].done, UV_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(force__posted),
		RIG_TEST(force__twice),
		RIG_TEST(force__never_comes_back),
		RIG_TEST(force__success_is_there),
		RIG_TEST(force__success_comes),
		RIG_TEST(force__failure_is_there),
		RIG_TEST(force__queued),
		RIG_TEST(force__in_parts),
		RIG_TEST(force__receive_before_ready),
		RIG_TEST(force__passed_on),
		RIG_TEST(force__disconnect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
