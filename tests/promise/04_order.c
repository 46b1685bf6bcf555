/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* 04_order.c - in which order the operations of a connection's send side are posted, and end */

#include "promise.h"

#define N     64
#define BLOCK 4096

/* any operation of the send side, of any size; sends come with a receive */
static void any_op(struct world *w, struct pair *p, struct op *op, struct op *recv)
{
	static const char word[RPMA_ATOMIC_WRITE_ALIGNMENT] = "eight b";
	size_t offset = below(64) * BLOCK, len = below(4) == 0 ? 40000 : 1 + below(BLOCK);
	unsigned kind = below(6);

	recv->done.times = 1;
	switch (kind) {
	case 0:
		op_read(w, p->c, op, offset, len);
		break;
	case 1:
		op_write(w, p->c, op, offset, len);
		break;
	case 2:
		op_recv(p->s, recv, &w->there, offset, WORLD_MEM / 2);
		op_send(p->c, op, &w->here, offset, len);
		break;
	case 3:
		watch(CALL(rpma_uv_flush(p->c, &op->op, remote_of(&w->there, offset), len,
			      RPMA_FLUSH_TYPE_VISIBILITY, 0)),
			&op->done);
		break;
	case 4:
		watch(CALL(rpma_uv_atomic_write(
			      p->c, &op->op, remote_of(&w->there, offset), word, 0)),
			&op->done);
		break;
	default:
		op_recv(p->s, recv, &w->there, offset, 16);
		watch(CALL(rpma_uv_write_with_imm(p->c, &op->op, remote_of(&w->there, offset),
			      local_of(&w->here, offset), len, 0, 7)),
			&op->done);
		break;
	}
}

/* the sizes of the queues are such that parts wait, the depth of READs is the device's */
static void posting_order(struct world *w)
{
	struct pair p = world_pair(w, 5 + below(20), N);
	static struct op ops[N], recvs[N];

	for (unsigned i = 0; i < N; i++) {
		any_op(w, &p, &ops[i], &recvs[i]);
		if (below(8) == 0)
			world_glance(w);
	}
	for (unsigned i = 0; i < N; i++) {
		ENDS(w, ops[i], 0);
		CHECK(i == 0 || ops[i].done.at > ops[i - 1].done.at);
	}
	for (unsigned i = 0; i < N; i++)
		UNTIL(w, recvs[i].done.times == 1);
}

/* an error does not change the order either */
static void order_of_failures(struct world *w)
{
	struct pair p = world_pair(w, 8, 8);
	static struct op ops[N];
	struct op end;

	watch(CALL(rpma_uv_conn_end(p.c, &end.op)), &end.done);
	for (unsigned i = 0; i < 8; i++) {
		if (i == 4) { /* to memory that is no longer there */
			struct memory gone;
			rpma_uv_remote_t at;

			memory_new(w, &gone, BLOCK);
			at = remote_of(&gone, 0);
			watch(CALL(rpma_uv_write(
				      p.c, &ops[i].op, at, local_of(&w->here, 0), 64, 0)),
				&ops[i].done);
			memory_delete(&gone);
			continue;
		}
		op_read(w, p.c, &ops[i], i * BLOCK, 64);
	}
	for (unsigned i = 0; i < 8; i++) {
		UNTIL(w, ops[i].done.times == 1);
		CHECK(i == 0 || ops[i].done.at > ops[i - 1].done.at);
		if (i < 4)
			CHECK_OK(ops[i].done.status);
		else if (i == 4)
			CHECK_INT(ops[i].done.status, UV_EACCES);
		else
			CHECK(ops[i].done.status < 0);
	}
	/* or the peer's goodbye, which may overtake the completion */
	UNTIL(w, end.done.times == 1);
	CHECK(end.done.status == UV_EACCES || end.done.status == UV_ECONNRESET);
	for (unsigned i = 5; i < 8; i++)
		CHECK_INT(ops[i].done.status, end.done.status);
}

static void refused_earlier(struct world *w)
{
	struct pair p = world_pair(w, 8, 8);
	struct op ops[8], refused, recvs[8];

	for (unsigned i = 0; i < 8; i++)
		op_send(p.c, &ops[i], &w->here, 0, 64); /* the peer has no receive */
	watch(CALL(rpma_uv_read(p.c, &refused.op, local_of(&w->here, 0),
		      remote_of(&w->there, WORLD_MEM), 64, 0)),
		&refused.done);
	world_glance(w);
	CHECK_INT(refused.done.times, 1);
	CHECK_INT(refused.done.status, UV_EINVAL);
	for (unsigned i = 0; i < 8; i++) {
		CHECK_INT(ops[i].done.times, 0);
		op_recv(p.s, &recvs[i], &w->there, 0, 64);
	}
	for (unsigned i = 0; i < 8; i++) {
		ENDS(w, ops[i], 0);
		ENDS(w, recvs[i], 0);
	}
}

static void cancelled_earlier(struct world *w)
{
	struct pair p = world_pair(w, 2, 8);
	struct op ops[5], recvs[4];

	for (unsigned i = 0; i < 5; i++)
		op_send(p.c, &ops[i], &w->here, 0, 64);
	world_glance(w);
	CHECK_OK(CALL(rpma_uv_cancel(&ops[3].op.future, 0)));
	world_glance(w);
	CHECK_INT(ops[3].done.times, 1);
	CHECK_INT(ops[3].done.status, UV_ECANCELED);
	CHECK_INT(ops[0].done.times + ops[1].done.times + ops[2].done.times, 0);
	for (unsigned i = 0; i < 4; i++)
		op_recv(p.s, &recvs[i], &w->there, 0, 64);
	for (unsigned i = 0; i < 5; i++)
		UNTIL(w, ops[i].done.times == 1);
	for (unsigned i = 0; i < 4; i++)
		ENDS(w, recvs[i], 0);
	CHECK(ops[0].done.at < ops[1].done.at);
	CHECK(ops[1].done.at < ops[2].done.at);
	CHECK(ops[2].done.at < ops[4].done.at);
}

/*
 * More READs at once than any device negotiates, and a message behind them, in a send queue that has
 * room for them all: what went ahead of the READs that wait would end with those that do not.
 */
static void read_holds_back(struct world *w)
{
	struct pair p = world_pair(w, 600, 8);
	static struct op reads[512];
	struct op send, recv;
	uint64_t most = 0;

	op_recv(p.s, &recv, &w->there, 0, 64);
	world_glance(w);
	for (unsigned i = 0; i < 512; i++)
		op_read(w, p.c, &reads[i], 2048 * i, 1024);
	op_send(p.c, &send, &w->here, 0, 64);
	while (send.done.times == 0 || recv.done.times == 0) {
		CHECK(world_turn(w) || (send.done.times == 1 && recv.done.times == 1));
		if (stats_of(&w->client).posted > most)
			most = stats_of(&w->client).posted;
	}
	CHECK(most < 512); /* some have waited */
	for (unsigned i = 0; i < 512; i++) {
		CHECK_INT(reads[i].done.times, 1);
		CHECK(reads[i].done.at < send.done.at);
	}
}

/* a second connection does not wait for the first */
static void across(struct world *w)
{
	struct pair a = world_pair(w, 2, 8), b = world_pair(w, 2, 8);
	struct op stuck[3], read, recvs[3];

	for (unsigned i = 0; i < 3; i++)
		op_send(a.c, &stuck[i], &w->here, 0, 64);
	world_glance(w);
	op_read(w, b.c, &read, 0, 64);
	ENDS(w, read, 0);
	CHECK_INT(stuck[0].done.times, 0);
	for (unsigned i = 0; i < 3; i++)
		op_recv(a.s, &recvs[i], &w->there, 0, 64);
	for (unsigned i = 0; i < 3; i++) {
		ENDS(w, stuck[i], 0);
		ENDS(w, recvs[i], 0);
	}
}

PROMISE_MAIN("04", { "callbacks of posted operations come in posting order", posting_order },
	{ "of operations that fail too", order_of_failures },
	{ "one that was refused may end earlier", refused_earlier },
	{ "one that was cancelled while queued may end earlier", cancelled_earlier },
	{ "a READ that waits for a credit holds back what was called after it", read_holds_back },
	{ "one connection's order holds nobody else up", across })
