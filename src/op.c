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
#include "log.h"
#include "mr.h"
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

static int post(struct rpma_conn *conn, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad_wr;
	const int ret = ibv_post_send(rpma__conn_get_qp(conn), wr, &bad_wr);

	if (!ret)
		return 0;
	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("ibv_post_send(opcode=%d)", (int)wr->opcode);
	return RPMA_E_PROVIDER;
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
	return post(conn, &wr);
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
	return post(conn, wr);
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
	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("ibv_post_recv()");
	return RPMA_E_PROVIDER;
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
