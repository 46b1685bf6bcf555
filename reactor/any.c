/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * any.c - done with the first success, or with the last failure
 *
 *   input: RUNNING --failed--------------------------> consumed
 *             |  \---succeeded, the first------------> consumed; it is the winner
 *             +------another won: cut loose----------> on its own, without a parent
 *
 * An input that had become ready when another won can be on no list of ours: it is cut loose when
 * its turn comes, which is before that of the `any`, since both are on one reactor's ready list.
 * Inputs of another reactor are refused for that reason.
 */

#include <stdio.h>

#include "inputs.h"
#include "reactor.h"

/* f is nobody's: it runs on, and a slab future frees itself when done, as if it were released */
static void cut_loose(rpma_uv_any_t *any, rpma_uv_future_t *f)
{
	rpma_uv__inputs_unlist(f);
	f->u_parent = NULL;
	f->u_flags &= ~RPMA_UV__PARENT_DUE;
	f->u_flags |= RPMA_UV__RELEASED;
	if (any->u_flags & RPMA_UV_ANY_CANCEL)
		(void)rpma_uv__future_cancel(f, 0); /* what is posted runs on */
}

/* one that was done too: it is readable as long as the inputs that count */
static bool leave_behind(rpma_uv_any_t *any, rpma_uv_future_t *f)
{
	f->u_parent = NULL;
	return rpma_uv__inputs_keep(&any->future, f);
}

static void win(rpma_uv_any_t *any, const rpma_uv_future_t *f)
{
	struct rpma_uv__futures *running = &any->u_inputs.running;

	any->winner = f->u_index;
	while (!TAILQ_EMPTY(running))
		cut_loose(any, TAILQ_FIRST(running));
	/* last: its turn comes behind those of all inputs that are ready by now */
	rpma_uv__future_finish(&any->future, 0, f->result, 0);
}

static void fail(rpma_uv_any_t *any, int status, uint32_t detail, int16_t label)
{
	any->failed++;
	assert(any->u_inputs.left > 0);
	if (--any->u_inputs.left > 0)
		return;
	any->future.u_label = label;
	rpma_uv__future_finish(&any->future, status, 0, detail);
}

static bool child_done(rpma_uv_future_t *parent, rpma_uv_future_t *child)
{
	rpma_uv_any_t *any = (rpma_uv_any_t *)parent;
	bool is_kept;

	assert(parent->u_state != RPMA_UV__FUTURE_DONE);
	if (!rpma_uv__future_is_pending(parent))
		return leave_behind(any, child);
	is_kept = rpma_uv__inputs_keep(parent, child);
	if (child->status == 0)
		win(any, child);
	else
		fail(any, child->status, child->detail, child->u_label);
	return is_kept;
}

static void describe(const rpma_uv_future_t *f, char *text, size_t size)
{
	const rpma_uv_any_t *any = (const rpma_uv_any_t *)f;

	if (f->status == 0)
		snprintf(text, size, ": number %u of %u", any->winner + 1, any->total);
	else if (f->status < 0 && any->failed > 0)
		snprintf(text, size, ": %u of %u failed, the last", any->failed, any->total);
}

static const struct rpma_uv__kind any_kind = {
	.name = "any",
	.cancel = rpma_uv__inputs_cancel,
	.child_done = child_done,
	.unref = rpma_uv__inputs_unref,
	.describe = describe,
	.has_inputs = true,
};

/* an input that is done counts at once: the first success, if there is one, is returned */
static rpma_uv_future_t *take(rpma_uv_any_t *any, rpma_uv_future_t *f, rpma_uv_future_t *winner)
{
	if (f == NULL) {
		fail(any, UV_ENOMEM, 0, 0);
	} else if (f->u_state != RPMA_UV__FUTURE_DONE) {
		rpma_uv__inputs_adopt(&any->future, f);
	} else if (f->status == 0 && winner != NULL) {
		(void)leave_behind(any, f);
	} else {
		(void)rpma_uv__inputs_keep(&any->future, f);
		if (f->status == 0)
			return f;
		fail(any, f->status, f->detail, f->u_label);
	}
	return winner;
}

/* 0, and every input is ours; or what the any ends with, and none is */
static int claim(rpma_uv_any_t *any, rpma_uv_future_t *const f[], unsigned n, unsigned flags)
{
	if (n == 0 || (flags & ~RPMA_UV_ANY_CANCEL))
		return UV_EINVAL;
	return rpma_uv__inputs_claim(&any->future, f, n);
}

rpma_uv_future_t *rpma_uv_any(rpma_uv_reactor_t *r, rpma_uv_any_t *any, rpma_uv_future_t *const f[],
	unsigned n, unsigned flags)
{
	rpma_uv_future_t *winner = NULL;
	int status;

	any = rpma_uv__parent_begin(r->impl, any, &any_kind);
	if (any == NULL)
		return NULL;
	rpma_uv__inputs_init(&any->future, n);
	any->total = n;
	any->failed = 0;
	any->winner = n;
	any->u_flags = flags;
	status = claim(any, f, n, flags);
	if (status) {
		rpma_uv__future_finish(&any->future, status, 0, 0);
		return &any->future;
	}
	for (unsigned i = 0; i < n; i++)
		winner = take(any, f[i], winner);
	if (winner != NULL)
		win(any, winner);
	return &any->future;
}
