/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* post.c - posting to a send or a receive queue */

#include <errno.h>
#include <string.h>

#include "fault.h"
#include "qp.h"

/* what travels for an opcode; 0: not supported */
static uint8_t frame_type(enum ibv_wr_opcode opcode)
{
	switch ((int)opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return SV_FRAME_WRITE;
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return SV_FRAME_SEND;
	case IBV_WR_RDMA_READ:
		return SV_FRAME_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return SV_FRAME_CMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return SV_FRAME_FETCH_ADD;
#ifdef SV_HAS_NATIVE
	case IBV_WR_ATOMIC_WRITE:
		return SV_FRAME_ATOMIC_WRITE;
	case IBV_WR_FLUSH:
		return SV_FRAME_FLUSH;
#endif
	default:
		return 0;
	}
}

static void fill_head(struct sv_frame *head, const struct ibv_send_wr *wr, uint8_t type)
{
	memset(head, 0, sizeof(*head));
	head->type = type;
	if (wr->send_flags & IBV_SEND_SOLICITED)
		head->flags |= SV_FRAME_SOLICITED;
	if (wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		head->flags |= SV_FRAME_HAS_IMM;
		head->imm = wr->imm_data;
	}
	switch (type) {
	case SV_FRAME_CMP_SWAP:
	case SV_FRAME_FLUSH: /* as wr_flush() has it in qp_ex.c */
		head->swap = wr->wr.atomic.swap;
		/* fallthrough */
	case SV_FRAME_FETCH_ADD:
		head->addr = wr->wr.atomic.remote_addr;
		head->rkey = wr->wr.atomic.rkey;
		head->operand = wr->wr.atomic.compare_add;
		break;
	case SV_FRAME_WRITE:
	case SV_FRAME_READ:
	case SV_FRAME_ATOMIC_WRITE:
		head->addr = wr->wr.rdma.remote_addr;
		head->rkey = wr->wr.rdma.rkey;
		break;
	default:
		break;
	}
}

/* inline data needs no key, and belongs to the program again when the call returns */
static void copy_inline(struct sv_slot *slot)
{
	uint8_t *to = slot->inline_data;

	for (int i = 0; i < slot->sge_count; i++) {
		memcpy(to, (const void *)(uintptr_t)slot->sge[i].addr, slot->sge[i].length);
		to += slot->sge[i].length;
	}
	slot->sge_count = 1;
	slot->sge[0] =
		(struct ibv_sge){ .addr = (uintptr_t)slot->inline_data, .length = slot->length };
}

static bool is_fetch(uint8_t type)
{
	return type == SV_FRAME_READ || type == SV_FRAME_CMP_SWAP || type == SV_FRAME_FETCH_ADD;
}

static int check(struct sv_qp *qp, const struct ibv_send_wr *wr, uint8_t type, uint64_t *length)
{
	enum ibv_qp_state state = qp->attr.qp_state;
	bool reads = is_fetch(type);
	/* the word of an atomic write is a part of the request */
	uint64_t inline_max =
		type == SV_FRAME_ATOMIC_WRITE ? sizeof(uint64_t) : qp->cap.max_inline_data;

	if (state == IBV_QPS_RESET || state == IBV_QPS_INIT || state == IBV_QPS_RTR)
		return EINVAL;
	if (type == 0 || wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge)
		return EINVAL;
	if (qp->posted - qp->freed >= qp->cap.max_send_wr)
		return ENOMEM;
	*length = 0;
	for (int i = 0; i < wr->num_sge; i++)
		*length += wr->sg_list[i].length;
	if ((wr->send_flags & IBV_SEND_INLINE) && (reads || *length > inline_max))
		return EINVAL;
	return 0;
}

int sv_post_one(struct sv_qp *qp, const struct ibv_send_wr *wr)
{
	uint8_t type = frame_type(wr->opcode);
	struct sv_slot *slot;
	uint64_t length;
	int ret = sv_fault(SV_FAULT_POST_SEND, &qp->base);

	if (ret == 0)
		ret = check(qp, wr, type, &length);
	if (ret != 0)
		return ret;
	slot = sv_slot(qp, qp->posted);
	slot->wr_id = wr->wr_id;
	slot->opcode = wr->opcode;
	slot->flags = wr->send_flags | (qp->sig_all ? IBV_SEND_SIGNALED : 0u);
	slot->doomed = length > sv_max_msg();
	slot->status = IBV_WC_LOC_LEN_ERR;
	ret = sv_fault(SV_FAULT_WORK, &qp->base);
	if (ret > 0) {
		slot->doomed = true;
		slot->status = (enum ibv_wc_status)ret;
	}
	slot->length = (uint32_t)length;
	slot->sge_count = wr->num_sge;
	if (wr->num_sge > 0)
		memcpy(slot->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(*slot->sge));
	fill_head(&slot->head, wr, type);
	if (wr->send_flags & IBV_SEND_INLINE)
		copy_inline(slot);
	else if (SV_STRICT)
		sv_watch_post(&slot->watch, is_fetch(type) ? SV_WATCH_READ : SV_WATCH_SEND,
			qp->base.pd, slot->sge, slot->sge_count, slot->wr_id);
	qp->posted++;
	return 0;
}

int sv_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct sv_qp *qp = sv_qp(base);
	int ret = 0;

	if (SV_DEAD(SV_QP, base) || !sv_enter_live(base->context)) {
		*bad = wr;
		return errno;
	}
	for (; wr != NULL; wr = wr->next) {
		ret = sv_post_one(qp, wr);
		if (ret != 0) {
			*bad = wr;
			break;
		}
	}
	sv_requester_run(qp);
	sv_unlock();
	return ret;
}

int sv_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct sv_qp *qp = sv_qp(base);
	int ret = 0;

	if (SV_DEAD(SV_QP, base) || !sv_enter_live(base->context)) {
		*bad = wr;
		return errno;
	}
	for (; wr != NULL; wr = wr->next) {
		ret = sv_fault(SV_FAULT_POST_RECV, base);
		if (ret == 0 && (qp->srq != NULL || qp->attr.qp_state == IBV_QPS_RESET))
			ret = EINVAL;
		if (ret == 0)
			ret = sv_ring_post(&qp->rq, wr);
		if (ret != 0) {
			*bad = wr;
			break;
		}
	}
	if (qp->attr.qp_state == IBV_QPS_ERR)
		sv_responder_flush(qp);
	sv_unlock();
	return ret;
}
