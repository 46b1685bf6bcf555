/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * persist.c - what was written becomes visible or durable: atomic write, flush, persist
 *
 * A flush is the device's own operation, where both ends have it, or a small READ of the same
 * region, which is answered only after the writes before it have left the peer's device. The READ
 * needs a place to land: made at the first flush of a connection, kept until its queue pair is gone.
 */

#include <string.h>

#include "conn.h"
#include "rma.h"
#include "src/flush.h"
#include "src/mr.h"
#include "src/native.h"
#include "status.h"

static const struct rpma_uv__kind atomic_write_kind = {
	.name = "atomic write",
	.cancel = rpma_uv__rma_cancel,
};
static const struct rpma_uv__kind flush_kind = { .name = "flush", .cancel = rpma_uv__rma_cancel };
static const struct rpma_uv__kind persist_kind = {
	.name = "persist",
	.cancel = rpma_uv__rma_cancel,
};

/* the flags that these three know: 0, or UV_EINVAL */
static int flags_check(unsigned flags)
{
	return flags & ~(unsigned)RPMA_F_EMULATED ? UV_EINVAL : 0;
}

/* ---- atomic write ---------------------------------------------------------------------------- */

static int atomic_write_fill(rpma_uv_conn_t *c, struct rpma_uv__wr *wr, rpma_uv_remote_t dst,
	const char *src, unsigned flags)
{
	int status = flags_check(flags);

	if (status || dst.mr == NULL || src == NULL || dst.offset % sizeof(wr->word) != 0)
		return UV_EINVAL;
	status = rpma_uv__rma_remote(dst, sizeof(wr->word), &wr->remote_addr, &wr->rkey);
	if (status || wr->remote_addr % sizeof(wr->word) != 0)
		return UV_EINVAL;
	status = rpma_uv__conn_may_send(c);
	if (status)
		return status;
	wr->is_native = !(flags & RPMA_F_EMULATED) && rpma__native_can_atomic_write(c->native_qp);
	if (!wr->is_native && c->max_inline < sizeof(wr->word))
		return UV_ENOTSUP;
	memcpy(wr->word, src, sizeof(wr->word));
	wr->len = sizeof(wr->word);
	return 0;
}

rpma_uv_future_t *rpma_uv_atomic_write(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_remote_t dst,
	const char src[RPMA_ATOMIC_WRITE_ALIGNMENT], unsigned flags)
{
	struct rpma_uv__wr *wr = rpma_uv__rma_begin(c, op, &atomic_write_kind);

	if (wr == NULL)
		return NULL;
	wr->opcode = IBV_WR_RDMA_WRITE;
	wr->is_atomic = true;
	return rpma_uv__rma_start(c, wr, atomic_write_fill(c, wr, dst, src, flags));
}

/* ---- flush ----------------------------------------------------------------------------------- */

/* the flush of a range of a region, behind whatever else the operation does */
static int flush_fill(rpma_uv_conn_t *c, struct rpma_uv__wr *wr, rpma_uv_remote_t dst, size_t len,
	enum rpma_flush_type type, unsigned flags)
{
	int ret;

	ret = rpma__flush_check(dst.mr, dst.offset, len, type, c->direct_write_to_pmem);
	if (ret)
		return rpma_uv__status_core(ret);
	ret = rpma_uv__conn_may_send(c);
	if (ret)
		return ret;
	wr->has_flush = true;
	wr->flush_type = (uint8_t)type;
	wr->flush_len = len;
	wr->is_native = !(flags & RPMA_F_EMULATED) && rpma__native_can_flush(c->native_qp) &&
			rpma__mr_remote_takes_native_flush(dst.mr);
	if (wr->is_native)
		return rpma_uv__rma_remote(dst, len, &wr->remote_addr, &wr->rkey);
	if (c->flush == NULL) {
		ret = rpma__flush_new(c->peer, &c->flush);
		if (ret)
			return rpma_uv__status_core(ret);
	}
	rpma__flush_read(c->flush, dst.mr, dst.offset, &wr->sge, &wr->remote_addr, &wr->rkey);
	return 0;
}

rpma_uv_future_t *rpma_uv_flush(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_remote_t dst,
	size_t len, enum rpma_flush_type type, unsigned flags)
{
	struct rpma_uv__wr *wr = rpma_uv__rma_begin(c, op, &flush_kind);
	int status;

	if (wr == NULL)
		return NULL;
	wr->len = len;
	status = dst.mr == NULL ? UV_EINVAL : flags_check(flags);
	if (status == 0)
		status = flush_fill(c, wr, dst, len, type, flags);
	return rpma_uv__rma_start(c, wr, status);
}

/* ---- persist --------------------------------------------------------------------------------- */

/* all pieces good, and of one remote region: the range that covers them, and their bytes */
static int pieces_check(const rpma_uv_piece_t *pieces, unsigned n, rpma_uv_remote_t *hull_ptr,
	size_t *hull_len_ptr, uint64_t *total_ptr)
{
	size_t first = SIZE_MAX, end = 0;
	uint64_t total = 0;

	if (pieces == NULL || n == 0)
		return UV_EINVAL;
	for (unsigned i = 0; i < n; i++) {
		const rpma_uv_piece_t *piece = &pieces[i];
		struct ibv_sge sge;
		uint64_t addr;
		uint32_t rkey;

		if (piece->local.mr == NULL || piece->remote.mr == NULL || piece->len == 0 ||
			piece->remote.mr != pieces[0].remote.mr)
			return UV_EINVAL;
		if (rpma_uv__rma_local(piece->local, piece->len, &sge) ||
			rpma_uv__rma_remote(piece->remote, piece->len, &addr, &rkey))
			return UV_EINVAL;
		if (piece->len > INT64_MAX - total)
			return UV_EINVAL; /* more than a result can tell */
		total += piece->len;
		if (piece->remote.offset < first)
			first = piece->remote.offset;
		if (piece->remote.offset + piece->len > end)
			end = piece->remote.offset + piece->len;
	}
	*hull_ptr = (rpma_uv_remote_t){ pieces[0].remote.mr, first };
	*hull_len_ptr = end - first;
	*total_ptr = total;
	return 0;
}

rpma_uv_future_t *rpma_uv_persist(rpma_uv_conn_t *c, rpma_uv_op_t *op,
	const rpma_uv_piece_t pieces[], unsigned n, enum rpma_flush_type type, unsigned flags)
{
	struct rpma_uv__wr *wr = rpma_uv__rma_begin(c, op, &persist_kind);
	rpma_uv_remote_t hull;
	size_t hull_len;
	int status;

	if (wr == NULL)
		return NULL;
	wr->opcode = IBV_WR_RDMA_WRITE;
	wr->pieces = pieces;
	wr->stretches = n;
	status = flags_check(flags);
	if (status == 0)
		status = pieces_check(pieces, n, &hull, &hull_len, &wr->len);
	if (status == 0)
		status = flush_fill(c, wr, hull, hull_len, type, flags);
	return rpma_uv__rma_start(c, wr, status);
}
