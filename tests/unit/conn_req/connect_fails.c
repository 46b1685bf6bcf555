/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* connect_fails.c - the request is used up, whatever fails; a peer is not left waiting */

#include "unit.h"

static struct rpma_peer *peer;
static struct unit_ep u;

static int setup(void **state)
{
	(void)unit_setup(state);
	peer = unit_peer_new();
	unit_ep_listen(&u, peer);
	return 0;
}

static int teardown(void **state)
{
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
	return unit_teardown(state);
}

static struct rpma_conn_req *request(bool is_incoming)
{
	struct rpma_conn_req *req =
		is_incoming ? unit_req_passive(&u, NULL) : unit_req_active(peer, NULL);

	unit_log_forget();
	double_log_clear();
	return req;
}

/* everything of the request is gone; the peer of an incoming one knows */
static void expect_consumed(struct rpma_conn_req *req, bool is_incoming)
{
	assert_null(req);
	assert_int_equal(double_calls("rdma_reject"), is_incoming);
	assert_ptr_equal(double_last_id(), u.listen_id);
	assert_int_equal(double_live(DOUBLE_QP), 0);
	assert_int_equal(double_live(DOUBLE_EVENT_CHANNEL), 1);
	assert_int_equal(rpma_conn_req_delete(&req), 0); /* as programs do */
}

/* no request: nothing is touched */
static void connect__no_request(void **state)
{
	struct rpma_conn *conn = UNIT_UNTOUCHED;
	struct rpma_conn_req *req = NULL;

	(void)state;
	double_log_clear();
	assert_int_equal(rpma_conn_req_connect(NULL, NULL, &conn), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_req_connect(&req, NULL, &conn), RPMA_E_INVAL);
	assert_ptr_equal(conn, UNIT_UNTOUCHED);
	assert_int_equal(double_calls_total(), 0);
}

/* the other arguments: the request is deleted */
static void connect__invalid(void **state)
{
	const struct rpma_conn_private_data no_ptr = { NULL, 5 }, no_len = { "hello", 0 },
					    neither = { NULL, 0 }, good = { "hello", 5 };
	int is_incoming;

	(void)state;
	for (is_incoming = 0; is_incoming < 2; is_incoming++) {
		const struct rpma_conn_private_data *pdatas[] = { &no_ptr, &no_len, &neither };
		struct rpma_conn *conn = UNIT_UNTOUCHED;
		struct rpma_conn_req *req;
		size_t i;

		for (i = 0; i < 3; i++) {
			req = request(is_incoming);
			assert_int_equal(
				rpma_conn_req_connect(&req, pdatas[i], &conn), RPMA_E_INVAL);
			assert_ptr_equal(conn, UNIT_UNTOUCHED);
			expect_consumed(req, is_incoming);
		}
		req = request(is_incoming);
		assert_int_equal(rpma_conn_req_connect(&req, NULL, NULL), RPMA_E_INVAL);
		expect_consumed(req, is_incoming);
		req = request(is_incoming);
		assert_int_equal(rpma_conn_req_connect(&req, &good, NULL), RPMA_E_INVAL);
		expect_consumed(req, is_incoming);
	}
}

static void expect_failure(struct rpma_conn_req **req, int expected)
{
	struct rpma_conn *conn = UNIT_UNTOUCHED;

	assert_int_equal(rpma_conn_req_connect(req, NULL, &conn), expected);
	assert_ptr_equal(conn, UNIT_UNTOUCHED);
}

static void connect__provider_fails(void **state)
{
	int is_incoming;

	(void)state;
	for (is_incoming = 0; is_incoming < 2; is_incoming++) {
		const char *const calls[] = { is_incoming ? "rdma_accept" : "rdma_connect",
			"ibv_reg_mr", "rdma_create_event_channel", "rdma_migrate_id" };
		size_t i;

		for (i = 0; i < (is_incoming ? 2 : 4); i++) {
			struct rpma_conn_req *req = request(is_incoming);

			double_fail(calls[i], 1, UNIT_ERRNO);
			expect_failure(&req, RPMA_E_PROVIDER);
			assert_errno(UNIT_ERRNO);
			assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
			assert_non_null(strstr(unit_log_text, calls[i]));
			expect_consumed(req, is_incoming);
		}
	}
}

/* all that can be allocated is, before the peer is told yes: a failure is a rejection */
static void connect__no_memory(void **state)
{
	int is_incoming;

	(void)state;
	for (is_incoming = 0; is_incoming < 2; is_incoming++) {
		struct rpma_conn_req *req = request(is_incoming);

		unit_alloc_fail(1);
		expect_failure(&req, RPMA_E_NOMEM);
		assert_int_equal(double_calls("rdma_accept"), 0);
		assert_int_equal(double_calls("rdma_connect"), 0);
		expect_consumed(req, is_incoming);
	}
}

/* the first failure is the one reported */
static void connect__undoing_fails(void **state)
{
	struct rpma_conn_req *req = request(true);

	(void)state;
	double_fail("rdma_accept", 1, UNIT_ERRNO);
	double_fail("rdma_reject", 1, EINVAL); /* rdma_cm had rejected by itself */
	double_fail("ibv_destroy_cq", 1, EBUSY);
	expect_failure(&req, RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	expect_consumed(req, true);

	req = request(false);
	double_fail("rdma_migrate_id", 1, UNIT_ERRNO);
	double_fail("rdma_destroy_id", 1, EBUSY);
	expect_failure(&req, RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	expect_consumed(req, false);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(connect__invalid), TEST(connect__no_memory), TEST(connect__no_request),
	TEST(connect__provider_fails), TEST(connect__undoing_fails))
