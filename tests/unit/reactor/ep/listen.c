/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* listen.c - listeners: arguments, refusals, ports */

#include "rig.h"

static void on_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	(void)ep;
	(void)req;
	(void)data;
}

static int listen_on(const char *addr, const char *port, rpma_uv_ep_t **ep)
{
	return rpma_uv_listen(&rig.reactor, rig.peer, addr, port, 7, on_request, NULL, ep);
}

/* NULL, and what is not a number: nothing is resolved */
static void listen__refused(void **state)
{
	rpma_uv_ep_t *ep = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(
		rpma_uv_listen(NULL, rig.peer, UNIT_ADDR, UNIT_PORT, 0, on_request, NULL, &ep),
		UV_EINVAL);
	assert_int_equal(
		rpma_uv_listen(&rig.reactor, NULL, UNIT_ADDR, UNIT_PORT, 0, on_request, NULL, &ep),
		UV_EINVAL);
	assert_int_equal(
		rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, NULL, NULL, &ep),
		UV_EINVAL);
	assert_int_equal(listen_on(NULL, UNIT_PORT, &ep), UV_EINVAL);
	assert_int_equal(listen_on(UNIT_ADDR, NULL, &ep), UV_EINVAL);
	assert_int_equal(listen_on(UNIT_ADDR, UNIT_PORT, NULL), UV_EINVAL);
	assert_int_equal(listen_on("localhost", UNIT_PORT, &ep), UV_EINVAL);
	assert_int_equal(listen_on(UNIT_ADDR, "http", &ep), UV_EINVAL);
	assert_ptr_equal(ep, UNIT_UNTOUCHED);
	assert_false(uv_loop_alive(&rig.loop));
}

/* each provider call that fails, and no memory */
static void listen__provider_refuses(void **state)
{
	static const char *const calls[] = { "rdma_create_event_channel", "rdma_create_id",
		"rdma_bind_addr", "rdma_listen" };
	rpma_uv_ep_t *ep = UNIT_UNTOUCHED;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		double_fail(calls[i], 1, EADDRINUSE);
		assert_int_equal(listen_on(UNIT_ADDR, UNIT_PORT, &ep), UV_EADDRINUSE);
		assert_ptr_equal(ep, UNIT_UNTOUCHED);
		assert_int_equal(double_live(DOUBLE_ID), 0);
	}
	unit_alloc_fail(1);
	assert_int_equal(listen_on(UNIT_ADDR, UNIT_PORT, &ep), UV_ENOMEM);
	assert_false(uv_loop_alive(&rig.loop));
	assert_int_equal(listen_on(UNIT_ADDR, UNIT_PORT, &ep), 0);
}

/* the port, chosen by us or for us, in both families; the backlog is passed on */
static void listen__port(void **state)
{
	rpma_uv_ep_t *ep, *other;

	(void)state;
	assert_int_equal(listen_on(UNIT_ADDR, UNIT_PORT, &ep), 0);
	assert_int_equal(rpma_uv_ep_port(ep), 7204);
	assert_int_equal(double_backlog(double_last_id()), 7);
	assert_int_equal(listen_on("::1", "0", &other), 0);
	assert_int_not_equal(rpma_uv_ep_port(other), 0);
	rpma_uv_ep_close(ep, NULL, NULL);
	assert_int_equal(rpma_uv_ep_port(ep), 0);
}

/* an address of another device than the peer's: told at once; of a wildcard address, by the accept */
static void listen__another_device(void **state)
{
	rpma_uv_ep_t *ep = UNIT_UNTOUCHED;

	(void)state;
	double_route_over(rig_another_device());
	assert_int_equal(listen_on(UNIT_ADDR, UNIT_PORT, &ep), UV_ENODEV);
	assert_ptr_equal(ep, UNIT_UNTOUCHED);
	assert_int_equal(double_calls("rdma_listen"), 0);
	assert_int_equal(double_live(DOUBLE_ID), 0);
	assert_int_equal(listen_on("0.0.0.0", UNIT_PORT, &ep), 0);
	assert_int_equal(double_calls("rdma_listen"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(listen__refused),
		RIG_TEST(listen__provider_refuses),
		RIG_TEST(listen__port),
		RIG_TEST(listen__another_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
