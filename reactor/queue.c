/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * queue.c - from operations to work requests and back
 *
 *     queue_add()            queues_flush()                queue_complete()
 *   ------------> waiting ------------------> out (posted) ----------------> finished
 *                    |        credits: slots,                                   ^
 *                    |        read depth                                        |
 *                    +------- cancel, connection ended -------------------------+
 *
 * One list and one doorbell a connection and flush. Signalled are READs, operations of 16 KiB and
 * more, one in a quarter of the send queue, and the last of a list; a completion completes all that
 * were posted before it (the send side of a reliable connection completes in order).
 */

#include <arpa/inet.h>
#include <string.h>

#include "conn.h"
#include "queue.h"
#include "reactor.h"
#include "status.h"

/*
 * operations of this size on have a completion of their own: their buffers are worth getting back
 */
#define SIGNAL_BYTES 16384

static void wr_finish(struct rpma_uv__wr *wr, int status, int64_t result, uint32_t detail)
{
	if (!wr->is_internal)
		rpma_uv__future_finish(&rpma_uv__op_of_room(wr)->future, status, result, detail);
}

void rpma_uv__queue_init(struct rpma_uv__queue *q, unsigned send_size, unsigned recv_size)
{
	memset(q, 0, sizeof(*q));
	TAILQ_INIT(&q->send_waiting);
	TAILQ_INIT(&q->send_out);
	TAILQ_INIT(&q->recv_waiting);
	TAILQ_INIT(&q->recv_out);
	q->send_size = send_size;
	q->recv_size = recv_size;
}

/* the list on which a work request waits */
static struct rpma_uv__wrs *waiting_list(struct rpma_uv__wr *wr)
{
	struct rpma_uv__queue *q = &wr->conn->queue;

	return wr->is_recv ? &q->recv_waiting : &q->send_waiting;
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
	q->waiting++;
	TAILQ_INSERT_TAIL(waiting_list(wr), wr, link);
	rpma_uv__queue_mark_dirty(c);
}

static void dequeue(struct rpma_uv__wr *wr)
{
	assert(!wr->is_posted);
	TAILQ_REMOVE(waiting_list(wr), wr, link);
	wr->conn->queue.waiting--;
}

int rpma_uv__queue_cancel(struct rpma_uv__wr *wr)
{
	if (wr->is_posted)
		return UV_EBUSY;
	dequeue(wr);
	wr_finish(wr, UV_ECANCELED, 0, 0);
	return 0;
}

/* ---- posting --------------------------------------------------------------------------------- */

/* work requests up to `bad` (NULL: all n) are the device's now; the one at `bad` was refused */
static void take_posted(rpma_uv_conn_t *c, struct rpma_uv__wrs *waiting, struct rpma_uv__wrs *out,
	unsigned n, int ret)
{
	struct rpma_uv__reactor *r = c->reactor;
	struct rpma_uv__wr *wr;

	for (unsigned i = 0; i < n; i++) {
		wr = TAILQ_FIRST(waiting);
		dequeue(wr);
		wr->is_posted = true;
		TAILQ_INSERT_TAIL(out, wr, link);
	}
	r->posted += n;
	r->stats.work_requests += n;
	r->stats.doorbells++;
	if (ret != 0) {
		wr = TAILQ_FIRST(waiting);
		dequeue(wr);
		wr_finish(wr, uv_translate_sys_error(ret), 0, 0);
	}
}

void rpma_uv__queue_post_recvs(rpma_uv_conn_t *c)
{
	struct rpma_uv__queue *q = &c->queue;
	struct ibv_recv_wr *list = c->reactor->scratch->recv, *bad = NULL;
	unsigned room = q->recv_size - q->recv_posted, n = 0;
	struct rpma_uv__wr *wr;
	int ret;

	TAILQ_FOREACH (wr, &q->recv_waiting, link) {
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
	if (n == 0)
		return;
	list[n - 1].next = NULL;
	ret = ibv_post_recv(c->cm_id.id->qp, list, &bad);
	if (ret != 0)
		n = (unsigned)(bad - list);
	take_posted(c, &q->recv_waiting, &q->recv_out, n, ret);
	q->recv_posted += n;
	assert(q->recv_posted <= q->recv_size);
}

static void send_wr_fill(struct ibv_send_wr *to, struct rpma_uv__wr *wr)
{
	*to = (struct ibv_send_wr){
		.wr_id = (uintptr_t)wr,
		.next = to + 1,
		.sg_list = wr->sge.length > 0 ? &wr->sge : NULL,
		.num_sge = wr->sge.length > 0,
		.opcode = wr->opcode,
	};
	if (wr->opcode == IBV_WR_SEND_WITH_IMM)
		to->imm_data = wr->imm;
	if (wr->opcode == IBV_WR_RDMA_READ) {
		to->wr.rdma.remote_addr = wr->remote_addr;
		to->wr.rdma.rkey = wr->rkey;
	}
}

/* fill the scratch list as far as the credits reach; how many, and of them the reads */
static unsigned build_sends(rpma_uv_conn_t *c, unsigned *reads_ptr)
{
	struct rpma_uv__queue *q = &c->queue;
	struct ibv_send_wr *list = c->reactor->scratch->send;
	unsigned room = q->send_size - q->send_posted;
	unsigned n = 0, reads = 0, unsignalled = 0;
	struct rpma_uv__wr *wr;

	TAILQ_FOREACH (wr, &q->send_waiting, link) {
		bool is_read = wr->opcode == IBV_WR_RDMA_READ;

		if (n == room || n == RPMA_UV__WR_BATCH)
			break;
		if (is_read && q->reads_posted + reads == q->read_depth)
			break; /* and what was called later waits behind it */
		send_wr_fill(&list[n], wr);
		unsignalled++;
		if (is_read || wr->sge.length >= SIGNAL_BYTES || unsignalled * 4 >= q->send_size) {
			list[n].send_flags = IBV_SEND_SIGNALED;
			unsignalled = 0;
		}
		reads += is_read;
		n++;
	}
	if (n > 0) {
		list[n - 1].next = NULL;
		list[n - 1].send_flags = IBV_SEND_SIGNALED;
	}
	*reads_ptr = reads;
	return n;
}

static void post_sends(rpma_uv_conn_t *c)
{
	struct rpma_uv__queue *q = &c->queue;
	struct ibv_send_wr *list = c->reactor->scratch->send, *bad = NULL;
	unsigned reads, n = build_sends(c, &reads);
	int ret;

	if (n == 0)
		return;
	ret = ibv_post_send(c->cm_id.id->qp, list, &bad);
	if (ret != 0) {
		unsigned all = n;

		n = (unsigned)(bad - list);
		for (unsigned i = n; i < all; i++)
			reads -= list[i].opcode == IBV_WR_RDMA_READ;
	}
	take_posted(c, &q->send_waiting, &q->send_out, n, ret);
	q->send_posted += n;
	q->reads_posted += reads;
	q->sent_ms = uv_now(c->reactor->loop);
	assert(q->send_posted <= q->send_size);
	assert(q->reads_posted <= q->read_depth);
	/*
	 * The list was cut short: its new end may be unsignalled, and a completion to come may be
	 * far off or never be. A queue pair that refuses what there is room for is broken anyway.
	 */
	if (ret != 0 && n > 0 && !(list[n - 1].send_flags & IBV_SEND_SIGNALED))
		rpma_uv__conn_end(c, uv_translate_sys_error(ret), 0);
}

/* is there something that could be posted right now? */
static bool can_post(const rpma_uv_conn_t *c)
{
	const struct rpma_uv__queue *q = &c->queue;
	const struct rpma_uv__wr *wr = TAILQ_FIRST(&q->send_waiting);

	if (!c->has_qp || c->state == RPMA_UV__CONN_DRAINING)
		return false;
	if (!TAILQ_EMPTY(&q->recv_waiting) && q->recv_posted < q->recv_size)
		return true;
	if (wr == NULL || c->state != RPMA_UV__CONN_READY || q->send_posted == q->send_size)
		return false;
	return wr->opcode != IBV_WR_RDMA_READ || q->reads_posted < q->read_depth;
}

static void queue_flush(rpma_uv_conn_t *c)
{
	if (c->state == RPMA_UV__CONN_DRAINING) {
		rpma_uv__conn_drain_step(c);
		return;
	}
	if (!c->has_qp)
		return;
	rpma_uv__queue_post_recvs(c);
	if (c->state == RPMA_UV__CONN_READY)
		post_sends(c);
	/* a full list, or one cut short by a refusal, leaves something for the next flush */
	if (can_post(c))
		rpma_uv__queue_mark_dirty(c);
}

void rpma_uv__queues_flush(struct rpma_uv__reactor *r)
{
	struct rpma_uv__conns batch = TAILQ_HEAD_INITIALIZER(batch);
	rpma_uv_conn_t *c;

	TAILQ_CONCAT(&batch, &r->dirty, dirty_link);
	while ((c = TAILQ_FIRST(&batch)) != NULL) {
		TAILQ_REMOVE(&batch, c, dirty_link);
		c->queue.is_dirty = false;
		queue_flush(c);
	}
}

/* ---- completion ------------------------------------------------------------------------------ */

/* what a flushed work request ended of */
static int flush_status(const rpma_uv_conn_t *c)
{
	return c->error != 0 ? c->error : UV_ECANCELED;
}

static void complete_recv(struct rpma_uv__wr *wr, const struct ibv_wc *wc, int status)
{
	struct rpma_uv__queue *q = &wr->conn->queue;

	TAILQ_REMOVE(&q->recv_out, wr, link);
	q->recv_posted--;
	wr->conn->reactor->posted--;
	if (status == 0) {
		wr->byte_len = wc->byte_len;
		wr->has_imm = wc->wc_flags & IBV_WC_WITH_IMM;
		wr->imm = wr->has_imm ? wc->imm_data : 0;
		wr_finish(wr, 0, wc->byte_len, 0);
	} else {
		wr_finish(wr, status, 0, rpma_uv__detail_wc(wc));
	}
}

/* those before it were unsignalled: a failure of theirs would have had a completion of its own */
static void complete_send(struct rpma_uv__wr *wr, const struct ibv_wc *wc, int status)
{
	struct rpma_uv__queue *q = &wr->conn->queue;
	struct rpma_uv__wr *oldest;

	do {
		oldest = TAILQ_FIRST(&q->send_out);
		assert(oldest != NULL);
		TAILQ_REMOVE(&q->send_out, oldest, link);
		q->send_posted--;
		q->reads_posted -= oldest->opcode == IBV_WR_RDMA_READ;
		wr->conn->reactor->posted--;
		if (oldest != wr || status == 0)
			wr_finish(oldest, 0, oldest->sge.length, 0);
		else
			wr_finish(oldest, status, 0, rpma_uv__detail_wc(wc));
	} while (oldest != wr);
}

void rpma_uv__queue_complete(struct rpma_uv__reactor *r, const struct ibv_wc *wc)
{
	struct rpma_uv__wr *wr = (struct rpma_uv__wr *)(uintptr_t)wc->wr_id;
	rpma_uv_conn_t *c = wr->conn;
	int status = 0;

	assert(c->reactor == r);
	(void)r;
	if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		/* without a reason of ours or the peer's the queue pair broke by itself */
		rpma_uv__conn_end(c, UV_EIO, rpma_uv__detail_wc(wc));
		status = flush_status(c);
	} else if (wc->status != IBV_WC_SUCCESS) {
		status = rpma_uv__status_wc(wc->status);
		rpma_uv__conn_end(c, status, rpma_uv__detail_wc(wc));
	}
	if (wr->is_recv)
		complete_recv(wr, wc, status);
	else
		complete_send(wr, wc, status);
	if (c->queue.waiting > 0 || c->state == RPMA_UV__CONN_DRAINING)
		rpma_uv__queue_mark_dirty(c);
}

void rpma_uv__queue_cancel_waiting(rpma_uv_conn_t *c, int status)
{
	struct rpma_uv__wrs *lists[] = { &c->queue.send_waiting, &c->queue.recv_waiting };
	struct rpma_uv__wr *wr;

	for (unsigned i = 0; i < 2; i++) {
		while ((wr = TAILQ_FIRST(lists[i])) != NULL) {
			dequeue(wr);
			wr_finish(wr, status, 0, 0);
		}
	}
	assert(c->queue.waiting == 0);
}

void rpma_uv__queue_abandon_posted(rpma_uv_conn_t *c, int status)
{
	struct rpma_uv__queue *q = &c->queue;
	struct rpma_uv__wrs *lists[] = { &q->send_out, &q->recv_out };
	struct rpma_uv__wr *wr;

	c->reactor->posted -= rpma_uv__queue_posted(q);
	q->send_posted = 0;
	q->reads_posted = 0;
	q->recv_posted = 0;
	for (unsigned i = 0; i < 2; i++) {
		while ((wr = TAILQ_FIRST(lists[i])) != NULL) {
			TAILQ_REMOVE(lists[i], wr, link);
			wr_finish(wr, status, 0, 0);
		}
	}
}
