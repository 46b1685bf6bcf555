/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* shutdown.c - an endpoint ends; what came through it goes on, what waits is dropped */

#include "unit.h"

static void ep_shutdown__steps(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct unit_ep u;

	(void)state;
	unit_ep_listen(&u, peer);
	double_log_clear();
	assert_int_equal(rpma_ep_shutdown(&u.ep), 0);
	assert_null(u.ep);
	assert_string_equal(double_log(), "rdma_destroy_id rdma_destroy_event_channel");
	unit_peer_delete(peer);
}

static void ep_shutdown__null(void **state)
{
	struct rpma_ep *ep = NULL;

	(void)state;
	assert_int_equal(rpma_ep_shutdown(NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_ep_shutdown(&ep), 0);
	assert_int_equal(double_calls_total(), 0);
}

static void ep_shutdown__provider_fails(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct unit_ep u;

	(void)state;
	unit_ep_listen(&u, peer);
	double_log_clear();
	double_fail("rdma_destroy_id", 1, UNIT_ERRNO);
	assert_int_equal(rpma_ep_shutdown(&u.ep), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_null(u.ep);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_string_equal(double_log(), "rdma_destroy_id rdma_destroy_event_channel");
	unit_peer_delete(peer);
}

static void ep_shutdown__what_goes_on(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct rpma_conn_req *accepted, *fetched, *refused;
	struct rpma_conn *conn = NULL;
	struct unit_ep u;

	(void)state;
	unit_ep_listen(&u, peer);
	accepted = unit_req_passive(&u, NULL);
	assert_int_equal(rpma_conn_req_connect(&accepted, NULL, &conn), 0);
	(void)double_push_request(u.listen_id, NULL, 0); /* nobody fetches this one */
	unit_ep_shutdown(&u);
	assert_int_equal(double_live(DOUBLE_ID), 1);

	double_auto_bits(DOUBLE_AUTO_CM);
	assert_int_equal(rpma_conn_disconnect(conn), 0);
	assert_int_equal(rpma_conn_next_event(conn, &event), 0);
	assert_int_equal(event, RPMA_CONN_CLOSED);
	assert_int_equal(rpma_conn_delete(&conn), 0);

	/* the same with requests that were fetched and not answered yet */
	unit_ep_listen(&u, peer);
	fetched = unit_req_passive(&u, NULL);
	refused = unit_req_passive(&u, NULL);
	unit_ep_shutdown(&u);
	assert_int_equal(rpma_conn_req_connect(&fetched, NULL, &conn), 0);
	assert_int_equal(rpma_conn_next_event(conn, &event), 0);
	assert_int_equal(event, RPMA_CONN_ESTABLISHED);
	assert_int_equal(rpma_conn_delete(&conn), 0);
	assert_int_equal(rpma_conn_req_delete(&refused), 0);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(ep_shutdown__null), UNIT_TEST(ep_shutdown__provider_fails),
	UNIT_TEST(ep_shutdown__steps), UNIT_TEST(ep_shutdown__what_goes_on))
