/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* sleep.c - a future that the clock completes */

#include "rig.h"

/* done when the time has passed and not before, with 0; others in the order of their times */
static void sleep__in_time(void **state)
{
	static const uint64_t ms[] = { 300, 100, 200 };
	struct rig_done done[3];
	rpma_uv_op_t ops[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		memset(&ops[i], 0xa5, sizeof(ops[i]));
		rig_watch(rpma_uv_sleep(&rig.reactor, &ops[i], ms[i]), &done[i]);
	}
	rig_advance(99);
	rig_settle();
	assert_int_equal(done[1].times, 0);
	rig_advance(1);
	rig_settle();
	assert_done(done[1], 0);
	assert_int_equal(done[1].result, 0);
	assert_int_equal(done[2].times, 0);
	RIG_UNTIL(done[0].times > 0);
	assert_done(done[2], 0);
	assert_true(done[2].at < done[0].at);
	assert_int_equal(rig_stats().holds, 0);
}

/* 0: the next turn, and not at once */
static void sleep__of_nothing(void **state)
{
	struct rig_done done;

	(void)state;
	rig_watch(rpma_uv_sleep(&rig.reactor, NULL, 0), &done);
	assert_int_equal(done.times, 0);
	assert_true(rig_turn() || done.times > 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	rig_slab_is(64);
}

/* it keeps the loop alive, which sleeps, once */
static void sleep__is_a_sleep(void **state)
{
	(void)state;
	rpma_uv_release(rpma_uv_sleep(&rig.reactor, NULL, 100));
	rig.sleeps = 0;
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	assert_true(rig.sleeps <= 2);
	assert_int_equal(rig_stats().slab_used, 0);
}

/* cancelled: at once; for ever: until then; twice: not again */
static void sleep__cancelled(void **state)
{
	static const uint64_t ms[] = { 0, 50, UINT64_MAX };
	struct rig_done done;
	rpma_uv_op_t op;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		rig_watch(rpma_uv_sleep(&rig.reactor, &op, ms[i]), &done);
		assert_int_equal(rpma_uv_cancel(&op.future, i == 2 ? RPMA_UV_FORCE : 0), 0);
		assert_int_equal(done.times, 0);
		assert_int_equal(rpma_uv_cancel(&op.future, 0), UV_EALREADY);
		RIG_UNTIL(done.times > 0);
		assert_done(done, UV_ECANCELED);
	}
	rig_advance(100);
	rig_settle();
	assert_done(done, UV_ECANCELED);
	/* it is not a promise */
	rig_watch(rpma_uv_sleep(&rig.reactor, &op, UINT64_MAX), &done);
	assert_int_equal(rpma_uv_resolve(&op.future, 0, 0), UV_EINVAL);
	rig_advance(UINT32_MAX);
	rig_settle();
	assert_int_equal(done.times, 0);
	assert_int_equal(rpma_uv_cancel(&op.future, 0), 0);
	RIG_UNTIL(done.times > 0);
}

/* the reactor closes: ECANCELED, also what is called after that */
static void sleep__closed_over(void **state)
{
	struct rig_done before, after;

	(void)state;
	rig_watch(rpma_uv_sleep(&rig.reactor, NULL, 1000), &before);
	rig_close_begin();
	rig_watch(rpma_uv_sleep(&rig.reactor, NULL, 1000), &after);
	rig_close();
	assert_done(before, UV_ECANCELED);
	assert_done(after, UV_ECANCELED);
}

/* no room: NULL */
static void sleep__out_of_memory(void **state)
{
	(void)state;
	unit_alloc_fail(1);
	assert_null(rpma_uv_sleep(&rig.reactor, NULL, 1));
	assert_false(uv_loop_alive(&rig.loop));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(sleep__in_time),
		RIG_TEST(sleep__of_nothing),
		RIG_TEST(sleep__is_a_sleep),
		RIG_TEST(sleep__cancelled),
		RIG_TEST(sleep__closed_over),
		RIG_TEST(sleep__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
