/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* cm_calls.c - what the program asks for: listen, connect, accept, reject, disconnect */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "progress.h"

#define REFUSED_NS (25 * SV_MS) /* a listener that is not there may be there in a moment */

static int fail(int error)
{
	errno = error;
	return -1;
}

/* 0xff: as much as the device, and the peer's request, allow */
static uint8_t depth(uint8_t asked, uint8_t limit)
{
	return asked == 0xff ? limit : asked;
}

static int check_param(const struct rdma_conn_param *param, unsigned private_max)
{
	if (param->private_data_len > private_max)
		return EINVAL;
	if (param->private_data_len > 0 && param->private_data == NULL)
		return EINVAL;
	if (param->responder_resources != RDMA_MAX_RESP_RES &&
		param->responder_resources > SV_MAX_RD_ATOMIC)
		return EINVAL;
	if (param->initiator_depth != RDMA_MAX_INIT_DEPTH &&
		param->initiator_depth > SV_MAX_RD_ATOMIC)
		return EINVAL;
	return 0;
}

/* the queue pair of this connection: the id's own, or one that the program looks after */
static int attach_qp(struct sv_id *id, struct sv_link *link, uint32_t qp_num, uint32_t *number)
{
	struct sv_qp *qp = id->base.qp != NULL ? sv_qp(id->base.qp) : sv_qp_find(qp_num);

	*number = qp_num;
	if (qp == NULL)
		return id->base.qp != NULL ? EINVAL : 0;
	sv_meet_stop(qp); /* it may be in RTR by now, and look for its peer by itself */
	if (qp->link != NULL)
		sv_link_leave(qp->link, NULL, qp);
	qp->link = NULL;
	sv_qp_attach(qp, link);
	*number = qp->base.qp_num;
	return 0;
}

static const struct rdma_conn_param default_param = { .responder_resources = RDMA_MAX_RESP_RES,
	.initiator_depth = RDMA_MAX_INIT_DEPTH,
	.retry_count = 7,
	.rnr_retry_count = 7 };

static void fill_message(
	struct sv_id *id, const struct rdma_conn_param *param, struct sv_cm_message *message)
{
	memset(message, 0, sizeof(*message));
	message->responder_resources = id->responder_resources;
	message->initiator_depth = id->initiator_depth;
	message->flow_control = param->flow_control;
	message->retry_count = param->retry_count < 7 ? param->retry_count : 7;
	message->rnr_retry_count = param->rnr_retry_count < 7 ? param->rnr_retry_count : 7;
	message->srq = id->base.qp != NULL ? id->base.qp->srq != NULL : param->srq;
	if (param->private_data_len > 0)
		memcpy(message->private_data, param->private_data, param->private_data_len);
}

static int start_connect(struct sv_id *id, const struct rdma_conn_param *param)
{
	struct rdma_addr *addr = &id->base.route.addr;
	struct sv_link *link;
	int ret = check_param(param, SV_REQ_PRIVATE);

	if (ret != 0)
		return ret;
	if (id->state != SV_ID_ROUTE_RESOLVED)
		return EINVAL;
	link = sv_wire->connect(&addr->dst_storage, &ret);
	if (link == NULL)
		return ret;
	id->responder_resources = depth(param->responder_resources, SV_MAX_RD_ATOMIC);
	id->initiator_depth = depth(param->initiator_depth, SV_MAX_RD_ATOMIC);
	fill_message(id, param, &link->message);
	id->retry_count = link->message.retry_count;
	sv_addr_pack(&addr->src_addr, &addr->dst_addr, &link->message);
	link->id = id;
	id->link = link;
	attach_qp(id, link, param->qp_num, &link->message.qp_num);
	id->state = SV_ID_REQ_SENT;
	id->give_up_ns = sv_clock->now_ns() + REFUSED_NS;
	sv_cm_wait_for_peer(id);
	return 0;
}

SV_EXPORT int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct sv_id *id = sv_id(base);
	int ret;

	if (!sv_id_enter(id))
		return -1;
	ret = start_connect(id, param != NULL ? param : &default_param);
	sv_unlock();
	return ret == 0 ? sv_id_complete(id) : fail(ret);
}

static int start_accept(struct sv_id *id, const struct rdma_conn_param *given)
{
	const struct rdma_conn_param *param = given != NULL ? given : &default_param;
	struct sv_cm_message message;
	uint32_t qp_num;
	int ret = check_param(param, SV_REP_PRIVATE);

	if (ret != 0)
		return ret;
	if (id->state != SV_ID_REQ_RECEIVED)
		return EINVAL;
	if (id->responder_resources > SV_MAX_RD_ATOMIC)
		id->responder_resources = SV_MAX_RD_ATOMIC;
	if (id->initiator_depth > SV_MAX_RD_ATOMIC)
		id->initiator_depth = SV_MAX_RD_ATOMIC;
	id->responder_resources = depth(param->responder_resources, id->responder_resources);
	id->initiator_depth = depth(param->initiator_depth, id->initiator_depth);
	ret = attach_qp(id, id->link, param->qp_num, &qp_num);
	if (ret == 0 && id->base.qp != NULL)
		ret = sv_cm_qp_connect(id);
	if (ret != 0)
		return ret;
	fill_message(id, param, &message);
	message.qp_num = qp_num;
	if (!sv_link_send_cm(id->link, SV_FRAME_REP, &message))
		return ENOMEM;
	id->state = SV_ID_REP_SENT;
	sv_cm_wait_for_peer(id);
	return 0;
}

SV_EXPORT int rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct sv_id *id = sv_id(base);
	int ret;

	if (!sv_id_enter(id))
		return -1;
	ret = start_accept(id, param);
	sv_unlock();
	return ret == 0 ? sv_id_complete(id) : fail(ret);
}

static int reject(struct rdma_cm_id *base, const void *data, uint8_t length)
{
	struct sv_cm_message message = { .status = SV_REJ_CONSUMER };
	struct sv_id *id = sv_id(base);

	if (length > SV_REJ_PRIVATE)
		return fail(EINVAL);
	if (length > 0)
		memcpy(message.private_data, data, length);
	if (!sv_id_enter(id))
		return -1;
	if (id->state != SV_ID_REQ_RECEIVED) {
		sv_unlock();
		return fail(EINVAL);
	}
	sv_link_send_cm(id->link, SV_FRAME_REJ, &message);
	sv_cm_close(id);
	sv_unlock();
	return 0;
}

SV_EXPORT int rdma_reject(struct rdma_cm_id *base, const void *data, uint8_t length)
{
	SV_ENTER();
	return reject(base, data, length);
}

SV_EXPORT int rdma_reject_ece(struct rdma_cm_id *base, const void *data, uint8_t length)
{
	SV_ENTER();
	return reject(base, data, length);
}

SV_EXPORT int rdma_establish(struct rdma_cm_id *base)
{
	struct sv_id *id = sv_id(base);

	if (!sv_id_enter(id))
		return -1;
	if (base->qp != NULL || id->state != SV_ID_REP_RECEIVED) {
		sv_unlock();
		return fail(EINVAL);
	}
	sv_cm_established(id);
	sv_unlock();
	return 0;
}

SV_EXPORT int rdma_notify(struct rdma_cm_id *base, enum ibv_event_type event)
{
	struct sv_id *id = sv_id(base);

	if (!sv_id_enter(id))
		return -1;
	if (event == IBV_EVENT_COMM_EST && id->state == SV_ID_REP_SENT) {
		sv_cm_stands(id);
	}
	sv_unlock();
	return event == IBV_EVENT_COMM_EST ? 0 : fail(EINVAL);
}

SV_EXPORT int rdma_disconnect(struct rdma_cm_id *base)
{
	struct sv_id *id = sv_id(base);
	int ret = 0;

	if (!sv_id_enter(id))
		return -1;
	sv_progress_settle();
	if (base->qp != NULL)
		sv_qp_fail(sv_qp(base->qp), IBV_WC_WR_FLUSH_ERR);
	if (id->state == SV_ID_ESTABLISHED) {
		id->state = SV_ID_DREQ_SENT;
		sv_cm_wait_for_peer(id);
		sv_link_send_cm(id->link, SV_FRAME_DREQ, NULL);
	} else if (id->state == SV_ID_DREQ_RECEIVED) {
		sv_link_send_cm(id->link, SV_FRAME_DREP, NULL);
		sv_cm_timewait(id);
	} else {
		ret = EINVAL;
	}
	sv_unlock();
	return ret == 0 ? sv_id_complete(id) : fail(ret);
}

SV_EXPORT int rdma_listen(struct rdma_cm_id *base, int backlog)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct sv_id *id = sv_id(base);
	int ret = 0;

	if (!sv_id_enter(id))
		return -1;
	if (id->state == SV_ID_IDLE)
		ret = sv_id_bind(id, (struct sockaddr *)&any);
	if (ret == 0 && id->state != SV_ID_BOUND)
		ret = EINVAL;
	if (ret == 0 &&
		id->listener.wire == NULL) /* reserved with REUSEADDR: now it has to be ours */
		ret = sv_wire->bind(&id->listener);
	if (ret == 0) {
		id->listener.backlog =
			backlog > 0 && backlog < SV_MAX_BACKLOG ? backlog : SV_MAX_BACKLOG;
		ret = sv_wire->listen(&id->listener);
	}
	if (ret == 0)
		id->state = SV_ID_LISTENING;
	sv_unlock();
	return ret == 0 ? 0 : fail(ret);
}
