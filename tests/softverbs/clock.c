/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * clock.c - the real clock, and the timers
 *
 * Timers are a pairing heap whose root is the earliest. Each knows the pointer that points to it (its
 * link), so it can be cut out from anywhere; nothing is allocated, and ten thousand of them cost
 * little more than ten.
 */

#include <assert.h>
#include <stddef.h>
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

static struct sv_timer *timers;
static uint64_t orders; /* given out so far */

/* of two that are due at the same time, the one that was set first */
static bool is_before(const struct sv_timer *a, const struct sv_timer *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void place(struct sv_timer **link, struct sv_timer *timer)
{
	*link = timer;
	if (timer != NULL)
		timer->link = link;
}

/* joins two roots; either may be NULL */
static struct sv_timer *meld(struct sv_timer *a, struct sv_timer *b)
{
	if (a == NULL)
		return b;
	if (b == NULL)
		return a;
	if (is_before(b, a)) {
		struct sv_timer *swap = a;

		a = b;
		b = swap;
	}
	place(&b->next, a->child);
	place(&a->child, b);
	a->next = NULL;
	return a;
}

/* one heap of a list of siblings: pairs from the left, then all of them from the right */
static struct sv_timer *meld_siblings(struct sv_timer *list)
{
	struct sv_timer *pairs = NULL;
	struct sv_timer *root = NULL;

	while (list != NULL) {
		struct sv_timer *a = list;
		struct sv_timer *b = a->next;

		list = b != NULL ? b->next : NULL;
		a->next = NULL;
		if (b != NULL)
			b->next = NULL;
		a = meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs != NULL) {
		struct sv_timer *a = pairs;

		pairs = a->next;
		a->next = NULL;
		root = meld(root, a);
	}
	return root;
}

void sv_timer_init(struct sv_timer *timer, void (*fire)(struct sv_timer *timer))
{
	*timer = (struct sv_timer){ .at_ns = SV_NEVER, .fire = fire };
}

void sv_timer_set(struct sv_timer *timer, uint64_t at_ns)
{
	assert(timer->fire != NULL);
	sv_timer_stop(timer);
	timer->at_ns = at_ns;
	timer->order = orders++;
	place(&timers, meld(timers, timer));
	if (timers == timer)
		sv_progress_retime(at_ns);
}

void sv_timer_stop(struct sv_timer *timer)
{
	struct sv_timer *children;

	if (!sv_timer_is_set(timer))
		return;
	children = meld_siblings(timer->child);
	place(timer->link, timer->next);
	timer->child = NULL;
	timer->next = NULL;
	timer->link = NULL;
	place(&timers, meld(timers, children));
}

bool sv_timer_is_set(const struct sv_timer *timer)
{
	return timer->link != NULL;
}

uint64_t sv_timers_next(void)
{
	return timers == NULL ? SV_NEVER : timers->at_ns;
}

void sv_timers_fire_first(void)
{
	struct sv_timer *timer = timers;

	assert(timer != NULL);
	sv_timer_stop(timer);
	timer->fire(timer);
}

int sv_timers_run(void)
{
	uint64_t now;
	int n = 0;

	if (timers == NULL)
		return 0;
	now = sv_clock->now_ns();
	for (; sv_timers_next() <= now; n++)
		sv_timers_fire_first();
	return n;
}

void sv_timers_forget(void)
{
	while (timers != NULL)
		sv_timer_stop(timers);
}
