/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* ends.c - connections, listeners, requests */

#include <string.h>

#include "world.h"

/* who it is that connects, as the server learns from the private data */
enum { CLIENT_END = 1, CLIENT_ACT };

static const char word[] = "because";

static const struct rpma_conn_private_data *draw_word(struct rpma_conn_private_data *pd)
{
	*pd = (struct rpma_conn_private_data){ (void *)word, sizeof(word) };
	return chance(500) ? pd : NULL;
}

/* ---- an end ---------------------------------------------------------------------------------- */

static bool is_there(const struct end *e)
{
	return e->conn != NULL && !e->is_closing && !e->is_taken && !e->is_lent;
}

struct end *end_pick(void)
{
	struct end *e = NULL;

	if (world.end_count == 0)
		return NULL;
	/* of those that work more often than of the others */
	for (unsigned tries = chance(100) ? 1 : 12; tries > 0; tries--) {
		struct end *drawn = &world.ends[below(world.end_count)];

		if (!is_there(drawn))
			continue;
		e = drawn;
		if (e->was_ready && !e->has_ended)
			break;
	}
	return e;
}

static struct act *watch(struct end *e, bool is_witness)
{
	struct act *a = act_new(CONN_END, e->station, e, NULL);

	if (a == NULL)
		return NULL;
	a->is_witness = is_witness;
	act_begun(a, API(rpma_uv_conn_end(e->conn, act_storage(a))));
	return a;
}

void ends_watch(struct end *e)
{
	(void)watch(e, false);
}

/* who it gets its receives from, and the first ones */
static void recvs_new(struct end *e)
{
	struct shared *sh = chance(250) ? shared_pick(e->station) : NULL;

	if (sh != NULL) {
		CHECK_OK(API(rpma_uv_conn_set_srq(e->conn, sh->srq)));
		cover("connection on a shared receive queue");
		e->shared = sh;
		e->recv_size = 0;
	}
	for (unsigned i = below(6); i > 0 && !e->is_closing; i--) {
		if (sh == NULL)
			rma_recv(e);
		else if (!sh->is_closing)
			rma_shared_recv(sh);
	}
}

/* a connection, with some receives; NULL: there is none to be had */
static struct end *end_new(struct station *s)
{
	struct rpma_conn_cfg *cfg = NULL;
	struct end *e;
	uint32_t recv_size = 10;
	int ret;

	if (world.end_count == ENDS_MAX)
		return NULL;
	if (chance(800)) {
		recv_size = chance(50) ? 0 : between(1, 16);
		CHECK_OK(rpma_conn_cfg_new(&cfg));
		CHECK_OK(rpma_conn_cfg_set_sq_size(cfg, between(1, 16)));
		CHECK_OK(rpma_conn_cfg_set_rq_size(cfg, recv_size));
	}
	e = &world.ends[world.end_count];
	e->number = world.end_count;
	e->station = s;
	e->recv_size = recv_size;
	ret = API(rpma_uv_conn_new(&s->reactor, world.peer, cfg, &e->conn));
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
	if (ret != 0) {
		CHECK(ret == UV_ENOMEM || (ret == UV_EIO && world.is_removed));
		CHECK(world.has_faults);
		CHECK(e->conn == NULL);
		cover("no connection");
		return NULL;
	}
	world.end_count++;
	(void)watch(e, true);
	recvs_new(e);
	return e;
}

static void on_closed(void *data)
{
	struct end *e = data;

	callback_enter();
	CHECK(e->is_closing);
	CHECK(e->conn != NULL);
	CHECK_INT(e->pending, 0);
	e->conn = NULL;
	world_react();
	callback_leave();
}

void end_close(struct end *e)
{
	if (e->conn == NULL || e->is_closing)
		return;
	e->is_closing = true;
	if (e->is_taken)
		cover("connection closed after its reactor");
	else
		cover("connection closed");
	API_VOID(rpma_uv_conn_close(e->conn, on_closed, e));
}

void end_change(struct end *e)
{
	struct rpma_peer_cfg *cfg = NULL;
	int ret;

	if (chance(300)) {
		ret = API(rpma_uv_conn_set_keepalive(e->conn, below(2) ? between(5, 500) : 0));
		CHECK(ret == 0 || ret == UV_ENOTCONN);
		cover("keep-alive");
		return;
	}
	e->is_declared = chance(700);
	CHECK_OK(rpma_peer_cfg_new(&cfg));
	CHECK_OK(rpma_peer_cfg_set_direct_write_to_pmem(cfg, e->is_declared));
	CHECK_OK(API(rpma_uv_conn_apply_remote_peer_cfg(e->conn, cfg)));
	CHECK_OK(rpma_peer_cfg_delete(&cfg));
	cover("direct write declared");
}

void ends_disconnect(struct end *e)
{
	struct act *a = act_new(DISCONNECT, e->station, e, NULL);

	if (a == NULL)
		return;
	e->is_left = true;
	act_begun(a, API(rpma_uv_disconnect(e->conn, act_storage(a))));
}

/* ---- the client ------------------------------------------------------------------------------ */

static struct listener *listener_pick(void)
{
	if (chance(50))
		return NULL;
	for (unsigned tries = 3 * EPS_MAX; tries > 0; tries--) {
		struct listener *l = &world.listeners[below(EPS_MAX)];

		if (l->ep != NULL && !l->is_closing && !l->is_taken)
			return l;
	}
	return NULL;
}

void ends_connect(void)
{
	struct listener *l = listener_pick();
	struct station *s = station_pick();
	struct rpma_conn_private_data pd;
	struct end *e = s != NULL ? end_new(s) : NULL;
	const char *addr = ADDR, *port = l != NULL ? l->port : "9";
	struct act *a;
	uint16_t name[2] = { CLIENT_END };

	if (e == NULL || e->is_closing)
		return;
	name[1] = (uint16_t)e->number;
	pd = (struct rpma_conn_private_data){ name, sizeof(name) };
	a = act_new(CONNECT, s, e, NULL);
	if (a == NULL)
		return;
	if (l == NULL)
		cover("connect to nobody");
	if (chance(100)) {
		addr = "localhost";
		cover("connect by name");
	} else if (chance(10)) {
		addr = "no.such.host";
		cover("connect to no host");
	}
	e->is_begun = true;
	act_begun(a, API(rpma_uv_connect(e->conn, act_storage(a), addr, port, &pd)));
}

/* ---- a client that tries again ---------------------------------------------------------------- */

static int on_conn(rpma_uv_conn_t *c, void *data)
{
	struct act *a = data, *witness;
	struct end *e = a->attempt;

	callback_enter();
	CHECK(a->is_pending);
	if (e != NULL) {
		/* never two at once */
		CHECK_INT(e->pending, 0);
		e->conn = NULL;
		cover("another attempt");
	}
	a->attempt = NULL;
	if (world.end_count == ENDS_MAX || chance(30)) {
		cover("attempts given up");
		a->expected = UV_EPERM;
		callback_leave();
		return UV_EPERM;
	}
	e = &world.ends[world.end_count];
	e->number = world.end_count++;
	e->conn = c;
	e->station = a->station;
	e->recv_size = 10;
	e->is_lent = true;
	e->is_begun = true;
	a->attempt = e;
	a->attempts++;
	witness = watch(e, true);
	if (!world.is_over)
		recvs_new(e);
	else if (witness != NULL)
		act_unref(witness);
	callback_leave();
	return 0;
}

void ends_reconnect(void)
{
	struct listener *l = listener_pick();
	struct station *s = station_pick();
	rpma_uv_reconnect_opts_t opts = { .size = sizeof(opts), .on_conn = on_conn };
	struct act *a = s != NULL ? act_new(RECONNECT, s, NULL, NULL) : NULL;
	uint16_t name[2] = { CLIENT_ACT };
	struct rpma_conn_private_data pd = { name, sizeof(name) };

	if (a == NULL)
		return;
	name[1] = (uint16_t)a->number;
	opts.initial_ms = between(1, 50);
	opts.max_ms = opts.initial_ms + below(200);
	opts.attempts = chance(100) ? 0 : between(1, 4);
	opts.seed = 1 + random_next() % 1000;
	opts.data = a;
	act_begun(a, API(rpma_uv_reconnect(&s->reactor, act_storage(a), world.peer, NULL, ADDR,
			     l != NULL ? l->port : "9", &pd, &opts, &a->conn)));
}

void ends_reconnected(struct act *a)
{
	struct end *e = a->attempt;

	if (a->status != 0) {
		CHECK(a->conn == NULL);
		if (e == NULL)
			return;
		CHECK_INT(e->pending, 0);
		e->conn = NULL;
		return;
	}
	CHECK(e != NULL);
	CHECK(a->conn == e->conn);
	/* one that could not even make a connection was not shown */
	CHECK(a->result >= a->attempts);
	e->is_lent = false;
	e->was_ready = true;
}

/* ---- the server ------------------------------------------------------------------------------ */

static void accept_request(const struct request *request)
{
	struct station *s = request->listener->station;
	struct end *e = chance(30) ? end_pick() : NULL;
	struct rpma_conn_private_data pd;
	struct act *a;
	bool is_used;

	if (e == NULL || e->station != s)
		e = end_new(s);
	if (e == NULL || e->is_closing) {
		rpma_uv_future_t *f = API(rpma_uv_reject(request->req, NULL, NULL));

		API_VOID(rpma_uv_release(f));
		return;
	}
	is_used = e->is_begun || e->has_ended;
	a = act_new(ACCEPT, s, e, NULL);
	if (a == NULL) {
		rpma_uv_future_t *f = API(rpma_uv_reject(request->req, NULL, NULL));

		API_VOID(rpma_uv_release(f));
		return;
	}
	if (is_used) {
		cover("accept on a used connection");
		a->expected = UV_EINVAL;
	} else {
		e->is_begun = true;
		e->other = request->end;
		if (request->end != NULL)
			request->end->other = e;
	}
	act_begun(a, API(rpma_uv_accept(request->req, act_storage(a), e->conn, draw_word(&pd))));
	if (chance(30))
		end_close(e);
}

static void reject_request(const struct request *request)
{
	struct act *a = act_new(REJECT, request->listener->station, NULL, NULL);
	struct rpma_conn_private_data pd;
	rpma_uv_future_t *f = API(
		rpma_uv_reject(request->req, a != NULL ? act_storage(a) : NULL, draw_word(&pd)));

	if (a != NULL)
		act_begun(a, f);
	else
		API_VOID(rpma_uv_release(f));
}

static void answer(const struct request *request)
{
	if (chance(850) && !world.is_over)
		accept_request(request);
	else
		reject_request(request);
}

/* whose request it is; of a reconnect, only as long as there can be no other attempt */
static struct end *client_of(const struct rpma_conn_private_data *pd)
{
	uint16_t name[2];

	CHECK(pd->len >= sizeof(name));
	memcpy(name, pd->ptr, sizeof(name));
	if (name[0] == CLIENT_END) {
		CHECK(name[1] < world.end_count);
		return &world.ends[name[1]];
	}
	CHECK_INT(name[0], CLIENT_ACT);
	CHECK(name[1] <= world.act_count);
	return world.acts[name[1]].attempts == 1 ? world.acts[name[1]].attempt : NULL;
}

static void on_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	struct listener *l = data;
	struct request request = { req, l, NULL };
	struct rpma_conn_private_data pd;

	callback_enter();
	CHECK(l->ep == ep);
	CHECK(!l->is_closing);
	CHECK(!l->is_taken);
	CHECK_OK(API(rpma_uv_conn_req_private_data(req, &pd)));
	CHECK(pd.ptr != NULL);
	request.end = client_of(&pd);
	if (chance(850) || world.request_count == ENDS_MAX) {
		answer(&request);
	} else {
		cover("request left alone");
		world.requests[world.request_count++] = request;
	}
	world_react();
	callback_leave();
}

void ends_answer(void)
{
	struct request request;
	unsigned i;

	if (world.request_count == 0)
		return;
	i = below(world.request_count);
	request = world.requests[i];
	world.requests[i] = world.requests[--world.request_count];
	answer(&request);
}

/* ---- listeners ------------------------------------------------------------------------------- */

/* those that nobody has answered go with it */
static void requests_forget(const struct listener *l)
{
	for (unsigned i = world.request_count; i-- > 0;) {
		if (world.requests[i].listener == l)
			world.requests[i] = world.requests[--world.request_count];
	}
}

static void on_listener_closed(void *data)
{
	struct listener *l = data;

	callback_enter();
	CHECK(l->is_closing);
	CHECK(l->ep != NULL);
	l->ep = NULL;
	l->is_closing = false;
	l->is_taken = false;
	world_react();
	callback_leave();
}

void listener_open(void)
{
	struct listener *l = &world.listeners[below(EPS_MAX)];
	struct station *s = station_pick();
	int ret;

	if (l->ep != NULL || s == NULL)
		return;
	l->station = s;
	ret = API(rpma_uv_listen(
		&s->reactor, world.peer, ADDR, "0", (int)below(4), on_request, l, &l->ep));
	if (ret != 0) {
		CHECK(world.has_faults);
		CHECK(l->ep == NULL);
		cover("no listener");
		return;
	}
	snprintf(l->port, sizeof(l->port), "%u", rpma_uv_ep_port(l->ep));
	cover("listener");
}

static void listener_close(struct listener *l)
{
	if (l->ep == NULL || l->is_closing)
		return;
	l->is_closing = true;
	requests_forget(l);
	cover("listener closed");
	API_VOID(rpma_uv_ep_close(l->ep, on_listener_closed, l));
}

void listener_drop(struct listener *l)
{
	if (!l->is_taken)
		listener_close(l);
}

void listeners_unref(void)
{
	for (unsigned i = 0; i < EPS_MAX; i++) {
		struct listener *l = &world.listeners[i];

		if (l->ep != NULL && !l->is_closing && !l->is_taken)
			API_VOID(rpma_uv_ep_unref(l->ep));
	}
}

/* of those that are taken some are closed all the same */
void stations_taken(struct station *s)
{
	for (unsigned i = 0; i < EPS_MAX; i++) {
		struct listener *l = &world.listeners[i];

		if (l->ep == NULL || l->station != s || l->is_closing)
			continue;
		requests_forget(l);
		l->is_taken = true;
		if (chance(300))
			listener_close(l);
	}
	shared_taken(s);
	for (unsigned i = 0; i < world.end_count; i++) {
		struct end *e = &world.ends[i];

		if (e->conn == NULL || e->station != s || e->is_closing)
			continue;
		e->is_taken = true;
		if (chance(300) && !e->is_lent)
			end_close(e);
	}
}
