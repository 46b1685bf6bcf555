/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* rma.c - the operations on remote memory: read, write, send, receive */

#include <arpa/inet.h>

#include "conn.h"
#include "queue.h"
#include "reactor.h"
#include "rma.h"
#include "src/mr.h"
#include "srq.h"

int rpma_uv__rma_cancel(rpma_uv_future_t *f, unsigned how)
{
	return rpma_uv__queue_cancel(rpma_uv__room(struct rpma_uv__wr, rpma_uv__op_of(f)), how);
}

static const struct rpma_uv__kind read_kind = { .name = "read", .cancel = rpma_uv__rma_cancel };
static const struct rpma_uv__kind write_kind = { .name = "write", .cancel = rpma_uv__rma_cancel };
static const struct rpma_uv__kind send_kind = { .name = "send", .cancel = rpma_uv__rma_cancel };
static const struct rpma_uv__kind recv_kind = { .name = "receive", .cancel = rpma_uv__rma_cancel };

struct rpma_uv__wr *rpma_uv__rma_begin(
	rpma_uv_conn_t *c, rpma_uv_op_t *op, const struct rpma_uv__kind *kind)
{
	struct rpma_uv__wr *wr;

	op = rpma_uv__op_begin(c->reactor, op, kind);
	if (op == NULL)
		return NULL;
	wr = rpma_uv__room(struct rpma_uv__wr, op);
	/* the rest is rpma_uv__queue_add()'s */
	memset(wr, 0, offsetof(struct rpma_uv__wr, cursor));
	return wr;
}

rpma_uv_future_t *rpma_uv__rma_start(rpma_uv_conn_t *c, struct rpma_uv__wr *wr, int status)
{
	rpma_uv_future_t *f = &rpma_uv__op_of_room(wr)->future;

	if (status)
		rpma_uv__future_finish(f, status, 0, 0);
	else
		rpma_uv__queue_add(c, wr);
	return f;
}

/* ---- read and write -------------------------------------------------------------------------- */

/* between a local and a remote range, or between nothing and nothing */
static int transfer_fill(struct rpma_uv__wr *wr, rpma_uv_local_t local, rpma_uv_remote_t remote,
	size_t len, unsigned flags)
{
	if (flags != 0 || (local.mr == NULL) != (remote.mr == NULL))
		return UV_EINVAL;
	if (local.mr == NULL)
		return local.offset == 0 && remote.offset == 0 && len == 0 ? 0 : UV_EINVAL;
	wr->len = len;
	if (rpma_uv__rma_local(local, len, &wr->sge))
		return UV_EINVAL;
	return rpma_uv__rma_remote(remote, len, &wr->remote_addr, &wr->rkey);
}

static rpma_uv_future_t *transfer(rpma_uv_conn_t *c, rpma_uv_op_t *op,
	const struct rpma_uv__kind *kind, enum ibv_wr_opcode opcode, uint32_t imm,
	rpma_uv_local_t local, rpma_uv_remote_t remote, size_t len, unsigned flags)
{
	struct rpma_uv__wr *wr = rpma_uv__rma_begin(c, op, kind);
	int status;

	if (wr == NULL)
		return NULL;
	wr->opcode = opcode;
	wr->imm = imm;
	status = transfer_fill(wr, local, remote, len, flags);
	if (status == 0)
		status = rpma_uv__conn_may_send(c);
	return rpma_uv__rma_start(c, wr, status);
}

rpma_uv_future_t *rpma_uv_read(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t dst,
	rpma_uv_remote_t src, size_t len, unsigned flags)
{
	return transfer(c, op, &read_kind, IBV_WR_RDMA_READ, 0, dst, src, len, flags);
}

rpma_uv_future_t *rpma_uv_write(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_remote_t dst,
	rpma_uv_local_t src, size_t len, unsigned flags)
{
	return transfer(c, op, &write_kind, IBV_WR_RDMA_WRITE, 0, src, dst, len, flags);
}

rpma_uv_future_t *rpma_uv_write_with_imm(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_remote_t dst,
	rpma_uv_local_t src, size_t len, unsigned flags, uint32_t imm)
{
	return transfer(
		c, op, &write_kind, IBV_WR_RDMA_WRITE_WITH_IMM, htonl(imm), src, dst, len, flags);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* a part of a region that one message can carry, or nothing at all */
static int message_fill(
	const rpma_uv_conn_t *c, struct rpma_uv__wr *wr, rpma_uv_local_t at, size_t len)
{
	if (at.mr == NULL)
		return at.offset == 0 && len == 0 ? 0 : UV_EINVAL;
	if (rpma_uv__rma_local(at, len, &wr->sge))
		return UV_EINVAL;
	if (len > UINT32_MAX || (c->max_msg > 0 && len > c->max_msg))
		return UV_EMSGSIZE;
	wr->sge.length = (uint32_t)len;
	wr->len = len;
	return 0;
}

static rpma_uv_future_t *message(rpma_uv_conn_t *c, rpma_uv_op_t *op, enum ibv_wr_opcode opcode,
	uint32_t imm, rpma_uv_local_t src, size_t len, unsigned flags)
{
	struct rpma_uv__wr *wr = rpma_uv__rma_begin(c, op, &send_kind);
	int status;

	if (wr == NULL)
		return NULL;
	wr->opcode = opcode;
	wr->imm = imm;
	status = flags != 0 ? UV_EINVAL : message_fill(c, wr, src, len);
	if (status == 0)
		status = rpma_uv__conn_may_send(c);
	return rpma_uv__rma_start(c, wr, status);
}

rpma_uv_future_t *rpma_uv_send(
	rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t src, size_t len, unsigned flags)
{
	return message(c, op, IBV_WR_SEND, 0, src, len, flags);
}

rpma_uv_future_t *rpma_uv_send_with_imm(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t src,
	size_t len, unsigned flags, uint32_t imm)
{
	return message(c, op, IBV_WR_SEND_WITH_IMM, htonl(imm), src, len, flags);
}

rpma_uv_future_t *rpma_uv_recv(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t dst, size_t len)
{
	struct rpma_uv__wr *wr = rpma_uv__rma_begin(c, op, &recv_kind);
	int status;

	if (wr == NULL)
		return NULL;
	wr->is_recv = true;
	status = message_fill(c, wr, dst, len);
	if (status == 0 && c->queue.recv_size == 0)
		status = UV_EINVAL; /* no room was asked for: it would wait for ever */
	if (status == 0)
		status = rpma_uv__conn_may_recv(c);
	return rpma_uv__rma_start(c, wr, status);
}

int rpma_uv_recv_info(const rpma_uv_future_t *f, rpma_uv_recv_info_t *info)
{
	const struct rpma_uv__wr *wr;

	if (f == NULL || info == NULL || f->status != 0 ||
		(f->u_kind != &recv_kind && f->u_kind != &rpma_uv__srq_recv_kind))
		return UV_EINVAL;
	wr = (const struct rpma_uv__wr *)((const rpma_uv_op_t *)f)->u_room;
	*info = (rpma_uv_recv_info_t){
		.len = wr->byte_len,
		.has_imm = wr->has_imm,
		.imm = ntohl(wr->imm),
		.conn = wr->conn,
		.is_write = wr->is_write,
	};
	return 0;
}
