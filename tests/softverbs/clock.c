/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* clock.c - the real clock, and the list of timers */

#include <assert.h>
#include <time.h>

#include "clock.h"
#include "progress.h"

static uint64_t real_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 * SV_MS + (uint64_t)ts.tv_nsec;
}

static const struct sv_clock real_clock = { .now_ns = real_now_ns };
const struct sv_clock *sv_clock = &real_clock;

static struct list timers = { &timers, &timers };

void sv_timer_init(struct sv_timer *timer, void (*fire)(struct sv_timer *timer))
{
	list_init(&timer->node);
	timer->at_ns = SV_NEVER;
	timer->fire = fire;
}

void sv_timer_set(struct sv_timer *timer, uint64_t at_ns)
{
	struct list *where = &timers;

	assert(timer->fire != NULL);
	list_remove(&timer->node);
	timer->at_ns = at_ns;
	while (where->prev != &timers &&
		container_of(where->prev, struct sv_timer, node)->at_ns > at_ns)
		where = where->prev;
	list_insert(where, &timer->node);
	if (timers.next == &timer->node)
		sv_progress_retime(at_ns);
}

void sv_timer_stop(struct sv_timer *timer)
{
	list_remove(&timer->node);
}

bool sv_timer_is_set(const struct sv_timer *timer)
{
	return !list_empty(&timer->node);
}

uint64_t sv_timers_next(void)
{
	return list_empty(&timers) ? SV_NEVER : list_first(&timers, struct sv_timer, node)->at_ns;
}

int sv_timers_run(void)
{
	uint64_t now;
	int n = 0;

	if (list_empty(&timers))
		return 0;
	now = sv_clock->now_ns();
	while (sv_timers_next() <= now) {
		struct sv_timer *timer = list_first(&timers, struct sv_timer, node);

		list_remove(&timer->node);
		timer->fire(timer);
		n++;
	}
	return n;
}

void sv_timers_forget(void)
{
	list_init(&timers);
}
