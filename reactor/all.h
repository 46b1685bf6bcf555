/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* all.h - what the rest of the futures knows of an `all` */

#ifndef RPMA_UV_ALL_H
#define RPMA_UV_ALL_H

#include "future.h"

/*
 * A kept input of a pending parent gets a callback late. An `all` waits for it as well and returns
 * true; an `any` does not wait.
 */
bool rpma_uv__all_awaits(rpma_uv_future_t *parent);

#endif /* RPMA_UV_ALL_H */
