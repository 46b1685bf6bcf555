/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* fault_cm.c - events of the connection manager that are late, lost, doubled or out of place */

#include <errno.h>
#include <stdlib.h>

#include "case.h"

#define LATE_MS 200

static void disconnected_late(void)
{
	int64_t start;
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("cm:late@1=DISCONNECTED,200ms");
	start = case_now_ms();
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST(case_now_ms() - start >= LATE_MS);
	pair_close(&p);
}

static void disconnected_lost(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("cm:drop=DISCONNECTED");
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST(!readable(p.s.channel->fd, QUIET_MS));
	MUST_EQ(rdma_disconnect(p.s.id), 0);
	/* what comes is not the answer but the end of the time that follows it */
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT), 0);
	pair_close(&p);
}

static void timewait_lost(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("cm:drop=TIMEWAIT_EXIT");
	pair_disconnect(&p);
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	pair_close(&p);
}

static void disconnected_doubled(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("cm:double=DISCONNECTED");
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	pair_close(&p);
}

/* both are named the same, and both have the peer's private data */
static void established_doubled(void)
{
	struct rdma_conn_param param;
	struct rdma_cm_event *first;
	struct rdma_cm_event *second;
	struct pair p;

	pair_listen(&p, &(struct pair_options){ .depth = 4 });
	faults("cm:double=ESTABLISHED");
	pair_resolve(&p);
	pair_request(&p);
	param = pair_param(&p);
	param.private_data = "hello";
	param.private_data_len = 6;
	MUST_EQ(rdma_accept(p.s.id, &param), 0);
	first = cm_take(p.c.channel, RDMA_CM_EVENT_ESTABLISHED);
	second = cm_take(p.c.channel, RDMA_CM_EVENT_ESTABLISHED);
	MUST(memcmp(first->param.conn.private_data, "hello", 6) == 0);
	MUST_EQ(rdma_ack_cm_event(first), 0);
	MUST(memcmp(second->param.conn.private_data, "hello", 6) == 0);
	MUST_EQ(rdma_ack_cm_event(second), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	pair_close(&p);
}

static void unreachable_after_established(void)
{
	struct pair p;

	pair_listen(&p, &(struct pair_options){ .depth = 4 });
	faults("cm:after=ESTABLISHED:UNREACHABLE");
	pair_resolve(&p);
	pair_request(&p);
	pair_accept(&p);
	pair_established(&p);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	/* and yet it works */
	fill(p.c.buf, 64, 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf, 64, 1));
	pair_close(&p);
}

/* the request is lost on its way: nobody says no, the active side runs out of patience */
static void request_lost(void)
{
	struct rdma_conn_param param;
	struct pair p;

	MUST_EQ(setenv("SOFTVERBS_CM_TIMEOUT_MS", "100", 1), 0);
	pair_listen(&p, &(struct pair_options){ .depth = 4 });
	faults("cm:drop=CONNECT_REQUEST");
	pair_resolve(&p);
	param = pair_param(&p);
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	MUST(!readable(p.s.channel->fd, 0));
	pair_close(&p);
}

static void established_lost(void)
{
	struct pair p;

	pair_listen(&p, &(struct pair_options){ .depth = 4 });
	faults("cm:drop=ESTABLISHED");
	pair_resolve(&p);
	pair_request(&p);
	pair_accept(&p);
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	pair_close(&p);
}

static void resolver_never_answers(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);
	union address there = address_here(htons(1));

	faults("resolve:never@1");
	MUST_EQ(rdma_resolve_addr(id, NULL, &there.any, 10), 0);
	MUST(!readable(channel->fd, QUIET_MS));
	MUST_EQ(rdma_destroy_id(id), 0);
	/* the next one is answered */
	MUST_EQ(rdma_destroy_id(id_resolved(channel, htons(1))), 0);
	rdma_destroy_event_channel(channel);
}

/* a request that nobody has fetched, and its sudden end, go with the listener */
static void unseen_request_goes(void)
{
	struct rdma_conn_param param;
	struct pair p;

	pair_listen(&p, &(struct pair_options){ .depth = 4 });
	pair_resolve(&p);
	param = pair_param(&p);
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	MUST(readable(p.s.channel->fd, WAIT_MS));
	side_close(&p.c);
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	MUST_EQ(rdma_destroy_id(p.listener), 0);
	MUST(!readable(p.s.channel->fd, 0));
	rdma_destroy_event_channel(p.c.channel);
	rdma_destroy_event_channel(p.s.channel);
}

const struct test_case cases[] = {
	{ "disconnected_late", disconnected_late },
	{ "disconnected_lost", disconnected_lost },
	{ "timewait_lost", timewait_lost },
	{ "disconnected_doubled", disconnected_doubled },
	{ "established_doubled", established_doubled },
	{ "unreachable_after_established", unreachable_after_established },
	{ "request_lost", request_lost },
	{ "established_lost", established_lost },
	{ "resolver_never_answers", resolver_never_answers },
	{ "unseen_request_goes", unseen_request_goes },
	{ NULL, NULL },
};
