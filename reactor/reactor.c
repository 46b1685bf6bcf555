/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * reactor.c - the turn of the loop, liveness and closing
 *
 *   timers    note that a deadline is due
 *   idle      "kick": active only while work is queued or the reactor spins; its mere presence
 *   forces
 *             a zero poll time-out, even when a foreign prepare callback queued work after ours
 *   prepare   1 flush   2 run ready callbacks   3 nothing left, not spinning: arm every disarmed
 *             completion queue and poll it AGAIN, reap the ring again; something found -> its
 *             callbacks, flush; empty -> safe to sleep
 *   poll      completion channels, event channel, the ring's eventfd: note what is ready
 *   check     reap the ring, poll completion queues within a budget, expire deadlines, run work that
 *             was posted and ready callbacks, each within a budget, flush
 *   closing   close callbacks
 *
 * Nothing is slept upon: queued work keeps the kick active; completions from before the arming are
 * found by polling again; later ones raise an event; what exceeds the budget keeps the kick active.
 *
 * Closing goes through the stages of enum rpma_uv__closing, each waiting for its lists to be empty.
 */

#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "conn.h"
#include "cq.h"
#include "ep.h"
#include "file.h"
#include "peer.h"
#include "pool.h"
#include "post.h"
#include "queue.h"
#include "reactor.h"
#include "reconnect.h"
#include "ring.h"
#include "slab.h"
#include "srq.h"
#include "transfer.h"

#define RING_ENTRIES     256
#define RING_ENTRIES_MAX 4096
#define CQ_ENTRIES       4096
#define CQ_BUDGET        256
#define CALLBACK_BUDGET  1024
#define SPIN_US          50
#define QUEUE_BOUND      65536

_Thread_local unsigned rpma_uv__in_callback;

/* ---- liveness -------------------------------------------------------------------------------- */

static void kick_cb(uv_idle_t *idle)
{
	(void)idle;
}

void rpma_uv__reactor_kick(struct rpma_uv__reactor *r)
{
	if (r->closing < RPMA_UV__CLOSING_HANDLES)
		uv_idle_start(&r->kick, kick_cb);
}

void rpma_uv__reactor_hold(struct rpma_uv__reactor *r)
{
	if (r->holds++ == 0)
		uv_ref((uv_handle_t *)&r->prepare);
}

void rpma_uv__reactor_drop(struct rpma_uv__reactor *r)
{
	assert(r->holds > 0);
	if (--r->holds == 0)
		uv_unref((uv_handle_t *)&r->prepare);
}

void rpma_uv_reactor_ref(rpma_uv_reactor_t *reactor)
{
	struct rpma_uv__reactor *r = reactor->impl;

	if (r->is_refd)
		return;
	r->is_refd = true;
	rpma_uv__reactor_hold(r);
}

void rpma_uv_reactor_unref(rpma_uv_reactor_t *reactor)
{
	struct rpma_uv__reactor *r = reactor->impl;

	if (!r->is_refd)
		return;
	r->is_refd = false;
	rpma_uv__reactor_drop(r);
}

/* ---- close callbacks ------------------------------------------------------------------------- */

static void closer_handle_closed(uv_handle_t *handle)
{
	struct rpma_uv__closer *closer = handle->data;

	if (closer->cb != NULL)
		RPMA_UV__CALLBACK(closer->cb(closer->data));
	closer->closed(closer);
}

static void closer_turn(rpma_uv_future_t *f, int status)
{
	struct rpma_uv__closer *closer = f->data;

	(void)status;
	uv_close((uv_handle_t *)&closer->handle, closer_handle_closed);
}

static const struct rpma_uv__kind closer_kind = {
	.name = "close",
};

void rpma_uv__closer_start(struct rpma_uv__reactor *r, struct rpma_uv__closer *closer,
	rpma_uv_close_cb cb, void *data, void (*closed)(struct rpma_uv__closer *closer))
{
	closer->reactor = r;
	closer->cb = cb;
	closer->data = data;
	closer->closed = closed;
	uv_idle_init(r->loop, &closer->handle);
	closer->handle.data = closer;
	rpma_uv__future_begin(r, &closer->turn, &closer_kind);
	rpma_uv_then(&closer->turn, closer_turn, closer);
	rpma_uv__future_finish(&closer->turn, 0, 0, 0);
}

/* ---- closing --------------------------------------------------------------------------------- */

static void own_handle_closed(uv_handle_t *handle)
{
	rpma_uv__reactor_handle_gone(handle->data);
}

static void own_handle_close(struct rpma_uv__reactor *r, uv_handle_t *handle)
{
	r->handles_open++;
	uv_close(handle, own_handle_closed);
}

void rpma_uv__reactor_handle_gone(struct rpma_uv__reactor *r)
{
	assert(r->handles_open > 0);
	if (--r->handles_open > 0 || r->closing < RPMA_UV__CLOSING_HANDLES)
		return;
	/* work that was posted before, and operations that were refused meanwhile */
	while (rpma_uv__works_run(r, UINT_MAX) + rpma_uv__futures_run(r, UINT_MAX) > 0)
		;
	r->pub->impl = NULL; /* its storage is the user's again from the callback on */
	if (r->close_cb != NULL)
		RPMA_UV__CALLBACK(r->close_cb(r->close_data));
	rpma_uv__slab_free(r);
	free(r->scratch);
	free(r);
}

static void close_handles(struct rpma_uv__reactor *r)
{
	rpma_uv__ring_close(r);
	rpma_uv__devices_close(r);
	rpma_uv__cm_close(r);
	uv_timer_stop(&r->timer);
	own_handle_close(r, (uv_handle_t *)&r->works.wake);
	own_handle_close(r, (uv_handle_t *)&r->timer);
	own_handle_close(r, (uv_handle_t *)&r->kick);
	own_handle_close(r, (uv_handle_t *)&r->check);
	own_handle_close(r, (uv_handle_t *)&r->prepare);
}

/* enter the next stage as soon as the lists of the present one are empty */
static void close_step(struct rpma_uv__reactor *r)
{
	if (r->closing == RPMA_UV__CLOSING_PEERS && TAILQ_EMPTY(&r->conns) &&
		TAILQ_EMPTY(&r->eps) && TAILQ_EMPTY(&r->srqs) && TAILQ_EMPTY(&r->lookups) &&
		TAILQ_EMPTY(&r->transfers)) {
		r->closing = RPMA_UV__CLOSING_FILES;
		rpma_uv__file_close_all(r);
	}
	if (r->closing == RPMA_UV__CLOSING_FILES && TAILQ_EMPTY(&r->files)) {
		r->closing = RPMA_UV__CLOSING_POOLS;
		rpma_uv__pool_close_all(r);
	}
	if (r->closing == RPMA_UV__CLOSING_POOLS && TAILQ_EMPTY(&r->pools))
		r->closing = RPMA_UV__CLOSING_POSTS;
	if (r->closing == RPMA_UV__CLOSING_POSTS) {
		/* it does not take that thread long; to be looked at again in the next check phase */
		if (rpma_uv__works_are_posting(r)) {
			rpma_uv__reactor_kick(r);
			return;
		}
		r->closing = RPMA_UV__CLOSING_HANDLES;
		close_handles(r);
	}
}

void rpma_uv__reactor_child_gone(struct rpma_uv__reactor *r)
{
	if (r->closing > RPMA_UV__CLOSING_STARTED)
		close_step(r);
}

void rpma_uv_reactor_close(rpma_uv_reactor_t *reactor, rpma_uv_close_cb cb, void *data)
{
	struct rpma_uv__reactor *r = reactor->impl;

	assert(r != NULL);
	assert(!r->closing);
	r->closing = RPMA_UV__CLOSING_STARTED;
	r->close_cb = cb;
	r->close_data = data;
	rpma_uv__reactor_hold(r);
	rpma_uv__transfer_cancel_all(r);
	rpma_uv__lookups_cancel(r);
	rpma_uv__reconnects_cancel(r);
	rpma_uv__eps_close(r);
	rpma_uv__conns_close(r);
	rpma_uv__srqs_close(r);
	rpma_uv__promises_cancel(r);
	r->closing = RPMA_UV__CLOSING_PEERS;
	close_step(r);
}

/* ---- the turn -------------------------------------------------------------------------------- */

static void flush(struct rpma_uv__reactor *r)
{
	rpma_uv__queues_flush(r);
	rpma_uv__srqs_flush(r);
	rpma_uv__ring_flush(r);
}

/* work that is ours to do now: a sleep would delay it */
static bool has_work(const struct rpma_uv__reactor *r)
{
	return !TAILQ_EMPTY(&r->ready) || !TAILQ_EMPTY(&r->dirty) || !TAILQ_EMPTY(&r->srqs_dirty) ||
	       r->deadlines_due || rpma_uv__works_are_left(r) || rpma_uv__ring_has_queued(r) ||
	       r->closing == RPMA_UV__CLOSING_POSTS;
}

/* poll instead of sleeping, a little while after something completed and while more is to come */
static bool is_spinning(struct rpma_uv__reactor *r)
{
	if (r->opts.spin_us < 0 || r->posted == 0 || r->spin_until_ns == 0)
		return false;
	if (uv_hrtime() < r->spin_until_ns)
		return true;
	r->spin_until_ns = 0;
	return false;
}

static void prepare_cb(uv_prepare_t *prepare)
{
	struct rpma_uv__reactor *r = prepare->data;
	bool found;

	flush(r);
	rpma_uv__futures_run(r, r->opts.callback_budget);
	if (has_work(r))
		return; /* whoever queued it has kicked */
	if (is_spinning(r)) {
		r->stats.spins++;
		rpma_uv__reactor_kick(r);
		return;
	}
	uv_idle_stop(&r->kick);
	found = rpma_uv__cqs_arm(r);
	if (rpma_uv__ring_reap(r))
		found = true;
	if (found) {
		rpma_uv__futures_run(r, r->opts.callback_budget);
		flush(r);
		rpma_uv__reactor_kick(r);
	}
}

static void check_cb(uv_check_t *check)
{
	struct rpma_uv__reactor *r = check->data;

	(void)rpma_uv__ring_reap(r);
	if (rpma_uv__cqs_poll(r, r->opts.cq_budget))
		rpma_uv__reactor_kick(r);
	rpma_uv__deadlines_expire(r);
	rpma_uv__works_run(r, r->opts.callback_budget);
	rpma_uv__futures_run(r, r->opts.callback_budget);
	flush(r);
	rpma_uv__works_take(r);
	if (r->closing == RPMA_UV__CLOSING_POSTS)
		close_step(r);
}

/* ---- init ------------------------------------------------------------------------------------ */

/* what the caller was built with may be shorter or longer than what we know: 0 means default */
static int opts_take(rpma_uv_reactor_opts_t *opts, const rpma_uv_reactor_opts_t *from)
{
	*opts = (rpma_uv_reactor_opts_t){ .size = sizeof(*opts) };
	if (from != NULL) {
		if (from->size < offsetof(rpma_uv_reactor_opts_t, u_reserved))
			return UV_EINVAL;
		memcpy(opts, from, from->size < sizeof(*opts) ? from->size : sizeof(*opts));
	}
	if (opts->ring_entries > RING_ENTRIES_MAX)
		return UV_EINVAL;
	if (opts->ring_entries == 0)
		opts->ring_entries = RING_ENTRIES;
	if (opts->cq_entries == 0)
		opts->cq_entries = CQ_ENTRIES;
	if (opts->cq_budget == 0)
		opts->cq_budget = CQ_BUDGET;
	if (opts->callback_budget == 0)
		opts->callback_budget = CALLBACK_BUDGET;
	if (opts->spin_us == 0)
		opts->spin_us = SPIN_US;
	if (opts->queue_bound == 0)
		opts->queue_bound = QUEUE_BOUND;
	return 0;
}

static void lists_init(struct rpma_uv__reactor *r)
{
	TAILQ_INIT(&r->ready);
	TAILQ_INIT(&r->promises);
	TAILQ_INIT(&r->conns);
	TAILQ_INIT(&r->dirty);
	TAILQ_INIT(&r->eps);
	TAILQ_INIT(&r->srqs);
	TAILQ_INIT(&r->srqs_dirty);
	TAILQ_INIT(&r->lookups);
	TAILQ_INIT(&r->reconnects);
	TAILQ_INIT(&r->files);
	TAILQ_INIT(&r->pools);
	TAILQ_INIT(&r->transfers);
	LIST_INIT(&r->devices);
}

/* none of these can fail: they only link the handle into the loop */
static void handles_init(struct rpma_uv__reactor *r)
{
	uv_prepare_init(r->loop, &r->prepare);
	uv_check_init(r->loop, &r->check);
	uv_idle_init(r->loop, &r->kick);
	uv_timer_init(r->loop, &r->timer);
	r->prepare.data = r;
	r->check.data = r;
	r->kick.data = r;
	r->timer.data = r;
	uv_prepare_start(&r->prepare, prepare_cb);
	uv_check_start(&r->check, check_cb);
	uv_unref((uv_handle_t *)&r->prepare);
	uv_unref((uv_handle_t *)&r->check);
	uv_unref((uv_handle_t *)&r->kick);
	uv_unref((uv_handle_t *)&r->timer);
}

int rpma_uv_reactor_init(
	uv_loop_t *loop, rpma_uv_reactor_t *reactor, const rpma_uv_reactor_opts_t *opts)
{
	struct rpma_uv__reactor *r;
	int ret;

	if (loop == NULL || reactor == NULL)
		return UV_EINVAL;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return UV_ENOMEM;
	ret = opts_take(&r->opts, opts);
	if (ret)
		goto err_free;
	ret = UV_ENOMEM;
	r->scratch = malloc(sizeof(*r->scratch));
	if (r->scratch == NULL)
		goto err_free;
	r->pub = reactor;
	r->loop = loop;
	lists_init(r);
	ret = rpma_uv__works_init(r);
	if (ret)
		goto err_scratch_free;
	handles_init(r);
	reactor->loop = loop;
	reactor->impl = r;
	return 0;

err_scratch_free:
	free(r->scratch);
err_free:
	free(r);
	return ret;
}
