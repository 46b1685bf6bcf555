/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* srq.c - libibverbs: shared receive queues */

#include <errno.h>
#include <stdlib.h>

#include "state.h"

struct queue *double__recvs(struct qp *qp)
{
	return qp->qp.srq ? &OF(srq, srq, qp->qp.srq)->rq : &qp->rq;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct srq *srq;

	if (double__enter("ibv_create_srq"))
		return NULL;
	if (attr->attr.max_wr < 1 || attr->attr.max_wr > double_device.max_wr ||
		attr->attr.max_sge > DOUBLE_MAX_SGE) {
		double__leave();
		errno = EINVAL;
		return NULL;
	}
	srq = double__new(DOUBLE_SRQ, sizeof(*srq));
	srq->attr = *attr;
	srq->srq = (struct ibv_srq){
		.context = pd->context,
		.srq_context = attr->srq_context,
		.pd = pd,
	};
	srq->rq.size = attr->attr.max_wr;
	srq->rq.ring = calloc(srq->rq.size, sizeof(struct wr));
	if (!srq->rq.ring)
		abort();
	OF(pd, pd, pd)->object.refs++;
	double__leave();
	return &srq->srq;
}

int ibv_destroy_srq(struct ibv_srq *ibv_srq)
{
	struct srq *srq = OF(srq, srq, ibv_srq);
	const bool fails = double__enter("ibv_destroy_srq");
	const int err = fails ? double__errno() : 0;

	if (fails)
		double__lock();
	if (!fails && srq->object.refs) {
		double__leave();
		return EBUSY;
	}
	if (srq->async_unacked)
		double__problem("shared receive queue destroyed with unacknowledged async events");
	double__drop_async(ibv_srq);
	OF(pd, pd, ibv_srq->pd)->object.refs--;
	double__cq_forget_srq(srq);
	if (fails) {
		srq->rq.completed = srq->rq.posted;
		double__gone(srq);
	} else {
		free(srq->rq.ring);
		double__free(srq);
	}
	double__leave();
	return err;
}

int double__post_srq_recv(
	struct ibv_srq *ibv_srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct srq *srq = OF(srq, srq, ibv_srq);
	int ret;

	*bad_wr = wr;
	if (double__enter("ibv_post_srq_recv"))
		return double__errno();
	ret = double__add_recvs(&srq->rq, wr, bad_wr);
	double__run_senders_to(ibv_srq);
	double__leave();
	return ret;
}

struct ibv_srq *double_last_srq(void)
{
	struct srq *srq = (struct srq *)double__last(DOUBLE_SRQ);

	return srq ? &srq->srq : NULL;
}

const struct ibv_srq_init_attr *double_srq_attr(const struct ibv_srq *srq)
{
	return &OF(srq, srq, srq)->attr;
}

const struct double_wr *double_srq_last_recv(const struct ibv_srq *srq)
{
	return OF(srq, srq, srq)->rq.posted ? &OF(srq, srq, srq)->rq.last : NULL;
}

unsigned double_srq_pending_recvs(const struct ibv_srq *srq)
{
	return (unsigned)(OF(srq, srq, srq)->rq.posted - OF(srq, srq, srq)->rq.completed);
}
