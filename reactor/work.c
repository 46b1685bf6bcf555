/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * work.c - work that other threads hand over
 *
 *   any thread                        the loop's thread, check phase
 *   post(): push on `posted`, wake    take all of `posted` at once, turn it round, run it; and at the
 *                                     end take what has come meanwhile, for the next turn
 *
 * The list is a stack that is only pushed to and taken as a whole, so that neither side needs a
 * lock, and a node that comes back cannot be mistaken for one that never left. Turned round it is
 * in the order of the pushes, and so in the order of the posts of each thread.
 *
 * No wake-up is lost: the push comes first and the wake-up second, on libuv's eventfd, so a loop
 * that did not find the work before it polls finds the poll ready.
 *
 * Nor is anything touched too late: work may be run, and its callback may close the reactor, before
 * the post that brought it has returned. `posting` counts those; the reactor's memory outlives them.
 *
 * What the loop has not taken yet cannot keep it alive: uv_run() asks for that in its own thread and
 * by means that only that thread may use. So each turn takes the list over once more at its end, and
 * what it finds there is a hold; that covers all that callbacks of this turn have posted. Who posts
 * from another thread, to a loop that may run out of other work meanwhile, has a rpma_uv_reactor_ref().
 */

#include <assert.h>

#include "reactor.h"
#include "work.h"

/* the check phase, which follows, looks */
static void woken(uv_async_t *wake)
{
	(void)wake;
}

int rpma_uv__works_init(struct rpma_uv__reactor *r)
{
	struct rpma_uv__works *works = &r->works;
	int ret = uv_async_init(r->loop, &works->wake, woken);

	if (ret)
		return ret;
	works->wake.data = r;
	uv_unref((uv_handle_t *)&works->wake);
	atomic_init(&works->posted, NULL);
	atomic_init(&works->posting, 0);
	return 0;
}

int rpma_uv_reactor_post(rpma_uv_reactor_t *reactor, rpma_uv_work_t *w, rpma_uv_work_cb cb)
{
	struct rpma_uv__works *works;
	rpma_uv_work_t *top;

	if (reactor == NULL || w == NULL || cb == NULL)
		return UV_EINVAL;
	works = &reactor->impl->works;
	w->reactor = reactor;
	w->u_cb = cb;
	/* seen by whoever sees the work */
	atomic_fetch_add_explicit(&works->posting, 1, memory_order_relaxed);
	top = atomic_load_explicit(&works->posted, memory_order_relaxed);
	do {
		w->u_next = top;
	} while (!atomic_compare_exchange_weak_explicit(
		&works->posted, &top, w, memory_order_release, memory_order_relaxed));
	(void)uv_async_send(&works->wake);
	atomic_fetch_sub_explicit(&works->posting, 1, memory_order_release);
	return 0;
}

bool rpma_uv__works_are_posting(struct rpma_uv__reactor *r)
{
	return atomic_load_explicit(&r->works.posting, memory_order_acquire) > 0;
}

bool rpma_uv__works_are_left(const struct rpma_uv__reactor *r)
{
	return r->works.first != NULL;
}

void rpma_uv__works_take(struct rpma_uv__reactor *r)
{
	struct rpma_uv__works *works = &r->works;
	rpma_uv_work_t *w, *last, *first = NULL;

	if (atomic_load_explicit(&works->posted, memory_order_relaxed) == NULL)
		return;
	w = last = atomic_exchange_explicit(&works->posted, NULL, memory_order_acquire);
	while (w != NULL) {
		rpma_uv_work_t *next = w->u_next;

		w->u_next = first;
		first = w;
		w = next;
	}
	rpma_uv__reactor_kick(r);
	if (works->first == NULL) {
		rpma_uv__reactor_hold(r);
		works->first = first;
	} else {
		works->last->u_next = first;
	}
	works->last = last;
}

unsigned rpma_uv__works_run(struct rpma_uv__reactor *r, unsigned most)
{
	struct rpma_uv__works *works = &r->works;
	unsigned count = 0;
	rpma_uv_work_t *w;

	rpma_uv__works_take(r);
	while (count < most && (w = works->first) != NULL) {
		works->first = w->u_next;
		count++;
		r->stats.works++;
		/* the last of them keeps the loop alive until it has run; w may be gone then */
		RPMA_UV__CALLBACK(w->u_cb(w));
		if (works->first == NULL)
			rpma_uv__reactor_drop(r);
	}
	if (works->first != NULL)
		r->stats.budgets_spent++;
	return count;
}
