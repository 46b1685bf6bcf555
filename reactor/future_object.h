/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * future_object.h - what the files of futures share: the states drawn atop future.c, and parents
 *
 * ASSUMPTIONS
 * - futures become done in the order in which they became ready, whatever the phase
 */

#ifndef RPMA_UV_FUTURE_OBJECT_H
#define RPMA_UV_FUTURE_OBJECT_H

#include "future.h"

/* u_state */
enum {
	RPMA_UV__FUTURE_PENDING,
	RPMA_UV__FUTURE_READY,
	RPMA_UV__FUTURE_DONE,
};

/* u_flags */
enum {
	RPMA_UV__FROM_SLAB = 1 << 0,
	RPMA_UV__RELEASED = 1 << 1, /* nobody will look: free when done */
	RPMA_UV__CB_DUE = 1 << 2, /* u_cb has not run yet */
	RPMA_UV__PARENT_DUE = 1 << 3, /* u_parent has not learned yet */
	RPMA_UV__LISTED = 1 << 4, /* u_link is on its parent's list of running inputs */
	RPMA_UV__KEPT = 1 << 5, /* of the slab, u_link is on the list of consumed inputs */
	RPMA_UV__COUNTED = 1 << 6, /* an `all` knows the outcome, and waits for the callback only */
	RPMA_UV__UNREFD = 1 << 7, /* does not count in reactor->holds */
	RPMA_UV__TIMED = 1 << 8, /* u_deadline is set */
	RPMA_UV__TIMED_FORCE = 1 << 9, /* and will force */
};

static inline const struct rpma_uv__kind *rpma_uv__kind_of(const rpma_uv_future_t *f)
{
	return f->u_kind;
}

/* as rpma_uv__op_begin(), for an `all` or an `any`: storage may be NULL */
void *rpma_uv__parent_begin(
	struct rpma_uv__reactor *r, void *storage, const struct rpma_uv__kind *kind);

/* make parent the parent of f, which has none; a future that is done already reports next turn */
void rpma_uv__future_adopt(rpma_uv_future_t *parent, rpma_uv_future_t *f);

#endif /* RPMA_UV_FUTURE_OBJECT_H */
