/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* refused.c - the device refuses to post: whose future ends, and what becomes of the rest */

#include "rig.h"

#define N 6

static struct rig_op ops[N];

/* the k-th of a list is refused: those before it are posted, it ends, those behind it go on */
static void refused__kth_read(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= N; k++) {
		struct rig_conn c;

		double_device.max_rd_atomic = N;
		rig_conn_ready(&c, NULL);
		for (unsigned i = 0; i < N; i++)
			rig_read(&c, &ops[i], 8);
		double_refuse_wr(k, ENOMEM);
		rig_settle();
		assert_int_equal(double_pending_sends(c.qp), N - 1);
		assert_int_equal(double_complete_send(c.qp, N, IBV_WC_SUCCESS), N - 1);
		rig_settle();
		for (unsigned i = 0; i < N; i++)
			assert_done(ops[i].done, i + 1 == k ? UV_ENOMEM : 0);
		/* credits were counted right: as many again fit */
		assert_int_equal(rig_stats().conns_ready, 1);
		for (unsigned i = 0; i < N; i++)
			rig_read(&c, &ops[i], 8);
		rig_settle();
		assert_int_equal(double_pending_sends(c.qp), N);
		rig_conn_gone(&c);
	}
}

/* likewise for receives */
static void refused__kth_receive(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= N; k++) {
		struct rig_conn c;

		rig_conn_ready(&c, NULL);
		for (unsigned i = 0; i < N; i++)
			rig_recv(&c, &ops[i], 8);
		double_refuse_wr(k, EINVAL);
		rig_settle();
		assert_int_equal(double_pending_recvs(c.qp), N - 1);
		for (unsigned i = 1; i < N; i++)
			assert_true(double_deliver(c.qp, "x", 1, NULL));
		rig_settle();
		for (unsigned i = 0; i < N; i++)
			assert_done(ops[i].done, i + 1 == k ? UV_EINVAL : 0);
		rig_conn_gone(&c);
	}
}

/*
 * Unsignalled sends before the one that is refused: nothing would ever tell of them, so the queue
 * pair is given up, and all of them end.
 */
static void refused__behind_unsignalled(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= N; k++) {
		struct rig_done end;
		struct rig_conn c;

		rig_conn_ready_sizes(&c, 100, 10);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
		for (unsigned i = 0; i < N; i++)
			rig_send(&c, &ops[i], 8);
		double_refuse_wr(k, ENOMEM);
		rig_settle();
		for (unsigned i = 0; i < N && k > 1; i++)
			assert_done(ops[i].done, UV_ENOMEM);
		if (k > 1) {
			assert_done(end, UV_ENOMEM);
		} else {
			/* nothing was posted before it */
			assert_int_equal(end.times, 0);
			assert_int_equal(double_complete_send(c.qp, N, IBV_WC_SUCCESS), N - 1);
			rig_settle();
			for (unsigned i = 0; i < N; i++)
				assert_done(ops[i].done, i == 0 ? UV_ENOMEM : 0);
		}
		rig_conn_gone(&c);
	}
}

/* every call refused: every future ends, the loop sleeps */
static void refused__always(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	double_fail_always("ibv_post_send", EIO);
	double_fail_always("ibv_post_recv", ENXIO);
	for (unsigned i = 0; i < N; i++)
		i % 2 ? rig_recv(&c, &ops[i], 8) : rig_read(&c, &ops[i], 8);
	rig_settle();
	for (unsigned i = 0; i < N; i++)
		assert_done(ops[i].done, i % 2 ? UV_ENXIO : UV_EIO);
	double_fail_none();
	rig_read(&c, &ops[0], 8);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(refused__kth_read),
		RIG_TEST(refused__kth_receive),
		RIG_TEST(refused__behind_unsignalled),
		RIG_TEST(refused__always),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
