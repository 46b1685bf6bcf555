/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * reconnect.h - trying to connect until it works
 */

#ifndef RPMA_UV_RECONNECT_H
#define RPMA_UV_RECONNECT_H

struct rpma_uv__reactor;

/* give all of them up: the reactor closes */
void rpma_uv__reconnects_cancel(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_RECONNECT_H */
