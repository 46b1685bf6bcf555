/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * post.c - from operations that wait to lists of work requests
 *
 * One list and one doorbell a connection and flush. What is longer than the port's message limit is
 * cut; parts of one operation may go out in several lists, as slots and read depth allow.
 *
 * Signalled are READs, the last part of operations of 16 KiB and more, one in a quarter of the send
 * queue, and the last of a list; a completion completes all that were posted before it (the send
 * side of a reliable connection completes in order).
 *
 * Connections take turns: a flush posts one list for each that is dirty. While more than one has
 * work, its list also has a budget in bytes, so that long operations of one do not crowd out short
 * ones of another. A work request is posted while there is any budget left, be it larger or not; the
 * debt is paid off in the next flushes (deficit round robin).
 */

#include <string.h>

#include "conn.h"
#include "post.h"
#include "queue.h"
#include "reactor.h"
#include "src/mr.h"
#include "src/native.h"
#include "status.h"

/*
 * operations of this size on have a completion of their own: their buffers are worth getting back
 */
#define SIGNAL_BYTES 16384

/* the longest message that a reliable connection can carry */
#define MESSAGE_BYTES (UINT64_C(1) << 31)

/* what a connection may post in a flush that it shares, what a work request costs at least, */
#define BUDGET_BYTES INT64_C(262144)
#define COST_BYTES   INT64_C(2048)
/* and what one may be ahead by: the rest of a very long operation is the device's to share out */
#define DEBT_BYTES (64 * BUDGET_BYTES)

/* ---- receives -------------------------------------------------------------------------------- */

unsigned rpma_uv__recvs_build(
	struct rpma_uv__reactor *r, const struct rpma_uv__wrs *waiting, unsigned room)
{
	struct ibv_recv_wr *list = r->scratch->recv;
	struct rpma_uv__wr *wr;
	unsigned n = 0;

	TAILQ_FOREACH (wr, waiting, link) {
		if (n == room || n == RPMA_UV__WR_BATCH)
			break;
		list[n] = (struct ibv_recv_wr){
			.wr_id = (uintptr_t)wr,
			.next = &list[n + 1],
			.sg_list = wr->sge.length > 0 ? &wr->sge : NULL,
			.num_sge = wr->sge.length > 0,
		};
		n++;
	}
	if (n > 0)
		list[n - 1].next = NULL;
	return n;
}

void rpma_uv__post_recvs(rpma_uv_conn_t *c)
{
	struct rpma_uv__queue *q = &c->queue;
	struct rpma_uv__reactor *r = c->reactor;
	unsigned n = rpma_uv__recvs_build(r, &q->recv_waiting, q->recv_size - q->recv_posted);
	struct ibv_recv_wr *list = r->scratch->recv, *bad = NULL;
	struct rpma_uv__wr *wr;
	int ret;

	if (n == 0)
		return;
	ret = ibv_post_recv(c->cm_id.id->qp, list, &bad);
	if (ret != 0)
		n = (unsigned)(bad - list);
	for (unsigned i = 0; i < n; i++) {
		wr = TAILQ_FIRST(&q->recv_waiting);
		rpma_uv__queue_dequeue(wr);
		TAILQ_INSERT_TAIL(&q->recv_out, wr, link);
	}
	q->recv_posted += n;
	assert(q->recv_posted <= q->recv_size);
	r->posted += n;
	r->stats.work_requests += n;
	r->stats.doorbells++;
	if (ret != 0)
		rpma_uv__queue_drop(TAILQ_FIRST(&q->recv_waiting), uv_translate_sys_error(ret));
}

/* ---- sends: one part ------------------------------------------------------------------------- */

static bool is_at_flush(const struct rpma_uv__wr *wr, struct rpma_uv__cursor cursor)
{
	return cursor.stretch == wr->stretches;
}

/* does the part at the cursor need one of the read depth? */
static bool is_read(const struct rpma_uv__wr *wr, struct rpma_uv__cursor cursor)
{
	return wr->opcode == IBV_WR_RDMA_READ || is_at_flush(wr, cursor) ||
	       (wr->is_atomic && wr->is_native);
}

/* what one stretch moves, from where and to where */
struct stretch {
	struct ibv_sge sge;
	uint64_t remote_addr;
	uint64_t len;
	uint32_t rkey;
};

static void stretch_fill(const struct rpma_uv__wr *wr, unsigned number, struct stretch *to)
{
	const rpma_uv_piece_t *piece;

	if (wr->pieces == NULL) {
		*to = (struct stretch){ wr->sge, wr->remote_addr, wr->len, wr->rkey };
		if (wr->is_atomic)
			to->sge.addr = (uintptr_t)wr->word;
		return;
	}
	/* they were found good when they were given */
	piece = &wr->pieces[number];
	to->len = piece->len;
	rpma__mr_local_at(piece->local.mr, piece->local.offset, &to->sge);
	rpma__mr_remote_at(piece->remote.mr, piece->remote.offset, &to->remote_addr, &to->rkey);
}

/* the length of the part at the cursor */
static uint32_t part_len(
	const struct rpma_uv__wr *wr, const struct stretch *stretch, struct rpma_uv__cursor cursor)
{
	uint64_t limit = wr->conn->max_msg, left = stretch->len - cursor.at;

	if (limit == 0 || limit > MESSAGE_BYTES)
		limit = MESSAGE_BYTES;
	return (uint32_t)(left < limit ? left : limit);
}

/* the word goes with the last part: the peer learns when all is there */
static enum ibv_wr_opcode part_opcode(const struct rpma_uv__wr *wr, bool is_last)
{
	if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && !is_last)
		return IBV_WR_RDMA_WRITE;
	return wr->opcode;
}

/* a part of a stretch */
static void data_build(struct rpma_uv__part *part, struct ibv_send_wr *to, struct ibv_sge *sge,
	struct rpma_uv__cursor cursor)
{
	const struct rpma_uv__wr *wr = part->wr;
	struct stretch stretch;
	uint32_t len;

	stretch_fill(wr, cursor.stretch, &stretch);
	len = part_len(wr, &stretch, cursor);
	part->after = (struct rpma_uv__cursor){ cursor.at + len, cursor.stretch };
	if (part->after.at == stretch.len)
		part->after = (struct rpma_uv__cursor){ 0, cursor.stretch + 1 };
	part->is_last = is_at_flush(wr, part->after) && !wr->has_flush;
	part->is_native = wr->is_atomic && wr->is_native;
	*sge = (struct ibv_sge){
		.addr = stretch.sge.addr + cursor.at,
		.length = len,
		.lkey = stretch.sge.lkey,
	};
	to->opcode = part_opcode(wr, part->is_last);
	to->imm_data = wr->imm;
	if (to->opcode != IBV_WR_SEND && to->opcode != IBV_WR_SEND_WITH_IMM) {
		to->wr.rdma.remote_addr = stretch.remote_addr + cursor.at;
		to->wr.rdma.rkey = stretch.rkey;
	}
	/* the reads before it have to be over: an emulated flush is one */
	if (wr->is_atomic)
		to->send_flags = IBV_SEND_FENCE | (wr->is_native ? 0 : IBV_SEND_INLINE);
}

/* the flush behind all stretches, or the read that stands for it */
static void flush_build(struct rpma_uv__part *part, struct ibv_send_wr *to, struct ibv_sge *sge)
{
	const struct rpma_uv__wr *wr = part->wr;

	part->is_last = true;
	part->is_native = wr->is_native;
	*sge = wr->sge;
	to->opcode = IBV_WR_RDMA_READ;
	to->imm_data = 0;
	to->wr.rdma.remote_addr = wr->remote_addr;
	to->wr.rdma.rkey = wr->rkey;
}

/* the part at the cursor becomes the n-th of the list; what follows it is in parts[n].after */
static void part_build(struct rpma_uv__wr_scratch *scratch, unsigned n, struct rpma_uv__wr *wr,
	struct rpma_uv__cursor cursor)
{
	struct rpma_uv__part *part = &scratch->parts[n];
	struct ibv_send_wr *to = &scratch->send[n];
	struct ibv_sge *sge = &scratch->sge[n];

	*part = (struct rpma_uv__part){ .wr = wr, .is_read = is_read(wr, cursor) };
	/* its address, and what its opcode needs, no more: the list is written anew each time */
	to->next = to + 1;
	to->send_flags = 0;
	if (is_at_flush(wr, cursor))
		flush_build(part, to, sge);
	else
		data_build(part, to, sge, cursor);
	to->sg_list = sge->length > 0 ? sge : NULL;
	to->num_sge = sge->length > 0;
}

/* ---- sends: one list ------------------------------------------------------------------------- */

/* the budget of this flush; without another connection that has work there is no limit */
static void budget_renew(rpma_uv_conn_t *c)
{
	struct rpma_uv__queue *q = &c->queue;

	if (c->reactor->busy < 2) {
		q->budget_bytes = INT64_MAX;
		return;
	}
	/* what is left of the last one is lost, a debt is not */
	if (q->budget_bytes > 0)
		q->budget_bytes = 0;
	q->budget_bytes += BUDGET_BYTES;
}

static void budget_spend(struct rpma_uv__queue *q, uint32_t len)
{
	q->budget_bytes -= len > COST_BYTES ? len : COST_BYTES;
	if (q->budget_bytes < -DEBT_BYTES)
		q->budget_bytes = -DEBT_BYTES;
}

/* may the next part go with this list? What persist began goes out with one doorbell. */
static bool is_within_budget(
	const struct rpma_uv__queue *q, const struct rpma_uv__part *parts, unsigned n)
{
	const struct rpma_uv__part *before = n > 0 ? &parts[n - 1] : NULL;

	return q->budget_bytes > 0 ||
	       (before != NULL && before->wr->pieces != NULL && !before->is_last);
}

static struct rpma_uv__slot *slot_at(struct rpma_uv__queue *q, unsigned number)
{
	unsigned index = q->send_first + number;

	return &q->slots[index < q->send_size ? index : index - q->send_size];
}

/* fill the scratch list as far as the credits and the budget reach; how many */
static unsigned sends_build(rpma_uv_conn_t *c)
{
	struct rpma_uv__queue *q = &c->queue;
	struct rpma_uv__wr_scratch *scratch = c->reactor->scratch;
	unsigned room = q->send_size - q->send_posted;
	unsigned n = 0, reads = q->reads_posted, unsignalled = 0;
	struct rpma_uv__wr *wr = TAILQ_FIRST(&q->send_waiting);
	struct rpma_uv__cursor cursor;

	if (room > RPMA_UV__WR_BATCH)
		room = RPMA_UV__WR_BATCH;
	budget_renew(c);
	for (cursor = wr->cursor; wr != NULL && n < room; n++) {
		struct rpma_uv__part *part = &scratch->parts[n];

		if (!is_within_budget(q, scratch->parts, n))
			break;
		if (is_read(wr, cursor) && reads == q->read_depth)
			break; /* and what was called later waits behind it */
		part_build(scratch, n, wr, cursor);
		scratch->send[n].wr_id =
			(uintptr_t)slot_at(q, q->send_posted + n) | RPMA_UV__SLOT_TAG;
		unsignalled++;
		if (part->is_read || wr->is_atomic || (part->is_last && wr->len >= SIGNAL_BYTES) ||
			unsignalled * 4 >= q->send_size) {
			scratch->send[n].send_flags |= IBV_SEND_SIGNALED;
			unsignalled = 0;
		}
		reads += part->is_read;
		budget_spend(q, scratch->sge[n].length);
		cursor = part->after;
		if (part->is_last) {
			wr = TAILQ_NEXT(wr, link);
			if (wr != NULL)
				cursor = wr->cursor;
		}
	}
	if (n > 0) {
		scratch->send[n - 1].next = NULL;
		scratch->send[n - 1].send_flags |= IBV_SEND_SIGNALED;
	}
	return n;
}

/* the first n of the list are the device's now */
static void sends_take(rpma_uv_conn_t *c, unsigned n)
{
	struct rpma_uv__queue *q = &c->queue;
	struct rpma_uv__reactor *r = c->reactor;

	for (unsigned i = 0; i < n; i++) {
		const struct rpma_uv__part *part = &r->scratch->parts[i];

		part->wr->cursor = part->after;
		part->wr->out++;
		*slot_at(q, q->send_posted) = (struct rpma_uv__slot){ part->wr, part->is_read };
		q->send_posted++;
		q->reads_posted += part->is_read;
		if (part->is_last)
			rpma_uv__queue_dequeue(part->wr);
	}
	assert(q->send_posted <= q->send_size);
	assert(q->reads_posted <= q->read_depth);
	q->sent_ms = uv_now(r->loop);
	r->posted += n;
	r->stats.work_requests += n;
	r->stats.doorbells++;
}

/* ---- sends: a list with the device's own flush or atomic write in it ------------------------- */

static void native_add(
	struct ibv_qp_ex *qp, const struct rpma_uv__part *part, const struct ibv_send_wr *send)
{
	uint64_t addr = send->wr.rdma.remote_addr;
	uint32_t rkey = send->wr.rdma.rkey;

	qp->wr_id = send->wr_id;
	qp->wr_flags = send->send_flags & ~(unsigned)IBV_SEND_INLINE;
	switch (send->opcode) {
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qp, rkey, addr);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qp, rkey, addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qp, rkey, addr, send->imm_data);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qp, send->imm_data);
		break;
	default:
		assert(send->opcode == IBV_WR_SEND);
		ibv_wr_send(qp);
		break;
	}
	if (send->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(qp, (void *)part->wr->word, sizeof(part->wr->word));
	else
		ibv_wr_set_sge_list(qp, (size_t)send->num_sge, send->sg_list);
}

/* all of them are posted, or none */
static int native_post(rpma_uv_conn_t *c, unsigned first, unsigned n)
{
	const struct rpma_uv__wr_scratch *scratch = c->reactor->scratch;
	struct ibv_qp_ex *qp = c->native_qp;

	ibv_wr_start(qp);
	for (unsigned i = first; i < first + n; i++) {
		const struct ibv_send_wr *send = &scratch->send[i];
		const struct rpma_uv__wr *wr = scratch->parts[i].wr;

		if (!scratch->parts[i].is_native)
			native_add(qp, &scratch->parts[i], send);
		else if (wr->is_atomic)
			rpma__native_add_atomic_write(qp, send->wr_id, send->send_flags,
				send->wr.rdma.rkey, send->wr.rdma.remote_addr, wr->word);
		else
			rpma__native_add_flush(qp, send->wr_id, send->send_flags,
				send->wr.rdma.rkey, send->wr.rdma.remote_addr, wr->flush_len,
				(enum rpma_flush_type)wr->flush_type);
	}
	return ibv_wr_complete(qp);
}

/* *n_ptr: of how many, and how many of them were posted */
static int native_post_list(rpma_uv_conn_t *c, unsigned *n_ptr)
{
	unsigned all = *n_ptr;
	int ret = native_post(c, 0, all);

	if (ret == 0)
		return 0;
	/* which of them is it? One at a time tells. */
	for (*n_ptr = 0; *n_ptr < all; (*n_ptr)++) {
		ret = native_post(c, *n_ptr, 1);
		if (ret != 0)
			break;
	}
	return ret;
}

/* ---- sends ----------------------------------------------------------------------------------- */

static int post_list(rpma_uv_conn_t *c, unsigned *n_ptr)
{
	struct rpma_uv__wr_scratch *scratch = c->reactor->scratch;
	struct ibv_send_wr *bad = NULL;
	int ret;

	for (unsigned i = 0; i < *n_ptr; i++) {
		if (scratch->parts[i].is_native)
			return native_post_list(c, n_ptr);
	}
	ret = ibv_post_send(c->cm_id.id->qp, scratch->send, &bad);
	if (ret != 0)
		*n_ptr = (unsigned)(bad - scratch->send);
	return ret;
}

void rpma_uv__post_sends(rpma_uv_conn_t *c)
{
	const struct ibv_send_wr *list = c->reactor->scratch->send;
	unsigned n;
	int ret;

	if (TAILQ_EMPTY(&c->queue.send_waiting))
		return;
	n = sends_build(c);
	if (n == 0)
		return;
	ret = post_list(c, &n);
	sends_take(c, n);
	if (ret == 0)
		return;
	/* the one that was refused is the first that still waits */
	rpma_uv__queue_drop(TAILQ_FIRST(&c->queue.send_waiting), uv_translate_sys_error(ret));
	/*
	 * The list was cut short: its new end may be unsignalled, and a completion to come may be
	 * far off or never be. A queue pair that refuses what there is room for is broken anyway.
	 */
	if (n > 0 && !(list[n - 1].send_flags & IBV_SEND_SIGNALED))
		rpma_uv__conn_end(c, uv_translate_sys_error(ret), 0);
}

bool rpma_uv__post_is_due(const rpma_uv_conn_t *c)
{
	const struct rpma_uv__queue *q = &c->queue;
	const struct rpma_uv__wr *wr = TAILQ_FIRST(&q->send_waiting);

	if (c->state == RPMA_UV__CONN_DRAINING)
		return false;
	if (!TAILQ_EMPTY(&q->recv_waiting) && q->recv_posted < q->recv_size)
		return true;
	if (wr == NULL || c->state != RPMA_UV__CONN_READY || q->send_posted == q->send_size)
		return false;
	return !is_read(wr, wr->cursor) || q->reads_posted < q->read_depth;
}
