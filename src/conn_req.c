/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * conn_req.c - connection requests, our own (active) and incoming ones (passive)
 *
 * Both have their queues already, so that receives can be posted before the first message may come.
 * A passive one that comes to nothing is rejected, so that the peer does not wait in vain.
 */

#include <errno.h>
#include <stdlib.h>

#include "conn.h"
#include "conn_cfg.h"
#include "conn_req.h"
#include "err.h"
#include "id.h"
#include "info.h"
#include "link.h"
#include "log.h"
#include "op.h"

/* try again up to 7 times; for a receiver that is not ready 7 means for ever */
#define RETRY_COUNT 7

struct rpma_conn_req {
	struct rpma__link *link;
	bool is_passive;
};

/* takes the id over on success */
static int new_with(struct rpma_peer *peer, struct rdma_cm_id *id, const struct rpma_conn_cfg *cfg,
	struct rpma_conn_req **req_ptr)
{
	struct rpma_conn_req *req = calloc(1, sizeof(*req));
	int ret;

	if (!req)
		return RPMA_E_NOMEM;

	ret = rpma__link_new(peer, id, cfg, &req->link);
	if (ret) {
		RPMA__UNDO(free(req));
		return ret;
	}

	*req_ptr = req;
	return 0;
}

int rpma__conn_req_from_event(struct rpma_peer *peer, const struct rdma_cm_event *event,
	const struct rpma_conn_cfg *cfg, struct rpma_conn_req **req_ptr)
{
	struct rpma_conn_req *req;
	const int ret = new_with(peer, event->id, cfg, &req);

	if (ret)
		return ret;

	req->is_passive = true;
	rpma__link_store_data(req->link, event);
	*req_ptr = req;
	return 0;
}

int rpma__conn_req_own_events(struct rpma_conn_req *req)
{
	return rpma__link_own_events(req->link);
}

int rpma_conn_req_new(struct rpma_peer *peer, const char *addr, const char *port,
	const struct rpma_conn_cfg *cfg, struct rpma_conn_req **req_ptr)
{
	const int timeout_ms = rpma__conn_cfg_timeout_ms(cfg);
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;
	int ret;

	if (!peer || !addr || !port || !req_ptr)
		return RPMA_E_INVAL;

	ret = rpma__info_new(addr, port, RPMA__INFO_ACTIVE, &info);
	if (ret)
		return ret;
	ret = rpma__id_new(NULL, &id);
	if (ret)
		goto err_freeaddrinfo;
	ret = rpma__id_resolve_addr(id, info, timeout_ms);
	if (ret)
		goto err_id_delete;
	ret = rpma__id_resolve_route(id, timeout_ms);
	if (ret)
		goto err_id_delete;
	ret = new_with(peer, id, cfg, req_ptr);
	if (ret)
		goto err_id_delete;

	rdma_freeaddrinfo(info);
	RPMA_LOG_NOTICE("ready to connect to %s:%s", addr, port);
	return 0;

err_id_delete:
	RPMA__UNDO(rpma__id_delete(id));
err_freeaddrinfo:
	RPMA__UNDO(rdma_freeaddrinfo(info));
	return ret;
}

int rpma_conn_req_delete(struct rpma_conn_req **req_ptr)
{
	struct rpma_conn_req *req;
	int ret;

	if (!req_ptr)
		return RPMA_E_INVAL;
	req = *req_ptr;
	if (!req)
		return 0;

	ret = rpma__link_delete(req->link, req->is_passive);
	RPMA__UNDO(free(req));
	*req_ptr = NULL;
	return ret;
}

/* starts a connection that has everything it needs */
static int start(struct rdma_cm_id *id, bool is_passive, const struct rpma_conn_private_data *pdata)
{
	struct rdma_conn_param param = {
		.private_data = pdata ? pdata->ptr : NULL,
		.private_data_len = pdata ? pdata->len : 0,
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.flow_control = 1,
		.retry_count = RETRY_COUNT,
		.rnr_retry_count = RETRY_COUNT,
	};
	const int ret = is_passive ? rdma_accept(id, &param) : rdma_connect(id, &param);

	if (!ret) {
		RPMA_LOG_NOTICE("connection %s", is_passive ? "accepted" : "requested");
		return 0;
	}
	RPMA_LOG_PROVIDER("%s()", is_passive ? "rdma_accept" : "rdma_connect");
	/* rdma_cm may have rejected it by itself, then this fails: no matter */
	if (is_passive)
		RPMA__UNDO(rdma_reject(id, NULL, 0));
	return RPMA_E_PROVIDER;
}

int rpma_conn_req_connect(struct rpma_conn_req **req_ptr,
	const struct rpma_conn_private_data *pdata, struct rpma_conn **conn_ptr)
{
	struct rdma_cm_id *id;
	struct rpma_conn *conn;
	bool is_passive;
	int ret;

	if (!req_ptr || !*req_ptr)
		return RPMA_E_INVAL;
	if (!conn_ptr || (pdata && (!pdata->ptr || pdata->len == 0))) {
		(void)rpma_conn_req_delete(req_ptr);
		return RPMA_E_INVAL;
	}

	/* everything is made before the start: what fails here is a rejection for the peer */
	ret = rpma__conn_new((*req_ptr)->link, &conn);
	if (ret) {
		RPMA__UNDO(rpma_conn_req_delete(req_ptr));
		return ret;
	}
	id = (*req_ptr)->link->id;
	is_passive = (*req_ptr)->is_passive;
	free(*req_ptr);
	*req_ptr = NULL;
	ret = start(id, is_passive, pdata);
	if (ret) {
		RPMA__UNDO(rpma_conn_delete(&conn));
		return ret;
	}

	*conn_ptr = conn;
	return 0;
}

int rpma_conn_req_recv(struct rpma_conn_req *req, struct rpma_mr_local *dst, size_t offset,
	size_t len, const void *op_context)
{
	if (!req || !dst)
		return RPMA_E_INVAL;

	return rpma__op_recv(req->link->id->qp, dst, offset, len, op_context);
}

int rpma_conn_req_get_private_data(
	const struct rpma_conn_req *req, struct rpma_conn_private_data *pdata)
{
	if (!req || !pdata)
		return RPMA_E_INVAL;

	*pdata = req->link->data;
	return 0;
}
