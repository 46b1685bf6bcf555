/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* no_event.c - a connection to which nothing happened says so, and logs nothing */

#include "unit.h"

static struct unit_conn u;

static int setup(void **state)
{
	(void)unit_setup(state);
	unit_conn_new(&u, NULL);
	return 0;
}

static int teardown(void **state)
{
	unit_conn_delete(&u);
	return unit_teardown(state);
}

static void expect(int expected, unsigned errors)
{
	enum rpma_conn_event event = (enum rpma_conn_event)UNIT_UNTOUCHED_INT;

	unit_log_forget();
	assert_int_equal(rpma_conn_next_event(u.conn, &event), expected);
	assert_int_equal(event, UNIT_UNTOUCHED_INT);
	unit_logged_errors(errors);
}

static void no_event__non_blocking(void **state)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	int fd = -1;

	(void)state;
	assert_int_equal(rpma_conn_get_event_fd(u.conn, &fd), 0);
	unit_nonblock(fd);
	expect(RPMA_E_NO_EVENT, 0);
	double_push_cm(u.id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	assert_int_equal(rpma_conn_next_event(u.conn, &event), 0);
	assert_int_equal(event, RPMA_CONN_CLOSED);
	expect(RPMA_E_NO_EVENT, 0);
}

/* a signal handler ends the wait */
static void no_event__signal(void **state)
{
	(void)state;
	unit_signal_soon();
	expect(RPMA_E_NO_EVENT, 0);
}

static void no_event__by_errno(void **state)
{
	(void)state;
	unit_no_event_by_errno(expect);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(no_event__by_errno), TEST(no_event__non_blocking), TEST(no_event__signal))
