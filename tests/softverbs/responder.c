/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * responder.c - the receiving half of a queue pair
 *
 * Requests are executed in the order of their psn. One that cannot be executed now for want of a
 * receive is answered RNR, and what follows it is ignored until it comes again; one that may not be
 * executed is answered NAK, and this queue pair goes to the error state as well. Payload that is
 * refused is read from the wire and thrown away: answers to our own requests sit behind it.
 *
 * An acknowledgement is on its way before the receive that it belongs to completes: a program may
 * disconnect as soon as it sees that.
 */

#include <stdlib.h>
#include <string.h>

#include "async.h"
#include "fault.h"
#include "qp.h"
#include "srq.h"

static void answer_done(struct sv_tx *tx)
{
	struct sv_answer *a = container_of(tx, struct sv_answer, tx);
	struct sv_qp *qp = tx->qp;

	if (a->is_read)
		qp->reads_in--;
	if (qp->last_answer == a)
		qp->last_answer = NULL;
	list_push(&qp->answers_free, &a->node);
}

static void reset_answers(struct sv_qp *qp)
{
	list_init(&qp->answers_free);
	for (unsigned i = 0; i < qp->answer_count; i++) {
		struct sv_answer *a = &qp->answers[i];

		list_init(&a->tx.node);
		list_init(&a->node);
		a->tx.qp = qp;
		a->tx.done = answer_done;
		list_push(&qp->answers_free, &a->node);
	}
	qp->last_answer = NULL;
	qp->reads_in = 0;
	qp->ack_due = false;
}

/* between two reads there is at most one acknowledgement; a few more for refusals */
bool sv_responder_init(struct sv_qp *qp)
{
	unsigned count = 2u * qp->attr.max_dest_rd_atomic + 8;

	if (qp->answer_count < count) {
		struct sv_answer *more = realloc(qp->answers, count * sizeof(*more));

		if (more == NULL)
			return false;
		memset(more, 0, count * sizeof(*more));
		qp->answers = more;
		qp->answer_count = count;
	}
	reset_answers(qp);
	qp->expected = 0;
	qp->refused = false;
	return true;
}

static struct sv_answer *answer_new(struct sv_qp *qp, uint8_t type, uint32_t psn)
{
	struct sv_answer *a;

	if (list_empty(&qp->answers_free) || qp->link == NULL)
		return NULL;
	a = list_first(&qp->answers_free, struct sv_answer, node);
	list_remove(&a->node);
	memset(&a->tx.head, 0, sizeof(a->tx.head));
	a->tx.head.type = type;
	a->tx.head.psn = psn;
	a->tx.sge = &a->sge;
	a->tx.sge_count = 0;
	a->is_read = false;
	return a;
}

static void answer_send(struct sv_qp *qp, struct sv_answer *a)
{
	qp->last_answer = a;
	sv_link_send(qp->link, &a->tx);
}

/* all that was executed so far; merged into one that is still waiting to be sent */
static void acknowledge(struct sv_qp *qp)
{
	struct sv_answer *a = qp->last_answer;

	qp->ack_due = false;
	if (a != NULL && a->tx.head.type == SV_FRAME_ACK && a->tx.head_sent == 0) {
		a->tx.head.psn = qp->expected;
		return;
	}
	a = answer_new(qp, SV_FRAME_ACK, qp->expected);
	if (a != NULL)
		answer_send(qp, a);
}

void sv_responder_batch_end(struct sv_qp *qp)
{
	if (qp->ack_due)
		acknowledge(qp);
	if (qp->link != NULL)
		sv_link_kick(qp->link);
}

static void complete_recv(struct sv_qp *qp, enum ibv_wc_status status, const struct sv_frame *f)
{
	struct sv_cqe cqe = { .qp = qp, .srq = qp->srq };

	cqe.frees = qp->srq != NULL ? SV_FREES_SRQ : SV_FREES_RECV;
	cqe.wc.wr_id = qp->incoming.wr_id;
	cqe.wc.status = status;
	cqe.wc.qp_num = qp->base.qp_num;
	cqe.wc.src_qp = qp->attr.dest_qp_num;
	cqe.wc.opcode = IBV_WC_RECV;
	if (f != NULL) {
		if (f->type == SV_FRAME_WRITE)
			cqe.wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
		cqe.wc.byte_len = f->payload;
		if (f->flags & SV_FRAME_HAS_IMM) {
			cqe.wc.wc_flags = IBV_WC_WITH_IMM;
			cqe.wc.imm_data = f->imm;
		}
	}
	qp->incoming.valid = false;
	sv_cq_push(sv_cq(qp->base.recv_cq), &cqe, f != NULL && (f->flags & SV_FRAME_SOLICITED));
}

static void ignore(struct sv_rx *rx)
{
	rx->discard = true;
	rx->head.type = 0;
}

/* the request at `expected` fails for good: with us, at the peer, and so does the connection */
static void refuse(struct sv_qp *qp, struct sv_rx *rx, enum ibv_wc_status remote)
{
	struct sv_answer *a = answer_new(qp, SV_FRAME_NAK, qp->expected);

	ignore(rx);
	if (a != NULL) {
		a->tx.head.code = (uint8_t)remote;
		answer_send(qp, a);
	}
	sv_async(qp->base.context,
		remote == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR,
		&qp->base);
	sv_qp_fail(qp, IBV_WC_WR_FLUSH_ERR);
}

/* the same, when it is our receive that is not in order: it says why */
static void refuse_recv(
	struct sv_qp *qp, struct sv_rx *rx, enum ibv_wc_status local, enum ibv_wc_status remote)
{
	complete_recv(qp, local, NULL);
	refuse(qp, rx, remote);
}

static void not_ready(struct sv_qp *qp, struct sv_rx *rx)
{
	struct sv_answer *a = answer_new(qp, SV_FRAME_RNR, qp->expected);

	ignore(rx);
	qp->refused = true;
	qp->ack_due = false; /* the RNR says as much */
	if (a != NULL) {
		a->tx.head.code = qp->attr.min_rnr_timer;
		answer_send(qp, a);
	}
}

static bool take_recv(struct sv_qp *qp)
{
	return qp->srq != NULL ? sv_srq_take(qp->srq, &qp->incoming)
			       : sv_ring_take(&qp->rq, &qp->incoming);
}

static void send_head(struct sv_qp *qp, struct sv_rx *rx)
{
	struct ibv_pd *pd = qp->srq != NULL ? qp->srq->base.pd : qp->base.pd;
	uint64_t room = 0;
	int used = 0;

	if (!take_recv(qp)) {
		not_ready(qp, rx);
		return;
	}
	while (used < qp->incoming.sge_count && room < rx->head.payload)
		room += qp->incoming.sge[used++].length;
	if (room < rx->head.payload) {
		refuse_recv(qp, rx, IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
		return;
	}
	if (!sv_mr_sges(pd, qp->incoming.sge, used, IBV_ACCESS_LOCAL_WRITE, rx->sink)) {
		refuse_recv(qp, rx, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
		return;
	}
	rx->sink_count = used;
}

static void write_head(struct sv_qp *qp, struct sv_rx *rx)
{
	struct sv_frame *f = &rx->head;
	void *to = NULL;

	if (f->payload > 0) {
		if (qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE)
			to = sv_mr_at(
				qp->base.pd, f->rkey, f->addr, f->payload, IBV_ACCESS_REMOTE_WRITE);
		if (to == NULL) {
			refuse(qp, rx, IBV_WC_REM_ACCESS_ERR);
			return;
		}
		rx->sink[0] = (struct ibv_sge){ (uintptr_t)to, f->payload, f->rkey };
		rx->sink_count = 1;
	}
	if ((f->flags & SV_FRAME_HAS_IMM) && !take_recv(qp))
		not_ready(qp, rx);
}

/* true: an order has this request end otherwise than it should */
static bool fault_refuses(struct sv_qp *qp, struct sv_rx *rx)
{
	int fault = sv_fault(SV_FAULT_REQUEST, &qp->base);

	if (fault == SV_FAULT_RNR)
		not_ready(qp, rx);
	else if (fault > 0)
		refuse(qp, rx, (enum ibv_wc_status)fault);
	return fault != 0;
}

void sv_responder_head(struct sv_qp *qp, struct sv_rx *rx)
{
	if (rx->head.psn != qp->expected) {
		ignore(rx);
		return;
	}
	qp->refused = false;
	if (qp->attr.qp_state == IBV_QPS_RTR && !qp->started)
		sv_async(qp->base.context, IBV_EVENT_COMM_EST, &qp->base);
	qp->started = true;
	if (sv_faults_on && fault_refuses(qp, rx))
		return;
	if (rx->head.type == SV_FRAME_SEND)
		send_head(qp, rx);
	else if (rx->head.type == SV_FRAME_WRITE)
		write_head(qp, rx);
	else if (rx->head.payload != 0)
		refuse(qp, rx, IBV_WC_REM_INV_REQ_ERR);
}

/* the answer to a read or an atomic; NULL: more of them than was agreed, refused */
static struct sv_answer *fetch_answer(struct sv_qp *qp, struct sv_rx *rx, uint8_t type)
{
	struct sv_answer *a = NULL;

	if (qp->reads_in < qp->attr.max_dest_rd_atomic)
		a = answer_new(qp, type, rx->head.psn);
	if (a == NULL) {
		refuse(qp, rx, IBV_WC_REM_INV_REQ_ERR);
		return NULL;
	}
	a->is_read = true;
	a->tx.sge_count = 1;
	qp->reads_in++;
	return a;
}

static void do_read(struct sv_qp *qp, struct sv_rx *rx)
{
	struct sv_frame *f = &rx->head;
	void *from = NULL;
	struct sv_answer *a;

	if (qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ)
		from = sv_mr_at(qp->base.pd, f->rkey, f->addr, f->length, IBV_ACCESS_REMOTE_READ);
	if (f->length > 0 && from == NULL) {
		refuse(qp, rx, IBV_WC_REM_ACCESS_ERR);
		return;
	}
	a = fetch_answer(qp, rx, SV_FRAME_READ_RESPONSE);
	if (a == NULL)
		return;
	a->sge = (struct ibv_sge){ (uintptr_t)from, f->length, f->rkey };
	a->tx.head.payload = f->length;
	qp->ack_due = false;
	qp->expected++;
	answer_send(qp, a);
}

/* the eight aligned bytes that an atomic is about; NULL: refused */
static uint64_t *atomic_target(struct sv_qp *qp, struct sv_rx *rx, int access)
{
	struct sv_frame *f = &rx->head;
	void *at = NULL;

	if (f->addr % sizeof(uint64_t) != 0) {
		refuse(qp, rx, IBV_WC_REM_INV_REQ_ERR);
		return NULL;
	}
	if (qp->attr.qp_access_flags & (unsigned)access)
		at = sv_mr_at(qp->base.pd, f->rkey, f->addr, sizeof(uint64_t), access);
	if (at == NULL)
		refuse(qp, rx, IBV_WC_REM_ACCESS_ERR);
	return at;
}

static void do_atomic(struct sv_qp *qp, struct sv_rx *rx)
{
	struct sv_frame *f = &rx->head;
	uint64_t *at = atomic_target(qp, rx, IBV_ACCESS_REMOTE_ATOMIC);
	struct sv_answer *a;

	if (at == NULL)
		return;
	a = fetch_answer(qp, rx, SV_FRAME_ATOMIC_RESPONSE);
	if (a == NULL)
		return;
	sv_watch_written(at, sizeof(*at));
	if (f->type == SV_FRAME_FETCH_ADD) {
		a->value = __atomic_fetch_add(at, f->operand, __ATOMIC_SEQ_CST);
	} else {
		a->value = f->operand;
		__atomic_compare_exchange_n(
			at, &a->value, f->swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	}
	a->sge = (struct ibv_sge){ .addr = (uintptr_t)&a->value, .length = sizeof(a->value) };
	a->tx.head.payload = sizeof(a->value);
	qp->ack_due = false;
	qp->expected++;
	answer_send(qp, a);
}

static void do_atomic_write(struct sv_qp *qp, struct sv_rx *rx)
{
	uint64_t *at = atomic_target(qp, rx, IBV_ACCESS_REMOTE_WRITE);

	if (at == NULL)
		return;
	sv_watch_written(at, sizeof(*at));
	__atomic_store_n(at, rx->head.operand, __ATOMIC_SEQ_CST);
	qp->expected++;
	qp->ack_due = true;
}

#ifdef SV_HAS_NATIVE
/* what came before is in memory by now, as visible as it will ever be; all memory here is persistent */
static void do_flush(struct sv_qp *qp, struct sv_rx *rx)
{
	struct sv_frame *f = &rx->head;
	const uint8_t type = SV_FLUSH_TYPE(f->swap);
	int access = 0; /* for no placement at all none is needed, as on rxe */
	bool is_allowed;

	if (type & IBV_FLUSH_GLOBAL)
		access |= IBV_ACCESS_FLUSH_GLOBAL;
	if (type & IBV_FLUSH_PERSISTENT)
		access |= IBV_ACCESS_FLUSH_PERSISTENT;
	if (SV_FLUSH_LEVEL(f->swap) == IBV_FLUSH_RANGE)
		is_allowed = sv_mr_at(qp->base.pd, f->rkey, f->addr, f->operand, access) != NULL;
	else
		is_allowed = sv_mr_allows(qp->base.pd, f->rkey, access);
	if (!is_allowed) {
		refuse(qp, rx, IBV_WC_REM_ACCESS_ERR);
		return;
	}
	qp->expected++;
	qp->ack_due = true;
}
#endif

static void do_send_or_write(struct sv_qp *qp, struct sv_rx *rx)
{
	struct sv_frame f = rx->head;

	if (rx->lost_memory && f.type == SV_FRAME_SEND) {
		refuse_recv(qp, rx, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
		return;
	}
	if (rx->lost_memory) {
		refuse(qp, rx, IBV_WC_REM_ACCESS_ERR);
		return;
	}
	qp->expected++;
	qp->ack_due = true;
	if (!qp->incoming.valid)
		return;
	sv_responder_batch_end(qp);
	if (qp->incoming.valid) /* else sending has found a fault that ended this queue pair */
		complete_recv(qp, IBV_WC_SUCCESS, &f);
}

void sv_responder_finish(struct sv_qp *qp, struct sv_rx *rx)
{
	switch (rx->head.type) {
	case SV_FRAME_SEND:
	case SV_FRAME_WRITE:
		do_send_or_write(qp, rx);
		break;
	case SV_FRAME_READ:
		do_read(qp, rx);
		break;
	case SV_FRAME_CMP_SWAP:
	case SV_FRAME_FETCH_ADD:
		do_atomic(qp, rx);
		break;
	case SV_FRAME_ATOMIC_WRITE:
		do_atomic_write(qp, rx);
		break;
#ifdef SV_HAS_NATIVE
	case SV_FRAME_FLUSH:
		do_flush(qp, rx);
		break;
#endif
	default:
		break;
	}
}

/* one that is being filled was the oldest; those of an SRQ stay there */
void sv_responder_flush(struct sv_qp *qp)
{
	if (qp->incoming.valid)
		complete_recv(qp, IBV_WC_WR_FLUSH_ERR, NULL);
	while (qp->srq == NULL && sv_ring_take(&qp->rq, &qp->incoming))
		complete_recv(qp, IBV_WC_WR_FLUSH_ERR, NULL);
}
