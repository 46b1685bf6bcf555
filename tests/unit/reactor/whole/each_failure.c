/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * each_failure.c - a whole life of two ends, with each allocation and each provider call failing in
 * turn: every future ends once, everything closes, nothing is left over
 */

#include "rig.h"

#define FUTURES 16

struct life {
	rpma_uv_ep_t *ep;
	struct rig_conn client, server;
	bool has_client, has_server;
	struct rig_done done[FUTURES];
	unsigned begun; /* of them */
};

static struct life life;

/* NULL: there was no room for it */
static rpma_uv_future_t *note(rpma_uv_future_t *f)
{
	if (f == NULL)
		return NULL;
	assert_true(life.begun < FUTURES);
	return rig_watch(f, &life.done[life.begun++]);
}

static bool is_settled(void)
{
	for (unsigned i = 0; i < life.begun; i++) {
		if (life.done[i].times == 0)
			return false;
	}
	return true;
}

static void on_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	struct rpma_conn_private_data pd = { "welcome", 8 };

	(void)ep;
	(void)data;
	life.has_server = rpma_uv_conn_new(&rig.reactor, rig.peer, NULL, &life.server.conn) == 0;
	if (!life.has_server) {
		note(rpma_uv_reject(req, NULL, &pd));
		return;
	}
	note(rpma_uv_recv(life.server.conn, NULL, rig_local(0), 64));
	note(rpma_uv_accept(req, NULL, life.server.conn, &pd));
}

static rpma_uv_future_t *read_again(rpma_uv_future_t *f, void *data)
{
	(void)f;
	(void)data;
	return rpma_uv_read(life.client.conn, NULL, rig_local(0), rig_remote(4096), 64, 0);
}

static void meet(void)
{
	struct rpma_conn_private_data pd = { "hello", 6 };
	rpma_uv_future_t *connected;
	int64_t result;

	if (rpma_uv_listen(
		    &rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, on_request, NULL, &life.ep))
		life.ep = NULL;
	life.has_client = rpma_uv_conn_new(&rig.reactor, rig.peer, NULL, &life.client.conn) == 0;
	if (!life.has_client)
		return;
	note(rpma_uv_recv(life.client.conn, NULL, rig_local(128), 64));
	connected = rpma_uv_connect(life.client.conn, NULL, UNIT_ADDR, UNIT_PORT, &pd);
	if (connected != NULL)
		(void)rpma_uv_wait(connected, 20000, &result);
}

static void talk(void)
{
	rpma_uv_future_t *f[3];

	if (!life.has_client)
		return;
	for (unsigned i = 0; i < 3; i++)
		f[i] = rpma_uv_read(life.client.conn, NULL, rig_local(0), rig_remote(4096), 64, 0);
	note(rpma_uv_all(&rig.reactor, NULL, f, 3));
	note(rpma_uv_chain(read_again(NULL, NULL), read_again, NULL));
	note(rpma_uv_write(life.client.conn, NULL, rig_remote(8192), rig_local(0), 64, 0));
	note(rpma_uv_send(life.client.conn, NULL, rig_local(0), 16, 0));
	if (life.has_server)
		note(rpma_uv_send_with_imm(life.server.conn, NULL, rig_local(0), 16, 0, 5));
	rig_settle();
}

static void part(void)
{
	rpma_uv_future_t *f;

	if (life.has_client) {
		f = rpma_uv_disconnect(life.client.conn, NULL);
		if (f != NULL)
			(void)rpma_uv_wait(f, 20000, NULL);
		rig_conn_close(&life.client);
	}
	if (life.has_server)
		rig_conn_close(&life.server);
	if (life.ep != NULL)
		rpma_uv_ep_close(life.ep, NULL, NULL);
	rig_close();
}

/* true: nothing failed */
static void live(void)
{
	memset(&life, 0, sizeof(life));
	double_auto(true);
	meet();
	talk();
	part();
	assert_true(is_settled());
	for (unsigned i = 0; i < life.begun; i++) {
		assert_int_equal(life.done[i].times, 1);
		assert_true(life.done[i].at < rig.closed_at);
	}
	assert_int_equal(life.client.closed, life.has_client);
	assert_int_equal(life.server.closed, life.has_server);
	for (int kind = 0; kind < DOUBLE_KINDS; kind++) {
		/* the rig's peer and region */
		unsigned expected = kind == DOUBLE_PD || kind == DOUBLE_MR;

		assert_int_equal(double_live((enum double_kind)kind), expected);
	}
}

static void expect_success(void)
{
	live();
	for (unsigned i = 0; i < life.begun; i++) {
		/* all but the receives, for which one message each has come too */
		assert_int_equal(life.done[i].status, 0);
	}
	assert_int_equal(life.begun, 8);
}

static void again(void)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	unit_alloc_fail(0);
	double_fail_none();
	rig_reactor(&opts);
	double_log_clear();
}

/* without a failure everything succeeds: the measure of what can fail */
static void each_failure__none(void **state)
{
	(void)state;
	expect_success();
}

static void each_failure__allocations(void **state)
{
	unsigned count;

	(void)state;
	again();
	live();
	count = unit_allocs();
	assert_true(count > 10);
	for (unsigned k = 1; k <= count; k++) {
		again();
		unit_alloc_fail(k);
		live();
	}
	again();
	expect_success();
}

static void each_failure__provider_calls(void **state)
{
	unsigned count;

	(void)state;
	again();
	live();
	count = double_calls_total();
	assert_true(count > 30);
	for (unsigned k = 1; k <= count; k++) {
		again();
		double_fail_any(k, EIO, false);
		live();
		double_forget_problems();
	}
	again();
	expect_success();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(each_failure__none),
		RIG_TEST(each_failure__allocations),
		RIG_TEST(each_failure__provider_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
