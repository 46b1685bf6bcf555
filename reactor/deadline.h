/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * deadline.h - many deadlines on one uv_timer_t
 *
 * ASSUMPTIONS
 * - a deadline is embedded in what it watches and must be cleared before that is freed
 * - expired() runs from the check phase with the deadline cleared; it may set it again
 */

#ifndef RPMA_UV_DEADLINE_H
#define RPMA_UV_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "librpma_uv.h" /* struct rpma_uv__deadline: futures carry one */

struct rpma_uv__reactor;

void rpma_uv__deadline_init(
	struct rpma_uv__deadline *d, void (*expired)(struct rpma_uv__deadline *));

/* set, or move, to timeout_ms from now */
void rpma_uv__deadline_set(
	struct rpma_uv__reactor *r, struct rpma_uv__deadline *d, uint64_t timeout_ms);

/* clear; one that is not set stays so */
void rpma_uv__deadline_clear(struct rpma_uv__reactor *r, struct rpma_uv__deadline *d);

static inline bool rpma_uv__deadline_is_set(const struct rpma_uv__deadline *d)
{
	return d->link != NULL;
}

/* the check phase: expire what is due, if the timer has fired */
void rpma_uv__deadlines_expire(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_DEADLINE_H */
