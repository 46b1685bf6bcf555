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

static void describe(struct ibv_send_wr *wr, enum ibv_wr_opcode opcode, struct ibv_sge *sge,
	int flags, const void *op_context)
{
	wr->wr_id = (uint64_t)(uintptr_t)op_context;
	wr->sg_list = sge;
	wr->num_sge = sge ? 1 : 0;
	wr->opcode = opcode;
	wr->send_flags = flags & SIGNALED ? IBV_SEND_SIGNALED : 0;
}

static int refused(const char *call, int ret)
{
	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("%s", call);
	return RPMA_E_PROVIDER;
}

static int post(struct rpma_conn *conn, struct ibv_send_wr *wr, const char *call)
{
	struct ibv_send_wr *bad_wr;
	const int ret = ibv_post_send(rpma__conn_get_qp(conn), wr, &bad_wr);

	return ret ? refused(call, ret) : 0;
}

/* a NULL region stands for no bytes: then *sge_ptr becomes NULL */
static int local_range(
	const struct rpma_mr_local *mr, size_t offset, size_t len, struct ibv_sge **sge_ptr)
{
	if (mr)
		return rpma__mr_local_sge(mr, offset, len, *sge_ptr);
	*sge_ptr = NULL;
	return 0;
}

int rpma_read(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t dst_offset,
	const struct rpma_mr_remote *src, size_t src_offset, size_t len, int flags,
	const void *op_context)
{
	struct ibv_sge sge, *sge_ptr = &sge;
	struct ibv_send_wr wr = { 0 };

	if (!conn || flags == 0 || !dst != !src)
		return RPMA_E_INVAL;
	if (!dst && (dst_offset || src_offset || len))
		return RPMA_E_INVAL;

	if (local_range(dst, dst_offset, len, &sge_ptr))
		return RPMA_E_INVAL;
	if (src && rpma__mr_remote_target(
			   src, src_offset, len, &wr.wr.rdma.remote_addr, &wr.wr.rdma.rkey))
		return RPMA_E_INVAL;
	describe(&wr, IBV_WR_RDMA_READ, sge_ptr, flags, op_context);
	return post(conn, &wr, "ibv_post_send(READ)");
}

static int write_bytes(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	const struct rpma_mr_local *src, size_t src_offset, size_t len, int flags,
	struct ibv_send_wr *wr, enum ibv_wr_opcode opcode, const void *op_context)
{
	struct ibv_sge sge, *sge_ptr = &sge;

	if (!conn || flags == 0 || !dst != !src)
		return RPMA_E_INVAL;
	if (!dst && (dst_offset || src_offset || len))
		return RPMA_E_INVAL;

	if (local_range(src, src_offset, len, &sge_ptr))
		return RPMA_E_INVAL;
	if (dst && rpma__mr_remote_target(
			   dst, dst_offset, len, &wr->wr.rdma.remote_addr, &wr->wr.rdma.rkey))
		return RPMA_E_INVAL;
	describe(wr, opcode, sge_ptr, flags, op_context);
	return post(conn, wr, "ibv_post_send(WRITE)");
}

int rpma_write(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	const struct rpma_mr_local *src, size_t src_offset, size_t len, int flags,
	const void *op_context)
{
	struct ibv_send_wr wr = { 0 };

	return write_bytes(conn, dst, dst_offset, src, src_offset, len, flags, &wr,
		IBV_WR_RDMA_WRITE, op_context);
}

int rpma_write_with_imm(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	const struct rpma_mr_local *src, size_t src_offset, size_t len, int flags, uint32_t imm,
	const void *op_context)
{
	struct ibv_send_wr wr = { 0 };

	wr.imm_data = htonl(imm);
	return write_bytes(conn, dst, dst_offset, src, src_offset, len, flags, &wr,
		IBV_WR_RDMA_WRITE_WITH_IMM, op_context);
}

int rpma_atomic_write(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	const char src[8], int flags, const void *op_context)
{
	struct ibv_sge sge = { .length = RPMA_ATOMIC_WRITE_ALIGNMENT };
	struct ibv_send_wr wr = { 0 };
	struct ibv_qp_ex *native_qp;
	int ret;

	if (!conn || !dst || !src || flags == 0)
		return RPMA_E_INVAL;
	if (rpma__mr_remote_target(dst, dst_offset, RPMA_ATOMIC_WRITE_ALIGNMENT,
		    &wr.wr.rdma.remote_addr, &wr.wr.rdma.rkey) ||
		dst_offset % RPMA_ATOMIC_WRITE_ALIGNMENT ||
		wr.wr.rdma.remote_addr % RPMA_ATOMIC_WRITE_ALIGNMENT)
		return RPMA_E_INVAL;

	sge.addr = (uint64_t)(uintptr_t)src;
	describe(&wr, IBV_WR_RDMA_WRITE, &sge, flags, op_context);
	/* the reads before it have to be over, since an emulated flush is one */
	wr.send_flags |= IBV_SEND_FENCE;
	native_qp = rpma__conn_get_native_qp(conn);
	if (rpma__native_can_atomic_write(native_qp) && !(flags & RPMA_F_EMULATED)) {
		ret = rpma__native_atomic_write(native_qp, wr.wr_id, wr.send_flags, wr.wr.rdma.rkey,
			wr.wr.rdma.remote_addr, src);
		return ret ? refused("ibv_wr_atomic_write()", ret) : 0;
	}
	wr.send_flags |= IBV_SEND_INLINE;
	return post(conn, &wr, "ibv_post_send(atomic WRITE)");
}

int rpma_flush(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset, size_t len,
	enum rpma_flush_type type, int flags, const void *op_context)
{
	struct ibv_send_wr wr = { 0 };
	struct ibv_qp_ex *native_qp;
	struct ibv_sge sge;
	int ret;

	if (!conn || !dst || flags == 0)
		return RPMA_E_INVAL;
	ret = rpma__flush_check(dst, dst_offset, len, type, rpma__conn_is_direct_write(conn));
	if (ret)
		return ret;

	describe(&wr, IBV_WR_RDMA_READ, &sge, flags, op_context);
	native_qp = rpma__conn_get_native_qp(conn);
	if (rpma__native_can_flush(native_qp) && rpma__mr_remote_takes_native_flush(dst) &&
		!(flags & RPMA_F_EMULATED)) {
		(void)rpma__mr_remote_target(
			dst, dst_offset, 0, &wr.wr.rdma.remote_addr, &wr.wr.rdma.rkey);
		ret = rpma__native_flush(native_qp, wr.wr_id, wr.send_flags, wr.wr.rdma.rkey,
			wr.wr.rdma.remote_addr, len, type);
		return ret ? refused("ibv_wr_flush()", ret) : 0;
	}
	rpma__flush_read(rpma__conn_get_flush(conn), dst, dst_offset, &sge, &wr.wr.rdma.remote_addr,
		&wr.wr.rdma.rkey);
	return post(conn, &wr, "ibv_post_send(READ that flushes)");
}

static int send_message(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset,
	size_t len, int flags, struct ibv_send_wr *wr, enum ibv_wr_opcode opcode,
	const void *op_context)
{
	struct ibv_sge sge, *sge_ptr = &sge;

	if (!conn || flags == 0 || (!src && (offset || len)))
		return RPMA_E_INVAL;

	if (local_range(src, offset, len, &sge_ptr))
		return RPMA_E_INVAL;
	describe(wr, opcode, sge_ptr, flags, op_context);
	return post(conn, wr, "ibv_post_send(SEND)");
}

int rpma_send(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset, size_t len,
	int flags, const void *op_context)
{
	struct ibv_send_wr wr = { 0 };

	return send_message(conn, src, offset, len, flags, &wr, IBV_WR_SEND, op_context);
}

int rpma_send_with_imm(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset,
	size_t len, int flags, uint32_t imm, const void *op_context)
{
	struct ibv_send_wr wr = { 0 };

	wr.imm_data = htonl(imm);
	return send_message(conn, src, offset, len, flags, &wr, IBV_WR_SEND_WITH_IMM, op_context);
}

static int describe_recv(struct ibv_recv_wr *wr, const struct rpma_mr_local *dst, size_t offset,
	size_t len, struct ibv_sge *sge, const void *op_context)
{
	wr->wr_id = (uint64_t)(uintptr_t)op_context;
	wr->next = NULL;
	wr->sg_list = sge;
	if (local_range(dst, offset, len, &wr->sg_list))
		return RPMA_E_INVAL;
	wr->num_sge = wr->sg_list ? 1 : 0;
	return 0;
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
	if (!ret)
		return 0;
	return refused("ibv_post_recv()", ret);
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
	if (!ret)
		return 0;
	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("ibv_post_srq_recv()");
	return RPMA_E_PROVIDER;
}

int rpma_recv(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t offset, size_t len,
	const void *op_context)
{
	if (!conn || (!dst && (offset || len)))
		return RPMA_E_INVAL;

	return rpma__op_recv(rpma__conn_get_qp(conn), dst, offset, len, op_context);
}
