/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * srq.c - a shared receive queue: receives that several connections draw from
 *
 *                 srqs_flush()            a message comes to one of the connections
 *     waiting ------------------> posted ------------------------------------------> finished
 *        |          room                \                                               ^
 *        +--- cancel, srq_close()        +--- srq_close(), destroyed -------------------+
 *
 *     OPEN --srq_close()--> CLOSING --last connection CLOSED--> destroyed --> close callback
 *
 * The receives are the queue's, not a connection's: one that a queue pair has not taken stays when
 * that ends, so they cannot be counted down at the end of a connection. The device says instead
 * when the queue pair has taken its last (IBV_EVENT_QP_LAST_WQE_REACHED); see conn.c.
 *
 * All of them complete on one completion queue, where the whole size is reserved once, while the
 * sends of each connection complete on that of the connection. Whose message it was is told by the
 * number of the queue pair, looked up among those that are bound: numbers are used again, but not
 * before the old one's completions were drained.
 */

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "conn.h"
#include "cq.h"
#include "device.h"
#include "post.h"
#include "queue.h"
#include "reactor.h"
#include "src/mr.h"
#include "src/peer.h"
#include "src/srq.h"
#include "srq.h"
#include "status.h"

#define BUCKETS 1024

LIST_HEAD(conn_bucket, rpma_uv_conn);

struct rpma_uv_srq {
	TAILQ_ENTRY(rpma_uv_srq) link;
	TAILQ_ENTRY(rpma_uv_srq) dirty_link;
	struct rpma_uv__reactor *reactor;
	struct rpma_peer *peer;
	struct rpma_srq *core; /* NULL: destroyed */
	struct rpma_uv__cq *cq; /* `size` entries of it are reserved */
	struct rpma_uv__watched watched;
	unsigned size;
	struct rpma_uv__wrs waiting;
	struct rpma_uv__wrs out;
	unsigned waiting_count;
	unsigned posted;
	bool is_dirty; /* on reactor->srqs_dirty */

	unsigned conns; /* that have joined */
	struct conn_bucket bound[BUCKETS]; /* of them, by the number of the queue pair */

	bool is_closing;
	rpma_uv_close_cb close_cb;
	void *close_data;
	struct rpma_uv__closer closer;
};

struct rpma_uv__cq *rpma_uv__srq_cq(const rpma_uv_srq_t *srq)
{
	return srq->cq;
}

/* ---- connections ----------------------------------------------------------------------------- */

static struct conn_bucket *bucket_of(rpma_uv_srq_t *srq, uint32_t qp_num)
{
	return &srq->bound[qp_num % BUCKETS];
}

static rpma_uv_conn_t *find_conn(rpma_uv_srq_t *srq, uint32_t qp_num)
{
	rpma_uv_conn_t *c;

	LIST_FOREACH (c, bucket_of(srq, qp_num), srq_link) {
		if (c->qp_num == qp_num)
			return c;
	}
	return NULL;
}

void rpma_uv__srq_bind(rpma_uv_srq_t *srq, rpma_uv_conn_t *c)
{
	assert(find_conn(srq, c->qp_num) == NULL);
	LIST_INSERT_HEAD(bucket_of(srq, c->qp_num), c, srq_link);
}

void rpma_uv__srq_unbind(rpma_uv_srq_t *srq, rpma_uv_conn_t *c)
{
	assert(find_conn(srq, c->qp_num) == c);
	(void)srq;
	LIST_REMOVE(c, srq_link);
}

int rpma_uv_conn_set_srq(rpma_uv_conn_t *c, rpma_uv_srq_t *srq)
{
	if (c == NULL || srq == NULL)
		return UV_EINVAL;
	if (c->is_closing || srq->is_closing)
		return UV_ECANCELED;
	if (c->state != RPMA_UV__CONN_NEW || c->srq != NULL || c->queue.waiting > 0)
		return UV_EINVAL;
	if (srq->reactor != c->reactor || srq->peer != c->peer)
		return UV_EINVAL;
	/* it has no receives of its own: their room on its completion queue is not needed */
	rpma_uv__cq_release(c->cq, c->queue.recv_size);
	c->reserved -= c->queue.recv_size;
	c->queue.recv_size = 0;
	(void)rpma_conn_cfg_set_srq(c->cfg, srq->core);
	c->srq = srq;
	srq->conns++;
	return 0;
}

/* ---- posting --------------------------------------------------------------------------------- */

static void recv_finish(struct rpma_uv__wr *wr, int status, uint32_t detail)
{
	rpma_uv__future_finish(&rpma_uv__op_of_room(wr)->future, status,
		status == 0 ? (int64_t)wr->byte_len : 0, detail);
}

static void mark_dirty(rpma_uv_srq_t *srq)
{
	struct rpma_uv__reactor *r = srq->reactor;

	if (srq->is_dirty)
		return;
	srq->is_dirty = true;
	TAILQ_INSERT_TAIL(&r->srqs_dirty, srq, dirty_link);
	rpma_uv__reactor_kick(r);
}

static void dequeue(rpma_uv_srq_t *srq, struct rpma_uv__wr *wr)
{
	assert(!wr->is_posted);
	TAILQ_REMOVE(&srq->waiting, wr, link);
	srq->waiting_count--;
}

/* the first n that wait are the device's now; the one behind them was refused, if ret is not 0 */
static void take_posted(rpma_uv_srq_t *srq, unsigned n, int ret)
{
	struct rpma_uv__reactor *r = srq->reactor;
	struct rpma_uv__wr *wr;

	for (unsigned i = 0; i < n; i++) {
		wr = TAILQ_FIRST(&srq->waiting);
		dequeue(srq, wr);
		wr->is_posted = true;
		TAILQ_INSERT_TAIL(&srq->out, wr, link);
	}
	srq->posted += n;
	assert(srq->posted <= srq->size);
	r->posted += n;
	r->stats.work_requests += n;
	r->stats.doorbells++;
	if (ret != 0) {
		wr = TAILQ_FIRST(&srq->waiting);
		dequeue(srq, wr);
		recv_finish(wr, uv_translate_sys_error(ret), 0);
	}
}

/* one list, as far as there is room */
static void post(rpma_uv_srq_t *srq)
{
	unsigned n = rpma_uv__recvs_build(srq->reactor, &srq->waiting, srq->size - srq->posted);
	struct ibv_recv_wr *list = srq->reactor->scratch->recv, *bad = NULL;
	int ret;

	if (n == 0)
		return;
	ret = ibv_post_srq_recv(rpma__srq_get_ibv_srq(srq->core), list, &bad);
	take_posted(srq, ret == 0 ? n : (unsigned)(bad - list), ret);
	if (srq->waiting_count > 0 && srq->posted < srq->size)
		mark_dirty(srq);
}

void rpma_uv__srqs_flush(struct rpma_uv__reactor *r)
{
	struct rpma_uv__srqs batch = TAILQ_HEAD_INITIALIZER(batch);
	rpma_uv_srq_t *srq;

	TAILQ_CONCAT(&batch, &r->srqs_dirty, dirty_link);
	while ((srq = TAILQ_FIRST(&batch)) != NULL) {
		TAILQ_REMOVE(&batch, srq, dirty_link);
		srq->is_dirty = false;
		if (srq->core != NULL)
			post(srq);
	}
}

/* ---- receives -------------------------------------------------------------------------------- */

/* forced or not: whose queue pair would have to be given up for it is not known */
static int recv_cancel(rpma_uv_future_t *f, unsigned how)
{
	struct rpma_uv__wr *wr = rpma_uv__room(struct rpma_uv__wr, rpma_uv__op_of(f));

	(void)how;
	if (wr->is_posted)
		return UV_EBUSY;
	dequeue(wr->srq, wr);
	recv_finish(wr, UV_ECANCELED, 0);
	return 0;
}

const struct rpma_uv__kind rpma_uv__srq_recv_kind = { .name = "receive", .cancel = recv_cancel };

rpma_uv_future_t *rpma_uv_srq_recv(
	rpma_uv_srq_t *srq, rpma_uv_op_t *op, rpma_uv_local_t dst, size_t len)
{
	struct rpma_uv__reactor *r = srq->reactor;
	struct ibv_sge sge = { 0 };
	struct rpma_uv__wr *wr;
	int status = 0;

	if (dst.mr == NULL ? dst.offset != 0 || len != 0
			   : rpma__mr_local_sge(dst.mr, dst.offset, len, &sge) != 0)
		status = UV_EINVAL;
	else if (srq->is_closing)
		status = UV_ECANCELED;
	else if (srq->waiting_count >= r->opts.queue_bound)
		status = UV_EAGAIN;
	if (status)
		return rpma_uv__op_fail(r, op, &rpma_uv__srq_recv_kind, status);
	op = rpma_uv__op_begin(r, op, &rpma_uv__srq_recv_kind);
	if (op == NULL)
		return NULL;
	wr = rpma_uv__room(struct rpma_uv__wr, op);
	*wr = (struct rpma_uv__wr){ .srq = srq, .sge = sge, .is_recv = true };
	TAILQ_INSERT_TAIL(&srq->waiting, wr, link);
	srq->waiting_count++;
	mark_dirty(srq);
	return &op->future;
}

/* it has failed, and its connection with it: the status to call it by */
static int failure(rpma_uv_conn_t *c, const struct ibv_wc *wc)
{
	int status = rpma_uv__status_wc(wc->status);

	if (c == NULL)
		return status;
	if (wc->status != IBV_WC_WR_FLUSH_ERR) {
		rpma_uv__conn_end(c, status, rpma_uv__detail_wc(wc));
		return status;
	}
	rpma_uv__conn_broke(c, rpma_uv__detail_wc(wc));
	return c->error != 0 ? c->error : UV_ECANCELED;
}

void rpma_uv__srq_complete(struct rpma_uv__wr *wr, const struct ibv_wc *wc)
{
	rpma_uv_srq_t *srq = wr->srq;
	rpma_uv_conn_t *c = find_conn(srq, wc->qp_num);

	TAILQ_REMOVE(&srq->out, wr, link);
	srq->posted--;
	srq->reactor->posted--;
	if (wc->status == IBV_WC_SUCCESS) {
		wr->conn = c;
		if (c != NULL)
			rpma_uv__connect_heard(c);
		rpma_uv__queue_received(wr, wc);
		recv_finish(wr, 0, 0);
	} else {
		recv_finish(wr, failure(c, wc), rpma_uv__detail_wc(wc));
	}
	if (srq->waiting_count > 0)
		mark_dirty(srq);
}

/* ---- new and close --------------------------------------------------------------------------- */

/* the device has given it up, and with it every queue pair that draws from it */
static void srq_event(struct rpma_uv__watched *watched, enum ibv_event_type type)
{
	rpma_uv_srq_t *srq = rpma_uv__container_of(watched, rpma_uv_srq_t, watched);

	(void)type; /* IBV_EVENT_SRQ_ERR: there is no other */
	rpma_uv__conns_fail(srq->reactor,
		&(struct rpma_uv__conns_of){ .device = srq->cq->device, .srq = srq }, UV_EIO);
}

static int core_new(struct rpma_peer *peer, unsigned size, struct rpma_srq **core_ptr)
{
	struct rpma_srq_cfg *cfg;
	int ret;

	ret = rpma_srq_cfg_new(&cfg);
	if (ret)
		return rpma_uv__status_core(ret);
	(void)rpma_srq_cfg_set_rq_size(cfg, size);
	(void)rpma_srq_cfg_set_rcq_size(cfg, 0);
	ret = rpma_uv__status_core(rpma_srq_new(peer, cfg, core_ptr));
	(void)rpma_srq_cfg_delete(&cfg);
	return ret;
}

int rpma_uv_srq_new(
	rpma_uv_reactor_t *reactor, struct rpma_peer *peer, uint32_t size, rpma_uv_srq_t **srq_ptr)
{
	struct rpma_uv__reactor *r;
	rpma_uv_srq_t *srq;
	int ret;

	if (reactor == NULL || peer == NULL || size == 0 || size > INT_MAX || srq_ptr == NULL)
		return UV_EINVAL;
	r = reactor->impl;
	if (r->closing)
		return UV_ECANCELED;
	srq = calloc(1, sizeof(*srq));
	if (srq == NULL)
		return UV_ENOMEM;
	srq->reactor = r;
	srq->peer = peer;
	srq->size = size;
	TAILQ_INIT(&srq->waiting);
	TAILQ_INIT(&srq->out);
	for (unsigned i = 0; i < BUCKETS; i++)
		LIST_INIT(&srq->bound[i]);
	ret = core_new(peer, size, &srq->core);
	if (ret)
		goto err_free;
	ret = rpma_uv__cq_reserve(r, rpma__peer_context(peer), size, &srq->cq);
	if (ret)
		goto err_core_delete;
	rpma_uv__watched_add(
		srq->cq->device, &srq->watched, rpma__srq_get_ibv_srq(srq->core), srq_event);
	TAILQ_INSERT_TAIL(&r->srqs, srq, link);
	*srq_ptr = srq;
	return 0;

err_core_delete:
	(void)rpma_srq_delete(&srq->core);
err_free:
	free(srq);
	return ret;
}

static void srq_free(struct rpma_uv__closer *closer)
{
	rpma_uv_srq_t *srq = rpma_uv__container_of(closer, rpma_uv_srq_t, closer);
	struct rpma_uv__reactor *r = srq->reactor;

	assert(!srq->is_dirty); /* a flush has come before this phase */
	TAILQ_REMOVE(&r->srqs, srq, link);
	free(srq);
	rpma_uv__reactor_drop(r);
	rpma_uv__reactor_child_gone(r);
}

/* nobody draws from it any more: the device lets go of what was posted */
static void srq_finish(rpma_uv_srq_t *srq)
{
	struct rpma_uv__wr *wr;

	assert(srq->conns == 0);
	rpma_uv__watched_remove(&srq->watched);
	(void)rpma_srq_delete(&srq->core);
	srq->core = NULL;
	srq->reactor->posted -= srq->posted;
	srq->posted = 0;
	while ((wr = TAILQ_FIRST(&srq->out)) != NULL) {
		TAILQ_REMOVE(&srq->out, wr, link);
		recv_finish(wr, UV_ECANCELED, 0);
	}
	rpma_uv__cq_release(srq->cq, srq->size);
	rpma_uv__closer_start(srq->reactor, &srq->closer, srq->close_cb, srq->close_data, srq_free);
}

void rpma_uv__srq_leave(rpma_uv_srq_t *srq)
{
	assert(srq->conns > 0);
	if (--srq->conns == 0 && srq->is_closing)
		srq_finish(srq);
}

void rpma_uv_srq_close(rpma_uv_srq_t *srq, rpma_uv_close_cb cb, void *data)
{
	struct rpma_uv__wr *wr;

	srq->close_cb = cb;
	srq->close_data = data;
	if (srq->is_closing) {
		/* the reactor's own closing came first; the program learns all the same */
		assert(srq->reactor->closing);
		srq->closer.cb = cb;
		srq->closer.data = data;
		return;
	}
	srq->is_closing = true;
	rpma_uv__reactor_hold(srq->reactor);
	while ((wr = TAILQ_FIRST(&srq->waiting)) != NULL) {
		dequeue(srq, wr);
		recv_finish(wr, UV_ECANCELED, 0);
	}
	if (srq->conns == 0)
		srq_finish(srq);
}

void rpma_uv__srqs_close(struct rpma_uv__reactor *r)
{
	rpma_uv_srq_t *srq;

	TAILQ_FOREACH (srq, &r->srqs, link) {
		if (!srq->is_closing)
			rpma_uv_srq_close(srq, NULL, NULL);
	}
}
