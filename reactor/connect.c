/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * connect.c - a connection's way to READY, active and passive
 *
 *   active    connect() -> address_known() -> [ADDR_RESOLVED] address_resolved() ->
 *             [ROUTE_RESOLVED] route_resolved() -> [ESTABLISHED] established()
 *   passive   accept() -> [ESTABLISHED] or a message that was faster: established()
 *
 * Every step has a deadline of its own, and every failure is a rpma_uv__conn_end().
 */

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "ep.h"
#include "post.h"
#include "reactor.h"
#include "src/native.h"
#include "src/peer.h"
#include "srq.h"
#include "status.h"

/*
 * The wait for an acknowledgement is 4.096 us * 2^code, times 1 + RETRIES: 3.8 s till a peer is
 * dead. One retry more would do no good: the kernel's software device takes 7 to mean for ever.
 */
#define ACK_TIMEOUT_CODE 17
#define RETRIES          6

/*
 * How long a sender to us waits when no receive was posted, as a code of ibv_modify_qp(3): 40.96
 * ms; and how often we try again with a peer that has none. 7 would mean for ever.
 */
#define MIN_RNR_TIMER_CODE 24
#define RNR_RETRIES        6

/* the longest word that an acceptance carries on InfiniBand and RoCE */
#define ACCEPT_WORD_MAX 196

static int connect_cancel(rpma_uv_future_t *f, unsigned how)
{
	rpma_uv__conn_end(rpma_uv__room(struct rpma_uv__conn_waiter, rpma_uv__op_of(f))->conn,
		rpma_uv__cancel_status(how), 0);
	return 0;
}

static const struct rpma_uv__kind connect_kind = { .name = "connect", .cancel = connect_cancel };
static const struct rpma_uv__kind accept_kind = { .name = "accept", .cancel = connect_cancel };

/* the call that has just failed ends the connection */
static void end_by_errno(rpma_uv_conn_t *c)
{
	rpma_uv__conn_end(c, rpma_uv__status_errno(), 0);
}

static void step(rpma_uv_conn_t *c, enum rpma_uv__conn_state state, uint64_t timeout_ms)
{
	rpma_uv__conn_set_state(c, state);
	rpma_uv__deadline_set(c->reactor, &c->deadline, timeout_ms);
}

static void remote_addr_format(rpma_uv_conn_t *c, const struct sockaddr *addr)
{
	bool is_v6 = addr->sa_family == AF_INET6;
	socklen_t len = is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	char host[48], port[8];

	if (getnameinfo(addr, len, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	snprintf(c->remote_addr, sizeof(c->remote_addr), is_v6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* ---- both sides: the queue pair, before anything can arrive on it ---------------------------- */

static int qp_create(rpma_uv_conn_t *c)
{
	struct rdma_cm_id *id = c->cm_id.id;
	uint8_t ack_timeout = ACK_TIMEOUT_CODE;
	int ret;

	ret = rpma__peer_create_qp(c->peer, id, c->cfg, c->cq->ibv,
		(c->srq != NULL ? rpma_uv__srq_cq(c->srq) : c->cq)->ibv);
	if (ret)
		return rpma_uv__status_core(ret);
	c->has_qp = true;
	c->native_qp = rpma__native_qp(id->qp);
	c->qp_num = id->qp->qp_num;
	rpma_uv__watched_add(c->cq->device, &c->watched, id->qp, rpma_uv__conn_qp_event);
	if (c->srq != NULL)
		rpma_uv__srq_bind(c->srq, c);
	/* older kernels have no such option: their longer time-out holds then */
	(void)rdma_set_option(
		id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout, sizeof(ack_timeout));
	/* all that wait and fit, list by list; one that is refused ends, so this does too */
	while (!TAILQ_EMPTY(&c->queue.recv_waiting) && c->queue.recv_posted < c->queue.recv_size)
		rpma_uv__post_recvs(c);
	return 0;
}

/* what the port can do: the longest message, and whether a route may have to be asked for */
static int port_query(rpma_uv_conn_t *c, uint8_t *link_layer_ptr)
{
	struct rdma_cm_id *id = c->cm_id.id;
	struct ibv_port_attr attr;
	int ret;

	/* the peer's protection domain is of no use on another device */
	if (id->verbs != c->context)
		return UV_ENODEV;
	ret = ibv_query_port(id->verbs, id->port_num, &attr);
	if (ret)
		return uv_translate_sys_error(ret);
	c->max_msg = attr.max_msg_sz;
	*link_layer_ptr = attr.link_layer;
	return 0;
}

static void conn_param_fill(const rpma_uv_conn_t *c, struct rdma_conn_param *param)
{
	*param = (struct rdma_conn_param){
		.private_data = c->sending.ptr,
		.private_data_len = c->sending.len,
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.flow_control = 1,
		.retry_count = RETRIES,
		.rnr_retry_count = RNR_RETRIES,
	};
}

/* READY: no event tells the negotiated depth (on the passive side it says 0): the queue pair does */
static void established(rpma_uv_conn_t *c)
{
	struct ibv_qp_attr attr = { 0 }, rnr = { .min_rnr_timer = MIN_RNR_TIMER_CODE };
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp = c->cm_id.id->qp;
	rpma_uv_op_t *op = c->connecting;
	int ret;

	ret = ibv_query_qp(qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_CAP, &init);
	if (ret) {
		rpma_uv__conn_end(c, uv_translate_sys_error(ret), 0);
		return;
	}
	/* code 0, the default, would make a sender wait for 655 ms */
	(void)ibv_modify_qp(qp, &rnr, IBV_QP_MIN_RNR_TIMER);
	c->max_inline = init.cap.max_inline_data;
	c->queue.read_depth = attr.max_rd_atomic > 0 ? attr.max_rd_atomic : 1;
	c->was_ready = true;
	c->can_have_taken = true;
	c->connecting = NULL;
	rpma_uv__deadline_clear(c->reactor, &c->deadline);
	rpma_uv__conn_set_state(c, RPMA_UV__CONN_READY);
	c->queue.sent_ms = uv_now(c->reactor->loop);
	rpma_uv__keepalive_start(c);
	rpma_uv__future_finish(&op->future, 0, 0, 0);
}

/* ---- active ---------------------------------------------------------------------------------- */

static void route_resolved(rpma_uv_conn_t *c)
{
	struct rdma_conn_param param;
	int ret;

	ret = qp_create(c);
	if (ret) {
		rpma_uv__conn_end(c, ret, 0);
		return;
	}
	step(c, RPMA_UV__CONN_CONNECTING, RPMA_UV_CONNECT_TIMEOUT);
	conn_param_fill(c, &param);
	if (rdma_connect(c->cm_id.id, &param))
		end_by_errno(c);
}

/*
 * On InfiniBand rdma_resolve_route() may ask a daemon and wait for it: not on the loop's thread.
 * Its event may come first; the id is ours again only when the call has returned.
 */
struct rpma_uv__route {
	uv_work_t req;
	rpma_uv_conn_t *conn;
	int status;
	bool is_resolved; /* the event has come */
};

static void route_work(uv_work_t *req)
{
	struct rpma_uv__route *route = req->data;

	if (rdma_resolve_route(route->conn->cm_id.id, route->conn->timeout_ms))
		route->status = rpma_uv__status_errno();
}

static void route_worked(uv_work_t *req, int status)
{
	struct rpma_uv__route *route = req->data;
	rpma_uv_conn_t *c = route->conn;
	bool is_resolved = route->is_resolved;

	assert(status == 0); /* nobody cancels it */
	status = route->status;
	c->route = NULL;
	free(route);
	if (status)
		rpma_uv__conn_end(c, status, 0);
	if (c->state == RPMA_UV__CONN_DRAINING)
		rpma_uv__queue_mark_dirty(c);
	else if (is_resolved)
		route_resolved(c);
}

static int route_start(rpma_uv_conn_t *c)
{
	struct rpma_uv__route *route = calloc(1, sizeof(*route));
	int ret;

	if (route == NULL)
		return UV_ENOMEM;
	route->conn = c;
	route->req.data = route;
	ret = uv_queue_work(c->reactor->loop, &route->req, route_work, route_worked);
	if (ret) {
		free(route);
		return ret;
	}
	c->route = route;
	return 0;
}

static void address_resolved(rpma_uv_conn_t *c)
{
	uint8_t link_layer;
	int ret;

	ret = port_query(c, &link_layer);
	if (ret) {
		rpma_uv__conn_end(c, ret, 0);
		return;
	}
	step(c, RPMA_UV__CONN_ROUTING, (uint64_t)c->timeout_ms);
	if (link_layer == IBV_LINK_LAYER_INFINIBAND) {
		ret = route_start(c);
		if (ret)
			rpma_uv__conn_end(c, ret, 0);
	} else if (rdma_resolve_route(c->cm_id.id, c->timeout_ms)) {
		end_by_errno(c);
	}
}

static void address_known(void *arg, int status, const struct sockaddr *addr)
{
	rpma_uv_conn_t *c = arg;

	c->resolve = NULL;
	if (status) {
		rpma_uv__conn_end(c, status, 0);
		return;
	}
	remote_addr_format(c, addr);
	status = rpma_uv__cm_id_create(c->reactor, &c->cm_id);
	if (status)
		rpma_uv__conn_end(c, status, 0);
	else if (rdma_resolve_addr(c->cm_id.id, NULL, (struct sockaddr *)addr, c->timeout_ms))
		end_by_errno(c);
}

void rpma_uv__connect_abandon(rpma_uv_conn_t *c)
{
	rpma_uv__resolve_abandon(&c->resolve);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* what came with the answer; on the passive side it came with the request. 0, or UV_ENOMEM */
static int received_take(rpma_uv_conn_t *c, const struct rpma_uv__cm_event *event)
{
	if (event->private_data_len == 0 || c->received.ptr != NULL)
		return 0;
	c->received.ptr = malloc(event->private_data_len);
	if (c->received.ptr == NULL)
		return UV_ENOMEM;
	memcpy(c->received.ptr, event->private_data, event->private_data_len);
	c->received.len = event->private_data_len;
	return 0;
}

static void answered(rpma_uv_conn_t *c, const struct rpma_uv__cm_event *event)
{
	int ret = received_take(c, event);

	if (ret)
		rpma_uv__conn_end(c, ret, 0);
	else
		established(c);
}

/* a rejection may come with a word of why */
static void rejected(rpma_uv_conn_t *c, const struct rpma_uv__cm_event *event)
{
	(void)received_take(c, event);
	rpma_uv__conn_end(c, UV_ECONNREFUSED, (uint32_t)event->status);
}

/*
 * A message from a peer that was accepted says that it has been told so, maybe before its event. In
 * case that is lost the connection manager learns it this way; it refuses to learn it twice.
 */
void rpma_uv__connect_heard(rpma_uv_conn_t *c)
{
	if (c->state != RPMA_UV__CONN_CONNECTING || c->connecting->future.u_kind != &accept_kind)
		return;
	(void)rdma_notify(c->cm_id.id, IBV_EVENT_COMM_EST);
	established(c);
}

static bool is_departure(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_TIMEWAIT_EXIT ||
	       type == RDMA_CM_EVENT_DEVICE_REMOVAL;
}

/* an event that fails the step in progress, and not one that comes late, early or twice */
static bool is_failure(enum rpma_uv__conn_state state, enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_ERROR:
		return state == RPMA_UV__CONN_RESOLVING;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return state == RPMA_UV__CONN_ROUTING;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return state == RPMA_UV__CONN_CONNECTING;
	default:
		return false;
	}
}

void rpma_uv__connect_event(struct rpma_uv__cm_id *cm_id, const struct rpma_uv__cm_event *event)
{
	rpma_uv_conn_t *c = rpma_uv__container_of(cm_id, rpma_uv_conn_t, cm_id);
	enum rpma_uv__conn_state state = c->state;

	if (is_departure(event->type)) {
		c->is_gone = true;
		rpma_uv__conn_end(
			c, rpma_uv__status_cm(event->type, event->status), (uint32_t)event->status);
		rpma_uv__queue_mark_dirty(c);
	} else if (is_failure(state, event->type)) {
		rpma_uv__conn_end(
			c, rpma_uv__status_cm(event->type, event->status), (uint32_t)event->status);
	} else if (event->type == RDMA_CM_EVENT_ADDR_RESOLVED && state == RPMA_UV__CONN_RESOLVING) {
		address_resolved(c);
	} else if (event->type == RDMA_CM_EVENT_ROUTE_RESOLVED && state == RPMA_UV__CONN_ROUTING) {
		if (c->route != NULL)
			c->route->is_resolved = true;
		else
			route_resolved(c);
	} else if (event->type == RDMA_CM_EVENT_ESTABLISHED && state == RPMA_UV__CONN_CONNECTING) {
		answered(c, event);
	} else if (event->type == RDMA_CM_EVENT_REJECTED && state == RPMA_UV__CONN_CONNECTING) {
		rejected(c, event);
	}
	/* anything else is late, doubled or of no meaning to us */
}

/* ---- public ---------------------------------------------------------------------------------- */

/* copy what is to be sent along: 0, or UV_EINVAL */
static int sending_take(rpma_uv_conn_t *c, const struct rpma_conn_private_data *pd)
{
	if (pd == NULL)
		return 0;
	if (pd->ptr == NULL || pd->len == 0)
		return UV_EINVAL;
	memcpy(c->sending_data, pd->ptr, pd->len);
	c->sending.ptr = c->sending_data;
	c->sending.len = pd->len;
	return 0;
}

static rpma_uv_op_t *connecting_begin(
	rpma_uv_conn_t *c, rpma_uv_op_t *op, const struct rpma_uv__kind *kind)
{
	op = rpma_uv__op_begin(c->reactor, op, kind);
	if (op == NULL)
		return NULL;
	rpma_uv__room(struct rpma_uv__conn_waiter, op)->conn = c;
	c->connecting = op;
	return op;
}

static int may_start(const rpma_uv_conn_t *c)
{
	if (c->is_closing)
		return UV_ECANCELED;
	return c->state == RPMA_UV__CONN_NEW ? 0 : UV_EINVAL;
}

rpma_uv_future_t *rpma_uv_connect(rpma_uv_conn_t *c, rpma_uv_op_t *op, const char *addr,
	const char *port, const struct rpma_conn_private_data *pd)
{
	struct sockaddr_storage numeric;
	int ret = addr == NULL || port == NULL ? UV_EINVAL : may_start(c);

	if (ret == 0)
		ret = sending_take(c, pd);
	if (ret)
		return rpma_uv__op_fail(c->reactor, op, &connect_kind, ret);
	op = connecting_begin(c, op, &connect_kind);
	if (op == NULL)
		return NULL;
	step(c, RPMA_UV__CONN_RESOLVING, (uint64_t)c->timeout_ms);
	if (rpma_uv__resolve_numeric(addr, port, &numeric) == 0) {
		address_known(c, 0, (struct sockaddr *)&numeric);
		return &op->future;
	}
	ret = rpma_uv__resolve_start(c->reactor->loop, addr, port, address_known, c, &c->resolve);
	if (ret)
		rpma_uv__conn_end(c, ret, 0);
	return &op->future;
}

/*
 * A request whose peer has given up meanwhile cannot be accepted any more, and the kernel calls that
 * EINVAL, as it does a word that is too long.
 */
static void accept_refused(rpma_uv_conn_t *c)
{
	int status = rpma_uv__status_errno();

	if (status == UV_EINVAL && c->sending.len <= ACCEPT_WORD_MAX)
		status = UV_ECONNREFUSED;
	rpma_uv__conn_end(c, status, 0);
}

rpma_uv_future_t *rpma_uv_accept(rpma_uv_conn_req_t *req, rpma_uv_op_t *op, rpma_uv_conn_t *c,
	const struct rpma_conn_private_data *pd)
{
	struct rdma_conn_param param;
	uint8_t link_layer;
	int ret = may_start(c);

	if (ret == 0)
		ret = sending_take(c, pd);
	if (ret == 0)
		op = connecting_begin(c, op, &accept_kind);
	if (ret || op == NULL) {
		rpma_uv__conn_req_reject(req);
		return ret ? rpma_uv__op_fail(c->reactor, op, &accept_kind, ret) : NULL;
	}
	rpma_uv__conn_req_consume(req, &c->cm_id, &c->received);
	remote_addr_format(c, rdma_get_peer_addr(c->cm_id.id));
	ret = port_query(c, &link_layer);
	if (ret == 0)
		ret = qp_create(c);
	if (ret) {
		(void)rdma_reject(c->cm_id.id, NULL, 0);
		rpma_uv__conn_end(c, ret, 0);
		return &op->future;
	}
	step(c, RPMA_UV__CONN_CONNECTING, RPMA_UV_CONNECT_TIMEOUT);
	conn_param_fill(c, &param);
	c->can_have_taken = true;
	if (rdma_accept(c->cm_id.id, &param))
		accept_refused(c);
	return &op->future;
}
