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

/* both ends inside mean that all of it is */
int rpma_uv__rma_local(rpma_uv_local_t at, size_t len, struct ibv_sge *sge)
{
	struct ibv_sge end;

	if (len > SIZE_MAX - at.offset || rpma__mr_local_sge(at.mr, at.offset, 0, sge) ||
		rpma__mr_local_sge(at.mr, at.offset + len, 0, &end))
		return UV_EINVAL;
	return 0;
}

int rpma_uv__rma_remote(rpma_uv_remote_t at, size_t len, uint64_t *addr_ptr, uint32_t *rkey_ptr)
{
	uint64_t end;

	if (len > SIZE_MAX - at.offset ||
		rpma__mr_remote_target(at.mr, at.offset, 0, addr_ptr, rkey_ptr) ||
		rpma__mr_remote_target(at.mr, at.offset + len, 0, &end, rkey_ptr))
		return UV_EINVAL;
	return 0;
}

rpma_uv_future_t *rpma_uv__rma_start(rpma_uv_conn_t *c, rpma_uv_op_t *op,
	const struct rpma_uv__kind *kind, const struct rpma_uv__wr *from, int status)
{
	struct rpma_uv__wr *wr;

	if (status)
		return rpma_uv__op_fail(c->reactor, op, kind, status);
	op = rpma_uv__op_begin(c->reactor, op, kind);
	if (op == NULL)
		return NULL;
	wr = rpma_uv__room(struct rpma_uv__wr, op);
	*wr = *from;
	rpma_uv__queue_add(c, wr);
	return &op->future;
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
	const struct rpma_uv__kind *kind, struct rpma_uv__wr *wr, int status)
{
	if (status == 0)
		status = rpma_uv__conn_may_send(c);
	return rpma_uv__rma_start(c, op, kind, wr, status);
}

rpma_uv_future_t *rpma_uv_read(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t dst,
	rpma_uv_remote_t src, size_t len, unsigned flags)
{
	struct rpma_uv__wr wr = { .opcode = IBV_WR_RDMA_READ };

	return transfer(c, op, &read_kind, &wr, transfer_fill(&wr, dst, src, len, flags));
}

rpma_uv_future_t *rpma_uv_write(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_remote_t dst,
	rpma_uv_local_t src, size_t len, unsigned flags)
{
	struct rpma_uv__wr wr = { .opcode = IBV_WR_RDMA_WRITE };

	return transfer(c, op, &write_kind, &wr, transfer_fill(&wr, src, dst, len, flags));
}

rpma_uv_future_t *rpma_uv_write_with_imm(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_remote_t dst,
	rpma_uv_local_t src, size_t len, unsigned flags, uint32_t imm)
{
	struct rpma_uv__wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm = htonl(imm) };

	return transfer(c, op, &write_kind, &wr, transfer_fill(&wr, src, dst, len, flags));
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

static rpma_uv_future_t *send_any(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t src,
	size_t len, unsigned flags, struct rpma_uv__wr *wr)
{
	int status = flags != 0 ? UV_EINVAL : message_fill(c, wr, src, len);

	return transfer(c, op, &send_kind, wr, status);
}

rpma_uv_future_t *rpma_uv_send(
	rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t src, size_t len, unsigned flags)
{
	struct rpma_uv__wr wr = { .opcode = IBV_WR_SEND };

	return send_any(c, op, src, len, flags, &wr);
}

rpma_uv_future_t *rpma_uv_send_with_imm(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t src,
	size_t len, unsigned flags, uint32_t imm)
{
	struct rpma_uv__wr wr = { .opcode = IBV_WR_SEND_WITH_IMM, .imm = htonl(imm) };

	return send_any(c, op, src, len, flags, &wr);
}

rpma_uv_future_t *rpma_uv_recv(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t dst, size_t len)
{
	struct rpma_uv__wr wr = { .is_recv = true };
	int status = message_fill(c, &wr, dst, len);

	if (status == 0 && c->queue.recv_size == 0)
		status = UV_EINVAL; /* no room was asked for: it would wait for ever */
	if (status == 0)
		status = rpma_uv__conn_may_recv(c);
	return rpma_uv__rma_start(c, op, &recv_kind, &wr, status);
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
