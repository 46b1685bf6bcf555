/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* strerror.c - one line for people: what, and how it ended */

#include "rig.h"

static void strerror__each_outcome(void **state)
{
	rpma_uv_op_t op;
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);

	(void)state;
	assert_string_equal(rpma_uv_strerror(f), "promise: not done yet");
	rpma_uv_resolve(f, 0, 0);
	assert_string_equal(rpma_uv_strerror(f), "promise: not done yet");
	rig_settle();
	assert_string_equal(rpma_uv_strerror(f), "promise: success");
	f = rpma_uv_promise(&rig.reactor, &op);
	rpma_uv_cancel(f, 0);
	rig_settle();
	assert_string_equal(rpma_uv_strerror(f), "promise: operation canceled");
	assert_string_equal(rpma_uv_strerror(NULL), "no future: out of memory");
}

/* operations of a connection say what they were */
static void strerror__operations(void **state)
{
	struct rig_conn c;
	rpma_uv_op_t op;

	(void)state;
	rig_conn_new(&c, NULL);
	assert_int_equal(rig_await(rpma_uv_read(c.conn, &op, rig_local(0), rig_remote(0), 8, 0)),
		UV_ENOTCONN);
	assert_string_equal(rpma_uv_strerror(&op.future), "read: socket is not connected");
	assert_int_equal(rig_await(rpma_uv_send(c.conn, &op, rig_local(0), 8, 1)), UV_EINVAL);
	assert_string_equal(rpma_uv_strerror(&op.future), "send: invalid argument");
	double_fail("rdma_resolve_addr", 1, ENETUNREACH);
	assert_int_equal(rig_await(rpma_uv_connect(c.conn, &op, UNIT_ADDR, UNIT_PORT, NULL)),
		UV_ENETUNREACH);
	assert_string_equal(rpma_uv_strerror(&op.future), "connect: network is unreachable");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(strerror__each_outcome),
		RIG_TEST(strerror__operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
