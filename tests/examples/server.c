/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * server ADDR PORT - a server in callbacks: it offers some memory and echoes messages, to many
 * clients at once, until SIGTERM
 */
#include "session.h"

#define SIZE  64
#define USAGE (RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV)

/* clients may read and write it */
static char offered[1 << 20] = "what the server offers";
static char desc[21];
static const struct rpma_conn_private_data pd = { desc, sizeof(desc) };
static struct rpma_mr_local *offer;
static struct session s;

/* a client: its connection, one message of it, and the operations on that */
struct client {
	rpma_uv_conn_t *conn;
	rpma_uv_op_t accept, recv, send, end;
	struct rpma_mr_local *mr;
	char message[SIZE];
};

static void on_recv(rpma_uv_future_t *f, int status);

static void receive(struct client *client)
{
	const rpma_uv_local_t message = { client->mr, 0 };

	rpma_uv_then(
		rpma_uv_recv(client->conn, &client->recv, message, SIZE),
		on_recv, client);
}

static void on_sent(rpma_uv_future_t *f, int status)
{
	if (!status)
		receive(f->data);
}

static void on_recv(rpma_uv_future_t *f, int status)
{
	struct client *client = f->data;
	const rpma_uv_local_t message = { client->mr, 0 };

	if (!status)
		rpma_uv_then(rpma_uv_send(client->conn, &client->send,
				     message, (size_t)f->result, 0),
			on_sent, client);
}

static void on_closed(void *data)
{
	struct client *client = data;

	rpma_mr_dereg(&client->mr);
	free(client);
}

/* the one place where a connection ends, whatever the reason */
static void on_end(rpma_uv_future_t *f, int status)
{
	struct client *client = f->data;

	(void)status;
	rpma_uv_conn_close(client->conn, on_closed, client);
}

static void on_request(
	rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	struct client *client = calloc(1, sizeof(*client));

	(void)ep, (void)data;
	must(!client);
	must(rpma_mr_reg(
		s.peer, client->message, SIZE, USAGE, &client->mr));
	must(rpma_uv_conn_new(&s.reactor, s.peer, NULL, &client->conn));
	receive(client); /* posted before the client may send */
	rpma_uv_accept(req, &client->accept, client->conn, &pd);
	rpma_uv_then(rpma_uv_conn_end(client->conn, &client->end), on_end,
		client);
}

static void on_signal(uv_signal_t *handle, int signum)
{
	(void)signum;
	uv_close((uv_handle_t *)handle, NULL);
	/* and all connections with it */
	rpma_uv_reactor_close(&s.reactor, NULL, NULL);
}

int main(int argc, char **argv)
{
	uv_signal_t sigterm;
	rpma_uv_ep_t *ep;

	if (argc != 3)
		return 2;
	session_start(&s, argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	must(rpma_mr_reg(s.peer, offered, sizeof(offered),
		RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST,
		&offer));
	must(rpma_mr_get_descriptor(offer, desc));
	must(rpma_uv_listen(&s.reactor, s.peer, argv[1], argv[2], 0,
		on_request, NULL, &ep));
	must(uv_signal_init(s.loop, &sigterm));
	must(uv_signal_start(&sigterm, on_signal, SIGTERM));
	printf("listening on %s:%s\n", argv[1], argv[2]);
	fflush(stdout);
	uv_run(s.loop, UV_RUN_DEFAULT);
	must(rpma_mr_dereg(&offer));
	return rpma_peer_delete(&s.peer) != 0;
}
