/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* timeout.c - a future's deadline: a cancel by another name, which goes when the future ends */

#include "deadline.h"
#include "future_object.h"
#include "reactor.h"

static void expired(struct rpma_uv__deadline *d)
{
	rpma_uv_future_t *f = rpma_uv__container_of(d, rpma_uv_future_t, u_deadline);
	struct rpma_uv__reactor *r = f->reactor->impl;
	unsigned how = f->u_flags & RPMA_UV__TIMED_FORCE ? RPMA_UV_FORCE : 0;

	f->u_flags &= ~(RPMA_UV__TIMED | RPMA_UV__TIMED_FORCE);
	r->stats.timeouts++;
	if (rpma_uv__future_cancel(f, how | RPMA_UV__TIMED_OUT))
		r->stats.timeouts_refused++;
}

int rpma_uv_timeout(rpma_uv_future_t *f, uint64_t ms, unsigned how)
{
	if (f == NULL || (how & ~RPMA_UV_FORCE))
		return UV_EINVAL;
	if (!rpma_uv__future_is_pending(f))
		return UV_EALREADY;
	if (!(f->u_flags & RPMA_UV__TIMED))
		rpma_uv__deadline_init(&f->u_deadline, expired);
	f->u_flags &= ~RPMA_UV__TIMED_FORCE;
	f->u_flags |= RPMA_UV__TIMED | (how & RPMA_UV_FORCE ? RPMA_UV__TIMED_FORCE : 0);
	rpma_uv__deadline_set(f->reactor->impl, &f->u_deadline, ms);
	return 0;
}
