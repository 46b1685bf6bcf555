/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * status.h - every foreign way of saying "it failed" as one UV_E*
 *
 * ASSUMPTIONS
 * - errno is still that of the failed call where it is asked for
 */

#ifndef RPMA_UV_STATUS_H
#define RPMA_UV_STATUS_H

#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/* errno of the call that has just failed; never 0 */
int rpma_uv__status_errno(void);

/* a return code of the core; RPMA_E_PROVIDER means errno */
int rpma_uv__status_core(int ret);

/* a work completion that failed for a reason of its own, that is, not by flush */
int rpma_uv__status_wc(enum ibv_wc_status status);

/* a CM event that ends a connection, with its status (negative errno, or a reason code) */
int rpma_uv__status_cm(enum rdma_cm_event_type event, int status);

/* the future's detail of a work completion: its status, the vendor's code above */
static inline uint32_t rpma_uv__detail_wc(const struct ibv_wc *wc)
{
	return (uint32_t)wc->status | wc->vendor_err << 8;
}

#endif /* RPMA_UV_STATUS_H */
