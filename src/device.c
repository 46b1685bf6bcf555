/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* device.c - what a device can */

#include <errno.h>
#include <string.h>

#include "device.h"
#include "err.h"
#include "log.h"

int rpma__device_query(struct ibv_context *ibv_ctx, struct ibv_device_attr_ex *attr)
{
	int ret;

	memset(attr, 0, sizeof(*attr));
	ret = ibv_query_device_ex(ibv_ctx, NULL, attr);
	if (!ret)
		return 0;
	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("ibv_query_device_ex()");
	return RPMA_E_PROVIDER;
}

uint32_t rpma__device_odp(const struct ibv_device_attr_ex *attr)
{
	return attr->odp_caps.general_caps & IBV_ODP_SUPPORT
		       ? attr->odp_caps.per_transport_caps.rc_odp_caps
		       : 0;
}
