/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* complete.c - queue pairs: completing work requests and moving their bytes */

#include <stdlib.h>
#include <string.h>

#include "state.h"

#define NOT_READY  ((enum ibv_wc_status) - 1) /* the message waits for a receive */
#define VENDOR_ERR 0x51

static void complete(struct qp *qp, bool is_recv, enum ibv_wc_status status, struct ibv_wc *wc)
{
	struct queue *queue = is_recv ? double__recvs(qp) : &qp->sq;
	const struct double_wr *wr = &queue->ring[queue->completed % queue->size].wr;
	const bool is_shared = is_recv && qp->qp.srq;
	struct cqe cqe = {
		.is_recv = is_recv,
		.srq = is_shared ? OF(srq, srq, qp->qp.srq) : NULL,
		.number = queue->completed++,
	};

	if (status != IBV_WC_SUCCESS) {
		memset(wc, 0xa5, sizeof(*wc)); /* what a failure leaves undefined */
		wc->vendor_err = VENDOR_ERR;
	}
	wc->wr_id = wr->wr_id;
	wc->status = status;
	wc->qp_num = qp->qp.qp_num;
	cqe.wc = *wc;
	if (is_recv || status != IBV_WC_SUCCESS || (wr->send_flags & IBV_SEND_SIGNALED) ||
		qp->attr.sq_sig_all)
		double__push_cqe(is_recv ? qp->qp.recv_cq : qp->qp.send_cq, &cqe);
}

static enum ibv_wc_opcode wc_opcode(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
#ifdef RPMA_HAVE_NATIVE
	case IBV_WR_FLUSH:
		return IBV_WC_FLUSH;
	case IBV_WR_ATOMIC_WRITE:
		return IBV_WC_ATOMIC_WRITE;
#endif
	default:
		return IBV_WC_SEND;
	}
}

uint32_t double__length(const struct double_wr *wr)
{
	uint32_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sge[i].length;
	return len;
}

static bool local_is_right(const struct double_wr *wr, int access)
{
	int i;

	if (wr->send_flags & IBV_SEND_INLINE)
		return true;
	for (i = 0; i < wr->num_sge; i++) {
		if (!double__find_mr(wr->sge[i].lkey, wr->sge[i].addr, wr->sge[i].length, access))
			return false;
	}
	return true;
}

/* between the pieces of a work request and one flat range */
void double__copy(const struct wr *wr, uint8_t *flat, uint32_t len, bool to_flat)
{
	int i;

	if ((wr->wr.send_flags & IBV_SEND_INLINE) && len) {
		memcpy(flat, wr->inline_data, len);
		return;
	}
	for (i = 0; i < wr->wr.num_sge && len; i++) {
		void *piece = (void *)(uintptr_t)wr->wr.sge[i].addr;
		const uint32_t n = wr->wr.sge[i].length < len ? wr->wr.sge[i].length : len;

		if (n && to_flat)
			memcpy(flat, piece, n);
		else if (n)
			memcpy(piece, flat, n);
		flat += n;
		len -= n;
	}
}

/* the oldest receive of a queue pair takes a message; NULL imm: none */
static enum ibv_wc_status take(
	struct qp *qp, const void *data, uint32_t len, const uint32_t *imm, bool is_write)
{
	struct ibv_wc wc = {
		.opcode = is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.byte_len = len,
		.wc_flags = imm ? IBV_WC_WITH_IMM : 0,
		.imm_data = imm ? *imm : 0,
	};
	const struct queue *rq = double__recvs(qp);
	const struct wr *recv;

	if (rq->completed == rq->posted)
		return NOT_READY;
	recv = &rq->ring[rq->completed % rq->size];
	if (!is_write && double__length(&recv->wr) < len) {
		complete(qp, true, IBV_WC_LOC_LEN_ERR, &wc);
		return IBV_WC_REM_INV_REQ_ERR;
	}
	if (!is_write && !local_is_right(&recv->wr, IBV_ACCESS_LOCAL_WRITE)) {
		complete(qp, true, IBV_WC_LOC_PROT_ERR, &wc);
		return IBV_WC_REM_OP_ERR;
	}
	if (!is_write)
		double__copy(recv, (uint8_t *)(uintptr_t)data, len, false);
	complete(qp, true, IBV_WC_SUCCESS, &wc);
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status message(struct qp *qp, const struct wr *wr, uint32_t len, bool is_write)
{
	const bool has_imm = wr->wr.opcode == IBV_WR_SEND_WITH_IMM ||
			     wr->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	enum ibv_wc_status status;
	uint8_t *flat;

	if (!qp->paired)
		return IBV_WC_SUCCESS;
	flat = malloc(len + 1);
	if (!flat)
		abort();
	double__copy(wr, flat, len, true);
	status = take(qp->paired, flat, len, has_imm ? &wr->wr.imm : NULL, is_write);
	free(flat);
	return status;
}

static enum ibv_wc_status rdma(const struct wr *wr, uint32_t len)
{
	const bool is_read = wr->wr.opcode == IBV_WR_RDMA_READ;

	if (len == 0)
		return IBV_WC_SUCCESS;
	if (!double__find_mr(wr->wr.rkey, wr->wr.remote_addr, len,
		    is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE))
		return IBV_WC_REM_ACCESS_ERR;
	double__copy(wr, (uint8_t *)(uintptr_t)wr->wr.remote_addr, len, !is_read);
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status execute(struct qp *qp, const struct wr *wr)
{
	const uint32_t len = double__length(&wr->wr);
	enum ibv_wc_status status;

	if (!local_is_right(
		    &wr->wr, wr->wr.opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_LOCAL_WRITE : 0))
		return IBV_WC_LOC_PROT_ERR;
	switch (wr->wr.opcode) {
#ifdef RPMA_HAVE_NATIVE
	case IBV_WR_FLUSH:
		return double__find_mr(wr->wr.rkey, wr->wr.remote_addr, wr->wr.flush_len,
			       wr->wr.flush_type == IBV_FLUSH_PERSISTENT
				       ? IBV_ACCESS_FLUSH_PERSISTENT
				       : IBV_ACCESS_FLUSH_GLOBAL)
			       ? IBV_WC_SUCCESS
			       : IBV_WC_REM_ACCESS_ERR;
	case IBV_WR_ATOMIC_WRITE:
#endif
	case IBV_WR_RDMA_READ:
	case IBV_WR_RDMA_WRITE:
		return rdma(wr, len);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		if (qp->paired &&
			double__recvs(qp->paired)->completed == double__recvs(qp->paired)->posted)
			return NOT_READY;
		status = rdma(wr, len);
		return status ? status : message(qp, wr, len, true);
	default:
		return message(qp, wr, len, false);
	}
}

static bool complete_one_send(struct qp *qp, enum ibv_wc_status status)
{
	const struct wr *wr = &qp->sq.ring[qp->sq.completed % qp->sq.size];
	struct ibv_wc wc = {
		.opcode = wc_opcode(wr->wr.opcode),
		.byte_len = double__length(&wr->wr),
	};

	if (status == IBV_WC_SUCCESS)
		status = execute(qp, wr);
	if (status == NOT_READY)
		return false;
	complete(qp, false, status, &wc);
	if (status != IBV_WC_SUCCESS)
		double__qp_error(&qp->qp);
	return true;
}

unsigned double_complete_send(struct ibv_qp *ibv_qp, unsigned k, enum ibv_wc_status status)
{
	struct qp *qp = OF(qp, qp, ibv_qp);
	unsigned count = 0;

	double__lock();
	while (count < k && qp->sq.completed < qp->sq.posted && ibv_qp->state != IBV_QPS_ERR &&
		complete_one_send(qp, status))
		count++;
	double__leave();
	return count;
}

unsigned double_complete_recv(struct ibv_qp *ibv_qp, unsigned k, enum ibv_wc_status status)
{
	struct qp *qp = OF(qp, qp, ibv_qp);
	const struct queue *rq = double__recvs(qp);
	struct ibv_wc wc = { .opcode = IBV_WC_RECV };
	unsigned count = 0;

	double__lock();
	while (count < k && rq->completed < rq->posted && ibv_qp->state != IBV_QPS_ERR) {
		complete(qp, true, status, &wc);
		if (status != IBV_WC_SUCCESS)
			double__qp_error(ibv_qp);
		count++;
	}
	double__leave();
	return count;
}

bool double_deliver(struct ibv_qp *qp, const void *data, uint32_t len, const uint32_t *imm)
{
	bool is_taken;

	double__lock();
	is_taken = take(OF(qp, qp, qp), data, len, imm, false) != NOT_READY;
	double__leave();
	return is_taken;
}

unsigned double_flush(struct ibv_qp *ibv_qp)
{
	struct qp *qp = OF(qp, qp, ibv_qp);
	struct ibv_wc wc;
	unsigned count = 0;

	double__lock();
	ibv_qp->state = IBV_QPS_ERR;
	for (; qp->sq.completed < qp->sq.posted; count++)
		complete(qp, false, IBV_WC_WR_FLUSH_ERR, &wc);
	for (; qp->rq.completed < qp->rq.posted; count++)
		complete(qp, true, IBV_WC_WR_FLUSH_ERR, &wc);
	double__leave();
	return count;
}

void double__qp_error(struct ibv_qp *ibv_qp)
{
	const bool was_right = ibv_qp->state != IBV_QPS_ERR;

	ibv_qp->state = IBV_QPS_ERR;
	if (!(double__auto & DOUBLE_AUTO_FLUSH))
		return;
	(void)double_flush(ibv_qp);
	if (ibv_qp->srq && was_right)
		double_push_async(IBV_EVENT_QP_LAST_WQE_REACHED, ibv_qp);
}
