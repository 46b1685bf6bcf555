/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* calls.c - every public function of librpma_uv.h, as a call that can be made anywhere */

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"

#define LEN 512

/* above what a pool registers on the loop's thread */
#define BIG_CHUNK  4096
#define BIG_CHUNKS 1280

/* ---- the stage ------------------------------------------------------------------------------- */

/* storage for the next operation: embedded or from the slab */
static rpma_uv_op_t *room(struct stage *s)
{
	CHECK(s->begun < STAGE_OPS);
	return below(2) ? &s->ops[s->begun].op : NULL;
}

static void begin(struct stage *s, rpma_uv_future_t *f)
{
	watch(f, &s->ops[s->begun].done);
	s->futures[s->begun++] = f;
}

static void on_close(void *data)
{
	struct stage *s = data;

	CHECK_INT(promise_inside, 0);
	s->closes++;
}

static void on_work(rpma_uv_work_t *work)
{
	on_close(work->data);
}

unsigned stage_ended(const struct stage *s, unsigned first)
{
	unsigned ended = 0;

	for (unsigned i = first; i < s->begun; i++)
		ended += s->ops[i].done.times;
	return ended;
}

static void on_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	struct stage *s = data;

	CHECK_INT(promise_inside, 0);
	(void)ep;
	if (s->accept_req == NULL)
		s->accept_req = req;
	else if (s->reject_req == NULL)
		s->reject_req = req;
	else if (s->look_req == NULL)
		s->look_req = req;
	else
		(void)rpma_uv_reject(req, NULL, NULL);
}

static void on_served(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	struct stage *s = data;

	(void)ep;
	rpma_uv_release(rpma_uv_accept(req, NULL, world_conn(s->w, &s->w->server, 0, 0), NULL));
}

static void listen_on(struct stage *s, rpma_uv_ep_t **ep)
{
	CHECK_OK(
		rpma_uv_listen(&s->w->server, s->w->peer, world_addr(), "0", 0, on_request, s, ep));
}

/* three requests that are not answered */
static void requests_set(struct stage *s)
{
	char port[8];

	listen_on(s, &s->ep);
	snprintf(port, sizeof(port), "%u", rpma_uv_ep_port(s->ep));
	for (unsigned i = 0; i < 3; i++)
		begin(s, rpma_uv_connect(world_conn(s->w, &s->w->client, 0, 0), NULL, world_addr(),
				 port, NULL));
	UNTIL(s->w, s->look_req != NULL);
}

static void storage_set(struct stage *s)
{
	const rpma_uv_pool_opts_t small = { .size = sizeof(small), .count = 2, .chunk = 4096 };
	const rpma_uv_pool_opts_t big = {
		.size = sizeof(big), .count = BIG_CHUNKS, .chunk = BIG_CHUNK
	};
	struct world *w = s->w;

	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &small, &s->pool), 0);
	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &big, &s->close_pool), 0);
	s->buf = rpma_uv_buf_get(s->pool);
	CHECK(s->buf != NULL);
	s->file = world_file(w, "file", O_CREAT | O_TRUNC | O_RDWR, 0);
	s->close_file = world_file(w, "file", O_RDWR, 0);
	(void)unlink(world_path(w, "fifo"));
	CHECK_OK(mkfifo(world_path(w, "fifo"), 0600));
	s->fifo = world_file(w, "fifo", O_RDWR, 0);
	CHECK_OK(rpma_uv_transfer_new(s->close_pool, NULL, &s->delete_transfer));
	CHECK_OK(rpma_uv_transfer_new(s->pool, NULL, &s->transfer));
}

static void futures_set(struct stage *s)
{
	rpma_uv_reactor_t *r = &s->w->client;

	begin(s, rpma_uv_promise(r, &s->promise));
	begin(s, rpma_uv_sleep(r, &s->cancelled, UINT64_MAX));
	begin(s, rpma_uv_sleep(r, &s->timed, UINT64_MAX));
	begin(s, rpma_uv_sleep(r, &s->unrefd, UINT64_MAX));
	CHECK(rpma_uv_sleep(r, &s->thened, UINT64_MAX) != NULL);
}

void stage_set(struct stage *s, struct world *w)
{
	rpma_uv_reactor_t *r = &w->client;
	struct op send;

	memset(s, 0, sizeof(*s));
	s->w = w;
	s->p = world_pair(w, 0, 0);
	s->ending = world_pair(w, 0, 0);
	s->closing = world_pair(w, 0, 0);
	s->connecting = world_conn(w, r, 0, 0);
	s->accepting = world_conn(w, &w->server, 0, 0);
	s->sharing = world_conn(w, r, 0, 0);
	CHECK_OK(rpma_uv_srq_new(r, w->peer, 4, &s->srq));
	CHECK_OK(rpma_uv_srq_new(r, w->peer, 4, &s->close_srq));
	listen_on(s, &s->unref_ep);
	listen_on(s, &s->close_ep);
	CHECK_OK(rpma_uv_listen(
		&w->server, w->peer, world_addr(), "0", 0, on_served, s, &s->serving_ep));
	snprintf(s->serving_port, sizeof(s->serving_port), "%u", rpma_uv_ep_port(s->serving_ep));
	requests_set(s);
	storage_set(s);
	futures_set(s);
	CHECK_OK(rpma_uv_reactor_init(&w->loop, &s->closing_reactor, NULL));
	/* one message that has come */
	op_recv(s->p.c, &s->ops[s->begun], &w->here, 0, LEN);
	s->begun++;
	op_send(s->p.s, &send, &w->there, 0, LEN);
	ENDS(w, send, 0);
	ENDS(w, s->ops[s->begun - 1], 0);
	s->received = s->ops[s->begun - 1].op;
}

void stage_end(struct stage *s)
{
	struct world *w = s->w;

	(void)rpma_uv_transfer_delete(&s->delete_transfer);
	(void)rpma_uv_transfer_delete(&s->new_transfer);
	if (!w->client_is_closing)
		rpma_uv_reactor_close(&w->client, NULL, NULL);
	if (!w->server_is_closing)
		rpma_uv_reactor_close(&w->server, NULL, NULL);
	w->client_is_closing = w->server_is_closing = true;
	if (s->closing_reactor.impl != NULL)
		rpma_uv_reactor_close(&s->closing_reactor, NULL, NULL);
	if (s->has_new_reactor)
		rpma_uv_reactor_close(&s->new_reactor, NULL, NULL);
	/* it ends before its pool does */
	while (rpma_uv_transfer_delete(&s->transfer) == UV_EBUSY)
		CHECK(world_turn(w));
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	for (unsigned i = 0; i < s->begun; i++)
		CHECK_INT(s->ops[i].done.times, 1);
	CHECK_INT(s->closes, s->closes_due);
	if (s->peer != NULL)
		CHECK_OK(rpma_peer_delete(&s->peer));
	memory_delete(&s->area);
	CHECK_OK(unlink(world_path(w, "file")));
	CHECK_OK(unlink(world_path(w, "fifo")));
	(void)unlink(world_path(w, "new"));
}

/* ---- futures --------------------------------------------------------------------------------- */

static void call_then(struct stage *s)
{
	begin(s, &s->thened.future); /* which is rpma_uv_then() */
	CHECK_OK(CALL(rpma_uv_cancel(&s->thened.future, 0)));
}

static rpma_uv_future_t *next(rpma_uv_future_t *done, void *data)
{
	(void)data;
	CHECK_INT(promise_inside, 0);
	return rpma_uv_sleep(done->reactor, NULL, 0);
}

static void call_chain(struct stage *s)
{
	rpma_uv_future_t *f = CALL(rpma_uv_sleep(&s->w->client, NULL, 0));

	begin(s, CALL(rpma_uv_chain(f, next, NULL)));
}

static void call_all(struct stage *s)
{
	rpma_uv_future_t *f[2];

	for (unsigned i = 0; i < 2; i++)
		f[i] = CALL(rpma_uv_sleep(&s->w->client, NULL, i));
	begin(s, CALL(rpma_uv_all(&s->w->client, &s->all, f, 2)));
}

static void call_any(struct stage *s)
{
	rpma_uv_future_t *f[2];

	for (unsigned i = 0; i < 2; i++)
		f[i] = CALL(rpma_uv_sleep(&s->w->client, NULL, i));
	begin(s, CALL(rpma_uv_any(&s->w->client, &s->any, f, 2, RPMA_UV_ANY_CANCEL)));
}

static void call_sleep(struct stage *s)
{
	begin(s, CALL(rpma_uv_sleep(&s->w->client, room(s), 1)));
}

static void call_promise(struct stage *s)
{
	rpma_uv_future_t *f = CALL(rpma_uv_promise(&s->w->client, room(s)));

	begin(s, f);
	CHECK_OK(CALL(rpma_uv_resolve(f, 0, 0)));
}

static void call_resolve(struct stage *s)
{
	CHECK_OK(CALL(rpma_uv_resolve(&s->promise.future, 0, 0)));
}

static void call_cancel(struct stage *s)
{
	CHECK_OK(CALL(rpma_uv_cancel(&s->cancelled.future, 0)));
}

static void call_timeout(struct stage *s)
{
	CHECK_OK(CALL(rpma_uv_timeout(&s->timed.future, 1, 0)));
}

static void call_unref(struct stage *s)
{
	CALL_VOID(rpma_uv_unref(&s->unrefd.future));
}

static void call_release(struct stage *s)
{
	rpma_uv_future_t *f = CALL(rpma_uv_sleep(&s->w->client, NULL, 0));

	CALL_VOID(rpma_uv_release(f));
}

static void call_strerror(struct stage *s)
{
	CHECK(strlen(CALL(rpma_uv_strerror(&s->unrefd.future))) > 0);
}

/* the one that waits, and says so where it must not be called */
static void call_wait(struct stage *s)
{
	rpma_uv_future_t *f = rpma_uv_sleep(&s->w->client, NULL, 0);

	CHECK_INT(rpma_uv_wait(f, UINT64_MAX, NULL), UV_EBUSY);
	begin(s, f);
}

/* ---- the reactor ----------------------------------------------------------------------------- */

static void call_reactor_init(struct stage *s)
{
	CHECK_OK(CALL(rpma_uv_reactor_init(&s->w->loop, &s->new_reactor, NULL)));
	s->has_new_reactor = true;
}

static void call_reactor_close(struct stage *s)
{
	s->closes_due++;
	CALL_VOID(rpma_uv_reactor_close(&s->closing_reactor, on_close, s));
	s->closing_reactor.impl = NULL;
}

static void call_reactor_ref(struct stage *s)
{
	CALL_VOID(rpma_uv_reactor_ref(&s->w->client));
}

static void call_reactor_unref(struct stage *s)
{
	CALL_VOID(rpma_uv_reactor_unref(&s->w->client));
}

static void call_reactor_post(struct stage *s)
{
	s->closes_due++;
	s->work.data = s;
	CHECK_OK(CALL(rpma_uv_reactor_post(&s->w->client, &s->work, on_work)));
}

static void call_reactor_stats(struct stage *s)
{
	rpma_uv_reactor_stats_t stats;

	CALL_VOID(rpma_uv_reactor_stats(&s->w->client, &stats));
	CHECK(stats.conns > 0);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void call_peer_new(struct stage *s)
{
	begin(s, CALL(rpma_uv_peer_new(&s->w->client, room(s), world_addr(),
			 RPMA_UTIL_IBV_CONTEXT_REMOTE, &s->peer)));
}

static void call_conn_new(struct stage *s)
{
	rpma_uv_conn_t *c;

	CHECK_OK(CALL(rpma_uv_conn_new(&s->w->client, s->w->peer, NULL, &c)));
}

static void call_conn_set_keepalive(struct stage *s)
{
	CHECK_OK(CALL(rpma_uv_conn_set_keepalive(s->p.c, 10000)));
}

static void call_conn_set_srq(struct stage *s)
{
	CHECK_OK(CALL(rpma_uv_conn_set_srq(s->sharing, s->srq)));
}

static void call_connect(struct stage *s)
{
	begin(s,
		CALL(rpma_uv_connect(s->connecting, room(s), world_addr(), s->serving_port, NULL)));
}

static void call_reconnect(struct stage *s)
{
	const rpma_uv_reconnect_opts_t opts = { .size = sizeof(opts), .attempts = 1, .seed = 1 };

	begin(s, CALL(rpma_uv_reconnect(&s->w->client, room(s), s->w->peer, NULL, world_addr(),
			 s->serving_port, NULL, &opts, &s->reconnected)));
}

static void call_listen(struct stage *s)
{
	rpma_uv_ep_t *ep;

	CHECK_OK(CALL(rpma_uv_listen(
		&s->w->server, s->w->peer, world_addr(), "0", 0, on_request, s, &ep)));
}

static void call_ep_port(struct stage *s)
{
	CHECK(CALL(rpma_uv_ep_port(s->ep)) != 0);
}

static void call_ep_unref(struct stage *s)
{
	CALL_VOID(rpma_uv_ep_unref(s->unref_ep));
}

static void call_ep_close(struct stage *s)
{
	s->closes_due++;
	CALL_VOID(rpma_uv_ep_close(s->close_ep, on_close, s));
}

static void call_accept(struct stage *s)
{
	begin(s, CALL(rpma_uv_accept(s->accept_req, room(s), s->accepting, NULL)));
}

static void call_reject(struct stage *s)
{
	begin(s, CALL(rpma_uv_reject(s->reject_req, room(s), NULL)));
}

static void call_conn_req_private_data(struct stage *s)
{
	struct rpma_conn_private_data pd;

	CHECK_OK(CALL(rpma_uv_conn_req_private_data(s->look_req, &pd)));
}

static void call_conn_end(struct stage *s)
{
	begin(s, CALL(rpma_uv_conn_end(s->p.c, room(s))));
}

static void call_disconnect(struct stage *s)
{
	begin(s, CALL(rpma_uv_disconnect(s->ending.c, room(s))));
}

static void call_conn_close(struct stage *s)
{
	s->closes_due++;
	CALL_VOID(rpma_uv_conn_close(s->closing.c, on_close, s));
}

static void call_conn_private_data(struct stage *s)
{
	struct rpma_conn_private_data pd;

	CHECK_OK(CALL(rpma_uv_conn_private_data(s->p.c, &pd)));
}

static void call_conn_remote_addr(struct stage *s)
{
	CHECK(strlen(CALL(rpma_uv_conn_remote_addr(s->p.c))) > 0);
}

static void call_conn_apply_remote_peer_cfg(struct stage *s)
{
	struct rpma_peer_cfg *cfg;

	CHECK_OK(rpma_peer_cfg_new(&cfg));
	CHECK_OK(CALL(rpma_uv_conn_apply_remote_peer_cfg(s->p.c, cfg)));
	CHECK_OK(rpma_peer_cfg_delete(&cfg));
}

/* ---- remote memory --------------------------------------------------------------------------- */

static void call_read(struct stage *s)
{
	begin(s, CALL(rpma_uv_read(s->p.c, room(s), local_of(&s->w->here, 0 * LEN),
			 remote_of(&s->w->there, 0), LEN, 0)));
}

static void call_write(struct stage *s)
{
	begin(s, CALL(rpma_uv_write(s->p.c, room(s), remote_of(&s->w->there, 1 * LEN),
			 local_of(&s->w->here, 1 * LEN), LEN, 0)));
}

static void peer_recv(struct stage *s)
{
	begin(s, CALL(rpma_uv_recv(s->p.s, room(s), local_of(&s->w->there, 10 * LEN), LEN)));
}

static void call_write_with_imm(struct stage *s)
{
	begin(s, CALL(rpma_uv_write_with_imm(s->p.c, room(s), remote_of(&s->w->there, 2 * LEN),
			 local_of(&s->w->here, 2 * LEN), LEN, 0, 1)));
	peer_recv(s);
}

static void call_atomic_write(struct stage *s)
{
	static const char word[RPMA_ATOMIC_WRITE_ALIGNMENT] = "eight b";

	begin(s, CALL(rpma_uv_atomic_write(
			 s->p.c, room(s), remote_of(&s->w->there, 3 * LEN), word, 0)));
}

static void call_flush(struct stage *s)
{
	begin(s, CALL(rpma_uv_flush(s->p.c, room(s), remote_of(&s->w->there, 0), LEN,
			 RPMA_FLUSH_TYPE_VISIBILITY, 0)));
}

static rpma_uv_piece_t piece;

static void call_persist(struct stage *s)
{
	piece = (rpma_uv_piece_t){ local_of(&s->w->here, 4 * LEN), remote_of(&s->w->there, 4 * LEN),
		LEN };
	begin(s, CALL(rpma_uv_persist(s->p.c, room(s), &piece, 1, RPMA_FLUSH_TYPE_VISIBILITY, 0)));
}

static void call_send(struct stage *s)
{
	begin(s, CALL(rpma_uv_send(s->p.c, room(s), local_of(&s->w->here, 5 * LEN), LEN, 0)));
	peer_recv(s);
}

static void call_send_with_imm(struct stage *s)
{
	begin(s, CALL(rpma_uv_send_with_imm(
			 s->p.c, room(s), local_of(&s->w->here, 6 * LEN), LEN, 0, 1)));
	peer_recv(s);
}

static void call_recv(struct stage *s)
{
	begin(s, CALL(rpma_uv_recv(s->p.c, room(s), local_of(&s->w->here, 7 * LEN), LEN)));
	begin(s, CALL(rpma_uv_send(s->p.s, room(s), local_of(&s->w->there, 7 * LEN), LEN, 0)));
}

static void call_recv_info(struct stage *s)
{
	rpma_uv_recv_info_t info;

	CHECK_OK(CALL(rpma_uv_recv_info(&s->received.future, &info)));
	CHECK_INT(info.len, LEN);
}

static void call_srq_new(struct stage *s)
{
	rpma_uv_srq_t *srq;

	CHECK_OK(CALL(rpma_uv_srq_new(&s->w->client, s->w->peer, 4, &srq)));
}

static void call_srq_recv(struct stage *s)
{
	begin(s, CALL(rpma_uv_srq_recv(s->srq, room(s), local_of(&s->w->here, 8 * LEN), LEN)));
}

static void call_srq_close(struct stage *s)
{
	s->closes_due++;
	CALL_VOID(rpma_uv_srq_close(s->close_srq, on_close, s));
}

/* ---- local storage --------------------------------------------------------------------------- */

static char file_bytes[2][LEN];
static uv_buf_t file_buf[2];

static uv_buf_t *buffer(unsigned i)
{
	file_buf[i] = uv_buf_init(file_bytes[i], LEN);
	return &file_buf[i];
}

static void call_file_open(struct stage *s)
{
	begin(s, CALL(rpma_uv_file_open(&s->w->client, room(s), world_path(s->w, "new"),
			 O_CREAT | O_RDWR, 0600, 0, &s->new_file)));
}

static void call_file_write(struct stage *s)
{
	begin(s, CALL(rpma_uv_file_write(s->file, room(s), buffer(0), 1, 0, 0)));
}

static void call_file_read(struct stage *s)
{
	begin(s, CALL(rpma_uv_file_read(s->fifo, room(s), buffer(1), 1, 0)));
}

static void call_file_sync(struct stage *s)
{
	begin(s, CALL(rpma_uv_file_sync(s->file, room(s))));
}

static void call_file_allocate(struct stage *s)
{
	begin(s, CALL(rpma_uv_file_allocate(s->file, room(s), 0, LEN)));
}

static void call_file_close(struct stage *s)
{
	s->closes_due++;
	CALL_VOID(rpma_uv_file_close(s->close_file, on_close, s));
}

static void call_file_is_direct(struct stage *s)
{
	CHECK_INT(CALL(rpma_uv_file_is_direct(s->file)), 0);
}

static void call_pool_new(struct stage *s)
{
	const rpma_uv_pool_opts_t opts = {
		.size = sizeof(opts), .count = BIG_CHUNKS, .chunk = BIG_CHUNK
	};

	begin(s, CALL(rpma_uv_pool_new(&s->w->client, room(s), s->w->peer, &opts, &s->new_pool)));
}

static void call_pool_is_fixed(struct stage *s)
{
	(void)CALL(rpma_uv_pool_is_fixed(s->pool));
}

static void call_pool_close(struct stage *s)
{
	s->closes_due++;
	CALL_VOID(rpma_uv_pool_close(s->close_pool, on_close, s));
}

static void call_buf_get(struct stage *s)
{
	rpma_uv_buf_t *buf = CALL(rpma_uv_buf_get(s->pool));

	if (buf != NULL)
		CALL_VOID(rpma_uv_buf_put(buf));
}

static void call_buf_put(struct stage *s)
{
	CALL_VOID(rpma_uv_buf_put(s->buf));
}

static void call_buf_wait(struct stage *s)
{
	begin(s, CALL(rpma_uv_buf_wait(s->pool, room(s), &s->waited_buf)));
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void call_transfer_new(struct stage *s)
{
	CHECK_OK(CALL(rpma_uv_transfer_new(s->pool, NULL, &s->new_transfer)));
}

static void call_transfer_delete(struct stage *s)
{
	CHECK_OK(CALL(rpma_uv_transfer_delete(&s->delete_transfer)));
}

static void call_pull(struct stage *s)
{
	begin(s, CALL(rpma_uv_pull(s->transfer, room(s), s->p.c, remote_of(&s->w->there, 0), 20000,
			 s->file, 4096)));
}

static void call_transfer_stat(struct stage *s)
{
	rpma_uv_transfer_stat_t stat;

	CALL_VOID(rpma_uv_transfer_stat(s->transfer, &stat));
}

static void call_transfer_error(struct stage *s)
{
	rpma_uv_transfer_error_t error;

	CALL_VOID(rpma_uv_transfer_error(s->transfer, &error));
	CHECK_INT(error.status, 0);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define LINE(name, traits)                            \
	{                                             \
		"rpma_uv_" #name, call_##name, traits \
	}

const struct call calls[] = {
	LINE(accept, ASKS),
	LINE(all, 0),
	LINE(any, 0),
	LINE(atomic_write, ASKS),
	LINE(buf_get, 0),
	LINE(buf_put, 0),
	LINE(buf_wait, 0),
	LINE(cancel, 0),
	LINE(chain, 0),
	LINE(conn_apply_remote_peer_cfg, 0),
	LINE(conn_close, ASKS),
	LINE(conn_end, LASTS),
	LINE(conn_new, 0),
	LINE(conn_private_data, 0),
	LINE(conn_remote_addr, 0),
	LINE(conn_req_private_data, 0),
	LINE(conn_set_keepalive, 0),
	LINE(conn_set_srq, 0),
	LINE(connect, ASKS),
	LINE(disconnect, ASKS),
	LINE(ep_close, 0),
	LINE(ep_port, 0),
	LINE(ep_unref, 0),
	LINE(file_allocate, 0),
	LINE(file_close, 0),
	LINE(file_is_direct, 0),
	LINE(file_open, 0),
	LINE(file_read, LASTS),
	LINE(file_sync, 0),
	LINE(file_write, 0),
	LINE(flush, ASKS),
	LINE(listen, 0),
	LINE(peer_new, ASKS),
	LINE(persist, ASKS),
	LINE(pool_close, ASKS),
	LINE(pool_is_fixed, 0),
	LINE(pool_new, ASKS),
	LINE(promise, 0),
	LINE(pull, ASKS),
	LINE(reactor_close, 0),
	LINE(reactor_init, 0),
	LINE(reactor_post, 0),
	LINE(reactor_ref, 0),
	LINE(reactor_stats, 0),
	LINE(reactor_unref, 0),
	LINE(read, ASKS),
	LINE(reconnect, ASKS),
	LINE(recv, ASKS),
	LINE(recv_info, 0),
	LINE(reject, 0),
	LINE(release, 0),
	LINE(resolve, 0),
	LINE(send, ASKS),
	LINE(send_with_imm, ASKS),
	LINE(sleep, 0),
	LINE(srq_close, 0),
	LINE(srq_new, 0),
	LINE(srq_recv, LASTS),
	LINE(strerror, 0),
	LINE(then, 0),
	LINE(timeout, 0),
	LINE(transfer_delete, 0),
	LINE(transfer_error, 0),
	LINE(transfer_new, 0),
	LINE(transfer_stat, 0),
	LINE(unref, 0),
	LINE(wait, BLOCKS),
	LINE(write, ASKS),
	LINE(write_with_imm, ASKS),
};
const unsigned calls_count = sizeof(calls) / sizeof(calls[0]);

/* the names of the library's map, made by the build */
static const char *const exported[] = {
#include "exported.inc"
};

void stage_make_all(struct stage *s, bool may_wait)
{
	unsigned order[sizeof(calls) / sizeof(calls[0])];

	for (unsigned i = 0; i < calls_count; i++)
		order[i] = i;
	for (unsigned i = calls_count; i > 0; i--) {
		unsigned j = below(i), chosen = order[j];

		order[j] = order[i - 1];
		if (may_wait || !(calls[chosen].traits & BLOCKS))
			calls[chosen].make(s);
	}
}

void calls_are_complete(void)
{
	const unsigned count = sizeof(exported) / sizeof(exported[0]);

	for (unsigned i = 0; i < count || i < calls_count; i++) {
		const char *call = i < calls_count ? calls[i].name : "(nothing)";
		const char *name = i < count ? exported[i] : "(nothing)";

		if (strcmp(name, call) != 0) { /* both are sorted */
			fprintf(stderr, "exported: %s; in the table of calls: %s\n", name, call);
			live_fail(__FILE__, __LINE__, "each function has its line");
		}
	}
}
