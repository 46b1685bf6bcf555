/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* post.c - work that is handed over to the loop's thread, by that thread and by others */

#include <pthread.h>

#include "reactor/reactor.h"
#include "rig.h"

#define MANY 2000

struct work {
	rpma_uv_work_t work;
	unsigned times;
	unsigned at;
	bool from_thread; /* of the loop */
};

static pthread_t loop_thread;
static unsigned work_count;

static void on_work(rpma_uv_work_t *w)
{
	struct work *work = w->data;

	assert_ptr_equal(w, &work->work);
	assert_ptr_equal(w->reactor, &rig.reactor);
	work->times++;
	work->at = rig_count();
	work->from_thread = pthread_equal(pthread_self(), loop_thread);
	work_count++;
}

static void post(struct work *work)
{
	memset(work, 0xa5, sizeof(*work)); /* it need not be initialised */
	work->times = 0;
	work->work.data = work;
	assert_int_equal(rpma_uv_reactor_post(&rig.reactor, &work->work, on_work), 0);
}

static int setup(void **state)
{
	loop_thread = pthread_self();
	work_count = 0;
	return rig_setup(state);
}

#define POST_TEST(function) cmocka_unit_test_setup_teardown(function, setup, rig_teardown)

/* NULL: refused */
static void post__refused(void **state)
{
	struct work work;

	(void)state;
	assert_int_equal(rpma_uv_reactor_post(NULL, &work.work, on_work), UV_EINVAL);
	assert_int_equal(rpma_uv_reactor_post(&rig.reactor, NULL, on_work), UV_EINVAL);
	assert_int_equal(rpma_uv_reactor_post(&rig.reactor, &work.work, NULL), UV_EINVAL);
	rig_settle();
	assert_int_equal(rig_stats().works, 0);
}

/* in order, once, in a phase of the loop and not within the call; the loop is woken */
static void post__in_order(void **state)
{
	struct work works[10];

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		post(&works[i]);
	assert_int_equal(work_count, 0);
	rig_settle();
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(works[i].times, 1);
		assert_true(i == 0 || works[i - 1].at < works[i].at);
	}
	assert_int_equal(rig_stats().works, 10);
	assert_int_equal(rig_stats().holds, 0);
}

static uv_prepare_t late;
static struct work late_work;

static uv_prepare_t *impl_prepare(void)
{
	struct rpma_uv__reactor *r = rig.reactor.impl;

	return &r->prepare;
}

static void post_late(uv_prepare_t *prepare)
{
	uv_prepare_stop(prepare);
	post(&late_work);
}

/* when the loop is just going to sleep, behind the reactor's own look: it does not sleep */
static void post__before_the_poll(void **state)
{
	(void)state;
	uv_prepare_init(&rig.loop, &late);
	rpma_uv_reactor_ref(&rig.reactor);
	rig_settle();
	for (unsigned i = 0; i < 2; i++) {
		uv_prepare_start(&late, post_late);
		if (i == 1) { /* the last to be started is the first to be called */
			uv_prepare_stop(impl_prepare());
			uv_prepare_start(impl_prepare(), impl_prepare()->prepare_cb);
		}
		assert_true(rig_turn());
		assert_int_equal(late_work.times, 1);
	}
	rpma_uv_reactor_unref(&rig.reactor);
	uv_close((uv_handle_t *)&late, NULL);
	(void)rig_turn();
}

static unsigned again_left;

static void again(rpma_uv_work_t *w)
{
	if (--again_left > 0)
		assert_int_equal(rpma_uv_reactor_post(w->reactor, w, again), 0);
}

/* work may be posted again in its callback; then it runs in a later phase */
static void post__again(void **state)
{
	rpma_uv_work_t w;

	(void)state;
	again_left = 5;
	rpma_uv_reactor_ref(&rig.reactor);
	assert_int_equal(rpma_uv_reactor_post(&rig.reactor, &w, again), 0);
	for (unsigned left = 4; left > 0; left--) {
		rig_glance();
		assert_int_equal(again_left, left);
	}
	rig_settle();
	assert_int_equal(again_left, 0);
	assert_int_equal(rig_stats().works, 5);
	/* and keeps the loop alive all the time */
	again_left = 5;
	assert_int_equal(rpma_uv_reactor_post(&rig.reactor, &w, again), 0);
	rig_glance();
	rpma_uv_reactor_unref(&rig.reactor);
	assert_int_equal(rig_stats().holds, 1);
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(again_left, 0);
	assert_int_equal(rig_stats().holds, 0);
}

static int wait_status;

static void wait_in_work(rpma_uv_work_t *w)
{
	wait_status = rpma_uv_wait(w->data, UINT64_MAX, NULL);
	rpma_uv_resolve(w->data, 0, 3);
}

/* it is a callback of this library: waiting is refused, everything else allowed */
static void post__wait_in_callback(void **state)
{
	rpma_uv_op_t op;
	rpma_uv_work_t w = { .data = rpma_uv_promise(&rig.reactor, &op) };
	int64_t result = 0;

	(void)state;
	assert_int_equal(rpma_uv_reactor_post(&rig.reactor, &w, wait_in_work), 0);
	assert_int_equal(rpma_uv_wait(&op.future, UINT64_MAX, &result), 0);
	assert_int_equal(result, 3);
	assert_int_equal(wait_status, UV_EBUSY);
}

static void hold_nothing(rpma_uv_work_t *w)
{
	(void)w;
	/* what was taken with it has not run: the loop has to stay for that */
	assert_true(rig_stats().holds > 0);
}

/* what the loop has taken over keeps it alive until it has run, turn by turn within the budget */
static void post__budget(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	static struct work works[10];
	rpma_uv_work_t last;

	(void)state;
	opts.callback_budget = 4;
	rig_reactor(&opts);
	for (unsigned i = 0; i < 10; i++)
		post(&works[i]);
	assert_int_equal(rpma_uv_reactor_post(&rig.reactor, &last, hold_nothing), 0);
	rpma_uv_reactor_ref(&rig.reactor);
	rig_glance();
	rpma_uv_reactor_unref(&rig.reactor);
	assert_int_equal(work_count, 4);
	assert_int_equal(rig_stats().budgets_spent, 1);
	assert_int_equal(rig_stats().holds, 1);
	assert_false(rig_is_asleep());
	/* one more, behind those that wait */
	post(&late_work);
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(work_count, 11);
	assert_true(works[9].at < late_work.at);
	assert_int_equal(rig_stats().holds, 0);
	assert_int_equal(rig_stats().works, 12);
}

struct poster {
	pthread_t thread;
	struct work works[MANY];
};

static struct poster posters[4];

static void *post_many(void *arg)
{
	struct poster *poster = arg;

	for (unsigned i = 0; i < MANY; i++)
		post(&poster->works[i]);
	return NULL;
}

static void posters_start(void)
{
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&posters[i].thread, NULL, post_many, &posters[i]), 0);
}

static void posters_join(void)
{
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_join(posters[i].thread, NULL), 0);
}

static void posters_verify(void)
{
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned k = 0; k < MANY; k++) {
			const struct work *work = &posters[i].works[k];

			assert_int_equal(work->times, 1);
			assert_true(work->from_thread);
			assert_true(k == 0 || work[-1].at < work->at);
		}
	}
}

/* many threads at once, and a loop that sleeps: each work once, in its thread's order */
static void post__by_threads(void **state)
{
	(void)state;
	rpma_uv_reactor_ref(&rig.reactor);
	rig.is_patient = true;
	posters_start();
	while (work_count < 4 * MANY)
		assert_true(rig_turn());
	posters_join();
	rig.is_patient = false;
	posters_verify();
	rpma_uv_reactor_unref(&rig.reactor);
	assert_int_equal(rig_stats().works, 4 * MANY);
	assert_int_equal(rig_stats().holds, 0);
}

/* posted before the close, run before its callback, though no turn of the loop has come between */
static void post__then_close(void **state)
{
	(void)state;
	posters_start();
	posters_join();
	rig_close();
	assert_int_equal(work_count, 4 * MANY);
	posters_verify();
	assert_true(posters[3].works[MANY - 1].at < rig.closed_at);
}

static void close_it(rpma_uv_work_t *w)
{
	(void)w;
	rig_close_begin();
}

static void *post_the_last(void *arg)
{
	assert_int_equal(rpma_uv_reactor_post(&rig.reactor, arg, close_it), 0);
	return NULL;
}

/* the callback of the last work closes the reactor, whether its post has returned or not */
static void post__close_in_callback(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		rpma_uv_work_t last;
		pthread_t thread;

		rpma_uv_reactor_ref(&rig.reactor);
		rig.is_patient = true;
		assert_int_equal(pthread_create(&thread, NULL, post_the_last, &last), 0);
		RIG_UNTIL(rig.is_closed);
		rig.is_patient = false;
		assert_int_equal(pthread_join(thread, NULL), 0);
		rig_reactor(&opts);
	}
}

static struct rpma_uv__reactor *held_up;
static unsigned held_up_turns;
static struct rig_done refused;

static void let_go(uv_prepare_t *prepare)
{
	assert_false(rig.is_closed);
	assert_int_equal(rig.sleeps, 0); /* nobody would wake it */
	if (++held_up_turns == 5) /* meanwhile it is as ever */
		rig_watch(rpma_uv_promise(&rig.reactor, NULL), &refused);
	if (held_up_turns < 10)
		return;
	atomic_fetch_sub(&held_up->works.posting, 1);
	uv_close((uv_handle_t *)prepare, NULL);
}

/* a post that is held up between the push and its return: the closing waits for it, in its turns */
static void post__held_up_while_closing(void **state)
{
	(void)state;
	held_up = rig.reactor.impl;
	held_up_turns = 0;
	atomic_fetch_add(&held_up->works.posting, 1);
	rig_close_begin();
	uv_prepare_init(&rig.loop, &late);
	uv_prepare_start(&late, let_go);
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	assert_true(rig.is_closed);
	assert_int_equal(held_up_turns, 10);
	assert_done(refused, UV_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		POST_TEST(post__refused),
		POST_TEST(post__in_order),
		POST_TEST(post__before_the_poll),
		POST_TEST(post__again),
		POST_TEST(post__wait_in_callback),
		POST_TEST(post__budget),
		POST_TEST(post__by_threads),
		POST_TEST(post__then_close),
		POST_TEST(post__close_in_callback),
		POST_TEST(post__held_up_while_closing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
