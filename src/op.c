/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * op.c - remote operations: one call, one work request, one doorbell
 *
 * Ranges are compared with the regions' sizes before anything is posted: what would break the
 * connection, or be cut to 32 bits, is an invalid argument instead.
 */

#include <arpa/inet.h>
#include <errno.h>

#include "conn.h"
#include "err.h"
#include "flush.h"
#include "log.h"
#include "mr.h"
#include "native.h"
#include "op.h"

/* the bit of the flags that asks for a completion of a success */
#define SIGNALED (RPMA_F_COMPLETION_ALWAYS & ~RPMA_F_COMPLETION_ON_ERROR)

/* everything but the bytes; what no opcode here has is left as it is */
static inline void describe(
	struct ibv_send_wr *wr, enum ibv_wr_opcode opcode, int flags, const void *op_context)
{
	wr->wr_id = (uint64_t)(uintptr_t)op_context;
	wr->next = NULL;
	wr->opcode = opcode;
	wr->send_flags = flags & SIGNALED ? IBV_SEND_SIGNALED : 0;
	wr->imm_data = 0;
}

/* out of the way of those that are not refused */
__attribute__((cold, noinline)) static int refused(const char *call, int ret)
{
	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("%s", call);
	return RPMA_E_PROVIDER;
}

static inline int post(struct rpma_conn *conn, struct ibv_send_wr *wr, const char *call)
{
	struct ibv_send_wr *bad_wr;
	const int ret = ibv_post_send(conn->qp, wr, &bad_wr);

	return ret ? refused(call, ret) : 0;
}

/* a range of a region; a NULL region stands for no bytes */
static inline int message(struct ibv_sge **sg_list, int *num_sge, struct ibv_sge *sge,
	const struct rpma_mr_local *mr, size_t offset, size_t len)
{
	if (!mr) {
		*sg_list = NULL;
		*num_sge = 0;
		return offset || len ? RPMA_E_INVAL : 0;
	}
	*sg_list = sge;
	*num_sge = 1;
	return rpma__mr_local_sge(mr, offset, len, sge);
}

/* a range of either region; two NULL regions stand for no bytes */
static inline int transfer(struct ibv_send_wr *wr, struct ibv_sge *sge,
	const struct rpma_mr_local *local, size_t local_offset, const struct rpma_mr_remote *remote,
	size_t remote_offset, size_t len)
{
	if (!local != !remote || message(&wr->sg_list, &wr->num_sge, sge, local, local_offset, len))
		return RPMA_E_INVAL;
	if (remote)
		return rpma__mr_remote_target(
			remote, remote_offset, len, &wr->wr.rdma.remote_addr, &wr->wr.rdma.rkey);
	wr->wr.rdma.remote_addr = 0;
	wr->wr.rdma.rkey = 0;
	return remote_offset ? RPMA_E_INVAL : 0;
}

int rpma_read(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t dst_offset,
	const struct rpma_mr_remote *src, size_t src_offset, size_t len, int flags,
	const void *op_context)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (!conn || flags == 0 || transfer(&wr, &sge, dst, dst_offset, src, src_offset, len))
		return RPMA_E_INVAL;

	describe(&wr, IBV_WR_RDMA_READ, flags, op_context);
	return post(conn, &wr, "ibv_post_send(READ)");
}

int rpma_write(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	const struct rpma_mr_local *src, size_t src_offset, size_t len, int flags,
	const void *op_context)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (!conn || flags == 0 || transfer(&wr, &sge, src, src_offset, dst, dst_offset, len))
		return RPMA_E_INVAL;

	describe(&wr, IBV_WR_RDMA_WRITE, flags, op_context);
	return post(conn, &wr, "ibv_post_send(WRITE)");
}

int rpma_write_with_imm(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	const struct rpma_mr_local *src, size_t src_offset, size_t len, int flags, uint32_t imm,
	const void *op_context)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (!conn || flags == 0 || transfer(&wr, &sge, src, src_offset, dst, dst_offset, len))
		return RPMA_E_INVAL;

	describe(&wr, IBV_WR_RDMA_WRITE_WITH_IMM, flags, op_context);
	wr.imm_data = htonl(imm);
	return post(conn, &wr, "ibv_post_send(WRITE)");
}

int rpma_atomic_write(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	const char src[8], int flags, const void *op_context)
{
	struct ibv_sge sge = { .length = RPMA_ATOMIC_WRITE_ALIGNMENT };
	struct ibv_send_wr wr;
	int ret;

	if (!conn || !dst || !src || flags == 0)
		return RPMA_E_INVAL;
	if (rpma__mr_remote_target(dst, dst_offset, RPMA_ATOMIC_WRITE_ALIGNMENT,
		    &wr.wr.rdma.remote_addr, &wr.wr.rdma.rkey) ||
		(dst_offset | wr.wr.rdma.remote_addr) % RPMA_ATOMIC_WRITE_ALIGNMENT)
		return RPMA_E_INVAL;

	describe(&wr, IBV_WR_RDMA_WRITE, flags, op_context);
	/* the reads before it have to be over, since an emulated flush is one */
	wr.send_flags |= IBV_SEND_FENCE;
	if (conn->native_qp && rpma__native_can_atomic_write(conn->native_qp) &&
		!(flags & RPMA_F_EMULATED)) {
		ret = rpma__native_atomic_write(conn->native_qp, wr.wr_id, wr.send_flags,
			wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, src);
		return ret ? refused("ibv_wr_atomic_write()", ret) : 0;
	}
	sge.addr = (uint64_t)(uintptr_t)src;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags |= IBV_SEND_INLINE;
	return post(conn, &wr, "ibv_post_send(atomic WRITE)");
}

int rpma_flush(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset, size_t len,
	enum rpma_flush_type type, int flags, const void *op_context)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int ret;

	if (!conn || !dst || flags == 0)
		return RPMA_E_INVAL;
	ret = rpma__flush_check(
		dst, dst_offset, len, type, atomic_load(&conn->direct_write_to_pmem));
	if (ret)
		return ret;

	describe(&wr, IBV_WR_RDMA_READ, flags, op_context);
	if (conn->native_qp && rpma__native_can_flush(conn->native_qp) &&
		rpma__mr_remote_takes_native_flush(dst) && !(flags & RPMA_F_EMULATED)) {
		ret = rpma__native_flush(conn->native_qp, wr.wr_id, wr.send_flags, dst->rkey,
			dst->addr + dst_offset, len, type);
		return ret ? refused("ibv_wr_flush()", ret) : 0;
	}
	rpma__flush_read(
		conn->flush, dst, dst_offset, &sge, &wr.wr.rdma.remote_addr, &wr.wr.rdma.rkey);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	return post(conn, &wr, "ibv_post_send(READ that flushes)");
}

int rpma_send(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset, size_t len,
	int flags, const void *op_context)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (!conn || flags == 0 || message(&wr.sg_list, &wr.num_sge, &sge, src, offset, len))
		return RPMA_E_INVAL;

	describe(&wr, IBV_WR_SEND, flags, op_context);
	return post(conn, &wr, "ibv_post_send(SEND)");
}

int rpma_send_with_imm(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset,
	size_t len, int flags, uint32_t imm, const void *op_context)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	if (!conn || flags == 0 || message(&wr.sg_list, &wr.num_sge, &sge, src, offset, len))
		return RPMA_E_INVAL;

	describe(&wr, IBV_WR_SEND_WITH_IMM, flags, op_context);
	wr.imm_data = htonl(imm);
	return post(conn, &wr, "ibv_post_send(SEND)");
}

static inline int describe_recv(struct ibv_recv_wr *wr, const struct rpma_mr_local *dst,
	size_t offset, size_t len, struct ibv_sge *sge, const void *op_context)
{
	wr->wr_id = (uint64_t)(uintptr_t)op_context;
	wr->next = NULL;
	return message(&wr->sg_list, &wr->num_sge, sge, dst, offset, len);
}

int rpma__op_recv(struct ibv_qp *qp, const struct rpma_mr_local *dst, size_t offset, size_t len,
	const void *op_context)
{
	struct ibv_recv_wr wr, *bad_wr;
	struct ibv_sge sge;
	int ret;

	if (describe_recv(&wr, dst, offset, len, &sge, op_context))
		return RPMA_E_INVAL;

	ret = ibv_post_recv(qp, &wr, &bad_wr);
	return ret ? refused("ibv_post_recv()", ret) : 0;
}

int rpma__op_srq_recv(struct ibv_srq *srq, const struct rpma_mr_local *dst, size_t offset,
	size_t len, const void *op_context)
{
	struct ibv_recv_wr wr, *bad_wr;
	struct ibv_sge sge;
	int ret;

	if (describe_recv(&wr, dst, offset, len, &sge, op_context))
		return RPMA_E_INVAL;

	ret = ibv_post_srq_recv(srq, &wr, &bad_wr);
	return ret ? refused("ibv_post_srq_recv()", ret) : 0;
}

int rpma_recv(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t offset, size_t len,
	const void *op_context)
{
	if (!conn)
		return RPMA_E_INVAL;

	return rpma__op_recv(conn->qp, dst, offset, len, op_context);
}
