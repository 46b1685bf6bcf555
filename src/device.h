/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * device.h - what a device can
 */

#ifndef RPMA_DEVICE_H
#define RPMA_DEVICE_H

#include "librpma.h"

/*
 * rpma__device_query - ask it
 *
 * ERRORS
 * - RPMA_E_PROVIDER  it cannot be queried; errno tells why
 */
int rpma__device_query(struct ibv_context *ibv_ctx, struct ibv_device_attr_ex *attr);

/* what it pages on demand over reliable connections: IBV_ODP_SUPPORT_* */
uint32_t rpma__device_odp(const struct ibv_device_attr_ex *attr);

/* reads and writes, which is what a region without pinned pages has to stand */
static inline bool rpma__device_is_odp_capable(uint32_t odp)
{
	const uint32_t needed = IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_WRITE;

	return (odp & needed) == needed;
}

#endif /* RPMA_DEVICE_H */
