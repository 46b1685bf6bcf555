/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* active.c - connecting: what the peer is told, what is set, in which order */

#include <netdb.h>

#include "rig.h"

/* the linker sends these calls here */
int __real_getnameinfo(const struct sockaddr *addr, socklen_t addr_len, char *host,
	socklen_t host_len, char *service, socklen_t service_len, int flags);
int __wrap_getnameinfo(const struct sockaddr *addr, socklen_t addr_len, char *host,
	socklen_t host_len, char *service, socklen_t service_len, int flags);

static bool has_no_names;

int __wrap_getnameinfo(const struct sockaddr *addr, socklen_t addr_len, char *host,
	socklen_t host_len, char *service, socklen_t service_len, int flags)
{
	return has_no_names ? EAI_MEMORY
			    : __real_getnameinfo(
				      addr, addr_len, host, host_len, service, service_len, flags);
}

static rpma_uv_future_t *connect_to(struct rig_conn *c)
{
	return rpma_uv_connect(c->conn, NULL, UNIT_ADDR, UNIT_PORT, NULL);
}

/* parameters of the connection, options of the id, attributes of the queue pair */
static void active__parameters(void **state)
{
	const struct rdma_conn_param *param;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct rig_conn c;
	uint64_t value = 0;

	(void)state;
	rig_conn_ready(&c, NULL);
	param = double_conn_param(c.id);
	assert_int_equal(param->responder_resources, 255);
	assert_int_equal(param->initiator_depth, 255);
	assert_int_equal(param->retry_count, 6); /* 7 is for ever on a software device */
	assert_int_equal(param->rnr_retry_count, 6); /* 7 is for ever */
	assert_int_equal(param->flow_control, 1);
	assert_int_equal(param->private_data_len, 0);
	assert_true(double_option(c.id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &value));
	assert_int_equal(value, 17);
	assert_int_equal(ibv_query_qp(c.qp, &attr, IBV_QP_MIN_RNR_TIMER, &init), 0);
	assert_int_equal(attr.min_rnr_timer, 24);
	assert_int_equal(rig_stats().conns_ready, 1);
}

/* older kernels know no such option, older devices no such timer: no failure */
static void active__options_refused(void **state)
{
	struct rig_conn c;

	(void)state;
	double_fail("rdma_set_option", 1, ENOSYS);
	double_fail("ibv_modify_qp", 1, EINVAL);
	rig_conn_ready(&c, NULL);
	assert_int_equal(rig_stats().conns_ready, 1);
}

/* each provider call that fails: the future fails with its errno, and so does the connection */
static void active__provider_refuses(void **state)
{
	static const char *const calls[] = { "rdma_create_event_channel", "rdma_create_id",
		"rdma_resolve_addr", "ibv_query_port", "rdma_resolve_route", "rdma_create_qp_ex",
		"rdma_connect", "ibv_query_qp" };
	rpma_uv_reactor_opts_t opts = rig_opts();

	(void)state;
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct rig_done done, end;
		static struct rig_op recv;
		struct rig_conn c;

		rig_reactor(&opts);
		rig_conn_new(&c, NULL);
		rig_recv(&c, &recv, 8);
		double_fail(calls[i], 1, EPROTO);
		rig_watch(connect_to(&c), &done);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
		assert_int_equal(done.times, 0);
		RIG_UNTIL(done.times > 0);
		rig_settle();
		assert_done(done, UV_EPROTO);
		assert_done(end, UV_EPROTO);
		assert_done(recv.done, UV_EPROTO);
		assert_int_equal(rig_stats().conns_ready, 0);
		assert_int_equal(double_live(DOUBLE_ID), 0);
		assert_int_equal(double_live(DOUBLE_QP), 0);
		/* it only waits for its close */
		assert_int_equal(rig_await(connect_to(&c)), UV_EINVAL);
		rig_conn_gone(&c);
	}
}

/* events that end a step */
static void active__events_of_failure(void **state)
{
	static const struct {
		unsigned steps; /* events before it */
		enum rdma_cm_event_type type;
		int status;
		int expected;
	} cases[] = {
		{ 0, RDMA_CM_EVENT_ADDR_ERROR, -EHOSTDOWN, UV_EHOSTDOWN },
		{ 0, RDMA_CM_EVENT_ADDR_ERROR, 0, UV_EADDRNOTAVAIL },
		{ 0, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, UV_ENODEV },
		{ 1, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT, UV_EHOSTUNREACH },
		{ 2, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, UV_EHOSTUNREACH },
		{ 2, RDMA_CM_EVENT_CONNECT_ERROR, -ECONNABORTED, UV_ECONNABORTED },
		{ 2, RDMA_CM_EVENT_CONNECT_ERROR, 5, UV_EIO },
		{ 2, RDMA_CM_EVENT_REJECTED, 8, UV_ECONNREFUSED },
		{ 2, RDMA_CM_EVENT_DISCONNECTED, 0, UV_ECONNRESET },
	};

	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig_done done, end;
		struct rig_conn c;

		rig_conn_new(&c, NULL);
		rig_watch(connect_to(&c), &done);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
		c.id = double_last_id();
		if (cases[i].steps > 0)
			rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
		if (cases[i].steps > 1)
			rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
		rig_settle();
		assert_int_equal(done.times, 0);
		rig_cm(&c, cases[i].type, cases[i].status);
		RIG_UNTIL(done.times > 0);
		rig_settle();
		assert_done(done, cases[i].expected);
		assert_int_equal((int)done.detail, cases[i].status);
		assert_done(end, cases[i].expected);
		rig_conn_gone(&c);
	}
}

/* the peer stays silent: each step has a deadline of its own */
static void active__deadlines(void **state)
{
	struct rpma_conn_cfg *cfg = rig_cfg(0, 0, 300);

	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	for (unsigned steps = 0; steps < 3; steps++) {
		uint64_t start, bound = steps < 2 ? 300 : RPMA_UV_CONNECT_TIMEOUT;
		struct rig_done done;
		struct rig_conn c;

		rig_conn_new(&c, cfg);
		rig_watch(connect_to(&c), &done);
		c.id = double_last_id();
		if (steps > 0)
			rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
		if (steps > 1)
			rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
		rig_settle();
		start = uv_now(&rig.loop);
		RIG_UNTIL(done.times > 0); /* the clock jumps */
		assert_done(done, UV_ETIMEDOUT);
		assert_int_equal(uv_now(&rig.loop) - start, bound);
		rig_conn_gone(&c);
	}
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

/* an answer that has arrived wins over the deadline that has passed meanwhile */
static void active__late_loop(void **state)
{
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	rig_conn_new(&c, NULL);
	double_auto_bits(0);
	rig_watch(connect_to(&c), &done);
	c.id = double_last_id();
	rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	rig_settle();
	rig_cm(&c, RDMA_CM_EVENT_ESTABLISHED, 0);
	rig_advance(10 * RPMA_UV_CONNECT_TIMEOUT);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
}

/* only an accepted peer's message says that the connection is there: the answer to ours has to come */
static void active__message_is_faster(void **state)
{
	static struct rig_op recv;
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	rig_conn_new(&c, NULL);
	rig_recv(&c, &recv, 8);
	rig_watch(connect_to(&c), &done);
	c.id = double_last_id();
	rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	rig_settle();
	double_qp_state(c.id->qp, IBV_QPS_RTS);
	assert_true(double_deliver(c.id->qp, "hello", 6, NULL));
	RIG_UNTIL(recv.done.times > 0);
	assert_done(recv.done, 0);
	assert_int_equal(done.times, 0);
	assert_int_equal(rig_stats().conns_ready, 0);
	assert_int_equal(double_calls("rdma_notify"), 0);
	rig_cm(&c, RDMA_CM_EVENT_ESTABLISHED, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
}

/* receives posted before are on the queue before the peer is asked: as many as fit */
static void active__receives_first(void **state)
{
	static struct rig_op recvs[400];
	struct rpma_conn_cfg *cfg = rig_cfg(0, 300, 0);
	struct rig_conn c;
	const char *posted, *connected;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
	rig_conn_new(&c, cfg);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	for (unsigned i = 0; i < 400; i++)
		rig_recv(&c, &recvs[i], 8);
	rig_settle(); /* they have been looked at, and wait */
	double_log_clear();
	(void)connect_to(&c);
	RIG_UNTIL(double_calls("rdma_connect") > 0);
	c.id = double_last_id();
	c.qp = c.id->qp;
	assert_int_equal(double_pending_recvs(c.qp), 300);
	posted = strstr(double_log(), "ibv_post_recv");
	assert_non_null(posted);
	connected = strstr(double_log(), "rdma_connect");
	assert_true(posted < connected);
	assert_null(strstr(connected, "ibv_post_recv"));
	rig_settle();
	/* the first to complete makes room for the next */
	assert_true(double_deliver(c.qp, "x", 1, NULL));
	rig_settle();
	assert_done(recvs[0].done, 0);
	assert_int_equal(double_pending_recvs(c.qp), 300);
	rig_close();
	for (unsigned i = 1; i < 400; i++)
		assert_done(recvs[i].done, UV_ECANCELED);
}

/* a receive that the device refuses ends alone; the others are on the queue */
static void active__receive_refused(void **state)
{
	static struct rig_op recvs[5];
	struct rig_conn c;

	(void)state;
	rig_conn_new(&c, NULL);
	for (unsigned i = 0; i < 5; i++)
		rig_recv(&c, &recvs[i], 8);
	double_refuse_wr(3, ENOMEM);
	assert_int_equal(rig_await(connect_to(&c)), 0);
	assert_done(recvs[2].done, UV_ENOMEM);
	assert_int_equal(double_pending_recvs(double_last_id()->qp), 4);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(recvs[i].done.times, i == 2);
	rig_close();
	for (unsigned i = 0; i < 5; i++)
		assert_done(recvs[i].done, i == 2 ? UV_ENOMEM : UV_ECANCELED);
}

/* arguments and states */
static void active__refused(void **state)
{
	struct rpma_conn_private_data no_ptr = { NULL, 3 }, no_len = { "abc", 0 };
	struct rig_done done[6];
	struct rig_conn c;

	(void)state;
	rig_conn_new(&c, NULL);
	rig_watch(rpma_uv_connect(c.conn, NULL, NULL, UNIT_PORT, NULL), &done[0]);
	rig_watch(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, NULL, NULL), &done[1]);
	rig_watch(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, &no_ptr), &done[2]);
	rig_watch(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, &no_len), &done[3]);
	rig_settle();
	for (unsigned i = 0; i < 4; i++)
		assert_done(done[i], UV_EINVAL);
	/* none of that has changed the connection */
	rig_watch(connect_to(&c), &done[4]);
	rig_watch(connect_to(&c), &done[5]);
	RIG_UNTIL(done[4].times > 0);
	rig_settle();
	assert_done(done[4], 0);
	assert_done(done[5], UV_EINVAL);
	assert_int_equal(rig_await(connect_to(&c)), UV_EINVAL);
	rig_conn_close(&c);
	assert_int_equal(rig_await(connect_to(&c)), UV_ECANCELED);
	rig_close();
}

/* no room for the future: NULL, and the connection is NEW */
static void active__out_of_memory(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_new(&c, NULL);
	unit_alloc_fail(1);
	assert_null(connect_to(&c));
	assert_int_equal(rig_await(connect_to(&c)), 0);
}

/* cancelled at each step: abandoned at once */
static void active__cancelled(void **state)
{
	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	for (unsigned steps = 0; steps < 3; steps++) {
		struct rig_done done, end;
		rpma_uv_future_t *f;
		struct rig_conn c;

		rig_conn_new(&c, NULL);
		f = rig_watch(connect_to(&c), &done);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
		c.id = double_last_id();
		if (steps > 0)
			rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
		if (steps > 1)
			rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
		rig_settle();
		assert_int_equal(rpma_uv_cancel(f, 0), 0);
		assert_int_equal(rpma_uv_cancel(f, 0), UV_EALREADY);
		assert_int_equal(done.times, 0);
		rig_settle();
		assert_done(done, UV_ECANCELED);
		assert_done(end, UV_ECANCELED);
		assert_int_equal(double_live(DOUBLE_ID), 0);
		rig_conn_gone(&c);
	}
}

/* the negotiated depth is the queue pair's, not the event's; a device that says 0 still gets one */
static void active__read_depth(void **state)
{
	static struct rig_op reads[5];
	static const int depths[] = { 1, 3, 0 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct rig_conn c;

		double_device.max_rd_atomic = depths[i];
		rig_conn_ready(&c, NULL);
		for (unsigned k = 0; k < 5; k++)
			rig_read(&c, &reads[k], 8);
		rig_settle();
		assert_int_equal(double_pending_sends(c.qp), depths[i] > 0 ? depths[i] : 1);
		rig_conn_gone(&c);
	}
}

/* the route leads over another device than the peer's */
static void active__another_device(void **state)
{
	struct rpma_peer *peer = NULL;
	struct rig_conn c = { 0 };

	(void)state;
	assert_int_equal(rpma_peer_new(rig_another_device(), &peer), 0);
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, peer, NULL, &c.conn), 0);
	assert_int_equal(rig_await(connect_to(&c)), UV_ENODEV);
	assert_int_equal(double_calls("rdma_resolve_route"), 0);
	rig_conn_gone(&c);
	rig_close();
	unit_peer_delete(peer);
}

/* the peer's address in words is for people: without it everything else works */
static void active__no_words_for_an_address(void **state)
{
	struct rig_conn c;

	(void)state;
	has_no_names = true;
	rig_conn_ready(&c, NULL);
	has_no_names = false;
	assert_string_equal(rpma_uv_conn_remote_addr(c.conn), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(active__parameters),
		RIG_TEST(active__options_refused),
		RIG_TEST(active__provider_refuses),
		RIG_TEST(active__events_of_failure),
		RIG_TEST(active__deadlines),
		RIG_TEST(active__late_loop),
		RIG_TEST(active__receives_first),
		RIG_TEST(active__message_is_faster),
		RIG_TEST(active__receive_refused),
		RIG_TEST(active__refused),
		RIG_TEST(active__out_of_memory),
		RIG_TEST(active__cancelled),
		RIG_TEST(active__read_depth),
		RIG_TEST(active__another_device),
		RIG_TEST(active__no_words_for_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
