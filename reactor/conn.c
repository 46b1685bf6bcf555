/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * conn.c - a connection's states, its end and its memory; the way to READY is in connect.c
 *
 *   NEW --connect()--> RESOLVING --address--> ROUTING --route--> CONNECTING --established--> READY
 *    |  --accept()--------------------------------------------->     |                        |
 *    |                     |                    |                    |                        |
 *    +------- conn_end(): closed, refused, timed out, peer gone, operation failed, disconnect()-+
 *                                               |
 *                                               v           nothing posted, and the peer has
 *                                           DRAINING -------answered or need not; or too late-->
 *                                           CLOSED
 *
 *   before CONNECTING   no queue pair; receives only wait.
 *   CONNECTING, READY   queue pair; receives are posted; sends only at READY.
 *   DRAINING            has_ended, error is final; nothing waits; what was posted comes back
 *   flushed. CLOSED              no queue pair, no id, nothing posted, no room reserved on a
 *   completion queue.
 *
 * Late, missing and doubled CM events are normal: conn_end() acts once, the first reason wins.
 */

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "reactor.h"
#include "src/flush.h"
#include "src/peer.h"
#include "srq.h"
#include "status.h"

/* ---- states ---------------------------------------------------------------------------------- */

static void conn_check(const rpma_uv_conn_t *c)
{
	assert(c->queue.send_posted <= c->queue.send_size);
	assert(c->queue.recv_posted <= c->queue.recv_size);
	switch (c->state) {
	case RPMA_UV__CONN_NEW:
	case RPMA_UV__CONN_RESOLVING:
	case RPMA_UV__CONN_ROUTING:
		assert(!c->has_qp);
		assert(!c->has_ended);
		break;
	case RPMA_UV__CONN_CONNECTING:
	case RPMA_UV__CONN_READY:
		assert(c->has_qp);
		assert(!c->has_ended);
		break;
	case RPMA_UV__CONN_DRAINING:
		assert(c->has_ended);
		assert(c->connecting == NULL);
		assert(c->queue.waiting == 0);
		break;
	case RPMA_UV__CONN_CLOSED:
		assert(c->has_ended);
		assert(!c->has_qp);
		assert(c->cm_id.id == NULL);
		assert(rpma_uv__queue_posted(&c->queue) == 0);
		assert(c->reserved == 0);
		break;
	}
}

void rpma_uv__conn_set_state(rpma_uv_conn_t *c, enum rpma_uv__conn_state state)
{
	assert(state > c->state);
	c->reactor->stats.conns_ready -= c->state == RPMA_UV__CONN_READY;
	c->state = state;
	c->reactor->stats.conns_ready += c->state == RPMA_UV__CONN_READY;
	conn_check(c);
}

int rpma_uv__conn_may_recv(const rpma_uv_conn_t *c)
{
	if (c->is_closing)
		return UV_ECANCELED;
	return c->state <= RPMA_UV__CONN_READY ? 0 : UV_ENOTCONN;
}

int rpma_uv__conn_may_send(const rpma_uv_conn_t *c)
{
	if (c->is_closing)
		return UV_ECANCELED;
	return c->state == RPMA_UV__CONN_READY ? 0 : UV_ENOTCONN;
}

unsigned rpma_uv__conn_read_depth(const rpma_uv_conn_t *c)
{
	return c->queue.read_depth;
}

size_t rpma_uv__conn_max_msg(const rpma_uv_conn_t *c)
{
	return c->max_msg;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void waiters_finish(struct rpma_uv__conn_waiters *waiters, int status, uint32_t detail)
{
	struct rpma_uv__conn_waiter *waiter;

	while ((waiter = TAILQ_FIRST(waiters)) != NULL) {
		TAILQ_REMOVE(waiters, waiter, link);
		rpma_uv__future_finish(&rpma_uv__op_of_room(waiter)->future, status, 0, detail);
	}
}

/* the queue pair stops working: what is posted comes back as flushed */
static void qp_stop(rpma_uv_conn_t *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	/* tells the peer too; refused where nothing is established */
	if (c->was_ready && rdma_disconnect(c->cm_id.id) == 0)
		return;
	(void)ibv_modify_qp(c->cm_id.id->qp, &attr, IBV_QP_STATE);
}

static void conn_free(struct rpma_uv__closer *closer)
{
	rpma_uv_conn_t *c = rpma_uv__container_of(closer, rpma_uv_conn_t, closer);
	struct rpma_uv__reactor *r = c->reactor;

	assert(c->state == RPMA_UV__CONN_CLOSED);
	assert(!c->queue.is_dirty); /* a flush has come before this phase */
	TAILQ_REMOVE(&r->conns, c, link);
	r->stats.conns--;
	(void)rpma_conn_cfg_delete(&c->cfg);
	rpma_uv__queue_slots_delete(&c->queue);
	free(c->received.ptr);
	free(c);
	rpma_uv__reactor_drop(r);
	rpma_uv__reactor_child_gone(r);
}

static void closer_start(rpma_uv_conn_t *c)
{
	rpma_uv__closer_start(c->reactor, &c->closer, c->close_cb, c->close_data, conn_free);
}

/* the device lets go: queue pair first, then its completions, then whatever never came back */
static void conn_finish(rpma_uv_conn_t *c)
{
	assert(c->state == RPMA_UV__CONN_DRAINING);
	rpma_uv__deadline_clear(c->reactor, &c->deadline);
	if (c->has_qp) {
		rpma_uv__watched_remove(&c->watched);
		rdma_destroy_qp(c->cm_id.id);
		c->has_qp = false;
		rpma_uv__cq_drain(c->cq);
		if (c->srq != NULL) {
			rpma_uv__cq_drain(rpma_uv__srq_cq(c->srq));
			rpma_uv__srq_unbind(c->srq, c);
		}
		rpma_uv__queue_abandon_posted(c);
	}
	(void)rpma__flush_delete(&c->flush); /* nothing reads into it any more */
	rpma_uv__cm_id_destroy(&c->cm_id);
	rpma_uv__cq_release(c->cq, c->reserved);
	c->reserved = 0;
	rpma_uv__conn_set_state(c, RPMA_UV__CONN_CLOSED);
	waiters_finish(&c->disconnects, 0, 0);
	if (c->srq != NULL)
		rpma_uv__srq_leave(c->srq);
	c->srq = NULL;
	if (c->is_closing)
		closer_start(c);
}

/*
 * A queue pair on a shared receive queue flushes no receives: it goes on to complete those that it
 * has taken, and the device says when it has taken its last.
 */
static bool may_take_more(const rpma_uv_conn_t *c)
{
	return c->srq != NULL && c->can_have_taken && !c->has_taken_last;
}

void rpma_uv__conn_drain_step(rpma_uv_conn_t *c)
{
	assert(c->state == RPMA_UV__CONN_DRAINING);
	/* the id is in use on libuv's pool until the route's look-up has returned */
	if (c->route != NULL)
		return;
	if (rpma_uv__queue_posted(&c->queue) == 0 && c->is_gone && !may_take_more(c))
		conn_finish(c);
}

void rpma_uv__conn_qp_event(struct rpma_uv__watched *watched, enum ibv_event_type type)
{
	rpma_uv_conn_t *c = rpma_uv__container_of(watched, rpma_uv_conn_t, watched);

	assert(c->has_qp);
	switch (type) {
	case IBV_EVENT_COMM_EST:
		/* a message came before the word that we are connected, which may be lost */
		if (c->state == RPMA_UV__CONN_CONNECTING)
			(void)rdma_notify(c->cm_id.id, type);
		break;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		c->has_taken_last = true;
		rpma_uv__queue_mark_dirty(c);
		break;
	default: /* it has failed */
		rpma_uv__conn_end(c, UV_EIO, 0);
		break;
	}
}

static void deadline_expired(struct rpma_uv__deadline *d)
{
	rpma_uv_conn_t *c = rpma_uv__container_of(d, rpma_uv_conn_t, deadline);

	if (c->state != RPMA_UV__CONN_DRAINING)
		rpma_uv__conn_end(c, UV_ETIMEDOUT, 0);
	else if (c->route == NULL)
		conn_finish(c);
}

void rpma_uv__conn_end(rpma_uv_conn_t *c, int status, uint32_t detail)
{
	rpma_uv_op_t *connecting = c->connecting;

	if (c->has_ended)
		return;
	conn_check(c);
	c->has_ended = true;
	c->error = status;
	c->error_detail = detail;
	/* an orderly end waits for the peer's answer; a peer that failed us owes none */
	if (!c->was_ready || (status != 0 && status != UV_ECANCELED))
		c->is_gone = true;
	rpma_uv__keepalive_stop(c);
	rpma_uv__connect_abandon(c);
	rpma_uv__queue_cancel_waiting(c, status != 0 ? status : UV_ECANCELED);
	if (c->has_qp)
		qp_stop(c);
	c->connecting = NULL;
	rpma_uv__conn_set_state(c, RPMA_UV__CONN_DRAINING);
	if (connecting != NULL)
		rpma_uv__future_finish(&connecting->future, status, 0, detail);
	waiters_finish(&c->ends, status, detail);
	rpma_uv__deadline_set(c->reactor, &c->deadline, RPMA_UV_DRAIN_TIMEOUT);
	/* not here and now: this may be the middle of a completion queue's polling */
	rpma_uv__queue_mark_dirty(c);
}

/*
 * Without a reason of ours or the peer's it broke by itself. When the device or its port has gone,
 * the event that says so may not have been read yet: ask, to call it by its name.
 */
void rpma_uv__conn_broke(rpma_uv_conn_t *c, uint32_t detail)
{
	struct ibv_device_attr device;
	struct ibv_port_attr attr;
	int status = UV_EIO;

	if (c->has_ended)
		return;
	if (ibv_query_device(c->context, &device) ||
		ibv_query_port(c->context, c->cm_id.id->port_num, &attr))
		status = UV_ENODEV;
	else if (attr.state == IBV_PORT_DOWN)
		status = UV_ENETDOWN;
	rpma_uv__conn_end(c, status, detail);
}

static bool is_of(const rpma_uv_conn_t *c, const struct rpma_uv__conns_of *of)
{
	if (c->cq->device != of->device)
		return false;
	if (of->cq != NULL && c->cq != of->cq &&
		(c->srq == NULL || rpma_uv__srq_cq(c->srq) != of->cq))
		return false;
	if (of->srq != NULL && c->srq != of->srq)
		return false;
	return of->port == 0 || (c->cm_id.id != NULL && c->cm_id.id->port_num == of->port);
}

void rpma_uv__conns_fail(struct rpma_uv__reactor *r, const struct rpma_uv__conns_of *of, int status)
{
	rpma_uv_conn_t *c;

	TAILQ_FOREACH (c, &r->conns, link) {
		if (!is_of(c, of))
			continue;
		c->is_gone = true;
		rpma_uv__conn_end(c, status, 0);
		rpma_uv__queue_mark_dirty(c);
	}
}

/* ---- new and close --------------------------------------------------------------------------- */

/* what is looked at of a cfg: completion is the reactor's business */
int rpma_uv__conn_cfg_copy(const struct rpma_conn_cfg *from, struct rpma_conn_cfg **cfg_ptr)
{
	uint32_t sq_size, rq_size;
	int ret, timeout_ms;

	ret = rpma_conn_cfg_new(cfg_ptr);
	if (ret)
		return rpma_uv__status_core(ret);
	if (from == NULL)
		return 0;
	(void)rpma_conn_cfg_get_timeout(from, &timeout_ms);
	(void)rpma_conn_cfg_get_sq_size(from, &sq_size);
	(void)rpma_conn_cfg_get_rq_size(from, &rq_size);
	(void)rpma_conn_cfg_set_timeout(*cfg_ptr, timeout_ms);
	(void)rpma_conn_cfg_set_sq_size(*cfg_ptr, sq_size);
	(void)rpma_conn_cfg_set_rq_size(*cfg_ptr, rq_size);
	return 0;
}

static int cfg_take(rpma_uv_conn_t *c, const struct rpma_conn_cfg *from)
{
	uint32_t sq_size, rq_size;
	int ret;

	ret = rpma_uv__conn_cfg_copy(from, &c->cfg);
	if (ret)
		return ret;
	(void)rpma_conn_cfg_get_timeout(c->cfg, &c->timeout_ms);
	(void)rpma_conn_cfg_get_sq_size(c->cfg, &sq_size);
	(void)rpma_conn_cfg_get_rq_size(c->cfg, &rq_size);
	if (sq_size == 0 || sq_size > INT_MAX / 2 || rq_size > INT_MAX / 2) {
		(void)rpma_conn_cfg_delete(&c->cfg);
		return UV_EINVAL;
	}
	rpma_uv__queue_init(&c->queue, sq_size, rq_size);
	return 0;
}

int rpma_uv_conn_new(rpma_uv_reactor_t *reactor, struct rpma_peer *peer,
	const struct rpma_conn_cfg *cfg, rpma_uv_conn_t **conn_ptr)
{
	struct rpma_uv__reactor *r;
	rpma_uv_conn_t *c;
	int ret;

	if (reactor == NULL || peer == NULL || conn_ptr == NULL)
		return UV_EINVAL;
	r = reactor->impl;
	if (r->closing)
		return UV_ECANCELED;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return UV_ENOMEM;
	c->reactor = r;
	c->peer = peer;
	c->context = rpma__peer_context(peer);
	c->cm_id.event = rpma_uv__connect_event;
	TAILQ_INIT(&c->ends);
	TAILQ_INIT(&c->disconnects);
	rpma_uv__deadline_init(&c->deadline, deadline_expired);
	rpma_uv__keepalive_init(c);
	ret = cfg_take(c, cfg);
	if (ret)
		goto err_free;
	c->reserved = c->queue.send_size + c->queue.recv_size;
	ret = rpma_uv__cq_reserve(r, c->context, c->reserved, &c->cq);
	if (ret)
		goto err_cfg_delete;
	ret = rpma_uv__queue_slots_new(&c->queue);
	if (ret)
		goto err_cq_release;
	TAILQ_INSERT_TAIL(&r->conns, c, link);
	r->stats.conns++;
	conn_check(c);
	*conn_ptr = c;
	return 0;

err_cq_release:
	rpma_uv__cq_release(c->cq, c->reserved);
err_cfg_delete:
	(void)rpma_conn_cfg_delete(&c->cfg);
err_free:
	free(c);
	return ret;
}

void rpma_uv_conn_close(rpma_uv_conn_t *c, rpma_uv_close_cb cb, void *data)
{
	c->close_cb = cb;
	c->close_data = data;
	if (c->is_closing) {
		/* the reactor's own closing came first; the program learns all the same */
		assert(c->reactor->closing);
		c->closer.cb = cb;
		c->closer.data = data;
		return;
	}
	c->is_closing = true;
	rpma_uv__reactor_hold(c->reactor);
	if (c->state == RPMA_UV__CONN_CLOSED)
		closer_start(c);
	else
		rpma_uv__conn_end(c, UV_ECANCELED, 0);
}

void rpma_uv__conns_close(struct rpma_uv__reactor *r)
{
	rpma_uv_conn_t *c;

	TAILQ_FOREACH (c, &r->conns, link) {
		if (!c->is_closing)
			rpma_uv_conn_close(c, NULL, NULL);
	}
}

/* ---- disconnect, and learning of the end ----------------------------------------------------- */

static const struct rpma_uv__kind disconnect_kind = { .name = "disconnect" };

rpma_uv_future_t *rpma_uv_disconnect(rpma_uv_conn_t *c, rpma_uv_op_t *op)
{
	struct rpma_uv__conn_waiter *waiter;
	int status = rpma_uv__conn_may_send(c);

	if (status)
		return rpma_uv__op_fail(c->reactor, op, &disconnect_kind, status);
	op = rpma_uv__op_begin(c->reactor, op, &disconnect_kind);
	if (op == NULL)
		return NULL;
	waiter = rpma_uv__room(struct rpma_uv__conn_waiter, op);
	waiter->conn = c;
	TAILQ_INSERT_TAIL(&c->disconnects, waiter, link);
	rpma_uv__conn_end(c, 0, 0);
	return &op->future;
}

static int end_cancel(rpma_uv_future_t *f, unsigned how)
{
	struct rpma_uv__conn_waiter *waiter =
		rpma_uv__room(struct rpma_uv__conn_waiter, rpma_uv__op_of(f));

	(void)how;
	TAILQ_REMOVE(&waiter->conn->ends, waiter, link);
	rpma_uv__future_finish(f, UV_ECANCELED, 0, 0);
	return 0;
}

static const struct rpma_uv__kind end_kind = { .name = "connection", .cancel = end_cancel };

rpma_uv_future_t *rpma_uv_conn_end(rpma_uv_conn_t *c, rpma_uv_op_t *op)
{
	struct rpma_uv__conn_waiter *waiter;

	op = rpma_uv__op_begin(c->reactor, op, &end_kind);
	if (op == NULL)
		return NULL;
	waiter = rpma_uv__room(struct rpma_uv__conn_waiter, op);
	waiter->conn = c;
	if (c->has_ended)
		rpma_uv__future_finish(&op->future, c->error, 0, c->error_detail);
	else
		TAILQ_INSERT_TAIL(&c->ends, waiter, link);
	return &op->future;
}

/* ---- what the peer told ---------------------------------------------------------------------- */

int rpma_uv_conn_private_data(const rpma_uv_conn_t *c, struct rpma_conn_private_data *pd)
{
	if (c == NULL || pd == NULL)
		return UV_EINVAL;
	*pd = c->received;
	return 0;
}

const char *rpma_uv_conn_remote_addr(const rpma_uv_conn_t *c)
{
	return c->remote_addr;
}

int rpma_uv_conn_apply_remote_peer_cfg(rpma_uv_conn_t *c, const struct rpma_peer_cfg *pcfg)
{
	if (c == NULL || pcfg == NULL)
		return UV_EINVAL;
	return rpma_uv__status_core(
		rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &c->direct_write_to_pmem));
}
