/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* heap.c - deadlines expire in their order, whatever was set, moved and cleared before */

#include <stdlib.h>

#include "reactor/reactor.h"
#include "rig.h"

#define N 1000

struct watched {
	struct rpma_uv__deadline deadline;
	uint64_t at_ms; /* the model: UINT64_MAX is not set */
	unsigned times;
};

static struct watched all[N];
static uint64_t last_ms;
static unsigned expired_count;

static struct rpma_uv__reactor *impl(void)
{
	return rig.reactor.impl;
}

static uint64_t now_ms(void)
{
	return uv_hrtime() / 1000000;
}

static void expired(struct rpma_uv__deadline *d)
{
	struct watched *w = rpma_uv__container_of(d, struct watched, deadline);

	assert_false(rpma_uv__deadline_is_set(d));
	assert_int_not_equal(w->at_ms, UINT64_MAX);
	assert_true(w->at_ms >= last_ms); /* in order */
	assert_true(w->at_ms <= now_ms()); /* and never too early */
	last_ms = w->at_ms;
	w->at_ms = UINT64_MAX;
	w->times++;
	expired_count++;
}

static void init(void)
{
	memset(all, 0, sizeof(all));
	for (unsigned i = 0; i < N; i++) {
		rpma_uv__deadline_init(&all[i].deadline, expired);
		all[i].at_ms = UINT64_MAX;
	}
	last_ms = 0;
	expired_count = 0;
}

static void set(struct watched *w, uint64_t timeout_ms)
{
	w->at_ms = now_ms() + timeout_ms;
	rpma_uv__deadline_set(impl(), &w->deadline, timeout_ms);
	assert_true(rpma_uv__deadline_is_set(&w->deadline));
}

static void clear(struct watched *w)
{
	w->at_ms = UINT64_MAX;
	rpma_uv__deadline_clear(impl(), &w->deadline);
	assert_false(rpma_uv__deadline_is_set(&w->deadline));
}

static unsigned count_set(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++)
		n += all[i].at_ms != UINT64_MAX;
	return n;
}

/* random sets, moves and clears against a model: all expire, in order, once for each setting */
static void heap__random_against_model(void **state)
{
	unsigned set_at_end;

	(void)state;
	srand(7204);
	init();
	uv_ref((uv_handle_t *)&rig.anchor);
	for (unsigned step = 0; step < 20 * N; step++) {
		struct watched *w = &all[rand() % N];

		if (rand() % 4 == 0)
			clear(w);
		else
			set(w, (uint64_t)(rand() % 5000));
		if (step % 97 == 0) {
			/* everything that is due by now, and nothing else */
			rig_advance((uint64_t)(rand() % 20));
			rig_settle();
			for (unsigned i = 0; i < N; i++)
				assert_true(all[i].at_ms > now_ms());
			last_ms = 0;
		}
	}
	set_at_end = count_set();
	assert_true(set_at_end > N / 2);
	expired_count = 0;
	while (expired_count < set_at_end)
		assert_true(rig_turn());
	assert_int_equal(count_set(), 0);
	assert_null(impl()->deadlines);
	uv_unref((uv_handle_t *)&rig.anchor);
}

/* one that is not set stays so, and so does its neighbour */
static void heap__clear_of_one_not_set(void **state)
{
	(void)state;
	init();
	clear(&all[0]);
	set(&all[1], 10);
	clear(&all[0]);
	rig_advance(10);
	rig_settle();
	assert_int_equal(all[0].times, 0);
	assert_int_equal(all[1].times, 1);
	clear(&all[1]);
}

/* many at the same time: each once */
static void heap__equal_times(void **state)
{
	(void)state;
	init();
	for (unsigned i = 0; i < 100; i++)
		set(&all[i], 5);
	clear(&all[0]);
	clear(&all[50]);
	rig_advance(5);
	rig_settle();
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(all[i].times, i != 0 && i != 50);
}

/* the sun never sets: beyond what a clock can show */
static void heap__for_ever(void **state)
{
	(void)state;
	init();
	rpma_uv__deadline_set(impl(), &all[0].deadline, UINT64_MAX);
	set(&all[1], 1);
	rig_advance(1000000000);
	rig_settle();
	assert_int_equal(all[1].times, 1);
	assert_int_equal(all[0].times, 0);
	clear(&all[0]);
}

static unsigned again_times;

static void expired_again(struct rpma_uv__deadline *d)
{
	if (++again_times < 5)
		rpma_uv__deadline_set(impl(), d, 3);
	/* and one that is due at once */
	if (again_times == 1)
		set(&all[1], 0);
	/* and the other way round: what is due already may be cleared */
	clear(&all[2]);
}

/* set and cleared from within expired() */
static void heap__set_within_expired(void **state)
{
	(void)state;
	init();
	again_times = 0;
	rpma_uv__deadline_init(&all[0].deadline, expired_again);
	rpma_uv__deadline_set(impl(), &all[0].deadline, 3);
	set(&all[2], 4);
	rig_advance(4);
	for (unsigned i = 1; i <= 5; i++) {
		rig_settle();
		assert_int_equal(again_times, i);
		rig_advance(3);
	}
	rig_settle();
	assert_int_equal(again_times, 5);
	assert_int_equal(all[1].times, 1);
	assert_int_equal(all[2].times, 0);
}

static uv_prepare_t watcher;

static void stop_when_done(uv_prepare_t *prepare)
{
	(void)prepare;
	if (expired_count == 2)
		uv_stop(&rig.loop);
}

/* the loop sleeps exactly until the earliest, in one run of it */
static void heap__wakes_a_running_loop(void **state)
{
	(void)state;
	init();
	uv_ref((uv_handle_t *)&rig.anchor);
	uv_prepare_init(&rig.loop, &watcher);
	uv_prepare_start(&watcher, stop_when_done);
	set(&all[0], 200);
	set(&all[1], 100);
	set(&all[2], 150);
	clear(&all[2]);
	rig.sleeps = 0;
	uv_run(&rig.loop, UV_RUN_DEFAULT);
	assert_int_equal(all[0].times, 1);
	assert_int_equal(all[1].times, 1);
	assert_true(rig.sleeps <= 4); /* one a deadline, not a poll after another */
	uv_close((uv_handle_t *)&watcher, NULL);
	uv_unref((uv_handle_t *)&rig.anchor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(heap__random_against_model),
		RIG_TEST(heap__clear_of_one_not_set),
		RIG_TEST(heap__equal_times),
		RIG_TEST(heap__for_ever),
		RIG_TEST(heap__set_within_expired),
		RIG_TEST(heap__wakes_a_running_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
