/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* cm_qp.c - queue pairs of ids: made with them, and connected by what was agreed */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

static int fail(int error)
{
	errno = error;
	return -1;
}

static void attr_init(struct sv_id *id, struct ibv_qp_attr *attr, int *mask)
{
	bool agreed = id->state >= SV_ID_REQ_SENT;

	*mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	attr->pkey_index = 0;
	attr->port_num = 1;
	attr->qp_access_flags = agreed ? IBV_ACCESS_REMOTE_WRITE : 0;
	if (agreed && id->responder_resources > 0)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

static void attr_rtr(struct sv_id *id, struct ibv_qp_attr *attr, int *mask)
{
	*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	attr->ah_attr.is_global = 1;
	attr->ah_attr.port_num = 1;
	attr->ah_attr.grh.hop_limit = 64;
	attr->ah_attr.grh.dgid = id->base.route.addr.addr.ibaddr.dgid;
	attr->path_mtu = IBV_MTU_4096;
	attr->dest_qp_num = id->peer_qp_num;
	attr->max_dest_rd_atomic = id->responder_resources;
	attr->min_rnr_timer = 0;
}

static void attr_rts(struct sv_id *id, struct ibv_qp_attr *attr, int *mask)
{
	*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		 IBV_QP_MAX_QP_RD_ATOMIC;
	attr->timeout = id->ack_timeout;
	attr->retry_cnt = id->retry_count;
	attr->rnr_retry = id->rnr_retry_count;
	attr->max_rd_atomic = id->initiator_depth;
}

int sv_cm_qp_attr(struct sv_id *id, struct ibv_qp_attr *attr, int *mask)
{
	*mask = IBV_QP_STATE;
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr_init(id, attr, mask);
		return 0;
	case IBV_QPS_RTR:
		attr_rtr(id, attr, mask);
		return id->state >= SV_ID_REQ_SENT ? 0 : EINVAL;
	case IBV_QPS_RTS:
		attr_rts(id, attr, mask);
		return id->state >= SV_ID_REQ_SENT ? 0 : EINVAL;
	default:
		return EINVAL;
	}
}

SV_EXPORT int rdma_init_qp_attr(struct rdma_cm_id *base, struct ibv_qp_attr *attr, int *mask)
{
	enum ibv_qp_state state = attr->qp_state;
	int ret;

	if (!sv_id_enter(sv_id(base)))
		return -1;
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	ret = sv_cm_qp_attr(sv_id(base), attr, mask);
	sv_unlock();
	return ret == 0 ? 0 : fail(ret);
}

static int to_state(struct sv_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;
	int ret = sv_cm_qp_attr(id, &attr, &mask);

	if (ret == 0)
		ret = sv_qp_modify(sv_qp(id->base.qp), &attr, mask);
	if (ret == 0)
		id->base.qp->state = state;
	return ret;
}

int sv_cm_qp_to_init(struct sv_id *id)
{
	return to_state(id, IBV_QPS_INIT);
}

int sv_cm_qp_connect(struct sv_id *id)
{
	int ret = to_state(id, IBV_QPS_INIT);

	if (ret == 0)
		ret = to_state(id, IBV_QPS_RTR);
	if (ret == 0)
		ret = to_state(id, IBV_QPS_RTS);
	return ret;
}

static void destroy_cqs(struct sv_id *id)
{
	struct rdma_cm_id *base = &id->base;

	if (!id->own_cqs)
		return;
	if (base->recv_cq != NULL)
		ibv_destroy_cq(base->recv_cq);
	if (base->recv_cq_channel != NULL)
		ibv_destroy_comp_channel(base->recv_cq_channel);
	if (base->send_cq != NULL)
		ibv_destroy_cq(base->send_cq);
	if (base->send_cq_channel != NULL)
		ibv_destroy_comp_channel(base->send_cq_channel);
	base->recv_cq = NULL;
	base->recv_cq_channel = NULL;
	base->send_cq = NULL;
	base->send_cq_channel = NULL;
	id->own_cqs = false;
}

/* a program that names no completion queue gets one with a channel, on both sides */
static int create_cq(
	struct sv_id *id, uint32_t size, struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(id->base.verbs);
	if (*channel == NULL)
		return -1;
	*cq = ibv_create_cq(id->base.verbs, size > 0 ? (int)size : 1, &id->base, *channel, 0);
	return *cq != NULL ? 0 : -1;
}

static int create_cqs(struct sv_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_cm_id *base = &id->base;
	int ret = 0;

	if (attr->recv_cq == NULL) {
		id->own_cqs = true;
		ret = create_cq(id, attr->cap.max_recv_wr, &base->recv_cq_channel, &base->recv_cq);
	}
	if (ret == 0 && attr->send_cq == NULL) {
		id->own_cqs = true;
		ret = create_cq(id, attr->cap.max_send_wr, &base->send_cq_channel, &base->send_cq);
	}
	if (ret != 0)
		destroy_cqs(id);
	return ret;
}

static struct ibv_pd *default_pd(void)
{
	static struct ibv_pd *pd;
	static unsigned generation;

	if (pd == NULL || generation != sv_device.generation) {
		pd = ibv_alloc_pd(&sv_context_cm()->verbs.context);
		generation = sv_device.generation;
	}
	return pd;
}

static int attach(struct sv_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp;
	int ret;

	if (!sv_id_enter(id))
		return -1;
	qp = sv_qp_create(attr->pd, attr);
	if (qp == NULL) {
		sv_unlock();
		return -1;
	}
	id->base.qp = qp;
	ret = sv_cm_qp_to_init(id);
	if (ret != 0) {
		id->base.qp = NULL;
		sv_qp_destroy(sv_qp(qp));
	}
	sv_unlock();
	return ret == 0 ? 0 : fail(ret);
}

SV_EXPORT int rdma_create_qp_ex(struct rdma_cm_id *base, struct ibv_qp_init_attr_ex *attr)
{
	struct sv_id *id = sv_id(base);

	if (SV_DEAD(SV_ID, base))
		return -1;
	if (base->qp != NULL || base->verbs == NULL)
		return fail(EINVAL);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = base->pd != NULL ? base->pd : default_pd();
	}
	if (attr->pd == NULL)
		return -1;
	if (attr->pd->context != base->verbs)
		return fail(EINVAL);
	if (create_cqs(id, attr) != 0)
		return -1;
	if (attr->recv_cq == NULL)
		attr->recv_cq = base->recv_cq;
	else
		base->recv_cq = attr->recv_cq;
	if (attr->send_cq == NULL)
		attr->send_cq = base->send_cq;
	else
		base->send_cq = attr->send_cq;
	if (base->srq != NULL && attr->srq == NULL)
		attr->srq = base->srq;
	if (attach(id, attr) != 0) {
		int saved = errno;

		destroy_cqs(id);
		return fail(saved);
	}
	base->pd = attr->pd;
	return 0;
}

SV_EXPORT int rdma_create_qp(
	struct rdma_cm_id *base, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = { .qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = pd != NULL ? IBV_QP_INIT_ATTR_PD : 0,
		.pd = pd };
	int ret;

	SV_ENTER();
	ret = rdma_create_qp_ex(base, &ex);

	if (ret == 0)
		attr->cap = ex.cap;
	return ret;
}

SV_EXPORT void rdma_destroy_qp(struct rdma_cm_id *base)
{
	if (SV_DEAD(SV_ID, base) || base->qp == NULL)
		return;
	ibv_destroy_qp(base->qp);
	base->qp = NULL;
	destroy_cqs(sv_id(base));
}

SV_EXPORT int rdma_create_srq(
	struct rdma_cm_id *base, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq;

	if (base->verbs == NULL)
		return fail(EINVAL);
	if (pd == NULL)
		pd = base->pd != NULL ? base->pd : default_pd();
	if (pd == NULL || pd->context != base->verbs)
		return fail(EINVAL);
	srq = ibv_create_srq(pd, attr);
	if (srq == NULL)
		return -1;
	base->srq = srq;
	base->pd = pd;
	return 0;
}

SV_EXPORT void rdma_destroy_srq(struct rdma_cm_id *base)
{
	if (base->srq != NULL)
		ibv_destroy_srq(base->srq);
	base->srq = NULL;
}
