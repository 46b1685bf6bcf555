/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* qp.c - queue pairs: creation, destruction, lookup */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "async.h"
#include "fault.h"
#include "progress.h"
#include "qp.h"
#include "seed.h"
#include "srq.h"

#define QP_NUM_MASK UINT32_C(0xffffff)

/* numbers of different processes should differ: queue pairs may meet by number */
static uint32_t next_qp_num(void)
{
	static uint32_t next;
	static unsigned generation;

	if (sv_seed_is_on())
		return 2 + sv_numbers.qps++ % (QP_NUM_MASK - 1);
	if (next == 0 || generation != sv_device.generation) {
		generation = sv_device.generation;
		(void)!getrandom(&next, sizeof(next), GRND_NONBLOCK);
	}
	next = (next + 1) & QP_NUM_MASK;
	if (next < 2)
		next = 2; /* 0 and 1 are special */
	return next;
}

struct sv_qp *sv_qp_find(uint32_t qp_num)
{
	list_each(struct sv_qp, qp, &sv_device.qps, node) if (qp->base.qp_num == qp_num) return qp;
	return NULL;
}

static int check(struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IBV_QPT_RC)
		return EOPNOTSUPP;
	if (attr->send_cq == NULL || attr->recv_cq == NULL ||
		attr->send_cq->context != pd->context || attr->recv_cq->context != pd->context)
		return EINVAL;
	if (cap->max_send_wr > SV_MAX_WR || cap->max_send_sge > SV_MAX_SGE ||
		cap->max_inline_data > SV_MAX_INLINE)
		return EINVAL;
	if (attr->srq == NULL && (cap->max_recv_wr > SV_MAX_WR || cap->max_recv_sge > SV_MAX_SGE))
		return EINVAL;
	return sv_fault(SV_FAULT_CREATE_QP, pd);
}

static void free_memory(struct sv_qp *qp)
{
	for (uint32_t i = 0; qp->slots != NULL && i < qp->cap.max_send_wr; i++)
		sv_watch_drop(&qp->slots[i].watch);
	sv_qp_ex_free(qp);
	sv_ring_free(&qp->rq);
	free(qp->answers);
	free(qp->inline_pool);
	free(qp->slot_sges);
	free(qp->slots);
	sv_gone(&qp->base, qp);
}

static bool alloc_send_queue(struct sv_qp *qp)
{
	size_t n = qp->cap.max_send_wr;
	size_t per_slot = qp->cap.max_send_sge + 1; /* inline data takes one, even of none */

	if (n == 0)
		return true;
	qp->slots = calloc(n, sizeof(*qp->slots));
	qp->slot_sges = calloc(n * per_slot * 2, sizeof(*qp->slot_sges));
	qp->inline_pool = calloc(n, qp->cap.max_inline_data + 8);
	if (qp->slots == NULL || qp->slot_sges == NULL || qp->inline_pool == NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		qp->slots[i].sge = qp->slot_sges + i * per_slot * 2;
		qp->slots[i].real = qp->slots[i].sge + per_slot;
		qp->slots[i].inline_data = qp->inline_pool + i * (qp->cap.max_inline_data + 8);
	}
	return true;
}

static void fill(struct sv_qp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr)
{
	qp->base.context = pd->context;
	qp->base.qp_context = attr->qp_context;
	qp->base.pd = pd;
	qp->base.send_cq = attr->send_cq;
	qp->base.recv_cq = attr->recv_cq;
	qp->base.srq = attr->srq;
	qp->base.qp_num = next_qp_num();
	qp->base.handle = qp->base.qp_num;
	qp->base.state = IBV_QPS_RESET;
	qp->base.qp_type = attr->qp_type;
	pthread_mutex_init(&qp->base.mutex, NULL);
	pthread_cond_init(&qp->base.cond, NULL);
	qp->attr.qp_state = IBV_QPS_RESET;
	qp->sig_all = attr->sq_sig_all != 0;
	list_init(&qp->answers_free);
	sv_requester_init(qp);
	sv_timer_init(&qp->meet_timer, NULL);
	list_push(&sv_device.qps, &qp->node);
	sv_born(SV_QP, &qp->base);
	sv_pd(pd)->users++;
	sv_cq(attr->send_cq)->users++;
	sv_cq(attr->recv_cq)->users++;
	if (qp->srq != NULL)
		qp->srq->users++;
}

/* NULL with errno; the lock is held by the caller */
struct ibv_qp *sv_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr_ex *attr)
{
	struct sv_qp *qp = NULL;
	int ret = check(pd, attr);

	if (ret != 0) {
		errno = ret;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	if (qp == NULL)
		return NULL;
	qp->cap = attr->cap;
	if (attr->srq != NULL) {
		qp->srq = sv_srq(attr->srq);
		qp->cap.max_recv_wr = 0;
		qp->cap.max_recv_sge = 0;
	}
	if (!alloc_send_queue(qp) ||
		!sv_ring_init(&qp->rq, qp->cap.max_recv_wr, qp->cap.max_recv_sge) ||
		((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
			!sv_qp_ex_init(qp, attr->send_ops_flags))) {
		free_memory(qp);
		errno = ENOMEM;
		return NULL;
	}
	fill(qp, pd, attr);
	attr->cap = qp->cap;
	return &qp->base;
}

/* work that has not completed ends without a trace; completions that are there stay there */
int sv_qp_destroy(struct sv_qp *qp)
{
	sv_qp_stop(qp);
	sv_meet_stop(qp);
	if (qp->link != NULL)
		sv_link_leave(qp->link, NULL, qp);
	qp->link = NULL;
	sv_async_drop(qp->base.context, &qp->base);
	while ((int32_t)(qp->base.events_completed - qp->async_fetched) < 0)
		sv_wait();
	sv_cq_forget_qp(sv_cq(qp->base.send_cq), qp);
	sv_cq_forget_qp(sv_cq(qp->base.recv_cq), qp);
	sv_cq(qp->base.send_cq)->users--;
	sv_cq(qp->base.recv_cq)->users--;
	if (qp->srq != NULL)
		qp->srq->users--;
	sv_pd(qp->base.pd)->users--;
	list_remove(&qp->node);
	pthread_cond_destroy(&qp->base.cond);
	pthread_mutex_destroy(&qp->base.mutex);
	free_memory(qp);
	return 0;
}

SV_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = { .qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all };
	struct ibv_qp *qp;

	if (SV_DEAD(SV_PD, pd) || !sv_enter_live(pd->context))
		return NULL;
	qp = sv_qp_create(pd, &ex);
	sv_unlock();
	if (qp != NULL)
		attr->cap = ex.cap;
	return qp;
}

SV_EXPORT int ibv_destroy_qp(struct ibv_qp *base)
{
	int ret;

	if (SV_DEAD(SV_QP, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	sv_hold(SV_HOLD_DESTROY);
	sv_progress_settle();
	ret = sv_qp_destroy(sv_qp(base));
	sv_unlock();
	return ret;
}

SV_EXPORT int ibv_query_qp(
	struct ibv_qp *base, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct sv_qp *qp = sv_qp(base);

	(void)mask; /* everything is at hand */
	if (SV_DEAD(SV_QP, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	*attr = qp->attr;
	attr->cur_qp_state = qp->attr.qp_state;
	attr->sq_draining = qp->attr.qp_state == IBV_QPS_SQD && qp->done != qp->sent;
	attr->cap = qp->cap;
	memset(init, 0, sizeof(*init));
	init->qp_context = base->qp_context;
	init->send_cq = base->send_cq;
	init->recv_cq = base->recv_cq;
	init->srq = base->srq;
	init->cap = qp->cap;
	init->qp_type = base->qp_type;
	init->sq_sig_all = qp->sig_all;
	base->state = qp->attr.qp_state;
	sv_unlock();
	return 0;
}

SV_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}
