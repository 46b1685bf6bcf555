/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * ep.c - listening: requests arrive, are shown to the program, and are answered
 *
 *   request: ARRIVED --ready phase: cb()--> SHOWN --accept(), reject(), listener closed--> gone
 *               |                                                                           ^
 *               +-- listener closed: rejected at once, its turn frees it -------------------+
 */

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "ep.h"
#include "reactor.h"
#include "resolve.h"
#include "src/peer.h"
#include "status.h"

TAILQ_HEAD(conn_reqs, rpma_uv_conn_req);

struct rpma_uv_ep {
	TAILQ_ENTRY(rpma_uv_ep) link;
	struct rpma_uv__reactor *reactor;
	struct rpma_uv__cm_id cm_id;
	struct conn_reqs reqs;
	rpma_uv_conn_req_cb cb;
	void *data;
	bool is_unrefd; /* it is no hold */
	bool is_closing;
	struct rpma_uv__closer closer;
};

struct rpma_uv_conn_req {
	TAILQ_ENTRY(rpma_uv_conn_req) link; /* of ep->reqs, while ep is not NULL */
	struct rpma_uv__reactor *reactor;
	rpma_uv_ep_t *ep; /* NULL: the listener has closed */
	struct rpma_uv__cm_id cm_id;
	struct rpma_conn_private_data received;
	rpma_uv_future_t arrival; /* shows it to the program, in a ready phase */
	bool was_shown;
};

/* ---- requests -------------------------------------------------------------------------------- */

static void req_free(rpma_uv_conn_req_t *req)
{
	if (req->ep != NULL)
		TAILQ_REMOVE(&req->ep->reqs, req, link);
	rpma_uv__cm_id_destroy(&req->cm_id);
	free(req->received.ptr);
	free(req);
}

void rpma_uv__conn_req_consume(rpma_uv_conn_req_t *req, struct rpma_uv__cm_id *cm_id,
	struct rpma_conn_private_data *received)
{
	rpma_uv__cm_id_adopt(cm_id, req->cm_id.id);
	req->cm_id.id = NULL;
	*received = req->received;
	req->received.ptr = NULL;
	req_free(req);
}

void rpma_uv__conn_req_reject(rpma_uv_conn_req_t *req)
{
	(void)rdma_reject(req->cm_id.id, NULL, 0);
	req_free(req);
}

/* the peer may give up before it was answered: the answer will fail, nothing else is to be done */
static void req_event(struct rpma_uv__cm_id *cm_id, const struct rpma_uv__cm_event *event)
{
	(void)cm_id;
	(void)event;
}

static void req_arrived(rpma_uv_future_t *f, int status)
{
	rpma_uv_conn_req_t *req = f->data;

	(void)status;
	req->was_shown = true;
	if (req->ep == NULL)
		req_free(req);
	else
		req->ep->cb(req->ep, req, req->ep->data);
}

static const struct rpma_uv__kind arrival_kind = { .name = "connection request" };

static rpma_uv_conn_req_t *req_new(rpma_uv_ep_t *ep, const struct rpma_uv__cm_event *event)
{
	rpma_uv_conn_req_t *req = calloc(1, sizeof(*req));

	if (req == NULL)
		return NULL;
	if (event->private_data_len > 0) {
		req->received.ptr = malloc(event->private_data_len);
		if (req->received.ptr == NULL) {
			free(req);
			return NULL;
		}
		memcpy(req->received.ptr, event->private_data, event->private_data_len);
		req->received.len = event->private_data_len;
	}
	req->reactor = ep->reactor;
	req->ep = ep;
	req->cm_id.event = req_event;
	rpma_uv__cm_id_adopt(&req->cm_id, event->id);
	TAILQ_INSERT_TAIL(&ep->reqs, req, link);
	return req;
}

static void ep_event(struct rpma_uv__cm_id *cm_id, const struct rpma_uv__cm_event *event)
{
	rpma_uv_ep_t *ep = rpma_uv__container_of(cm_id, rpma_uv_ep_t, cm_id);
	rpma_uv_conn_req_t *req;

	assert(!ep->is_closing); /* its id is gone then */
	if (event->type != RDMA_CM_EVENT_CONNECT_REQUEST)
		return;
	req = req_new(ep, event);
	if (req == NULL) {
		/* out of memory: the peer learns at once rather than by its own time-out */
		(void)rdma_reject(event->id, NULL, 0);
		(void)rdma_destroy_id(event->id);
		return;
	}
	rpma_uv__future_begin(ep->reactor, &req->arrival, &arrival_kind);
	rpma_uv_then(&req->arrival, req_arrived, req);
	rpma_uv__future_finish(&req->arrival, 0, 0, 0);
}

int rpma_uv_conn_req_private_data(const rpma_uv_conn_req_t *req, struct rpma_conn_private_data *pd)
{
	if (req == NULL || pd == NULL)
		return UV_EINVAL;
	*pd = req->received;
	return 0;
}

static const struct rpma_uv__kind reject_kind = { .name = "reject" };

rpma_uv_future_t *rpma_uv_reject(
	rpma_uv_conn_req_t *req, rpma_uv_op_t *op, const struct rpma_conn_private_data *pd)
{
	struct rpma_uv__reactor *r = req->reactor;
	int status = 0;

	op = rpma_uv__op_begin(r, op, &reject_kind);
	if (op == NULL) {
		rpma_uv__conn_req_reject(req);
		return NULL;
	}
	if (pd != NULL && (pd->ptr == NULL || pd->len == 0)) {
		status = UV_EINVAL;
		pd = NULL;
	}
	if (rdma_reject(req->cm_id.id, pd != NULL ? pd->ptr : NULL, pd != NULL ? pd->len : 0) &&
		status == 0)
		status = rpma_uv__status_errno();
	req_free(req);
	rpma_uv__future_finish(&op->future, status, 0, 0);
	return &op->future;
}

/* ---- the listener ---------------------------------------------------------------------------- */

int rpma_uv_listen(rpma_uv_reactor_t *reactor, struct rpma_peer *peer, const char *addr,
	const char *port, int backlog, rpma_uv_conn_req_cb cb, void *data, rpma_uv_ep_t **ep_ptr)
{
	struct sockaddr_storage numeric;
	struct rpma_uv__reactor *r;
	rpma_uv_ep_t *ep;
	int ret;

	if (reactor == NULL || peer == NULL || addr == NULL || port == NULL || cb == NULL ||
		ep_ptr == NULL)
		return UV_EINVAL;
	r = reactor->impl;
	if (r->closing)
		return UV_ECANCELED;
	ret = rpma_uv__resolve_numeric(addr, port, &numeric);
	if (ret)
		return ret;
	ep = calloc(1, sizeof(*ep));
	if (ep == NULL)
		return UV_ENOMEM;
	ep->reactor = r;
	ep->cb = cb;
	ep->data = data;
	ep->cm_id.event = ep_event;
	TAILQ_INIT(&ep->reqs);
	ret = rpma_uv__cm_id_create(r, &ep->cm_id);
	if (ret)
		goto err_free;
	if (rdma_bind_addr(ep->cm_id.id, (struct sockaddr *)&numeric)) {
		ret = rpma_uv__status_errno();
		goto err_id_destroy;
	}
	/* none yet: a wildcard address, whose requests show what they came over */
	if (ep->cm_id.id->verbs != NULL && ep->cm_id.id->verbs != rpma__peer_context(peer)) {
		ret = UV_ENODEV;
		goto err_id_destroy;
	}
	if (rdma_listen(ep->cm_id.id, backlog)) {
		ret = rpma_uv__status_errno();
		goto err_id_destroy;
	}
	TAILQ_INSERT_TAIL(&r->eps, ep, link);
	rpma_uv__reactor_hold(r);
	*ep_ptr = ep;
	return 0;

err_id_destroy:
	rpma_uv__cm_id_destroy(&ep->cm_id);
err_free:
	free(ep);
	return ret;
}

uint16_t rpma_uv_ep_port(const rpma_uv_ep_t *ep)
{
	return ep->cm_id.id != NULL ? ntohs(rdma_get_src_port(ep->cm_id.id)) : 0;
}

void rpma_uv_ep_unref(rpma_uv_ep_t *ep)
{
	if (ep->is_unrefd)
		return;
	ep->is_unrefd = true;
	rpma_uv__reactor_drop(ep->reactor);
}

static void ep_free(struct rpma_uv__closer *closer)
{
	rpma_uv_ep_t *ep = rpma_uv__container_of(closer, rpma_uv_ep_t, closer);
	struct rpma_uv__reactor *r = ep->reactor;

	TAILQ_REMOVE(&r->eps, ep, link);
	if (!ep->is_unrefd)
		rpma_uv__reactor_drop(r);
	free(ep);
	rpma_uv__reactor_child_gone(r);
}

void rpma_uv_ep_close(rpma_uv_ep_t *ep, rpma_uv_close_cb cb, void *data)
{
	rpma_uv_conn_req_t *req;

	if (ep->is_closing) {
		/* the reactor's own closing came first; the program learns all the same */
		assert(ep->reactor->closing);
		ep->closer.cb = cb;
		ep->closer.data = data;
		return;
	}
	ep->is_closing = true;
	while ((req = TAILQ_FIRST(&ep->reqs)) != NULL) {
		if (req->was_shown) {
			rpma_uv__conn_req_reject(req);
			continue;
		}
		/* its turn is due and frees it */
		TAILQ_REMOVE(&ep->reqs, req, link);
		req->ep = NULL;
		(void)rdma_reject(req->cm_id.id, NULL, 0);
		rpma_uv__cm_id_destroy(&req->cm_id);
	}
	rpma_uv__cm_id_destroy(&ep->cm_id);
	rpma_uv__closer_start(ep->reactor, &ep->closer, cb, data, ep_free);
}

void rpma_uv__eps_close(struct rpma_uv__reactor *r)
{
	rpma_uv_ep_t *ep;

	TAILQ_FOREACH (ep, &r->eps, link) {
		if (!ep->is_closing)
			rpma_uv_ep_close(ep, NULL, NULL);
	}
}
