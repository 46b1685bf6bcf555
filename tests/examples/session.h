/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * session.h - what the examples begin and end with: a loop, a reactor, a peer, a connection to the
 * server example and the region it offers
 */
#ifndef EXAMPLES_SESSION_H
#define EXAMPLES_SESSION_H

#include <stdio.h>
#include <stdlib.h>
#include <librpma_uv.h>

struct session {
	uv_loop_t *loop;
	rpma_uv_reactor_t reactor;
	struct rpma_peer *peer;
	rpma_uv_conn_t *conn;
	struct rpma_mr_remote *offer; /* 1 MiB */
};

/* run the loop until it is done; one line and the end when it failed */
static inline int64_t await(rpma_uv_future_t *f)
{
	int64_t result = 0;

	if (rpma_uv_wait(f, UINT64_MAX, &result)) {
		fprintf(stderr, "%s\n", rpma_uv_strerror(f));
		exit(1);
	}
	return result;
}

static inline void must(int status)
{
	if (status) {
		fprintf(stderr, "failed: %d\n", status);
		exit(1);
	}
}

/* what the server at the other end offers, for rpma_mr_remote_delete() */
static inline struct rpma_mr_remote *session_offer(
	const rpma_uv_conn_t *conn)
{
	struct rpma_conn_private_data pd;
	struct rpma_mr_remote *offer;

	must(rpma_uv_conn_private_data(conn, &pd));
	must(rpma_mr_remote_from_descriptor(pd.ptr, pd.len, &offer));
	return offer;
}

/* a NEW connection becomes READY; returns what it offers */
static inline struct rpma_mr_remote *session_connect(
	rpma_uv_conn_t *conn, const char *addr, const char *port)
{
	rpma_uv_op_t op;

	await(rpma_uv_connect(conn, &op, addr, port, NULL));
	return session_offer(conn);
}

/* without a connection */
static inline void session_start(struct session *s, const char *addr,
	enum rpma_util_ibv_context_type whose)
{
	rpma_uv_op_t op;

	s->loop = uv_default_loop();
	must(rpma_uv_reactor_init(s->loop, &s->reactor, NULL));
	await(rpma_uv_peer_new(&s->reactor, &op, addr, whose, &s->peer));
}

static inline void session_open(
	struct session *s, const char *addr, const char *port)
{
	session_start(s, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE);
	must(rpma_uv_conn_new(&s->reactor, s->peer, NULL, &s->conn));
	s->offer = session_connect(s->conn, addr, port);
}

/* what was made on the reactor goes with it; local regions and the peer are left to the caller */
static inline void session_close(struct session *s)
{
	rpma_uv_reactor_close(&s->reactor, NULL, NULL);
	uv_run(s->loop, UV_RUN_DEFAULT);
	must(rpma_mr_remote_delete(&s->offer));
}

#endif
