/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * op.h - work requests
 *
 * ERRORS
 * - RPMA_E_INVAL     the range is outside the region
 * - RPMA_E_PROVIDER  the device refuses; errno tells why
 */

#ifndef RPMA_OP_H
#define RPMA_OP_H

#include "librpma.h"

/* posts one receive; a NULL dst takes an empty message */
int rpma__op_recv(struct ibv_qp *qp, const struct rpma_mr_local *dst, size_t offset, size_t len,
	const void *op_context);

/* the same on a shared receive queue */
int rpma__op_srq_recv(struct ibv_srq *srq, const struct rpma_mr_local *dst, size_t offset,
	size_t len, const void *op_context);

#endif /* RPMA_OP_H */
