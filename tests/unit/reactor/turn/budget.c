/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* budget.c - a flood of ready futures: so many in a phase, in their order, and others in between */

#include "rig.h"

#define MANY 3000

static struct rig_op flood[MANY];

static void flood_new(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		rig_watch(rpma_uv_promise(&rig.reactor, &flood[i].op), &flood[i].done);
}

static void flood_resolve(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(rpma_uv_resolve(&flood[i].op.future, 0, i), 0);
}

static unsigned flood_done(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MANY; i++)
		n += flood[i].done.times;
	return n;
}

static void with_budget(unsigned budget)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	opts.callback_budget = budget;
	rig_reactor(&opts);
	memset(flood, 0, sizeof(flood));
}

/* the default: 1024 in each of the two phases of a turn; what is left keeps the loop from sleeping */
static void budget__default(void **state)
{
	(void)state;
	with_budget(0);
	flood_new(MANY);
	flood_resolve(MANY);
	rig.sleeps = 0;
	rig_glance();
	assert_int_equal(flood_done(), 2048);
	assert_int_equal(rig_stats().budgets_spent, 2);
	assert_false(rig_is_asleep());
	rig_glance();
	assert_int_equal(flood_done(), MANY);
	assert_int_equal(rig_stats().budgets_spent, 2);
	assert_int_equal(rig.sleeps, 0);
	assert_int_equal(rig_stats().holds, 0);
	for (unsigned i = 1; i < MANY; i++)
		assert_true(flood[i - 1].done.at < flood[i].done.at);
}

/* of each size, one that ends exactly with the flood too: all, once, in order */
static void budget__exact(void **state)
{
	static const unsigned budgets[] = { 1, 2, 99, 100, 101 };

	(void)state;
	for (unsigned i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
		with_budget(budgets[i]);
		flood_new(100);
		flood_resolve(100);
		RIG_UNTIL(flood_done() == 100);
		for (unsigned k = 1; k < 100; k++) {
			assert_int_equal(flood[k].done.times, 1);
			assert_true(flood[k - 1].done.at < flood[k].done.at);
		}
		assert_int_equal(rig_stats().holds, 0);
	}
}

static unsigned done_at_timer;

static void timer_fired(uv_timer_t *timer)
{
	done_at_timer = flood_done();
	uv_close((uv_handle_t *)timer, NULL);
}

/* a timer has its turn before the flood is over */
static void budget__timer_in_between(void **state)
{
	static uv_timer_t timer;

	(void)state;
	with_budget(10);
	flood_new(1000);
	flood_resolve(1000);
	uv_timer_init(&rig.loop, &timer);
	done_at_timer = MANY;
	rig_glance();
	uv_timer_start(&timer, timer_fired, 0, 0);
	RIG_UNTIL(flood_done() == 1000);
	assert_true(done_at_timer <= 40);
}

static struct rig_done behind;

static void make_more(rpma_uv_future_t *f, int status)
{
	(void)status;
	/* ready within the phase: behind all that was ready before */
	rig_watch(rpma_uv_promise(f->reactor, NULL), &behind);
	rpma_uv_resolve((rpma_uv_future_t *)f->data, 0, 0);
}

/* what becomes ready meanwhile comes behind what was left over */
static void budget__order_of_leftovers(void **state)
{
	rpma_uv_op_t first, late_op;
	rpma_uv_future_t *late;
	struct rig_done late_done;

	(void)state;
	with_budget(2);
	late = rig_watch(rpma_uv_promise(&rig.reactor, &late_op), &late_done);
	rpma_uv_then(rpma_uv_promise(&rig.reactor, &first), make_more, late);
	flood_new(10);
	rpma_uv_resolve(&first.future, 0, 0);
	flood_resolve(10);
	RIG_UNTIL(late_done.times > 0);
	for (unsigned i = 0; i < 10; i++)
		assert_true(flood[i].done.at < late_done.at);
	rig_close(); /* leftovers or not: all end before */
	assert_done(behind, UV_ECANCELED);
}

/* the reactor closes over a flood: each has ended by then, budget or not */
static void budget__closed_over(void **state)
{
	(void)state;
	with_budget(1);
	flood_new(500);
	flood_resolve(200);
	rig_close();
	assert_int_equal(flood_done(), 500);
	for (unsigned i = 0; i < 500; i++) {
		assert_int_equal(flood[i].done.status, i < 200 ? 0 : UV_ECANCELED);
		assert_true(flood[i].done.at < rig.closed_at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(budget__default),
		RIG_TEST(budget__exact),
		RIG_TEST(budget__timer_in_between),
		RIG_TEST(budget__order_of_leftovers),
		RIG_TEST(budget__closed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
