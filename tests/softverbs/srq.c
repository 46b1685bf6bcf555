/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* srq.c - shared receive queues, and the limit event of each */

#include <errno.h>
#include <stdlib.h>

#include "async.h"
#include "fault.h"
#include "srq.h"

SV_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct sv_srq *srq;

	if (attr->attr.max_wr < 1 || attr->attr.max_wr > SV_MAX_WR ||
		attr->attr.max_sge > SV_MAX_SGE) {
		errno = EINVAL;
		return NULL;
	}
	if (SV_DEAD(SV_PD, pd) || !sv_enter_live(pd->context))
		return NULL;
	srq = calloc(1, sizeof(*srq));
	if (srq == NULL || !sv_ring_init(&srq->ring, attr->attr.max_wr, attr->attr.max_sge)) {
		sv_unlock();
		free(srq);
		errno = ENOMEM;
		return NULL;
	}
	srq->base.context = pd->context;
	srq->base.srq_context = attr->srq_context;
	srq->base.pd = pd;
	pthread_mutex_init(&srq->base.mutex, NULL);
	pthread_cond_init(&srq->base.cond, NULL);
	sv_pd(pd)->users++;
	sv_born(SV_SRQ, &srq->base);
	sv_unlock();
	return &srq->base;
}

static uint32_t waiting(const struct sv_srq *srq)
{
	return srq->ring.posted - srq->ring.taken;
}

static void check_limit(struct sv_srq *srq)
{
	if (srq->limit == 0 || waiting(srq) >= srq->limit)
		return;
	srq->limit = 0;
	sv_async(srq->base.context, IBV_EVENT_SRQ_LIMIT_REACHED, &srq->base);
}

bool sv_srq_take(struct sv_srq *srq, struct sv_incoming *in)
{
	if (!sv_ring_take(&srq->ring, in))
		return false;
	check_limit(srq);
	return true;
}

/* growing and shrinking is not offered; arming the limit is */
SV_EXPORT int ibv_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
	struct sv_srq *srq = sv_srq(base);
	int ret = 0;

	if (SV_DEAD(SV_SRQ, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	if (mask & ~(IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR)) {
		ret = EINVAL;
	} else if (mask & IBV_SRQ_MAX_WR) {
		ret = EOPNOTSUPP;
	} else if (mask & IBV_SRQ_LIMIT) {
		if (attr->srq_limit > srq->ring.size) {
			ret = EINVAL;
		} else {
			srq->limit = attr->srq_limit;
			check_limit(srq);
		}
	}
	sv_unlock();
	return ret;
}

SV_EXPORT int ibv_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr)
{
	struct sv_srq *srq = sv_srq(base);

	if (SV_DEAD(SV_SRQ, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	attr->max_wr = srq->ring.size;
	attr->max_sge = srq->ring.max_sge;
	attr->srq_limit = srq->limit;
	sv_unlock();
	return 0;
}

SV_EXPORT int ibv_destroy_srq(struct ibv_srq *base)
{
	struct sv_srq *srq = sv_srq(base);

	if (SV_DEAD(SV_SRQ, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	if (srq->users != 0) {
		sv_misuse(SV_SITE, "ibv_destroy_srq with %d queue pairs on it", srq->users);
		sv_unlock();
		return EBUSY;
	}
	sv_async_drop(base->context, base);
	while ((int32_t)(base->events_completed - srq->async_fetched) < 0)
		sv_wait();
	sv_cq_forget_srq(srq);
	sv_pd(base->pd)->users--;
	sv_unlock();
	pthread_cond_destroy(&base->cond);
	pthread_mutex_destroy(&base->mutex);
	sv_ring_free(&srq->ring);
	sv_gone(base, srq);
	return 0;
}

int sv_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int ret = 0;

	if (SV_DEAD(SV_SRQ, base) || !sv_enter_live(base->context)) {
		*bad = wr;
		return errno;
	}
	for (; wr != NULL; wr = wr->next) {
		ret = sv_fault(SV_FAULT_POST_RECV, base);
		if (ret == 0)
			ret = sv_ring_post(&sv_srq(base)->ring, wr);
		if (ret != 0) {
			*bad = wr;
			break;
		}
	}
	sv_unlock();
	return ret;
}
