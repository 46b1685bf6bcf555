/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * pair.h - two ends of a connection in one process, and a region that both may use
 */

#ifndef RPMA_LIVE_PAIR_H
#define RPMA_LIVE_PAIR_H

#include <stdbool.h>
#include <stddef.h>

#include "check.h"
#include "librpma.h"

struct pair {
	struct rpma_conn *active;
	struct rpma_conn *passive;
};

/*
 * One thread makes both ends: the active one on peer, the passive one where ep listens, which is at
 * addr:port. Configurations may be NULL. The answer says hello.
 */
void pair_connect(struct pair *pair, struct rpma_peer *peer, struct rpma_ep *ep, const char *addr,
	const char *port, const struct rpma_conn_cfg *active_cfg,
	const struct rpma_conn_cfg *passive_cfg);

/* both ends see the end, and are deleted */
void pair_part(struct pair *pair);
void pair_delete(struct pair *pair);

void pair_expect_event(struct rpma_conn *conn, enum rpma_conn_event expected);

/* what completes at one end: its queues, waited for if they are empty */
void pair_next_wc(struct rpma_conn *conn, bool is_recv, struct ibv_wc *wc);

/* memory that may be used for everything, with its two objects */
struct region {
	char *bytes;
	size_t size;
	struct rpma_mr_local *local;
	struct rpma_mr_remote *remote;
};

void region_new(struct region *region, struct rpma_peer *peer, size_t size);
void region_delete(struct region *region);

#endif
