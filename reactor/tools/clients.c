/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * clients.c - the server's side of one connection
 *
 *     request --client_new()--> ACCEPTING --on_accepted--> WAITING --on_message--> SERVING
 *        |                          |                         |                       |
 *     turned down                   |             wrong ask   v                       |
 *                                   |                     REFUSING                    |
 *                                   v                         v                       v
 *                                   +---- timer, peer gone, any error, clients_close() ----+
 *                                                                                          v
 *     freed <--on_conn_closed-- (connection closes) <--on_timer_closed-- (timer closes) CLOSING
 *
 *     ACCEPTING  the receive is posted; a message that is faster than the connection manager makes
 *                the reactor tell of the connection first
 *     WAITING    for the ask; the timer is the limit on its silence
 *     SERVING    the region was told, perhaps its digest is being computed; the peer reads by
 *                itself. The connection is kept alive: a peer whose host is gone sends nothing that
 *                would tell of it.
 *     REFUSING   a refusal was sent: the peer hangs up, or the timer does
 *     CLOSING    callbacks still come, with errors, and are passed over
 */

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "exits.h"
#include "register.h"

/* how long a client may stay silent until it has asked, or has hung up after a refusal */
#define HELLO_TIMEOUT_MS 10000
/* how often a client that is served is looked after */
#define KEEPALIVE_MS 10000

/* region, digest or refusal, sign of life: with room to spare */
#define SEND_QUEUE 8
#define RECV_QUEUE 2

enum client_state {
	ACCEPTING,
	WAITING,
	SERVING,
	REFUSING,
	CLOSING,
};

/* memory for messages; a digest may be due while the region is still being sent */
struct client_room {
	uint8_t in[CONTROL_MESSAGE_MAX];
	uint8_t out[CONTROL_MESSAGE_MAX];
	uint8_t late[CONTROL_MESSAGE_MAX];
};

struct client {
	struct clients *clients;
	LIST_ENTRY(client) link;
	enum client_state state;
	uint32_t room; /* index */
	rpma_uv_conn_t *conn;
	uv_timer_t timer;
	struct control_digest digest; /* its range, while one is wanted */
	struct digest_waiter waiter;
	rpma_uv_op_t accept_op;
	rpma_uv_op_t end_op;
	rpma_uv_op_t recv_op;
	rpma_uv_op_t send_op;
	rpma_uv_op_t late_op;
};

static void __attribute__((format(printf, 2, 3)))
note(const struct client *c, const char *format, ...)
{
	char text[256];
	va_list args;

	if (!c->clients->verbose)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)fprintf(stderr, "rpma: serve: client %u %s: %s\n", c->room,
		rpma_uv_conn_remote_addr(c->conn), text);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void on_conn_closed(void *data)
{
	struct client *c = data;
	struct clients *cl = c->clients;

	LIST_REMOVE(c, link);
	cl->free_rooms[cl->max - cl->count] = c->room;
	cl->count--;
	free(c);
	if (cl->closing && cl->count == 0)
		cl->gone(cl);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct client *c = handle->data;

	rpma_uv_conn_close(c->conn, on_conn_closed, c);
}

static void client_shut(struct client *c)
{
	if (c->state == CLOSING)
		return;
	c->state = CLOSING;
	digest_leave(&c->waiter);
	uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

static void on_end(rpma_uv_future_t *f, int status)
{
	struct client *c = f->data;

	if (c->state == CLOSING)
		return;
	note(c, "gone: %s", status == UV_ECONNRESET ? "disconnected" : rpma_uv_strerror(f));
	client_shut(c);
}

static void on_sent(rpma_uv_future_t *f, int status)
{
	struct client *c = f->data;

	if (c->state == CLOSING || status == 0)
		return;
	note(c, "cannot answer: %s", rpma_uv_strerror(f));
	client_shut(c);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void on_timer(uv_timer_t *timer)
{
	struct client *c = timer->data;

	note(c, "%s for %d s: dropped", c->state == REFUSING ? "refused" : "silent",
		HELLO_TIMEOUT_MS / 1000);
	client_shut(c);
}

static void timer_set(struct client *c)
{
	int ret = uv_timer_start(&c->timer, on_timer, HELLO_TIMEOUT_MS, 0);
	assert(ret == 0); /* fails on a closing timer only */
	(void)ret;
}

/* ---- the exchange ---------------------------------------------------------------------------- */

/* buf is `out` or `late` of the client's room; each is sent from once */
static void send_message(
	struct client *c, rpma_uv_op_t *op, uint8_t *buf, const struct control_message *message)
{
	struct clients *cl = c->clients;
	size_t len = control_encode(message, buf);
	const rpma_uv_local_t src = { cl->rooms_mr, (size_t)(buf - (uint8_t *)cl->rooms) };

	(void)rpma_uv_then(rpma_uv_send(c->conn, op, src, len, 0), on_sent, c);
}

static void client_refuse(
	struct client *c, rpma_uv_op_t *op, uint8_t *buf, const struct control_message *refusal)
{
	note(c, "refused: %s", refusal->refusal.text);
	c->state = REFUSING;
	send_message(c, op, buf, refusal);
	timer_set(c);
}

static void on_digest(struct digest_waiter *w, int status, const uint8_t sha256[SHA256_BYTES])
{
	struct client *c = (struct client *)((char *)w - offsetof(struct client, waiter));
	struct client_room *room = &c->clients->rooms[c->room];
	struct control_message message = { .type = CONTROL_DIGEST, .digest = c->digest };

	if (status) {
		message.type = CONTROL_REFUSAL;
		control_refuse(&message.refusal, CONTROL_CODE_DIGEST, "no digest of the source: %s",
			reason(status));
		client_refuse(c, &c->late_op, room->late, &message);
		return;
	}
	memcpy(message.digest.sha256, sha256, SHA256_BYTES);
	note(c, "digest told");
	send_message(c, &c->late_op, room->late, &message);
}

/* what is wrong with an ask: NONE, or the refusal was filled in */
static enum control_code check_ask(
	const struct clients *cl, const struct control_ask *ask, struct control_refusal *refusal)
{
	uint64_t size = cl->export->size;

	if (ask->name[0])
		control_refuse(
			refusal, CONTROL_CODE_NAME, "there is no region named %s", ask->name);
	else if (ask->offset >= size)
		control_refuse(refusal, CONTROL_CODE_RANGE,
			"offset %llu is not inside the region of %llu bytes",
			(unsigned long long)ask->offset, (unsigned long long)size);
	else if (ask->length > size - ask->offset)
		control_refuse(refusal, CONTROL_CODE_RANGE,
			"the region has %llu bytes, asked for %llu from offset %llu on",
			(unsigned long long)size, (unsigned long long)ask->length,
			(unsigned long long)ask->offset);
	else
		refusal->code = CONTROL_CODE_NONE;
	return (enum control_code)refusal->code;
}

static void client_answer(struct client *c, const struct control_ask *ask)
{
	struct clients *cl = c->clients;
	struct client_room *room = &cl->rooms[c->room];
	struct control_message message = { .type = CONTROL_REGION };
	struct control_region *region = &message.region;

	region->size = cl->export->size;
	region->offset = ask->offset;
	region->length = ask->length ? ask->length : region->size - ask->offset;
	memcpy(region->identity, cl->export->identity, sizeof(region->identity));
	memcpy(region->descriptor, cl->descriptor, cl->descriptor_len);
	region->descriptor_len = cl->descriptor_len;

	c->state = SERVING;
	note(c, "pulls %llu bytes from offset %llu on", (unsigned long long)region->length,
		(unsigned long long)region->offset);
	send_message(c, &c->send_op, room->out, &message);
	(void)uv_timer_stop(&c->timer);
	(void)rpma_uv_conn_set_keepalive(c->conn, KEEPALIVE_MS); /* or it ends already */

	if (ask->digest) {
		c->digest.offset = region->offset;
		c->digest.length = region->length;
		int ret = digest_want(&cl->digests, &c->waiter, region->offset, region->length);
		if (ret)
			on_digest(&c->waiter, ret, NULL);
	}
}

static void client_hear(struct client *c)
{
	struct clients *cl = c->clients;
	struct client_room *room = &cl->rooms[c->room];
	struct control_message heard;
	struct control_message refusal = { .type = CONTROL_REFUSAL };

	int error = control_decode(&heard, room->in, (size_t)c->recv_op.future.result);
	if (!error && heard.type != CONTROL_ASK)
		error = CONTROL_TYPE;
	if (error) {
		control_refuse(&refusal.refusal,
			error == CONTROL_UNSPOKEN ? CONTROL_CODE_VERSION : CONTROL_CODE_MALFORMED,
			"%s", control_strerror(error));
		client_refuse(c, &c->send_op, room->out, &refusal);
		return;
	}
	if (check_ask(cl, &heard.ask, &refusal.refusal)) {
		client_refuse(c, &c->send_op, room->out, &refusal);
		return;
	}
	client_answer(c, &heard.ask);
}

static void on_message(rpma_uv_future_t *f, int status)
{
	struct client *c = f->data;

	if (c->state == CLOSING)
		return;
	if (status) {
		note(c, "nothing heard: %s", rpma_uv_strerror(f));
		client_shut(c);
		return;
	}
	assert(c->state == WAITING);
	client_hear(c);
}

static void on_accepted(rpma_uv_future_t *f, int status)
{
	struct client *c = f->data;

	if (c->state == CLOSING)
		return;
	if (status) {
		note(c, "not accepted: %s", rpma_uv_strerror(f));
		client_shut(c);
		return;
	}
	note(c, "connected");
	c->state = WAITING;
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void turn_down(
	struct clients *cl, rpma_uv_conn_req_t *req, enum control_code code, const char *why)
{
	uint8_t buf[CONTROL_GREETING_MAX];
	struct control_greeting greeting = { .kind = CONTROL_TURNED_DOWN };

	control_refuse(&greeting.refusal, code, "%s", why);
	struct rpma_conn_private_data pd = { buf,
		(uint8_t)control_greeting_encode(&greeting, buf) };
	if (cl->verbose)
		(void)fprintf(stderr, "rpma: serve: a client was turned down: %s\n", why);
	rpma_uv_release(rpma_uv_reject(req, NULL, &pd));
}

/* NULL: no memory, or no connection to be had */
static struct client *client_new(struct clients *cl)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (rpma_uv_conn_new(cl->reactor, cl->peer, cl->cfg, &c->conn)) {
		free(c);
		return NULL;
	}
	int ret = uv_timer_init(cl->reactor->loop, &c->timer);
	assert(ret == 0); /* it only fills the struct */
	(void)ret;
	c->timer.data = c;
	c->clients = cl;
	c->state = ACCEPTING;
	c->waiter.told = on_digest;
	cl->count++;
	c->room = cl->free_rooms[cl->max - cl->count];
	LIST_INSERT_HEAD(&cl->all, c, link);
	return c;
}

void clients_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	(void)ep;
	struct clients *cl = data;
	struct rpma_conn_private_data pd = { NULL, 0 };
	struct control_greeting greeting;

	assert(!cl->closing);
	(void)rpma_uv_conn_req_private_data(req, &pd); /* none is as bad as a wrong one */
	int error = control_greeting_decode(&greeting, pd.ptr, pd.len);
	if (!error && greeting.kind != CONTROL_REQUEST)
		error = CONTROL_TYPE;
	if (error) {
		turn_down(cl, req,
			error == CONTROL_UNSPOKEN ? CONTROL_CODE_VERSION : CONTROL_CODE_FOREIGN,
			error == CONTROL_UNSPOKEN ? "this server speaks version 1 of the protocol"
						  : control_strerror(error));
		return;
	}
	if (cl->count == cl->max) {
		turn_down(cl, req, CONTROL_CODE_FULL, "the server has as many clients as it takes");
		return;
	}
	struct client *c = client_new(cl);
	if (!c) {
		turn_down(cl, req, CONTROL_CODE_FULL, "the server is out of resources");
		return;
	}

	/* the receive comes first: a client may ask as soon as it is accepted */
	uint8_t welcome[CONTROL_GREETING_MAX];
	const rpma_uv_local_t in = { cl->rooms_mr,
		c->room * sizeof(struct client_room) + offsetof(struct client_room, in) };
	greeting.kind = CONTROL_WELCOME;
	pd.ptr = welcome;
	pd.len = (uint8_t)control_greeting_encode(&greeting, welcome);
	(void)rpma_uv_then(
		rpma_uv_recv(c->conn, &c->recv_op, in, CONTROL_MESSAGE_MAX), on_message, c);
	(void)rpma_uv_then(rpma_uv_accept(req, &c->accept_op, c->conn, &pd), on_accepted, c);
	(void)rpma_uv_then(rpma_uv_conn_end(c->conn, &c->end_op), on_end, c);
	timer_set(c);
}

void clients_close(struct clients *cl)
{
	struct client *c;

	cl->closing = true;
	LIST_FOREACH (c, &cl->all, link)
		client_shut(c);
	if (cl->count == 0)
		cl->gone(cl);
}

int clients_init(struct clients *cl)
{
	size_t size = cl->max * sizeof(struct client_room);

	digests_init(&cl->digests, cl->reactor->loop, cl->export);
	LIST_INIT(&cl->all);
	cl->count = 0;
	cl->closing = false;
	cl->rooms_mr = NULL;
	cl->cfg = NULL;
	cl->free_rooms = calloc(cl->max, sizeof(*cl->free_rooms));
	cl->rooms = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	if (!cl->free_rooms || !cl->rooms || rpma_conn_cfg_new(&cl->cfg)) {
		clients_fini(cl);
		return fail(EXIT_RESOURCES, "serve: %s", reason(UV_ENOMEM));
	}
	for (uint32_t i = 0; i < cl->max; i++)
		cl->free_rooms[i] = i;
	memset(cl->rooms, 0, size);
	(void)rpma_conn_cfg_set_sq_size(cl->cfg, SEND_QUEUE);
	(void)rpma_conn_cfg_set_rq_size(cl->cfg, RECV_QUEUE);

	int ret = register_memory(cl->peer, cl->rooms, size,
		RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV, " for messages", &cl->rooms_mr);
	if (ret) {
		clients_fini(cl);
		return ret;
	}
	return 0;
}

void clients_fini(struct clients *cl)
{
	assert(cl->count == 0);
	(void)rpma_mr_dereg(&cl->rooms_mr);
	(void)rpma_conn_cfg_delete(&cl->cfg);
	free(cl->rooms);
	free(cl->free_rooms);
}
