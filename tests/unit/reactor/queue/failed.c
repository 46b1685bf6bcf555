/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* failed.c - posted sends that fail, signalled or not: whose future fails, with what */

#include "rig.h"

#define N 6

static struct rig_op ops[N];

static const struct {
	enum ibv_wc_status status;
	int expected;
} failures[] = {
	{ IBV_WC_REM_ACCESS_ERR, UV_EACCES },
	{ IBV_WC_LOC_PROT_ERR, UV_EFAULT },
	{ IBV_WC_RETRY_EXC_ERR, UV_ETIMEDOUT },
	{ IBV_WC_RNR_RETRY_EXC_ERR, UV_ENOBUFS },
	{ IBV_WC_REM_OP_ERR, UV_EREMOTEIO },
};

#define FAILURES (sizeof(failures) / sizeof(failures[0]))

/*
 * The k-th of a list fails, of which only the last was to be signalled: its own future fails, those
 * before it are good, those behind it end with the connection.
 */
static void failed__kth_unsignalled(void **state)
{
	(void)state;
	for (unsigned k = 0; k < N * FAILURES; k++) {
		unsigned at = k % N;
		int expected = failures[k / N].expected;
		struct rig_done end;
		struct rig_conn c;

		rig_conn_ready_sizes(&c, 100, 10);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
		for (unsigned i = 0; i < N; i++)
			i % 2 ? rig_send(&c, &ops[i], 8) : rig_write(&c, &ops[i], 8);
		rig_settle();
		for (unsigned i = 0; i + 1 < N; i++)
			assert_false(double_pending_send(c.qp, i)->send_flags & IBV_SEND_SIGNALED);
		assert_int_equal(double_complete_send(c.qp, at, IBV_WC_SUCCESS), at);
		rig_settle();
		assert_int_equal(double_complete_send(c.qp, 1, failures[k / N].status), 1);
		rig_settle();
		for (unsigned i = 0; i < N; i++) {
			assert_done(ops[i].done, i < at ? 0 : expected);
			assert_int_equal(ops[i].done.result, i < at ? 8 : 0);
			if (i > 0)
				assert_true(ops[i].done.at > ops[i - 1].done.at);
			if (i >= at)
				assert_int_equal(ops[i].done.detail & 0xff,
					i == at ? failures[k / N].status : IBV_WC_WR_FLUSH_ERR);
		}
		assert_done(end, expected);
		rig_conn_gone(&c);
	}
}

/* a peer without receives is counted */
static void failed__rnr_is_counted(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct rig_conn c;

		assert_int_equal(rig_stats().rnr_errors, i);
		rig_conn_ready_sizes(&c, 100, 10);
		rig_send(&c, &ops[0], 8);
		rig_send(&c, &ops[1], 8);
		rig_settle();
		double_complete_send(c.qp, 1, IBV_WC_RNR_RETRY_EXC_ERR);
		rig_settle();
		assert_done(ops[0].done, UV_ENOBUFS);
		rig_conn_gone(&c);
	}
	assert_int_equal(rig_stats().rnr_errors, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(failed__kth_unsignalled),
		RIG_TEST(failed__rnr_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
