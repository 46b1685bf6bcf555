/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* status.c - every foreign way of saying "it failed" as one UV_E* */

#include <errno.h>
#include <uv.h>

#include "librpma.h"
#include "status.h"

int rpma_uv__status_errno(void)
{
	return errno != 0 ? uv_translate_sys_error(errno) : UV_EIO;
}

int rpma_uv__status_core(int ret)
{
	switch (ret) {
	case 0:
		return 0;
	case RPMA_E_INVAL:
		return UV_EINVAL;
	case RPMA_E_NOMEM:
		return UV_ENOMEM;
	case RPMA_E_NOSUPP:
		return UV_ENOTSUP;
	case RPMA_E_AGAIN:
		return UV_EAGAIN;
	case RPMA_E_PROVIDER:
		return rpma_uv__status_errno();
	default:
		return UV_EIO;
	}
}

int rpma_uv__status_wc(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_RETRY_EXC_ERR:
		return UV_ETIMEDOUT;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return UV_ENOBUFS;
	case IBV_WC_REM_ACCESS_ERR:
		return UV_EACCES;
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
		return UV_EREMOTEIO;
	case IBV_WC_LOC_PROT_ERR:
		return UV_EFAULT;
	case IBV_WC_LOC_LEN_ERR:
		return UV_EMSGSIZE;
	default:
		return UV_EIO;
	}
}

int rpma_uv__status_cm(enum rdma_cm_event_type event, int status)
{
	switch (event) {
	case RDMA_CM_EVENT_REJECTED:
		return UV_ECONNREFUSED;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return UV_EHOSTUNREACH;
	case RDMA_CM_EVENT_ADDR_ERROR:
		return status < 0 ? status : UV_EADDRNOTAVAIL;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return UV_ECONNRESET;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return UV_ENODEV;
	default:
		return status < 0 ? status : UV_EIO;
	}
}
