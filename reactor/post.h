/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * post.h - from operations that wait to lists of work requests
 *
 * ASSUMPTIONS
 * - a connection that is posted for has a queue pair; sends are posted at READY only
 */

#ifndef RPMA_UV_POST_H
#define RPMA_UV_POST_H

#include <stdbool.h>

#include "queue.h"

/* work requests in one list */
#define RPMA_UV__WR_BATCH 128

/* one list while it is being built, and what its work requests are parts of */
struct rpma_uv__wr_scratch {
	struct ibv_send_wr send[RPMA_UV__WR_BATCH];
	struct ibv_recv_wr recv[RPMA_UV__WR_BATCH];
	struct ibv_sge sge[RPMA_UV__WR_BATCH];
	struct rpma_uv__part {
		struct rpma_uv__wr *wr;
		struct rpma_uv__cursor after; /* it */
		bool is_read;
		bool is_native; /* the device's own flush or atomic write */
		bool is_last; /* of its operation */
	} parts[RPMA_UV__WR_BATCH];
};

/*
 * the scratch's list of receives, from the first that waits on, as far as there is room; how many
 */
unsigned rpma_uv__recvs_build(
	struct rpma_uv__reactor *r, const struct rpma_uv__wrs *waiting, unsigned room);

/* post what waits, as far as there is room: one list, one doorbell */
void rpma_uv__post_recvs(rpma_uv_conn_t *c);
void rpma_uv__post_sends(rpma_uv_conn_t *c);

/* is there something that could be posted right now? */
bool rpma_uv__post_is_due(const rpma_uv_conn_t *c);

#endif /* RPMA_UV_POST_H */
