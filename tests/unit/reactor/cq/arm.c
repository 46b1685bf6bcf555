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
	rig_settle();
	double_spurious_event(c.qp->send_cq);
	double_fail_always("ibv_req_notify_cq", EIO);
	rig_read(&c, &read, 8);
	for (unsigned i = 0; i < 5; i++)
		rig_glance();
	assert_false(rig_is_asleep());
	assert_int_equal(read.done.times, 0);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(read.done.times > 0);
	double_fail_none();
	rig_settle();
	assert_true(double_cq_is_armed(c.qp->send_cq));
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
		RIG_TEST(arm__poll_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
