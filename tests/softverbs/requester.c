/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * requester.c - the sending half of a queue pair
 *
 *     posted --run()--> sent --an answer--> done: completion, if signalled
 *       ^                |  |
 *       |                |  `-- NAK, or the ack timer: this one fails, the queue pair goes to ERR
 *       `-- RNR: from there on again, when the timer has run out
 *
 * Work requests travel in order and are answered in order, so everything before an answer is done
 * as well. At most max_rd_atomic reads and atomics are out at a time; the next one holds back all that
 * is behind it. A work request whose local memory is not in order ("doomed") travels not at all, and
 * nothing behind it; it fails when all before it are done.
 */

#include <string.h>

#include "async.h"
#include "fault.h"
#include "qp.h"

#define ACK_UNIT_NS 4096
#define RNR_FOREVER 7

/* of a 5-bit code, in units of 10 microseconds */
static const uint32_t rnr_delay[32] = { 65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
	192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
	32768, 49152 };

static bool fetches(const struct sv_slot *slot)
{
	return slot->head.type == SV_FRAME_READ || slot->head.type == SV_FRAME_CMP_SWAP ||
	       slot->head.type == SV_FRAME_FETCH_ADD;
}

static enum ibv_wc_opcode wc_opcode(const struct sv_slot *slot)
{
	switch (slot->head.type) {
	case SV_FRAME_READ:
		return IBV_WC_RDMA_READ;
	case SV_FRAME_WRITE:
		return IBV_WC_RDMA_WRITE;
	case SV_FRAME_CMP_SWAP:
		return IBV_WC_COMP_SWAP;
	case SV_FRAME_FETCH_ADD:
		return IBV_WC_FETCH_ADD;
#ifdef SV_HAS_NATIVE
	case SV_FRAME_ATOMIC_WRITE:
		return IBV_WC_ATOMIC_WRITE;
	case SV_FRAME_FLUSH:
		return IBV_WC_FLUSH;
#endif
	default:
		return IBV_WC_SEND;
	}
}

/* the oldest work request ends */
static void complete(struct sv_qp *qp, enum ibv_wc_status status)
{
	struct sv_slot *slot = sv_slot(qp, qp->done);
	struct sv_cqe cqe = { .frees = SV_FREES_SEND, .qp = qp };

	if (SV_STRICT && status == IBV_WC_SUCCESS)
		sv_watch_end(&slot->watch);
	else if (SV_STRICT)
		sv_watch_drop(&slot->watch);
	qp->done++;
	if ((int32_t)(qp->sent - qp->done) < 0)
		qp->sent = qp->done;
	cqe.upto = qp->done;
	if (status == IBV_WC_SUCCESS && !(slot->flags & IBV_SEND_SIGNALED))
		return;
	cqe.wc.wr_id = slot->wr_id;
	cqe.wc.status = status;
	cqe.wc.opcode = wc_opcode(slot);
	cqe.wc.byte_len = slot->length;
	cqe.wc.qp_num = qp->base.qp_num;
	sv_cq_push(sv_cq(qp->base.send_cq), &cqe, false);
}

static void check_drained(struct sv_qp *qp)
{
	if (qp->attr.qp_state != IBV_QPS_SQD || qp->done != qp->sent ||
		!qp->attr.en_sqd_async_notify)
		return;
	qp->attr.en_sqd_async_notify = 0;
	sv_async(qp->base.context, IBV_EVENT_SQ_DRAINED, &qp->base);
}

/* all before psn are confirmed; but what fetches is done only when its answer has come */
static void complete_upto(struct sv_qp *qp, uint32_t psn)
{
	if ((int32_t)(psn - qp->done) <= 0 || (int32_t)(psn - qp->sent) > 0)
		return;
	qp->rnr_tries = 0;
	qp->heard_ns = sv_clock->now_ns();
	while (qp->done != psn && qp->attr.qp_state != IBV_QPS_ERR &&
		!fetches(sv_slot(qp, qp->done)))
		complete(qp, IBV_WC_SUCCESS);
	check_drained(qp);
}

/* the answer to psn is where it belongs */
static void complete_fetch(struct sv_qp *qp, uint32_t psn)
{
	complete_upto(qp, psn);
	if (qp->done != psn || qp->done == qp->sent || qp->attr.qp_state == IBV_QPS_ERR)
		return;
	qp->rnr_tries = 0;
	qp->heard_ns = sv_clock->now_ns();
	qp->reads_out--;
	complete(qp, IBV_WC_SUCCESS);
	check_drained(qp);
}

void sv_requester_flush(struct sv_qp *qp, enum ibv_wc_status first)
{
	qp->reads_out = 0;
	while (qp->done != qp->posted) {
		complete(qp, first);
		first = IBV_WC_WR_FLUSH_ERR;
	}
}

static void doom(struct sv_slot *slot, enum ibv_wc_status status)
{
	slot->doomed = true;
	slot->status = status;
}

/* fills in the frame of a work request, from the program's memory as it is now */
static void prepare(struct sv_qp *qp, struct sv_slot *slot)
{
	bool reads = fetches(slot);
	int access = reads ? IBV_ACCESS_LOCAL_WRITE : 0;

	if (slot->flags & IBV_SEND_INLINE)
		memcpy(slot->real, slot->sge, (size_t)slot->sge_count * sizeof(*slot->sge));
	else if (!sv_mr_sges(qp->base.pd, slot->sge, slot->sge_count, access, slot->real)) {
		doom(slot, IBV_WC_LOC_PROT_ERR);
		return;
	}
	if (reads && sv_faults_on)
		sv_fault_payload(slot->real, slot->sge_count);
	slot->tx.head = slot->head;
	slot->tx.head.psn = qp->sent;
	slot->tx.sge = slot->real;
	slot->tx.sge_count = 0;
	switch (slot->head.type) {
	case SV_FRAME_READ:
		slot->tx.head.length = slot->length;
		break;
	case SV_FRAME_CMP_SWAP:
	case SV_FRAME_FETCH_ADD:
		if (slot->length != sizeof(uint64_t))
			doom(slot, IBV_WC_LOC_LEN_ERR);
		break;
	case SV_FRAME_ATOMIC_WRITE:
		if (slot->length != sizeof(uint64_t) || slot->sge_count != 1)
			doom(slot, IBV_WC_LOC_LEN_ERR);
		else
			memcpy(&slot->tx.head.operand, (void *)(uintptr_t)slot->real[0].addr,
				sizeof(uint64_t));
		break;
	case SV_FRAME_FLUSH:
		break;
	default:
		slot->tx.head.payload = slot->length;
		slot->tx.sge_count = slot->sge_count;
		break;
	}
}

static bool may_send(struct sv_qp *qp)
{
	return qp->attr.qp_state == IBV_QPS_RTS && qp->sent != qp->posted && qp->link != NULL &&
	       qp->link->state == SV_LINK_UP && !sv_timer_is_set(&qp->rnr_timer);
}

/* false: what comes next has to wait */
static bool send_next(struct sv_qp *qp)
{
	struct sv_slot *slot = sv_slot(qp, qp->sent);

	if (fetches(slot) && qp->attr.max_rd_atomic == 0)
		doom(slot, IBV_WC_LOC_QP_OP_ERR);
	else if (fetches(slot) && qp->reads_out >= qp->attr.max_rd_atomic)
		return false;
	if ((slot->flags & IBV_SEND_FENCE) && qp->reads_out > 0)
		return false;
	if (sv_tx_active(&slot->tx)) {
		qp->stuck = true;
		return false;
	}
	if (!slot->doomed)
		prepare(qp, slot);
	if (slot->doomed) {
		if (qp->done == qp->sent)
			sv_qp_fail(qp, slot->status);
		return false;
	}
	if (fetches(slot))
		qp->reads_out++;
	qp->sent++;
	sv_link_send(qp->link, &slot->tx);
	return true;
}

static uint64_t ack_limit_ns(struct sv_qp *qp)
{
	if (qp->attr.timeout == 0)
		return SV_NEVER; /* as the specification has it: for ever */
	return ((uint64_t)ACK_UNIT_NS << (qp->attr.timeout & 31)) *
	       ((uint64_t)qp->attr.retry_cnt + 1);
}

/* the timer stays set while the queue is empty; that is cheaper than setting it again and again */
static void watch_acks(struct sv_qp *qp)
{
	uint64_t limit = ack_limit_ns(qp);

	if (sv_timer_is_set(&qp->ack_timer) || limit == SV_NEVER || qp->done == qp->posted ||
		qp->attr.qp_state == IBV_QPS_ERR || qp->attr.qp_state == IBV_QPS_RESET)
		return;
	sv_timer_set(&qp->ack_timer, qp->heard_ns + limit);
}

void sv_requester_run(struct sv_qp *qp)
{
	if (qp->attr.qp_state == IBV_QPS_ERR) {
		sv_requester_flush(qp, IBV_WC_WR_FLUSH_ERR);
		return;
	}
	if (qp->running)
		return;
	qp->running = true;
	if (qp->done == qp->sent && qp->sent != qp->posted)
		qp->heard_ns = sv_clock->now_ns();
	while (may_send(qp) && send_next(qp))
		;
	watch_acks(qp);
	if (qp->link != NULL)
		sv_link_kick(qp->link);
	qp->running = false;
}

static void slot_sent(struct sv_tx *tx)
{
	struct sv_qp *qp = tx->qp;

	if (!qp->stuck)
		return;
	qp->stuck = false;
	sv_requester_run(qp);
}

static void ack_timer_fired(struct sv_timer *timer)
{
	struct sv_qp *qp = container_of(timer, struct sv_qp, ack_timer);
	uint64_t heard = qp->heard_ns;

	if (qp->done == qp->posted || sv_timer_is_set(&qp->rnr_timer))
		return;
	if (qp->link != NULL && qp->link->heard_ns > heard)
		heard = qp->link->heard_ns; /* part of an answer is progress, too */
	if (qp->attr.qp_state == IBV_QPS_RTS && sv_clock->now_ns() - heard >= ack_limit_ns(qp)) {
		sv_qp_fail(qp, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	qp->heard_ns = heard;
	watch_acks(qp);
}

static void rnr_timer_fired(struct sv_timer *timer)
{
	struct sv_qp *qp = container_of(timer, struct sv_qp, rnr_timer);

	qp->heard_ns = sv_clock->now_ns();
	sv_requester_run(qp);
}

/* psn found no receive: it, and all behind it, has to travel again */
static void not_ready(struct sv_qp *qp, uint32_t psn, uint8_t code)
{
	if (psn != qp->done || qp->done == qp->sent)
		return;
	if (qp->attr.rnr_retry != RNR_FOREVER && qp->rnr_tries >= qp->attr.rnr_retry) {
		sv_qp_fail(qp, IBV_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	qp->rnr_tries++;
	sv_link_cancel_requests(qp->link, qp);
	qp->sent = psn;
	qp->reads_out = 0;
	sv_timer_set(&qp->rnr_timer,
		sv_clock->now_ns() + (uint64_t)rnr_delay[code & 31] * (SV_MS / 100));
}

bool sv_requester_head(struct sv_qp *qp, struct sv_rx *rx)
{
	struct sv_frame *f = &rx->head;
	struct sv_slot *slot;

	if (f->type != SV_FRAME_READ_RESPONSE && f->type != SV_FRAME_ATOMIC_RESPONSE)
		return true;
	if ((int32_t)(f->psn - qp->done) < 0 || (int32_t)(f->psn - qp->sent) >= 0)
		return false;
	complete_upto(qp, f->psn);
	slot = sv_slot(qp, f->psn);
	if (qp->attr.qp_state == IBV_QPS_ERR || !fetches(slot) || f->payload != slot->length)
		return false;
	if (sv_mr_sges(qp->base.pd, slot->sge, slot->sge_count, IBV_ACCESS_LOCAL_WRITE, rx->sink)) {
		rx->sink_count = slot->sge_count;
		if (SV_STRICT)
			sv_watch_end(&slot->watch);
	} else {
		rx->discard = true;
		rx->lost_memory = true;
	}
	return true;
}

void sv_requester_finish(struct sv_qp *qp, struct sv_rx *rx)
{
	struct sv_frame *f = &rx->head;

	switch (f->type) {
	case SV_FRAME_ACK:
		complete_upto(qp, f->psn);
		break;
	case SV_FRAME_NAK:
		complete_upto(qp, f->psn);
		if (f->psn == qp->done && qp->done != qp->sent)
			sv_qp_fail(qp, f->code);
		return;
	case SV_FRAME_RNR:
		complete_upto(qp, f->psn);
		not_ready(qp, f->psn, f->code);
		break;
	case SV_FRAME_READ_RESPONSE:
	case SV_FRAME_ATOMIC_RESPONSE:
		if (rx->lost_memory) {
			sv_qp_fail(qp, IBV_WC_LOC_PROT_ERR);
			return;
		}
		complete_fetch(qp, f->psn);
		break;
	default:
		return;
	}
	if (qp->sent != qp->posted)
		sv_requester_run(qp);
}

void sv_requester_init(struct sv_qp *qp)
{
	sv_timer_init(&qp->ack_timer, ack_timer_fired);
	sv_timer_init(&qp->rnr_timer, rnr_timer_fired);
	for (uint32_t i = 0; i < qp->cap.max_send_wr; i++) {
		list_init(&qp->slots[i].tx.node);
		qp->slots[i].tx.qp = qp;
		qp->slots[i].tx.done = slot_sent;
	}
}

void sv_requester_stop(struct sv_qp *qp)
{
	sv_timer_stop(&qp->ack_timer);
	sv_timer_stop(&qp->rnr_timer);
	qp->stuck = false;
}
