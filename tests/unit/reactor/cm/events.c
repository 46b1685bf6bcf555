/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* events.c - events of the connection manager: late, doubled, too many, none */

#include "rig.h"

/* a refused connect leaves nothing unacknowledged, and neither do events that nobody has read */
static void events__refused(void **state)
{
	struct rig_conn c;
	struct rig_done done;

	(void)state;
	double_auto_bits(0);
	rig_conn_new(&c, NULL);
	rig_watch(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), &done);
	c.id = double_last_id();
	rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	rig_settle();
	rig_cm(&c, RDMA_CM_EVENT_REJECTED, 28);
	rig_cm(&c, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ECONNREFUSED);
	assert_int_equal(done.detail, 28);
	rig_conn_gone(&c);
	assert_int_equal(double_live(DOUBLE_CM_EVENT), 0);
	assert_int_equal(double_problems(), 0);
}

/* UNREACHABLE after ESTABLISHED, and whatever else comes late or twice: the connection lives */
static void events__late_ones(void **state)
{
	static const enum rdma_cm_event_type types[] = {
		RDMA_CM_EVENT_ADDR_RESOLVED,
		RDMA_CM_EVENT_ADDR_ERROR,
		RDMA_CM_EVENT_ROUTE_RESOLVED,
		RDMA_CM_EVENT_ROUTE_ERROR,
		RDMA_CM_EVENT_CONNECT_RESPONSE,
		RDMA_CM_EVENT_CONNECT_ERROR,
		RDMA_CM_EVENT_UNREACHABLE,
		RDMA_CM_EVENT_REJECTED,
		RDMA_CM_EVENT_ESTABLISHED,
		RDMA_CM_EVENT_MULTICAST_JOIN,
		RDMA_CM_EVENT_MULTICAST_ERROR,
		RDMA_CM_EVENT_ADDR_CHANGE,
	};
	static struct rig_op read;
	struct rig_done end;
	struct rig_conn c;
	uint64_t events;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	events = rig_stats().cm_events;
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		rig_cm(&c, types[i], -EHOSTUNREACH);
	rig_settle();
	assert_int_equal(rig_stats().cm_events, events + sizeof(types) / sizeof(types[0]));
	assert_int_equal(end.times, 0);
	assert_int_equal(rig_stats().conns_ready, 1);
	rig_read(&c, &read, 8);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(read.done.times > 0);
	assert_done(read.done, 0);
	rig_close();
}

/* early ones do not hurry a connection on */
static void events__early_ones(void **state)
{
	struct rig_conn c;
	struct rig_done done;

	(void)state;
	double_auto_bits(0);
	rig_conn_new(&c, NULL);
	rig_watch(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), &done);
	c.id = double_last_id();
	rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	rig_cm(&c, RDMA_CM_EVENT_ESTABLISHED, 0);
	rig_cm(&c, RDMA_CM_EVENT_REJECTED, 28);
	rig_cm(&c, RDMA_CM_EVENT_UNREACHABLE, 0);
	rig_settle();
	assert_int_equal(done.times, 0);
	assert_int_equal(double_calls("rdma_connect"), 0);
	rig_close();
	assert_done(done, UV_ECANCELED);
}

/* DISCONNECTED, then TIMEWAIT_EXIT, then both again: one end, one close */
static void events__disconnected_twice(void **state)
{
	struct rig_conn c;
	struct rig_done end;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_cm(&c, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	rig_cm(&c, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	rig_settle();
	assert_done(end, UV_ECONNRESET);
	rig_conn_gone(&c);
	rig_settle();
	assert_done(end, UV_ECONNRESET);
	assert_int_equal(c.closed, 1);
}

/* a non-blocking channel with nothing to read says so: no error, no word */
static void events__nothing_to_read(void **state)
{
	struct rig_conn c;
	struct rig_done end;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	unit_log_forget();
	double_fail("rdma_get_cm_event", 1, EAGAIN);
	rig_cm(&c, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	rig_settle();
	double_fail("rdma_get_cm_event", 1, EINTR);
	rig_cm(&c, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	rig_settle();
	assert_int_equal(end.times, 0);
	for (int level = RPMA_LOG_LEVEL_FATAL; level <= RPMA_LOG_LEVEL_DEBUG; level++)
		assert_int_equal(unit_logged((enum rpma_log_level)level), 0);
	rig_close();
}

/* more events than are handled in a turn: the rest in the next ones */
static void events__many(void **state)
{
	struct rig_conn c;
	uint64_t before;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_settle();
	before = rig_stats().cm_events;
	for (unsigned i = 0; i < 200; i++)
		rig_cm(&c, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	(void)rpma_uv_promise(&rig.reactor, NULL); /* the loop is to run */
	rig_glance();
	assert_true(rig_stats().cm_events < before + 200);
	rig_settle();
	assert_int_equal(rig_stats().cm_events, before + 200);
}

/* no channel: no connection manager here, or the errno; and it is tried again the next time */
static void events__no_channel(void **state)
{
	static const int errors[][2] = { { ENOENT, UV_ENODEV }, { EMFILE, UV_EMFILE } };

	struct rig_conn c;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rig_conn_new(&c, NULL);
		double_fail("rdma_create_event_channel", 1, errors[i][0]);
		assert_int_equal(
			rig_await(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)),
			errors[i][1]);
		rig_conn_gone(&c);
	}
	/* nor is one of use that the loop cannot watch */
	rig_conn_new(&c, NULL);
	rig.watch_errno = EPERM;
	assert_int_equal(
		rig_await(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), UV_EPERM);
	assert_int_equal(double_live(DOUBLE_EVENT_CHANNEL), 0);
	rig_conn_ready(&c, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(events__refused),
		RIG_TEST(events__late_ones),
		RIG_TEST(events__early_ones),
		RIG_TEST(events__disconnected_twice),
		RIG_TEST(events__nothing_to_read),
		RIG_TEST(events__many),
		RIG_TEST(events__no_channel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
