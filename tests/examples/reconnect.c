/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * reconnect ADDR PORT LIVES - read what a server offers, and again each time that it has come back,
 * until it has lived so often
 */
#include "session.h"

#define SIZE 64

static struct session s;
static struct rpma_mr_local *mr;
static char bytes[SIZE];
static rpma_uv_op_t connecting, reading, ending;
static const char *addr, *port;
static int lives, seen;

static void come_back(void);

static void on_read(rpma_uv_future_t *f, int status)
{
	if (status) /* on_end tells why */
		return;
	(void)f;
	printf("life %d: %s\n", ++seen, bytes);
	fflush(stdout);
	if (seen == lives)
		rpma_uv_reactor_close(&s.reactor, NULL, NULL);
}

/* the one place where a connection ends; the next one is another */
static void on_end(rpma_uv_future_t *f, int status)
{
	(void)status;
	rpma_uv_conn_close(f->data, NULL, NULL);
	must(rpma_mr_remote_delete(&s.offer));
	if (seen < lives)
		come_back();
}

static void on_connected(rpma_uv_future_t *f, int status)
{
	const rpma_uv_local_t here = { mr, 0 };

	if (status)
		fprintf(stderr, "%s\n", rpma_uv_strerror(f));
	must(status);
	s.offer = session_offer(s.conn);
	rpma_uv_then(rpma_uv_conn_end(s.conn, &ending), on_end, s.conn);
	rpma_uv_then(rpma_uv_read(s.conn, &reading, here,
			     (rpma_uv_remote_t){ s.offer, 0 }, SIZE, 0),
		on_read, NULL);
}

static void come_back(void)
{
	const rpma_uv_reconnect_opts_t opts = { .size = sizeof(opts),
		.initial_ms = 10,
		.max_ms = 1000,
		.attempts = 1000 };

	rpma_uv_then(rpma_uv_reconnect(&s.reactor, &connecting, s.peer,
			     NULL, addr, port, NULL, &opts, &s.conn),
		on_connected, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	addr = argv[1];
	port = argv[2];
	lives = atoi(argv[3]);
	session_start(&s, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE);
	must(rpma_mr_reg(
		s.peer, bytes, SIZE, RPMA_MR_USAGE_READ_DST, &mr));
	come_back();
	uv_run(s.loop, UV_RUN_DEFAULT);
	must(rpma_mr_dereg(&mr));
	return rpma_peer_delete(&s.peer) != 0;
}
