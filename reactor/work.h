/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * work.h - work that other threads hand over
 *
 * ASSUMPTIONS
 * - posting is for any thread, everything else here for the loop's
 * - nobody begins to post once the reactor's closing has begun, but who began before may be still
 *   at it: the last thing that a post touches is `posting`
 */

#ifndef RPMA_UV_WORK_H
#define RPMA_UV_WORK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "librpma_uv.h"

struct rpma_uv__reactor;

struct rpma_uv__works {
	/* any thread */
	rpma_uv_work_t *_Atomic posted; /* the last one first */
	atomic_uint posting; /* threads within rpma_uv_reactor_post() */
	uv_async_t wake;
	/* the loop's thread: taken and not run yet, the first one first; a hold while there is one */
	rpma_uv_work_t *first;
	rpma_uv_work_t *last;
};

/* before all other handles: it is the only one that may fail */
int rpma_uv__works_init(struct rpma_uv__reactor *r);

/* take over what was posted by now: it keeps the loop alive until it has run */
void rpma_uv__works_take(struct rpma_uv__reactor *r);

/* take over and run what was posted by now, `most` of it at most; returns how many */
unsigned rpma_uv__works_run(struct rpma_uv__reactor *r, unsigned most);

/* some of it has been taken and waits for the next phase */
bool rpma_uv__works_are_left(const struct rpma_uv__reactor *r);

/* a post has not returned yet */
bool rpma_uv__works_are_posting(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_WORK_H */
