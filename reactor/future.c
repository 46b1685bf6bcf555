/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * future.c - futures: one callback, one parent, done exactly once
 *
 *     op_begin()            future_finish()              dispatch()
 *   ------------> PENDING -----------------> READY ------------------> DONE
 *                                              ^                         |
 *                                              +----- then(), parent ----+
 *                                                     (late: next turn)
 *
 *   PENDING  counted in reactor->holds; u_link is on its parent's list of running inputs, if that
 *   is
 *            an `all`.
 *   READY    u_link is on reactor->ready; still counted, since a callback is due. Its outcome is
 *            known to us but not to the program: f->status is RPMA_UV_PENDING.
 *   DONE     f->status tells. A slab future that was consumed is gone; one that an `all` keeps for
 *            its callback (KEPT) has u_link on that one's list of consumed inputs.
 *
 * A future that is DONE goes through READY again when a callback or a parent comes late, so that no
 * callback ever runs inside an API call.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "future.h"
#include "reactor.h"

enum { PENDING, READY, DONE };

/* u_flags */
enum {
	FROM_SLAB = 1 << 0,
	RELEASED = 1 << 1, /* nobody will look: free when done */
	CB_DUE = 1 << 2, /* u_cb has not run yet */
	PARENT_DUE = 1 << 3, /* u_parent has not learned yet */
	KEPT = 1 << 4, /* of the slab, on the list of consumed inputs of an `all` */
	COUNTED = 1 << 5, /* an `all` knows the outcome, and waits for the callback only */
};

/* futures one slab block has room for */
#define SLAB_BLOCK 64

union slab_object {
	union slab_object *next;
	rpma_uv_op_t op;
	rpma_uv_all_t all;
};

struct rpma_uv__slab_block {
	struct rpma_uv__slab_block *next;
	union slab_object objects[SLAB_BLOCK];
};

static const struct rpma_uv__kind all_kind, chain_kind, promise_kind, wait_kind;

static const struct rpma_uv__kind *kind_of(const rpma_uv_future_t *f)
{
	return f->u_kind;
}

/* ---- the slab: grows to its high-water mark and then never again ----------------------------- */

static int slab_grow(struct rpma_uv__reactor *r)
{
	struct rpma_uv__slab_block *block = malloc(sizeof(*block));

	if (block == NULL)
		return UV_ENOMEM;
	block->next = r->slab_blocks;
	r->slab_blocks = block;
	for (unsigned i = 0; i < SLAB_BLOCK; i++) {
		block->objects[i].next = r->slab_free;
		r->slab_free = &block->objects[i];
	}
	r->stats.slab_objects += SLAB_BLOCK;
	return 0;
}

static void *slab_get(struct rpma_uv__reactor *r)
{
	union slab_object *object;

	if (r->slab_free == NULL && slab_grow(r))
		return NULL;
	object = r->slab_free;
	r->slab_free = object->next;
	return object;
}

static void slab_put(struct rpma_uv__reactor *r, void *storage)
{
	union slab_object *object = storage;

	object->next = r->slab_free;
	r->slab_free = object;
}

void rpma_uv__slab_free(struct rpma_uv__reactor *r)
{
	struct rpma_uv__slab_block *block;

	while ((block = r->slab_blocks) != NULL) {
		r->slab_blocks = block->next;
		free(block);
	}
	r->slab_free = NULL;
}

/* ---- beginning and finishing ----------------------------------------------------------------- */

static void future_init(struct rpma_uv__reactor *r, rpma_uv_future_t *f,
	const struct rpma_uv__kind *kind, uint8_t flags)
{
	memset(f, 0, sizeof(*f));
	f->reactor = r->pub;
	f->status = RPMA_UV_PENDING;
	f->u_state = PENDING;
	f->u_flags = flags;
	f->u_kind = kind;
	r->stats.futures_pending++;
	rpma_uv__reactor_hold(r);
}

void rpma_uv__future_begin(
	struct rpma_uv__reactor *r, rpma_uv_future_t *f, const struct rpma_uv__kind *kind)
{
	future_init(r, f, kind, 0);
}

rpma_uv_op_t *rpma_uv__op_begin(
	struct rpma_uv__reactor *r, rpma_uv_op_t *op, const struct rpma_uv__kind *kind)
{
	uint8_t flags = 0;

	if (op == NULL) {
		op = slab_get(r);
		if (op == NULL)
			return NULL;
		flags = FROM_SLAB;
	}
	future_init(r, &op->future, kind, flags);
	return op;
}

static void make_ready(struct rpma_uv__reactor *r, rpma_uv_future_t *f)
{
	f->u_state = READY;
	TAILQ_INSERT_TAIL(&r->ready, f, u_link);
	rpma_uv__reactor_kick(r);
}

/* a DONE future has a callback or a parent to serve after all */
static void make_ready_again(struct rpma_uv__reactor *r, rpma_uv_future_t *f)
{
	assert(f->u_state == DONE);
	rpma_uv__reactor_hold(r);
	make_ready(r, f);
}

void rpma_uv__future_finish(rpma_uv_future_t *f, int status, int64_t result, uint32_t detail)
{
	assert(f->u_state == PENDING);
	assert(status <= 0);
	if (f->u_parent != NULL && kind_of(f->u_parent) == &all_kind) {
		rpma_uv_all_t *all = (rpma_uv_all_t *)f->u_parent;

		TAILQ_REMOVE(&all->u_running, f, u_link);
	}
	f->u_status = status;
	f->result = result;
	f->detail = detail;
	make_ready(f->reactor->impl, f);
}

rpma_uv_future_t *rpma_uv__op_fail(
	struct rpma_uv__reactor *r, rpma_uv_op_t *op, const struct rpma_uv__kind *kind, int status)
{
	op = rpma_uv__op_begin(r, op, kind);
	if (op == NULL)
		return NULL;
	memset(op->u_room, 0, sizeof(op->u_room));
	rpma_uv__future_finish(&op->future, status, 0, 0);
	return &op->future;
}

/*
 * The inputs that an `all` keeps readable. The list is used by its first pointer alone, so that one
 * can leave it without knowing whose it is: the `all` may be gone by then.
 */
static void keep(struct rpma_uv__futures *consumed, rpma_uv_future_t *f)
{
	f->u_link.tqe_next = consumed->tqh_first;
	f->u_link.tqe_prev = &consumed->tqh_first;
	if (f->u_link.tqe_next != NULL)
		f->u_link.tqe_next->u_link.tqe_prev = &f->u_link.tqe_next;
	consumed->tqh_first = f;
	f->u_flags |= KEPT;
}

static void unkeep(rpma_uv_future_t *f)
{
	*f->u_link.tqe_prev = f->u_link.tqe_next;
	if (f->u_link.tqe_next != NULL)
		f->u_link.tqe_next->u_link.tqe_prev = f->u_link.tqe_prev;
	f->u_flags &= ~KEPT;
}

/* take them over from an `all` that is done: its storage may be reused from now on */
static void take_consumed(struct rpma_uv__futures *to, rpma_uv_future_t *all)
{
	/* as parents go: served, and to be looked at no more */
	static rpma_uv_future_t served = { .u_state = DONE };
	struct rpma_uv__futures *from = &((rpma_uv_all_t *)all)->u_consumed;
	rpma_uv_future_t *f;

	while ((f = from->tqh_first) != NULL) {
		unkeep(f);
		keep(to, f);
		f->u_parent = &served;
	}
}

static void free_consumed(struct rpma_uv__reactor *r, struct rpma_uv__futures *consumed)
{
	rpma_uv_future_t *f;

	while ((f = consumed->tqh_first) != NULL) {
		unkeep(f);
		slab_put(r, f);
	}
}

/*
 * Serve one ready future: the callback first, then the parent. Embedded storage may be gone once
 * the callback has returned, so all that is needed later is taken out before.
 */
static void dispatch(struct rpma_uv__reactor *r, rpma_uv_future_t *f)
{
	rpma_uv_future_t *parent = f->u_flags & PARENT_DUE ? f->u_parent : NULL;
	bool call = f->u_flags & CB_DUE;
	bool own = f->u_flags & FROM_SLAB;
	bool consumed = call || parent != NULL || (f->u_flags & RELEASED);
	struct rpma_uv__futures inputs = { NULL, NULL };
	bool is_kept = false;

	if (f->status == RPMA_UV_PENDING) {
		f->status = f->u_status;
		r->stats.futures_pending--;
	}
	f->u_state = DONE;
	f->u_flags &= ~(CB_DUE | PARENT_DUE);
	rpma_uv__reactor_drop(r);
	if (consumed && kind_of(f) == &all_kind)
		take_consumed(&inputs, f);
	if (call) {
		r->stats.callbacks++;
		RPMA_UV__CALLBACK(r, f->u_cb(f, f->status));
	}
	if (parent != NULL)
		is_kept = kind_of(parent)->child_done(parent, f);
	free_consumed(r, &inputs);
	/* its own callback may have given it a parent */
	if (own && consumed && !is_kept && f->u_state == DONE && !(f->u_flags & KEPT))
		slab_put(r, f);
}

unsigned rpma_uv__futures_run(struct rpma_uv__reactor *r)
{
	struct rpma_uv__futures batch = TAILQ_HEAD_INITIALIZER(batch);
	rpma_uv_future_t *f;
	unsigned count = 0;

	/* what becomes ready meanwhile waits for the next phase: the loop gets its turn */
	TAILQ_CONCAT(&batch, &r->ready, u_link);
	while ((f = TAILQ_FIRST(&batch)) != NULL) {
		TAILQ_REMOVE(&batch, f, u_link);
		dispatch(r, f);
		count++;
	}
	return count;
}

/* ---- one callback, one parent ---------------------------------------------------------------- */

/*
 * A callback for an input that its `all` has counted already: if that one is still pending it waits
 * for the callback too; else its own callback comes first, and the input lives until its own.
 */
static void all_await_callback(rpma_uv_future_t *f)
{
	if (f->u_parent->u_state != PENDING)
		return;
	((rpma_uv_all_t *)f->u_parent)->u_left++;
	f->u_flags |= PARENT_DUE | COUNTED;
}

rpma_uv_future_t *rpma_uv_then(rpma_uv_future_t *f, rpma_uv_cb cb, void *data)
{
	if (f == NULL || cb == NULL || f->u_cb != NULL)
		return NULL;
	f->u_cb = cb;
	f->data = data;
	f->u_flags |= CB_DUE;
	if (f->u_flags & KEPT) {
		unkeep(f);
		all_await_callback(f);
	}
	if (f->u_state == DONE)
		make_ready_again(f->reactor->impl, f);
	return f;
}

/* make parent the parent of f, which has none; a future that is done already reports next turn */
static void adopt(rpma_uv_future_t *parent, rpma_uv_future_t *f)
{
	assert(f->u_parent == NULL || f->u_parent == parent);
	f->u_parent = parent;
	f->u_flags |= PARENT_DUE;
	if (f->u_state == DONE)
		make_ready_again(f->reactor->impl, f);
}

/* ---- chain: f, then what next returns -------------------------------------------------------- */

struct RPMA_UV__ROOM chain {
	rpma_uv_next_fn next; /* NULL once it has been called */
	void *data;
	rpma_uv_future_t *step; /* what is waited for */
};

static bool chain_child_done(rpma_uv_future_t *parent, rpma_uv_future_t *child)
{
	struct rpma_uv__reactor *r = parent->reactor->impl;
	struct chain *chain = rpma_uv__room(struct chain, rpma_uv__op_of(parent));
	rpma_uv_next_fn next = chain->next;

	assert(chain->step == child);
	if (child->status < 0 || next == NULL) {
		rpma_uv__future_finish(parent, child->status, child->result, child->detail);
		return false;
	}
	chain->next = NULL;
	RPMA_UV__CALLBACK(r, chain->step = next(child, chain->data));
	if (chain->step == NULL)
		rpma_uv__future_finish(parent, UV_ENOMEM, 0, 0);
	else if (chain->step->u_parent != NULL)
		rpma_uv__future_finish(parent, UV_EBUSY, 0, 0);
	else
		adopt(parent, chain->step);
	return false;
}

static int chain_cancel(rpma_uv_future_t *f)
{
	return rpma_uv_cancel(rpma_uv__room(struct chain, rpma_uv__op_of(f))->step);
}

static const struct rpma_uv__kind chain_kind = {
	.name = "chain",
	.cancel = chain_cancel,
	.child_done = chain_child_done,
};

rpma_uv_future_t *rpma_uv_chain(rpma_uv_future_t *f, rpma_uv_next_fn next, void *data)
{
	rpma_uv_op_t *op;
	struct chain *chain;

	if (f == NULL)
		return NULL;
	op = rpma_uv__op_begin(f->reactor->impl, NULL, &chain_kind);
	if (op == NULL)
		return NULL;
	chain = rpma_uv__room(struct chain, op);
	chain->next = next;
	chain->data = data;
	chain->step = f;
	if (next == NULL)
		rpma_uv__future_finish(&op->future, UV_EINVAL, 0, 0);
	else if (f->u_parent != NULL)
		rpma_uv__future_finish(&op->future, UV_EBUSY, 0, 0);
	else
		adopt(&op->future, f);
	return &op->future;
}

/* ---- all: many inputs, one end --------------------------------------------------------------- */

static void all_note_failure(rpma_uv_all_t *all, int status, uint32_t detail)
{
	if (all->failed++ > 0)
		return;
	all->future.u_status = status;
	all->future.detail = detail;
}

static void all_count(rpma_uv_all_t *all)
{
	assert(all->u_left > 0);
	if (--all->u_left == 0)
		rpma_uv__future_finish(&all->future, all->future.u_status, all->total - all->failed,
			all->future.detail);
}

static bool all_child_done(rpma_uv_future_t *parent, rpma_uv_future_t *child)
{
	rpma_uv_all_t *all = (rpma_uv_all_t *)parent;
	bool is_kept = child->u_flags & FROM_SLAB;

	/* a slab input stays readable until the callback of all has returned */
	if (is_kept)
		keep(&all->u_consumed, child);
	if (child->status < 0 && !(child->u_flags & COUNTED))
		all_note_failure(all, child->status, child->detail);
	all_count(all);
	return is_kept;
}

static int all_cancel(rpma_uv_future_t *f)
{
	rpma_uv_all_t *all = (rpma_uv_all_t *)f;
	unsigned count = all->u_left;
	rpma_uv_future_t *child;
	int ret = 0;

	/* one that ends takes itself off the list, and neighbours of its connection with it */
	while (count-- > 0 && (child = TAILQ_FIRST(&all->u_running)) != NULL) {
		int status;

		TAILQ_REMOVE(&all->u_running, child, u_link);
		TAILQ_INSERT_TAIL(&all->u_running, child, u_link);
		status = rpma_uv_cancel(child);
		if (ret == 0)
			ret = status;
	}
	return ret;
}

static const struct rpma_uv__kind all_kind = {
	.name = "all",
	.cancel = all_cancel,
	.child_done = all_child_done,
};

/* take every input or, when one is taken already or stands there twice, none */
static int all_claim(rpma_uv_all_t *all, rpma_uv_future_t *const f[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (f[i] == NULL)
			continue;
		if (f[i]->u_parent != NULL) {
			while (i-- > 0) {
				if (f[i] != NULL)
					f[i]->u_parent = NULL;
			}
			return UV_EBUSY;
		}
		f[i]->u_parent = &all->future;
	}
	return 0;
}

static void all_adopt(rpma_uv_all_t *all, rpma_uv_future_t *f)
{
	if (f == NULL) {
		all_note_failure(all, UV_ENOMEM, 0);
		all_count(all);
	} else if (f->u_state == DONE) {
		(void)all_child_done(&all->future, f);
	} else {
		if (f->u_state == PENDING)
			TAILQ_INSERT_TAIL(&all->u_running, f, u_link);
		adopt(&all->future, f);
	}
}

rpma_uv_future_t *rpma_uv_all(
	rpma_uv_reactor_t *reactor, rpma_uv_all_t *all, rpma_uv_future_t *const f[], unsigned n)
{
	struct rpma_uv__reactor *r = reactor->impl;
	uint8_t flags = 0;

	if (all == NULL) {
		all = slab_get(r);
		if (all == NULL)
			return NULL;
		flags = FROM_SLAB;
	}
	future_init(r, &all->future, &all_kind, flags);
	all->total = n;
	all->failed = 0;
	all->u_left = n;
	TAILQ_INIT(&all->u_running);
	TAILQ_INIT(&all->u_consumed);
	if (n == 0)
		rpma_uv__future_finish(&all->future, 0, 0, 0);
	else if (all_claim(all, f, n))
		rpma_uv__future_finish(&all->future, UV_EBUSY, 0, 0);
	for (unsigned i = 0; i < n && all->future.u_state == PENDING; i++)
		all_adopt(all, f[i]);
	return &all->future;
}

/* ---- promise: completed by the program ------------------------------------------------------- */

/* on reactor->promises until resolved */
static int promise_cancel(rpma_uv_future_t *f)
{
	return rpma_uv_resolve(f, UV_ECANCELED, 0);
}

static const struct rpma_uv__kind promise_kind = {
	.name = "promise",
	.cancel = promise_cancel,
};

struct RPMA_UV__ROOM rpma_uv__promise {
	TAILQ_ENTRY(rpma_uv__promise) link;
};

rpma_uv_future_t *rpma_uv_promise(rpma_uv_reactor_t *reactor, rpma_uv_op_t *op)
{
	struct rpma_uv__reactor *r = reactor->impl;

	if (r->closing)
		return rpma_uv__op_fail(r, op, &promise_kind, UV_ECANCELED);
	op = rpma_uv__op_begin(r, op, &promise_kind);
	if (op == NULL)
		return NULL;
	TAILQ_INSERT_TAIL(&r->promises, rpma_uv__room(struct rpma_uv__promise, op), link);
	return &op->future;
}

int rpma_uv_resolve(rpma_uv_future_t *f, int status, int64_t result)
{
	struct rpma_uv__reactor *r;

	if (f == NULL || f->u_kind != &promise_kind || status > 0)
		return UV_EINVAL;
	if (f->u_state != PENDING)
		return UV_EALREADY;
	r = f->reactor->impl;
	TAILQ_REMOVE(&r->promises, rpma_uv__room(struct rpma_uv__promise, rpma_uv__op_of(f)), link);
	rpma_uv__future_finish(f, status, result, 0);
	return 0;
}

void rpma_uv__promises_cancel(struct rpma_uv__reactor *r)
{
	struct rpma_uv__promise *promise;

	while ((promise = TAILQ_FIRST(&r->promises)) != NULL)
		(void)rpma_uv_resolve(&rpma_uv__op_of_room(promise)->future, UV_ECANCELED, 0);
}

/* ---- cancel, release, wait ------------------------------------------------------------------- */

int rpma_uv_cancel(rpma_uv_future_t *f)
{
	if (f == NULL)
		return UV_EINVAL;
	if (f->u_state != PENDING)
		return UV_EALREADY;
	if (kind_of(f)->cancel == NULL)
		return UV_EBUSY;
	return kind_of(f)->cancel(f);
}

void rpma_uv_release(rpma_uv_future_t *f)
{
	struct rpma_uv__futures inputs = { NULL, NULL };

	if (f == NULL || !(f->u_flags & FROM_SLAB) || f->u_parent != NULL || f->u_cb != NULL)
		return;
	if (f->u_state != DONE) {
		f->u_flags |= RELEASED;
		return;
	}
	if (kind_of(f) == &all_kind)
		take_consumed(&inputs, f);
	free_consumed(f->reactor->impl, &inputs);
	slab_put(f->reactor->impl, f);
}

/*
 * The parent of a future that rpma_uv_wait() waits for. What is waited for may come before the loop
 * polls: uv_stop() keeps that turn from going to sleep.
 */
struct waiter {
	rpma_uv_future_t future; /* never queued; only its kind is used */
	struct rpma_uv__deadline deadline;
	uv_loop_t *loop;
	bool done;
	bool expired;
	int status;
	int64_t result;
};

static bool wait_child_done(rpma_uv_future_t *parent, rpma_uv_future_t *child)
{
	struct waiter *w = rpma_uv__container_of(parent, struct waiter, future);

	/* now: its reactor may be gone when uv_run() returns */
	rpma_uv__deadline_clear(child->reactor->impl, &w->deadline);
	uv_stop(child->reactor->impl->loop);
	w->done = true;
	w->status = child->status;
	w->result = child->result;
	return false;
}

static void wait_expired(struct rpma_uv__deadline *d)
{
	struct waiter *w = rpma_uv__container_of(d, struct waiter, deadline);

	uv_stop(w->loop);
	w->expired = true;
}

static const struct rpma_uv__kind wait_kind = {
	.name = "wait",
	.child_done = wait_child_done,
};

int rpma_uv_wait(rpma_uv_future_t *f, uint64_t timeout_ms, int64_t *result_ptr)
{
	struct waiter w = { .future.u_kind = &wait_kind };
	struct rpma_uv__reactor *r;

	if (f == NULL)
		return UV_ENOMEM;
	r = f->reactor->impl;
	if (r->in_callback > 0 || f->u_parent != NULL)
		return UV_EBUSY;
	w.loop = r->loop;
	adopt(&w.future, f);
	rpma_uv__deadline_init(&w.deadline, wait_expired);
	if (timeout_ms != UINT64_MAX)
		rpma_uv__deadline_set(r, &w.deadline, timeout_ms);
	while (!w.done && !w.expired)
		uv_run(w.loop, UV_RUN_ONCE);
	if (!w.done) {
		f->u_parent = NULL;
		f->u_flags &= ~PARENT_DUE;
		return RPMA_UV_PENDING;
	}
	if (w.status == 0 && result_ptr != NULL)
		*result_ptr = w.result;
	return w.status;
}

/* ---- for people ------------------------------------------------------------------------------ */

const char *rpma_uv_strerror(const rpma_uv_future_t *f)
{
	struct rpma_uv__reactor *r;
	size_t used;

	if (f == NULL)
		return "no future: out of memory";
	r = f->reactor->impl;
	snprintf(r->text, sizeof(r->text), "%s", kind_of(f)->name);
	used = strlen(r->text);
	if (kind_of(f)->describe != NULL)
		kind_of(f)->describe(f, r->text + used, sizeof(r->text) - used);
	used = strlen(r->text);
	if (f->status == RPMA_UV_PENDING)
		snprintf(r->text + used, sizeof(r->text) - used, ": not done yet");
	else if (f->status == 0)
		snprintf(r->text + used, sizeof(r->text) - used, ": success");
	else
		snprintf(r->text + used, sizeof(r->text) - used, ": %s", uv_strerror(f->status));
	return r->text;
}
