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
#include "src/mr.h"

/*
 * Where a range begins. The core's ranges fit into one work request; these may be longer. mr is not
 * NULL.
 */
static inline int rpma_uv__rma_local(rpma_uv_local_t at, size_t len, struct ibv_sge *sge)
{
	if (!rpma__mr_local_contains(at.mr, at.offset, len))
		return UV_EINVAL;
	rpma__mr_local_at(at.mr, at.offset, sge);
	return 0;
}

static inline int rpma_uv__rma_remote(
	rpma_uv_remote_t at, size_t len, uint64_t *addr_ptr, uint32_t *rkey_ptr)
{
	if (!rpma__mr_remote_contains(at.mr, at.offset, len))
		return UV_EINVAL;
	rpma__mr_remote_at(at.mr, at.offset, addr_ptr, rkey_ptr);
	return 0;
}

/* begin an operation of this kind, to be filled in where it is; NULL: the slab could not grow */
struct rpma_uv__wr *rpma_uv__rma_begin(
	rpma_uv_conn_t *c, rpma_uv_op_t *op, const struct rpma_uv__kind *kind);

/* queue it if it was found good, or end it with `status` */
rpma_uv_future_t *rpma_uv__rma_start(rpma_uv_conn_t *c, struct rpma_uv__wr *wr, int status);

/* the cancel of their kinds */
int rpma_uv__rma_cancel(rpma_uv_future_t *f, unsigned how);

#endif /* RPMA_UV_RMA_H */
