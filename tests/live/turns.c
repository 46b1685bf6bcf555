/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * turns.c - two connections of one reactor share a wire: one with everything queued at once, the
 * other with a queue's length in flight
 *
 * Proven: while both have work, the greedy one gets no more than 60 % of the bytes, for equal
 * operations and for longer ones than the other's.
 */

#include "live.h"

#define PORT   "7308"
#define REGION (1 << 20)
#define DEPTH  64 /* of the send queues, and of the other's window */
#define BYTES  16384
#define GREEDY 10000
#define ROUNDS 2

/* ---- the server: two regions to write to, until both connections have ended ------------------ */

static struct server {
	struct live_node node;
	struct rpma_mr_local *mr;
	struct live_descriptor descriptor;
	rpma_uv_ep_t *ep;
	unsigned ended;
} server;

static void server_ended(rpma_uv_future_t *f, int status)
{
	(void)status;
	rpma_uv_conn_close(f->data, NULL, NULL);
	if (++server.ended == 2 * ROUNDS)
		rpma_uv_ep_close(server.ep, NULL, NULL);
}

static void server_requested(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	rpma_uv_conn_t *conn;

	(void)ep;
	(void)data;
	CHECK_OK(rpma_uv_conn_new(&server.node.reactor, server.node.peer, NULL, &conn));
	rpma_uv_then(rpma_uv_conn_end(conn, NULL), server_ended, conn);
	(void)rpma_uv_accept(req, NULL, conn, &server.descriptor.pd);
}

static int serve(const char *addr)
{
	live_node_open(&server.node, addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL);
	CHECK_OK(rpma_mr_reg(server.node.peer, live_memory(REGION), REGION, RPMA_MR_USAGE_WRITE_DST,
		&server.mr));
	live_descriptor_of(server.mr, &server.descriptor);
	CHECK_OK(rpma_uv_listen(&server.node.reactor, server.node.peer, addr, PORT, 0,
		server_requested, NULL, &server.ep));
	live_ready();
	CHECK_OK(uv_run(&server.node.loop, UV_RUN_DEFAULT));
	CHECK_OK(rpma_mr_dereg(&server.mr));
	live_node_close(&server.node);
	return 0;
}

/* ---- the client ------------------------------------------------------------------------------ */

struct end {
	rpma_uv_conn_t *conn;
	struct rpma_mr_remote *remote;
	size_t len;
	uint64_t bytes; /* done */
	unsigned left; /* operations not started */
	unsigned running;
};

static struct client {
	struct live_node node;
	struct rpma_mr_local *mr;
	struct end greedy, other;
	uint64_t other_bytes; /* when half of the greedy one's work was done */
} client;

static void start(struct end *end);

static void done(rpma_uv_future_t *f, int status)
{
	struct end *end = f->data;

	CHECK_OK(status);
	end->bytes += (uint64_t)f->result;
	end->running--;
	if (end == &client.greedy && end->bytes == GREEDY / 2 * end->len) {
		client.other_bytes = client.other.bytes;
		client.other.left = 0;
	}
	if (end->left > 0)
		start(end);
}

static void start(struct end *end)
{
	end->left--;
	end->running++;
	CHECK(rpma_uv_then(rpma_uv_write(end->conn, NULL, (rpma_uv_remote_t){ end->remote, 0 },
				   (rpma_uv_local_t){ client.mr, 0 }, end->len, 0),
		      done, end) != NULL);
}

static void end_open(struct end *end, const char *addr, size_t len)
{
	struct rpma_conn_private_data pd;
	struct rpma_conn_cfg *cfg;

	memset(end, 0, sizeof(*end));
	end->len = len;
	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_sq_size(cfg, DEPTH));
	CHECK_OK(rpma_uv_conn_new(&client.node.reactor, client.node.peer, cfg, &end->conn));
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
	AWAIT(rpma_uv_connect(end->conn, NULL, addr, PORT, NULL), 0);
	CHECK_OK(rpma_uv_conn_private_data(end->conn, &pd));
	CHECK_OK(rpma_mr_remote_from_descriptor(pd.ptr, pd.len, &end->remote));
}

static void end_close(struct end *end)
{
	AWAIT(rpma_uv_disconnect(end->conn, NULL), 0);
	rpma_uv_conn_close(end->conn, NULL, NULL);
	CHECK_OK(rpma_mr_remote_delete(&end->remote));
}

static void compare(const char *addr, size_t greedy_len, size_t other_len)
{
	uint64_t greedy_bytes = GREEDY / 2 * greedy_len;
	uint64_t share;

	end_open(&client.greedy, addr, greedy_len);
	end_open(&client.other, addr, other_len);
	client.other.left = UINT32_MAX;
	client.greedy.left = GREEDY;
	for (unsigned i = 0; i < DEPTH; i++)
		start(&client.other);
	while (client.greedy.left > 0)
		start(&client.greedy);
	CHECK_OK(uv_run(&client.node.loop, UV_RUN_DEFAULT));
	CHECK_INT(client.greedy.running, 0);
	CHECK_INT(client.other.running, 0);
	CHECK_INT(client.greedy.bytes, GREEDY * greedy_len);
	share = greedy_bytes * 100 / (greedy_bytes + client.other_bytes);
	printf("figure: %zu bytes beside %zu: the greedy one had %u %%\n", greedy_len, other_len,
		(unsigned)share);
	CHECK(share <= 60);
	end_close(&client.greedy);
	end_close(&client.other);
}

int main(void)
{
	const char *addr = live_addr();

	live_fork(serve, addr);
	live_node_open(&client.node, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, NULL);
	CHECK_OK(rpma_mr_reg(client.node.peer, live_memory(REGION), REGION, RPMA_MR_USAGE_WRITE_SRC,
		&client.mr));
	compare(addr, 4096, 4096);
	compare(addr, BYTES, BYTES);
	CHECK_OK(rpma_mr_dereg(&client.mr));
	live_node_close(&client.node);
	live_join();
	return 0;
}
