/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* requests.c - connection requests: shown, answered once, or rejected with the listener */

#include "rig.h"

static rpma_uv_ep_t *ep;
static struct rdma_cm_id *listen_id;
static rpma_uv_conn_req_t *shown[8];
static unsigned shown_count;
static bool is_closing_on_first;

static void show(rpma_uv_ep_t *from, rpma_uv_conn_req_t *req, void *data)
{
	assert_ptr_equal(from, ep);
	assert_ptr_equal(data, &shown);
	shown[shown_count++] = req;
	if (is_closing_on_first)
		rpma_uv_ep_close(ep, NULL, NULL);
}

static void listen_here(void)
{
	shown_count = 0;
	is_closing_on_first = false;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	assert_int_equal(
		rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, show, &shown, &ep),
		0);
	listen_id = double_last_id();
}

static void request(unsigned count)
{
	unsigned before = shown_count;

	for (unsigned i = 0; i < count; i++)
		(void)double_push_request(listen_id, "hello", 6);
	RIG_UNTIL(shown_count == before + count);
}

/* each is shown once, with its data or without; a rejection consumes it */
static void requests__reject(void **state)
{
	struct rpma_conn_private_data pd = { "go away", 8 }, got;
	struct rpma_conn_private_data no_ptr = { NULL, 5 }, no_len = { "x", 0 };

	(void)state;
	listen_here();
	request(5);
	(void)double_push_request(listen_id, NULL, 0);
	RIG_UNTIL(shown_count == 6);
	assert_int_equal(rpma_uv_conn_req_private_data(shown[0], &got), 0);
	assert_int_equal(got.len, 6);
	assert_int_equal(rpma_uv_conn_req_private_data(shown[5], &got), 0);
	assert_null(got.ptr);
	assert_int_equal(got.len, 0);
	assert_int_equal(rig_await(rpma_uv_reject(shown[0], NULL, NULL)), 0);
	assert_int_equal(rig_await(rpma_uv_reject(shown[1], NULL, &pd)), 0);
	double_fail("rdma_reject", 1, EPROTO);
	assert_int_equal(rig_await(rpma_uv_reject(shown[2], NULL, &pd)), UV_EPROTO);
	/* of two things that are wrong the first is told */
	double_fail("rdma_reject", 1, EPROTO);
	assert_int_equal(rig_await(rpma_uv_reject(shown[3], NULL, &no_ptr)), UV_EINVAL);
	assert_int_equal(rig_await(rpma_uv_reject(shown[4], NULL, &no_len)), UV_EINVAL);
	assert_int_equal(double_calls("rdma_reject"), 5); /* all of them were told something */
	unit_alloc_fail(1);
	assert_int_equal(double_live(DOUBLE_ID), 2);
	assert_int_equal(rig_await(rpma_uv_reject(shown[5], NULL, NULL)), 0);
	assert_int_equal(double_live(DOUBLE_ID), 1);
}

/* no room for the future: rejected all the same */
static void requests__reject_out_of_memory(void **state)
{
	(void)state;
	listen_here();
	request(1);
	unit_alloc_fail(1);
	assert_null(rpma_uv_reject(shown[0], NULL, NULL));
	assert_int_equal(double_calls("rdma_reject"), 1);
	assert_int_equal(double_live(DOUBLE_ID), 1);
}

/* the listener closes: those not answered are rejected, those not seen never are */
static void requests__listener_closes(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 3; how++) {
		listen_here();
		request(2);
		double_log_clear();
		is_closing_on_first = how == 1;
		for (unsigned i = 0; how > 0 && i < 3; i++)
			(void)double_push_request(listen_id, "more", 5);
		if (how != 1)
			rpma_uv_ep_close(ep, NULL, NULL);
		rig_settle();
		/* unread ones go with the listener; read ones are told */
		assert_int_equal(shown_count, how == 1 ? 3 : 2);
		assert_int_equal(double_calls("rdma_reject"), how == 1 ? 5 : 2);
		assert_int_equal(double_live(DOUBLE_ID), 0);
	}
}

/* one that the peer gave up meanwhile, and events that mean nothing to a listener */
static void requests__events(void **state)
{
	struct rdma_cm_id *id;

	(void)state;
	listen_here();
	id = double_push_request(listen_id, "x", 1);
	RIG_UNTIL(shown_count == 1);
	double_push_cm(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	double_push_cm(id, RDMA_CM_EVENT_UNREACHABLE, 0, NULL, 0);
	double_push_cm(listen_id, RDMA_CM_EVENT_ADDR_CHANGE, 0, NULL, 0);
	double_push_cm(listen_id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL, 0);
	rig_settle();
	assert_int_equal(shown_count, 1);
	assert_int_equal(rig_await(rpma_uv_reject(shown[0], NULL, NULL)), 0);
	request(1);
}

/* no memory for a request: the peer learns at once, the next one is shown */
static void requests__out_of_memory(void **state)
{
	(void)state;
	listen_here();
	rig_settle();
	for (unsigned k = 1; k <= 2; k++) {
		double_log_clear();
		(void)double_push_request(listen_id, "hello", 6);
		unit_alloc_fail(k);
		rig_settle();
		unit_alloc_fail(0);
		assert_int_equal(shown_count, 0);
		assert_int_equal(double_calls("rdma_reject"), 1);
		assert_int_equal(double_live(DOUBLE_ID), 1);
	}
	request(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(requests__reject),
		RIG_TEST(requests__reject_out_of_memory),
		RIG_TEST(requests__listener_closes),
		RIG_TEST(requests__events),
		RIG_TEST(requests__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
