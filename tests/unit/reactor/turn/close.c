/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* close.c - the reactor closes everything there is, in every state, its children first */

#include "rig.h"

enum stage {
	NEW,
	RESOLVING,
	ROUTING,
	CONNECTING,
	READY,
	POSTED, /* READY, with posted and waiting operations */
	DRAINING,
	CLOSED,
	STAGES
};

/* a connection at a stage, with every future that it can have */
struct subject {
	struct rig_conn c;
	struct rig_done connect, end, waiting;
	struct rig_op sends[4], recv;
	unsigned sends_count;
	bool has_connect;
};

static void steps(struct subject *s, enum stage stage)
{
	static const enum rdma_cm_event_type events[] = { RDMA_CM_EVENT_ADDR_RESOLVED,
		RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ESTABLISHED };

	s->c.id = double_last_id();
	for (unsigned i = 0; i < 3 && RESOLVING + i < stage; i++) {
		rig_cm(&s->c, events[i], 0);
		rig_settle();
	}
	s->c.qp = s->c.id->qp;
}

static void arrange(struct subject *s, enum stage stage)
{
	struct rpma_conn_cfg *cfg = rig_cfg(2, 4, 0);

	memset(s, 0, sizeof(*s));
	double_auto_bits(0);
	rig_conn_new(&s->c, cfg);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	rig_watch(rpma_uv_conn_end(s->c.conn, NULL), &s->end);
	rig_recv(&s->c, &s->recv, 8);
	if (stage == NEW)
		return;
	s->has_connect = true;
	rig_watch(rpma_uv_connect(s->c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), &s->connect);
	steps(s, stage);
	if (stage < POSTED)
		return;
	s->sends_count = 4; /* two fit */
	for (unsigned i = 0; i < 4; i++)
		rig_send(&s->c, &s->sends[i], 8);
	rig_settle();
	assert_int_equal(double_pending_sends(s->c.qp), 2);
	if (stage == POSTED)
		return;
	rig_watch(rpma_uv_disconnect(s->c.conn, NULL), &s->waiting);
	rig_settle();
	if (stage == DRAINING)
		return;
	rig_cm(&s->c, RDMA_CM_EVENT_DISCONNECTED, 0);
	double_flush(s->c.qp);
	rig_settle();
	assert_done(s->waiting, 0);
}

/* everything of it has ended, once, as it should */
static void verify(const struct subject *s, enum stage stage)
{
	assert_int_equal(s->end.times, 1);
	assert_int_equal(s->end.status, stage >= DRAINING ? 0 : UV_ECANCELED);
	assert_done(s->recv.done, UV_ECANCELED);
	if (s->has_connect)
		assert_done(s->connect, stage >= READY ? 0 : UV_ECANCELED);
	for (unsigned i = 0; i < s->sends_count; i++)
		assert_done(s->sends[i].done, UV_ECANCELED);
	if (stage >= DRAINING)
		assert_done(s->waiting, 0);
}

/* what was posted comes back, or it does not (the drain's deadline is then what helps) */
static void answer(struct subject *s, bool is_answered)
{
	if (!is_answered || s->c.qp == NULL)
		return;
	rig_settle();
	if (s->c.id == double_last_id() && s->c.id->qp != NULL)
		double_flush(s->c.qp);
}

static void close_by_reactor(enum stage stage, bool is_answered)
{
	struct subject s;

	arrange(&s, stage);
	rig_close_begin();
	answer(&s, is_answered);
	rig_close();
	verify(&s, stage);
}

/* the reactor closes a connection at each stage */
static void close__connection_by_reactor(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	(void)state;
	for (int stage = NEW; stage < STAGES; stage++) {
		close_by_reactor((enum stage)stage, false);
		rig_reactor(&opts);
		close_by_reactor((enum stage)stage, true);
		rig_reactor(&opts);
	}
}

/*
 * the program closes it and the reactor at once: its close callback comes first, its futures before
 */
static void close__connection_then_reactor(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	(void)state;
	for (int stage = NEW; stage < STAGES; stage++) {
		struct subject s;

		arrange(&s, (enum stage)stage);
		rig_conn_close(&s.c);
		rig_close();
		verify(&s, (enum stage)stage);
		assert_int_equal(s.c.closed, 1);
		assert_true(s.c.closed_at < rig.closed_at);
		assert_true(s.end.at < s.c.closed_at);
		assert_true(s.recv.done.at < s.c.closed_at);
		assert_true(s.connect.at < s.c.closed_at);
		for (unsigned i = 0; i < s.sends_count; i++)
			assert_true(s.sends[i].done.at < s.c.closed_at);
		rig_reactor(&opts);
	}
}

static void close_conn_on_end(rpma_uv_future_t *f, int status)
{
	struct rig_conn *c = f->data;

	assert_int_equal(status, UV_ECANCELED);
	rig_conn_close(c);
}

/*
 * The reactor closes first, and the connection's own callback closes it after that, as callbacks
 * do: it is told too.
 */
static void close__connection_in_its_callback(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	(void)state;
	for (unsigned ready = 0; ready < 2; ready++) {
		struct rig_conn c;

		double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
		if (ready)
			rig_conn_ready(&c, NULL);
		else
			rig_conn_new(&c, NULL);
		rpma_uv_then(rpma_uv_conn_end(c.conn, NULL), close_conn_on_end, &c);
		rig_close();
		assert_int_equal(c.closed, 1);
		assert_true(c.closed_at < rig.closed_at);
		rig_reactor(&opts);
	}
}

static rpma_uv_conn_req_t *shown;

static void show(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	(void)ep;
	(void)data;
	shown = req;
}

struct ep_closed {
	unsigned times;
	unsigned at;
};

static void on_ep_closed(void *data)
{
	struct ep_closed *closed = data;

	closed->times++;
	closed->at = rig_count();
}

static rpma_uv_ep_t *listen_with_requests(bool with_unseen)
{
	struct rdma_cm_id *listen_id;
	rpma_uv_ep_t *ep;

	double_auto_bits(0);
	shown = NULL;
	assert_int_equal(
		rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, show, NULL, &ep),
		0);
	listen_id = double_last_id();
	(void)double_push_request(listen_id, "one", 4);
	RIG_UNTIL(shown != NULL);
	if (with_unseen) {
		(void)double_push_request(listen_id, "two", 4);
		(void)double_push_request(listen_id, NULL, 0);
	}
	return ep;
}

/* a listener with requests shown and not shown */
static void close__listener(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	(void)state;
	for (unsigned with_unseen = 0; with_unseen < 2; with_unseen++) {
		struct ep_closed closed = { 0 };
		rpma_uv_ep_t *ep = listen_with_requests(with_unseen);

		rig_close();
		rig_reactor(&opts);

		ep = listen_with_requests(with_unseen);
		rpma_uv_ep_close(ep, on_ep_closed, &closed);
		rig_close();
		assert_int_equal(closed.times, 1);
		assert_true(closed.at < rig.closed_at);
		rig_reactor(&opts);

		/* the reactor's closing came first */
		memset(&closed, 0, sizeof(closed));
		ep = listen_with_requests(with_unseen);
		rig_close_begin();
		rpma_uv_ep_close(ep, on_ep_closed, &closed);
		rig_close();
		assert_int_equal(closed.times, 1);
		assert_true(closed.at < rig.closed_at);
		rig_reactor(&opts);
	}
}

/* look-ups of devices: by name and by address */
static void close__lookups(void **state)
{
	struct rpma_peer *peer = UNIT_UNTOUCHED;
	struct rig_done by_addr, by_name;

	(void)state;
	double_auto_bits(0);
	rig_watch(rpma_uv_peer_new(
			  &rig.reactor, NULL, UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_REMOTE, &peer),
		&by_addr);
	rig_watch(rpma_uv_peer_new(
			  &rig.reactor, NULL, "localhost", RPMA_UTIL_IBV_CONTEXT_REMOTE, &peer),
		&by_name);
	rig_close();
	assert_done(by_addr, UV_ECANCELED);
	assert_done(by_name, UV_ECANCELED);
	assert_true(by_addr.at < rig.closed_at);
	assert_true(by_name.at < rig.closed_at);
	assert_ptr_equal(peer, UNIT_UNTOUCHED);
}

/* all of it at once, in both orders of making */
static void close__everything(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	static struct subject subjects[STAGES];
	struct rpma_peer *peer;
	struct rig_done promise, lookup;

	(void)state;
	for (unsigned order = 0; order < 2; order++) {
		for (int i = 0; i < STAGES; i++) {
			int stage = order == 0 ? i : STAGES - 1 - i;

			arrange(&subjects[stage], (enum stage)stage);
		}
		(void)listen_with_requests(true);
		rig_watch(rpma_uv_promise(&rig.reactor, NULL), &promise);
		rig_watch(rpma_uv_peer_new(&rig.reactor, NULL, UNIT_ADDR,
				  RPMA_UTIL_IBV_CONTEXT_REMOTE, &peer),
			&lookup);
		rig_close();
		for (int stage = NEW; stage < STAGES; stage++)
			verify(&subjects[stage], (enum stage)stage);
		assert_done(promise, UV_ECANCELED);
		assert_done(lookup, UV_ECANCELED);
		rig_reactor(&opts);
	}
}

/* calls after the closing began are refused */
static void close__calls_after_it_began(void **state)
{
	rpma_uv_conn_t *conn = UNIT_UNTOUCHED;
	rpma_uv_ep_t *ep = UNIT_UNTOUCHED;
	struct rpma_peer *peer = UNIT_UNTOUCHED;
	struct rig_done f[8], all;
	struct rig_conn c, fresh;
	rpma_uv_future_t *none = NULL;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_conn_new(&fresh, NULL);
	listen_with_requests(false);
	rig_close_begin();
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, rig.peer, NULL, &conn), UV_ECANCELED);
	assert_int_equal(
		rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, show, NULL, &ep),
		UV_ECANCELED);
	assert_ptr_equal(conn, UNIT_UNTOUCHED);
	assert_ptr_equal(ep, UNIT_UNTOUCHED);
	rig_watch(
		rpma_uv_peer_new(&rig.reactor, NULL, UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_LOCAL, &peer),
		&f[0]);
	rig_watch(rpma_uv_promise(&rig.reactor, NULL), &f[1]);
	rig_watch(rpma_uv_read(c.conn, NULL, rig_local(0), rig_remote(0), 8, 0), &f[2]);
	rig_watch(rpma_uv_send(c.conn, NULL, rig_local(0), 8, 0), &f[3]);
	rig_watch(rpma_uv_recv(c.conn, NULL, rig_local(0), 8), &f[4]);
	rig_watch(rpma_uv_connect(fresh.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), &f[5]);
	rig_watch(rpma_uv_disconnect(c.conn, NULL), &f[6]);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &f[7]);
	for (int i = 0; i < 8; i++)
		assert_int_equal(f[i].times, 0);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, &none, 0), &all); /* no work: not refused */
	rig_close();
	assert_done(all, 0);
	for (int i = 0; i < 8; i++)
		assert_done(f[i], UV_ECANCELED);
	assert_ptr_equal(peer, UNIT_UNTOUCHED);
}

static void close_from_callback(rpma_uv_future_t *f, int status)
{
	(void)f;
	(void)status;
	rig_close_begin();
}

/* from a callback of an operation */
static void close__from_callback(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rpma_uv_then(rpma_uv_read(c.conn, NULL, rig_local(0), rig_remote(8), 8, 0),
		close_from_callback, NULL);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(rig.is_closed);
}

static rpma_uv_future_t *last_words;
static struct rig_done last_done;

static void say_last_words(void *data)
{
	(void)data;
	last_words = rig_watch(rpma_uv_promise(&rig.reactor, NULL), &last_done);
}

/* what is called from the last close callback is refused, and ends before the reactor's */
static void close__calls_in_close_callbacks(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_new(&c, NULL);
	rpma_uv_conn_close(c.conn, say_last_words, NULL);
	rig_close();
	assert_non_null(last_words);
	assert_done(last_done, UV_ECANCELED);
	assert_true(last_done.at < rig.closed_at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(close__connection_by_reactor),
		RIG_TEST(close__connection_then_reactor),
		RIG_TEST(close__connection_in_its_callback),
		RIG_TEST(close__listener),
		RIG_TEST(close__lookups),
		RIG_TEST(close__everything),
		RIG_TEST(close__calls_after_it_began),
		RIG_TEST(close__from_callback),
		RIG_TEST(close__calls_in_close_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
