/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* ep.c - endpoints: listening for connection requests */

#include <stdlib.h>

#include "conn_req.h"
#include "err.h"
#include "id.h"
#include "info.h"
#include "log.h"

struct rpma_ep {
	struct rpma_peer *peer;
	struct rdma_event_channel *evch;
	struct rdma_cm_id *id;
};

static int listen_at(struct rdma_cm_id *id, const char *addr, const char *port)
{
	struct rdma_addrinfo *info;
	int ret = rpma__info_new(addr, port, RPMA__INFO_PASSIVE, &info);

	if (ret)
		return ret;
	ret = rpma__id_bind(id, info);
	RPMA__UNDO(rdma_freeaddrinfo(info));
	if (ret)
		return ret;
	return rpma__id_listen(id);
}

int rpma_ep_listen(
	struct rpma_peer *peer, const char *addr, const char *port, struct rpma_ep **ep_ptr)
{
	struct rpma_ep *ep;
	int ret;

	if (!peer || !addr || !port || !ep_ptr)
		return RPMA_E_INVAL;

	ep = malloc(sizeof(*ep));
	if (!ep)
		return RPMA_E_NOMEM;
	ep->peer = peer;
	ret = rpma__id_channel_new(&ep->evch);
	if (ret)
		goto err_free;
	ret = rpma__id_new(ep->evch, &ep->id);
	if (ret)
		goto err_channel_delete;
	ret = listen_at(ep->id, addr, port);
	if (ret)
		goto err_id_delete;

	RPMA_LOG_NOTICE("listening at %s:%s", addr, port);
	*ep_ptr = ep;
	return 0;

err_id_delete:
	RPMA__UNDO(rpma__id_delete(ep->id));
err_channel_delete:
	RPMA__UNDO(rpma__id_channel_delete(ep->evch));
err_free:
	RPMA__UNDO(free(ep));
	return ret;
}

int rpma_ep_shutdown(struct rpma_ep **ep_ptr)
{
	struct rpma_ep *ep;
	int ret;

	if (!ep_ptr)
		return RPMA_E_INVAL;
	ep = *ep_ptr;
	if (!ep)
		return 0;

	ret = rpma__id_delete(ep->id);
	RPMA__UNDO(rpma__id_channel_delete(ep->evch));
	RPMA__UNDO(free(ep));
	*ep_ptr = NULL;
	return ret;
}

int rpma_ep_get_fd(const struct rpma_ep *ep, int *fd)
{
	if (!ep || !fd)
		return RPMA_E_INVAL;

	*fd = ep->evch->fd;
	return 0;
}

int rpma_ep_next_conn_req(
	struct rpma_ep *ep, const struct rpma_conn_cfg *cfg, struct rpma_conn_req **req_ptr)
{
	struct rdma_cm_event *event;
	struct rpma_conn_req *req;
	struct rdma_cm_id *id;
	int ret;

	if (!ep || !req_ptr)
		return RPMA_E_INVAL;

	ret = rpma__id_next_event(ep->evch, &event);
	if (ret)
		return ret;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		RPMA_LOG_ERROR("skipped %s (status %d): not a connection request",
			rdma_event_str(event->event), event->status);
		(void)rpma__id_ack_event(event);
		return RPMA_E_INVAL;
	}

	id = event->id;
	ret = rpma__conn_req_from_event(ep->peer, event, cfg, &req);
	if (ret) {
		/* tell the peer at once, or it would wait; the id is ours to destroy */
		RPMA__UNDO(rpma__id_ack_event(event));
		RPMA__UNDO(rpma__id_reject(id));
		RPMA__UNDO(rpma__id_delete(id));
		return ret;
	}
	ret = rpma__id_ack_event(event);
	if (ret)
		goto err_req_delete;

	/*
	 * From now on the request does not need the endpoint, which may be shut down. And nobody
	 * who waits at the endpoint can fetch, and lose, what happens to the request's id.
	 */
	ret = rpma__conn_req_own_events(req);
	if (ret)
		goto err_req_delete;

	*req_ptr = req;
	return 0;

err_req_delete:
	RPMA__UNDO(rpma_conn_req_delete(&req));
	*req_ptr = NULL; /* unlike most outputs; programs rely on it */
	return ret;
}
