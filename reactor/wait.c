/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * wait.c - running the loop until a future is done
 *
 * What is waited for may come before the loop polls: uv_stop() keeps that turn from going to sleep.
 * The wait itself is work: a loop that has nothing but unref'd futures would not turn at all.
 */

#include "deadline.h"
#include "future_object.h"
#include "reactor.h"

/* the parent of the future that is waited for */
struct waiter {
	rpma_uv_future_t future; /* never queued; only its kind is used */
	struct rpma_uv__deadline deadline;
	uv_loop_t *loop;
	bool done;
	bool expired;
	int status;
	int64_t result;
};

static bool child_done(rpma_uv_future_t *parent, rpma_uv_future_t *child)
{
	struct waiter *w = rpma_uv__container_of(parent, struct waiter, future);
	struct rpma_uv__reactor *r = child->reactor->impl;

	/* now: its reactor may be gone when uv_run() returns */
	rpma_uv__deadline_clear(r, &w->deadline);
	rpma_uv__reactor_drop(r);
	uv_stop(r->loop);
	w->done = true;
	w->status = child->status;
	w->result = child->result;
	return false;
}

static void expired(struct rpma_uv__deadline *d)
{
	struct waiter *w = rpma_uv__container_of(d, struct waiter, deadline);

	uv_stop(w->loop);
	w->expired = true;
}

static const struct rpma_uv__kind wait_kind = {
	.name = "wait",
	.child_done = child_done,
};

int rpma_uv_wait(rpma_uv_future_t *f, uint64_t timeout_ms, int64_t *result_ptr)
{
	struct waiter w = { .future.u_kind = &wait_kind };
	struct rpma_uv__reactor *r;

	if (f == NULL)
		return UV_ENOMEM;
	r = f->reactor->impl;
	if (rpma_uv__in_callback > 0 || f->u_parent != NULL)
		return UV_EBUSY;
	w.loop = r->loop;
	rpma_uv__reactor_hold(r);
	rpma_uv__future_adopt(&w.future, f);
	rpma_uv__deadline_init(&w.deadline, expired);
	if (timeout_ms != UINT64_MAX)
		rpma_uv__deadline_set(r, &w.deadline, timeout_ms);
	while (!w.done && !w.expired)
		uv_run(w.loop, UV_RUN_ONCE);
	if (!w.done) {
		rpma_uv__reactor_drop(r);
		f->u_parent = NULL;
		f->u_flags &= ~RPMA_UV__PARENT_DUE;
		return RPMA_UV_PENDING;
	}
	if (w.status == 0 && result_ptr != NULL)
		*result_ptr = w.result;
	return w.status;
}
