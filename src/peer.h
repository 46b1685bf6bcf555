/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * peer.h - an RDMA device and a protection domain on it
 *
 * ASSUMPTIONS
 * - Pointers are not NULL, unless it is said that they may be.
 * - A peer does not change once it is made: its functions may run on any thread.
 */

#ifndef RPMA_PEER_H
#define RPMA_PEER_H

#include <rdma/rdma_cma.h>

#include "export.h"
#include "librpma.h"
#include "native.h"

RPMA_PRIVATE_API struct ibv_context *rpma__peer_context(const struct rpma_peer *peer);
RPMA_PRIVATE_API struct ibv_pd *rpma__peer_pd(const struct rpma_peer *peer);

/*
 * rpma__peer_create_qp - give an id its queue pair, in the peer's protection domain
 *
 * The depths and the shared receive queue come from cfg; NULL means the defaults. recv_cq may be
 * send_cq. id gets the queue pair, to be destroyed with rdma_destroy_qp(3).
 *
 * ERRORS
 * - RPMA_E_PROVIDER  rdma_create_qp_ex(3) failed; errno tells why
 */
RPMA_PRIVATE_API int rpma__peer_create_qp(struct rpma_peer *peer, struct rdma_cm_id *id,
	const struct rpma_conn_cfg *cfg, struct ibv_cq *send_cq, struct ibv_cq *recv_cq);

/* what the device does natively */
const struct rpma__native *rpma__peer_native(const struct rpma_peer *peer);

/* can the device page on demand? */
bool rpma__peer_is_odp_capable(const struct rpma_peer *peer);

/* also the messages that a usage stands for? */
bool rpma__peer_pages_messages(const struct rpma_peer *peer, int usage);

/* a region's usage as access flags for ibv_reg_mr(3) */
int rpma__peer_usage_to_access(const struct rpma_peer *peer, int usage);

#endif /* RPMA_PEER_H */
