/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * queue.c - from operations to work requests and back
 *
 *     queue_add()            queues_flush()                queue_complete()
 *   ------------> waiting ------------------> posted ----------------> finished
 *                    |        credits: slots,                              ^
 *                    |        read depth                                   |
 *                    +------- drop(): cancel, connection ended ------------+
 *
 * An operation of several parts may be waiting and posted at the same time. It is finished when no
 * part of it waits and none is out, with the status of the first part that failed.
 */

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "post.h"
#include "queue.h"
#include "reactor.h"
#include "srq.h"
#include "status.h"

static void wr_finish(struct rpma_uv__wr *wr, int status, int64_t result, uint32_t detail)
{
	if (!wr->is_internal)
		rpma_uv__future_finish(&rpma_uv__op_of_room(wr)->future, status, result, detail);
}

void rpma_uv__queue_init(struct rpma_uv__queue *q, unsigned send_size, unsigned recv_size)
{
	memset(q, 0, sizeof(*q));
	TAILQ_INIT(&q->send_waiting);
	TAILQ_INIT(&q->recv_waiting);
	TAILQ_INIT(&q->recv_out);
	q->send_size = send_size;
	q->recv_size = recv_size;
}

int rpma_uv__queue_slots_new(struct rpma_uv__queue *q)
{
	q->slots = calloc(q->send_size, sizeof(*q->slots));
	return q->slots != NULL ? 0 : UV_ENOMEM;
}

void rpma_uv__queue_slots_delete(struct rpma_uv__queue *q)
{
	free(q->slots);
	q->slots = NULL;
}

/* the list on which an operation waits */
static struct rpma_uv__wrs *waiting_list(struct rpma_uv__wr *wr)
{
	struct rpma_uv__queue *q = &wr->conn->queue;

	return wr->is_recv ? &q->recv_waiting : &q->send_waiting;
}

/* how many connections have sends decides whether they share a flush */
static void busy_update(rpma_uv_conn_t *c)
{
	struct rpma_uv__queue *q = &c->queue;
	bool is_busy = q->send_posted > 0 || !TAILQ_EMPTY(&q->send_waiting);

	c->reactor->busy += is_busy;
	c->reactor->busy -= q->is_busy;
	q->is_busy = is_busy;
	if (!is_busy)
		q->budget_bytes = 0; /* debts are among those that have work */
}

void rpma_uv__queue_mark_dirty(rpma_uv_conn_t *c)
{
	struct rpma_uv__reactor *r = c->reactor;

	if (c->queue.is_dirty)
		return;
	c->queue.is_dirty = true;
	TAILQ_INSERT_TAIL(&r->dirty, c, dirty_link);
	rpma_uv__reactor_kick(r);
}

void rpma_uv__queue_add(rpma_uv_conn_t *c, struct rpma_uv__wr *wr)
{
	struct rpma_uv__queue *q = &c->queue;

	if (q->waiting >= c->reactor->opts.queue_bound) {
		wr_finish(wr, UV_EAGAIN, 0, 0);
		return;
	}
	wr->conn = c;
	wr->is_posted = false;
	if (!wr->has_flush)
		wr->stretches = 1;
	wr->cursor = (struct rpma_uv__cursor){ 0 };
	wr->out = 0;
	wr->status = 0;
	wr->detail = 0;
	q->waiting++;
	TAILQ_INSERT_TAIL(waiting_list(wr), wr, link);
	busy_update(c);
	rpma_uv__queue_mark_dirty(c);
}

void rpma_uv__queue_dequeue(struct rpma_uv__wr *wr)
{
	assert(!wr->is_posted);
	TAILQ_REMOVE(waiting_list(wr), wr, link);
	wr->conn->queue.waiting--;
	wr->is_posted = true;
}

void rpma_uv__queue_drop(struct rpma_uv__wr *wr, int status)
{
	rpma_uv__queue_dequeue(wr);
	busy_update(wr->conn);
	/* it may have been what the others waited for */
	if (wr->conn->queue.waiting > 0)
		rpma_uv__queue_mark_dirty(wr->conn);
	if (wr->out == 0)
		wr_finish(wr, status, 0, 0);
	else
		wr->status = status;
}

int rpma_uv__queue_cancel(struct rpma_uv__wr *wr, unsigned how)
{
	const rpma_uv_future_t *f = &rpma_uv__op_of_room(wr)->future;
	rpma_uv_conn_t *c = wr->conn;
	bool was_waiting = !wr->is_posted;

	if (was_waiting)
		rpma_uv__queue_drop(wr, UV_ECANCELED);
	if (was_waiting && (!(how & RPMA_UV_FORCE) || !rpma_uv__future_is_pending(f)))
		return 0;
	if (!(how & RPMA_UV_FORCE))
		return UV_EBUSY;
	/* what has come back by now counts, and costs no connection */
	if (!c->has_ended)
		rpma_uv__cq_drain(c->cq);
	if (!rpma_uv__future_is_pending(f))
		return was_waiting ? 0 : UV_EALREADY;
	wr->is_forced = true; /* and so it is called, though its connection may have ended before */
	c->reactor->stats.cancels_forced++;
	rpma_uv__conn_end(c, UV_ECONNABORTED, 0);
	return 0;
}

/* ---- flushing -------------------------------------------------------------------------------- */

static void queue_flush(rpma_uv_conn_t *c)
{
	if (c->state == RPMA_UV__CONN_DRAINING) {
		rpma_uv__conn_drain_step(c);
		return;
	}
	if (!c->has_qp)
		return;
	rpma_uv__post_recvs(c);
	if (c->state == RPMA_UV__CONN_READY)
		rpma_uv__post_sends(c);
	/* a full list, one cut short by a refusal, or a spent budget leaves something for the next flush */
	if (rpma_uv__post_is_due(c))
		rpma_uv__queue_mark_dirty(c);
}

void rpma_uv__queues_flush(struct rpma_uv__reactor *r)
{
	struct rpma_uv__conns batch = TAILQ_HEAD_INITIALIZER(batch);
	rpma_uv_conn_t *c;

	r->stats.flushes += !TAILQ_EMPTY(&r->dirty);
	TAILQ_CONCAT(&batch, &r->dirty, dirty_link);
	while ((c = TAILQ_FIRST(&batch)) != NULL) {
		TAILQ_REMOVE(&batch, c, dirty_link);
		c->queue.is_dirty = false;
		queue_flush(c);
	}
}

/* ---- completion ------------------------------------------------------------------------------ */

/* what a flushed work request ended of */
static int flush_status(const struct rpma_uv__wr *wr)
{
	int error = wr->conn->error;

	return error != 0 && !wr->is_forced ? error : UV_ECANCELED;
}

void rpma_uv__queue_received(struct rpma_uv__wr *wr, const struct ibv_wc *wc)
{
	wr->byte_len = wc->byte_len;
	wr->has_imm = wc->wc_flags & IBV_WC_WITH_IMM;
	wr->imm = wr->has_imm ? wc->imm_data : 0;
	wr->is_write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
}

static void complete_recv(struct rpma_uv__wr *wr, const struct ibv_wc *wc, int status)
{
	struct rpma_uv__queue *q = &wr->conn->queue;

	TAILQ_REMOVE(&q->recv_out, wr, link);
	q->recv_posted--;
	wr->conn->reactor->posted--;
	if (status == 0) {
		rpma_uv__connect_heard(wr->conn);
		rpma_uv__queue_received(wr, wc);
		wr_finish(wr, 0, wc->byte_len, 0);
	} else {
		wr_finish(wr, status, 0, rpma_uv__detail_wc(wc));
	}
}

/* the oldest posted part has come back; its operation may be finished with it */
static void part_finish(rpma_uv_conn_t *c, int status, uint32_t detail)
{
	struct rpma_uv__queue *q = &c->queue;
	const struct rpma_uv__slot *slot = &q->slots[q->send_first];
	struct rpma_uv__wr *wr = slot->wr;

	assert(q->send_posted > 0);
	q->send_posted--;
	q->reads_posted -= slot->is_read;
	q->send_first = q->send_first + 1 < q->send_size ? q->send_first + 1 : 0;
	c->reactor->posted--;
	if (wr->status == 0)
		wr->status = status;
	if (wr->detail == 0)
		wr->detail = detail;
	assert(wr->out > 0);
	if (--wr->out == 0 && wr->is_posted)
		wr_finish(wr, wr->status, wr->status == 0 ? (int64_t)wr->len : 0, wr->detail);
}

/* those before it were unsignalled: a failure of theirs would have had a completion of its own */
static void complete_send(
	rpma_uv_conn_t *c, const struct rpma_uv__slot *slot, const struct ibv_wc *wc, int status)
{
	struct rpma_uv__queue *q = &c->queue;

	while (&q->slots[q->send_first] != slot)
		part_finish(c, 0, 0);
	part_finish(c, status, status != 0 ? rpma_uv__detail_wc(wc) : 0);
	busy_update(c);
}

/* whose completion it is: of a slot, *slot_ptr, or of the receive that is returned */
static struct rpma_uv__wr *wr_of(const struct ibv_wc *wc, struct rpma_uv__slot **slot_ptr)
{
	uintptr_t id = (uintptr_t)wc->wr_id;

	*slot_ptr = NULL;
	if (!(id & RPMA_UV__SLOT_TAG))
		return (struct rpma_uv__wr *)id;
	*slot_ptr = (struct rpma_uv__slot *)(id - RPMA_UV__SLOT_TAG);
	return (*slot_ptr)->wr;
}

void rpma_uv__queue_complete(struct rpma_uv__reactor *r, const struct ibv_wc *wc)
{
	struct rpma_uv__slot *slot;
	struct rpma_uv__wr *wr = wr_of(wc, &slot);
	rpma_uv_conn_t *c = wr->conn;
	int status = 0;

	if (slot == NULL && wr->srq != NULL) {
		rpma_uv__srq_complete(wr, wc);
		return;
	}
	assert(c->reactor == r);
	if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		rpma_uv__conn_broke(c, rpma_uv__detail_wc(wc));
		status = flush_status(wr);
	} else if (wc->status != IBV_WC_SUCCESS) {
		r->stats.rnr_errors += wc->status == IBV_WC_RNR_RETRY_EXC_ERR;
		status = rpma_uv__status_wc(wc->status);
		rpma_uv__conn_end(c, status, rpma_uv__detail_wc(wc));
	}
	if (slot == NULL)
		complete_recv(wr, wc, status);
	else
		complete_send(c, slot, wc, status);
	if (c->queue.waiting > 0 || c->state == RPMA_UV__CONN_DRAINING)
		rpma_uv__queue_mark_dirty(c);
}

void rpma_uv__queue_cancel_waiting(rpma_uv_conn_t *c, int status)
{
	struct rpma_uv__wrs *lists[] = { &c->queue.send_waiting, &c->queue.recv_waiting };
	struct rpma_uv__wr *wr;

	for (unsigned i = 0; i < 2; i++) {
		while ((wr = TAILQ_FIRST(lists[i])) != NULL)
			rpma_uv__queue_drop(wr, status);
	}
	assert(c->queue.waiting == 0);
}

void rpma_uv__queue_abandon_posted(rpma_uv_conn_t *c)
{
	struct rpma_uv__queue *q = &c->queue;
	struct rpma_uv__wr *wr;

	while (q->send_posted > 0)
		part_finish(c, flush_status(q->slots[q->send_first].wr), 0);
	busy_update(c);
	while ((wr = TAILQ_FIRST(&q->recv_out)) != NULL) {
		TAILQ_REMOVE(&q->recv_out, wr, link);
		q->recv_posted--;
		c->reactor->posted--;
		wr_finish(wr, flush_status(wr), 0, 0);
	}
	assert(rpma_uv__queue_posted(q) == 0);
}
