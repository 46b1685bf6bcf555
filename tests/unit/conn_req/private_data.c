/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* private_data.c - private data of a request, and where it goes when the request is used up */

#include "unit.h"

static struct rpma_conn_req *request(struct unit_ep *u, const void *data, uint8_t len)
{
	struct rpma_conn_req *req = NULL;

	u->id = double_push_request(u->listen_id, data, len);
	assert_int_equal(rpma_ep_next_conn_req(u->ep, NULL, &req), 0);
	return req;
}

/* the same bytes at the same address, from the request on to the end of the connection */
static void private_data__incoming(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_private_data ofreq = { NULL, 0 }, ofconn = { NULL, 0 };
	struct rpma_conn_req *req;
	struct rpma_conn *conn = NULL;
	char data[] = "hello";
	struct unit_ep u;

	(void)state;
	unit_ep_listen(&u, peer);
	req = request(&u, data, 6);
	memset(data, 'x', sizeof(data));
	assert_int_equal(rpma_conn_req_get_private_data(req, &ofreq), 0);
	assert_int_equal(ofreq.len, 6);
	assert_string_equal(ofreq.ptr, "hello");
	assert_int_equal(rpma_conn_req_connect(&req, NULL, &conn), 0);
	assert_int_equal(rpma_conn_get_private_data(conn, &ofconn), 0);
	assert_int_equal(ofconn.len, 6);
	assert_ptr_equal(ofconn.ptr, ofreq.ptr);
	unit_ep_shutdown(&u);
	assert_string_equal(ofreq.ptr, "hello");
	assert_int_equal(rpma_conn_delete(&conn), 0);
	unit_peer_delete(peer);
}

/* as much as a length of 8 bits allows */
static void private_data__longest(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_private_data pdata = { NULL, 0 };
	uint8_t data[UINT8_MAX];
	struct rpma_conn_req *req;
	struct unit_ep u;

	(void)state;
	memset(data, 0x77, sizeof(data));
	unit_ep_listen(&u, peer);
	req = request(&u, data, UINT8_MAX);
	assert_int_equal(rpma_conn_req_get_private_data(req, &pdata), 0);
	assert_int_equal(pdata.len, UINT8_MAX);
	assert_memory_equal(pdata.ptr, data, UINT8_MAX);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

static void expect_none(const struct rpma_conn_req *req)
{
	struct rpma_conn_private_data pdata = { UNIT_UNTOUCHED, 1 };

	assert_int_equal(rpma_conn_req_get_private_data(req, &pdata), 0);
	assert_null(pdata.ptr);
	assert_int_equal(pdata.len, 0);
}

static void private_data__none(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = unit_req_active(peer, NULL);
	struct unit_ep u;

	(void)state;
	expect_none(req);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_ep_listen(&u, peer);
	req = request(&u, NULL, 0);
	expect_none(req);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

static void private_data__null(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = unit_req_active(peer, NULL);
	struct rpma_conn_private_data pdata = { UNIT_UNTOUCHED, 1 };

	(void)state;
	assert_int_equal(rpma_conn_req_get_private_data(NULL, &pdata), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_req_get_private_data(req, NULL), RPMA_E_INVAL);
	assert_ptr_equal(pdata.ptr, UNIT_UNTOUCHED);
	assert_int_equal(pdata.len, 1);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(private_data__incoming), UNIT_TEST(private_data__longest),
	UNIT_TEST(private_data__none), UNIT_TEST(private_data__null))
