/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * keepalive.h - a sign of life from the peer of a silent connection
 *
 * ASSUMPTIONS
 * - started when the connection becomes READY, stopped when it leaves READY
 */

#ifndef RPMA_UV_KEEPALIVE_H
#define RPMA_UV_KEEPALIVE_H

#include "deadline.h"
#include "queue.h"

struct rpma_uv__keepalive {
	uint64_t interval_ms; /* 0: none */
	struct rpma_uv__deadline deadline;
	struct rpma_uv__wr wr; /* free while nothing of the send side waits or is posted */
};

void rpma_uv__keepalive_init(rpma_uv_conn_t *c);

/* READY: if there is an interval, it begins */
void rpma_uv__keepalive_start(rpma_uv_conn_t *c);

/* no-op on one that was not started */
void rpma_uv__keepalive_stop(rpma_uv_conn_t *c);

#endif /* RPMA_UV_KEEPALIVE_H */
