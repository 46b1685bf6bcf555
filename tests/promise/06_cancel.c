/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * 06_cancel.c - what a cancel does depends on where the operation is
 *
 * What has to stay posted is a receive that nothing is sent to, or a message that the peer has no
 * receive for: the device tries that one again for some time.
 */

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "promise.h"
#include "../softverbs/softverbs_seed.h"

#define LEN 512

static void write_word(struct world *w, size_t offset, uint8_t word)
{
	memset(w->here.bytes + offset, word, LEN);
}

/* ---- queued ---------------------------------------------------------------------------------- */

static void queued(struct world *w)
{
	struct pair p = world_pair(w, 2, 8);
	struct op sends[4], recvs[3];

	for (unsigned i = 0; i < 4; i++) {
		write_word(w, i * LEN, (uint8_t)(i + 1));
		op_send(p.c, &sends[i], &w->here, i * LEN, LEN);
	}
	world_glance(w);
	CHECK_OK(CALL(rpma_uv_cancel(&sends[2].op.future, 0)));
	CHECK_INT(sends[2].done.times, 0);
	ENDS(w, sends[2], UV_ECANCELED);
	CHECK_INT(sends[0].done.times + sends[1].done.times + sends[3].done.times, 0);

	/* the device has never seen it: the peer gets the others */
	for (unsigned i = 0; i < 3; i++)
		op_recv(p.s, &recvs[i], &w->there, i * LEN, LEN);
	for (unsigned i = 0; i < 3; i++)
		ENDS(w, recvs[i], 0);
	CHECK_INT(w->there.bytes[0], 1);
	CHECK_INT(w->there.bytes[LEN], 2);
	CHECK_INT(w->there.bytes[2 * LEN], 4);
	ENDS(w, sends[3], 0);
}

static void queued_on_new(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0);
	struct op recv;

	op_recv(c, &recv, &w->here, 0, LEN);
	CHECK_OK(CALL(rpma_uv_cancel(&recv.op.future, 0)));
	ENDS(w, recv, UV_ECANCELED);
	CHECK_INT(CALL(rpma_uv_cancel(&recv.op.future, 0)), UV_EALREADY);
}

static void queued_forced(struct world *w)
{
	struct pair p = world_pair(w, 2, 8);
	struct op sends[3], recvs[2];

	for (unsigned i = 0; i < 3; i++)
		op_send(p.c, &sends[i], &w->here, i * LEN, LEN);
	world_glance(w);
	CHECK_OK(CALL(rpma_uv_cancel(&sends[2].op.future, RPMA_UV_FORCE)));
	ENDS(w, sends[2], UV_ECANCELED);
	CHECK_INT(stats_of(&w->client).cancels_forced, 0);
	for (unsigned i = 0; i < 2; i++)
		op_recv(p.s, &recvs[i], &w->there, i * LEN, LEN);
	for (unsigned i = 0; i < 2; i++) {
		ENDS(w, sends[i], 0);
		ENDS(w, recvs[i], 0);
	}
}

/* ---- in the ring ----------------------------------------------------------------------------- */

static void ring_stops(struct world *w)
{
	const char *path = world_path(w, "fifo");
	rpma_uv_file_t *file;
	uint8_t byte;
	uv_buf_t buf = uv_buf_init((char *)&byte, 1);
	struct op op;

	(void)unlink(path);
	CHECK_OK(mkfifo(path, 0600));
	file = world_file(w, "fifo", O_RDWR, 0);
	watch(CALL(rpma_uv_file_read(file, &op.op, &buf, 1, 0)), &op.done);
	world_glance(w);
	CHECK_INT(op.done.times, 0);
	CHECK_OK(CALL(rpma_uv_cancel(&op.op.future, 0)));
	ENDS(w, op, UV_ECANCELED);
	CHECK_OK(unlink(path));
}

static void ring_outcome(struct world *w)
{
	const char *path = world_path(w, "outcome");
	rpma_uv_file_t *file = world_file(w, "outcome", O_CREAT | O_TRUNC | O_RDWR, 0);
	static char bytes[4096], back[4096];
	uv_buf_t buf = uv_buf_init(bytes, sizeof(bytes)), to = uv_buf_init(back, sizeof(back));
	struct op op;

	memset(bytes, 7, sizeof(bytes));
	memset(back, 0, sizeof(back));
	watch(CALL(rpma_uv_file_write(file, &op.op, &buf, 1, 0, 0)), &op.done);
	/* the kernel has it, and has written it in the call */
	(void)uv_run(&w->loop, UV_RUN_NOWAIT);
	(void)CALL(rpma_uv_cancel(&op.op.future, 0));
	UNTIL(w, op.done.times == 1);
	CHECK(op.done.status == 0 || op.done.status == UV_ECANCELED);
	if (op.done.status == 0)
		CHECK_INT(op.done.result, sizeof(bytes));
	watch(CALL(rpma_uv_file_read(file, &op.op, &to, 1, 0)), &op.done);
	CHECK_INT(op.done.times, 0);
	ENDS(w, op, 0);
	CHECK(op.done.result == 0 || memcmp(bytes, back, sizeof(back)) == 0);
	CHECK_OK(unlink(path));
}

/* ---- posted ---------------------------------------------------------------------------------- */

static void posted(struct world *w)
{
	struct pair p = world_pair(w, 8, 8);
	struct op recv, send, late;

	op_recv(p.c, &recv, &w->here, 0, LEN);
	op_send(p.c, &send, &w->here, LEN, LEN);
	world_glance(w);
	CHECK_INT(CALL(rpma_uv_cancel(&recv.op.future, 0)), UV_EBUSY);
	CHECK_INT(CALL(rpma_uv_cancel(&send.op.future, 0)), UV_EBUSY);

	/* nothing has changed for them */
	op_recv(p.s, &late, &w->there, 0, LEN);
	ENDS(w, send, 0);
	ENDS(w, late, 0);
	op_send(p.s, &late, &w->there, 0, LEN);
	ENDS(w, recv, 0);
	CHECK_INT(recv.done.result, LEN);
	ENDS(w, late, 0);
}

static void forced(struct world *w)
{
	struct pair p = world_pair(w, 2, 2);
	struct op recvs[4], sends[4], end, peer_end;

	watch(CALL(rpma_uv_conn_end(p.c, &end.op)), &end.done);
	watch(CALL(rpma_uv_conn_end(p.s, &peer_end.op)), &peer_end.done);
	for (unsigned i = 0; i < 4; i++) { /* two of them are posted, two wait */
		op_recv(p.c, &recvs[i], &w->here, i * LEN, LEN);
		op_send(p.c, &sends[i], &w->here, i * LEN, LEN);
	}
	world_glance(w);
	CHECK_OK(CALL(rpma_uv_cancel(&sends[1].op.future, RPMA_UV_FORCE)));
	for (unsigned i = 0; i < 4; i++)
		CHECK_INT(recvs[i].done.times + sends[i].done.times, 0);
	ENDS(w, sends[1], UV_ECANCELED);
	for (unsigned i = 0; i < 4; i++) {
		ENDS(w, recvs[i], UV_ECONNABORTED);
		if (i != 1)
			ENDS(w, sends[i], UV_ECONNABORTED);
	}
	ENDS(w, end, UV_ECONNABORTED);
	/* the queue pair stands in error: the peer has seen the end */
	ENDS(w, peer_end, UV_ECONNRESET);
	op_read(w, p.c, &end, 0, LEN);
	ENDS(w, end, UV_ENOTCONN);
	CHECK_INT(stats_of(&w->client).cancels_forced, 1);
}

static void forced_recv(struct world *w)
{
	struct pair p = world_pair(w, 2, 2);
	struct op recvs[2];

	for (unsigned i = 0; i < 2; i++)
		op_recv(p.c, &recvs[i], &w->here, i * LEN, LEN);
	world_glance(w);
	CHECK_OK(CALL(rpma_uv_cancel(&recvs[0].op.future, RPMA_UV_FORCE)));
	ENDS(w, recvs[0], UV_ECANCELED);
	ENDS(w, recvs[1], UV_ECONNABORTED);
}

/* the loop's thread waits for the event of a queue that is armed, and looks at no queue */
static void await_event(struct world *w)
{
	struct pollfd fd = { .fd = uv_backend_fd(&w->loop), .events = POLLIN };

	CHECK_INT(poll(&fd, 1, -1), 1);
}

static void success_wins(struct world *w)
{
	const rpma_uv_reactor_opts_t asleep = { .size = sizeof(asleep), .spin_us = -1 };
	struct pair p;
	struct op read, send, recv;

	world_reopen(w, &asleep);
	(void)softverbs_seed_odds("spurious=0"); /* an event means a completion */
	p = world_pair(w, 8, 8);
	op_recv(p.c, &recv, &w->here, LEN, LEN);
	world_glance(w);
	op_send(p.s, &send, &w->there, LEN, LEN);
	ENDS(w, recv, 0);
	ENDS(w, send, 0);
	world_glance(w);

	memset(w->there.bytes, 9, LEN);
	op_read(w, p.c, &read, 0, LEN);
	(void)uv_run(&w->loop, UV_RUN_NOWAIT);
	if (read.done.times == 0) {
		await_event(w);
		CHECK_INT(CALL(rpma_uv_cancel(&read.op.future, RPMA_UV_FORCE)), UV_EALREADY);
	}
	ENDS(w, read, 0);
	CHECK_INT(w->here.bytes[LEN - 1], 9);
	/* and costs no connection */
	CHECK_INT(stats_of(&w->client).cancels_forced, 0);
	op_read(w, p.c, &read, 0, LEN);
	ENDS(w, read, 0);
	(void)softverbs_seed_odds("spurious=20");
}

/* ---- a receive of a shared queue ------------------------------------------------------------- */

static void srq_recv(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0), *s = world_conn(w, &w->server, 0, 0);
	struct op recvs[3], send;
	rpma_uv_srq_t *srq;

	CHECK_OK(rpma_uv_srq_new(&w->client, w->peer, 2, &srq));
	CHECK_OK(CALL(rpma_uv_conn_set_srq(c, srq)));
	for (unsigned i = 0; i < 3; i++)
		watch(CALL(rpma_uv_srq_recv(srq, &recvs[i].op, local_of(&w->here, i * LEN), LEN)),
			&recvs[i].done);
	world_join(w, c, s);
	CHECK_INT(CALL(rpma_uv_cancel(&recvs[0].op.future, 0)), UV_EBUSY);
	CHECK_INT(CALL(rpma_uv_cancel(&recvs[0].op.future, RPMA_UV_FORCE)), UV_EBUSY);
	CHECK_OK(CALL(rpma_uv_cancel(&recvs[2].op.future, 0)));
	ENDS(w, recvs[2], UV_ECANCELED);
	op_send(s, &send, &w->there, 0, LEN);
	ENDS(w, recvs[0], 0);
	ENDS(w, send, 0);
	world_conn_close(w, c);
	CALL_VOID(rpma_uv_srq_close(srq, NULL, NULL));
	ENDS(w, recvs[1], UV_ECANCELED);
}

/* ---- all, any, chain ------------------------------------------------------------------------- */

static unsigned next_calls;

static rpma_uv_future_t *next(rpma_uv_future_t *done, void *data)
{
	rpma_uv_op_t *op = data;

	next_calls++;
	return rpma_uv_sleep(done->reactor, op, UINT64_MAX);
}

static void parents(struct world *w)
{
	struct pair p = world_pair(w, 8, 1);
	rpma_uv_future_t *f[3], *chain;
	struct op recvs[2], parent, send;
	rpma_uv_op_t sleeps[2];
	struct done chained;
	rpma_uv_all_t all;
	rpma_uv_any_t any;

	/* all: one input is posted, one waits, one is a sleep */
	for (unsigned i = 0; i < 2; i++) {
		f[i] = CALL(rpma_uv_recv(p.c, &recvs[i].op, local_of(&w->here, i * LEN), LEN));
		watch(f[i], &recvs[i].done);
	}
	f[2] = CALL(rpma_uv_sleep(&w->client, &sleeps[0], UINT64_MAX));
	world_glance(w);
	watch(CALL(rpma_uv_all(&w->client, &all, f, 3)), &parent.done);
	CHECK_INT(CALL(rpma_uv_cancel(&all.future, 0)), UV_EBUSY);
	ENDS(w, recvs[1], UV_ECANCELED);
	UNTIL(w, sleeps[0].future.status != RPMA_UV_PENDING);
	CHECK_INT(sleeps[0].future.status, UV_ECANCELED);
	CHECK_INT(parent.done.times, 0);
	op_send(p.s, &send, &w->there, 0, LEN);
	ENDS(w, parent, UV_ECANCELED);
	CHECK_INT(all.failed, 2);
	ENDS(w, recvs[0], 0);
	ENDS(w, send, 0);

	/* any */
	for (unsigned i = 0; i < 2; i++)
		f[i] = CALL(rpma_uv_sleep(&w->client, &sleeps[i], UINT64_MAX));
	watch(CALL(rpma_uv_any(&w->client, &any, f, 2, 0)), &parent.done);
	CHECK_OK(CALL(rpma_uv_cancel(&any.future, 0)));
	ENDS(w, parent, UV_ECANCELED);
	CHECK_INT(sleeps[0].future.status, UV_ECANCELED);
	CHECK_INT(sleeps[1].future.status, UV_ECANCELED);

	/* chain: its present step, the second here */
	next_calls = 0;
	f[0] = CALL(rpma_uv_sleep(&w->client, NULL, 0));
	chain = CALL(rpma_uv_chain(f[0], next, &sleeps[0]));
	watch(chain, &chained);
	UNTIL(w, next_calls == 1);
	CHECK_OK(CALL(rpma_uv_cancel(chain, 0)));
	UNTIL(w, chained.times == 1);
	CHECK_INT(chained.status, UV_ECANCELED);
	CHECK_INT(sleeps[0].future.status, UV_ECANCELED);
}

/* ---- transfer, connect ----------------------------------------------------------------------- */

static void on_progress(rpma_uv_transfer_t *t, const rpma_uv_transfer_stat_t *stat, void *data)
{
	struct op *op = data;

	(void)t;
	if (stat->written > 0 && op->done.times == 0)
		(void)rpma_uv_cancel(&op->op.future, 0);
}

static void transfer(struct world *w)
{
	const rpma_uv_pool_opts_t pool_opts = {
		.size = sizeof(pool_opts), .count = 4, .chunk = 4096
	};
	rpma_uv_transfer_opts_t opts = { .size = sizeof(opts), .on_progress = on_progress };
	struct pair p = world_pair(w, 0, 0);
	rpma_uv_transfer_stat_t stat;
	rpma_uv_transfer_t *t;
	rpma_uv_pool_t *pool;
	rpma_uv_file_t *file;
	struct op op, read;

	watch(CALL(rpma_uv_pool_new(&w->client, &op.op, w->peer, &pool_opts, &pool)), &op.done);
	ENDS(w, op, 0);
	file = world_file(w, "transfer", O_CREAT | O_TRUNC | O_RDWR, 0);
	opts.data = &op;
	CHECK_OK(rpma_uv_transfer_new(pool, &opts, &t));
	watch(CALL(rpma_uv_pull(t, &op.op, p.c, remote_of(&w->there, 0), WORLD_MEM, file, 0)),
		&op.done);
	ENDS(w, op, UV_ECANCELED);
	rpma_uv_transfer_stat(t, &stat);
	CHECK(stat.written > 0);
	CHECK(stat.read < WORLD_MEM); /* it has stopped */
	CHECK_INT(stat.reads_in_flight, 0); /* and drained */
	CHECK_INT(stat.writes_in_flight, 0);
	CHECK_OK(CALL(rpma_uv_transfer_delete(&t)));
	/* at no expense of the connection */
	op_read(w, p.c, &read, 0, LEN);
	ENDS(w, read, 0);
	CHECK_OK(unlink(world_path(w, "transfer")));
}

static void connecting(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0);
	struct op connect, end;

	world_listen(w); /* the request is kept, and not answered */
	watch(CALL(rpma_uv_connect(c, &connect.op, world_addr(), w->port, NULL)), &connect.done);
	watch(CALL(rpma_uv_conn_end(c, &end.op)), &end.done);
	UNTIL(w, w->kept_count == 1);
	CHECK_INT(connect.done.times, 0);
	CHECK_OK(CALL(rpma_uv_cancel(&connect.op.future, 0)));
	CHECK_INT(connect.done.times, 0);
	world_glance(w); /* nothing is waited for */
	CHECK_INT(connect.done.times, 1);
	CHECK_INT(connect.done.status, UV_ECANCELED);
	ENDS(w, end, UV_ECANCELED);
	w->kept_count = 0;
}

/* ---- time-outs ------------------------------------------------------------------------------- */

static void timeout_queued(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0);
	struct op recv;

	op_recv(c, &recv, &w->here, 0, LEN);
	CHECK_OK(CALL(rpma_uv_timeout(&recv.op.future, 1, 0)));
	ENDS(w, recv, UV_ETIMEDOUT);
	CHECK_INT(stats_of(&w->client).timeouts, 1);
	CHECK_INT(stats_of(&w->client).timeouts_refused, 0);
}

static void timeout_soft(struct world *w)
{
	struct pair p = world_pair(w, 8, 8);
	struct op recv, send;

	op_recv(p.c, &recv, &w->here, 0, LEN);
	world_glance(w);
	CHECK_OK(CALL(rpma_uv_timeout(&recv.op.future, 1, 0)));
	UNTIL(w, stats_of(&w->client).timeouts == 1);
	CHECK_INT(stats_of(&w->client).timeouts_refused, 1);
	CHECK_INT(recv.done.times, 0);
	op_send(p.s, &send, &w->there, 0, LEN);
	ENDS(w, recv, 0);
	ENDS(w, send, 0);
}

static void timeout_forced(struct world *w)
{
	struct pair p = world_pair(w, 8, 8);
	struct op recvs[2];

	for (unsigned i = 0; i < 2; i++)
		op_recv(p.c, &recvs[i], &w->here, i * LEN, LEN);
	world_glance(w);
	CHECK_OK(CALL(rpma_uv_timeout(&recvs[0].op.future, 1, RPMA_UV_FORCE)));
	ENDS(w, recvs[0], UV_ETIMEDOUT);
	ENDS(w, recvs[1], UV_ECONNABORTED);
}

static void stop_waiting(struct world *w)
{
	struct pair p = world_pair(w, 8, 8);
	rpma_uv_future_t *f[2];
	struct op recv, parent, send;
	rpma_uv_op_t sleep;
	rpma_uv_any_t any;

	op_recv(p.c, &recv, &w->here, 0, LEN);
	world_glance(w);
	f[0] = &recv.op.future;
	f[1] = CALL(rpma_uv_sleep(&w->client, &sleep, 1));
	watch(CALL(rpma_uv_any(&w->client, &any, f, 2, RPMA_UV_ANY_CANCEL)), &parent.done);
	ENDS(w, parent, 0);
	CHECK_INT(any.winner, 1);
	/* the receive is posted still, and its memory the device's, until a message comes */
	CHECK_INT(recv.done.times, 0);
	op_send(p.s, &send, &w->there, 0, LEN);
	ENDS(w, recv, 0);
	ENDS(w, send, 0);
}

PROMISE_MAIN("06", { "queued: removed, UV_ECANCELED, and the device never sees it", queued },
	{ "queued: on a NEW connection too", queued_on_new },
	{ "queued: force has nothing to force", queued_forced },
	{ "in the ring: asked to stop, it stops", ring_stops },
	{ "in the ring: the true outcome wins", ring_outcome },
	{ "posted: UV_EBUSY, and nothing changes", posted },
	{ "forced: this one UV_ECANCELED, its neighbours UV_ECONNABORTED, queue pair in error",
		forced },
	{ "forced: a receive likewise", forced_recv },
	{ "forced: a success that is on the queue already wins", success_wins },
	{ "a receive of a shared queue: UV_EBUSY, forced or not", srq_recv },
	{ "all, any, chain: passed on to the inputs that run, and to the present step", parents },
	{ "transfer: stops, drains, UV_ECANCELED", transfer },
	{ "connect: abandoned at once", connecting },
	{ "time-out: a cancel with another label", timeout_queued },
	{ "time-out: a soft one that finds the work posted changes nothing, and is counted",
		timeout_soft },
	{ "time-out: a forced one ends it, and the connection", timeout_forced },
	{ "any(op, sleep) stops the waiting and not the operation", stop_waiting })
