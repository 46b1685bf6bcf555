/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* rma.c - the operations on remote memory: read, send, receive */

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "conn.h"
#include "src/mr.h"
#include "queue.h"
#include "reactor.h"
#include "status.h"

static int wr_cancel(rpma_uv_future_t *f)
{
	return rpma_uv__queue_cancel(rpma_uv__room(struct rpma_uv__wr, rpma_uv__op_of(f)));
}

static const struct rpma_uv__kind read_kind = { .name = "read", .cancel = wr_cancel };
static const struct rpma_uv__kind send_kind = { .name = "send", .cancel = wr_cancel };
static const struct rpma_uv__kind recv_kind = { .name = "receive", .cancel = wr_cancel };

/* the local side of an operation: a part of a region, or nothing at all */
static int local_part(const rpma_uv_conn_t *c, rpma_uv_local_t at, size_t len, struct ibv_sge *sge)
{
	*sge = (struct ibv_sge){ 0 };
	if (at.mr == NULL)
		return at.offset == 0 && len == 0 ? 0 : UV_EINVAL;
	if (rpma__mr_local_sge(at.mr, at.offset, len, sge))
		return UV_EINVAL;
	return c->max_msg > 0 && len > c->max_msg ? UV_EMSGSIZE : 0;
}

/* queue a work request that was found good, or end its operation with `status` */
static rpma_uv_future_t *start(rpma_uv_conn_t *c, rpma_uv_op_t *op,
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

rpma_uv_future_t *rpma_uv_read(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t dst,
	rpma_uv_remote_t src, size_t len, unsigned flags)
{
	struct rpma_uv__wr wr = { .opcode = IBV_WR_RDMA_READ };
	int status = flags != 0 ? UV_EINVAL : local_part(c, dst, len, &wr.sge);

	if (status == 0 && (src.mr == NULL) != (dst.mr == NULL))
		status = UV_EINVAL;
	if (status == 0 && src.mr == NULL && src.offset != 0)
		status = UV_EINVAL;
	if (status == 0 && src.mr != NULL &&
		rpma__mr_remote_target(src.mr, src.offset, len, &wr.remote_addr, &wr.rkey))
		status = UV_EINVAL;
	if (status == 0)
		status = rpma_uv__conn_may_send(c);
	return start(c, op, &read_kind, &wr, status);
}

static rpma_uv_future_t *send_any(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t src,
	size_t len, unsigned flags, struct rpma_uv__wr *wr)
{
	int status = flags != 0 ? UV_EINVAL : local_part(c, src, len, &wr->sge);

	if (status == 0)
		status = rpma_uv__conn_may_send(c);
	return start(c, op, &send_kind, wr, status);
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
	int status = local_part(c, dst, len, &wr.sge);

	if (status == 0 && c->queue.recv_size == 0)
		status = UV_EINVAL; /* no room was asked for: it would wait for ever */
	if (status == 0)
		status = rpma_uv__conn_may_recv(c);
	return start(c, op, &recv_kind, &wr, status);
}

int rpma_uv_recv_info(const rpma_uv_future_t *f, rpma_uv_recv_info_t *info)
{
	const struct rpma_uv__wr *wr;

	if (f == NULL || info == NULL || f->u_kind != &recv_kind || f->status != 0)
		return UV_EINVAL;
	wr = (const struct rpma_uv__wr *)((const rpma_uv_op_t *)f)->u_room;
	*info = (rpma_uv_recv_info_t){
		.len = wr->byte_len,
		.has_imm = wr->has_imm,
		.imm = ntohl(wr->imm),
		.conn = wr->conn,
	};
	return 0;
}
