/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* connect.c - a request becomes a connection; nobody else gets its events */

#include <poll.h>

#include "unit.h"

static void expect_param(const struct rdma_cm_id *id)
{
	const struct rdma_conn_param *param = double_conn_param(id);

	assert_non_null(param);
	assert_int_equal(param->responder_resources, RDMA_MAX_RESP_RES);
	assert_int_equal(param->initiator_depth, RDMA_MAX_INIT_DEPTH);
	assert_int_equal(param->flow_control, 1);
	assert_int_equal(param->retry_count, 7);
	assert_int_equal(param->rnr_retry_count, 7);
	assert_int_equal(param->srq, 0);
	assert_int_equal(param->qp_num, 0);
}

static void expect_data(const struct rdma_cm_id *id, const char *data, uint8_t len)
{
	const struct rdma_conn_param *param = double_conn_param(id);

	assert_int_equal(param->private_data_len, len);
	if (len)
		assert_memory_equal(param->private_data, data, len);
	else
		assert_null(param->private_data);
}

static void connect__ours(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = unit_req_active(peer, NULL);
	struct rdma_cm_id *id = double_last_id();
	struct rpma_conn *conn = NULL;

	(void)state;
	unit_log_forget();
	double_log_clear();
	assert_int_equal(rpma_conn_req_connect(&req, NULL, &conn), 0);
	assert_null(req);
	assert_non_null(conn);
	assert_string_equal(
		double_log(), "ibv_reg_mr rdma_create_event_channel rdma_migrate_id rdma_connect");
	expect_param(id);
	expect_data(id, NULL, 0);
	assert_non_null(id->channel);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_NOTICE), 1);
	assert_int_equal(rpma_conn_delete(&conn), 0);
	unit_peer_delete(peer);
}

static void connect__incoming(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn *conn = NULL;
	struct rpma_conn_req *req;
	struct unit_ep u;

	(void)state;
	unit_ep_listen(&u, peer);
	req = unit_req_passive(&u, NULL);
	unit_log_forget();
	double_log_clear();
	assert_int_equal(rpma_conn_req_connect(&req, NULL, &conn), 0);
	assert_null(req);
	assert_string_equal(
		double_log(), "ibv_reg_mr rdma_accept"); /* it has had its channel before */
	assert_ptr_not_equal(u.id->channel, u.listen_id->channel);
	expect_param(u.id);
	expect_data(u.id, NULL, 0);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_NOTICE), 1);
	assert_int_equal(rpma_conn_delete(&conn), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

static void connect__private_data(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_private_data pdata = { "hello", 5 };
	struct rpma_conn_req *ours = unit_req_active(peer, NULL), *incoming;
	struct rdma_cm_id *id = double_last_id();
	struct rpma_conn *conn = NULL;
	struct unit_ep u;

	(void)state;
	assert_int_equal(rpma_conn_req_connect(&ours, &pdata, &conn), 0);
	expect_data(id, "hello", 5);
	assert_int_equal(rpma_conn_delete(&conn), 0);

	unit_ep_listen(&u, peer);
	incoming = unit_req_passive(&u, NULL);
	assert_int_equal(rpma_conn_req_connect(&incoming, &pdata, &conn), 0);
	expect_data(u.id, "hello", 5);
	assert_int_equal(rpma_conn_delete(&conn), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

/*
 * an incoming request is accepted: its connection's first event is this one, and nobody who waits at
 * the endpoint could have taken it; before: what happens to the request until then
 */
static void first_event(void (*before)(struct rdma_cm_id *id), enum rpma_conn_event expected)
{
	struct rpma_peer *peer = unit_peer_new();
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct pollfd poller = { .events = POLLIN };
	struct rpma_conn *conn = NULL;
	struct rpma_conn_req *req;
	struct unit_ep u;

	unit_ep_listen(&u, peer);
	assert_int_equal(rpma_ep_get_fd(u.ep, &poller.fd), 0);
	req = unit_req_passive(&u, NULL);
	before(u.id);
	assert_int_equal(poll(&poller, 1, 0), 0);
	assert_int_equal(rpma_conn_req_connect(&req, NULL, &conn), 0);
	assert_int_equal(poll(&poller, 1, 0), 0);
	assert_int_equal(rpma_conn_next_event(conn, &event), 0);
	assert_int_equal(event, expected);
	assert_int_equal(rpma_conn_delete(&conn), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

static void answer_at_once(struct rdma_cm_id *id)
{
	(void)id;
	double_auto_bits(DOUBLE_AUTO_CM);
}

/* what says ESTABLISHED comes to the connection */
static void connect__event_is_not_the_endpoints(void **state)
{
	(void)state;
	first_event(answer_at_once, RPMA_CONN_ESTABLISHED);
}

static void disconnect(struct rdma_cm_id *id)
{
	double_push_cm(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
}

/* so does what happens to the request before it is answered */
static void connect__event_before(void **state)
{
	(void)state;
	first_event(disconnect, RPMA_CONN_CLOSED);
}

UNIT_MAIN(UNIT_TEST(connect__event_before), UNIT_TEST(connect__event_is_not_the_endpoints),
	UNIT_TEST(connect__incoming), UNIT_TEST(connect__ours), UNIT_TEST(connect__private_data))
