/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* private_data.c - the peer's private data comes with ESTABLISHED, once, and stays */

#include "unit.h"

static struct rpma_peer *peer;
static struct rpma_conn *conn;
static struct rdma_cm_id *id;

/* a connection that is not established yet */
static int setup(void **state)
{
	struct rpma_conn_req *req;

	(void)unit_setup(state);
	peer = unit_peer_new();
	req = unit_req_active(peer, NULL);
	id = double_last_id();
	return rpma_conn_req_connect(&req, NULL, &conn);
}

static int teardown(void **state)
{
	assert_int_equal(rpma_conn_delete(&conn), 0);
	unit_peer_delete(peer);
	return unit_teardown(state);
}

static struct rpma_conn_private_data get(void)
{
	struct rpma_conn_private_data pdata = { UNIT_UNTOUCHED, 1 };

	assert_int_equal(rpma_conn_get_private_data(conn, &pdata), 0);
	return pdata;
}

static void expect_none(void)
{
	assert_null(get().ptr);
	assert_int_equal(get().len, 0);
}

static int event_with(enum rdma_cm_event_type type, const char *data)
{
	enum rpma_conn_event event;

	double_push_cm(id, type, 0, data, (uint8_t)(strlen(data) + 1));
	return rpma_conn_next_event(conn, &event);
}

static void private_data__with_established(void **state)
{
	void *ptr;

	(void)state;
	expect_none();
	assert_int_equal(event_with(RDMA_CM_EVENT_ESTABLISHED, "hello"), 0);
	assert_int_equal(get().len, 6);
	assert_string_equal(get().ptr, "hello");
	ptr = get().ptr;

	/* stored once, and kept when a later event is lost */
	assert_int_equal(event_with(RDMA_CM_EVENT_ESTABLISHED, "other"), 0);
	double_fail("rdma_ack_cm_event", 1, UNIT_ERRNO);
	assert_int_equal(event_with(RDMA_CM_EVENT_ESTABLISHED, "other"), RPMA_E_PROVIDER);
	assert_int_equal(event_with(RDMA_CM_EVENT_DISCONNECTED, "bye"), 0);
	assert_ptr_equal(get().ptr, ptr);
	assert_string_equal(ptr, "hello");
}

static void private_data__of_other_events(void **state)
{
	(void)state;
	assert_int_equal(event_with(RDMA_CM_EVENT_REJECTED, "no"), 0);
	assert_int_equal(event_with(RDMA_CM_EVENT_DISCONNECTED, "bye"), 0);
	expect_none();
}

/* ESTABLISHED that cannot be acknowledged has not brought anything */
static void private_data__ack_fails(void **state)
{
	(void)state;
	double_fail("rdma_ack_cm_event", 1, UNIT_ERRNO);
	assert_int_equal(event_with(RDMA_CM_EVENT_ESTABLISHED, "hello"), RPMA_E_PROVIDER);
	expect_none();
	assert_int_equal(event_with(RDMA_CM_EVENT_ESTABLISHED, "again"), 0);
	assert_string_equal(get().ptr, "again");
}

static void private_data__null(void **state)
{
	struct rpma_conn_private_data pdata = { UNIT_UNTOUCHED, 1 };

	(void)state;
	assert_int_equal(rpma_conn_get_private_data(NULL, &pdata), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_get_private_data(conn, NULL), RPMA_E_INVAL);
	assert_ptr_equal(pdata.ptr, UNIT_UNTOUCHED);
	assert_int_equal(pdata.len, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(private_data__ack_fails), TEST(private_data__null),
	TEST(private_data__of_other_events), TEST(private_data__with_established))
