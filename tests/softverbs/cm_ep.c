/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* cm_ep.c - endpoints: synchronous ids made in one call from the result of rdma_getaddrinfo */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

#define RESOLVE_MS 2000

static int fail(int error)
{
	errno = error;
	return -1;
}

static int create_active(struct rdma_cm_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd,
	struct ibv_qp_init_attr *attr)
{
	if (rdma_resolve_addr(id, res->ai_src_addr, res->ai_dst_addr, RESOLVE_MS) != 0 ||
		rdma_resolve_route(id, RESOLVE_MS) != 0)
		return -1;
	if (attr == NULL)
		return 0;
	attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	return rdma_create_qp(id, pd, attr);
}

/* the attributes are for the ids of the requests that come in */
static int create_passive(struct rdma_cm_id *base, struct rdma_addrinfo *res, struct ibv_pd *pd,
	struct ibv_qp_init_attr *attr)
{
	struct sv_id *id = sv_id(base);

	if (rdma_bind_addr(base, res->ai_src_addr) != 0)
		return -1;
	if (attr == NULL)
		return 0;
	id->ep_attr = malloc(sizeof(*id->ep_attr));
	if (id->ep_attr == NULL)
		return -1;
	*id->ep_attr = *attr;
	id->ep_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	id->ep_pd = pd;
	return 0;
}

SV_EXPORT int rdma_create_ep(struct rdma_cm_id **id_ptr, struct rdma_addrinfo *res,
	struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *id;
	int ret;

	SV_ENTER();
	if (rdma_create_id(NULL, &id, NULL, (enum rdma_port_space)res->ai_port_space) != 0)
		return -1;
	if (res->ai_flags & RAI_PASSIVE)
		ret = create_passive(id, res, pd, attr);
	else
		ret = create_active(id, res, pd, attr);
	if (ret != 0) {
		int saved = errno;

		rdma_destroy_ep(id);
		return fail(saved);
	}
	*id_ptr = id;
	return 0;
}

SV_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (SV_DEAD(SV_ID, id))
		return;
	if (id->qp != NULL)
		rdma_destroy_qp(id);
	if (id->srq != NULL)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* hands over the id of the request, with the event that brought it */
static int take_request(struct sv_id *listener, struct rdma_cm_event *event, struct rdma_cm_id **id)
{
	struct ibv_qp_init_attr attr;

	if (event->status != 0)
		return fail(abs(event->status));
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return fail(EINVAL);
	if (listener->ep_attr != NULL) {
		attr = *listener->ep_attr;
		if (attr.qp_context == NULL)
			attr.qp_context = event->id;
		if (rdma_create_qp(event->id, listener->ep_pd, &attr) != 0)
			return -1;
	}
	*id = event->id;
	(*id)->event = event;
	return 0;
}

SV_EXPORT int rdma_get_request(struct rdma_cm_id *base, struct rdma_cm_id **id_ptr)
{
	struct sv_id *listener = sv_id(base);
	struct rdma_cm_event *event;

	if (SV_DEAD(SV_ID, base))
		return -1;
	if (!listener->sync)
		return fail(EINVAL);
	if (base->event != NULL) {
		rdma_ack_cm_event(base->event);
		base->event = NULL;
	}
	if (rdma_get_cm_event(base->channel, &event) != 0)
		return -1;
	if (take_request(listener, event, id_ptr) != 0) {
		base->event = event;
		return -1;
	}
	return 0;
}
