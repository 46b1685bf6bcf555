/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* flush.c - what becomes of outstanding work when a queue pair goes to ERR */

#include <errno.h>

#include "pair.h"

static void sends(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	for (uint64_t i = 0; i < 6; i++)
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
	qp_modify_state(p.c.id->qp, IBV_QPS_ERR);
	for (uint64_t i = 0; i < 6; i++) {
		struct ibv_wc wc = wc_expect(p.c.scq, i, IBV_WC_WR_FLUSH_ERR);
		MUST_EQ(wc.qp_num, p.c.id->qp->qp_num);
	}
	wc_none(p.c.scq);
	pair_close(&p);
}

static void receives(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	for (uint64_t i = 0; i < 6; i++)
		RECV(&p.c, i, 0, 8);
	qp_modify_state(p.c.id->qp, IBV_QPS_ERR);
	for (uint64_t i = 0; i < 6; i++) {
		struct ibv_wc wc = wc_expect(p.c.rcq, i, IBV_WC_WR_FLUSH_ERR);
		MUST_EQ(wc.qp_num, p.c.id->qp->qp_num);
	}
	wc_none(p.c.rcq);
	pair_close(&p);
}

static void unsignalled(void)
{
	struct pair p;

	PAIR(&p, .rnr_retry = -1);
	for (uint64_t i = 0; i < 6; i++)
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8, .silent = i != 5);
	wc_expect(p.c.scq, 0, IBV_WC_RNR_RETRY_EXC_ERR);
	for (uint64_t i = 1; i < 6; i++)
		wc_expect(p.c.scq, i, IBV_WC_WR_FLUSH_ERR);
	wc_none(p.c.scq);
	pair_close(&p);
}

static void post_send_in_error(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	qp_modify_state(p.c.id->qp, IBV_QPS_ERR);
	for (uint64_t i = 0; i < 3; i++)
		POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = i, .len = 8, AT(&p.s, 0));
	for (uint64_t i = 0; i < 3; i++)
		wc_expect(p.c.scq, i, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

static void post_recv_in_error(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	qp_modify_state(p.c.id->qp, IBV_QPS_ERR);
	RECV(&p.c, 1, 0, 8);
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	struct ibv_wc wc;
	if (ibv_poll_cq(p.c.rcq, 1, &wc) == 1) {
		MUST_EQ(wc.wr_id, 1);
		MUST_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	}
	pair_close(&p);
}

static void event_of_flush(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	cq_arm(p.c.scq, 0);
	qp_modify_state(p.c.id->qp, IBV_QPS_ERR);
	cq_event(p.c.completions, p.c.scq);
	wc_expect(p.c.scq, 1, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

static void done_stays_done(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 7, 0, 8);
	RECV(&p.s, 8, 0, 8);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 64));
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 2, .silent = true, .len = 8);
	wc_expect(p.s.rcq, 7, IBV_WC_SUCCESS);
	struct ibv_wc wc = wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST_EQ(wc.opcode, IBV_WC_RDMA_WRITE);
	qp_modify_state(p.s.id->qp, IBV_QPS_ERR);
	wc_expect(p.s.rcq, 8, IBV_WC_WR_FLUSH_ERR);
	wc_none(p.s.rcq);
	pair_close(&p);
}

static void unpolled_success(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 7, 0, 8);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 64));
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 2, .len = 8);
	cq_arm(p.c.scq, 0);
	wc_expect(p.s.rcq, 7, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 3, .len = 8);
	RECV(&p.s, 8, 0, 8);
	wc_expect(p.s.rcq, 8, IBV_WC_SUCCESS);
	MUST(readable(p.c.completions->fd, WAIT_MS));
	pair_disconnect(&p);
	struct ibv_wc wc = wc_take(p.c.scq);
	MUST_EQ(wc.wr_id, 3);
	struct ibv_cq *cq;
	void *context;
	MUST_EQ(ibv_get_cq_event(p.c.completions, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	pair_close(&p);
}

static void every_request_once(void)
{
	enum { N = 60 };
	unsigned int seen[N] = { 0 };
	bool failed = false;
	struct pair p;

	PAIR(&p, .cqe = 256, .cap = { .max_send_wr = 64 }, .depth = 2);
	for (uint64_t i = 0; i < N; i++)
		POST(&p.c, .opcode = i % 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, .id = i,
			.len = 10000, AT(&p.s, 0));
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	for (uint64_t i = 0; i < N; i++) {
		struct ibv_wc wc = wc_take(p.c.scq);

		MUST_EQ(wc.wr_id, i);
		MUST(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR);
		MUST(!failed || wc.status == IBV_WC_WR_FLUSH_ERR);
		failed = wc.status != IBV_WC_SUCCESS;
		seen[i]++;
	}
	wc_none(p.c.scq);
	for (uint64_t i = 0; i < N; i++)
		MUST_EQ(seen[i], 1);
	pair_close(&p);
}

static void both_queues(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	for (uint64_t i = 0; i < 4; i++) {
		RECV(&p.c, i, 0, 8);
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
	}
	pair_disconnect(&p);
	for (uint64_t i = 0; i < 4; i++) {
		wc_expect(p.c.scq, i, IBV_WC_WR_FLUSH_ERR);
		wc_expect(p.c.rcq, i, IBV_WC_WR_FLUSH_ERR);
	}
	pair_close(&p);
}

static void memory_is_free(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	for (uint64_t i = 0; i < 4; i++)
		RECV(&p.c, i, 0, 4096);
	qp_modify_state(p.c.id->qp, IBV_QPS_ERR);
	for (uint64_t i = 0; i < 4; i++)
		wc_expect(p.c.rcq, i, IBV_WC_WR_FLUSH_ERR);
	MUST(zeroed(p.c.buf, 4096));
	POST(&p.s, .opcode = IBV_WR_RDMA_WRITE, .id = 5, .len = 64, AT(&p.c, 0));
	MUST(!readable(p.c.completions->fd, QUIET_MS));
	MUST(zeroed(p.c.buf, 4096));
	pair_close(&p);
}

const struct check flush_checks[] = { { "outstanding sends are flushed in order, each once",
					      "ibv_modify_qp(3), IBTA 10.3.1", sends },
	{ "posted receives are flushed in order, each once", "ibv_modify_qp(3), IBTA 10.3.1",
		receives },
	{ "behind an error, unsignalled requests complete as well", "ibv_poll_cq(3), IBTA 10.8.5",
		unsignalled },
	{ "a send posted in ERR is flushed", "ibv_post_send(3), IBTA 10.3.1", post_send_in_error },
	{ "a receive posted in ERR is taken, and flushed or left alone",
		"ibv_post_recv(3), IBTA 10.3.1", post_recv_in_error, .differs = true },
	{ "a flush is a completion: an armed CQ announces it", "ibv_req_notify_cq(3)",
		event_of_flush },
	{ "what has completed is not flushed", "IBTA 10.3.1", done_stays_done },
	{ "a completion nobody has polled stays through the disconnection", "rdma_disconnect(3)",
		unpolled_success },
	{ "of 60 requests, each completes once: first successes, then flushes",
		"rdma_disconnect(3)", every_request_once },
	{ "disconnecting flushes both queues", "rdma_disconnect(3)", both_queues },
	{ "a flushed receive's memory is the program's again", "ibv_post_recv(3)", memory_is_free },
	{ 0 } };
