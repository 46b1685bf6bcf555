/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * removal.c - the device goes away under connections of two reactors
 *
 * Proven: every future of both reactors ends UV_ENODEV, whether the event that tells or what was
 * flushed comes first, and everything closes. Only a software device goes on demand.
 */

#include "live.h"
#include "softverbs.h"

#define PORT   "7314"
#define REGION 4096
#define NODES  2

static int server(const char *addr)
{
	const struct live_offer offer = {
		.port = PORT, .size = REGION, .seed = 5, .clients = NODES
	};

	return live_serve(addr, &offer);
}

/* each on a loop of its own: the device's events come to one of them */
static struct client {
	struct live_node node;
	struct rpma_mr_local *mr;
	rpma_uv_conn_t *conn;
	rpma_uv_op_t connect, end, recv;
} clients[NODES];

static void client_open(struct client *c, const char *addr)
{
	const rpma_uv_local_t nowhere = { NULL, 0 };
	const rpma_uv_remote_t nothing = { NULL, 0 };

	live_node_open(&c->node, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, NULL);
	CHECK_OK(rpma_uv_conn_new(&c->node.reactor, c->node.peer, NULL, &c->conn));
	AWAIT(rpma_uv_connect(c->conn, &c->connect, addr, PORT, NULL), 0);
	(void)rpma_uv_conn_end(c->conn, &c->end);
	(void)rpma_uv_recv(c->conn, &c->recv, nowhere, 0);
	/* it is posted when this is answered */
	AWAIT(rpma_uv_read(c->conn, NULL, nowhere, nothing, 0, 0), 0);
}

static int ended(rpma_uv_op_t *op)
{
	return rpma_uv_wait(&op->future, UINT64_MAX, NULL);
}

int main(void)
{
	const char *addr = live_addr();

	if (!softverbs_is_here()) {
		puts("the device does not go away on demand");
		return 77;
	}
	live_fork(server, addr);
	for (unsigned i = 0; i < NODES; i++)
		client_open(&clients[i], addr);
	CHECK_OK(softverbs_faults("device:remove"));
	for (unsigned i = 0; i < NODES; i++) {
		CHECK_INT(ended(&clients[i].end), UV_ENODEV);
		CHECK_INT(ended(&clients[i].recv), UV_ENODEV);
		rpma_uv_conn_close(clients[i].conn, NULL, NULL);
	}
	for (unsigned i = 0; i < NODES; i++)
		live_node_close(&clients[i].node);
	live_join();
	return 0;
}
