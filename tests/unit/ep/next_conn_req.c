/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* next_conn_req.c - an incoming request is fetched with its queues, or is rejected at once */

#include "unit.h"

#define CREATED  "ibv_create_comp_channel ibv_create_cq ibv_req_notify_cq rdma_create_qp_ex"
#define OWN      "rdma_create_event_channel rdma_migrate_id"
#define REJECTED "rdma_ack_cm_event rdma_reject rdma_destroy_id"

static struct rpma_peer *peer;
static struct unit_ep u;

static int setup(void **state)
{
	(void)unit_setup(state);
	peer = unit_peer_new();
	unit_ep_listen(&u, peer);
	unit_log_forget();
	double_log_clear();
	return 0;
}

static int teardown(void **state)
{
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
	return unit_teardown(state);
}

static void next__request(void **state)
{
	struct rpma_conn_req *req = unit_req_passive(&u, NULL);

	(void)state;
	assert_non_null(req);
	assert_string_equal(double_log(), "rdma_get_cm_event " CREATED " rdma_ack_cm_event " OWN);
	assert_non_null(u.id->qp);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
}

static void next__in_order(void **state)
{
	struct rpma_conn_private_data pdata = { NULL, 0 };
	struct rpma_conn_req *reqs[2] = { NULL, NULL };

	(void)state;
	(void)double_push_request(u.listen_id, "1", 2);
	(void)double_push_request(u.listen_id, "2", 2);
	assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, &reqs[0]), 0);
	assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, &reqs[1]), 0);
	assert_int_equal(rpma_conn_req_get_private_data(reqs[0], &pdata), 0);
	assert_string_equal(pdata.ptr, "1");
	assert_int_equal(rpma_conn_req_get_private_data(reqs[1], &pdata), 0);
	assert_string_equal(pdata.ptr, "2");
	assert_int_equal(rpma_conn_req_delete(&reqs[1]), 0);
	assert_int_equal(rpma_conn_req_delete(&reqs[0]), 0);
}

static void next__null(void **state)
{
	struct rpma_conn_req *req = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_ep_next_conn_req(NULL, NULL, &req), RPMA_E_INVAL);
	assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, NULL), RPMA_E_INVAL);
	assert_ptr_equal(req, UNIT_UNTOUCHED);
	assert_int_equal(double_calls_total(), 0);
}

/* another event is acknowledged and skipped */
static void next__other_event(void **state)
{
	static const enum rdma_cm_event_type types[] = { RDMA_CM_EVENT_ESTABLISHED,
		RDMA_CM_EVENT_DEVICE_REMOVAL, RDMA_CM_EVENT_CONNECT_ERROR };
	struct rpma_conn_req *req = UNIT_UNTOUCHED;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		unit_log_forget();
		double_push_cm(u.listen_id, types[i], 0, NULL, 0);
		assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, &req), RPMA_E_INVAL);
		assert_ptr_equal(req, UNIT_UNTOUCHED);
		assert_int_equal(double_live(DOUBLE_CM_EVENT), 0);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
		assert_non_null(strstr(unit_log_text, rdma_event_str(types[i])));
	}
	/* and the next request is fetched as if nothing had been */
	req = unit_req_passive(&u, NULL);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
}

/* no queues: the peer is told, and the id does not stay behind */
static void next__provider_fails(void **state)
{
	static const struct {
		const char *call;
		const char *calls;
	} cases[] = {
		{ "ibv_create_comp_channel",
			"rdma_get_cm_event ibv_create_comp_channel " REJECTED },
		{ "ibv_create_cq", "rdma_get_cm_event ibv_create_comp_channel ibv_create_cq "
				   "ibv_destroy_comp_channel " REJECTED },
		{ "ibv_req_notify_cq",
			"rdma_get_cm_event ibv_create_comp_channel ibv_create_cq "
			"ibv_req_notify_cq ibv_destroy_cq ibv_destroy_comp_channel " REJECTED },
		{ "rdma_create_qp_ex", "rdma_get_cm_event " CREATED
				       " ibv_destroy_cq ibv_destroy_comp_channel " REJECTED },
	};
	struct rpma_conn_req *req = UNIT_UNTOUCHED;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unit_log_forget();
		double_log_clear();
		double_fail(cases[i].call, 1, UNIT_ERRNO);
		(void)double_push_request(u.listen_id, NULL, 0);
		assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, &req), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_ptr_equal(req, UNIT_UNTOUCHED);
		assert_string_equal(double_log(), cases[i].calls);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
		assert_ptr_equal(double_last_id(), u.listen_id);
	}
}

static void next__no_memory(void **state)
{
	struct rpma_conn_req *req;
	unsigned k, allocs;

	(void)state;
	unit_alloc_fail(0);
	req = unit_req_passive(&u, NULL);
	allocs = unit_allocs();
	assert_true(allocs > 0);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	for (k = 1; k <= allocs; k++) {
		req = UNIT_UNTOUCHED;
		double_log_clear();
		unit_alloc_fail(k);
		(void)double_push_request(u.listen_id, NULL, 0);
		assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, &req), RPMA_E_NOMEM);
		assert_ptr_equal(req, UNIT_UNTOUCHED);
		assert_int_equal(double_calls("rdma_reject"), 1);
		assert_int_equal(double_live(DOUBLE_CM_EVENT), 0);
		assert_ptr_equal(double_last_id(), u.listen_id);
	}
}

/*
 * Unlike other outputs this one becomes NULL when the event cannot be acknowledged, or the request
 * not be moved away from the endpoint.
 */
static void next__null_on_failure(void **state)
{
	static const char *const calls[] = { "rdma_ack_cm_event", "rdma_create_event_channel",
		"rdma_migrate_id" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct rpma_conn_req *req = UNIT_UNTOUCHED;

		unit_log_forget();
		double_log_clear();
		double_fail(calls[i], 1, UNIT_ERRNO);
		(void)double_push_request(u.listen_id, NULL, 0);
		assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, &req), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_null(req);
		assert_int_equal(double_calls("rdma_reject"), 1);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
		assert_ptr_equal(double_last_id(), u.listen_id);
	}
}

/* the first failure is the one reported */
static void next__undoing_fails(void **state)
{
	struct rpma_conn_req *req = UNIT_UNTOUCHED;

	(void)state;
	double_fail("rdma_create_qp_ex", 1, UNIT_ERRNO);
	double_fail("rdma_ack_cm_event", 1, EINVAL);
	double_fail("rdma_reject", 1, EINVAL);
	double_fail("rdma_destroy_id", 1, EBUSY);
	(void)double_push_request(u.listen_id, NULL, 0);
	assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, &req), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_ptr_equal(req, UNIT_UNTOUCHED);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(next__in_order), TEST(next__no_memory), TEST(next__null),
	TEST(next__null_on_failure), TEST(next__other_event), TEST(next__provider_fails),
	TEST(next__request), TEST(next__undoing_fails))
