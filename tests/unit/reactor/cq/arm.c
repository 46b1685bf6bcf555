/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* arm.c - the gap between polling and arming, and events with nothing behind them */

#include "rig.h"

static struct ibv_qp *arm_qp;
static unsigned arm_left;

/* a completion after the empty poll and before the arming: it raises no event */
static void complete_before_arming(struct ibv_cq *cq, void *arg)
{
	(void)cq;
	(void)arg;
	if (arm_left > 0 && double_pending_sends(arm_qp) > 0) {
		arm_left--;
		assert_int_equal(double_complete_send(arm_qp, 1, IBV_WC_SUCCESS), 1);
	}
}

/* it is found by looking again: no event is needed, and none comes */
static void arm__completion_in_the_gap(void **state)
{
	static struct rig_op first, second;
	struct rig_conn c;
	uint64_t events;

	(void)state;
	for (unsigned in_one_run = 0; in_one_run < 2; in_one_run++) {
		/*
		 * arrange: the first completion's event disarms the queue, the second comes in the
		 * gap
		 */
		rig_conn_ready(&c, NULL);
		rig_read(&c, &first, 8);
		rig_read(&c, &second, 8);
		rig_settle();
		events = rig_stats().cq_events;
		double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
		arm_qp = c.qp;
		arm_left = 1;
		double_on_arm(complete_before_arming, NULL);

		/* run */
		if (in_one_run)
			assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
		else
			RIG_UNTIL(second.done.times > 0);

		/* verify */
		assert_int_equal(arm_left, 0);
		assert_done(first.done, 0);
		assert_done(second.done, 0);
		assert_int_equal(rig_stats().cq_events, events + 1);
		double_on_arm(NULL, NULL);
	}
	rig_settle();
	assert_true(double_cq_is_armed(c.qp->send_cq));
}

/* an event without a completion: ignored, counted, and the loop sleeps again */
static void arm__spurious_event(void **state)
{
	static struct rig_op read;
	struct rig_conn c;
	unsigned polls;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_settle();
	assert_int_equal(rig_stats().cq_events_empty, 0);
	polls = rig.polls;
	for (unsigned i = 1; i <= 3; i++) {
		double_spurious_event(c.qp->send_cq);
		rig_settle();
		assert_true(rig_is_asleep());
		assert_int_equal(rig_stats().cq_events, i);
		assert_int_equal(rig_stats().cq_events_empty, i);
		assert_true(double_cq_is_armed(c.qp->send_cq));
	}
	assert_true(rig.polls - polls <= 9); /* no busy loop: as many turns as it takes to settle */
	assert_int_equal(read.done.times, 0);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(read.done.times > 0);
	assert_int_equal(rig_stats().cq_events_empty, 3);
	rig_close();
}

/* an arming that is refused: nothing can be slept upon, but nothing is lost either */
static void arm__refused(void **state)
{
	static struct rig_op read;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_settle();
	for (unsigned i = 0; i < 5; i++) {
		/* it is tried once more, and what came meanwhile is taken */
		double_spurious_event(c.qp->send_cq);
		double_fail("ibv_req_notify_cq", 1, EIO);
		rig_glance();
		rig_glance();
		rig_settle();
		assert_true(double_cq_is_armed(c.qp->send_cq));
	}
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	double_fail("ibv_req_notify_cq", 1, EIO);
	RIG_UNTIL(read.done.times > 0);
	assert_done(read.done, 0);
	rig_settle();
	assert_int_equal(rig_stats().conns_ready, 1);
}

/* one that is refused for good: the loop does not spin, its connections end, others do not */
static void arm__refused_for_good(void **state)
{
	static const int errors[][2] = { { EIO, UV_EIO }, { ENODEV, UV_ENODEV }, { -1, UV_EIO } };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		static struct rig_op read, recv;
		struct rig_conn c, other, next;
		struct rig_done end;
		unsigned calls;

		/* arrange: two connections, each with a queue of its own */
		rig_conn_ready_sizes(&c, 4000, 96);
		rig_conn_ready_sizes(&other, 4000, 96);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
		rig_read(&c, &read, 8);
		rig_recv(&c, &recv, 8);
		rig_settle();
		assert_ptr_not_equal(c.qp->send_cq, other.qp->send_cq);

		/* run */
		double_log_clear();
		double_spurious_event(c.qp->send_cq);
		double_fail_always("ibv_req_notify_cq", errors[i][0]);
		rig_settle();

		/* verify */
		calls = double_calls("ibv_req_notify_cq");
		assert_true(calls > 1);
		assert_true(calls < 10);
		assert_done(end, errors[i][1]);
		rig_conn_gone(&c);
		assert_done(read.done, errors[i][1]);
		assert_done(recv.done, errors[i][1]);
		assert_int_equal(rig_stats().conns_ready, 1);
		assert_int_equal(double_calls("ibv_req_notify_cq"), calls);
		double_fail_none();
		/* nobody starts to use it, though it has room */
		rig_conn_ready_sizes(&next, 4000, 96);
		rig_read(&next, &read, 8);
		rig_settle();
		assert_true(double_cq_is_armed(next.qp->send_cq));
		double_complete_send(next.qp, 1, IBV_WC_SUCCESS);
		RIG_UNTIL(read.done.times > 0);
		rig_conn_gone(&next);
		rig_conn_gone(&other);
	}
}

/* a poll that fails takes nothing, and what is there comes later */
static void arm__poll_fails(void **state)
{
	static struct rig_op read;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	double_poll_returns(-EIO);
	RIG_UNTIL(read.done.times > 0);
	assert_done(read.done, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(arm__completion_in_the_gap),
		RIG_TEST(arm__spurious_event),
		RIG_TEST(arm__refused),
		RIG_TEST(arm__refused_for_good),
		RIG_TEST(arm__poll_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
