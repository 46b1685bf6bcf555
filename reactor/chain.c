/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * chain.c - one future, then the one that next returns
 *
 *   FIRST --done--> next() --future--> SECOND --done--> finished
 *     |               |                  |
 *     +--failed-------+--NULL------------+--failed-----> finished
 *
 * A cancel goes to the step that is waited for. Where there is none to take it - the first step is
 * done and next has not been called, or is being called - the chain remembers it.
 */

#include "future_object.h"
#include "reactor.h"

struct RPMA_UV__ROOM chain {
	rpma_uv_next_fn next; /* NULL once it has been called */
	void *data;
	rpma_uv_future_t *step; /* what is waited for; NULL in next */
	unsigned how; /* of the cancel that is remembered */
	bool is_cancelled;
};

static struct chain *chain_of(rpma_uv_future_t *f)
{
	return rpma_uv__room(struct chain, rpma_uv__op_of(f));
}

static void go_on(rpma_uv_future_t *f, rpma_uv_future_t *step)
{
	struct chain *chain = chain_of(f);

	if (step == NULL) {
		rpma_uv__future_finish(f, UV_ENOMEM, 0, 0);
	} else if (step->u_parent != NULL) {
		rpma_uv__future_finish(f, UV_EBUSY, 0, 0);
	} else {
		chain->step = step;
		rpma_uv__future_adopt(f, step);
		if (chain->is_cancelled) /* within next: if the step cannot be recalled, it runs */
			(void)rpma_uv__future_cancel(step, chain->how);
	}
}

static bool child_done(rpma_uv_future_t *parent, rpma_uv_future_t *child)
{
	struct chain *chain = chain_of(parent);
	rpma_uv_next_fn next = chain->next;
	rpma_uv_future_t *step;

	assert(chain->step == child);
	if (child->status < 0 || next == NULL) {
		parent->u_label = child->u_label;
		rpma_uv__future_finish(parent, child->status, child->result, child->detail);
		return false;
	}
	if (chain->is_cancelled) {
		parent->u_label = (int16_t)rpma_uv__cancel_status(chain->how);
		rpma_uv__future_finish(parent, UV_ECANCELED, 0, 0);
		return false;
	}
	chain->next = NULL;
	chain->step = NULL;
	RPMA_UV__CALLBACK(step = next(child, chain->data));
	go_on(parent, step);
	return false;
}

static int chain_cancel(rpma_uv_future_t *f, unsigned how)
{
	struct chain *chain = chain_of(f);
	int ret = UV_EALREADY;

	if (chain->step != NULL)
		ret = rpma_uv__future_cancel(chain->step, how);
	if (ret != UV_EALREADY)
		return ret;
	/* the last step is done, or one that failed: so is the chain, but for the telling */
	if (chain->step != NULL && (chain->next == NULL || chain->step->u_status < 0))
		return UV_EALREADY;
	if (chain->is_cancelled)
		return UV_EALREADY;
	chain->is_cancelled = true;
	chain->how = how;
	return 0;
}

static void chain_unref(rpma_uv_future_t *f)
{
	rpma_uv_unref(chain_of(f)->step);
}

static const struct rpma_uv__kind chain_kind = {
	.name = "chain",
	.cancel = chain_cancel,
	.child_done = child_done,
	.unref = chain_unref,
};

rpma_uv_future_t *rpma_uv_chain(rpma_uv_future_t *f, rpma_uv_next_fn next, void *data)
{
	rpma_uv_op_t *op;

	if (f == NULL)
		return NULL;
	op = rpma_uv__parent_begin(f->reactor->impl, NULL, &chain_kind);
	if (op == NULL)
		return NULL;
	*chain_of(&op->future) = (struct chain){ .next = next, .data = data, .step = f };
	if (next == NULL)
		rpma_uv__future_finish(&op->future, UV_EINVAL, 0, 0);
	else if (f->u_parent != NULL)
		rpma_uv__future_finish(&op->future, UV_EBUSY, 0, 0);
	else
		rpma_uv__future_adopt(&op->future, f);
	return &op->future;
}
