/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * drain.c - the end of a connection: everything posted comes back, or the device is made to let go
 */

#include "rig.h"

#define N 10

static struct rig_op sends[N], recvs[N];

/* n posted sends, of which only the last is signalled, n receives; and more that wait */
static void post(struct rig_conn *c)
{
	rig_conn_ready_sizes(c, 40, N);
	for (unsigned i = 0; i < N; i++) {
		rig_recv(c, &recvs[i], 8);
		rig_send(c, &sends[i], 8);
	}
	rig_settle();
	assert_int_equal(double_pending_sends(c->qp), N);
	assert_int_equal(double_pending_recvs(c->qp), N);
	assert_false(double_pending_send(c->qp, 0)->send_flags & IBV_SEND_SIGNALED);
}

static void expect_all(int status)
{
	for (unsigned i = 0; i < N; i++) {
		assert_done(recvs[i].done, status);
		assert_done(sends[i].done, status);
	}
}

static unsigned count_done(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++)
		n += sends[i].done.times + recvs[i].done.times;
	return n;
}

/* the queue pair breaks with n posted, some unsignalled: n futures end, once each */
static void drain__queue_pair_in_error(void **state)
{
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	post(&c);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	assert_int_equal(double_flush(c.qp), 2 * N);
	rig_settle();
	expect_all(UV_EIO);
	assert_done(end, UV_EIO);
	assert_int_equal(end.detail & 0xff, IBV_WC_WR_FLUSH_ERR);
	rig_conn_gone(&c);
	expect_all(UV_EIO);
}

/* it breaks since its device or port has gone, and the event that says so is not read yet */
static void drain__device_is_gone(void **state)
{
	static const int expected[] = { UV_ENODEV, UV_ENETDOWN, UV_ENODEV };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct rig_done end;
		struct rig_conn c;

		post(&c);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
		if (i == 0)
			double_fail_always("ibv_query_port", EIO);
		double_device.is_port_down = i == 1;
		if (i == 2)
			double_fail_always("ibv_query_device_ex", EIO);
		assert_int_equal(double_flush(c.qp), 2 * N);
		rig_settle();
		expect_all(expected[i]);
		assert_done(end, expected[i]);
		double_fail_none();
		double_device.is_port_down = false;
		rig_conn_gone(&c);
	}
}

/* one fails for a reason of its own: that one tells it, its neighbours end with the same, once */
static void drain__first_error_is_everybodys(void **state)
{
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	post(&c);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	double_complete_send(c.qp, 3, IBV_WC_SUCCESS); /* unsignalled: silent */
	rig_settle();
	assert_int_equal(count_done(), 0);
	/* the fourth is unsignalled and fails: its completion comes all the same */
	assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_RETRY_EXC_ERR), 1);
	rig_settle();
	for (unsigned i = 0; i < 3; i++)
		assert_done(sends[i].done, 0);
	for (unsigned i = 3; i < N; i++)
		assert_done(sends[i].done, UV_ETIMEDOUT);
	for (unsigned i = 0; i < N; i++)
		assert_done(recvs[i].done, UV_ETIMEDOUT);
	assert_int_equal(sends[3].done.detail & 0xff, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(sends[3].done.detail >> 8, 0x51);
	assert_int_equal(sends[4].done.detail & 0xff, IBV_WC_WR_FLUSH_ERR);
	assert_done(end, UV_ETIMEDOUT);
	assert_int_equal(end.detail, sends[3].done.detail);
}

/* the peer disconnects while completions are unread: those count, the rest ends with the reason */
static void drain__disconnected_with_unread_completions(void **state)
{
	static struct rig_op read;
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	post(&c);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	rig_read(&c, &read, 8);
	rig_settle();
	/* all at once, before the loop looks; no TIMEWAIT_EXIT ever comes */
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	assert_true(double_deliver(c.qp, "x", 1, NULL));
	assert_int_equal(double_complete_send(c.qp, N + 1, IBV_WC_SUCCESS), N + 1);
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle();
	for (unsigned i = 0; i < N; i++) {
		assert_done(sends[i].done, 0);
		assert_done(recvs[i].done, i == 0 ? 0 : UV_ECONNRESET);
	}
	assert_done(read.done, 0);
	assert_done(end, UV_ECONNRESET);
	rig_conn_gone(&c);
}

/* the peer never answers our disconnect: the deadline ends it */
static void drain__peer_never_answers(void **state)
{
	struct rig_done done, end;
	struct rig_conn c;
	uint64_t start;

	(void)state;
	post(&c);
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	start = uv_now(&rig.loop);
	rig_watch(rpma_uv_disconnect(c.conn, NULL), &done);
	rig_settle();
	expect_all(UV_ECANCELED); /* flushed by ourselves: not its fault */
	assert_done(end, 0);
	assert_int_equal(done.times, 0);
	RIG_UNTIL(done.times > 0); /* the clock jumps */
	assert_done(done, 0);
	assert_true(uv_now(&rig.loop) - start >= RPMA_UV_DRAIN_TIMEOUT);
	rig_conn_gone(&c);
}

static void expect_no_queue_pair(rpma_uv_future_t *f, int status)
{
	/* the memory is ours again: nothing of the device may hold it */
	assert_int_equal(double_live(DOUBLE_QP), 0);
	rig_on_done(f, status);
}

/* what was posted is never flushed: the futures end only when the queue pair is gone */
static void drain__never_flushed(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 40, N);
	for (unsigned i = 0; i < N; i++) {
		memset(&sends[i], 0, sizeof(sends[i]));
		memset(&recvs[i], 0, sizeof(recvs[i]));
		rpma_uv_then(rpma_uv_recv(c.conn, &recvs[i].op, rig_local(0), 8),
			expect_no_queue_pair, &recvs[i].done);
		rpma_uv_then(rpma_uv_send(c.conn, &sends[i].op, rig_local(0), 8, 0),
			expect_no_queue_pair, &sends[i].done);
	}
	rig_settle();
	double_auto_bits(DOUBLE_AUTO_CM); /* the peer answers, the device does not */
	rig_conn_close(&c);
	rig_settle();
	assert_int_equal(count_done(), 0);
	assert_int_equal(c.closed, 0);
	RIG_UNTIL(c.closed > 0); /* the clock jumps */
	expect_all(UV_ECANCELED);
}

/* completions that were there when the queue pair went are taken for what they say */
static void drain__completions_outlive_the_queue_pair(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn c, other;
	static struct rig_op read;

	(void)state;
	opts.cq_budget = 1;
	rig_reactor(&opts);
	post(&c);
	rig_conn_ready(&other, NULL); /* on the same completion queue */
	rig_read(&other, &read, 8);
	rig_settle();
	double_auto_bits(0);
	rig_conn_close(&c);
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_settle();
	/* the deadline comes in the turn whose budget ends before they are reached */
	rig_advance(RPMA_UV_DRAIN_TIMEOUT);
	double_qp_state(c.qp, IBV_QPS_RTS);
	assert_int_equal(double_complete_send(other.qp, 1, IBV_WC_SUCCESS), 1);
	assert_int_equal(double_complete_send(c.qp, N, IBV_WC_SUCCESS), N);
	RIG_UNTIL(c.closed > 0);
	for (unsigned i = 0; i < N; i++) {
		assert_done(sends[i].done, 0);
		assert_done(recvs[i].done, UV_ECANCELED);
	}
	rig_settle();
	assert_done(read.done, 0);
	assert_int_equal(double_cq_count(other.qp->send_cq), 0);
}

/* both ends disconnect at the same time: one end, one close */
static void drain__both_at_once(void **state)
{
	struct rig_done done, end;
	struct rig_conn c;

	(void)state;
	post(&c);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0); /* unread yet */
	rig_watch(rpma_uv_disconnect(c.conn, NULL), &done);
	rig_conn_close(&c);
	RIG_UNTIL(c.closed > 0);
	assert_done(end, 0);
	assert_done(done, 0);
	expect_all(UV_ECANCELED);
	rig_settle();
	assert_int_equal(c.closed, 1);
	assert_int_equal(double_calls("rdma_disconnect"), 1);
}

/* a disconnect that the provider refuses: the queue pair is stopped by hand */
static void drain__disconnect_fails(void **state)
{
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	post(&c);
	double_fail("rdma_disconnect", 1, EINVAL);
	rig_watch(rpma_uv_disconnect(c.conn, NULL), &done);
	rig_settle();
	assert_int_equal(c.qp->state, IBV_QPS_ERR);
	expect_all(UV_ECANCELED);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(drain__queue_pair_in_error),
		RIG_TEST(drain__device_is_gone),
		RIG_TEST(drain__first_error_is_everybodys),
		RIG_TEST(drain__disconnected_with_unread_completions),
		RIG_TEST(drain__peer_never_answers),
		RIG_TEST(drain__never_flushed),
		RIG_TEST(drain__completions_outlive_the_queue_pair),
		RIG_TEST(drain__both_at_once),
		RIG_TEST(drain__disconnect_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
