/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* strerror.c - one line for people: what, and how it ended */

#include <stdio.h>

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

/* those of many: which, how many */
static void strerror__parents(void **state)
{
	rpma_uv_future_t *f[3];
	rpma_uv_op_t ops[3];
	rpma_uv_all_t all;
	rpma_uv_any_t any;

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 3; i++)
			f[i] = rpma_uv_promise(&rig.reactor, &ops[i]);
		(void)rpma_uv_all(&rig.reactor, &all, f, 3);
		assert_string_equal(rpma_uv_strerror(&all.future), "all: not done yet");
		for (unsigned i = 0; i < 3; i++)
			rpma_uv_resolve(f[i], round == 0 && i > 0 ? UV_ENOENT : 0, 0);
		assert_int_equal(rig_await(&all.future), round == 0 ? UV_ENOENT : 0);
		assert_string_equal(rpma_uv_strerror(&all.future),
			round == 0 ? "all: 2 of 3 failed, the first: no such file or directory"
				   : "all: success");
		for (unsigned i = 0; i < 3; i++)
			f[i] = rpma_uv_promise(&rig.reactor, &ops[i]);
		(void)rpma_uv_any(&rig.reactor, &any, f, 3, 0);
		assert_string_equal(rpma_uv_strerror(&any.future), "any: not done yet");
		for (unsigned i = 0; i < 3; i++)
			rpma_uv_resolve(f[i], round == 0 || i == 0 ? UV_ENOENT : 0, 0);
		assert_int_equal(rig_await(&any.future), round == 0 ? UV_ENOENT : 0);
		assert_string_equal(rpma_uv_strerror(&any.future),
			round == 0 ? "any: 3 of 3 failed, the last: no such file or directory"
				   : "any: number 2 of 3: success");
	}
	/* refused: none of them failed */
	f[1] = f[0];
	(void)rpma_uv_all(&rig.reactor, &all, f, 2);
	assert_int_equal(rig_await(&all.future), UV_EBUSY);
	assert_string_equal(rpma_uv_strerror(&all.future), "all: resource busy or locked");
	(void)rpma_uv_any(&rig.reactor, &any, f, 0, 0);
	assert_int_equal(rig_await(&any.future), UV_EINVAL);
	assert_string_equal(rpma_uv_strerror(&any.future), "any: invalid argument");
}

static rpma_uv_future_t *none(rpma_uv_future_t *f, void *data)
{
	(void)f;
	return data;
}

/* a time-out of the program is told from one of the network, through parents too */
static void strerror__timeout(void **state)
{
	static const char *const texts[] = { "sleep", "promise", "chain",
		"all: 1 of 1 failed, the first", "any: 1 of 1 failed, the last" };
	rpma_uv_future_t *f[5];
	rpma_uv_op_t ops[5];
	rpma_uv_all_t all;
	rpma_uv_any_t any;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		f[i] = rpma_uv_sleep(&rig.reactor, &ops[i], 1000);
	rpma_uv_cancel(f[1], 0);
	rig_settle();
	f[1] = rpma_uv_promise(&rig.reactor, &ops[1]);
	f[2] = rpma_uv_chain(f[2], none, NULL);
	f[3] = rpma_uv_all(&rig.reactor, &all, &f[3], 1);
	f[4] = rpma_uv_any(&rig.reactor, &any, &f[4], 1, 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(rpma_uv_timeout(f[i], 1, 0), 0);
	RIG_UNTIL(f[0]->status != RPMA_UV_PENDING && f[4]->status != RPMA_UV_PENDING);
	rig_settle();
	for (unsigned i = 0; i < 5; i++) {
		char text[100];

		assert_int_equal(f[i]->status, UV_ETIMEDOUT);
		snprintf(text, sizeof(text), "%s: not done within its time-out", texts[i]);
		assert_string_equal(rpma_uv_strerror(f[i]), text);
	}
	rpma_uv_release(f[2]);
	f[1] = rpma_uv_promise(&rig.reactor, &ops[1]);
	rpma_uv_resolve(f[1], UV_ETIMEDOUT, 0);
	assert_int_equal(rig_await(f[1]), UV_ETIMEDOUT);
	assert_string_equal(rpma_uv_strerror(f[1]), "promise: connection timed out");
	rpma_uv_resolve(rpma_uv_promise(&rig.reactor, &ops[1]), UV_ECANCELED, 0);
	rig_settle();
	assert_string_equal(rpma_uv_strerror(f[1]), "promise: operation canceled");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(strerror__each_outcome),
		RIG_TEST(strerror__operations),
		RIG_TEST(strerror__parents),
		RIG_TEST(strerror__timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
