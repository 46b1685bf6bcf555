/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* conn_event_2str.c - every connection event has its text, and any other number has one too */

#include "unit.h"

static void conn_event_2str__known(void **state)
{
	(void)state;
	assert_string_equal(
		rpma_utils_conn_event_2str(RPMA_CONN_UNDEFINED), "Undefined connection event");
	assert_string_equal(
		rpma_utils_conn_event_2str(RPMA_CONN_ESTABLISHED), "Connection established");
	assert_string_equal(rpma_utils_conn_event_2str(RPMA_CONN_CLOSED), "Connection closed");
	assert_string_equal(rpma_utils_conn_event_2str(RPMA_CONN_LOST), "Connection lost");
	assert_string_equal(rpma_utils_conn_event_2str(RPMA_CONN_REJECTED), "Connection rejected");
	assert_string_equal(
		rpma_utils_conn_event_2str(RPMA_CONN_UNREACHABLE), "Connection unreachable");
}

static void conn_event_2str__unknown(void **state)
{
	static const int events[] = { -2, RPMA_CONN_UNREACHABLE + 1, 100 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		assert_string_equal(rpma_utils_conn_event_2str((enum rpma_conn_event)events[i]),
			"Unsupported connection event");
}

UNIT_MAIN(UNIT_TEST(conn_event_2str__known), UNIT_TEST(conn_event_2str__unknown))
