/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* wait.c - waiting for either queue of a shared channel */

#include "unit.h"

static struct rpma_conn_cfg *cfg;
static struct unit_conn u;
static struct rpma_cq *cq, *rcq;

static int setup(void **state)
{
	(void)unit_setup(state);
	cfg = unit_cfg(7, true);
	unit_conn_new(&u, cfg);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	return rpma_conn_get_rcq(u.conn, &rcq);
}

static int teardown(void **state)
{
	unit_conn_delete(&u);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	return unit_teardown(state);
}

static const struct ibv_wc wc = { .status = IBV_WC_SUCCESS };

/* the queue that has something is found, its event acknowledged, and it is armed again */
static void wait__finds(void **state)
{
	struct rpma_cq *found = NULL;
	struct ibv_wc got;
	bool is_rcq = true;

	(void)state;
	double_push_wc(u.qp->send_cq, &wc);
	assert_int_equal(rpma_conn_wait(u.conn, 0, &found, &is_rcq), 0);
	assert_ptr_equal(found, cq);
	assert_false(is_rcq);
	assert_true(double_cq_is_armed(u.qp->send_cq));
	assert_int_equal(rpma_cq_get_wc(found, 1, &got, NULL), 0);

	double_push_wc(u.qp->recv_cq, &wc);
	assert_int_equal(rpma_conn_wait(u.conn, 0, &found, &is_rcq), 0);
	assert_ptr_equal(found, rcq);
	assert_true(is_rcq);
	assert_true(double_cq_is_armed(u.qp->recv_cq));
	assert_string_equal(double_log(), "ibv_get_cq_event ibv_req_notify_cq ibv_get_cq_event "
					  "ibv_req_notify_cq");
}

/* unknown flags are ignored, is_rcq may be NULL */
static void wait__optional(void **state)
{
	struct rpma_cq *found = NULL;

	(void)state;
	double_push_wc(u.qp->recv_cq, &wc);
	assert_int_equal(rpma_conn_wait(u.conn, ~RPMA_CONN_WAIT_ARM_LATER, &found, NULL), 0);
	assert_ptr_equal(found, rcq);
	assert_true(double_cq_is_armed(u.qp->recv_cq));
}

static void wait__without_rcq(void **state)
{
	struct rpma_conn_cfg *without = unit_cfg(0, true);
	struct rpma_cq *found = NULL;
	struct unit_conn other;
	bool is_rcq = true;

	(void)state;
	unit_conn_new(&other, without);
	double_push_wc(other.qp->recv_cq, &wc);
	assert_int_equal(rpma_conn_wait(other.conn, 0, &found, &is_rcq), 0);
	assert_false(is_rcq);
	assert_int_equal(rpma_conn_get_cq(other.conn, &cq), 0);
	assert_ptr_equal(found, cq);
	unit_conn_delete(&other);
	assert_int_equal(rpma_conn_cfg_delete(&without), 0);
}

static void expect(const struct rpma_conn *conn, int expected)
{
	struct rpma_cq *found = UNIT_UNTOUCHED;
	bool is_rcq = true;

	assert_int_equal(rpma_conn_wait((void *)(uintptr_t)conn, 0, &found, &is_rcq), expected);
	assert_ptr_equal(found, UNIT_UNTOUCHED);
	assert_true(is_rcq);
}

static void expect_foreign(const struct unit_conn *of)
{
	struct ibv_cq *foreign = ibv_create_cq(double_ctx(), 1, NULL, of->qp->send_cq->channel, 0);

	unit_log_forget();
	assert_non_null(foreign);
	double_spurious_event(foreign);
	expect(of->conn, RPMA_E_UNKNOWN);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_int_equal(ibv_destroy_cq(foreign), 0);
	assert_int_equal(double_problems(), 0);
}

static void wait__invalid(void **state)
{
	struct unit_conn other;

	(void)state;
	expect(NULL, RPMA_E_INVAL);
	assert_int_equal(rpma_conn_wait(u.conn, 0, NULL, NULL), RPMA_E_INVAL);
	unit_conn_new(&other, NULL);
	expect(other.conn, RPMA_E_NOT_SHARED_CHNL);
	assert_int_equal(double_calls("ibv_get_cq_event"), 0);
	unit_conn_delete(&other);
}

/* for whatever reason there is no event: nothing is logged */
static void wait__no_completion(void **state)
{
	int fd = -1;

	(void)state;
	unit_signal_soon();
	expect(u.conn, RPMA_E_NO_COMPLETION);
	assert_int_equal(rpma_conn_get_compl_fd(u.conn, &fd), 0);
	unit_nonblock(fd);
	expect(u.conn, RPMA_E_NO_COMPLETION);
	double_fail("ibv_get_cq_event", 1, UNIT_ERRNO);
	expect(u.conn, RPMA_E_NO_COMPLETION);
	assert_int_equal(unit_log_level, RPMA_LOG_DISABLED);
}

/* an event of a foreign queue is acknowledged, so that the queue can be destroyed */
static void wait__foreign_queue(void **state)
{
	struct rpma_conn_cfg *without = unit_cfg(0, true);
	struct unit_conn other;

	(void)state;
	expect_foreign(&u);
	unit_conn_new(&other, without);
	expect_foreign(&other);
	unit_conn_delete(&other);
	assert_int_equal(rpma_conn_cfg_delete(&without), 0);
}

/* unlike other outputs this one becomes NULL when the queue cannot be armed */
static void wait__arming_fails(void **state)
{
	struct rpma_cq *found = UNIT_UNTOUCHED;

	(void)state;
	double_push_wc(u.qp->send_cq, &wc);
	double_fail("ibv_req_notify_cq", 1, UNIT_ERRNO);
	assert_int_equal(rpma_conn_wait(u.conn, 0, &found, NULL), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_null(found);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

/* put off, the arming comes with the next wait, which hands the queue out for a last look */
static void wait__armed_later(void **state)
{
	struct rpma_cq *found = NULL;
	struct ibv_wc got;
	bool is_rcq = false;

	(void)state;
	double_push_wc(u.qp->recv_cq, &wc);
	assert_int_equal(rpma_conn_wait(u.conn, RPMA_CONN_WAIT_ARM_LATER, &found, &is_rcq), 0);
	assert_ptr_equal(found, rcq);
	assert_true(is_rcq);
	assert_false(double_cq_is_armed(u.qp->recv_cq));
	assert_int_equal(double_calls("ibv_req_notify_cq"), 0);
	assert_int_equal(rpma_cq_get_wc(found, 1, &got, NULL), 0);

	/* it comes before the arming and notifies nobody; a wait would miss it */
	double_push_wc(u.qp->recv_cq, &wc);
	found = NULL;
	is_rcq = false;
	assert_int_equal(rpma_conn_wait(u.conn, 0, &found, &is_rcq), 0);
	assert_ptr_equal(found, rcq);
	assert_true(is_rcq);
	assert_true(double_cq_is_armed(u.qp->recv_cq));
	assert_int_equal(double_calls("ibv_get_cq_event"), 1);
	assert_int_equal(rpma_cq_get_wc(found, 1, &got, NULL), 0);

	/* then it is as if nothing had been put off */
	double_push_wc(u.qp->recv_cq, &wc);
	assert_int_equal(rpma_conn_wait(u.conn, 0, &found, NULL), 0);
	assert_ptr_equal(found, rcq);
	assert_int_equal(double_calls("ibv_get_cq_event"), 2);
}

/* a queue that is unarmed does not keep the other one from being waited for */
static void wait__armed_later_other(void **state)
{
	struct rpma_cq *found = NULL;
	bool is_rcq = true;

	(void)state;
	double_push_wc(u.qp->recv_cq, &wc);
	assert_int_equal(rpma_conn_wait(u.conn, RPMA_CONN_WAIT_ARM_LATER, &found, NULL), 0);
	assert_ptr_equal(found, rcq);
	double_push_wc(u.qp->send_cq, &wc);
	assert_int_equal(rpma_conn_wait(u.conn, RPMA_CONN_WAIT_ARM_LATER, &found, &is_rcq), 0);
	assert_ptr_equal(found, cq);
	assert_false(is_rcq);
	assert_int_equal(double_calls("ibv_req_notify_cq"), 0);

	/* now nothing can notify: instead of waiting for ever, it says so */
	found = UNIT_UNTOUCHED;
	assert_int_equal(rpma_conn_wait(u.conn, RPMA_CONN_WAIT_ARM_LATER, &found, NULL),
		RPMA_E_NO_COMPLETION);
	assert_ptr_equal(found, UNIT_UNTOUCHED);
	assert_int_equal(double_calls("ibv_get_cq_event"), 2);

	/* one queue a call */
	assert_int_equal(rpma_conn_wait(u.conn, 0, &found, &is_rcq), 0);
	assert_ptr_equal(found, cq);
	assert_false(double_cq_is_armed(u.qp->recv_cq));
	assert_int_equal(rpma_conn_wait(u.conn, 0, &found, &is_rcq), 0);
	assert_ptr_equal(found, rcq);
	assert_true(is_rcq);
	assert_true(double_cq_is_armed(u.qp->send_cq));
	assert_true(double_cq_is_armed(u.qp->recv_cq));
	assert_int_equal(double_calls("ibv_get_cq_event"), 2);
}

/* a wait with the flag is not for a last look: the queue stays as it is */
static void wait__armed_later_alone(void **state)
{
	struct rpma_conn_cfg *without = unit_cfg(0, true);
	struct rpma_cq *found = UNIT_UNTOUCHED, *main_cq = NULL;
	struct unit_conn other;
	bool is_rcq = true;

	(void)state;
	unit_conn_new(&other, without);
	assert_int_equal(rpma_conn_get_cq(other.conn, &main_cq), 0);
	double_push_wc(other.qp->send_cq, &wc);
	assert_int_equal(rpma_conn_wait(other.conn, RPMA_CONN_WAIT_ARM_LATER, &found, &is_rcq), 0);
	assert_ptr_equal(found, main_cq);
	assert_false(is_rcq);
	assert_int_equal(rpma_conn_wait(other.conn, RPMA_CONN_WAIT_ARM_LATER, &found, &is_rcq),
		RPMA_E_NO_COMPLETION);
	assert_false(double_cq_is_armed(other.qp->send_cq));
	assert_int_equal(rpma_conn_wait(other.conn, 0, &found, &is_rcq), 0);
	assert_ptr_equal(found, main_cq);
	assert_true(double_cq_is_armed(other.qp->send_cq));
	unit_conn_delete(&other);
	assert_int_equal(rpma_conn_cfg_delete(&without), 0);
}

/* a queue that could not be armed is armed by the next call */
static void wait__armed_again(void **state)
{
	struct rpma_cq *found = UNIT_UNTOUCHED;
	int i;

	(void)state;
	double_push_wc(u.qp->send_cq, &wc);
	for (i = 0; i < 2; i++) {
		double_fail("ibv_req_notify_cq", 1, UNIT_ERRNO);
		found = UNIT_UNTOUCHED;
		assert_int_equal(rpma_conn_wait(u.conn, 0, &found, NULL), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_null(found);
	}
	assert_int_equal(rpma_conn_wait(u.conn, 0, &found, NULL), 0);
	assert_ptr_equal(found, cq);
	assert_true(double_cq_is_armed(u.qp->send_cq));
	assert_int_equal(double_calls("ibv_get_cq_event"), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(wait__armed_again), TEST(wait__armed_later), TEST(wait__armed_later_alone),
	TEST(wait__armed_later_other), TEST(wait__arming_fails), TEST(wait__finds),
	TEST(wait__foreign_queue), TEST(wait__invalid), TEST(wait__no_completion),
	TEST(wait__optional), TEST(wait__without_rcq))
