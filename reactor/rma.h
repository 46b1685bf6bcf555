/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * rma.h - what the operations on remote memory share
 *
 * ERRORS
 * - UV_EINVAL  the range is not inside the region
 */

#ifndef RPMA_UV_RMA_H
#define RPMA_UV_RMA_H

#include "conn.h"
#include "queue.h"

/*
 * Where a range begins. The core's ranges fit into one work request; these may be longer. mr is not
 * NULL.
 */
int rpma_uv__rma_local(rpma_uv_local_t at, size_t len, struct ibv_sge *sge);
int rpma_uv__rma_remote(rpma_uv_remote_t at, size_t len, uint64_t *addr_ptr, uint32_t *rkey_ptr);

/* queue an operation that was found good, or end it with `status` */
rpma_uv_future_t *rpma_uv__rma_start(rpma_uv_conn_t *c, rpma_uv_op_t *op,
	const struct rpma_uv__kind *kind, const struct rpma_uv__wr *from, int status);

/* the cancel of their kinds */
int rpma_uv__rma_cancel(rpma_uv_future_t *f, unsigned how);

#endif /* RPMA_UV_RMA_H */
