/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* reject.c - connections that do not come to be */

#include <errno.h>

#include "pair.h"

#define REJECT_DATA 148

/* reasons in the REJ message of InfiniBand's communication management (IBTA 12.6.7) */
#define REJ_NO_SUCH_SERVICE 8
#define REJ_CONSUMER        28

/* reject with data; REJECTED is returned, to be acknowledged */
static struct rdma_cm_event *reject_with(struct pair *p, const void *data, uint8_t len)
{
	pair_open_requested(p);
	MUST_EQ(rdma_reject(p->s.id, data, len), 0);
	return cm_take(p->c.channel, RDMA_CM_EVENT_REJECTED);
}

static void reject_reason(void)
{
	struct pair p;
	struct rdma_cm_event *event = reject_with(&p, NULL, 0);

	MUST_EQ(event->status, REJ_CONSUMER);
	MUST(event->id == p.c.id);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	MUST(!readable(p.s.channel->fd, 0));
	pair_close(&p);
}

static void reject_data(const void *data, uint8_t len)
{
	struct pair p;

	cm_expect_data(reject_with(&p, data, len), data, len, REJECT_DATA);
	pair_close(&p);
}

static void reject_data_padded(void)
{
	reject_data("no", 2);
}

static void reject_data_full(void)
{
	uint8_t data[REJECT_DATA];

	fill(data, sizeof(data), 3);
	reject_data(data, sizeof(data));
}

static void reject_data_too_long(void)
{
	uint8_t data[REJECT_DATA + 1] = { 0 };
	struct pair p;

	pair_open_requested(&p);
	MUST_ERRNO(rdma_reject(p.s.id, data, sizeof(data)), EINVAL);
	pair_close(&p);
}

static void reject_after(void)
{
	struct pair p;
	struct rdma_cm_event *event = reject_with(&p, NULL, 0);
	struct rdma_conn_param param = pair_param(&p);

	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_ERRNO(rdma_accept(p.s.id, &param), EINVAL);
	MUST_ERRNO(rdma_connect(p.c.id, &param), EINVAL);
	pair_close(&p);
}

static void reject_flushes(void)
{
	struct pair p;

	pair_open_resolved(&p);
	RECV(&p.c, 4, 0, 8);
	pair_request(&p);
	MUST_EQ(rdma_reject(p.s.id, NULL, 0), 0);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_REJECTED), REJ_CONSUMER);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_ERR);
	wc_expect(p.c.rcq, 4, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

/* the client connects to a port where nobody listens */
static void refused_at(struct pair *p, uint16_t port)
{
	struct rdma_event_channel *channel = channel_new();

	p->c.id = id_resolved(channel, port);
	side_open(&p->c, &p->o, false);
	struct rdma_conn_param param = pair_param(p);
	MUST_EQ(rdma_connect(p->c.id, &param), 0);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_REJECTED), REJ_NO_SUCH_SERVICE);
	side_close(&p->c);
}

static void nobody_listens(void)
{
	struct pair p;

	pair_listen(&p, &(struct pair_options){ 0 });
	uint16_t port = rdma_get_src_port(p.listener);
	MUST_EQ(rdma_destroy_id(p.listener), 0);
	refused_at(&p, port);
}

static void bound_but_deaf(void)
{
	struct rdma_cm_id *bound = id_of_device();
	struct pair p;

	pair_listen(&p, &(struct pair_options){ 0 });
	refused_at(&p, rdma_get_src_port(bound));
	MUST_EQ(rdma_destroy_id(bound), 0);
}

static void destroyed_unanswered(void)
{
	struct pair p;

	pair_open_requested(&p);
	side_close(&p.s);
	p.s.id = NULL;
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_REJECTED), REJ_CONSUMER);
	pair_close(&p);
}

static void listener_destroyed(void)
{
	struct pair p;

	pair_open_resolved(&p);
	struct rdma_conn_param param = pair_param(&p);
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	MUST(readable(p.s.channel->fd, WAIT_MS));
	MUST_EQ(rdma_destroy_id(p.listener), 0);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_REJECTED), REJ_CONSUMER);
	MUST(!readable(p.s.channel->fd, 0));
	side_close(&p.c);
}

static void client_gives_up(void)
{
	struct pair p;

	pair_open_requested(&p);
	side_close(&p.c);
	struct rdma_conn_param param = pair_param(&p);
	rdma_accept(p.s.id, &param);
	while (readable(p.s.channel->fd, QUIET_MS)) {
		struct rdma_cm_event *event;

		MUST_EQ(rdma_get_cm_event(p.s.channel, &event), 0);
		MUST(event->event != RDMA_CM_EVENT_ESTABLISHED);
		MUST_EQ(rdma_ack_cm_event(event), 0);
	}
	side_close(&p.s);
	MUST_EQ(rdma_destroy_id(p.listener), 0);
}

static void backlog(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct pair p;

	pair_listen(&p, &(struct pair_options){ 0 });
	MUST_EQ(rdma_destroy_id(p.listener), 0);
	union address here = address_here(0);
	p.listener = id_new(p.s.channel);
	MUST_EQ(rdma_bind_addr(p.listener, &here.any), 0);
	MUST_EQ(rdma_listen(p.listener, 1), 0);
	struct rdma_conn_param param = pair_param(&p);
	pair_resolve(&p);
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	MUST(readable(p.s.channel->fd, WAIT_MS));
	struct pair second = p;
	second.c.channel = channel;
	pair_resolve(&second);
	MUST_EQ(rdma_connect(second.c.id, &param), 0);
	MUST(!readable(channel->fd, QUIET_MS));
	for (int i = 0; i < 2; i++) {
		struct rdma_cm_event *event = cm_take(p.s.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
		struct rdma_cm_id *id = event->id;

		MUST_EQ(rdma_ack_cm_event(event), 0);
		MUST_EQ(rdma_destroy_id(id), 0);
		MUST_EQ(cm_expect(i == 0 ? p.c.channel : channel, RDMA_CM_EVENT_REJECTED),
			REJ_CONSUMER);
	}
	side_close(&second.c);
	side_close(&p.c);
}

static void reject_unrequested(void)
{
	struct rdma_cm_id *id = id_of_device();

	MUST_ERRNO(rdma_reject(id, NULL, 0), EINVAL);
	MUST_ERRNO(rdma_disconnect(id), EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

const struct check reject_checks[] = { { "REJECTED has the reason 28 when the server rejects",
					       "rdma_reject(3), IBTA 12.6.7", reject_reason },
	{ "the rejection's data arrives with zeroes up to 148 bytes", "rdma_reject(3), IBTA 12.6.7",
		reject_data_padded },
	{ "148 bytes of data go with a rejection", "rdma_reject(3), IBTA 12.6.7",
		reject_data_full },
	{ "149 bytes are too many for a rejection: EINVAL", "rdma_reject(3), IBTA 12.6.7",
		reject_data_too_long },
	{ "after a rejection neither side can go on with its id", "rdma_connect(3)", reject_after },
	{ "a rejection moves the client's QP to ERR and flushes its receives", "rdma_create_qp(3)",
		reject_flushes },
	{ "REJECTED has the reason 8 when nobody listens", "rdma_get_cm_event(3), IBTA 12.6.7",
		nobody_listens },
	{ "REJECTED has the reason 8 when the port is bound and not listening",
		"rdma_listen(3), IBTA 12.6.7", bound_but_deaf },
	{ "destroying an unanswered request rejects it", "rdma_destroy_id(3)",
		destroyed_unanswered },
	{ "destroying the listener rejects the requests nobody has taken", "rdma_destroy_id(3)",
		listener_destroyed },
	{ "a client that destroys its id is not connected by the answer", "rdma_destroy_id(3)",
		client_gives_up, .differs = true },
	{ "a request beyond the backlog waits until there is room", "rdma_listen(3)", backlog },
	{ "there is nothing to reject or disconnect on an id without a connection",
		"rdma_reject(3), rdma_disconnect(3)", reject_unrequested },
	{ 0 } };
