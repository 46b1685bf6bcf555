/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * async.h - asynchronous events of a context
 *
 * Destroying an object drops its events that were not fetched, and waits until those that were are
 * acknowledged.
 */

#ifndef SOFTVERBS_ASYNC_H
#define SOFTVERBS_ASYNC_H

#include "device.h"

void sv_async_init(struct sv_context *c);
void sv_async(struct ibv_context *context, enum ibv_event_type type, void *object);
void sv_async_drop(struct ibv_context *context, void *object);

#endif
