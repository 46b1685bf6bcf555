/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* qp.c - queue pairs: making, posting, looking */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

static uint32_t last_qp_num = 0x10;
static unsigned refuse_at; /* work requests until one is refused; 0: none will be */
static int refuse_err;

void double_refuse_wr(unsigned k, int err)
{
	double__lock();
	refuse_at = k;
	refuse_err = err;
	double__leave();
}

static struct qp *find_qp(uint32_t qp_num)
{
	struct object *object;

	for (object = double__last(DOUBLE_QP); object; object = object->next) {
		struct qp *qp = (struct qp *)object;

		if (object->kind == DOUBLE_QP && qp->qp.qp_num == qp_num)
			return qp;
	}
	return NULL;
}

struct ibv_qp *double__qp_new(
	struct ibv_pd *pd, struct ibv_qp_init_attr_ex *attr, struct ibv_context *context)
{
	struct qp *qp;

	if (!pd || pd->context != context || attr->qp_type != IBV_QPT_RC ||
		attr->cap.max_inline_data > double_device.max_inline ||
		attr->cap.max_send_wr > double_device.max_wr ||
		attr->cap.max_recv_wr > double_device.max_wr ||
		attr->cap.max_send_sge > DOUBLE_MAX_SGE ||
		attr->cap.max_recv_sge > DOUBLE_MAX_SGE) {
		errno = EINVAL;
		return NULL;
	}
	qp = double__new(DOUBLE_QP, sizeof(*qp));
	qp->attr = *attr;
	qp->qp = (struct ibv_qp){
		.context = context,
		.qp_context = attr->qp_context,
		.pd = pd,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.qp_num = ++last_qp_num,
		.state = IBV_QPS_INIT,
		.qp_type = IBV_QPT_RC,
	};
	qp->sq.size = attr->cap.max_send_wr;
	qp->rq.size = attr->cap.max_recv_wr;
	qp->sq.ring = calloc(qp->sq.size + 1, sizeof(struct wr));
	qp->rq.ring = calloc(qp->rq.size + 1, sizeof(struct wr));
	if (!qp->sq.ring || !qp->rq.ring)
		abort();
	qp->rd_atomic = (uint8_t)double_device.max_rd_atomic;
#ifdef RPMA_HAVE_NATIVE
	double__native_new(qp);
#endif
	OF(pd, pd, pd)->object.refs++;
	OF(cq, cq, attr->send_cq)->object.refs++;
	OF(cq, cq, attr->recv_cq)->object.refs++;
	if (attr->srq)
		OF(srq, srq, attr->srq)->object.refs++;
	return &qp->qp;
}

void double__qp_free(struct ibv_qp *ibv_qp)
{
	struct qp *qp = OF(qp, qp, ibv_qp);

	if (qp->async_unacked)
		double__problem("queue pair destroyed with unacknowledged async events");
	double__drop_async(ibv_qp);
	if (qp->paired)
		qp->paired->paired = NULL;
	OF(pd, pd, ibv_qp->pd)->object.refs--;
	OF(cq, cq, ibv_qp->send_cq)->object.refs--;
	OF(cq, cq, ibv_qp->recv_cq)->object.refs--;
	if (ibv_qp->srq)
		OF(srq, srq, ibv_qp->srq)->object.refs--;
	free(qp->sq.ring);
	free(qp->rq.ring);
	double__free(qp);
}

static bool uses(const struct queue *queue, uint32_t lkey)
{
	uint64_t n;
	int i;

	for (n = queue->completed; n < queue->posted; n++) {
		const struct double_wr *wr = &queue->ring[n % queue->size].wr;

		for (i = 0; i < wr->num_sge; i++) {
			if (wr->sge[i].lkey == lkey && !(wr->send_flags & IBV_SEND_INLINE))
				return true;
		}
	}
	return false;
}

bool double__is_posted(uint32_t lkey)
{
	struct object *object;

	for (object = double__last(DOUBLE_QP); object; object = object->next) {
		const struct qp *qp = (struct qp *)object;

		if (object->kind == DOUBLE_QP && (uses(&qp->sq, lkey) || uses(&qp->rq, lkey)))
			return true;
	}
	for (object = double__last(DOUBLE_SRQ); object; object = object->next) {
		if (object->kind == DOUBLE_SRQ && uses(&((struct srq *)object)->rq, lkey))
			return true;
	}
	return false;
}

void double__qp_polled(uint32_t qp_num, bool is_recv, uint64_t number)
{
	struct qp *qp = find_qp(qp_num);

	/* a polled completion gives back its own slot and those of everything before it */
	if (qp && is_recv)
		qp->rq.reclaimed = number + 1;
	else if (qp)
		qp->sq.reclaimed = number + 1;
}

/* posting */

static int add(struct queue *queue, const struct double_wr *wr, struct wr **added)
{
	if (wr->num_sge > DOUBLE_MAX_SGE)
		return EINVAL;
	if (refuse_at && --refuse_at == 0)
		return refuse_err;
	if (queue->posted - queue->reclaimed >= queue->size)
		return ENOMEM;
	*added = &queue->ring[queue->posted % queue->size];
	(*added)->wr = *wr;
	queue->last = *wr;
	return 0;
}

static void copy_sge(struct double_wr *wr, const struct ibv_sge *sge, int num_sge)
{
	int i;

	wr->num_sge = num_sge;
	for (i = 0; i < num_sge && i < DOUBLE_MAX_SGE; i++)
		wr->sge[i] = sge[i];
}

int double__add_send(struct qp *qp, const struct double_wr *record)
{
	struct wr *added;
	int ret;

	if ((record->send_flags & IBV_SEND_INLINE) &&
		double__length(record) > qp->attr.cap.max_inline_data)
		return ENOMEM;
	ret = add(&qp->sq, record, &added);
	if (ret)
		return ret;
	if (record->send_flags & IBV_SEND_INLINE) {
		added->wr.send_flags &= ~(unsigned)IBV_SEND_INLINE;
		double__copy(added, added->inline_data, double__length(record), true);
		added->wr.send_flags |= IBV_SEND_INLINE;
	}
	qp->sq.posted++;
	return 0;
}

static int post_one_send(struct qp *qp, const struct ibv_send_wr *wr)
{
	struct double_wr record = {
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.send_flags = wr->send_flags,
		.imm = wr->imm_data,
		.remote_addr = wr->wr.rdma.remote_addr,
		.rkey = wr->wr.rdma.rkey,
		.doorbell = qp->sq.doorbells,
	};

	copy_sge(&record, wr->sg_list, wr->num_sge);
	return double__add_send(qp, &record);
}

/* in automatic mode what was posted completes; in error it is flushed */
void double__run(struct qp *qp)
{
	if (qp->qp.state == IBV_QPS_ERR && (double__auto & DOUBLE_AUTO_FLUSH))
		(void)double_flush(&qp->qp);
	if (qp->qp.state == IBV_QPS_RTS && (double__auto & DOUBLE_AUTO_DATA))
		(void)double_complete_send(&qp->qp, UINT32_MAX, IBV_WC_SUCCESS);
}

int double__post_send(struct ibv_qp *ibv_qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct qp *qp = OF(qp, qp, ibv_qp);
	int ret = 0;

	*bad_wr = wr;
	if (double__enter("ibv_post_send"))
		return double__errno();
	qp->sq.doorbells++;
	if (ibv_qp->state != IBV_QPS_RTS && ibv_qp->state != IBV_QPS_ERR)
		ret = EINVAL;
	for (; wr && !ret; wr = ret ? wr : wr->next) {
		ret = post_one_send(qp, wr);
		*bad_wr = wr;
	}
	double__run(qp);
	double__leave();
	return ret;
}

int double__add_recvs(struct queue *queue, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct wr *added;
	int ret;

	queue->doorbells++;
	for (; wr; wr = wr->next) {
		struct double_wr record = {
			.wr_id = wr->wr_id,
			.is_recv = true,
			.doorbell = queue->doorbells,
		};

		*bad_wr = wr;
		copy_sge(&record, wr->sg_list, wr->num_sge);
		ret = add(queue, &record, &added);
		if (ret)
			return ret;
		queue->posted++;
	}
	return 0;
}

/* a receive came for whoever has a message for one of its queue pairs */
void double__run_senders_to(const struct ibv_srq *srq)
{
	struct object *object;

	for (object = double__last(DOUBLE_QP); object; object = object->next) {
		struct qp *qp = (struct qp *)object;

		if (object->kind == DOUBLE_QP && qp->qp.srq == srq && qp->paired)
			double__run(qp->paired);
	}
}

int double__post_recv(struct ibv_qp *ibv_qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct qp *qp = OF(qp, qp, ibv_qp);
	int ret;

	*bad_wr = wr;
	if (double__enter("ibv_post_recv"))
		return double__errno();
	/* a device gives such a queue pair no queue of its own */
	ret = ibv_qp->srq ? EINVAL : double__add_recvs(&qp->rq, wr, bad_wr);
	double__run(qp);
	if (qp->paired)
		double__run(qp->paired);
	double__leave();
	return ret;
}

/* attributes */

int ibv_query_qp(
	struct ibv_qp *ibv_qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	const struct qp *qp = OF(qp, qp, ibv_qp);

	(void)mask;
	if (double__enter("ibv_query_qp"))
		return double__errno();
	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	attr->qp_state = ibv_qp->state;
	attr->cur_qp_state = ibv_qp->state;
	attr->cap = qp->attr.cap;
	attr->max_rd_atomic = qp->rd_atomic;
	attr->max_dest_rd_atomic = qp->rd_atomic;
	attr->min_rnr_timer = qp->min_rnr_timer;
	init->cap = qp->attr.cap;
	init->send_cq = ibv_qp->send_cq;
	init->recv_cq = ibv_qp->recv_cq;
	init->qp_type = ibv_qp->qp_type;
	double__leave();
	return 0;
}

int ibv_modify_qp(struct ibv_qp *ibv_qp, struct ibv_qp_attr *attr, int mask)
{
	struct qp *qp = OF(qp, qp, ibv_qp);

	if (double__enter("ibv_modify_qp"))
		return double__errno();
	if (mask & IBV_QP_MIN_RNR_TIMER)
		qp->min_rnr_timer = attr->min_rnr_timer;
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_ERR)
		double__qp_error(ibv_qp);
	else if (mask & IBV_QP_STATE)
		ibv_qp->state = attr->qp_state;
	double__leave();
	return 0;
}

const struct ibv_qp_init_attr_ex *double_qp_attr(const struct ibv_qp *qp)
{
	return &OF(qp, qp, qp)->attr;
}

void double_qp_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	qp->state = state;
}

void double_qp_rd_atomic(struct ibv_qp *qp, uint8_t depth)
{
	OF(qp, qp, qp)->rd_atomic = depth;
}

void double_qp_pair(struct ibv_qp *a, struct ibv_qp *b)
{
	OF(qp, qp, a)->paired = OF(qp, qp, b);
	OF(qp, qp, b)->paired = OF(qp, qp, a);
}

/* looking */

static const struct double_wr *last_of(const struct queue *queue)
{
	return queue->posted ? &queue->last : NULL;
}

static const struct double_wr *pending_of(const struct queue *queue, unsigned i)
{
	const uint64_t number = queue->completed + i;

	return number < queue->posted ? &queue->ring[number % queue->size].wr : NULL;
}

const struct double_wr *double_last_send(const struct ibv_qp *qp)
{
	return last_of(&OF(qp, qp, qp)->sq);
}

const struct double_wr *double_last_recv(const struct ibv_qp *qp)
{
	return last_of(&OF(qp, qp, qp)->rq);
}

const struct double_wr *double_pending_send(const struct ibv_qp *qp, unsigned i)
{
	return pending_of(&OF(qp, qp, qp)->sq, i);
}

const struct double_wr *double_pending_recv(const struct ibv_qp *qp, unsigned i)
{
	return pending_of(&OF(qp, qp, qp)->rq, i);
}

unsigned double_pending_sends(const struct ibv_qp *qp)
{
	return (unsigned)(OF(qp, qp, qp)->sq.posted - OF(qp, qp, qp)->sq.completed);
}

unsigned double_pending_recvs(const struct ibv_qp *qp)
{
	return (unsigned)(OF(qp, qp, qp)->rq.posted - OF(qp, qp, qp)->rq.completed);
}

unsigned double_send_doorbells(const struct ibv_qp *qp)
{
	return OF(qp, qp, qp)->sq.doorbells;
}

unsigned double_recv_doorbells(const struct ibv_qp *qp)
{
	return OF(qp, qp, qp)->rq.doorbells;
}

uint64_t double_sends(const struct ibv_qp *qp)
{
	return OF(qp, qp, qp)->sq.posted;
}
