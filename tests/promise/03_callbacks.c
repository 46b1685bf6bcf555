/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * 03_callbacks.c - any call in any callback, and closing what the callback belongs to
 *
 * Any call: all lines of the table of calls.c, in any order, in one callback of each kind.
 */

#include <fcntl.h>
#include <unistd.h>

#include "calls.h"

#define LEN 64

static struct stage stage;
static unsigned visits;

/* all that may be called; wait() is refused, for it must not be called here */
static void everything(bool may_wait)
{
	if (visits++ == 0)
		stage_make_all(&stage, may_wait);
}

static void visit_future(rpma_uv_future_t *f, int status)
{
	(void)status;
	CHECK_INT(rpma_uv_wait(f, UINT64_MAX, NULL), UV_EBUSY);
	everything(true);
}

static void visit_close(void *data)
{
	(void)data;
	everything(true);
}

static void visit_work(rpma_uv_work_t *work)
{
	(void)work;
	everything(true);
}

static rpma_uv_future_t *visit_next(rpma_uv_future_t *done, void *data)
{
	(void)data;
	everything(true);
	return rpma_uv_sleep(done->reactor, NULL, 0);
}

static void visit_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	(void)ep;
	(void)data;
	everything(true);
	rpma_uv_release(rpma_uv_reject(req, NULL, NULL));
}

static int visit_chunk(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	(void)t;
	(void)base;
	(void)len;
	(void)offset;
	(void)data;
	everything(true);
	return 0;
}

static void visit_progress(rpma_uv_transfer_t *t, const rpma_uv_transfer_stat_t *stat, void *data)
{
	(void)t;
	(void)stat;
	(void)data;
	everything(true);
}

static void visited(struct world *w)
{
	UNTIL(w, visits > 0);
	stage_end(&stage);
}

/* ---- any call in any callback ---------------------------------------------------------------- */

static void begin(struct world *w)
{
	visits = 0;
	stage_set(&stage, w);
}

static void in_futures(struct world *w, unsigned kind)
{
	static rpma_uv_op_t op, other;
	static rpma_uv_all_t all;
	static rpma_uv_any_t any;
	static char byte;
	rpma_uv_reactor_t *r = &w->client;
	rpma_uv_future_t *f = NULL, *inputs[1];
	uv_buf_t buf = uv_buf_init(&byte, 1);
	rpma_uv_conn_t *c;

	begin(w);
	switch (kind) {
	case 0:
		f = rpma_uv_sleep(r, &op, 0);
		break;
	case 1:
		f = rpma_uv_read(stage.p.c, &op, local_of(&w->here, 20 * LEN),
			remote_of(&w->there, 0), LEN, 0);
		break;
	case 2:
		f = rpma_uv_recv(stage.p.s, &op, local_of(&w->there, 20 * LEN), LEN);
		rpma_uv_release(
			rpma_uv_send(stage.p.c, NULL, local_of(&w->here, 20 * LEN), LEN, 0));
		break;
	case 3:
		c = world_conn(w, r, 0, 0);
		w->accepting = world_conn(w, &w->server, 0, 0);
		f = rpma_uv_connect(c, &op, world_addr(), w->port, NULL);
		break;
	case 4: /* one that fails */
		f = rpma_uv_connect(world_conn(w, r, 0, 0), &op, NULL, NULL, NULL);
		break;
	case 5:
		f = rpma_uv_conn_end(stage.ending.s, &op);
		rpma_uv_release(rpma_uv_disconnect(stage.ending.s, NULL));
		break;
	case 6:
		f = rpma_uv_file_read(stage.file, &op, &buf, 1, 0);
		break;
	case 7:
		inputs[0] = rpma_uv_sleep(r, &other, 0);
		f = rpma_uv_all(r, &all, inputs, 1);
		break;
	default:
		inputs[0] = rpma_uv_sleep(r, &other, 0);
		f = rpma_uv_any(r, &any, inputs, 1, 0);
		break;
	}
	CHECK(rpma_uv_then(f, visit_future, NULL) == f);
	visited(w);
}

#define IN_FUTURE(name, kind)             \
	static void name(struct world *w) \
	{                                 \
		in_futures(w, kind);      \
	}
IN_FUTURE(in_sleep, 0)
IN_FUTURE(in_read, 1)
IN_FUTURE(in_recv, 2)
IN_FUTURE(in_connect, 3)
IN_FUTURE(in_failure, 4)
IN_FUTURE(in_conn_end, 5)
IN_FUTURE(in_file_read, 6)
IN_FUTURE(in_all, 7)
IN_FUTURE(in_any, 8)

static void in_conn_close(struct world *w)
{
	begin(w);
	rpma_uv_conn_close(world_conn(w, &w->client, 0, 0), visit_close, NULL);
	visited(w);
}

static void in_ready_conn_close(struct world *w)
{
	struct pair p;

	begin(w);
	p = world_pair(w, 0, 0);
	rpma_uv_conn_close(p.c, visit_close, NULL);
	visited(w);
}

static void in_ep_close(struct world *w)
{
	rpma_uv_ep_t *ep;

	begin(w);
	CHECK_OK(rpma_uv_listen(
		&w->server, w->peer, world_addr(), "0", 0, visit_request, NULL, &ep));
	rpma_uv_ep_close(ep, visit_close, NULL);
	visited(w);
}

static void in_request(struct world *w)
{
	rpma_uv_ep_t *ep;
	char port[8];

	begin(w);
	CHECK_OK(rpma_uv_listen(
		&w->server, w->peer, world_addr(), "0", 0, visit_request, NULL, &ep));
	snprintf(port, sizeof(port), "%u", rpma_uv_ep_port(ep));
	rpma_uv_release(
		rpma_uv_connect(world_conn(w, &w->client, 0, 0), NULL, world_addr(), port, NULL));
	visited(w);
}

static void in_srq_close(struct world *w)
{
	rpma_uv_srq_t *srq;

	begin(w);
	CHECK_OK(rpma_uv_srq_new(&w->client, w->peer, 4, &srq));
	rpma_uv_srq_close(srq, visit_close, NULL);
	visited(w);
}

static void in_file_close(struct world *w)
{
	rpma_uv_file_t *file;

	begin(w);
	file = world_file(w, "file", O_RDWR, 0);
	rpma_uv_file_close(file, visit_close, NULL);
	visited(w);
}

static void in_pool_close(struct world *w)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 2, .chunk = 4096 };
	rpma_uv_pool_t *pool;

	begin(w);
	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &opts, &pool), 0);
	rpma_uv_pool_close(pool, visit_close, NULL);
	visited(w);
}

static void in_reactor_close(struct world *w)
{
	static rpma_uv_reactor_t reactor;

	begin(w);
	CHECK_OK(rpma_uv_reactor_init(&w->loop, &reactor, NULL));
	rpma_uv_reactor_close(&reactor, visit_close, NULL);
	visited(w);
}

static void in_work(struct world *w)
{
	static rpma_uv_work_t work;

	begin(w);
	CHECK_OK(rpma_uv_reactor_post(&w->client, &work, visit_work));
	visited(w);
}

static void in_next(struct world *w)
{
	begin(w);
	rpma_uv_release(rpma_uv_chain(rpma_uv_sleep(&w->client, NULL, 0), visit_next, NULL));
	visited(w);
}

/* of a transfer: it goes on meanwhile */
static void in_transfer(struct world *w, bool in_chunk)
{
	const rpma_uv_pool_opts_t pool_opts = {
		.size = sizeof(pool_opts), .count = 2, .chunk = 4096
	};
	rpma_uv_transfer_opts_t opts = { .size = sizeof(opts) };
	static rpma_uv_op_t op;
	rpma_uv_transfer_t *t;
	rpma_uv_pool_t *pool;
	rpma_uv_file_t *file;

	begin(w);
	if (in_chunk)
		opts.on_chunk = visit_chunk;
	else
		opts.on_progress = visit_progress;
	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &pool_opts, &pool), 0);
	file = world_file(w, "file", O_RDWR, 0);
	CHECK_OK(rpma_uv_transfer_new(pool, &opts, &t));
	CHECK(rpma_uv_pull(t, &op, stage.p.c, remote_of(&w->there, 0), 100000, file, 65536) !=
		NULL);
	UNTIL(w, op.future.status != RPMA_UV_PENDING);
	CHECK_OK(op.future.status);
	CHECK(visits > 0);
	CHECK_OK(rpma_uv_transfer_delete(&t));
	visited(w);
}

static void in_chunk(struct world *w)
{
	in_transfer(w, true);
}

static void in_progress(struct world *w)
{
	in_transfer(w, false);
}

static void on_timer(uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, NULL);
	everything(false); /* of libuv: uv_run() cannot run in uv_run() */
}

static void in_foreign(struct world *w)
{
	static uv_timer_t timer;

	begin(w);
	uv_timer_init(&w->loop, &timer);
	uv_timer_start(&timer, on_timer, 0, 0);
	visited(w);
}

/* ---- closing what the callback belongs to ---------------------------------------------------- */

static unsigned closes;

static void on_close(void *data)
{
	(void)data;
	CHECK_INT(promise_inside, 0);
	closes++;
}

static void close_conn(rpma_uv_future_t *f, int status)
{
	CHECK(status <= 0);
	CALL_VOID(rpma_uv_conn_close(f->data, on_close, NULL));
}

static void conn_in_read(struct world *w)
{
	struct pair p = world_pair(w, 0, 0);
	struct op more[8];
	rpma_uv_op_t op;

	closes = 0;
	rpma_uv_then(rpma_uv_read(p.c, &op, local_of(&w->here, 0), remote_of(&w->there, 0), LEN, 0),
		close_conn, p.c);
	for (unsigned i = 0; i < 8; i++)
		op_read(w, p.c, &more[i], 0, LEN);
	UNTIL(w, closes == 1);
	for (unsigned i = 0; i < 8; i++)
		CHECK_INT(more[i].done.times, 1);
}

static void conn_in_recv(struct world *w)
{
	struct pair p = world_pair(w, 0, 0);
	struct op more[2], send;
	rpma_uv_op_t op;

	closes = 0;
	rpma_uv_then(rpma_uv_recv(p.c, &op, local_of(&w->here, 0), LEN), close_conn, p.c);
	op_recv(p.c, &more[0], &w->here, LEN, LEN);
	op_recv(p.c, &more[1], &w->here, LEN, LEN);
	op_send(p.s, &send, &w->there, 0, LEN);
	UNTIL(w, closes == 1);
	CHECK_INT(more[0].done.status, UV_ECANCELED);
	CHECK_INT(more[1].done.status, UV_ECANCELED);
	UNTIL(w, send.done.times == 1);
}

static void conn_in_connect(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0);
	rpma_uv_op_t op;

	closes = 0;
	world_listen(w);
	w->accepting = world_conn(w, &w->server, 0, 0);
	rpma_uv_then(rpma_uv_connect(c, &op, world_addr(), w->port, NULL), close_conn, c);
	UNTIL(w, closes == 1);
	CHECK_OK(op.future.status);
}

static void conn_in_refusal(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0);
	rpma_uv_op_t op;

	closes = 0;
	rpma_uv_then(rpma_uv_connect(c, &op, world_addr(), "1", NULL), close_conn, c);
	UNTIL(w, closes == 1);
	CHECK_INT(op.future.status, UV_ECONNREFUSED);
}

static void conn_in_end(struct world *w)
{
	struct pair p = world_pair(w, 0, 0);
	rpma_uv_op_t ends[2];

	closes = 0;
	rpma_uv_then(rpma_uv_conn_end(p.c, &ends[0]), close_conn, p.c);
	rpma_uv_then(rpma_uv_conn_end(p.s, &ends[1]), close_conn, p.s);
	rpma_uv_release(rpma_uv_disconnect(p.c, NULL));
	UNTIL(w, closes == 2);
}

/* a request's callback closes its listener, and with it the request */
static void close_ep(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	(void)req;
	(void)data;
	CALL_VOID(rpma_uv_ep_close(ep, on_close, NULL));
}

static void ep_in_request(struct world *w)
{
	rpma_uv_ep_t *ep;
	struct op op;
	char port[8];

	closes = 0;
	CHECK_OK(rpma_uv_listen(&w->server, w->peer, world_addr(), "0", 0, close_ep, NULL, &ep));
	snprintf(port, sizeof(port), "%u", rpma_uv_ep_port(ep));
	watch(rpma_uv_connect(world_conn(w, &w->client, 0, 0), &op.op, world_addr(), port, NULL),
		&op.done);
	UNTIL(w, closes == 1);
	ENDS(w, op, UV_ECONNREFUSED);
}

static void close_srq(rpma_uv_future_t *f, int status)
{
	CHECK_OK(status);
	CALL_VOID(rpma_uv_srq_close(f->data, on_close, NULL));
}

static void srq_in_recv(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0), *s = world_conn(w, &w->server, 0, 0);
	struct op more, send;
	rpma_uv_op_t op;
	rpma_uv_srq_t *srq;

	closes = 0;
	CHECK_OK(rpma_uv_srq_new(&w->client, w->peer, 4, &srq));
	CHECK_OK(rpma_uv_conn_set_srq(c, srq));
	rpma_uv_then(rpma_uv_srq_recv(srq, &op, local_of(&w->here, 0), LEN), close_srq, srq);
	watch(rpma_uv_srq_recv(srq, &more.op, local_of(&w->here, LEN), LEN), &more.done);
	world_join(w, c, s);
	op_send(s, &send, &w->there, 0, LEN);
	ENDS(w, send, 0);
	UNTIL(w, op.future.status == 0);
	world_conn_close(w, c);
	UNTIL(w, closes == 1);
	CHECK_INT(more.done.status, UV_ECANCELED);
}

static void close_file(rpma_uv_future_t *f, int status)
{
	CHECK_OK(status);
	CALL_VOID(rpma_uv_file_close(f->data, on_close, NULL));
}

static void close_pool(rpma_uv_future_t *f, int status)
{
	rpma_uv_buf_t **buf = f->data;
	rpma_uv_pool_t *pool = (*buf)->pool;

	CHECK_OK(status);
	CALL_VOID(rpma_uv_buf_put(*buf));
	CALL_VOID(rpma_uv_pool_close(pool, on_close, NULL));
}

static void file_and_pool(struct world *w)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 1, .chunk = 4096 };
	uv_buf_t data = uv_buf_init("data", 4);
	rpma_uv_op_t ops[2];
	rpma_uv_file_t *file;
	rpma_uv_pool_t *pool;
	rpma_uv_buf_t *buf;
	struct op more;

	closes = 0;
	file = world_file(w, "own", O_CREAT | O_RDWR, 0);
	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &opts, &pool), 0);
	rpma_uv_then(rpma_uv_file_write(file, &ops[0], &data, 1, 0, 0), close_file, file);
	watch(rpma_uv_file_sync(file, &more.op), &more.done);
	rpma_uv_then(rpma_uv_buf_wait(pool, &ops[1], &buf), close_pool, &buf);
	UNTIL(w, closes == 2);
	CHECK_INT(more.done.times, 1);
	CHECK_OK(unlink(world_path(w, "own")));
}

/* the reactor, in callbacks of what belongs to it */
static void close_reactor(rpma_uv_future_t *f, int status)
{
	(void)status;
	CALL_VOID(rpma_uv_reactor_close(f->reactor, on_close, NULL));
}

static void reactor_in_read(struct world *w)
{
	struct pair p = world_pair(w, 0, 0);
	struct op more[8];
	rpma_uv_op_t op;

	closes = 0;
	rpma_uv_then(rpma_uv_read(p.c, &op, local_of(&w->here, 0), remote_of(&w->there, 0), LEN, 0),
		close_reactor, NULL);
	for (unsigned i = 0; i < 8; i++)
		op_read(w, p.c, &more[i], 0, LEN);
	w->client_is_closing = true;
	UNTIL(w, closes == 1);
	for (unsigned i = 0; i < 8; i++)
		CHECK_INT(more[i].done.times, 1);
}

static void close_reactor_of_conn(void *data)
{
	struct world *w = data;

	w->client_is_closing = true;
	CALL_VOID(rpma_uv_reactor_close(&w->client, on_close, NULL));
}

static void reactor_in_close(struct world *w)
{
	closes = 0;
	CALL_VOID(rpma_uv_conn_close(world_conn(w, &w->client, 0, 0), close_reactor_of_conn, w));
	UNTIL(w, closes == 1);
}

/* a reactor's close callback may make another one in its place */
static void again(void *data)
{
	struct world *w = data;

	closes++;
	CHECK_OK(CALL(rpma_uv_reactor_init(&w->loop, &w->client, NULL)));
	w->client_is_closing = false;
}

static void reactor_anew(struct world *w)
{
	struct op op;

	closes = 0;
	w->client_is_closing = true;
	CALL_VOID(rpma_uv_reactor_close(&w->client, again, w));
	UNTIL(w, closes == 1);
	watch(CALL(rpma_uv_sleep(&w->client, &op.op, 0)), &op.done);
	ENDS(w, op, 0);
}

/* ---- wait ------------------------------------------------------------------------------------ */

static void wait_works(struct world *w)
{
	struct pair p = world_pair(w, 0, 0);
	int64_t result = 0;

	CHECK_OK(rpma_uv_wait(
		rpma_uv_read(p.c, NULL, local_of(&w->here, 0), remote_of(&w->there, 0), LEN, 0),
		UINT64_MAX, &result));
	CHECK_INT(result, LEN);
}

PROMISE_MAIN("03", { "any call in a timer's callback", in_sleep },
	{ "any call in the callback of a READ", in_read },
	{ "any call in the callback of a receive", in_recv },
	{ "any call in the callback of connect", in_connect },
	{ "any call in the callback of a failure", in_failure },
	{ "any call in the callback of conn_end", in_conn_end },
	{ "any call in the callback of a file's operation", in_file_read },
	{ "any call in the callback of all", in_all },
	{ "any call in the callback of any", in_any },
	{ "any call in the close callback of a connection", in_conn_close },
	{ "any call in the close callback of a connection that was READY", in_ready_conn_close },
	{ "any call in the close callback of a listener", in_ep_close },
	{ "any call in the callback of a request", in_request },
	{ "any call in the close callback of a shared receive queue", in_srq_close },
	{ "any call in the close callback of a file", in_file_close },
	{ "any call in the close callback of a pool", in_pool_close },
	{ "any call in the close callback of another reactor", in_reactor_close },
	{ "any call in posted work", in_work }, { "any call in a chain's next", in_next },
	{ "any call in on_chunk", in_chunk }, { "any call in on_progress", in_progress },
	{ "any call but wait in a callback of libuv", in_foreign },
	{ "a connection closed in the callback of its READ", conn_in_read },
	{ "a connection closed in the callback of its receive", conn_in_recv },
	{ "a connection closed in the callback of its connect", conn_in_connect },
	{ "a connection closed in the callback of its refusal", conn_in_refusal },
	{ "a connection closed in the callback of its conn_end, at both ends", conn_in_end },
	{ "a listener closed in the callback of its request", ep_in_request },
	{ "a shared receive queue closed in the callback of its receive", srq_in_recv },
	{ "a file and a pool closed in callbacks of their operations", file_and_pool },
	{ "a reactor closed in the callback of a READ", reactor_in_read },
	{ "a reactor closed in the close callback of a connection", reactor_in_close },
	{ "a reactor made anew in its close callback", reactor_anew },
	{ "wait() outside of callbacks", wait_works })
