/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * cm_connect.c - the life of a connection
 *
 *   active                                        passive
 *     ROUTE_RESOLVED                                LISTENING
 *       | connect()              REQ ---------->      | a new id
 *     REQ_SENT                                      REQ_RECEIVED
 *       | <---------- REP                             | accept(): the QP is ready
 *     REP_RECEIVED                                  REP_SENT
 *       | the event is fetched   RTU ---------->      |
 *     ESTABLISHED                                   ESTABLISHED
 *
 *   either side, then
 *     ESTABLISHED --disconnect(), DREQ ->  DREQ_SENT --<- DREP, or DREQ--> TIMEWAIT --> CLOSED
 *     ESTABLISHED --<- DREQ--> DREQ_RECEIVED --disconnect(), DREP ->       TIMEWAIT --> CLOSED
 *
 * DISCONNECTED is told once: when the peer asks, or when it answers. The answer is the program's call
 * of rdma_disconnect, as with the kernel. When a process dies, its kernel speaks for it; here the end
 * of the link does: it counts as a REJ before, and as a DREQ or DREP after the connection stood.
 *
 * As in librdmacm, the active side's queue pair is connected when its event is fetched, not before.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "progress.h"

#define CM_TIMEOUT_MS    77000 /* 16 tries of 4.8 s */
#define TIMEWAIT_MS      1000
#define REFUSED_AGAIN_NS (2 * SV_MS)
#define REJ_TIMEOUT      4 /* IB_CM_REJ_TIMEOUT: the active side gave up */

/* shorter times for tests: SOFTVERBS_CM_TIMEOUT_MS, SOFTVERBS_TIMEWAIT_MS */
static uint64_t after_ms(const char *variable, unsigned long ms)
{
	const char *text = getenv(variable);

	if (text != NULL)
		ms = strtoul(text, NULL, 10);
	return sv_clock->now_ns() + ms * SV_MS;
}

void sv_cm_wait_for_peer(struct sv_id *id)
{
	sv_timer_set(&id->timer, after_ms("SOFTVERBS_CM_TIMEOUT_MS", CM_TIMEOUT_MS));
}

void sv_cm_timewait(struct sv_id *id)
{
	id->state = SV_ID_TIMEWAIT;
	sv_timer_set(&id->timer, after_ms("SOFTVERBS_TIMEWAIT_MS", TIMEWAIT_MS));
}

static void leave_link(struct sv_id *id)
{
	struct sv_link *link = id->link;

	id->link = NULL;
	if (link != NULL)
		sv_link_leave(link, id, NULL);
}

void sv_cm_close(struct sv_id *id)
{
	sv_timer_stop(&id->timer);
	id->state = SV_ID_CLOSED;
	leave_link(id);
}

static void tell_rejected(struct sv_id *id, int status, const struct sv_cm_message *message)
{
	static const struct sv_cm_message nothing;
	struct sv_event *event = sv_event_new(id, RDMA_CM_EVENT_REJECTED, status);

	if (event != NULL)
		sv_event_private(event, message != NULL ? message : &nothing, SV_REJ_PRIVATE);
	sv_event_post(event);
	sv_cm_close(id);
}

/*
 * Nobody listens there. A fabric takes its time for that answer, and programs that close a listener
 * and open the next one count on it (perftest does), so a few more tries are made.
 */
static void connect_refused(struct sv_id *id)
{
	uint64_t now = sv_clock->now_ns();

	if (now >= id->give_up_ns) {
		tell_rejected(id, SV_REJ_NO_LISTENER, NULL);
		return;
	}
	id->refused = true;
	sv_timer_set(&id->timer, now + REFUSED_AGAIN_NS);
}

static void connect_again(struct sv_id *id)
{
	struct sv_link *old = id->link;
	struct sv_qp *qp = old->qp;
	struct sv_link *link;
	int error;

	link = sv_wire->connect(&id->base.route.addr.dst_storage, &error);
	if (link == NULL) {
		tell_rejected(id, SV_REJ_NO_LISTENER, NULL);
		return;
	}
	link->message = old->message;
	id->refused = false;
	id->link = link;
	link->id = id;
	if (qp != NULL) {
		old->qp = NULL;
		qp->link = NULL;
		sv_qp_attach(qp, link);
	}
	sv_link_leave(old, id, NULL);
	sv_cm_wait_for_peer(id);
}

void sv_cm_timer(struct sv_timer *timer)
{
	struct sv_id *id = container_of(timer, struct sv_id, timer);

	switch (id->state) {
	case SV_ID_ADDR_QUERY:
		id->state = SV_ID_BOUND;
		sv_event_tell(id, RDMA_CM_EVENT_ADDR_ERROR, id->resolve_status);
		break;
	case SV_ID_REQ_SENT:
		if (id->refused) {
			connect_again(id);
			break;
		}
		/* fallthrough */
	case SV_ID_REP_SENT:
		sv_event_tell(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		sv_cm_close(id);
		break;
	case SV_ID_DREQ_SENT:
		sv_event_tell(id, RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT);
		sv_cm_timewait(id);
		break;
	case SV_ID_TIMEWAIT:
		sv_event_tell(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
		id->state = SV_ID_CLOSED;
		break;
	default:
		break;
	}
}

void sv_cm_up(struct sv_link *link)
{
	struct sv_id *id = link->id;

	/* the REQ was put together by connect(), and waits in the link's own message */
	if (id->state == SV_ID_REQ_SENT && !sv_link_send_cm(link, SV_FRAME_REQ, &link->message))
		tell_rejected(id, SV_REJ_CONSUMER, NULL);
}

void sv_cm_down(struct sv_link *link, int status)
{
	struct sv_id *id = link->id;

	switch (id->state) {
	case SV_ID_REQ_SENT:
		if (status == ECONNREFUSED) {
			connect_refused(id);
		} else if (status == 0 || status == ECONNRESET) {
			tell_rejected(id, SV_REJ_CONSUMER, NULL);
		} else {
			sv_event_tell(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
			sv_cm_close(id);
		}
		break;
	case SV_ID_REQ_RECEIVED:
		tell_rejected(id, REJ_TIMEOUT, NULL);
		break;
	case SV_ID_REP_SENT:
		tell_rejected(id, SV_REJ_CONSUMER, NULL);
		break;
	case SV_ID_ESTABLISHED:
		id->state = SV_ID_DREQ_RECEIVED;
		sv_event_tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
		break;
	case SV_ID_DREQ_SENT:
		sv_event_tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
		sv_cm_timewait(id);
		break;
	default: /* REP_RECEIVED: told as soon as the connection is seen to stand */
		break;
	}
}

static void fill_conn(struct rdma_conn_param *conn, const struct sv_cm_message *message)
{
	/* the peer's reads are what we respond to, and the other way round */
	conn->responder_resources = message->initiator_depth;
	conn->initiator_depth = message->responder_resources;
	conn->flow_control = message->flow_control;
	conn->retry_count = message->retry_count;
	conn->rnr_retry_count = message->rnr_retry_count;
	conn->srq = message->srq;
	conn->qp_num = message->qp_num;
}

static void remember(struct sv_id *id, const struct sv_cm_message *message)
{
	id->peer_qp_num = message->qp_num;
	id->responder_resources = message->initiator_depth;
	id->initiator_depth = message->responder_resources;
	id->rnr_retry_count = message->rnr_retry_count;
}

static struct sv_id *incoming_id(struct sv_id *listener, struct sv_link *link)
{
	const struct sv_cm_message *message = &link->message;
	struct rdma_event_channel *channel = listener->sync ? NULL : listener->base.channel;
	struct sv_id *id = sv_id_new(channel, listener->base.context, listener->base.ps);
	struct rdma_addr *addr;

	if (id == NULL)
		return NULL;
	addr = &id->base.route.addr;
	sv_addr_unpack(message, &addr->dst_addr, &addr->src_addr);
	sv_addr_gid(&addr->src_addr, &addr->addr.ibaddr.sgid);
	sv_addr_gid(&addr->dst_addr, &addr->addr.ibaddr.dgid);
	addr->addr.ibaddr.pkey = htobe16(0xffff);
	id->path.sgid = addr->addr.ibaddr.sgid;
	id->path.dgid = addr->addr.ibaddr.dgid;
	id->path.mtu = IBV_MTU_4096;
	id->base.route.path_rec = &id->path;
	id->base.route.num_paths = 1;
	id->verbs = &sv_context_cm()->verbs.context;
	id->base.verbs = id->verbs;
	id->base.port_num = 1;
	id->ack_timeout = listener->ack_timeout;
	id->state = SV_ID_REQ_RECEIVED;
	remember(id, message);
	id->retry_count = message->retry_count;
	id->link = link;
	link->id = id;
	link->listener = NULL;
	link->deferred = false;
	return id;
}

static void request_arrived(struct sv_link *link)
{
	struct sv_listener *listener = link->listener;
	struct sv_event *event;
	struct sv_id *id;

	if (listener->waiting >= listener->backlog) {
		link->deferred = true; /* to the peer: no answer yet */
		listener->deferring = true;
		return;
	}
	id = incoming_id(listener->id, link);
	event = id != NULL ? sv_event_new(listener->id, RDMA_CM_EVENT_CONNECT_REQUEST, 0) : NULL;
	if (event == NULL) {
		if (id != NULL)
			sv_id_free(id);
		else
			sv_link_close(link);
		return;
	}
	event->base.id = &id->base;
	event->base.listen_id = &listener->id->base;
	fill_conn(&event->base.param.conn, &link->message);
	sv_event_private(event, &link->message, SV_REQ_PRIVATE);
	listener->waiting++;
	sv_event_post(event);
}

void sv_cm_more_requests(struct sv_listener *listener)
{
	bool more = false;

	/* half a backlog at a time: with ten thousand links the search is what costs */
	if (!listener->deferring || listener->waiting > listener->backlog / 2)
		return;
	list_each(struct sv_link, link, &sv_device.links, node)
	{
		if (link->listener != listener || !link->deferred)
			continue;
		if (listener->waiting < listener->backlog)
			request_arrived(link);
		else
			more = true;
	}
	listener->deferring = more;
}

static void reply_arrived(struct sv_id *id, const struct sv_cm_message *message)
{
	struct sv_event *event = sv_event_new(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);

	sv_timer_stop(&id->timer);
	remember(id, message);
	id->state = SV_ID_REP_RECEIVED;
	if (event == NULL)
		return;
	fill_conn(&event->base.param.conn, message);
	sv_event_private(event, message, SV_REP_PRIVATE);
	sv_event_post(event);
}

static void disconnect_arrived(struct sv_id *id, bool is_answer)
{
	bool asked = id->state == SV_ID_DREQ_SENT;

	if (!asked && (is_answer || id->state != SV_ID_ESTABLISHED))
		return;
	sv_timer_stop(&id->timer);
	sv_event_tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	if (asked)
		sv_cm_timewait(id);
	else
		id->state = SV_ID_DREQ_RECEIVED;
}

static void established(struct sv_id *id)
{
	sv_timer_stop(&id->timer);
	id->state = SV_ID_ESTABLISHED;
}

/* the passive side: the RTU has come */
void sv_cm_stands(struct sv_id *id)
{
	established(id);
	sv_event_tell(id, RDMA_CM_EVENT_ESTABLISHED, 0);
}

/* the active side; the peer may be gone by now, or have asked to end it */
void sv_cm_established(struct sv_id *id)
{
	established(id);
	if (!sv_link_send_cm(id->link, SV_FRAME_RTU, NULL) && id->link != NULL)
		sv_cm_down(id->link, 0);
}

void sv_cm_frame(struct sv_link *link)
{
	const struct sv_cm_message *message = &link->message;
	struct sv_id *id = link->id;

	if (link->closing)
		return;
	if (message->magic != SV_CM_MAGIC || message->version != SV_CM_VERSION ||
		(id == NULL && (link->rx.head.type != SV_FRAME_REQ || link->listener == NULL ||
				       link->listener->id == NULL))) {
		if (id == NULL && link->qp == NULL)
			sv_link_close(link);
		return;
	}
	switch (link->rx.head.type) {
	case SV_FRAME_REQ:
		if (id == NULL)
			request_arrived(link);
		break;
	case SV_FRAME_REP:
		if (id->state == SV_ID_REQ_SENT)
			reply_arrived(id, message);
		break;
	case SV_FRAME_RTU:
		if (id->state == SV_ID_REP_SENT) {
			sv_cm_stands(id);
		}
		break;
	case SV_FRAME_REJ:
		if (id->state == SV_ID_REQ_SENT || id->state == SV_ID_REP_SENT)
			tell_rejected(id, message->status, message);
		break;
	case SV_FRAME_DREQ:
	case SV_FRAME_DREP:
		disconnect_arrived(id, link->rx.head.type == SV_FRAME_DREP);
		break;
	default:
		break;
	}
}

void sv_cm_hang_up(struct sv_id *id)
{
	struct sv_cm_message reject = { .status = SV_REJ_CONSUMER };

	switch (id->state) {
	case SV_ID_REP_RECEIVED:
	case SV_ID_REQ_RECEIVED:
	case SV_ID_REP_SENT:
		sv_link_send_cm(id->link, SV_FRAME_REJ, &reject);
		break;
	case SV_ID_ESTABLISHED:
		sv_link_send_cm(id->link, SV_FRAME_DREQ, NULL);
		break;
	case SV_ID_DREQ_RECEIVED:
		sv_link_send_cm(id->link, SV_FRAME_DREP, NULL);
		break;
	case SV_ID_LISTENING:
		list_each(struct sv_link, link, &sv_device.links,
			node) if (link->listener == &id->listener) sv_link_close(link);
		break;
	default:
		break;
	}
	sv_cm_close(id);
}

/* the event of a REP: now the queue pair is connected, and the peer is told */
static void finish_connect(struct sv_event *event)
{
	struct sv_id *id = event->owner;
	int ret;

	if (id->base.qp == NULL || id->state != SV_ID_REP_RECEIVED)
		return; /* the program connects its own, and calls rdma_establish */
	ret = sv_cm_qp_connect(id);
	if (ret == 0) {
		event->base.event = RDMA_CM_EVENT_ESTABLISHED;
		sv_cm_established(id);
		return;
	}
	event->base.event = RDMA_CM_EVENT_CONNECT_ERROR;
	event->base.status = -ret;
	id->connect_failed = true;
	sv_cm_hang_up(id);
}

bool sv_cm_fetched(struct sv_event *event)
{
	struct sv_id *id = event->owner;

	switch (event->base.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		id->base.verbs = id->verbs;
		id->base.port_num = 1;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		id->base.route.path_rec = &id->path;
		id->base.route.num_paths = 1;
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		id->listener.waiting--;
		sv_cm_more_requests(&id->listener);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		finish_connect(event);
		break;
	case RDMA_CM_EVENT_REJECTED:
		if (id->base.qp != NULL && !id->connect_failed)
			sv_qp_fail(sv_qp(id->base.qp), IBV_WC_WR_FLUSH_ERR);
		return !id->connect_failed;
	case RDMA_CM_EVENT_DISCONNECTED:
		return !id->connect_failed;
	default:
		break;
	}
	return true;
}
