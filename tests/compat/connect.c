/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* connect.c - endpoints, connection requests, connections */

#include <fcntl.h>
#include <string.h>

#include "ends.h"

/* what InfiniBand and RoCE deliver, whatever was sent */
#define CLIENT_DATA 56
#define SERVER_DATA 196

static bool is_blocking(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	MUST(flags >= 0);
	return !(flags & O_NONBLOCK);
}

static struct rpma_conn_private_data data_of(const char *text)
{
	return (struct rpma_conn_private_data){ (void *)text, (uint8_t)(strlen(text) + 1) };
}

/* the text, and zeroes up to the size of the field; from a device that pads */
static void padded(const struct rpma_conn_private_data *pdata, const char *text, size_t size)
{
	const size_t len = strlen(text) + (text[0] != '\0');

	MUST(pdata->ptr != NULL);
	MUST_EQ(pdata->len, size);
	MUST(memcmp(pdata->ptr, text, len) == 0);
	MUST(zeroed((const uint8_t *)pdata->ptr + len, size - len));
}

/* there is no private data, not even zeroes */
static void data_none(const struct rpma_conn *conn)
{
	struct rpma_conn_private_data pdata = { UNTOUCHED, 42 };

	MUST_EQ(rpma_conn_get_private_data(conn, &pdata), 0);
	MUST(pdata.ptr == NULL);
	MUST_EQ(pdata.len, 0);
}

/* ---- endpoints ------------------------------------------------------------------------------- */

static void ep_listen(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_ep *ep = NULL;
	int fd = -1;

	MUST_EQ(rpma_ep_listen(peer, compat_addr(), ENDS_PORT, &ep), 0);
	MUST_EQ(rpma_ep_get_fd(ep, &fd), 0);
	MUST(is_blocking(fd));
	MUST(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	MUST(!readable(fd, 0));
	MUST_EQ(rpma_ep_shutdown(&ep), 0);
	MUST(ep == NULL);
	/* the port is free again */
	MUST_EQ(rpma_ep_listen(peer, compat_addr(), ENDS_PORT, &ep), 0);
	MUST_EQ(rpma_ep_shutdown(&ep), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void ep_null(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_ep *ep = UNTOUCHED, *none = NULL;
	struct rpma_conn_req *req = UNTOUCHED;
	int fd = 42;

	MUST_EQ(rpma_ep_listen(NULL, compat_addr(), ENDS_PORT, &ep), RPMA_E_INVAL);
	MUST_EQ(rpma_ep_listen(peer, NULL, ENDS_PORT, &ep), RPMA_E_INVAL);
	MUST_EQ(rpma_ep_listen(peer, compat_addr(), NULL, &ep), RPMA_E_INVAL);
	MUST(ep == UNTOUCHED);
	MUST_EQ(rpma_ep_listen(peer, compat_addr(), ENDS_PORT, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_ep_listen(peer, compat_addr(), ENDS_PORT, &ep), 0);
	MUST_EQ(rpma_ep_get_fd(NULL, &fd), RPMA_E_INVAL);
	MUST_EQ(rpma_ep_get_fd(ep, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_ep_next_conn_req(NULL, NULL, &req), RPMA_E_INVAL);
	MUST_EQ(rpma_ep_next_conn_req(ep, NULL, NULL), RPMA_E_INVAL);
	MUST(fd == 42 && req == UNTOUCHED);
	MUST_EQ(rpma_ep_shutdown(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_ep_shutdown(&none), 0);
	MUST_EQ(rpma_ep_shutdown(&ep), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void ep_twice(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_ep *ep = NULL, *second = UNTOUCHED;

	MUST_EQ(rpma_ep_listen(peer, compat_addr(), ENDS_PORT, &ep), 0);
	MUST_EQ(rpma_ep_listen(peer, compat_addr(), ENDS_PORT, &second), RPMA_E_PROVIDER);
	MUST_EQ(rpma_ep_listen(peer, "203.0.113.1", ENDS_PORT, &second), RPMA_E_PROVIDER);
	MUST(second == UNTOUCHED);
	MUST_EQ(rpma_ep_shutdown(&ep), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void ep_readable(void)
{
	struct ends e;
	int fd;

	ends_open(&e);
	MUST_EQ(rpma_ep_get_fd(e.ep, &fd), 0);
	ends_request(&e, NULL);
	MUST(!readable(fd, QUIET_MS)); /* nothing is sent yet */
	ends_call(&e, NULL);
	ends_take(&e, NULL);
	MUST(!readable(fd, 0));
	ends_close(&e);
}

static void ep_empty(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_conn_req *req = UNTOUCHED;
	struct rpma_ep *ep = NULL;
	int fd, ret;

	MUST_EQ(rpma_ep_listen(peer, compat_addr(), ENDS_PORT, &ep), 0);
	MUST_EQ(rpma_ep_get_fd(ep, &fd), 0);
	nonblocking(fd);
	compat_log_to(RPMA_LOG_LEVEL_DEBUG);
	ret = rpma_ep_next_conn_req(ep, NULL, &req);
	IMPROVED(1, ret == RPMA_E_NO_EVENT && compat_log.count[RPMA_LOG_LEVEL_ERROR] == 0,
		ret == RPMA_E_PROVIDER && compat_log.count[RPMA_LOG_LEVEL_ERROR] == 1);
	MUST(req == UNTOUCHED);
	MUST_EQ(rpma_ep_shutdown(&ep), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void ep_gone(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_ep_shutdown(&e.ep), 0);
	MUST_EQ(rpma_recv(e.s.conn, e.s.mr, 0, 64, CONTEXT(1)), 0);
	MUST_EQ(rpma_send(e.c.conn, e.c.mr, 0, 64, RPMA_F_COMPLETION_ALWAYS, CONTEXT(2)), 0);
	completion_expect(e.c.cq, 2);
	completion_expect(e.s.cq, 1);
	MUST_EQ(rpma_conn_disconnect(e.c.conn), 0);
	event_expect(e.s.conn, RPMA_CONN_CLOSED);
	ends_close(&e);
}

const struct check ep_checks[] = {
	{ "it listens, its descriptor blocks, and the port is free afterwards", NULL, ep_listen },
	{ "NULL is invalid, a NULL object can be shut down", NULL, ep_null },
	{ "a port that is taken, an address of nobody here: the provider's error", NULL, ep_twice },
	{ "the descriptor is readable while a request waits", NULL, ep_readable },
	{ "without a request, a non-blocking one has no event", NULL, ep_empty, .differs = true },
	{ "connections outlive it", "4", ep_gone },
	{ NULL },
};

/* ---- requests -------------------------------------------------------------------------------- */

static void req_alone(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_conn_private_data pdata = { UNTOUCHED, 42 };
	struct rpma_conn_req *req = NULL;

	/* nobody listens, and nobody is asked */
	MUST_EQ(rpma_conn_req_new(peer, compat_addr(), ENDS_PORT, NULL, &req), 0);
	MUST_EQ(rpma_conn_req_get_private_data(req, &pdata), 0);
	MUST(pdata.ptr == NULL);
	MUST_EQ(pdata.len, 0);
	MUST_EQ(rpma_conn_req_delete(&req), 0);
	MUST(req == NULL);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void req_null(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_conn_private_data pdata = { UNTOUCHED, 42 };
	struct rpma_conn_req *req = UNTOUCHED, *none = NULL;
	struct rpma_conn *conn = UNTOUCHED;

	MUST_EQ(rpma_conn_req_new(NULL, compat_addr(), ENDS_PORT, NULL, &req), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_req_new(peer, NULL, ENDS_PORT, NULL, &req), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_req_new(peer, compat_addr(), NULL, NULL, &req), RPMA_E_INVAL);
	MUST(req == UNTOUCHED);
	MUST_EQ(rpma_conn_req_new(peer, compat_addr(), ENDS_PORT, NULL, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_req_new(peer, compat_addr(), ENDS_PORT, NULL, &req), 0);
	MUST_EQ(rpma_conn_req_get_private_data(NULL, &pdata), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_req_get_private_data(req, NULL), RPMA_E_INVAL);
	MUST(pdata.ptr == UNTOUCHED && pdata.len == 42);
	MUST_EQ(rpma_conn_req_connect(NULL, NULL, &conn), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_req_connect(&none, NULL, &conn), RPMA_E_INVAL);
	MUST(conn == UNTOUCHED);
	MUST_EQ(rpma_conn_req_delete(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_req_delete(&none), 0);
	MUST_EQ(rpma_conn_req_delete(&req), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void req_elsewhere(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_conn_req *req = UNTOUCHED;

	MUST_EQ(rpma_conn_req_new(peer, compat_addr(), "no such port", NULL, &req),
		RPMA_E_PROVIDER);
	MUST(req == UNTOUCHED);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void req_too_large(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_conn_req *req = UNTOUCHED;

	for (int i = 0; i < 4; i++) {
		struct rpma_conn_cfg *cfg = CFG(.cq_size = i == 0 ? UINT32_MAX : 0,
			.rcq_size = i == 1 ? UINT32_MAX : 0, .sq_size = i == 2 ? UINT32_MAX : 0,
			.rq_size = i == 3 ? UINT32_MAX : 0);

		MUST_EQ(rpma_conn_req_new(peer, compat_addr(), ENDS_PORT, cfg, &req),
			RPMA_E_PROVIDER);
		MUST(req == UNTOUCHED);
		MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
	}
	MUST_EQ(rpma_peer_delete(&peer), 0); /* what was made on the way is gone */
}

static void req_recv_invalid(void)
{
	struct ends e;

	ends_open(&e);
	ends_request(&e, NULL);
	MUST_EQ(rpma_conn_req_recv(NULL, e.c.mr, 0, 64, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_req_recv(e.c.req, NULL, 0, 64, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_req_recv(e.c.req, NULL, 0, 0, NULL), RPMA_E_INVAL);
	ends_close(&e);
}

/* receives on both sides before there is a connection; both contexts are NULL and mean something */
static void req_recv(void)
{
	struct ibv_wc wc;
	struct ends e;

	ends_open(&e);
	ends_request(&e, NULL);
	MUST_EQ(rpma_conn_req_recv(e.c.req, e.c.mr, 0, 64, NULL), 0);
	ends_call(&e, NULL);
	ends_take(&e, NULL);
	MUST_EQ(rpma_conn_req_recv(e.s.req, e.s.mr, 0, 64, NULL), 0);
	MUST_EQ(rpma_conn_req_recv(e.s.req, e.s.mr, 64, 64, CONTEXT(5)), 0);
	ends_accept(&e, NULL);
	ends_established(&e);
	MUST_EQ(rpma_send(e.c.conn, e.c.mr, 100, 10, RPMA_F_COMPLETION_ON_ERROR, NULL), 0);
	MUST_EQ(rpma_send(e.c.conn, e.c.mr, 100, 11, RPMA_F_COMPLETION_ON_ERROR, NULL), 0);
	wc = completion_expect(e.s.cq, 0);
	MUST_EQ(wc.byte_len, 10);
	wc = completion_expect(e.s.cq, 5);
	MUST_EQ(wc.byte_len, 11);
	MUST_EQ(rpma_send(e.s.conn, e.s.mr, 200, 12, RPMA_F_COMPLETION_ON_ERROR, NULL), 0);
	wc = completion_expect(e.c.cq, 0);
	MUST_EQ(wc.byte_len, 12);
	ends_close(&e);
}

static void req_data(void)
{
	const struct rpma_conn_private_data sent = data_of("from the client");
	struct rpma_conn_private_data got = { NULL, 0 }, later = { NULL, 0 };
	struct ends e;

	ends_open(&e);
	ends_request(&e, NULL);
	ends_call(&e, &sent);
	ends_take(&e, NULL);
	MUST_EQ(rpma_conn_req_get_private_data(e.s.req, &got), 0);
	padded(&got, "from the client", CLIENT_DATA);
	ends_accept(&e, NULL);
	/* the same bytes at the same place, until the connection ends */
	MUST_EQ(rpma_conn_get_private_data(e.s.conn, &later), 0);
	MUST(later.ptr == got.ptr);
	MUST_EQ(later.len, got.len);
	ends_established(&e);
	MUST_EQ(rpma_conn_get_private_data(e.s.conn, &later), 0);
	padded(&later, "from the client", CLIENT_DATA);
	ends_close(&e);
}

static void req_data_full(void)
{
	uint8_t client[CLIENT_DATA], server[SERVER_DATA];
	const struct rpma_conn_private_data c = { client, sizeof(client) };
	const struct rpma_conn_private_data s = { server, sizeof(server) };
	struct rpma_conn_private_data got = { NULL, 0 };
	struct ends e;

	fill(client, sizeof(client), 1);
	fill(server, sizeof(server), 2);
	ends_open(&e);
	ends_request(&e, NULL);
	ends_call(&e, &c);
	ends_take(&e, NULL);
	ends_accept(&e, &s);
	ends_established(&e);
	MUST_EQ(rpma_conn_get_private_data(e.s.conn, &got), 0);
	MUST_EQ(got.len, CLIENT_DATA);
	MUST(filled(got.ptr, CLIENT_DATA, 1));
	MUST_EQ(rpma_conn_get_private_data(e.c.conn, &got), 0);
	MUST_EQ(got.len, SERVER_DATA);
	MUST(filled(got.ptr, SERVER_DATA, 2));
	ends_close(&e);
}

static void req_data_too_long(void)
{
	uint8_t bytes[255] = { 0 };
	struct rpma_conn_private_data pdata = { bytes, CLIENT_DATA + 1 };
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct rpma_conn *conn = UNTOUCHED;
	struct ends e;
	int fd;

	ends_open(&e);
	ends_request(&e, NULL);
	MUST_EQ(rpma_conn_req_connect(&e.c.req, &pdata, &conn), RPMA_E_PROVIDER);
	MUST(e.c.req == NULL);
	MUST(conn == UNTOUCHED);
	ends_request(&e, NULL);
	ends_call(&e, NULL);
	ends_take(&e, NULL);
	pdata.len = SERVER_DATA + 1;
	MUST_EQ(rpma_conn_req_connect(&e.s.req, &pdata, &conn), RPMA_E_PROVIDER);
	MUST(e.s.req == NULL);
	MUST(conn == UNTOUCHED);
	/* is the client told? some providers do it themselves */
	MUST_EQ(rpma_conn_get_event_fd(e.c.conn, &fd), 0);
	if (readable(fd, compat_on_ours() ? WAIT_MS : QUIET_MS))
		MUST_EQ(rpma_conn_next_event(e.c.conn, &event), 0);
	IMPROVED(2, event == RPMA_CONN_REJECTED, event == RPMA_CONN_UNDEFINED);
	ends_close(&e);
}

static void req_connect_invalid(void)
{
	struct rpma_conn_private_data none = { NULL, 1 }, empty = { "x", 0 };
	const struct rpma_conn_private_data *const bad[] = { &none, &empty };
	struct rpma_conn *conn = UNTOUCHED;
	struct ends e;

	ends_open(&e);
	for (int i = 0; i < 2; i++) {
		ends_request(&e, NULL);
		MUST_EQ(rpma_conn_req_connect(&e.c.req, bad[i], &conn), RPMA_E_INVAL);
		MUST(e.c.req == NULL);
	}
	ends_request(&e, NULL);
	MUST_EQ(rpma_conn_req_connect(&e.c.req, NULL, NULL), RPMA_E_INVAL);
	MUST(e.c.req == NULL);
	MUST(conn == UNTOUCHED);
	ends_close(&e);
}

/* how the server can end a request, and the client hears the same */
static void rejected_by(void (*end)(struct ends *e))
{
	struct ends e;

	ends_open(&e);
	ends_request(&e, NULL);
	ends_call(&e, NULL);
	ends_take(&e, NULL);
	end(&e);
	MUST(e.s.req == NULL);
	event_expect(e.c.conn, RPMA_CONN_REJECTED);
	data_none(e.c.conn);
	ends_close(&e);
}

static void by_delete(struct ends *e)
{
	MUST_EQ(rpma_conn_req_delete(&e->s.req), 0);
}

static void by_nowhere(struct ends *e)
{
	MUST_EQ(rpma_conn_req_connect(&e->s.req, NULL, NULL), RPMA_E_INVAL);
}

static void by_bad_data(struct ends *e)
{
	struct rpma_conn_private_data empty = { "x", 0 };
	struct rpma_conn *conn = UNTOUCHED;

	MUST_EQ(rpma_conn_req_connect(&e->s.req, &empty, &conn), RPMA_E_INVAL);
	MUST(conn == UNTOUCHED);
}

static void req_rejected(void)
{
	rejected_by(by_delete);
}

static void req_rejected_nowhere(void)
{
	rejected_by(by_nowhere);
}

static void req_rejected_bad_data(void)
{
	rejected_by(by_bad_data);
}

static void req_nobody(void)
{
	struct ends e;

	ends_open(&e);
	MUST_EQ(rpma_ep_shutdown(&e.ep), 0);
	ends_request(&e, NULL);
	ends_call(&e, NULL);
	event_expect(e.c.conn, RPMA_CONN_REJECTED);
	data_none(e.c.conn);
	ends_close(&e);
}

const struct check conn_req_checks[] = {
	{ "it needs no listener, and has no private data", NULL, req_alone },
	{ "NULL is invalid, a NULL object can be deleted", NULL, req_null },
	{ "a port that does not exist is the provider's error", NULL, req_elsewhere },
	{ "so are sizes beyond the device, the output untouched", "6.7", req_too_large },
	{ "a receive needs a region, even of no bytes", NULL, req_recv_invalid },
	{ "receives posted to it are there first; NULL is a context", NULL, req_recv },
	{ "private data comes with it, padded, and stays in its place", "10.3", req_data },
	{ "56 bytes one way and 196 the other arrive as they are", "10.3", req_data_full },
	{ "more than that is the provider's error, and ends the request", "10.3", req_data_too_long,
		.differs = true },
	{ "no place for the connection, bad data: invalid, and the request is gone", NULL,
		req_connect_invalid },
	{ "deleting an incoming one rejects the client", NULL, req_rejected },
	{ "so does connecting it to nowhere", NULL, req_rejected_nowhere },
	{ "so does connecting it with bad data", NULL, req_rejected_bad_data },
	{ "where nobody listens it is rejected", "6.11", req_nobody },
	{ NULL },
};

/* ---- connections ----------------------------------------------------------------------------- */

static void conn_data(void)
{
	const struct rpma_conn_private_data sent = data_of("from the server");
	struct rpma_conn_private_data got = { UNTOUCHED, 42 };
	struct ends e;

	ends_open(&e);
	ends_request(&e, NULL);
	ends_call(&e, NULL);
	data_none(e.c.conn);
	ends_take(&e, NULL);
	ends_accept(&e, &sent);
	ends_established(&e);
	MUST_EQ(rpma_conn_get_private_data(e.c.conn, &got), 0);
	padded(&got, "from the server", SERVER_DATA);
	ends_close(&e);
}

static void conn_data_none(void)
{
	struct rpma_conn_private_data got = { NULL, 0 };
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_conn_get_private_data(e.c.conn, &got), 0);
	padded(&got, "", SERVER_DATA);
	MUST_EQ(rpma_conn_get_private_data(e.s.conn, &got), 0);
	padded(&got, "", CLIENT_DATA);
	ends_close(&e);
}

static void conn_fd(void)
{
	struct ends e;
	int fd[2] = { -1, -1 };

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_conn_get_event_fd(e.c.conn, &fd[0]), 0);
	MUST_EQ(rpma_conn_get_event_fd(e.s.conn, &fd[1]), 0);
	MUST(fd[0] != fd[1]); /* each its own */
	for (int i = 0; i < 2; i++) {
		MUST(is_blocking(fd[i]));
		MUST(!readable(fd[i], 0));
	}
	MUST_EQ(rpma_conn_disconnect(e.c.conn), 0);
	MUST(readable(fd[1], WAIT_MS));
	event_expect(e.s.conn, RPMA_CONN_CLOSED);
	MUST(!readable(fd[1], 0));
	ends_close(&e);
}

static void conn_driven(void)
{
	struct ends e;

	ends_open(&e);
	ends_request(&e, NULL);
	ends_call(&e, NULL);
	ends_take(&e, NULL);
	ends_accept(&e, NULL);
	/* the client has to take its event: only then does the server hear anything */
	event_none(e.s.conn);
	ends_established(&e);
	ends_close(&e);
}

static void conn_empty(void)
{
	enum rpma_conn_event event = (enum rpma_conn_event)42;
	struct ends e;
	int fd, ret;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_conn_get_event_fd(e.c.conn, &fd), 0);
	nonblocking(fd);
	compat_log_to(RPMA_LOG_LEVEL_DEBUG);
	ret = rpma_conn_next_event(e.c.conn, &event);
	IMPROVED(1, ret == RPMA_E_NO_EVENT && compat_log.count[RPMA_LOG_LEVEL_ERROR] == 0,
		ret == RPMA_E_PROVIDER && compat_log.count[RPMA_LOG_LEVEL_ERROR] == 1);
	MUST_EQ(event, 42);
	ends_close(&e);
}

static void closed_by(struct rpma_conn *first, struct rpma_conn *second)
{
	MUST_EQ(rpma_conn_disconnect(first), 0);
	event_expect(second, RPMA_CONN_CLOSED);
	/* it is over; that the other one disconnects, too, is no error, and the first one's answer */
	MUST_EQ(rpma_conn_disconnect(second), 0);
	event_expect(first, RPMA_CONN_CLOSED);
}

static void conn_closed(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	closed_by(e.c.conn, e.s.conn);
	ends_close(&e);
}

static void conn_closed_by_server(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	closed_by(e.s.conn, e.c.conn);
	ends_close(&e);
}

static void conn_flushed(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	for (uint64_t i = 0; i < 3; i++)
		MUST_EQ(rpma_recv(e.s.conn, e.s.mr, 64 * i, 64, CONTEXT(i)), 0);
	MUST_EQ(rpma_conn_disconnect(e.s.conn), 0);
	for (uint64_t i = 0; i < 3; i++) {
		struct ibv_wc wc = completion_take(e.s.cq);

		MUST_EQ(wc.wr_id, i);
		MUST_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		MUST_EQ(wc.qp_num, e.s.qp_num);
	}
	ends_close(&e);
}

static void conn_deleted(void)
{
	struct ends e;

	/* the client's is deleted before the server has answered, then after */
	ends_open(&e);
	ends_request(&e, NULL);
	ends_call(&e, NULL);
	ends_await_request(&e); /* or it would meet the next listener */
	MUST_EQ(rpma_conn_delete(&e.c.conn), 0);
	MUST(e.c.conn == NULL);
	ends_close(&e);
	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_conn_delete(&e.c.conn), 0);
	event_expect(e.s.conn, RPMA_CONN_CLOSED);
	ends_close(&e);
}

static void conn_null(void)
{
	enum rpma_conn_event event = (enum rpma_conn_event)42;
	struct rpma_conn_private_data pdata = { UNTOUCHED, 42 };
	struct rpma_conn *none = NULL;
	struct rpma_cq *cq = UNTOUCHED;
	struct rpma_peer_cfg *pcfg = NULL;
	uint32_t qp_num = 42;
	bool is_rcq = true;
	int fd = 42;

	MUST_EQ(rpma_peer_cfg_new(&pcfg), 0);
	MUST_EQ(rpma_conn_get_event_fd(NULL, &fd), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_next_event(NULL, &event), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_get_private_data(NULL, &pdata), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_apply_remote_peer_cfg(NULL, pcfg), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_get_qp_num(NULL, &qp_num), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_get_cq(NULL, &cq), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_get_rcq(NULL, &cq), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_get_compl_fd(NULL, &fd), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_wait(NULL, 0, &cq, &is_rcq), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_disconnect(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_delete(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_delete(&none), 0);
	MUST(fd == 42 && event == 42 && pdata.ptr == UNTOUCHED && qp_num == 42);
	MUST(cq == UNTOUCHED && is_rcq);
	MUST_EQ(rpma_peer_cfg_delete(&pcfg), 0);
}

static void conn_outputs_null(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_conn_get_event_fd(e.c.conn, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_next_event(e.c.conn, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_get_private_data(e.c.conn, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_apply_remote_peer_cfg(e.c.conn, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_get_qp_num(e.c.conn, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_get_cq(e.c.conn, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_get_rcq(e.c.conn, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_get_compl_fd(e.c.conn, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_wait(e.c.conn, 0, NULL, NULL), RPMA_E_INVAL);
	ends_close(&e);
}

static void conn_logged(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	compat_log_to(RPMA_LOG_LEVEL_NOTICE);
	MUST_EQ(rpma_conn_disconnect(e.c.conn), 0);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_NOTICE], 1);
	event_expect(e.s.conn, RPMA_CONN_CLOSED);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_NOTICE], 2);
	MUST(strstr(compat_log.message, "Connection closed") != NULL);
	ends_close(&e);
}

const struct check conn_checks[] = {
	{ "the server's private data is there with ESTABLISHED, padded", "10.3", conn_data },
	{ "without any, there are zeroes on both sides", "10.3", conn_data_none },
	{ "each has a descriptor of its own, blocking, readable while an event waits", "15",
		conn_fd },
	{ "the client's next_event is what establishes the server", "15", conn_driven },
	{ "without an event, a non-blocking one has none", NULL, conn_empty, .differs = true },
	{ "the client disconnects: CLOSED on both sides, and once more is no error", NULL,
		conn_closed },
	{ "the server disconnects: the same", NULL, conn_closed_by_server },
	{ "what is posted is flushed", NULL, conn_flushed },
	{ "it can be deleted in any state; the other side is closed", NULL, conn_deleted },
	{ "no connection is invalid, a NULL object can be deleted", NULL, conn_null },
	{ "no output is invalid", NULL, conn_outputs_null },
	{ "disconnection and event are logged as notices, by the event's text", "11", conn_logged },
	{ NULL },
};
