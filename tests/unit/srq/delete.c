/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* delete.c - deleting, which takes the pointer even if it fails */

#include "unit.h"

static struct rpma_peer *peer;

static int setup(void **state)
{
	(void)unit_setup(state);
	peer = unit_peer_new();
	return 0;
}

static int teardown(void **state)
{
	unit_peer_delete(peer);
	return unit_teardown(state);
}

/* the completion queue goes first, with its channel */
static void srq_delete__done(void **state)
{
	struct rpma_srq *srq = unit_srq(peer, 3, 7);

	(void)state;
	double_log_clear();
	assert_int_equal(rpma_srq_delete(&srq), 0);
	assert_null(srq);
	assert_string_equal(
		double_log(), "ibv_destroy_cq ibv_destroy_comp_channel ibv_destroy_srq");
}

static void srq_delete__without_rcq(void **state)
{
	struct rpma_srq *srq = unit_srq(peer, 3, 0);

	(void)state;
	double_log_clear();
	assert_int_equal(rpma_srq_delete(&srq), 0);
	assert_null(srq);
	assert_string_equal(double_log(), "ibv_destroy_srq");
}

/* what nobody took goes without a completion: its memory is free */
static void srq_delete__with_receives(void **state)
{
	static uint8_t memory[64];
	struct rpma_mr_local *mr = unit_mr(peer, memory, 64, RPMA_MR_USAGE_RECV);
	struct rpma_srq *srq = unit_srq(peer, 3, 7);

	(void)state;
	assert_int_equal(rpma_srq_recv(srq, mr, 0, 64, NULL), 0);
	assert_int_equal(rpma_srq_delete(&srq), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	assert_int_equal(double_problems(), 0);
}

static void srq_delete__null(void **state)
{
	struct rpma_srq *srq = NULL;

	(void)state;
	double_log_clear();
	assert_int_equal(rpma_srq_delete(NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_delete(&srq), 0);
	assert_int_equal(double_calls_total(), 0);
}

/* every step runs, whatever fails */
static void srq_delete__device_refuses(void **state)
{
	static const char *const calls[] = { "ibv_destroy_cq", "ibv_destroy_comp_channel",
		"ibv_destroy_srq" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct rpma_srq *srq = unit_srq(peer, 3, 7);

		unit_log_forget();
		double_log_clear();
		double_fail(calls[i], 1, UNIT_ERRNO);
		assert_int_equal(rpma_srq_delete(&srq), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_null(srq);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
		assert_int_equal(double_calls("ibv_destroy_srq"), 1);
		assert_int_equal(double_live(DOUBLE_SRQ), 0);
	}
}

/* of several failures the first one counts */
static void srq_delete__first_failure(void **state)
{
	struct rpma_srq *srq = unit_srq(peer, 3, 7);

	(void)state;
	unit_log_forget();
	double_fail("ibv_destroy_comp_channel", 1, UNIT_ERRNO);
	double_fail("ibv_destroy_srq", 1, EBUSY);
	assert_int_equal(rpma_srq_delete(&srq), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_null(srq);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 2);
}

/* a connection is still on it: the device keeps what it has, and the caller has nothing to retry */
static void srq_delete__busy(void **state)
{
	struct rpma_conn_cfg *cfg = unit_cfg(0, false);
	struct rpma_srq *srq = unit_srq(peer, 3, 0);
	struct unit_conn u;

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_srq(cfg, srq), 0);
	unit_conn_new_on(&u, peer, cfg);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	assert_int_equal(rpma_srq_delete(&srq), RPMA_E_PROVIDER);
	assert_errno(EBUSY);
	assert_null(srq);
	assert_int_equal(rpma_conn_delete(&u.conn), 0);
	assert_int_equal(ibv_destroy_srq(double_last_srq()), 0); /* what was leaked */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(srq_delete__busy), TEST(srq_delete__device_refuses), TEST(srq_delete__done),
	TEST(srq_delete__first_failure), TEST(srq_delete__null), TEST(srq_delete__with_receives),
	TEST(srq_delete__without_rcq))
