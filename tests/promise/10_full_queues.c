/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* 10_full_queues.c - what does not fit waits; only a stated bound is an error */

#include <fcntl.h>
#include <unistd.h>

#include "promise.h"

#define N   200
#define LEN 64

/* where each may have to be sent again, since the peer has no receive for the moment */
#define MESSAGES 24

static struct op ops[N], others[N];

/* each of them has ended well, in the order of the calls */
static void all_end_in_order(struct world *w, struct op op[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		ENDS(w, op[i], 0);
		CHECK(i == 0 || op[i].done.at > op[i - 1].done.at);
	}
}

static void send_queue(struct world *w)
{
	struct pair p = world_pair(w, 1 + below(4), 4);

	memset(w->here.bytes, 1, N * LEN);
	for (unsigned i = 0; i < N; i++)
		op_write(w, p.c, &ops[i], i * LEN, LEN);
	all_end_in_order(w, ops, N);
	for (unsigned i = 0; i < N * LEN; i++)
		CHECK_INT(w->there.bytes[i], 1);
}

static void receive_queue(struct world *w)
{
	struct pair p = world_pair(w, 4, 1 + below(4));

	for (unsigned i = 0; i < MESSAGES; i++) {
		memset(w->there.bytes + i * LEN, (int)i + 1, LEN);
		op_recv(p.c, &others[i], &w->here, i * LEN, LEN);
	}
	for (unsigned i = 0; i < MESSAGES; i++)
		op_send(p.s, &ops[i], &w->there, i * LEN, LEN);
	all_end_in_order(w, ops, MESSAGES);
	all_end_in_order(w, others, MESSAGES);
	for (unsigned i = 0; i < MESSAGES; i++)
		CHECK_INT(w->here.bytes[i * LEN], (uint8_t)(i + 1));
}

static void read_depth(struct world *w)
{
	struct pair p = world_pair(w, N, 4);

	for (unsigned i = 0; i < N; i++)
		op_read(w, p.c, &ops[i], i * LEN, LEN);
	all_end_in_order(w, ops, N);
}

/* the passive side, whose event tells no depth */
static void read_depth_passive(struct world *w)
{
	struct pair p = world_pair(w, N, 4);

	for (unsigned i = 0; i < N; i++)
		watch(CALL(rpma_uv_read(p.s, &ops[i].op, local_of(&w->there, i * LEN),
			      remote_of(&w->here, i * LEN), LEN, 0)),
			&ops[i].done);
	all_end_in_order(w, ops, N);
}

static void shared_receives(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 4, 0), *s = world_conn(w, &w->server, 4, 0);
	rpma_uv_srq_t *srq;

	CHECK_OK(rpma_uv_srq_new(&w->client, w->peer, 2, &srq));
	CHECK_OK(rpma_uv_conn_set_srq(c, srq));
	for (unsigned i = 0; i < MESSAGES; i++)
		watch(CALL(rpma_uv_srq_recv(srq, &others[i].op, local_of(&w->here, i * LEN), LEN)),
			&others[i].done);
	world_join(w, c, s);
	for (unsigned i = 0; i < MESSAGES; i++)
		op_send(s, &ops[i], &w->there, i * LEN, LEN);
	all_end_in_order(w, ops, MESSAGES);
	all_end_in_order(w, others, MESSAGES);
}

static void ring(struct world *w)
{
	const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .ring_entries = 2 };
	static char bytes[N][LEN], back[N][LEN];
	rpma_uv_file_t *file;
	static uv_buf_t bufs[N];

	world_reopen(w, &opts);
	file = world_file(w, "ring", O_CREAT | O_TRUNC | O_RDWR, 0);
	for (unsigned i = 0; i < N; i++) {
		memset(bytes[i], (int)i + 1, LEN);
		bufs[i] = uv_buf_init(bytes[i], LEN);
		watch(CALL(rpma_uv_file_write(file, &ops[i].op, &bufs[i], 1, i * LEN, 0)),
			&ops[i].done);
	}
	for (unsigned i = 0; i < N; i++)
		ENDS(w, ops[i], 0);
	for (unsigned i = 0; i < N; i++) {
		bufs[i] = uv_buf_init(back[i], LEN);
		watch(CALL(rpma_uv_file_read(file, &ops[i].op, &bufs[i], 1, i * LEN)),
			&ops[i].done);
	}
	for (unsigned i = 0; i < N; i++)
		ENDS(w, ops[i], 0);
	CHECK(memcmp(bytes, back, sizeof(bytes)) == 0);
	CHECK_OK(unlink(world_path(w, "ring")));
}

static void pool(struct world *w)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 2, .chunk = 4096 };
	static rpma_uv_buf_t *bufs[N];
	rpma_uv_pool_t *p;

	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &opts, &p), 0);
	for (unsigned i = 0; i < N; i++)
		watch(CALL(rpma_uv_buf_wait(p, &ops[i].op, &bufs[i])), &ops[i].done);
	for (unsigned i = 0; i < N; i++) {
		ENDS(w, ops[i], 0);
		CHECK(i + 2 >= N || ops[i + 2].done.times == 0);
		CALL_VOID(rpma_uv_buf_put(bufs[i]));
		CHECK(i == 0 || ops[i].done.at > ops[i - 1].done.at);
	}
	CHECK(CALL(rpma_uv_buf_get(p)) != NULL);
}

/* a transfer has to share buffers, READs and writes with itself */
static void transfer(struct world *w)
{
	const rpma_uv_pool_opts_t pool_opts = {
		.size = sizeof(pool_opts), .count = 2, .chunk = 4096
	};
	const rpma_uv_transfer_opts_t opts = { .size = sizeof(opts), .depth = 64 };
	struct pair p = world_pair(w, 1, 1);
	rpma_uv_transfer_t *t;
	rpma_uv_pool_t *buffers;
	rpma_uv_file_t *file;

	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &pool_opts, &buffers), 0);
	file = world_file(w, "pulled", O_CREAT | O_TRUNC | O_RDWR, 0);
	CHECK_OK(rpma_uv_transfer_new(buffers, &opts, &t));
	CHECK_INT(AWAIT(w, rpma_uv_pull(t, NULL, p.c, remote_of(&w->there, 0), 300000, file, 0), 0),
		300000);
	CHECK_OK(rpma_uv_transfer_delete(&t));
	CHECK_OK(unlink(world_path(w, "pulled")));
}

static void bound(struct world *w)
{
	const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .queue_bound = 8 };
	struct op more, recvs[12];
	struct pair p;

	world_reopen(w, &opts);
	p = world_pair(w, 4, 16);
	/* the peer has no receive: four are posted, eight wait */
	for (unsigned i = 0; i < 4; i++)
		op_send(p.c, &ops[i], &w->here, 0, LEN);
	world_glance(w);
	for (unsigned i = 4; i < 12; i++)
		op_send(p.c, &ops[i], &w->here, 0, LEN);
	op_send(p.c, &more, &w->here, 0, LEN);
	world_glance(w);
	CHECK_INT(more.done.times, 1);
	CHECK_INT(more.done.status, UV_EAGAIN);
	for (unsigned i = 0; i < 12; i++) {
		CHECK_INT(ops[i].done.times, 0);
		op_recv(p.s, &recvs[i], &w->there, 0, LEN);
		if (i == 7)
			world_glance(w);
	}
	all_end_in_order(w, ops, 12);
	all_end_in_order(w, recvs, 12);
	/* and there is room again */
	op_read(w, p.c, &more, 0, LEN);
	ENDS(w, more, 0);
}

/* queues of 16 entries: two connections of 4 + 4 fit, a third does not; nor a shared queue of 32 */
static void reservation(struct world *w)
{
	const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .cq_entries = 16 };
	struct pair p[3];
	struct op read;
	rpma_uv_srq_t *srq;

	world_reopen(w, &opts);
	CHECK_INT(stats_of(&w->client).cq_count, 0);
	p[0] = world_pair(w, 4, 4);
	CHECK_INT(stats_of(&w->client).cq_count, 1);
	p[1] = world_pair(w, 4, 4);
	CHECK_INT(stats_of(&w->client).cq_count, 1);
	p[2] = world_pair(w, 4, 4);
	CHECK_INT(stats_of(&w->client).cq_count, 2);
	CHECK_OK(rpma_uv_srq_new(&w->client, w->peer, 32, &srq));
	CHECK_INT(stats_of(&w->client).cq_count, 3);

	/* what a connection had reserved is the next one's */
	world_conn_close(w, p[0].c);
	p[0] = world_pair(w, 4, 4);
	CHECK_INT(stats_of(&w->client).cq_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		op_read(w, p[i].c, &read, 0, LEN);
		ENDS(w, read, 0);
	}
}

/*
 * Queues with room for two of three connections, which complete all at once while the loop takes one
 * completion a turn. What is too much for a queue is lost for good, and its connections end.
 */
static void no_overrun(struct world *w)
{
	const rpma_uv_reactor_opts_t opts = {
		.size = sizeof(opts), .cq_entries = 32, .spin_us = -1, .cq_budget = 1
	};
	struct op end[3];
	struct pair p[3];

	world_reopen(w, &opts);
	for (unsigned k = 0; k < 3; k++) {
		p[k] = world_pair(w, 8, 8);
		watch(CALL(rpma_uv_conn_end(p[k].c, &end[k].op)), &end[k].done);
	}
	for (unsigned i = 0; i < MESSAGES; i++) {
		op_recv(p[i % 3].c, &others[i], &w->here, i * LEN, LEN);
		op_read(w, p[i % 3].c, &ops[i], MESSAGES * LEN, LEN);
	}
	world_glance(w);
	for (unsigned i = 0; i < MESSAGES; i++)
		rpma_uv_release(
			CALL(rpma_uv_send(p[i % 3].s, NULL, local_of(&w->there, i * LEN), LEN, 0)));
	for (unsigned i = 0; i < MESSAGES; i++) {
		ENDS(w, ops[i], 0);
		ENDS(w, others[i], 0);
	}
	for (unsigned k = 0; k < 3; k++) {
		CHECK_INT(end[k].done.times, 0);
		CHECK_OK(CALL(rpma_uv_cancel(&end[k].op.future, 0)));
		ENDS(w, end[k], UV_ECANCELED);
	}
}

PROMISE_MAIN("10",
	{ "a full send queue is no error: what does not fit waits in order", send_queue },
	{ "a full receive queue", receive_queue },
	{ "more READs than the negotiated depth", read_depth },
	{ "more READs than the negotiated depth, on the passive side", read_depth_passive },
	{ "a full shared receive queue", shared_receives }, { "a full ring", ring },
	{ "an empty pool: served in the order of the calls", pool },
	{ "a transfer with less of everything than it would like", transfer },
	{ "beyond the stated bound: UV_EAGAIN, and the others go on", bound },
	{ "room on a completion queue is reserved, and a further queue made when there is none",
		reservation },
	{ "a completion queue does not overrun", no_overrun })
