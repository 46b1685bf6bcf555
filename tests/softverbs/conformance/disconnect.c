/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* disconnect.c - how connections end, and the states of queue pairs from birth to that end */

#include <errno.h>

#include "pair.h"

static void by_client(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	struct rdma_cm_event *event = cm_take(p.s.channel, RDMA_CM_EVENT_DISCONNECTED);
	MUST_EQ(event->status, 0);
	MUST(event->id == p.s.id);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_EQ(rdma_disconnect(p.s.id), 0);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	pair_close(&p);
}

static void by_server(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	MUST_EQ(rdma_disconnect(p.s.id), 0);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	pair_close(&p);
}

static void by_both(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	MUST_EQ(rdma_disconnect(p.s.id), 0);
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	pair_close(&p);
}

static void twice(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	rdma_disconnect(p.c.id);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST_EQ(rdma_disconnect(p.s.id), 0);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST(!readable(p.s.channel->fd, QUIET_MS));
	pair_close(&p);
}

static void timewait(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	pair_disconnect(&p);
	struct rdma_cm_event *event = cm_take(p.c.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	MUST_EQ(event->status, 0);
	MUST(event->id == p.c.id);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT), 0);
	pair_close(&p);
}

static void by_destroying(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	side_close(&p.c);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST_EQ(rdma_disconnect(p.s.id), 0);
	side_close(&p.s);
}

static void without_answer(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	pair_close(&p);
}

static void flushes_own(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	for (uint64_t i = 0; i < 3; i++)
		RECV(&p.c, i, 0, 8);
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_ERR);
	for (uint64_t i = 0; i < 3; i++)
		wc_expect(p.c.rcq, i, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

static void other_side_stays(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	RECV(&p.s, 9, 0, 8);
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_RTS);
	wc_none(p.s.rcq);
	MUST_EQ(rdma_disconnect(p.s.id), 0);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_ERR);
	wc_expect(p.s.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

static void message_before_end(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	RECV(&p.s, 9, 64, 8);
	fill(p.c.buf, 8, 4);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	wc_expect(p.s.rcq, 9, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf + 64, 8, 4));
	pair_close(&p);
}

static void before_established_is_taken(void)
{
	struct pair p;

	pair_open_requested(&p);
	pair_accept(&p);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	pair_close(&p);
}

const struct check disconnect_checks[] = { { "the client disconnects: DISCONNECTED on both sides",
						   "rdma_disconnect(3)", by_client },
	{ "the server disconnects: DISCONNECTED on both sides", "rdma_disconnect(3)", by_server },
	{ "both disconnect at once: DISCONNECTED on both sides", "rdma_disconnect(3)", by_both },
	{ "a second call changes nothing: the peer hears of it once", "rdma_disconnect(3)", twice },
	{ "TIMEWAIT_EXIT comes to both sides, after DISCONNECTED", "rdma_get_cm_event(3)",
		timewait },
	{ "destroying a connected id disconnects it", "rdma_destroy_id(3)", by_destroying },
	{ "a side that hears DISCONNECTED may go without a word", "rdma_destroy_id(3)",
		without_answer },
	{ "disconnecting flushes the posted receives, in order", "rdma_disconnect(3)",
		flushes_own },
	{ "the other side's QP stays in RTS until it disconnects as well", "rdma_disconnect(3)",
		other_side_stays },
	{ "a completed send is received, though the sender disconnects", "IBTA 9.7.5",
		message_before_end },
	{ "ESTABLISHED precedes DISCONNECTED, however soon the client leaves",
		"rdma_get_cm_event(3)", before_established_is_taken },
	{ 0 } };

/* states */

static void state_created(void)
{
	struct pair p;

	pair_open_resolved(&p);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_INIT);
	pair_request(&p);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_INIT);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_INIT);
	pair_close(&p);
}

static void state_connected(void)
{
	struct pair p;

	pair_open_requested(&p);
	pair_accept(&p);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_RTS);
	pair_established(&p);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_RTS);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_RTS);
	pair_close(&p);
}

static void state_ended(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	pair_disconnect(&p);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_ERR);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_ERR);
	pair_close(&p);
}

static void state_attr_for_init(void)
{
	struct rdma_cm_id *id = id_resolved(channel_new(), htons(7));
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask = 0;

	MUST_EQ(rdma_init_qp_attr(id, &attr, &mask), 0);
	MUST_EQ(mask & (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	MUST_EQ(attr.qp_state, IBV_QPS_INIT);
	MUST_EQ(attr.port_num, id->port_num);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void state_one_qp(void)
{
	struct pair p;

	pair_open_resolved(&p);
	struct ibv_qp_init_attr attr = side_qp_attr(&p.c, &p.o);
	MUST_ERRNO(rdma_create_qp(p.c.id, p.c.pd, &attr), EINVAL);
	rdma_destroy_qp(p.c.id);
	MUST(p.c.id->qp == NULL);
	pair_close(&p);
}

static void state_default_queues(void)
{
	struct rdma_cm_id *id = id_resolved(channel_new(), htons(7));
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	MUST_EQ(rdma_create_qp(id, NULL, &attr), 0);
	MUST(id->pd != NULL);
	MUST(id->qp->pd == id->pd);
	MUST(id->send_cq != NULL);
	MUST(id->recv_cq != NULL);
	MUST(id->send_cq_channel != NULL);
	MUST(id->recv_cq_channel != NULL);
	MUST(id->qp->send_cq == id->send_cq);
	rdma_destroy_qp(id);
	MUST_EQ(rdma_destroy_id(id), 0);
}

const struct check state_checks[] = { { "a QP is in INIT from its creation to the answer",
					      "rdma_create_qp(3)", state_created },
	{ "the server's QP is in RTS after accept, the client's after ESTABLISHED",
		"rdma_create_qp(3)", state_connected },
	{ "both QPs are in ERR after both have disconnected", "rdma_disconnect(3)", state_ended },
	{ "the id knows what moves a QP to INIT", "rdma_init_qp_attr(3), ibv_modify_qp(3)",
		state_attr_for_init },
	{ "an id has one QP at most", "rdma_create_qp(3)", state_one_qp },
	{ "without a domain and queues, the id makes its own", "rdma_create_qp(3)",
		state_default_queues },
	{ 0 } };
