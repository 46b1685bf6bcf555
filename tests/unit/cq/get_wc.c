/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* get_wc.c - completions are fetched in order, as many as there are and as fit */

#include "unit.h"

static struct unit_conn u;
static struct rpma_cq *cq;

static int setup(void **state)
{
	(void)unit_setup(state);
	unit_conn_new(&u, NULL);
	return rpma_conn_get_cq(u.conn, &cq);
}

static int teardown(void **state)
{
	unit_conn_delete(&u);
	return unit_teardown(state);
}

static void push(uint64_t wr_id)
{
	const struct ibv_wc wc = { .wr_id = wr_id };

	double_push_wc(u.qp->send_cq, &wc);
}

static void get_wc__one(void **state)
{
	int count = UNIT_UNTOUCHED_INT;
	struct ibv_wc wc;

	(void)state;
	push(1);
	push(2);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, &count), 0);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(count, 1);
}

static void get_wc__several(void **state)
{
	struct ibv_wc wc[4];
	int count = UNIT_UNTOUCHED_INT;
	uint64_t i;

	(void)state;
	for (i = 1; i <= 5; i++)
		push(i);
	assert_int_equal(rpma_cq_get_wc(cq, 3, wc, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[2].wr_id, 3);
	assert_int_equal(rpma_cq_get_wc(cq, 4, wc, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(wc[1].wr_id, 5);
}

/* programs poll in a loop: nothing is logged, not even for debugging */
static void get_wc__empty(void **state)
{
	int count = UNIT_UNTOUCHED_INT;
	struct ibv_wc wc[2];

	(void)state;
	assert_int_equal(rpma_cq_get_wc(cq, 2, wc, &count), RPMA_E_NO_COMPLETION);
	assert_int_equal(rpma_cq_get_wc(cq, 1, wc, &count), RPMA_E_NO_COMPLETION);
	assert_int_equal(rpma_cq_get_wc(cq, 1, wc, NULL), RPMA_E_NO_COMPLETION);
	assert_int_equal(count, UNIT_UNTOUCHED_INT);
	assert_int_equal(unit_log_level, RPMA_LOG_DISABLED);
	assert_int_equal(double_calls_total(), 0); /* the channel is not touched */
}

static void get_wc__invalid(void **state)
{
	int count = UNIT_UNTOUCHED_INT;
	struct ibv_wc wc[2];

	(void)state;
	push(1);
	assert_int_equal(rpma_cq_get_wc(NULL, 1, wc, &count), RPMA_E_INVAL);
	assert_int_equal(rpma_cq_get_wc(cq, 1, NULL, &count), RPMA_E_INVAL);
	assert_int_equal(rpma_cq_get_wc(cq, 0, wc, &count), RPMA_E_INVAL);
	assert_int_equal(rpma_cq_get_wc(cq, -1, wc, &count), RPMA_E_INVAL);
	assert_int_equal(rpma_cq_get_wc(cq, 2, wc, NULL), RPMA_E_INVAL);
	assert_int_equal(count, UNIT_UNTOUCHED_INT);
	assert_int_equal(double_cq_count(u.qp->send_cq), 1);
}

static void get_wc__device_fails(void **state)
{
	int count = UNIT_UNTOUCHED_INT;
	struct ibv_wc wc[2];

	(void)state;
	double_poll_returns(-1);
	assert_int_equal(rpma_cq_get_wc(cq, 2, wc, &count), RPMA_E_PROVIDER);
	assert_errno(EIO); /* not what some earlier call left */
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	double_poll_returns(3);
	assert_int_equal(rpma_cq_get_wc(cq, 2, wc, &count), RPMA_E_UNKNOWN);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 2);
	assert_int_equal(count, UNIT_UNTOUCHED_INT);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(get_wc__device_fails), TEST(get_wc__empty), TEST(get_wc__invalid), TEST(get_wc__one),
	TEST(get_wc__several))
