/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * deadline.c - a pairing heap of deadlines under one timer of the loop
 *
 * The timer only notes that something is due; it expires in the check phase, after the poll, so
 * that an answer which has arrived in time is never beaten by a loop that was late.
 *
 * The root is the earliest. Every node knows the pointer that points to it (its link), so that it
 * can be cut out from anywhere: setting and clearing cost O(1) and O(log n) amortised, and nothing
 * is allocated.
 */

#include <assert.h>
#include <stddef.h>

#include "deadline.h"
#include "reactor.h"

/* put `next` into the place `*link` */
static void place(struct rpma_uv__deadline **link, struct rpma_uv__deadline *d)
{
	*link = d;
	if (d != NULL)
		d->link = link;
}

/* join two roots; each of them may be NULL */
static struct rpma_uv__deadline *meld(struct rpma_uv__deadline *a, struct rpma_uv__deadline *b)
{
	if (a == NULL)
		return b;
	if (b == NULL)
		return a;
	if (b->at_ms < a->at_ms) {
		struct rpma_uv__deadline *swap = a;

		a = b;
		b = swap;
	}
	place(&b->next, a->child);
	place(&a->child, b);
	a->next = NULL;
	return a;
}

/* make one heap of a list of siblings: pairs from left to right, then all from right to left */
static struct rpma_uv__deadline *meld_siblings(struct rpma_uv__deadline *list)
{
	struct rpma_uv__deadline *pairs = NULL, *root = NULL;

	while (list != NULL) {
		struct rpma_uv__deadline *a = list, *b = a->next;

		list = b != NULL ? b->next : NULL;
		a->next = NULL;
		if (b != NULL)
			b->next = NULL;
		a = meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs != NULL) {
		struct rpma_uv__deadline *a = pairs;

		pairs = a->next;
		a->next = NULL;
		root = meld(root, a);
	}
	return root;
}

static void timer_fired(uv_timer_t *timer);

/* the timer follows the root */
static void timer_update(struct rpma_uv__reactor *r)
{
	const struct rpma_uv__deadline *first = r->deadlines;
	uint64_t now = uv_now(r->loop);

	if (r->closing == RPMA_UV__CLOSING_HANDLES)
		return; /* the timer is closed already */
	if (first == NULL)
		uv_timer_stop(&r->timer);
	else
		uv_timer_start(
			&r->timer, timer_fired, first->at_ms > now ? first->at_ms - now : 0, 0);
}

/* not yet: what has arrived by now wins, and the poll of this turn, which shall not sleep, tells */
static void timer_fired(uv_timer_t *timer)
{
	struct rpma_uv__reactor *r = timer->data;

	r->deadlines_due = true;
	rpma_uv__reactor_kick(r);
}

void rpma_uv__deadline_init(
	struct rpma_uv__deadline *d, void (*expired)(struct rpma_uv__deadline *))
{
	*d = (struct rpma_uv__deadline){ .expired = expired };
}

static void cut(struct rpma_uv__reactor *r, struct rpma_uv__deadline *d)
{
	struct rpma_uv__deadline *children = meld_siblings(d->child);

	place(d->link, d->next);
	d->child = NULL;
	d->next = NULL;
	d->link = NULL;
	place(&r->deadlines, meld(r->deadlines, children));
}

void rpma_uv__deadline_clear(struct rpma_uv__reactor *r, struct rpma_uv__deadline *d)
{
	bool first = r->deadlines == d;

	if (!rpma_uv__deadline_is_set(d))
		return;
	cut(r, d);
	if (first)
		timer_update(r);
}

void rpma_uv__deadline_set(
	struct rpma_uv__reactor *r, struct rpma_uv__deadline *d, uint64_t timeout_ms)
{
	/* the clock of uv_now(), but not as of the start of a turn that may have been a long one */
	uint64_t now = uv_hrtime() / 1000000;

	assert(d->expired != NULL);
	if (rpma_uv__deadline_is_set(d))
		cut(r, d);
	d->at_ms = timeout_ms < UINT64_MAX - now ? now + timeout_ms : UINT64_MAX;
	place(&r->deadlines, meld(r->deadlines, d));
	timer_update(r);
}

void rpma_uv__deadlines_expire(struct rpma_uv__reactor *r)
{
	uint64_t now = uv_now(r->loop);
	struct rpma_uv__deadline *d;

	if (!r->deadlines_due)
		return;
	r->deadlines_due = false;
	while ((d = r->deadlines) != NULL && d->at_ms <= now) {
		cut(r, d);
		d->expired(d);
	}
	timer_update(r);
}
