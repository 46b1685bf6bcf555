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
 *   PENDING  counted in reactor->holds, unless unref'd; u_link is on its parent's list of running
 *            inputs, if that is an `all` or an `any`; it may have a deadline.
 *   READY    u_link is on reactor->ready; still counted, since a callback is due. Its outcome is
 *            known to us but not to the program: f->status is RPMA_UV_PENDING.
 *   DONE     f->status tells. A slab future that was consumed is gone; one that its parent keeps
 *            for its own callback (KEPT) has u_link on that one's list of consumed inputs.
 *
 * A future that is DONE goes through READY again when a callback or a parent comes late, so that no
 * callback ever runs inside an API call.
 */

#include <stdio.h>
#include <string.h>

#include "all.h"
#include "future_object.h"
#include "inputs.h"
#include "reactor.h"
#include "slab.h"

/* ---- beginning and finishing ----------------------------------------------------------------- */

static void future_init(struct rpma_uv__reactor *r, rpma_uv_future_t *f,
	const struct rpma_uv__kind *kind, uint16_t flags)
{
	memset(f, 0, offsetof(rpma_uv_future_t, u_deadline));
	f->reactor = r->pub;
	f->status = RPMA_UV_PENDING;
	f->u_state = RPMA_UV__FUTURE_PENDING;
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

/* storage begins with its future, whatever it is room for */
static void *begin(struct rpma_uv__reactor *r, void *storage, const struct rpma_uv__kind *kind)
{
	uint16_t flags = 0;

	if (storage == NULL) {
		storage = rpma_uv__slab_get(r);
		if (storage == NULL)
			return NULL;
		flags = RPMA_UV__FROM_SLAB;
	}
	future_init(r, storage, kind, flags);
	return storage;
}

rpma_uv_op_t *rpma_uv__op_begin(
	struct rpma_uv__reactor *r, rpma_uv_op_t *op, const struct rpma_uv__kind *kind)
{
	return begin(r, op, kind);
}

void *rpma_uv__parent_begin(
	struct rpma_uv__reactor *r, void *storage, const struct rpma_uv__kind *kind)
{
	assert(kind->child_done != NULL);
	return begin(r, storage, kind);
}

static void make_ready(struct rpma_uv__reactor *r, rpma_uv_future_t *f)
{
	f->u_state = RPMA_UV__FUTURE_READY;
	TAILQ_INSERT_TAIL(&r->ready, f, u_link);
	rpma_uv__reactor_kick(r);
}

/* a DONE future has a callback or a parent to serve after all */
static void make_ready_again(struct rpma_uv__reactor *r, rpma_uv_future_t *f)
{
	assert(f->u_state == RPMA_UV__FUTURE_DONE);
	if (!(f->u_flags & RPMA_UV__UNREFD))
		rpma_uv__reactor_hold(r);
	make_ready(r, f);
}

void rpma_uv__future_finish(rpma_uv_future_t *f, int status, int64_t result, uint32_t detail)
{
	struct rpma_uv__reactor *r = f->reactor->impl;

	assert(f->u_state == RPMA_UV__FUTURE_PENDING);
	assert(status <= 0);
	if (f->u_flags & RPMA_UV__LISTED)
		rpma_uv__inputs_unlist(f);
	if (f->u_flags & RPMA_UV__TIMED)
		rpma_uv__deadline_clear(r, &f->u_deadline);
	/* parents are told the name by their inputs */
	if (status == UV_ECANCELED && f->u_label != 0)
		status = f->u_label;
	f->u_status = status;
	f->result = result;
	f->detail = detail;
	make_ready(r, f);
}

bool rpma_uv__future_is_pending(const rpma_uv_future_t *f)
{
	return f->u_state == RPMA_UV__FUTURE_PENDING;
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

/* ---- running --------------------------------------------------------------------------------- */

/*
 * Serve one ready future: the callback first, then the parent. Embedded storage may be gone once
 * the callback has returned, so all that is needed later is taken out before.
 */
static void dispatch(struct rpma_uv__reactor *r, rpma_uv_future_t *f)
{
	rpma_uv_future_t *parent = f->u_flags & RPMA_UV__PARENT_DUE ? f->u_parent : NULL;
	bool call = f->u_flags & RPMA_UV__CB_DUE;
	bool own = f->u_flags & RPMA_UV__FROM_SLAB;
	bool consumed = call || parent != NULL || (f->u_flags & RPMA_UV__RELEASED);
	struct rpma_uv__futures inputs = { NULL, NULL };
	bool is_kept = false;

	if (f->status == RPMA_UV_PENDING) {
		f->status = f->u_status;
		r->stats.futures_pending--;
	}
	f->u_state = RPMA_UV__FUTURE_DONE;
	f->u_flags &= ~(RPMA_UV__CB_DUE | RPMA_UV__PARENT_DUE);
	if (!(f->u_flags & RPMA_UV__UNREFD))
		rpma_uv__reactor_drop(r);
	if (consumed && rpma_uv__kind_of(f)->has_inputs)
		rpma_uv__inputs_take(&inputs, f);
	if (call) {
		r->stats.callbacks++;
		f->u_cb(f, f->status);
	}
	if (parent != NULL)
		is_kept = rpma_uv__kind_of(parent)->child_done(parent, f);
	if (!TAILQ_EMPTY(&inputs))
		rpma_uv__inputs_free(r, &inputs);
	/* its own callback may have given it a parent */
	if (own && consumed && !is_kept && f->u_state == RPMA_UV__FUTURE_DONE &&
		!(f->u_flags & RPMA_UV__KEPT))
		rpma_uv__slab_put(r, f);
}

unsigned rpma_uv__futures_run(struct rpma_uv__reactor *r, unsigned most)
{
	struct rpma_uv__futures batch = TAILQ_HEAD_INITIALIZER(batch);
	rpma_uv_future_t *f;
	unsigned count = 0;

	/* what becomes ready meanwhile waits for the next phase: the loop gets its turn */
	TAILQ_CONCAT(&batch, &r->ready, u_link);
	rpma_uv__in_callback++; /* once for them all: a variable of the thread costs a call */
	while (count < most && (f = TAILQ_FIRST(&batch)) != NULL) {
		TAILQ_REMOVE(&batch, f, u_link);
		dispatch(r, f);
		count++;
	}
	rpma_uv__in_callback--;
	/* what is left over stays in front of it */
	if (!TAILQ_EMPTY(&batch))
		r->stats.budgets_spent++;
	TAILQ_CONCAT(&batch, &r->ready, u_link);
	TAILQ_CONCAT(&r->ready, &batch, u_link);
	return count;
}

/* ---- one callback, one parent ---------------------------------------------------------------- */

/*
 * A callback for an input that its parent has counted already: an `all` that is still pending waits
 * for the callback too; else its own callback comes first, and the input lives until its own.
 */
static void leave_parent(rpma_uv_future_t *f)
{
	rpma_uv_future_t *parent = f->u_parent;

	rpma_uv__inputs_unkeep(f);
	if (parent == NULL || parent->u_state != RPMA_UV__FUTURE_PENDING)
		return;
	if (rpma_uv__all_awaits(parent))
		f->u_flags |= RPMA_UV__PARENT_DUE | RPMA_UV__COUNTED;
}

rpma_uv_future_t *rpma_uv_then(rpma_uv_future_t *f, rpma_uv_cb cb, void *data)
{
	if (f == NULL || cb == NULL || f->u_cb != NULL)
		return NULL;
	f->u_cb = cb;
	f->data = data;
	f->u_flags |= RPMA_UV__CB_DUE;
	if (f->u_flags & RPMA_UV__KEPT)
		leave_parent(f);
	if (f->u_state == RPMA_UV__FUTURE_DONE)
		make_ready_again(f->reactor->impl, f);
	return f;
}

void rpma_uv__future_adopt(rpma_uv_future_t *parent, rpma_uv_future_t *f)
{
	assert(f->u_parent == NULL || f->u_parent == parent);
	f->u_parent = parent;
	f->u_flags |= RPMA_UV__PARENT_DUE;
	if (parent->u_flags & RPMA_UV__UNREFD)
		rpma_uv_unref(f);
	if (f->u_flags & RPMA_UV__KEPT) /* by an `any` that it lost to */
		rpma_uv__inputs_unkeep(f);
	if (f->u_state == RPMA_UV__FUTURE_DONE)
		make_ready_again(f->reactor->impl, f);
}

/* ---- cancel, release, unref ------------------------------------------------------------------ */

int rpma_uv__future_cancel(rpma_uv_future_t *f, unsigned how)
{
	const struct rpma_uv__kind *kind = rpma_uv__kind_of(f);
	int16_t label = f->u_label;
	int ret;

	if (f->u_state != RPMA_UV__FUTURE_PENDING)
		return UV_EALREADY;
	if (kind->cancel == NULL)
		return UV_EBUSY;
	/* who asks first gives the end its name; parents hear it from their inputs */
	if (label == 0 && kind->child_done == NULL)
		f->u_label = (int16_t)rpma_uv__cancel_status(how);
	ret = kind->cancel(f, how);
	if (ret != 0 && f->u_state == RPMA_UV__FUTURE_PENDING)
		f->u_label = label;
	return ret;
}

int rpma_uv_cancel(rpma_uv_future_t *f, unsigned how)
{
	if (f == NULL || (how & ~RPMA_UV_FORCE))
		return UV_EINVAL;
	return rpma_uv__future_cancel(f, how);
}

void rpma_uv_release(rpma_uv_future_t *f)
{
	struct rpma_uv__futures inputs = { NULL, NULL };

	if (f == NULL || !(f->u_flags & RPMA_UV__FROM_SLAB) || f->u_parent != NULL ||
		f->u_cb != NULL || (f->u_flags & RPMA_UV__KEPT))
		return;
	if (f->u_state != RPMA_UV__FUTURE_DONE) {
		f->u_flags |= RPMA_UV__RELEASED;
		return;
	}
	if (rpma_uv__kind_of(f)->has_inputs)
		rpma_uv__inputs_take(&inputs, f);
	rpma_uv__inputs_free(f->reactor->impl, &inputs);
	rpma_uv__slab_put(f->reactor->impl, f);
}

void rpma_uv_unref(rpma_uv_future_t *f)
{
	if (f == NULL || (f->u_flags & RPMA_UV__UNREFD))
		return;
	f->u_flags |= RPMA_UV__UNREFD;
	if (f->u_state != RPMA_UV__FUTURE_DONE)
		rpma_uv__reactor_drop(f->reactor->impl);
	if (f->u_state == RPMA_UV__FUTURE_PENDING && rpma_uv__kind_of(f)->unref != NULL)
		rpma_uv__kind_of(f)->unref(f);
}

/* ---- for people ------------------------------------------------------------------------------ */

/* why it ended; what our own time-out ended is not the network's */
static const char *reason(const rpma_uv_future_t *f)
{
	if (f->status == RPMA_UV_PENDING)
		return "not done yet";
	if (f->status == 0)
		return "success";
	if (f->status == UV_ETIMEDOUT && f->u_label == UV_ETIMEDOUT)
		return "not done within its time-out";
	return uv_strerror(f->status);
}

const char *rpma_uv_strerror(const rpma_uv_future_t *f)
{
	struct rpma_uv__reactor *r;
	size_t used;

	if (f == NULL)
		return "no future: out of memory";
	r = f->reactor->impl;
	snprintf(r->text, sizeof(r->text), "%s", rpma_uv__kind_of(f)->name);
	used = strlen(r->text);
	if (rpma_uv__kind_of(f)->describe != NULL)
		rpma_uv__kind_of(f)->describe(f, r->text + used, sizeof(r->text) - used);
	used = strlen(r->text);
	snprintf(r->text + used, sizeof(r->text) - used, ": %s", reason(f));
	return r->text;
}
