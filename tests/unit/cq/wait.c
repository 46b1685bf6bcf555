/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* wait.c - a wait takes one event, acknowledges it, and asks for the next before one polls */

#include "unit.h"

static struct unit_conn u;
static struct rpma_cq *cq;
static const struct ibv_wc wc = { .status = IBV_WC_SUCCESS };

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

static void cq_wait__steps(void **state)
{
	struct ibv_wc got;

	(void)state;
	double_push_wc(u.qp->send_cq, &wc);
	assert_false(double_cq_is_armed(u.qp->send_cq));
	assert_int_equal(rpma_cq_wait(cq), 0);
	assert_true(double_cq_is_armed(u.qp->send_cq));
	assert_string_equal(double_log(), "ibv_get_cq_event ibv_req_notify_cq");
	assert_int_equal(rpma_cq_get_wc(cq, 1, &got, NULL), 0);
	/* one that comes now raises an event again */
	double_push_wc(u.qp->send_cq, &wc);
	assert_int_equal(rpma_cq_wait(cq), 0);
}

static void add_completion(struct ibv_cq *ibv_cq, void *arg)
{
	(void)arg;
	double_on_arm(NULL, NULL);
	double_push_wc(ibv_cq, &wc);
}

/* a completion between the event and the arming is found by whoever polls after the wait */
static void cq_wait__nothing_is_lost(void **state)
{
	struct ibv_wc got[3];
	int count = 0;

	(void)state;
	double_push_wc(u.qp->send_cq, &wc);
	double_on_arm(add_completion, NULL);
	assert_int_equal(rpma_cq_wait(cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 3, got, &count), 0);
	assert_int_equal(count, 2);
}

/* a wait may find nothing */
static void cq_wait__spurious(void **state)
{
	struct ibv_wc got;

	(void)state;
	double_spurious_event(u.qp->send_cq);
	assert_int_equal(rpma_cq_wait(cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &got, NULL), RPMA_E_NO_COMPLETION);
}

static void cq_wait__invalid(void **state)
{
	struct rpma_conn_cfg *cfg = unit_cfg(7, true);
	struct rpma_cq *shared = NULL;
	struct unit_conn other;

	(void)state;
	assert_int_equal(rpma_cq_wait(NULL), RPMA_E_INVAL);
	unit_conn_new(&other, cfg);
	assert_int_equal(rpma_conn_get_cq(other.conn, &shared), 0);
	assert_int_equal(rpma_cq_wait(shared), RPMA_E_SHARED_CHANNEL);
	assert_int_equal(rpma_conn_get_rcq(other.conn, &shared), 0);
	assert_int_equal(rpma_cq_wait(shared), RPMA_E_SHARED_CHANNEL);
	assert_int_equal(double_calls("ibv_get_cq_event"), 0);
	unit_conn_delete(&other);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

/* for whatever reason there is no event: nothing is logged */
static void cq_wait__no_completion(void **state)
{
	int fd = -1;

	(void)state;
	unit_signal_soon();
	assert_int_equal(rpma_cq_wait(cq), RPMA_E_NO_COMPLETION);
	assert_int_equal(rpma_cq_get_fd(cq, &fd), 0);
	unit_nonblock(fd);
	assert_int_equal(rpma_cq_wait(cq), RPMA_E_NO_COMPLETION);
	double_fail("ibv_get_cq_event", 1, UNIT_ERRNO);
	assert_int_equal(rpma_cq_wait(cq), RPMA_E_NO_COMPLETION);
	assert_int_equal(unit_log_level, RPMA_LOG_DISABLED);
	assert_int_equal(double_calls("ibv_req_notify_cq"), 0);
}

static void cq_wait__arming_fails(void **state)
{
	(void)state;
	double_push_wc(u.qp->send_cq, &wc);
	double_fail("ibv_req_notify_cq", 1, UNIT_ERRNO);
	assert_int_equal(rpma_cq_wait(cq), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(cq_wait__arming_fails), TEST(cq_wait__invalid), TEST(cq_wait__no_completion),
	TEST(cq_wait__nothing_is_lost), TEST(cq_wait__spurious), TEST(cq_wait__steps))
