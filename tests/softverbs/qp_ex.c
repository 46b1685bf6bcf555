/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * qp_ex.c - extended queue pairs: work requests built by calls
 *
 * ibv_wr_start ... ibv_wr_complete build an array of ordinary work requests in the program's thread,
 * without the lock; completing posts all of them or none.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "qp.h"

#define OPS_BASIC                                                                               \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
		IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                       \
		IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#ifdef SV_HAS_NATIVE
#define OPS_KNOWN (OPS_BASIC | IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_FLUSH)
#else
#define OPS_KNOWN OPS_BASIC
#endif

static struct sv_qp *of(struct ibv_qp_ex *ex)
{
	return container_of(ex, struct sv_qp, ex);
}

/* the next work request of the list; the last one over and over when it is full: an error then */
static struct ibv_send_wr *next(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct sv_qp *qp = of(ex);
	struct ibv_send_wr *wr;

	if (qp->ex_count == qp->cap.max_send_wr)
		qp->ex_error = ENOMEM;
	else
		qp->ex_count++;
	wr = &qp->ex_wr[qp->ex_count - 1];
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = ex->wr_id;
	wr->opcode = opcode;
	wr->send_flags = ex->wr_flags;
	wr->sg_list = &qp->ex_sges[(qp->ex_count - 1) * (qp->cap.max_send_sge + 1)];
	return wr;
}

static void wr_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr)
{
	struct ibv_send_wr *wr = next(ex, opcode);

	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = addr;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	wr_rdma(ex, IBV_WR_RDMA_READ, rkey, addr);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	wr_rdma(ex, IBV_WR_RDMA_WRITE, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	wr_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr);
	of(ex)->ex_wr[of(ex)->ex_count - 1].imm_data = imm;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	next(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	next(ex, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static void wr_atomic_cmp_swp(
	struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare, uint64_t swap)
{
	struct ibv_send_wr *wr = next(ex, IBV_WR_ATOMIC_CMP_AND_SWP);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.compare_add = compare;
	wr->wr.atomic.swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	struct ibv_send_wr *wr = next(ex, IBV_WR_ATOMIC_FETCH_AND_ADD);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.compare_add = add;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *sges)
{
	struct sv_qp *qp = of(ex);
	struct ibv_send_wr *wr;

	if (n > qp->cap.max_send_sge || qp->ex_count == 0) {
		qp->ex_error = EINVAL;
		return;
	}
	wr = &qp->ex_wr[qp->ex_count - 1];
	wr->num_sge = (int)n;
	if (n > 0)
		memcpy(wr->sg_list, sges, n * sizeof(*sges));
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *bufs)
{
	struct sv_qp *qp = of(ex);
	struct ibv_send_wr *wr;
	uint8_t *to;
	size_t used = 0;
	size_t room = qp->cap.max_inline_data;

	if (qp->ex_count == 0) {
		qp->ex_error = EINVAL;
		return;
	}
	wr = &qp->ex_wr[qp->ex_count - 1];
	to = qp->ex_inline + (qp->ex_count - 1) * (room + 8);
	for (size_t i = 0; i < n; i++) {
		if (bufs[i].length > room - used) {
			qp->ex_error = EINVAL;
			return;
		}
		memcpy(to + used, bufs[i].addr, bufs[i].length);
		used += bufs[i].length;
	}
	wr->send_flags |= IBV_SEND_INLINE;
	wr->num_sge = qp->cap.max_send_sge > 0;
	wr->sg_list[0] = (struct ibv_sge){ .addr = (uintptr_t)to, .length = (uint32_t)used };
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

#ifdef SV_HAS_NATIVE
/* its eight bytes travel inline, whatever the limit of inline data is */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *value)
{
	struct sv_qp *qp = of(ex);
	struct ibv_send_wr *wr = next(ex, IBV_WR_ATOMIC_WRITE);
	uint8_t *to = qp->ex_inline + (qp->ex_count - 1) * ((size_t)qp->cap.max_inline_data + 8);

	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = addr;
	memcpy(to, value, sizeof(uint64_t));
	wr->send_flags |= IBV_SEND_INLINE;
	wr->num_sge = 1;
	wr->sg_list[0] = (struct ibv_sge){ .addr = (uintptr_t)to, .length = sizeof(uint64_t) };
}

/* no member of a work request is meant for it: those of an atomic operation carry it to post.c */
static void wr_flush(
	struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t len, uint8_t type, uint8_t level)
{
	struct ibv_send_wr *wr = next(ex, IBV_WR_FLUSH);

	if (level == IBV_FLUSH_RANGE && len > UINT32_MAX)
		of(ex)->ex_error = EINVAL; /* 32 bits travel */
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.compare_add = len;
	wr->wr.atomic.swap = SV_FLUSH(type, level);
}
#endif

static void wr_start(struct ibv_qp_ex *ex)
{
	(void)SV_DEAD(SV_QP, ex); /* reported; there is no other way to refuse */
	of(ex)->ex_count = 0;
	of(ex)->ex_error = 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct sv_qp *qp = of(ex);
	int ret = qp->ex_error;
	uint32_t posted;

	if (ret != 0)
		return ret;
	if (SV_DEAD(SV_QP, ex) || !sv_enter_live(qp->base.context))
		return errno;
	posted = qp->posted;
	for (unsigned i = 0; i < qp->ex_count && ret == 0; i++)
		ret = sv_post_one(qp, &qp->ex_wr[i]);
	if (ret != 0)
		qp->posted = posted;
	else
		sv_requester_run(qp);
	sv_unlock();
	return ret;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	wr_start(ex);
}

static void fill_calls(struct ibv_qp_ex *ex, uint64_t send_ops)
{
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
#ifdef SV_HAS_NATIVE
	/* programs look whether these are there; all others are, asked for or not */
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		ex->wr_atomic_write = wr_atomic_write;
	if (send_ops & IBV_QP_EX_WITH_FLUSH)
		ex->wr_flush = wr_flush;
#else
	(void)send_ops;
#endif
}

bool sv_qp_ex_init(struct sv_qp *qp, uint64_t send_ops)
{
	size_t n = qp->cap.max_send_wr + 1;

	qp->ex_wr = calloc(n, sizeof(*qp->ex_wr));
	qp->ex_sges = calloc(n * (qp->cap.max_send_sge + 1), sizeof(*qp->ex_sges));
	qp->ex_inline = calloc(n, (size_t)qp->cap.max_inline_data + 8);
	if (qp->ex_wr == NULL || qp->ex_sges == NULL || qp->ex_inline == NULL)
		return false;
	fill_calls(&qp->ex, send_ops);
	qp->is_ex = true;
	return true;
}

void sv_qp_ex_free(struct sv_qp *qp)
{
	free(qp->ex_inline);
	free(qp->ex_sges);
	free(qp->ex_wr);
}

struct ibv_qp *sv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_qp *qp;

	SV_ENTER();
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || attr->pd->context != context) {
		errno = EINVAL;
		return NULL;
	}
	if ((attr->comp_mask & ~known) ||
		((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags != 0) ||
		((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
			(attr->send_ops_flags & ~(uint64_t)OPS_KNOWN))) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!sv_enter_live(context))
		return NULL;
	qp = sv_qp_create(attr->pd, attr);
	sv_unlock();
	return qp;
}

SV_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *base)
{
	struct sv_qp *qp = sv_qp(base);

	return qp->is_ex ? &qp->ex : NULL;
}
