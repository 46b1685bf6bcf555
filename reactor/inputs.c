/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* inputs.c - taking, keeping and letting go of the inputs of an `all` or an `any` */

#include "inputs.h"
#include "reactor.h"
#include "slab.h"

/* either of them is found behind its future */
_Static_assert(offsetof(rpma_uv_all_t, u_inputs) == sizeof(rpma_uv_future_t), "inputs of all");
_Static_assert(offsetof(rpma_uv_any_t, u_inputs) == sizeof(rpma_uv_future_t), "inputs of any");

/* whoever has this parent was consumed by one that is gone */
static rpma_uv_future_t served = { .u_state = RPMA_UV__FUTURE_DONE };

struct rpma_uv__inputs *rpma_uv__inputs_of(rpma_uv_future_t *parent)
{
	assert(rpma_uv__kind_of(parent)->has_inputs);
	return &((rpma_uv_all_t *)parent)->u_inputs;
}

void rpma_uv__inputs_init(rpma_uv_future_t *parent, unsigned n)
{
	struct rpma_uv__inputs *inputs = rpma_uv__inputs_of(parent);

	TAILQ_INIT(&inputs->running);
	TAILQ_INIT(&inputs->consumed);
	inputs->left = n;
}

/* one of another reactor may outlive the parent, or end in another thread */
static int may_claim(const rpma_uv_future_t *parent, const rpma_uv_future_t *f)
{
	if (f->reactor != parent->reactor)
		return UV_EINVAL;
	return f->u_parent != NULL ? UV_EBUSY : 0;
}

int rpma_uv__inputs_claim(rpma_uv_future_t *parent, rpma_uv_future_t *const f[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int ret = f[i] != NULL ? may_claim(parent, f[i]) : 0;

		if (ret) {
			while (i-- > 0) {
				if (f[i] != NULL)
					f[i]->u_parent = NULL;
			}
			return ret;
		}
		if (f[i] != NULL) {
			f[i]->u_parent = parent;
			f[i]->u_index = i;
		}
	}
	return 0;
}

void rpma_uv__inputs_adopt(rpma_uv_future_t *parent, rpma_uv_future_t *f)
{
	assert(f->u_parent == parent);
	assert(f->u_state != RPMA_UV__FUTURE_DONE);
	if (f->u_state == RPMA_UV__FUTURE_PENDING) {
		TAILQ_INSERT_TAIL(&rpma_uv__inputs_of(parent)->running, f, u_link);
		f->u_flags |= RPMA_UV__LISTED;
	}
	rpma_uv__future_adopt(parent, f);
}

void rpma_uv__inputs_unlist(rpma_uv_future_t *f)
{
	assert(f->u_flags & RPMA_UV__LISTED);
	TAILQ_REMOVE(&rpma_uv__inputs_of(f->u_parent)->running, f, u_link);
	f->u_flags &= ~RPMA_UV__LISTED;
}

/*
 * The list of consumed inputs is used by its first pointer alone, so that one can leave it without
 * knowing whose it is: the parent may be gone by then.
 */
static void keep(struct rpma_uv__futures *consumed, rpma_uv_future_t *f)
{
	f->u_link.tqe_next = consumed->tqh_first;
	f->u_link.tqe_prev = &consumed->tqh_first;
	if (f->u_link.tqe_next != NULL)
		f->u_link.tqe_next->u_link.tqe_prev = &f->u_link.tqe_next;
	consumed->tqh_first = f;
	f->u_flags |= RPMA_UV__KEPT;
}

void rpma_uv__inputs_unkeep(rpma_uv_future_t *f)
{
	assert(f->u_flags & RPMA_UV__KEPT);
	*f->u_link.tqe_prev = f->u_link.tqe_next;
	if (f->u_link.tqe_next != NULL)
		f->u_link.tqe_next->u_link.tqe_prev = f->u_link.tqe_prev;
	f->u_flags &= ~RPMA_UV__KEPT;
}

bool rpma_uv__inputs_keep(rpma_uv_future_t *parent, rpma_uv_future_t *f)
{
	if (!(f->u_flags & RPMA_UV__FROM_SLAB))
		return false;
	if (f->u_flags & RPMA_UV__KEPT) /* by an `any` that it lost to */
		rpma_uv__inputs_unkeep(f);
	keep(&rpma_uv__inputs_of(parent)->consumed, f);
	return true;
}

void rpma_uv__inputs_take(struct rpma_uv__futures *to, rpma_uv_future_t *parent)
{
	struct rpma_uv__futures *from = &rpma_uv__inputs_of(parent)->consumed;
	rpma_uv_future_t *f;

	while ((f = from->tqh_first) != NULL) {
		rpma_uv__inputs_unkeep(f);
		keep(to, f);
		/* a loser has none, and may get another while it is readable */
		if (f->u_parent != NULL)
			f->u_parent = &served;
	}
}

void rpma_uv__inputs_free(struct rpma_uv__reactor *r, struct rpma_uv__futures *consumed)
{
	rpma_uv_future_t *f;

	while ((f = consumed->tqh_first) != NULL) {
		rpma_uv__inputs_unkeep(f);
		rpma_uv__slab_put(r, f);
	}
}

int rpma_uv__inputs_cancel(rpma_uv_future_t *parent, unsigned how)
{
	struct rpma_uv__inputs *inputs = rpma_uv__inputs_of(parent);
	unsigned count = inputs->left;
	rpma_uv_future_t *child;
	int ret = 0;

	/* one that ends takes itself off the list, and neighbours of its connection with it */
	while (count-- > 0 && (child = TAILQ_FIRST(&inputs->running)) != NULL) {
		int status;

		TAILQ_REMOVE(&inputs->running, child, u_link);
		TAILQ_INSERT_TAIL(&inputs->running, child, u_link);
		status = rpma_uv__future_cancel(child, how);
		if (ret == 0 && status != UV_EALREADY) /* over by now: nothing was refused */
			ret = status;
	}
	return ret;
}

void rpma_uv__inputs_unref(rpma_uv_future_t *parent)
{
	rpma_uv_future_t *child;

	TAILQ_FOREACH (child, &rpma_uv__inputs_of(parent)->running, u_link)
		rpma_uv_unref(child);
}
