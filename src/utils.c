/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* utils.c - devices and texts */

#include <errno.h>

#include "device.h"
#include "err.h"
#include "id.h"
#include "info.h"
#include "log.h"

static int bind_or_resolve(struct rdma_cm_id *id, const struct rdma_addrinfo *info,
	enum rpma_util_ibv_context_type type)
{
	if (type == RPMA_UTIL_IBV_CONTEXT_LOCAL)
		return rpma__id_bind(id, info);
	return rpma__id_resolve_addr(id, info, RPMA_DEFAULT_TIMEOUT_MS);
}

int rpma_utils_get_ibv_context(
	const char *addr, enum rpma_util_ibv_context_type type, struct ibv_context **ibv_ctx_ptr)
{
	enum rpma__info_side side = RPMA__INFO_ACTIVE;
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;
	int ret;

	if (!addr || !ibv_ctx_ptr)
		return RPMA_E_INVAL;
	if (type != RPMA_UTIL_IBV_CONTEXT_LOCAL && type != RPMA_UTIL_IBV_CONTEXT_REMOTE)
		return RPMA_E_INVAL;

	if (type == RPMA_UTIL_IBV_CONTEXT_LOCAL)
		side = RPMA__INFO_PASSIVE;
	ret = rpma__info_new(addr, NULL, side, &info);
	if (ret)
		return ret;
	ret = rpma__id_new(NULL, &id);
	if (ret)
		goto freeaddrinfo;
	ret = bind_or_resolve(id, info, type);
	if (ret)
		goto id_delete;
	if (!id->verbs) {
		errno = ENODEV;
		RPMA_LOG_PROVIDER("the address %s belongs to no RDMA device", addr);
		ret = RPMA_E_PROVIDER;
		goto id_delete;
	}

	/* rdma_cm keeps its devices open, so this outlives the id */
	*ibv_ctx_ptr = id->verbs;

id_delete:
	RPMA__UNDO(rpma__id_delete(id));
freeaddrinfo:
	RPMA__UNDO(rdma_freeaddrinfo(info));
	return ret;
}

int rpma_utils_ibv_context_is_odp_capable(struct ibv_context *ibv_ctx, int *is_odp_capable)
{
	struct ibv_device_attr_ex attr;
	int ret;

	if (!ibv_ctx || !is_odp_capable)
		return RPMA_E_INVAL;

	*is_odp_capable = 0;
	ret = rpma__device_query(ibv_ctx, &attr);
	if (ret)
		return ret;

	*is_odp_capable = rpma__device_is_odp_capable(rpma__device_odp(&attr));
	return 0;
}

const char *rpma_utils_conn_event_2str(enum rpma_conn_event conn_event)
{
	switch (conn_event) {
	case RPMA_CONN_UNDEFINED:
		return "Undefined connection event";
	case RPMA_CONN_ESTABLISHED:
		return "Connection established";
	case RPMA_CONN_CLOSED:
		return "Connection closed";
	case RPMA_CONN_LOST:
		return "Connection lost";
	case RPMA_CONN_REJECTED:
		return "Connection rejected";
	case RPMA_CONN_UNREACHABLE:
		return "Connection unreachable";
	default:
		return "Unsupported connection event";
	}
}
