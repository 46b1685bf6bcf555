/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * cq.c - completion queues
 *
 *             req_notify_cq            a completion that qualifies
 *     SV_ARM_NOT ------> SV_ARM_SOLICITED or SV_ARM_ANY ------> SV_ARM_NOT, one event
 *
 * Arming is one-shot and silent for completions that are there already. ANY is not weakened to
 * SOLICITED by a second call. Errors count as solicited.
 *
 * A queue that overruns loses the completion, says CQ_ERR once, takes nothing more, and can be polled
 * only until it is empty; queue pairs that complete into it go to the error state.
 */

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "async.h"
#include "cq.h"
#include "fault.h"
#include "progress.h"
#include "qp.h"
#include "seed.h"
#include "srq.h"

static struct sv_cqe *cqe_at(struct sv_cq *cq, uint32_t n)
{
	return &cq->ring[n % cq->size];
}

static void disarm(struct sv_cq *cq)
{
	if (cq->arm != SV_ARM_NOT)
		sv_progress_armed(-1);
	cq->arm = SV_ARM_NOT;
}

static void overrun(struct sv_cq *cq)
{
	cq->overrun = true;
	sv_async(cq->base.context, IBV_EVENT_CQ_ERR, &cq->base);
	list_each(struct sv_qp, qp, &sv_device.qps, node)
	{
		if ((qp->base.send_cq != &cq->base && qp->base.recv_cq != &cq->base) ||
			qp->attr.qp_state < IBV_QPS_INIT || qp->attr.qp_state == IBV_QPS_ERR)
			continue;
		sv_async(qp->base.context, IBV_EVENT_QP_FATAL, &qp->base);
		sv_qp_fail(qp, IBV_WC_WR_FLUSH_ERR);
	}
}

void sv_cq_push(struct sv_cq *cq, const struct sv_cqe *cqe, bool solicited)
{
	struct sv_cqe *slot;
	int fault;

	if (cq->overrun)
		return;
	fault = sv_fault(SV_FAULT_COMPLETE, &cq->base);
	if (cq->tail - cq->head == cq->size || fault == SV_FAULT_OVERRUN) {
		overrun(cq);
		return;
	}
	slot = cqe_at(cq, cq->tail);
	*slot = *cqe;
	cq->tail++;
	if (cq->hidden > 0 || (fault == SV_FAULT_HIDE && cq->arm == SV_ARM_NOT))
		cq->hidden++;
	solicited = solicited || slot->wc.status != IBV_WC_SUCCESS;
	if (cq->arm == SV_ARM_ANY || (cq->arm == SV_ARM_SOLICITED && solicited)) {
		disarm(cq);
		sv_cq_event(cq);
	}
}

void sv_cq_forget_qp(struct sv_cq *cq, struct sv_qp *qp)
{
	/* nothing is on its way any more when a queue pair is gone */
	cq->hidden = 0;
	for (uint32_t n = cq->head; n != cq->tail; n++) {
		if (cqe_at(cq, n)->qp != qp)
			continue;
		cqe_at(cq, n)->qp = NULL;
		if (cqe_at(cq, n)->frees != SV_FREES_SRQ)
			cqe_at(cq, n)->frees = SV_FREES_NOTHING;
	}
}

/* completions of queue pairs that are gone may still belong to the SRQ: find them where they are */
static void forget_srq_in(struct sv_cq *cq, struct sv_srq *srq)
{
	for (uint32_t n = cq->head; n != cq->tail; n++)
		if (cqe_at(cq, n)->srq == srq) {
			cqe_at(cq, n)->srq = NULL;
			cqe_at(cq, n)->frees = SV_FREES_NOTHING;
		}
}

struct list sv_all_cqs = { &sv_all_cqs, &sv_all_cqs };

void sv_cq_forget_srq(struct sv_srq *srq)
{
	list_each(struct sv_cq, cq, &sv_all_cqs, node) forget_srq_in(cq, srq);
}

void sv_cq_forget_all(void)
{
	list_init(&sv_all_cqs);
}

/* hands out one completion. What has no meaning for it stays as it was in the program's structure */
static void give(struct sv_cqe *cqe, struct ibv_wc *wc)
{
	const struct ibv_wc *from = &cqe->wc;

	wc->wr_id = from->wr_id;
	wc->status = from->status;
	wc->vendor_err = from->vendor_err;
	wc->qp_num = from->qp_num;
	if (from->status == IBV_WC_SUCCESS) {
		wc->opcode = from->opcode;
		wc->byte_len = from->byte_len;
		wc->wc_flags = from->wc_flags;
		if (from->wc_flags & IBV_WC_WITH_IMM)
			wc->imm_data = from->imm_data;
		if (from->opcode & IBV_WC_RECV) {
			wc->src_qp = from->src_qp;
			wc->pkey_index = 0;
			wc->slid = 0;
			wc->sl = 0;
			wc->dlid_path_bits = 0;
		}
	}
	switch (cqe->frees) {
	case SV_FREES_SEND:
		if ((int32_t)(cqe->upto - cqe->qp->freed) > 0)
			cqe->qp->freed = cqe->upto;
		break;
	case SV_FREES_RECV:
		cqe->qp->rq.freed++;
		break;
	case SV_FREES_SRQ:
		cqe->srq->ring.freed++;
		break;
	case SV_FREES_NOTHING:
		break;
	}
}

int sv_poll_cq(struct ibv_cq *base, int n, struct ibv_wc *wc)
{
	struct sv_cq *cq = sv_cq(base);
	bool yield;
	int limit;
	int got = 0;

	if (SV_DEAD(SV_CQ, base))
		return -1;
	if (!sv_enter(base->context))
		return -1;
	if (cq->head == cq->tail && !cq->overrun)
		sv_progress_help();
	limit = sv_fault(SV_FAULT_POLL, base);
	if (limit > 0 && limit < n)
		n = limit;
	if (sv_seed_is_on())
		n = sv_seed_poll(cq, n);
	while (got < n && cq->head != cq->tail - cq->hidden)
		give(cqe_at(cq, cq->head++), &wc[got++]);
	if (got == 0 && cq->overrun)
		got = -1;
	yield = got == 0 && sv_progress_is_fruitless();
	sv_unlock();
	if (yield)
		sched_yield();
	return got;
}

int sv_req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	struct sv_cq *cq = sv_cq(base);

	if (SV_DEAD(SV_CQ, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	if (sv_fault(SV_FAULT_ARM, base) == SV_FAULT_TWICE)
		sv_cq_event(cq);
	if (sv_seed_is_on())
		sv_seed_arm(cq);
	cq->hidden = 0; /* what came in only now, too */
	if (cq->arm == SV_ARM_NOT)
		sv_progress_armed(1);
	if (!solicited_only)
		cq->arm = SV_ARM_ANY;
	else if (cq->arm == SV_ARM_NOT)
		cq->arm = SV_ARM_SOLICITED;
	sv_progress_wake();
	sv_unlock();
	return 0;
}

static int create_checks(
	struct ibv_context *context, int cqe, struct ibv_comp_channel *channel, int vector)
{
	if (cqe < 1 || cqe > SV_MAX_CQE || vector < 0 || vector >= context->num_comp_vectors)
		return EINVAL;
	if (channel != NULL && channel->context != context)
		return EINVAL;
	return sv_fault(SV_FAULT_CREATE_CQ, context);
}

SV_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
	struct ibv_comp_channel *channel, int vector)
{
	struct sv_cq *cq = NULL;
	int ret;

	SV_ENTER();
	if (!sv_enter_live(context))
		return NULL;
	ret = create_checks(context, cqe, channel, vector);
	if (ret == 0) {
		cq = calloc(1, sizeof(*cq));
		if (cq != NULL)
			cq->ring = calloc((size_t)cqe, sizeof(*cq->ring));
		if (cq == NULL || cq->ring == NULL)
			ret = ENOMEM;
	}
	if (ret != 0) {
		sv_unlock();
		free(cq);
		errno = ret;
		return NULL;
	}
	cq->size = (uint32_t)cqe;
	cq->base.context = context;
	cq->base.channel = channel;
	cq->base.cq_context = cq_context;
	cq->base.cqe = cqe;
	pthread_mutex_init(&cq->base.mutex, NULL);
	pthread_cond_init(&cq->base.cond, NULL);
	list_init(&cq->in_channel);
	sv_channel_init(cq);
	cq->number = ++sv_numbers.cqs;
	list_push(&sv_all_cqs, &cq->node);
	sv_born(SV_CQ, &cq->base);
	if (channel != NULL)
		channel->refcnt++;
	sv_unlock();
	return &cq->base;
}

SV_EXPORT int ibv_resize_cq(struct ibv_cq *base, int cqe)
{
	struct sv_cq *cq = sv_cq(base);
	struct sv_cqe *ring;
	uint32_t used;

	if (SV_DEAD(SV_CQ, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	sv_progress_settle();
	used = cq->tail - cq->head;
	if (cqe < 1 || cqe > SV_MAX_CQE || (uint32_t)cqe < used) {
		sv_unlock();
		return EINVAL;
	}
	ring = calloc((size_t)cqe, sizeof(*ring));
	if (ring == NULL) {
		sv_unlock();
		return ENOMEM;
	}
	for (uint32_t n = 0; n < used; n++)
		ring[n] = *cqe_at(cq, cq->head + n);
	free(cq->ring);
	cq->ring = ring;
	cq->size = (uint32_t)cqe;
	cq->head = 0;
	cq->tail = used;
	cq->base.cqe = cqe;
	sv_unlock();
	return 0;
}

/* events that were fetched must be acknowledged first; those that were not are dropped */
SV_EXPORT int ibv_destroy_cq(struct ibv_cq *base)
{
	struct sv_cq *cq = sv_cq(base);

	if (SV_DEAD(SV_CQ, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	if (cq->users != 0) {
		sv_misuse(SV_SITE, "ibv_destroy_cq with %d uses by queue pairs", cq->users);
		sv_unlock();
		return EBUSY;
	}
	sv_hold(SV_HOLD_DESTROY);
	disarm(cq);
	sv_channel_drop(cq);
	sv_async_drop(base->context, base);
	while ((int32_t)(base->comp_events_completed - cq->events_fetched) < 0 ||
		(int32_t)(base->async_events_completed - cq->async_fetched) < 0)
		sv_wait();
	if (base->channel != NULL)
		base->channel->refcnt--;
	list_remove(&cq->node);
	sv_unlock();
	pthread_cond_destroy(&base->cond);
	pthread_mutex_destroy(&base->mutex);
	free(cq->ring);
	sv_gone(base, cq);
	return 0;
}
