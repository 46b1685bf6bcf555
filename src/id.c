/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* id.c - rdma_cm ids, their events and queue pairs */

#include <errno.h>

#include "err.h"
#include "id.h"
#include "lock.h"
#include "log.h"

int rpma__id_channel_new(struct rdma_event_channel **channel_ptr)
{
	struct rdma_event_channel *channel;

	rpma__lock();
	channel = rdma_create_event_channel();
	rpma__unlock();
	if (!channel) {
		RPMA_LOG_PROVIDER("rdma_create_event_channel()");
		return RPMA_E_PROVIDER;
	}

	*channel_ptr = channel;
	return 0;
}

void rpma__id_channel_delete(struct rdma_event_channel *channel)
{
	rdma_destroy_event_channel(channel);
}

int rpma__id_next_event(struct rdma_event_channel *channel, struct rdma_cm_event **event_ptr)
{
	if (!rdma_get_cm_event(channel, event_ptr))
		return 0;

	/* EINTR ends the wait, so that a program's signal handler can still stop the program */
	if (errno == ENODATA || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
		return RPMA_E_NO_EVENT;
	RPMA_LOG_PROVIDER("rdma_get_cm_event()");
	return RPMA_E_PROVIDER;
}

int rpma__id_ack_event(struct rdma_cm_event *event)
{
	if (!rdma_ack_cm_event(event))
		return 0;

	RPMA_LOG_PROVIDER("rdma_ack_cm_event()");
	return RPMA_E_PROVIDER;
}

int rpma__id_new(struct rdma_event_channel *channel, struct rdma_cm_id **id_ptr)
{
	int ret;

	rpma__lock();
	ret = rdma_create_id(channel, id_ptr, NULL, RDMA_PS_TCP);
	rpma__unlock();
	if (!ret)
		return 0;

	RPMA_LOG_PROVIDER("rdma_create_id()");
	return RPMA_E_PROVIDER;
}

int rpma__id_delete(struct rdma_cm_id *id)
{
	int ret;

	rpma__lock();
	ret = rdma_destroy_id(id);
	rpma__unlock();
	if (!ret)
		return 0;

	RPMA_LOG_PROVIDER("rdma_destroy_id()");
	return RPMA_E_PROVIDER;
}

int rpma__id_bind(struct rdma_cm_id *id, const struct rdma_addrinfo *info)
{
	int ret;

	rpma__lock();
	ret = rdma_bind_addr(id, info->ai_src_addr);
	rpma__unlock();
	if (!ret)
		return 0;

	RPMA_LOG_PROVIDER("rdma_bind_addr()");
	return RPMA_E_PROVIDER;
}

int rpma__id_listen(struct rdma_cm_id *id)
{
	int ret;

	rpma__lock();
	ret = rdma_listen(id, 0); /* 0: as many requests as the system allows */
	rpma__unlock();
	if (!ret)
		return 0;

	RPMA_LOG_PROVIDER("rdma_listen()");
	return RPMA_E_PROVIDER;
}

int rpma__id_resolve_addr(struct rdma_cm_id *id, const struct rdma_addrinfo *info, int timeout_ms)
{
	if (!rdma_resolve_addr(id, info->ai_src_addr, info->ai_dst_addr, timeout_ms))
		return 0;

	RPMA_LOG_PROVIDER("rdma_resolve_addr(timeout_ms=%d)", timeout_ms);
	return RPMA_E_PROVIDER;
}

int rpma__id_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	if (!rdma_resolve_route(id, timeout_ms))
		return 0;

	RPMA_LOG_PROVIDER("rdma_resolve_route(timeout_ms=%d)", timeout_ms);
	return RPMA_E_PROVIDER;
}

int rpma__id_migrate(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	if (!rdma_migrate_id(id, channel))
		return 0;

	RPMA_LOG_PROVIDER("rdma_migrate_id()");
	return RPMA_E_PROVIDER;
}

int rpma__id_reject(struct rdma_cm_id *id)
{
	int ret;

	rpma__lock();
	ret = rdma_reject(id, NULL, 0);
	rpma__unlock();
	if (!ret)
		return 0;

	RPMA_LOG_PROVIDER("rdma_reject()");
	return RPMA_E_PROVIDER;
}

int rpma__id_disconnect(struct rdma_cm_id *id)
{
	int ret;

	rpma__lock();
	ret = rdma_disconnect(id);
	rpma__unlock();
	if (!ret)
		return 0;

	RPMA_LOG_PROVIDER("rdma_disconnect()");
	return RPMA_E_PROVIDER;
}

void rpma__id_delete_qp(struct rdma_cm_id *id)
{
	rpma__lock();
	rdma_destroy_qp(id);
	rpma__unlock();
}
