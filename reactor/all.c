/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* all.c - done when all inputs are done */

#include <stdio.h>

#include "all.h"
#include "inputs.h"
#include "reactor.h"

static void note_failure(rpma_uv_all_t *all, int status, uint32_t detail, int16_t label)
{
	if (all->failed++ > 0)
		return;
	all->future.u_status = status;
	all->future.u_label = label;
	all->future.detail = detail;
}

static void count(rpma_uv_all_t *all)
{
	assert(all->u_inputs.left > 0);
	if (--all->u_inputs.left == 0)
		rpma_uv__future_finish(&all->future, all->future.u_status, all->total - all->failed,
			all->future.detail);
}

static bool child_done(rpma_uv_future_t *parent, rpma_uv_future_t *child)
{
	rpma_uv_all_t *all = (rpma_uv_all_t *)parent;
	/* a slab input stays readable until the callback of all has returned */
	bool is_kept = rpma_uv__inputs_keep(parent, child);

	if (child->status < 0 && !(child->u_flags & RPMA_UV__COUNTED))
		note_failure(all, child->status, child->detail, child->u_label);
	count(all);
	return is_kept;
}

static void describe(const rpma_uv_future_t *f, char *text, size_t size)
{
	const rpma_uv_all_t *all = (const rpma_uv_all_t *)f;

	if (f->status < 0 && all->failed > 0)
		snprintf(text, size, ": %u of %u failed, the first", all->failed, all->total);
}

static const struct rpma_uv__kind all_kind = {
	.name = "all",
	.cancel = rpma_uv__inputs_cancel,
	.child_done = child_done,
	.unref = rpma_uv__inputs_unref,
	.describe = describe,
	.has_inputs = true,
};

bool rpma_uv__all_awaits(rpma_uv_future_t *parent)
{
	if (rpma_uv__kind_of(parent) != &all_kind)
		return false;
	rpma_uv__inputs_of(parent)->left++;
	return true;
}

static void take(rpma_uv_all_t *all, rpma_uv_future_t *f)
{
	if (f == NULL) {
		note_failure(all, UV_ENOMEM, 0, 0);
		count(all);
	} else if (f->u_state == RPMA_UV__FUTURE_DONE) {
		(void)child_done(&all->future, f);
	} else {
		rpma_uv__inputs_adopt(&all->future, f);
	}
}

rpma_uv_future_t *rpma_uv_all(
	rpma_uv_reactor_t *r, rpma_uv_all_t *all, rpma_uv_future_t *const f[], unsigned n)
{
	int status;

	all = rpma_uv__parent_begin(r->impl, all, &all_kind);
	if (all == NULL)
		return NULL;
	rpma_uv__inputs_init(&all->future, n);
	all->total = n;
	all->failed = 0;
	status = rpma_uv__inputs_claim(&all->future, f, n);
	if (n == 0 || status)
		rpma_uv__future_finish(&all->future, status, 0, 0);
	for (unsigned i = 0; i < n && rpma_uv__future_is_pending(&all->future); i++)
		take(all, f[i]);
	return &all->future;
}
