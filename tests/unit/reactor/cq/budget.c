/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* budget.c - more completions than one batch, than the budget; and nobody starves */

#include "rig.h"

#define MANY 100

static struct rig_op reads[MANY], others[MANY];

static unsigned count_done(const struct rig_op *ops, unsigned n)
{
	unsigned done = 0;

	for (unsigned i = 0; i < n; i++)
		done += ops[i].done.times;
	return done;
}

static void reactor_with(unsigned budget, unsigned entries, int spin_us)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	opts.cq_budget = budget;
	opts.cq_entries = entries;
	opts.spin_us = spin_us;
	rig_reactor(&opts);
}

static void ready(struct rig_conn *c)
{
	rig_conn_ready_sizes(c, MANY, 10);
}

/* 16 KiB each: every one has a completion of its own */
static void send_many(struct rig_conn *c)
{
	for (unsigned i = 0; i < MANY; i++)
		rig_send(c, &reads[i], 16384);
	rig_settle();
	assert_int_equal(double_pending_sends(c->qp), MANY);
}

/* more than a batch of one call: all are taken in one turn, by one event */
static void budget__more_than_a_batch(void **state)
{
	struct rig_conn c;
	uint64_t events;

	(void)state;
	ready(&c);
	send_many(&c);
	events = rig_stats().cq_events;
	assert_int_equal(double_complete_send(c.qp, MANY, IBV_WC_SUCCESS), MANY);
	rig_glance();
	assert_int_equal(count_done(reads, MANY), MANY);
	assert_int_equal(rig_stats().cq_events, events + 1);
	assert_int_equal(rig_stats().completions, MANY);
}

/* a budget of 4 and 100 completions behind one event: turn by turn, no sleep, nothing left over */
static void budget__leftovers(void **state)
{
	struct rig_conn c;
	uint64_t events;

	(void)state;
	reactor_with(4, 0, -1);
	ready(&c);
	send_many(&c);
	events = rig_stats().cq_events;
	rig.sleeps = 0;
	assert_int_equal(double_complete_send(c.qp, MANY, IBV_WC_SUCCESS), MANY);
	assert_int_equal(double_cq_count(c.qp->send_cq), MANY);
	rig_glance();
	assert_int_equal(count_done(reads, MANY), 4);
	assert_false(rig_is_asleep()); /* never with leftovers */
	rig_settle();
	assert_int_equal(count_done(reads, MANY), MANY);
	assert_int_equal(rig_stats().cq_events, events + 1);
	assert_true(double_cq_is_armed(c.qp->send_cq));
}

/* the same with a budget that ends within a batch, and exactly at the end of what is there */
static void budget__exact(void **state)
{
	static const unsigned budgets[] = { 1, 31, 32, 33, MANY - 1, MANY, MANY + 1 };

	(void)state;
	for (unsigned i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
		struct rig_conn c;

		reactor_with(budgets[i], 0, -1);
		ready(&c);
		send_many(&c);
		double_complete_send(c.qp, MANY, IBV_WC_SUCCESS);
		RIG_UNTIL(count_done(reads, MANY) == MANY);
		rig_settle();
		assert_true(double_cq_is_armed(c.qp->send_cq));
	}
}

static struct rig_conn busy;
static unsigned busy_rounds;
static bool is_over;

static void go_on(rpma_uv_future_t *f, int status)
{
	busy_rounds++;
	if (is_over)
		return;
	assert_int_equal(status, 0);
	(void)rpma_uv_then(
		rpma_uv_read(busy.conn, (rpma_uv_op_t *)f, rig_local(0), rig_remote(0), 8, 0),
		go_on, NULL);
}

/* a connection that is always busy, on a queue of its own, does not starve another's */
static void starve(bool on_another_device)
{
	struct rpma_peer *own = rig.peer, *other = NULL;
	struct rig_conn quiet;

	assert_int_equal(rpma_peer_new(rig_another_device(), &other), 0);
	/* two queues: the first has no room for a second connection */
	for (unsigned busy_first = 0; busy_first < 2; busy_first++) {
		struct rig_conn *first = busy_first ? &busy : &quiet;
		struct rig_conn *second = busy_first ? &quiet : &busy;

		is_over = false;
		reactor_with(2, on_another_device ? 40 : 20, 50);
		double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
		rig_conn_ready_sizes(first, 10, 10);
		rig.peer = on_another_device ? other : own;
		double_route_over(on_another_device ? rig_another_device() : NULL);
		rig_conn_ready_sizes(second, 10, 10);
		rig.peer = own;
		double_route_over(NULL);
		assert_int_equal(rig_stats().cq_count, 2);
		double_qp_rd_atomic(busy.qp, 16);
		rig_send(&quiet, &others[0], 8);
		rig_settle();

		/* run: four reads that go on for ever, each completed where it is posted */
		double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH | DOUBLE_AUTO_DATA);
		for (unsigned i = 0; i < 4; i++)
			rpma_uv_then(rpma_uv_read(busy.conn, &reads[i].op, rig_local(0),
					     rig_remote(0), 8, 0),
				go_on, NULL);
		for (unsigned i = 0; i < 20; i++)
			rig_glance();
		busy_rounds = 0;
		double_complete_send(quiet.qp, 1, IBV_WC_SUCCESS);
		for (unsigned i = 0; i < 10 && others[0].done.times == 0; i++)
			rig_glance();

		/* verify */
		assert_done(others[0].done, 0);
		assert_true(busy_rounds > 0);
		/* it stops by failing */
		is_over = true;
		rig_close();
	}
	unit_peer_delete(other);
}

static void budget__nobody_starves(void **state)
{
	(void)state;
	starve(false);
}

static void budget__no_device_starves(void **state)
{
	(void)state;
	starve(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(budget__more_than_a_batch),
		RIG_TEST(budget__leftovers),
		RIG_TEST(budget__exact),
		RIG_TEST(budget__nobody_starves),
		RIG_TEST(budget__no_device_starves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
