/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* passive.c - accepting: the same, from the listener's side */

#include "rig.h"

static rpma_uv_ep_t *ep;
static struct rdma_cm_id *listen_id;
static rpma_uv_conn_req_t *request;

static void show(rpma_uv_ep_t *from, rpma_uv_conn_req_t *req, void *data)
{
	assert_ptr_equal(from, ep);
	assert_ptr_equal(data, &request);
	request = req;
}

static void listen_here(void)
{
	assert_int_equal(rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, show,
				 &request, &ep),
		0);
	listen_id = double_last_id();
}

/* the next request, as the program sees it */
static rpma_uv_conn_req_t *next_request(struct rig_conn *c, const void *data, uint8_t len)
{
	request = NULL;
	c->id = double_push_request(listen_id, data, len);
	RIG_UNTIL(request != NULL);
	return request;
}

/* a request is accepted; receives are posted before; parameters as on the active side */
static void passive__accept(void **state)
{
	static struct rig_op recv;
	const struct rdma_conn_param *param;
	const char *posted, *accepted;
	rpma_uv_conn_req_t *req;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct rig_conn c;
	uint64_t value = 0;

	(void)state;
	listen_here();
	rig_conn_new(&c, NULL);
	rig_recv(&c, &recv, 8);
	rig_settle();
	req = next_request(&c, NULL, 0);
	double_log_clear();
	assert_int_equal(rig_await(rpma_uv_accept(req, NULL, c.conn, NULL)), 0);
	c.qp = c.id->qp;
	posted = strstr(double_log(), "ibv_post_recv");
	assert_non_null(posted);
	accepted = strstr(double_log(), "rdma_accept");
	assert_true(posted < accepted);
	param = double_conn_param(c.id);
	assert_int_equal(param->responder_resources, 255);
	assert_int_equal(param->initiator_depth, 255);
	assert_int_equal(param->rnr_retry_count, 6);
	assert_true(double_option(c.id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &value));
	assert_int_equal(value, 17);
	assert_int_equal(ibv_query_qp(c.qp, &attr, IBV_QP_MIN_RNR_TIMER, &init), 0);
	assert_int_equal(attr.min_rnr_timer, 24);
	assert_string_equal(rpma_uv_conn_remote_addr(c.conn), "192.0.2.2:49152");
	assert_int_equal(rig_stats().conns_ready, 1);

	/* it works, and outlives the listener */
	rpma_uv_ep_close(ep, NULL, NULL);
	rig_settle();
	assert_true(double_deliver(c.qp, "hello", 6, NULL));
	RIG_UNTIL(recv.done.times > 0);
	assert_done(recv.done, 0);
	assert_int_equal(recv.done.result, 6);
}

/* each provider call that fails: the future fails with its errno, the peer learns */
static void passive__provider_refuses(void **state)
{
	static const char *const calls[] = { "ibv_query_port", "rdma_create_qp_ex", "rdma_accept",
		"ibv_query_qp" };

	(void)state;
	listen_here();
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		static struct rig_op recv;
		rpma_uv_conn_req_t *req;
		struct rig_conn c;

		rig_conn_new(&c, NULL);
		rig_recv(&c, &recv, 8);
		req = next_request(&c, "hi", 3);
		double_log_clear();
		double_fail(calls[i], 1, EPROTO);
		assert_int_equal(rig_await(rpma_uv_accept(req, NULL, c.conn, NULL)), UV_EPROTO);
		rig_settle();
		assert_done(recv.done, UV_EPROTO);
		if (i < 2)
			assert_int_equal(double_calls("rdma_reject"), 1);
		assert_int_equal(double_live(DOUBLE_ID), 1); /* the listener's */
		assert_int_equal(double_live(DOUBLE_QP), 0);
		rig_conn_gone(&c);
	}
}

/* the peer goes silent after its request, or gives up */
static void passive__not_established(void **state)
{
	static const struct {
		enum rdma_cm_event_type type;
		int expected;
	} cases[] = {
		{ RDMA_CM_EVENT_UNREACHABLE, UV_EHOSTUNREACH },
		{ RDMA_CM_EVENT_CONNECT_ERROR, UV_EIO },
		{ RDMA_CM_EVENT_REJECTED, UV_ECONNREFUSED },
		{ RDMA_CM_EVENT_DISCONNECTED, UV_ECONNRESET },
		{ RDMA_CM_EVENT_ADDR_CHANGE, UV_ETIMEDOUT }, /* says nothing: the deadline does */
	};

	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	listen_here();
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rpma_uv_conn_req_t *req;
		struct rig_done done;
		struct rig_conn c;

		rig_conn_new(&c, NULL);
		req = next_request(&c, NULL, 0);
		rig_watch(rpma_uv_accept(req, NULL, c.conn, NULL), &done);
		rig_cm(&c, cases[i].type, 0);
		RIG_UNTIL(done.times > 0);
		assert_done(done, cases[i].expected);
		rig_conn_gone(&c);
	}
}

/* the peer has given up before it was answered: the kernel's word for that is EINVAL */
static void passive__given_up(void **state)
{
	char long_word[197] = "";
	struct rpma_conn_private_data too_long = { long_word, sizeof(long_word) };
	struct rig_conn c;

	(void)state;
	listen_here();
	rig_conn_new(&c, NULL);
	double_fail("rdma_accept", 1, EINVAL);
	assert_int_equal(rig_await(rpma_uv_accept(next_request(&c, NULL, 0), NULL, c.conn, NULL)),
		UV_ECONNREFUSED);
	rig_conn_gone(&c);
	/* or for a word that is too long */
	rig_conn_new(&c, NULL);
	double_fail("rdma_accept", 1, EINVAL);
	assert_int_equal(
		rig_await(rpma_uv_accept(next_request(&c, NULL, 0), NULL, c.conn, &too_long)),
		UV_EINVAL);
	rig_conn_gone(&c);
}

/* wrong connections and data: the future fails, the request is consumed, the peer learns */
static void passive__refused(void **state)
{
	struct rpma_conn_private_data no_ptr = { NULL, 3 };
	struct rig_conn c, fresh, other;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_conn_new(&fresh, NULL);
	listen_here();
	double_log_clear();
	assert_int_equal(
		rig_await(rpma_uv_accept(next_request(&other, NULL, 0), NULL, c.conn, NULL)),
		UV_EINVAL);
	assert_int_equal(
		rig_await(rpma_uv_accept(next_request(&other, "x", 1), NULL, fresh.conn, &no_ptr)),
		UV_EINVAL);
	rig_conn_close(&c);
	assert_int_equal(
		rig_await(rpma_uv_accept(next_request(&other, "x", 1), NULL, c.conn, NULL)),
		UV_ECANCELED);
	assert_int_equal(double_calls("rdma_reject"), 3);
	/* what was refused has not changed the connection */
	assert_int_equal(
		rig_await(rpma_uv_accept(next_request(&fresh, NULL, 0), NULL, fresh.conn, NULL)),
		0);
}

/* no room for the future: NULL, the request is gone, the connection is NEW */
static void passive__out_of_memory(void **state)
{
	rpma_uv_conn_req_t *req;
	struct rig_conn c;

	(void)state;
	listen_here();
	rig_conn_new(&c, NULL);
	req = next_request(&c, "x", 1);
	double_log_clear();
	unit_alloc_fail(1);
	assert_null(rpma_uv_accept(req, NULL, c.conn, NULL));
	assert_int_equal(double_calls("rdma_reject"), 1);
	assert_int_equal(
		rig_await(rpma_uv_accept(next_request(&c, NULL, 0), NULL, c.conn, NULL)), 0);
}

/* cancelled: abandoned */
static void passive__cancelled(void **state)
{
	struct rig_conn c;
	rpma_uv_op_t op;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	listen_here();
	rig_conn_new(&c, NULL);
	rpma_uv_accept(next_request(&c, NULL, 0), &op, c.conn, NULL);
	assert_int_equal(rpma_uv_cancel(&op.future, 0), 0);
	assert_int_equal(rig_await(&op.future), UV_ECANCELED);
	rig_conn_gone(&c);
}

/*
 * a message may be faster than the event that says that we are connected: then it says so itself,
 * and what its callback sends goes out; the event, when it comes, is late
 */
static void passive__message_is_faster(void **state)
{
	static struct rig_op recv, send;
	struct rig_done accepted;
	struct rig_conn c;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_FLUSH | DOUBLE_AUTO_DATA);
	listen_here();
	rig_conn_new(&c, NULL);
	rig_recv(&c, &recv, 8);
	rig_watch(rpma_uv_accept(next_request(&c, NULL, 0), NULL, c.conn, NULL), &accepted);
	c.qp = c.id->qp;
	double_qp_state(c.qp, IBV_QPS_RTS);
	assert_true(double_deliver(c.qp, "hello", 6, NULL));
	RIG_UNTIL(recv.done.times > 0);
	assert_done(accepted, 0);
	assert_true(accepted.at < recv.done.at);
	assert_int_equal(rig_stats().conns_ready, 1);
	/* the connection manager is told, in case that it has not heard */
	assert_int_equal(double_calls("rdma_notify"), 1);

	rig_send(&c, &send, 8);
	RIG_UNTIL(send.done.times > 0);
	assert_done(send.done, 0);
	rig_cm(&c, RDMA_CM_EVENT_ESTABLISHED, 0);
	rig_settle();
	assert_done(accepted, 0);
	assert_int_equal(rig_stats().conns_ready, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(passive__accept),
		RIG_TEST(passive__provider_refuses),
		RIG_TEST(passive__message_is_faster),
		RIG_TEST(passive__not_established),
		RIG_TEST(passive__given_up),
		RIG_TEST(passive__refused),
		RIG_TEST(passive__out_of_memory),
		RIG_TEST(passive__cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
