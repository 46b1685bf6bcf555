/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* private_data.c - what is sent along: both ways, and with a rejection */

#include "rig.h"

static rpma_uv_ep_t *ep;
static struct rig_conn client, server;
static struct rig_done connected, answered;
static struct rpma_conn_private_data answer;
static bool is_rejecting;
static unsigned requests;

static void on_request(rpma_uv_ep_t *from, rpma_uv_conn_req_t *req, void *data)
{
	struct rpma_conn_private_data pd = { NULL, 0 };

	(void)data;
	assert_ptr_equal(from, ep);
	requests++;
	/* the whole field, zero padded */
	assert_int_equal(rpma_uv_conn_req_private_data(NULL, &pd), UV_EINVAL);
	assert_int_equal(rpma_uv_conn_req_private_data(req, NULL), UV_EINVAL);
	assert_int_equal(rpma_uv_conn_req_private_data(req, &pd), 0);
	assert_int_equal(pd.len, 56);
	assert_string_equal(pd.ptr, "may I?");
	if (is_rejecting)
		rig_watch(
			rpma_uv_reject(req, NULL, answer.ptr != NULL ? &answer : NULL), &answered);
	else
		rig_watch(rpma_uv_accept(req, NULL, server.conn, &answer), &answered);
	memset(answer.ptr, 0, answer.len); /* copied */
}

static void meet(char *word)
{
	char question[] = "may I?";
	struct rpma_conn_private_data pd = { question, sizeof(question) };

	requests = 0;
	answer = (struct rpma_conn_private_data){ word, (uint8_t)(strlen(word) + 1) };
	memset(&answered, 0, sizeof(answered));
	assert_int_equal(rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, on_request,
				 NULL, &ep),
		0);
	rig_conn_new(&client, NULL);
	rig_conn_new(&server, NULL);
	rig_watch(rpma_uv_connect(client.conn, NULL, UNIT_ADDR, UNIT_PORT, &pd), &connected);
	memset(question, 0, sizeof(question)); /* copied */
	RIG_UNTIL(connected.times > 0 && answered.times > 0);
	assert_int_equal(requests, 1);
}

/* both sides see what the other sent; the acceptance is the connection's memory */
static void private_data__both_ways(void **state)
{
	struct rpma_conn_private_data pd = { NULL, 0 };
	char word[] = "you may";

	(void)state;
	is_rejecting = false;
	meet(word);
	assert_done(connected, 0);
	assert_done(answered, 0);
	assert_int_equal(rpma_uv_conn_private_data(client.conn, &pd), 0);
	assert_int_equal(pd.len, 196);
	assert_string_equal(pd.ptr, "you may");
	assert_int_equal(rpma_uv_conn_private_data(server.conn, &pd), 0);
	assert_int_equal(pd.len, 56);
	assert_string_equal(pd.ptr, "may I?");
}

/* a rejection with a word of why: readable on the connection that failed */
static void private_data__of_a_rejection(void **state)
{
	struct rpma_conn_private_data pd = { NULL, 0 };
	char word[] = "not today";

	(void)state;
	is_rejecting = true;
	meet(word);
	assert_done(connected, UV_ECONNREFUSED);
	assert_int_equal(connected.detail, 28);
	assert_done(answered, 0);
	assert_int_equal(rpma_uv_conn_private_data(client.conn, &pd), 0);
	assert_int_equal(pd.len, 148);
	assert_string_equal(pd.ptr, "not today");
	for (unsigned i = 10; i < 148; i++)
		assert_int_equal(((uint8_t *)pd.ptr)[i], 0);
}

static rpma_uv_conn_req_t *request;

static void keep_request(rpma_uv_ep_t *from, rpma_uv_conn_req_t *req, void *data)
{
	(void)from;
	(void)data;
	request = req;
}

/* as long as the field, and longer: each call that sends any */
static void private_data__lengths(void **state)
{
	uint8_t data[UINT8_MAX] = { 1 };
	struct rpma_conn_private_data pd = { data, 0 };
	struct rdma_cm_id *listen_id;
	struct rig_conn c;

	(void)state;
	assert_int_equal(rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, "7205", 0, keep_request,
				 NULL, &ep),
		0);
	listen_id = double_last_id();
	for (unsigned more = 0; more < 2; more++) {
		int expected = more ? UV_EINVAL : 0;

		rig_conn_new(&c, NULL);
		pd.len = (uint8_t)(56 + more);
		assert_int_equal(
			rig_await(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, &pd)),
			expected);
		rig_conn_gone(&c);

		request = NULL;
		(void)double_push_request(listen_id, NULL, 0);
		RIG_UNTIL(request != NULL);
		rig_conn_new(&c, NULL);
		pd.len = (uint8_t)(196 + more);
		assert_int_equal(rig_await(rpma_uv_accept(request, NULL, c.conn, &pd)), expected);
		rig_conn_gone(&c);

		request = NULL;
		(void)double_push_request(listen_id, NULL, 0);
		RIG_UNTIL(request != NULL);
		pd.len = (uint8_t)(148 + more);
		assert_int_equal(rig_await(rpma_uv_reject(request, NULL, &pd)), expected);
	}
	/* consumed, whatever came: only the listener is left */
	assert_int_equal(double_live(DOUBLE_ID), 1);
}

/* no memory for it: a connection cannot do without, a rejection can */
static void private_data__out_of_memory(void **state)
{
	struct rpma_conn_private_data pd = { UNIT_UNTOUCHED, 1 };
	struct rig_done done;
	struct rig_conn c;
	rpma_uv_op_t op;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		double_auto_bits(DOUBLE_AUTO_FLUSH);
		rig_conn_new(&c, NULL);
		rig_watch(rpma_uv_connect(c.conn, &op, UNIT_ADDR, UNIT_PORT, NULL), &done);
		c.id = double_last_id();
		rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
		rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
		rig_settle();
		double_push_cm(c.id, i == 0 ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_REJECTED, 0,
			"hello", 6);
		unit_alloc_fail(1);
		RIG_UNTIL(done.times > 0);
		assert_done(done, i == 0 ? UV_ENOMEM : UV_ECONNREFUSED);
		assert_int_equal(rpma_uv_conn_private_data(c.conn, &pd), 0);
		assert_null(pd.ptr);
		assert_int_equal(pd.len, 0);
		double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
		rig_conn_gone(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(private_data__both_ways),
		RIG_TEST(private_data__of_a_rejection),
		RIG_TEST(private_data__lengths),
		RIG_TEST(private_data__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
