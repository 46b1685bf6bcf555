/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* args.c - what rpma_uv_reconnect() is given: refusals, defaults, copies */

#include "rig.h"

/* the linker sends these calls here */
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
int __real_uv_random(
	uv_loop_t *loop, uv_random_t *req, void *buf, size_t len, unsigned flags, uv_random_cb cb);
int __wrap_uv_random(
	uv_loop_t *loop, uv_random_t *req, void *buf, size_t len, unsigned flags, uv_random_cb cb);

static unsigned strdup_fails_at; /* calls from now; 0: none will */
static int random_error;

char *__wrap_strdup(const char *text)
{
	if (strdup_fails_at > 0 && --strdup_fails_at == 0)
		return NULL;
	return __real_strdup(text);
}

int __wrap_uv_random(
	uv_loop_t *loop, uv_random_t *req, void *buf, size_t len, unsigned flags, uv_random_cb cb)
{
	return random_error ? random_error : __real_uv_random(loop, req, buf, len, flags, cb);
}

static rpma_uv_conn_t *conn;

static rpma_uv_future_t *again(const rpma_uv_reconnect_opts_t *opts)
{
	conn = UNIT_UNTOUCHED;
	return rpma_uv_reconnect(
		&rig.reactor, NULL, rig.peer, NULL, UNIT_ADDR, UNIT_PORT, NULL, opts, &conn);
}

static rpma_uv_reconnect_opts_t opts_of(void)
{
	return (rpma_uv_reconnect_opts_t){ .size = sizeof(rpma_uv_reconnect_opts_t) };
}

/* NULL, wrong private data and options */
static void args__refused(void **state)
{
	struct rpma_conn_private_data no_ptr = { NULL, 3 }, no_len = { "abc", 0 };
	rpma_uv_reactor_t *r = &rig.reactor;
	rpma_uv_reconnect_opts_t opts = opts_of();

	(void)state;
	conn = UNIT_UNTOUCHED;
	assert_int_equal(rig_await(rpma_uv_reconnect(
				 r, NULL, NULL, NULL, UNIT_ADDR, UNIT_PORT, NULL, NULL, &conn)),
		UV_EINVAL);
	assert_int_equal(rig_await(rpma_uv_reconnect(
				 r, NULL, rig.peer, NULL, NULL, UNIT_PORT, NULL, NULL, &conn)),
		UV_EINVAL);
	assert_int_equal(rig_await(rpma_uv_reconnect(
				 r, NULL, rig.peer, NULL, UNIT_ADDR, NULL, NULL, NULL, &conn)),
		UV_EINVAL);
	assert_int_equal(rig_await(rpma_uv_reconnect(
				 r, NULL, rig.peer, NULL, UNIT_ADDR, UNIT_PORT, NULL, NULL, NULL)),
		UV_EINVAL);
	assert_int_equal(rig_await(rpma_uv_reconnect(r, NULL, rig.peer, NULL, UNIT_ADDR, UNIT_PORT,
				 &no_ptr, NULL, &conn)),
		UV_EINVAL);
	assert_int_equal(rig_await(rpma_uv_reconnect(r, NULL, rig.peer, NULL, UNIT_ADDR, UNIT_PORT,
				 &no_len, NULL, &conn)),
		UV_EINVAL);
	opts.initial_ms = 2;
	opts.max_ms = 1;
	assert_int_equal(rig_await(again(&opts)), UV_EINVAL);
	opts = opts_of();
	opts.size = 1;
	assert_int_equal(rig_await(again(&opts)), UV_EINVAL);
	assert_ptr_equal(conn, UNIT_UNTOUCHED);
	assert_int_equal(rig_stats().conns, 0);
	(void)rpma_uv_promise(&rig.reactor, NULL);
	rig_close_begin();
	assert_int_equal(rig_await(again(NULL)), UV_ECANCELED);
	rig_close();
}

/* no memory, at each place: for the operation, or for an attempt */
static void args__out_of_memory(void **state)
{
	struct rpma_conn_private_data pd = { "abc", 3 };
	rpma_uv_op_t op;
	unsigned count;

	(void)state;
	conn = UNIT_UNTOUCHED;
	for (unsigned k = 1; k <= 3; k++) {
		unit_alloc_fail(k);
		assert_int_equal(rig_await(rpma_uv_reconnect(&rig.reactor, &op, rig.peer, NULL,
					 UNIT_ADDR, UNIT_PORT, &pd, NULL, &conn)),
			UV_ENOMEM);
	}
	unit_alloc_fail(0);
	for (unsigned k = 1; k <= 2; k++) {
		strdup_fails_at = k;
		assert_int_equal(rig_await(rpma_uv_reconnect(&rig.reactor, &op, rig.peer, NULL,
					 UNIT_ADDR, UNIT_PORT, &pd, NULL, &conn)),
			UV_ENOMEM);
	}
	assert_ptr_equal(conn, UNIT_UNTOUCHED);
	/* the slab: as many as it takes without private data, and then its own */
	unit_alloc_fail(0);
	rpma_uv_release(again(NULL));
	count = unit_allocs();
	rig_close();
	rig_reactor(&(rpma_uv_reactor_opts_t){ .size = sizeof(rpma_uv_reactor_opts_t) });
	unit_alloc_fail(count);
	assert_null(again(NULL));
	unit_alloc_fail(0);
	assert_false(uv_loop_alive(&rig.loop));
	/* an attempt that has none is followed by another */
	rig_watch(again(NULL), &(struct rig_done){ 0 });
	rig_close();
}

static int count_shown(rpma_uv_conn_t *c, void *data)
{
	(void)c;
	++*(unsigned *)data;
	return 0;
}

/* a connection that cannot be made is an attempt as well */
static void args__conn_new_fails(void **state)
{
	rpma_uv_reconnect_opts_t opts = opts_of();
	struct rig_done done;
	unsigned shown = 0;

	(void)state;
	opts.attempts = 2;
	opts.on_conn = count_shown;
	opts.data = &shown;
	double_fail("ibv_query_device_ex", 1, EIO);
	rig_watch(again(&opts), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 2);
	assert_int_equal(shown, 1);
	rig_close();

	/* and the last one's failure is what remains */
	rig_reactor(&(rpma_uv_reactor_opts_t){ .size = sizeof(rpma_uv_reactor_opts_t) });
	double_fail_always("ibv_query_device_ex", ENODEV);
	assert_int_equal(rig_await(again(&opts)), UV_ENODEV);
	assert_int_equal(shown, 1);
	double_fail_none();
}

/* strings, private data, options and configuration are copied; the connection is made as they say */
static void args__copied(void **state)
{
	struct rpma_conn_cfg *cfg = rig_cfg(12, 34, 777);
	char addr[] = UNIT_ADDR, port[] = UNIT_PORT, word[] = "it's me";
	struct rpma_conn_private_data pd = { word, sizeof(word) };
	rpma_uv_reconnect_opts_t opts = opts_of();
	const struct rdma_conn_param *param;
	struct rig_done done;

	(void)state;
	double_fail("rdma_connect", 1, ECONNREFUSED);
	rig_watch(
		rpma_uv_reconnect(&rig.reactor, NULL, rig.peer, cfg, addr, port, &pd, &opts, &conn),
		&done);
	memset(addr, 'x', sizeof(addr));
	memset(port, 'x', sizeof(port));
	memset(word, 'x', sizeof(word));
	memset(&opts, 0xff, sizeof(opts));
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 2);
	param = double_conn_param(double_last_id());
	assert_int_equal(param->private_data_len, 8);
	assert_string_equal(param->private_data, "it's me");
	assert_int_equal(double_qp_attr(double_last_id()->qp)->cap.max_send_wr, 12);
	assert_int_equal(double_qp_attr(double_last_id()->qp)->cap.max_recv_wr, 34);
	assert_int_equal(double_timeout_ms(double_last_id()), 777);
	assert_string_equal(rpma_uv_conn_remote_addr(conn), "192.0.2.1:7204");
}

/* no options, options of an older and a newer program; no entropy */
static void args__defaults(void **state)
{
	struct {
		rpma_uv_reconnect_opts_t opts;
		uint64_t more;
	} newer = { .opts.size = sizeof(newer), .more = 1 };
	rpma_uv_reconnect_opts_t older = { .size = offsetof(rpma_uv_reconnect_opts_t, u_reserved) };
	rpma_uv_reconnect_opts_t slow = { .size = sizeof(slow), .initial_ms = 20000 };
	const rpma_uv_reconnect_opts_t *opts[] = { NULL, &older, &newer.opts, &slow };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		uint64_t start = uv_now(&rig.loop);

		random_error = i == 2 ? UV_ENOSYS : 0;
		assert_int_equal(rig_await(again(opts[i])), 0);
		assert_true(uv_now(&rig.loop) - start <= (i < 3 ? 101 : 20001));
	}
	random_error = 0;
}

/* a wrong argument that only an attempt finds: not tried again */
static void args__wrong_for_good(void **state)
{
	struct rpma_conn_cfg *cfg = rig_cfg(10, 10, 0);

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_sq_size(cfg, 0), 0);
	assert_int_equal(rig_await(rpma_uv_reconnect(&rig.reactor, NULL, rig.peer, cfg, UNIT_ADDR,
				 UNIT_PORT, NULL, NULL, &conn)),
		UV_EINVAL);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	assert_int_equal(double_calls("rdma_create_id"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(args__refused),
		RIG_TEST(args__out_of_memory),
		RIG_TEST(args__conn_new_fails),
		RIG_TEST(args__copied),
		RIG_TEST(args__defaults),
		RIG_TEST(args__wrong_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
