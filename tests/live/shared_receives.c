/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * shared_receives.c - connections of a reactor draw their receives from one shared receive queue
 *
 * Proven: every message is taken once and whole, and is led back to the connection it came over;
 * connections end one after the other, without taking receives from those that go on; what is left
 * at the end is given back, after the queue's last connection.
 *
 *   client: connections 0..3                 server: one queue of receives
 *   connect, messages of all, in turns --->  each names its connection and its number
 *   0 disconnects, messages of the others, 1 disconnects, ...
 */

#include "live.h"

#define PORT    "7313"
#define CONNS   4
#define MESSAGE 64
#define ROUNDS  16 /* messages of a connection in each phase */
#define RECVS   (CONNS * ROUNDS) /* whoever is fast leaves some for the others */

struct message {
	uint32_t from;
	uint32_t number;
};

/* ---- the server ------------------------------------------------------------------------------ */

static struct server {
	struct live_node node;
	struct rpma_mr_local *mr;
	uint8_t *memory;
	rpma_uv_ep_t *ep;
	rpma_uv_srq_t *srq;
	rpma_uv_op_t recvs[RECVS];
	rpma_uv_conn_t *conns[CONNS]; /* as they have named themselves */
	uint32_t next[CONNS]; /* number of the next message */
	unsigned ended, cancelled;
	bool is_closing;
} server;

static void server_received(rpma_uv_future_t *f, int status);

static void server_recv(unsigned i)
{
	const rpma_uv_local_t dst = { server.mr, (size_t)i * MESSAGE };

	(void)rpma_uv_then(rpma_uv_srq_recv(server.srq, &server.recvs[i], dst, MESSAGE),
		server_received, &server.recvs[i]);
}

static void server_received(rpma_uv_future_t *f, int status)
{
	unsigned i = (unsigned)((rpma_uv_op_t *)f->data - server.recvs);
	const struct message *message = (void *)(server.memory + (size_t)i * MESSAGE);
	rpma_uv_recv_info_t info;

	/* a message that came before the last connection went may be heard of after that */
	if (server.is_closing && status == UV_ECANCELED) {
		server.cancelled++;
		return;
	}
	CHECK_OK(status);
	CHECK_OK(rpma_uv_recv_info(f, &info));
	CHECK_INT(f->result, sizeof(*message));
	CHECK(info.has_imm);
	CHECK_INT(info.imm, message->from);
	CHECK(message->from < CONNS);
	CHECK(info.conn != NULL);
	if (server.conns[message->from] == NULL)
		server.conns[message->from] = info.conn;
	CHECK(server.conns[message->from] == info.conn);
	CHECK_INT(message->number, server.next[message->from]);
	server.next[message->from]++;
	server_recv(i);
}

static void server_gone(void *data)
{
	(void)data;
	CHECK_INT(server.cancelled, RECVS);
}

static void server_ended(rpma_uv_future_t *f, int status)
{
	CHECK_INT(status, UV_ECONNRESET);
	rpma_uv_conn_close(f->data, NULL, NULL);
	if (++server.ended < CONNS)
		return;
	server.is_closing = true;
	rpma_uv_srq_close(server.srq, server_gone, NULL);
	rpma_uv_ep_close(server.ep, NULL, NULL);
}

static void server_requested(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	rpma_uv_conn_t *conn;

	(void)ep;
	(void)data;
	CHECK_OK(rpma_uv_conn_new(&server.node.reactor, server.node.peer, NULL, &conn));
	CHECK_OK(rpma_uv_conn_set_srq(conn, server.srq));
	rpma_uv_then(rpma_uv_conn_end(conn, NULL), server_ended, conn);
	(void)rpma_uv_accept(req, NULL, conn, NULL);
}

static int serve(const char *addr)
{
	live_node_open(&server.node, addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL);
	server.memory = live_memory(RECVS * MESSAGE);
	CHECK_OK(rpma_mr_reg(
		server.node.peer, server.memory, RECVS * MESSAGE, RPMA_MR_USAGE_RECV, &server.mr));
	CHECK_OK(rpma_uv_srq_new(&server.node.reactor, server.node.peer, RECVS, &server.srq));
	for (unsigned i = 0; i < RECVS; i++)
		server_recv(i);
	CHECK_OK(rpma_uv_listen(&server.node.reactor, server.node.peer, addr, PORT, 0,
		server_requested, NULL, &server.ep));
	live_ready();
	CHECK_OK(uv_run(&server.node.loop, UV_RUN_DEFAULT));
	CHECK_INT(server.cancelled, RECVS);
	/* one that has left had sent one phase less than the next */
	for (unsigned i = 0; i < CONNS; i++)
		CHECK_INT(server.next[i], (i + 1) * ROUNDS);
	CHECK_OK(rpma_mr_dereg(&server.mr));
	live_node_close(&server.node);
	return 0;
}

/* ---- the client ------------------------------------------------------------------------------ */

static struct client {
	struct live_node node;
	struct rpma_mr_local *mr;
	struct message *messages; /* of each connection, one for each of a phase */
	rpma_uv_conn_t *conns[CONNS];
	rpma_uv_future_t *sent[CONNS * ROUNDS];
	uint32_t next[CONNS];
} client;

static void phase(unsigned first)
{
	unsigned count = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = first; i < CONNS; i++) {
			unsigned at = i * ROUNDS + round;
			const rpma_uv_local_t src = { client.mr, at * sizeof(struct message) };

			client.messages[at] =
				(struct message){ .from = i, .number = client.next[i]++ };
			client.sent[count++] = rpma_uv_send_with_imm(
				client.conns[i], NULL, src, sizeof(struct message), 0, i);
		}
	}
	CHECK_INT(AWAIT(rpma_uv_all(&client.node.reactor, NULL, client.sent, count), 0), count);
}

int main(void)
{
	const size_t size = CONNS * ROUNDS * sizeof(struct message);
	struct rpma_conn_cfg *cfg = NULL;
	const char *addr = live_addr();

	live_fork(serve, addr);
	live_node_open(&client.node, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, NULL);
	client.messages = live_memory(size);
	CHECK_OK(rpma_mr_reg(
		client.node.peer, client.messages, size, RPMA_MR_USAGE_SEND, &client.mr));
	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_rq_size(cfg, 0));
	for (unsigned i = 0; i < CONNS; i++) {
		CHECK_OK(rpma_uv_conn_new(
			&client.node.reactor, client.node.peer, cfg, &client.conns[i]));
		AWAIT(rpma_uv_connect(client.conns[i], NULL, addr, PORT, NULL), 0);
	}
	for (unsigned i = 0; i < CONNS; i++) {
		phase(i);
		AWAIT(rpma_uv_disconnect(client.conns[i], NULL), 0);
	}
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
	live_join();
	for (unsigned i = 0; i < CONNS; i++)
		rpma_uv_conn_close(client.conns[i], NULL, NULL);
	CHECK_OK(uv_run(&client.node.loop, UV_RUN_DEFAULT));
	CHECK_OK(rpma_mr_dereg(&client.mr));
	live_node_close(&client.node);
	return 0;
}
