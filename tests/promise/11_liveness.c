/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * 11_liveness.c - what keeps the loop alive, and that nothing else does
 *
 * At each step the loop is asked; and at the end of each check uv_run() has returned by itself.
 */

#include <fcntl.h>
#include <unistd.h>

#include "promise.h"

#define LEN 64

static void count_refd(uv_handle_t *handle, void *arg)
{
	unsigned *count = arg;

	if (uv_is_active(handle) && uv_has_ref(handle))
		(*count)++;
}

static unsigned refd(struct world *w)
{
	unsigned count = 0;

	uv_walk(&w->loop, count_refd, &count);
	return count;
}

/* no work: uv_run() returns at once, and no handle holds it */
#define NO_WORK(w)                                            \
	do {                                                  \
		CHECK_INT(uv_loop_alive(&(w)->loop), 0);      \
		CHECK_INT(refd(w), 0);                        \
		CHECK_OK(uv_run(&(w)->loop, UV_RUN_DEFAULT)); \
	} while (0)

/* work of one reactor: one handle is ref'd for it */
#define SOME_WORK(w)                                   \
	do {                                           \
		CHECK(uv_loop_alive(&(w)->loop) != 0); \
		CHECK_INT(refd(w), 1);                 \
	} while (0)

static void fresh(struct world *w)
{
	NO_WORK(w);
}

static void returns(struct world *w)
{
	struct pair p = world_pair(w, 0, 0);
	struct op op;

	op_read(w, p.c, &op, 0, LEN);
	SOME_WORK(w);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(op.done.times, 1);
	NO_WORK(w);
}

static void ready_alone(struct world *w)
{
	(void)world_pair(w, 0, 0);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT)); /* what is left of the way there */
	NO_WORK(w);
	CHECK_INT(stats_of(&w->client).conns_ready, 1);
	CHECK_INT(stats_of(&w->client).holds, 0);
}

/* objects that are just there */
static void objects_alone(struct world *w)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 2, .chunk = 4096 };
	rpma_uv_transfer_t *transfer;
	rpma_uv_pool_t *pool;
	rpma_uv_srq_t *srq;

	(void)world_conn(w, &w->client, 0, 0);
	NO_WORK(w);
	CHECK_OK(rpma_uv_srq_new(&w->client, w->peer, 4, &srq));
	NO_WORK(w);
	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &opts, &pool), 0);
	NO_WORK(w);
	(void)world_file(w, "alone", O_CREAT | O_RDWR, 0);
	NO_WORK(w);
	CHECK_OK(rpma_uv_transfer_new(pool, NULL, &transfer));
	NO_WORK(w);
	CHECK_OK(rpma_uv_transfer_delete(&transfer));
	CHECK_OK(unlink(world_path(w, "alone")));
}

static void futures(struct world *w)
{
	rpma_uv_op_t promise, sleep;
	struct done done;

	watch(CALL(rpma_uv_promise(&w->client, &promise)), &done);
	SOME_WORK(w);
	CHECK_OK(CALL(rpma_uv_resolve(&promise.future, 0, 0)));
	SOME_WORK(w); /* its callback is due */
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(done.times, 1);
	NO_WORK(w);

	watch(CALL(rpma_uv_sleep(&w->client, &sleep, 1)), &done);
	SOME_WORK(w);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(done.times, 1);
	NO_WORK(w);

	/* a callback that comes late is work again */
	CALL(rpma_uv_promise(&w->client, &promise));
	CHECK_OK(CALL(rpma_uv_resolve(&promise.future, 0, 0)));
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	NO_WORK(w);
	watch(&promise.future, &done);
	SOME_WORK(w);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(done.times, 1);
	NO_WORK(w);
}

static void receives(struct world *w)
{
	struct pair p = world_pair(w, 0, 0);
	struct op recv, end, send;

	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	NO_WORK(w);
	op_recv(p.c, &recv, &w->here, 0, LEN);
	world_glance(w);
	SOME_WORK(w);
	rpma_uv_unref(&recv.op.future);
	NO_WORK(w);
	CHECK_INT(recv.done.times, 0);
	watch(CALL(rpma_uv_conn_end(p.c, &end.op)), &end.done);
	SOME_WORK(w);
	rpma_uv_unref(&end.op.future);
	NO_WORK(w);

	/* both live on */
	op_send(p.s, &send, &w->there, 0, LEN);
	CHECK(uv_loop_alive(&w->loop) != 0);
	ENDS(w, send, 0);
	while (recv.done.times == 0) /* which is no work: something else is */
		AWAIT(w, rpma_uv_sleep(&w->client, NULL, 1), 0);
	CHECK_OK(recv.done.status);
	world_conn_close(w, p.c);
	CHECK_INT(end.done.times, 1);
	NO_WORK(w);
}

static void unref_before(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0);
	rpma_uv_future_t *f[2];
	struct op recvs[2];
	rpma_uv_all_t all;

	for (unsigned i = 0; i < 2; i++) {
		op_recv(c, &recvs[i], &w->here, 0, LEN);
		f[i] = &recvs[i].op.future;
	}
	CALL(rpma_uv_all(&w->client, &all, f, 2));
	SOME_WORK(w);
	/* a parent passes it on */
	rpma_uv_unref(&all.future);
	NO_WORK(w);
	CALL_VOID(rpma_uv_conn_close(c, NULL, NULL));
	SOME_WORK(w);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(recvs[0].done.times, 1);
	CHECK_INT(recvs[1].done.status, UV_ECANCELED);
	/* what an unref'd parent has due runs with whatever comes next */
	if (all.future.status == RPMA_UV_PENDING)
		AWAIT(w, rpma_uv_sleep(&w->client, NULL, 0), 0);
	CHECK_INT(all.future.status, UV_ECANCELED);
	NO_WORK(w);
}

static void no_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	(void)ep;
	(void)req;
	(void)data;
	CHECK(!"a request");
}

static unsigned closes;

static void on_close(void *data)
{
	(void)data;
	closes++;
}

static void listener(struct world *w)
{
	rpma_uv_ep_t *ep;

	closes = 0;
	CHECK_OK(rpma_uv_listen(&w->server, w->peer, world_addr(), "0", 0, no_request, NULL, &ep));
	SOME_WORK(w);
	(void)uv_run(&w->loop, UV_RUN_NOWAIT);
	SOME_WORK(w);
	rpma_uv_ep_unref(ep);
	NO_WORK(w);
	CALL_VOID(rpma_uv_ep_close(ep, on_close, NULL));
	SOME_WORK(w);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(closes, 1);
	NO_WORK(w);

	/* one that is not unref'd is work until it is gone */
	CHECK_OK(rpma_uv_listen(&w->server, w->peer, world_addr(), "0", 0, no_request, NULL, &ep));
	CALL_VOID(rpma_uv_ep_close(ep, on_close, NULL));
	SOME_WORK(w);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(closes, 2);
	NO_WORK(w);
}

/* each kind of object: its close callback runs before uv_run() returns */
static void closing(struct world *w)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 2, .chunk = 4096 };
	struct pair p = world_pair(w, 0, 0);
	rpma_uv_file_t *file;
	rpma_uv_pool_t *pool;
	rpma_uv_srq_t *srq;

	closes = 0;
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &opts, &pool), 0);
	file = world_file(w, "closing", O_CREAT | O_RDWR, 0);
	CHECK_OK(rpma_uv_srq_new(&w->client, w->peer, 4, &srq));
	NO_WORK(w);
	CALL_VOID(rpma_uv_conn_close(p.c, on_close, NULL));
	CHECK(uv_loop_alive(&w->loop) != 0);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(closes, 1);
	CALL_VOID(rpma_uv_file_close(file, on_close, NULL));
	CHECK(uv_loop_alive(&w->loop) != 0);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(closes, 2);
	CALL_VOID(rpma_uv_pool_close(pool, on_close, NULL));
	CHECK(uv_loop_alive(&w->loop) != 0);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(closes, 3);
	CALL_VOID(rpma_uv_srq_close(srq, on_close, NULL));
	CHECK(uv_loop_alive(&w->loop) != 0);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(closes, 4);
	NO_WORK(w);
	CALL_VOID(rpma_uv_reactor_close(&w->client, on_close, NULL));
	w->client_is_closing = true;
	CHECK(uv_loop_alive(&w->loop) != 0);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(closes, 5);
	CHECK_OK(unlink(world_path(w, "closing")));
}

static void on_work(rpma_uv_work_t *work)
{
	bool *has_run = work->data;

	*has_run = true;
}

static void reactor_ref(struct world *w)
{
	bool has_run = false;
	rpma_uv_work_t work = { .data = &has_run };

	rpma_uv_reactor_ref(&w->client);
	SOME_WORK(w);
	CHECK_OK(CALL(rpma_uv_reactor_post(&w->client, &work, on_work)));
	CHECK(!has_run);
	while (!has_run)
		CHECK(uv_run(&w->loop, UV_RUN_ONCE) != 0);
	SOME_WORK(w);
	rpma_uv_reactor_unref(&w->client);
	NO_WORK(w);
}

/* the whole: all of a program's work done, uv_run() returns, with the objects still open */
static void whole(struct world *w)
{
	struct pair p = world_pair(w, 4, 4);
	static struct op reads[100], writes[100];

	for (unsigned i = 0; i < 100; i++) {
		op_read(w, p.c, &reads[i], i * LEN, LEN);
		op_write(w, p.c, &writes[i], i * LEN, LEN);
	}
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	for (unsigned i = 0; i < 100; i++)
		CHECK_INT(reads[i].done.times + writes[i].done.times, 2);
	NO_WORK(w);
	CHECK_INT(stats_of(&w->client).conns_ready, 1);
}

PROMISE_MAIN("11", { "handles are unref'd: a reactor alone is not work", fresh },
	{ "one is ref'd while a future is not done, and uv_run() returns when it is", returns },
	{ "a READY connection alone is not work", ready_alone },
	{ "neither are other objects that are just there", objects_alone },
	{ "futures of the program's own are work, and late callbacks", futures },
	{ "posted receives and conn_end are work unless unref'd", receives },
	{ "unref'd by a parent", unref_before },
	{ "an open listener is work unless unref'd", listener },
	{ "a close under way is work", closing },
	{ "a reactor that is ref'd is, until unref'd", reactor_ref },
	{ "a program ends by itself when its work is done", whole })
