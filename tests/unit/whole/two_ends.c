/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* two_ends.c - two ends of one connection in this process: messages, a read, the end */

#include "unit.h"

#define SIZE 64

struct end {
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	char bytes[SIZE];
	struct rpma_mr_local *mr;
};

static void expect_event(struct rpma_conn *conn, enum rpma_conn_event expected)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;

	assert_int_equal(rpma_conn_next_event(conn, &event), 0);
	assert_int_equal(event, expected);
}

static void expect_wc(struct rpma_cq *cq, enum ibv_wc_opcode opcode, const void *op_context)
{
	struct ibv_wc wc;

	assert_int_equal(rpma_cq_wait(cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.wr_id, (uintptr_t)op_context);
}

static void connect_both(
	struct rpma_peer *peer, struct unit_ep *u, struct end *client, struct end *server)
{
	struct rpma_conn_private_data hello = { "hello", 6 }, pdata = { NULL, 0 };
	struct rpma_conn_req *active = unit_req_active(peer, NULL), *passive = NULL;

	assert_int_equal(rpma_conn_req_connect(&active, &hello, &client->conn), 0);
	assert_int_equal(rpma_ep_next_conn_req(u->ep, NULL, &passive), 0);
	assert_int_equal(rpma_conn_req_get_private_data(passive, &pdata), 0);
	assert_int_equal(pdata.len, 56); /* the size of the field, as on InfiniBand */
	assert_string_equal(pdata.ptr, "hello");
	assert_int_equal(rpma_conn_req_recv(passive, server->mr, 0, SIZE, server), 0);
	assert_int_equal(rpma_conn_req_connect(&passive, NULL, &server->conn), 0);
	expect_event(server->conn, RPMA_CONN_ESTABLISHED);
	expect_event(client->conn, RPMA_CONN_ESTABLISHED);
	assert_int_equal(rpma_conn_get_private_data(client->conn, &pdata), 0);
	assert_int_equal(pdata.len, 196);
	assert_int_equal(rpma_conn_get_cq(client->conn, &client->cq), 0);
	assert_int_equal(rpma_conn_get_cq(server->conn, &server->cq), 0);
}

/* a whole life of a connection works, and leaves nothing behind */
static void two_ends__talk_and_part(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct end client = { .bytes = "ping" }, server = { .bytes = "" };
	struct rpma_mr_remote *remote;
	struct unit_ep u;

	(void)state;
	/* arrange */
	double_auto(true);
	unit_ep_listen(&u, peer);
	client.mr = unit_mr(peer, client.bytes, SIZE, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_READ_SRC);
	server.mr = unit_mr(peer, server.bytes, SIZE, RPMA_MR_USAGE_RECV | RPMA_MR_USAGE_READ_DST);
	connect_both(peer, &u, &client, &server);

	/* run and verify: a message, then a read of what it announced */
	assert_int_equal(rpma_send(client.conn, client.mr, 0, 5, RPMA_F_COMPLETION_ALWAYS, &u), 0);
	expect_wc(client.cq, IBV_WC_SEND, &u);
	expect_wc(server.cq, IBV_WC_RECV, &server);
	assert_string_equal(server.bytes, "ping");
	strcpy(client.bytes + 32, "pulled");
	remote = unit_mr_remote(client.mr);
	assert_int_equal(rpma_read(server.conn, server.mr, 8, remote, 32, 7,
				 RPMA_F_COMPLETION_ALWAYS, remote),
		0);
	expect_wc(server.cq, IBV_WC_RDMA_READ, remote);
	assert_string_equal(server.bytes + 8, "pulled");

	/* the end, seen from both sides; a second CLOSED may follow */
	assert_int_equal(rpma_conn_disconnect(client.conn), 0);
	expect_event(server.conn, RPMA_CONN_CLOSED);
	expect_event(client.conn, RPMA_CONN_CLOSED);
	expect_event(client.conn, RPMA_CONN_CLOSED);
	assert_int_equal(rpma_conn_disconnect(server.conn), 0);
	expect_event(server.conn, RPMA_CONN_CLOSED);

	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_conn_delete(&client.conn), 0);
	assert_int_equal(rpma_conn_delete(&server.conn), 0);
	assert_int_equal(rpma_mr_dereg(&client.mr), 0);
	assert_int_equal(rpma_mr_dereg(&server.mr), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

/* a request that is deleted is a rejection for the other end */
static void two_ends__rejected(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *active = unit_req_active(peer, NULL), *passive = NULL;
	struct rpma_conn *conn = NULL;
	struct unit_ep u;

	(void)state;
	double_auto(true);
	unit_ep_listen(&u, peer);
	assert_int_equal(rpma_conn_req_connect(&active, NULL, &conn), 0);
	assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, &passive), 0);

	assert_int_equal(rpma_conn_req_delete(&passive), 0);

	expect_event(conn, RPMA_CONN_REJECTED);
	assert_int_equal(rpma_conn_delete(&conn), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(two_ends__rejected), UNIT_TEST(two_ends__talk_and_part))
