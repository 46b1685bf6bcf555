/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* next_event.c - every event of rdma_cm has its meaning for a connection, or is skipped */

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

static void next_event__meaning(void **state)
{
	static const struct {
		enum rdma_cm_event_type type;
		enum rpma_conn_event event;
	} events[] = {
		{ RDMA_CM_EVENT_ESTABLISHED, RPMA_CONN_ESTABLISHED },
		{ RDMA_CM_EVENT_CONNECT_ERROR, RPMA_CONN_LOST },
		{ RDMA_CM_EVENT_DEVICE_REMOVAL, RPMA_CONN_LOST },
		{ RDMA_CM_EVENT_DISCONNECTED, RPMA_CONN_CLOSED },
		{ RDMA_CM_EVENT_TIMEWAIT_EXIT, RPMA_CONN_CLOSED },
		{ RDMA_CM_EVENT_REJECTED, RPMA_CONN_REJECTED },
		{ RDMA_CM_EVENT_UNREACHABLE, RPMA_CONN_UNREACHABLE },
	};
	enum rpma_conn_event event;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		event = RPMA_CONN_UNDEFINED;
		unit_log_forget();
		double_push_cm(u.id, events[i].type, -7, NULL, 0);
		assert_int_equal(rpma_conn_next_event(u.conn, &event), 0);
		assert_int_equal(event, events[i].event);
		assert_int_equal(double_live(DOUBLE_CM_EVENT), 0);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_NOTICE), 1);
		assert_non_null(strstr(unit_log_text, rpma_utils_conn_event_2str(event)));
		assert_non_null(strstr(unit_log_text, "-7"));
	}
}

/* without a counterpart: the event that came, not what the caller's variable held, is logged */
static void next_event__no_counterpart(void **state)
{
	static const enum rdma_cm_event_type types[] = { RDMA_CM_EVENT_ADDR_RESOLVED,
		RDMA_CM_EVENT_ADDR_ERROR, RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_ERROR,
		RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_CONNECT_RESPONSE,
		RDMA_CM_EVENT_MULTICAST_JOIN, RDMA_CM_EVENT_MULTICAST_ERROR,
		RDMA_CM_EVENT_ADDR_CHANGE };
	enum rpma_conn_event event = (enum rpma_conn_event)UNIT_UNTOUCHED_INT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		unit_log_forget();
		double_push_cm(u.id, types[i], 0, NULL, 0);
		assert_int_equal(rpma_conn_next_event(u.conn, &event), RPMA_E_UNKNOWN);
		assert_int_equal(event, UNIT_UNTOUCHED_INT);
		assert_int_equal(double_live(DOUBLE_CM_EVENT), 0);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_WARNING), 1);
		assert_non_null(strstr(unit_log_text, rdma_event_str(types[i])));
	}
}

static void next_event__in_order(void **state)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;

	(void)state;
	double_push_cm(u.id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	double_push_cm(u.id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL, 0);
	assert_int_equal(rpma_conn_next_event(u.conn, &event), 0);
	assert_int_equal(event, RPMA_CONN_CLOSED);
	assert_int_equal(rpma_conn_next_event(u.conn, &event), 0);
	assert_int_equal(event, RPMA_CONN_LOST);
	assert_string_equal(double_log(), "rdma_get_cm_event rdma_ack_cm_event rdma_get_cm_event "
					  "rdma_ack_cm_event");
}

static void next_event__null(void **state)
{
	enum rpma_conn_event event = (enum rpma_conn_event)UNIT_UNTOUCHED_INT;

	(void)state;
	assert_int_equal(rpma_conn_next_event(NULL, &event), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_next_event(u.conn, NULL), RPMA_E_INVAL);
	assert_int_equal(event, UNIT_UNTOUCHED_INT);
	assert_int_equal(double_calls_total(), 0);
}

static void next_event__ack_fails(void **state)
{
	enum rpma_conn_event event = (enum rpma_conn_event)UNIT_UNTOUCHED_INT;

	(void)state;
	double_push_cm(u.id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	double_fail("rdma_ack_cm_event", 1, UNIT_ERRNO);
	assert_int_equal(rpma_conn_next_event(u.conn, &event), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(event, UNIT_UNTOUCHED_INT);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

/* no memory is needed, so none can be missing and no event be lost for it */
static void next_event__allocates_nothing(void **state)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;

	(void)state;
	unit_alloc_fail(1);
	double_push_cm(u.id, RDMA_CM_EVENT_ESTABLISHED, 0, "hello", 6);
	assert_int_equal(rpma_conn_next_event(u.conn, &event), 0);
	assert_int_equal(unit_allocs(), 0);
	unit_alloc_fail(0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(next_event__ack_fails), TEST(next_event__allocates_nothing),
	TEST(next_event__in_order), TEST(next_event__meaning), TEST(next_event__no_counterpart),
	TEST(next_event__null))
