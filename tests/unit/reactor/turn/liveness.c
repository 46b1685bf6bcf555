/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * liveness.c - the loop runs while work is outstanding, sleeps meanwhile, and then ends by itself
 */

#include "rig.h"

static void expect_end(void)
{
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
}

/* nothing to do: the loop ends at once */
static void liveness__idle(void **state)
{
	(void)state;
	expect_end();
	assert_int_equal(rig.sleeps, 0);
}

/* a READY connection alone is not work; an operation on it is, until it is done */
static void liveness__connection(void **state)
{
	struct rig_conn c;
	struct rig_op read;

	(void)state;
	rig_conn_ready(&c, NULL);
	expect_end();
	rig_read(&c, &read, 8);
	rig_settle();
	assert_true(uv_loop_alive(&rig.loop));
	assert_true(rig_is_asleep());
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	expect_end();
	assert_done(read.done, 0);
}

/* posted receives and a wait for the end are work */
static void liveness__receive_and_end(void **state)
{
	struct rig_conn c;
	struct rig_op recv;
	struct rig_done end;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_recv(&c, &recv, 8);
	rig_settle();
	assert_true(uv_loop_alive(&rig.loop));
	double_deliver(c.qp, "hello", 6, NULL);
	expect_end();
	assert_done(recv.done, 0);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	assert_true(uv_loop_alive(&rig.loop));
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_end();
	assert_done(end, UV_ECONNRESET);
}

static void no_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	(void)ep;
	(void)req;
	(void)data;
	fail();
}

/* an open listener is work, and so is a close under way */
static void liveness__listener_and_close(void **state)
{
	rpma_uv_ep_t *ep;
	struct rig_conn c;

	(void)state;
	assert_int_equal(rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, no_request,
				 NULL, &ep),
		0);
	rig_settle();
	assert_true(uv_loop_alive(&rig.loop));
	rpma_uv_ep_close(ep, NULL, NULL);
	expect_end();
	rig_conn_ready(&c, NULL);
	rig_conn_close(&c);
	expect_end();
	assert_int_equal(c.closed, 1);
}

static uv_prepare_t turns;
static unsigned turn_count;

static void count_turn(uv_prepare_t *prepare)
{
	(void)prepare;
	turn_count++;
}

/* with work that waits for the world the loop sleeps: a few turns, no polling */
static void liveness__no_busy_loop(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn c;
	struct rig_op read, recv;
	struct rig_done done;

	(void)state;
	opts.spin_us = 0; /* with the default spinning, which ends */
	rig_reactor(&opts);
	uv_prepare_init(&rig.loop, &turns);
	uv_prepare_start(&turns, count_turn);
	uv_unref((uv_handle_t *)&turns);
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_recv(&c, &recv, 8);
	turn_count = 0;
	rig.sleeps = 0;
	/* a second of nothing */
	assert_int_equal(
		rpma_uv_wait(rpma_uv_promise(&rig.reactor, NULL), 1000, NULL), RPMA_UV_PENDING);
	assert_true(turn_count <= 6);
	assert_true(rig.sleeps <= 2);
	rig_watch(rpma_uv_disconnect(c.conn, NULL), &done);
	rig_close();
	uv_close((uv_handle_t *)&turns, NULL);
}

/*
 * after a completion, with more to come, it polls instead of sleeping: until the window has passed
 */
static void liveness__spins_for_a_while(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn c;
	static struct rig_op read[2];
	uint64_t spins;

	(void)state;
	opts.spin_us = 2000;
	rig_reactor(&opts);
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read[0], 8);
	rig_read(&c, &read[1], 8);
	rig_settle(); /* nothing has completed yet: no reason to spin */
	assert_int_equal(rig_stats().spins, 0);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(read[0].done.times > 0);

	/* spinning: each turn looks without sleeping, and the queue is not armed */
	rig.sleeps = 0;
	for (int i = 0; i < 5; i++)
		assert_true(rig_turn());
	assert_int_equal(rig.sleeps, 0);
	spins = rig_stats().spins;
	assert_true(spins >= 5);
	assert_false(double_cq_is_armed(c.qp->send_cq));

	/* what completes is found without an event */
	rig_advance(1);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	spins = rig_stats().cq_events;
	RIG_UNTIL(read[1].done.times > 0);
	assert_int_equal(rig_stats().cq_events, spins);
	/* nothing is left to come: it sleeps at once */
	rig_settle();
	assert_true(double_cq_is_armed(c.qp->send_cq));
	/* nor is it for what is posted when the window has passed */
	spins = rig_stats().spins;
	rig_advance(3);
	rig_read(&c, &read[0], 8);
	rig_settle();
	assert_int_equal(rig_stats().spins, spins);
	assert_true(double_cq_is_armed(c.qp->send_cq));
	rig_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(liveness__idle),
		RIG_TEST(liveness__connection),
		RIG_TEST(liveness__receive_and_end),
		RIG_TEST(liveness__listener_and_close),
		RIG_TEST(liveness__no_busy_loop),
		RIG_TEST(liveness__spins_for_a_while),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
