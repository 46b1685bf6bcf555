/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * inputs.h - the many futures that an `all` or an `any` waits for
 *
 *   running    inputs that are pending
 *   consumed   inputs of the slab that are done, kept readable until the parent is consumed itself
 *
 * ASSUMPTIONS
 * - an input is on one of the two lists, or on none while it is ready, and one of the program's own
 *   on none once it is done
 */

#ifndef RPMA_UV_INPUTS_H
#define RPMA_UV_INPUTS_H

#include "future_object.h"

struct rpma_uv__inputs *rpma_uv__inputs_of(rpma_uv_future_t *parent);

void rpma_uv__inputs_init(rpma_uv_future_t *parent, unsigned n);

/*
 * Make parent the parent of every input, or of none: when one has a parent already or stands there
 * twice (UV_EBUSY), or is another reactor's (UV_EINVAL). Each knows its index then; none has been
 * adopted yet.
 */
int rpma_uv__inputs_claim(rpma_uv_future_t *parent, rpma_uv_future_t *const f[], unsigned n);

/* adopt a claimed input that is not done */
void rpma_uv__inputs_adopt(rpma_uv_future_t *parent, rpma_uv_future_t *f);

/* it is not running any more, or not our business any more */
void rpma_uv__inputs_unlist(rpma_uv_future_t *f);

/* keep a slab input that is done; false: it is not of the slab */
bool rpma_uv__inputs_keep(rpma_uv_future_t *parent, rpma_uv_future_t *f);
void rpma_uv__inputs_unkeep(rpma_uv_future_t *f);

/* take the kept ones over from a parent that is done: its storage may be reused from now on */
void rpma_uv__inputs_take(struct rpma_uv__futures *to, rpma_uv_future_t *parent);
void rpma_uv__inputs_free(struct rpma_uv__reactor *r, struct rpma_uv__futures *consumed);

/* ask every running input to stop: 0, or the first refusal; a kind's cancel and unref */
int rpma_uv__inputs_cancel(rpma_uv_future_t *parent, unsigned how);
void rpma_uv__inputs_unref(rpma_uv_future_t *parent);

#endif /* RPMA_UV_INPUTS_H */
