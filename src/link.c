/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* link.c - an id with its queue pair and what completes on it */

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "conn_cfg.h"
#include "err.h"
#include "id.h"
#include "link.h"
#include "log.h"
#include "peer.h"
#include "srq.h"

/* a build for debugging tells between which ports a connection is made */
static void log_gids(const struct rdma_cm_id *id)
{
#ifdef DEBUG
	const struct ibv_sa_path_rec *path = id->route.path_rec;

	if (!path)
		return;
	RPMA_LOG_NOTICE("GIDs: source 0x%016" PRIx64 "%016" PRIx64 ", destination 0x%016" PRIx64
			"%016" PRIx64,
		be64toh(path->sgid.global.subnet_prefix), be64toh(path->sgid.global.interface_id),
		be64toh(path->dgid.global.subnet_prefix), be64toh(path->dgid.global.interface_id));
#else
	(void)id;
#endif
}

int rpma__link_new(struct rpma_peer *peer, struct rdma_cm_id *id, const struct rpma_conn_cfg *cfg,
	struct rpma__link **link_ptr)
{
	const bool is_channel_shared = rpma__conn_cfg_is_channel_shared(cfg);
	const struct rpma_srq *srq = rpma__conn_cfg_srq(cfg);
	struct rpma_cq *recv_cq = srq ? rpma__srq_get_rcq(srq) : NULL;
	const uint32_t rcq_size = recv_cq ? 0 : rpma__conn_cfg_rcq_size(cfg);
	struct rpma__link *link;
	int ret;

	if (recv_cq && is_channel_shared) {
		RPMA_LOG_ERROR("the completion channel cannot be shared: the shared receive queue "
			       "has a completion queue, with a channel of its own");
		return RPMA_E_INVAL;
	}
	link = calloc(1, sizeof(*link));
	if (!link)
		return RPMA_E_NOMEM;

	link->peer = peer;
	link->id = id;
	if (is_channel_shared) {
		ret = rpma__cq_channel_new(id->verbs, &link->channel);
		if (ret)
			goto err_free;
	}
	ret = rpma__cq_new(id->verbs, rpma__conn_cfg_cq_size(cfg), link->channel, &link->cq);
	if (ret)
		goto err_channel_delete;
	if (rcq_size) {
		ret = rpma__cq_new(id->verbs, rcq_size, link->channel, &link->rcq);
		if (ret)
			goto err_cq_delete;
	}
	if (!recv_cq)
		recv_cq = link->rcq ? link->rcq : link->cq;
	ret = rpma__peer_create_qp(
		peer, id, cfg, rpma__cq_get_ibv_cq(link->cq), rpma__cq_get_ibv_cq(recv_cq));
	if (ret)
		goto err_rcq_delete;

	log_gids(id);
	*link_ptr = link;
	return 0;

err_rcq_delete:
	RPMA__UNDO(rpma__cq_delete(&link->rcq));
err_cq_delete:
	RPMA__UNDO(rpma__cq_delete(&link->cq));
err_channel_delete:
	if (link->channel)
		RPMA__UNDO(rpma__cq_channel_delete(link->channel));
err_free:
	RPMA__UNDO(free(link));
	return ret;
}

int rpma__link_delete(struct rpma__link *link, bool is_request)
{
	struct rpma__err_first first = { 0 };

	rpma__id_delete_qp(link->id);
	rpma__err_step(&first, rpma__cq_delete(&link->rcq));
	rpma__err_step(&first, rpma__cq_delete(&link->cq));
	if (is_request)
		rpma__err_step(&first, rpma__id_reject(link->id));
	rpma__err_step(&first, rpma__id_delete(link->id));
	if (link->channel)
		rpma__err_step(&first, rpma__cq_channel_delete(link->channel));
	if (link->evch)
		rpma__id_channel_delete(link->evch);
	free(link);
	return rpma__err_result(&first);
}

int rpma__link_own_events(struct rpma__link *link)
{
	struct rdma_event_channel *evch;
	int ret = rpma__id_channel_new(&evch);

	if (ret)
		return ret;
	ret = rpma__id_migrate(link->id, evch);
	if (ret) {
		RPMA__UNDO(rpma__id_channel_delete(evch));
		return ret;
	}

	link->evch = evch;
	return 0;
}

void rpma__link_store_data(struct rpma__link *link, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	if (!param->private_data || param->private_data_len == 0)
		return;

	memcpy(link->data_buf, param->private_data, param->private_data_len);
	link->data.ptr = link->data_buf;
	link->data.len = param->private_data_len;
}
