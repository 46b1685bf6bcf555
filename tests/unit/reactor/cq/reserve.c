/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* reserve.c - room on completion queues: reserved beforehand, never overrun, never waited for */

#include "rig.h"

static void reactor_with(unsigned entries)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	opts.cq_entries = entries;
	rig_reactor(&opts);
}

static int conn_new(uint32_t sq_size, uint32_t rq_size, struct rig_conn *c)
{
	struct rpma_conn_cfg *cfg = rig_cfg(sq_size, rq_size, 0);
	int ret;

	memset(c, 0, sizeof(*c));
	ret = rpma_uv_conn_new(&rig.reactor, rig.peer, cfg, &c->conn);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	return ret;
}

/*
 * a second queue when the first has no room, on the same channel; room that was given back is used
 */
static void reserve__another_queue(void **state)
{
	struct rig_conn c[4];

	(void)state;
	reactor_with(100);
	assert_int_equal(conn_new(30, 20, &c[0]), 0);
	assert_int_equal(conn_new(30, 20, &c[1]), 0);
	assert_int_equal(rig_stats().cq_count, 1);
	assert_int_equal(conn_new(1, 10, &c[2]), 0);
	assert_int_equal(rig_stats().cq_count, 2);
	assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 1);
	rig_conn_gone(&c[0]);
	assert_int_equal(conn_new(25, 25, &c[3]), 0);
	assert_int_equal(rig_stats().cq_count, 2);
	rig_close();
	assert_int_equal(double_live(DOUBLE_CQ), 0);
}

/* a connection larger than a queue gets one of its size; beyond the device's limit there is none */
static void reserve__large(void **state)
{
	struct rig_conn c;

	(void)state;
	reactor_with(10);
	assert_int_equal(conn_new(100, 50, &c), 0);
	assert_int_equal(double_last_cq()->cqe, 150);
	reactor_with(1000);
	double_device.max_cqe = 200;
	assert_int_equal(conn_new(100, 50, &c), 0);
	assert_int_equal(double_last_cq()->cqe, 200); /* as much as there is */
	c.conn = UNIT_UNTOUCHED;
	assert_int_equal(conn_new(150, 51, &c), UV_ENOMEM);
	assert_null(c.conn);
}

#define CONNS 5
#define SIZE  4

/* every entry in use at once, on queues that are exactly that long: the double notes an overrun */
static void reserve__never_overrun(void **state)
{
	static struct rig_op ops[CONNS][2 * SIZE];
	struct rig_conn c[CONNS];

	(void)state;
	reactor_with(2 * 2 * SIZE); /* two connections a queue */
	for (unsigned i = 0; i < CONNS; i++) {
		rig_conn_ready_sizes(&c[i], SIZE, SIZE);
		for (unsigned k = 0; k < SIZE; k++)
			rig_recv(&c[i], &ops[i][k], 8);
		for (unsigned k = SIZE; k < 2 * SIZE; k++)
			rig_read(&c[i], &ops[i][k], 8);
	}
	rig_settle();
	assert_int_equal(rig_stats().cq_count, 3);
	for (unsigned i = 0; i < CONNS; i++) {
		for (unsigned k = 0; k < SIZE; k++)
			assert_true(double_deliver(c[i].qp, "x", 1, NULL));
		assert_int_equal(double_complete_send(c[i].qp, SIZE, IBV_WC_SUCCESS), SIZE);
	}
	rig_settle();
	for (unsigned i = 0; i < CONNS; i++) {
		for (unsigned k = 0; k < 2 * SIZE; k++)
			assert_done(ops[i][k].done, 0);
	}
	/* and again by flushing, which signals every one */
	for (unsigned i = 0; i < CONNS; i++) {
		for (unsigned k = 0; k < SIZE; k++)
			rig_recv(&c[i], &ops[i][k], 8);
		for (unsigned k = SIZE; k < 2 * SIZE; k++)
			rig_send(&c[i], &ops[i][k], 8);
	}
	rig_settle();
	for (unsigned i = 0; i < CONNS; i++)
		double_flush(c[i].qp);
	rig_settle();
	for (unsigned i = 0; i < CONNS; i++) {
		for (unsigned k = 0; k < 2 * SIZE; k++)
			assert_done(ops[i][k].done, UV_EIO);
	}
	assert_int_equal(double_problems(), 0);
}

/* each call of the device that fails: refused with its errno, and the next one succeeds */
static void reserve__device_refuses(void **state)
{
	static const char *const calls[] = { "ibv_query_device_ex", "ibv_create_comp_channel",
		"ibv_create_cq" };
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn c;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		rig_reactor(&opts);
		double_fail(calls[i], 1, EMFILE);
		assert_int_equal(conn_new(10, 10, &c), UV_EMFILE);
		assert_null(c.conn);
		assert_int_equal(rig_stats().conns, 0);
		assert_int_equal(conn_new(10, 10, &c), 0);
		assert_int_equal(rig_stats().conns, 1);
	}
	/* without an errno it is not success either */
	rig_reactor(&opts);
	errno = 0;
	double_fail("ibv_create_cq", 1, 0);
	assert_true(conn_new(10, 10, &c) < 0);
	/* a channel that the loop cannot watch */
	rig_reactor(&opts);
	rig.watch_errno = EPERM;
	assert_int_equal(conn_new(10, 10, &c), UV_EPERM);
	assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 0);
}

/* no memory, whichever allocation it is */
static void reserve__out_of_memory(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	unsigned k;

	(void)state;
	for (k = 1; k < 20; k++) {
		rpma_uv_conn_t *conn = UNIT_UNTOUCHED;
		int ret;

		rig_reactor(&opts);
		unit_alloc_fail(k);
		ret = rpma_uv_conn_new(&rig.reactor, rig.peer, NULL, &conn);
		if (ret == 0)
			break;
		assert_int_equal(ret, UV_ENOMEM);
		assert_ptr_equal(conn, UNIT_UNTOUCHED);
	}
	assert_true(k > 3 && k < 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(reserve__another_queue),
		RIG_TEST(reserve__large),
		RIG_TEST(reserve__never_overrun),
		RIG_TEST(reserve__device_refuses),
		RIG_TEST(reserve__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
