/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * stop_anywhere.c - every object, in every state, stopped from every kind of callback
 *
 * Each pair is lived through on a reactor of its own: the object is brought to its state, the
 * callback comes and stops it, and the loop runs until it ends by itself. Then the object's close
 * callback has run once, its futures are done, once each and before that, nothing of it is left at
 * the device, and the reactor closes.
 */

#include "rig.h"

/* ---- what is stopped ------------------------------------------------------------------------- */

#define FUTURES 8

static struct rig_conn conn;
static rpma_uv_ep_t *ep;
static rpma_uv_srq_t *srq;
static rpma_uv_conn_req_t *request;
static rpma_uv_conn_t *reconnected;
static struct rig_op ops[FUTURES];
static unsigned ops_begun;
static bool are_of_conn; /* they are */
static unsigned gone, gone_at; /* times its close callback has run */

static void (*stop)(void);
static unsigned stops;
static bool is_stopped_by_own; /* the first of its futures that ends stops it */

static void stop_now(void)
{
	if (stops++ == 0)
		stop();
}

static void on_gone(void *data)
{
	assert_ptr_equal(data, &gone);
	gone++;
	gone_at = rig_count();
}

static struct rig_op *next_op(void)
{
	assert_true(ops_begun < FUTURES);
	return &ops[ops_begun++];
}

static void on_op(rpma_uv_future_t *f, int status)
{
	rig_on_done(f, status);
	if (is_stopped_by_own)
		stop_now();
}

#define BEGIN(call)                                                         \
	do {                                                                \
		struct rig_op *o_ = next_op();                              \
		rpma_uv_op_t *op = &o_->op;                                 \
		assert_ptr_equal(rpma_uv_then(call, on_op, &o_->done), op); \
	} while (0)

/* the connection's receive, and whoever wants to know of its end, are there from the beginning */
static void conn_make(void)
{
	are_of_conn = true;
	rig_conn_new(&conn, NULL);
	BEGIN(rpma_uv_recv(conn.conn, op, rig_local(0), 8));
	BEGIN(rpma_uv_conn_end(conn.conn, op));
}

static void conn_step(enum rdma_cm_event_type type)
{
	double_push_cm(conn.id, type, 0, NULL, 0);
	rig_settle();
}

static void conn_begin(void)
{
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	conn_make();
	BEGIN(rpma_uv_connect(conn.conn, op, UNIT_ADDR, UNIT_PORT, NULL));
	conn.id = double_last_id();
	rig_settle();
}

static void at_new(void)
{
	conn_make();
}

static void at_resolving(void)
{
	conn_begin();
}

static void at_routing(void)
{
	conn_begin();
	conn_step(RDMA_CM_EVENT_ADDR_RESOLVED);
}

static void at_connecting(void)
{
	at_routing();
	conn_step(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void at_ready(void)
{
	at_connecting();
	conn_step(RDMA_CM_EVENT_ESTABLISHED);
	conn.qp = conn.id->qp;
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
}

static void at_busy(void)
{
	at_ready();
	for (unsigned i = 0; i < 4; i++)
		BEGIN(rpma_uv_read(conn.conn, op, rig_local(0), rig_remote(0), 8, 0));
	double_qp_rd_atomic(conn.qp, 2); /* some wait */
	rig_settle();
}

/* the device has failed it, and nobody has looked yet */
static void at_failing(void)
{
	at_busy();
	assert_int_equal(double_complete_send(conn.qp, 1, IBV_WC_REM_ACCESS_ERR), 1);
}

static void at_draining(void)
{
	at_busy();
	double_auto_bits(0);
	BEGIN(rpma_uv_disconnect(conn.conn, op));
	rig_settle();
	double_auto_bits(DOUBLE_AUTO_CM);
}

static void at_left(void)
{
	at_ready();
	double_push_cm(conn.id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	double_auto_bits(0);
}

static void at_closed(void)
{
	at_ready();
	conn_step(RDMA_CM_EVENT_DISCONNECTED);
}

static void conn_stop(void)
{
	rpma_uv_conn_close(conn.conn, on_gone, &gone);
}

static void on_request(rpma_uv_ep_t *from, rpma_uv_conn_req_t *req, void *data)
{
	(void)from;
	(void)data;
	request = req;
}

static void ep_make(void)
{
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	request = NULL;
	assert_int_equal(rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, on_request,
				 NULL, &ep),
		0);
}

static void ep_with_unread(void)
{
	ep_make();
	(void)double_push_request(double_last_id(), "hello", 6);
}

static void ep_with_request(void)
{
	ep_with_unread();
	rig_settle();
	assert_non_null(request);
}

static void ep_stop(void)
{
	rpma_uv_ep_close(ep, on_gone, &gone);
}

/* a passive connection: it has been accepted, and nothing more is heard of it */
static void at_accepting(void)
{
	ep_with_request();
	conn_make();
	BEGIN(rpma_uv_accept(request, op, conn.conn, NULL));
	rpma_uv_ep_close(ep, NULL, NULL);
	rig_settle();
}

static void srq_make(void)
{
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 1, &srq), 0);
	BEGIN(rpma_uv_srq_recv(srq, op, rig_local(0), 8)); /* posted */
	BEGIN(rpma_uv_srq_recv(srq, op, rig_local(0), 8)); /* waits */
}

/* it waits for its connection, which ends as well */
static void srq_with_conn(void)
{
	srq_make();
	rig_conn_new(&conn, NULL);
	assert_int_equal(rpma_uv_conn_set_srq(conn.conn, srq), 0);
	assert_int_equal(
		rig_await(rpma_uv_connect(conn.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
}

static void srq_stop(void)
{
	rpma_uv_srq_close(srq, on_gone, &gone);
}

static void srq_and_conn_stop(void)
{
	srq_stop();
	rpma_uv_conn_close(conn.conn, NULL, NULL);
}

static void conn_and_srq_stop(void)
{
	rpma_uv_conn_close(conn.conn, NULL, NULL);
	srq_stop();
}

static void reconnect_make(void)
{
	rpma_uv_reconnect_opts_t opts = { .size = sizeof(opts), .seed = 3 };

	double_auto_bits(DOUBLE_AUTO_FLUSH);
	BEGIN(rpma_uv_reconnect(
		&rig.reactor, op, rig.peer, NULL, UNIT_ADDR, UNIT_PORT, NULL, &opts, &reconnected));
}

static void reconnect_at_work(void)
{
	reconnect_make();
	RIG_UNTIL(rig_stats().conns == 1);
}

static void reconnect_stop(void)
{
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, 0), 0);
	on_gone(&gone); /* it has none */
}

static void reactor_stop(void)
{
	rig_close_begin();
	on_gone(&gone);
}

/* ---- where from ------------------------------------------------------------------------------ */

static uv_timer_t timer;
static uv_prepare_t prepare;
static uv_check_t check;
static uv_idle_t idle;
static rpma_uv_op_t promise, other_promise;
static rpma_uv_all_t all;
static rpma_uv_any_t any;
static rpma_uv_work_t work;
static rpma_uv_ep_t *other_ep;

static void from_outside(void)
{
	stop_now();
}

static void in_callback(rpma_uv_future_t *f, int status)
{
	(void)f;
	(void)status;
	stop_now();
}

static void from_promise(void)
{
	rpma_uv_then(rpma_uv_promise(&rig.reactor, &promise), in_callback, NULL);
	assert_int_equal(rpma_uv_resolve(&promise.future, 0, 0), 0);
}

static void from_sleep(void)
{
	rpma_uv_then(rpma_uv_sleep(&rig.reactor, &promise, 1), in_callback, NULL);
}

static rpma_uv_future_t *in_next(rpma_uv_future_t *done, void *data)
{
	(void)done;
	(void)data;
	stop_now();
	return NULL;
}

static void from_chain(void)
{
	rpma_uv_release(rpma_uv_chain(rpma_uv_promise(&rig.reactor, &promise), in_next, NULL));
	assert_int_equal(rpma_uv_resolve(&promise.future, 0, 0), 0);
}

static void from_all(void)
{
	rpma_uv_future_t *f[] = { rpma_uv_promise(&rig.reactor, &promise) };

	rpma_uv_then(rpma_uv_all(&rig.reactor, &all, f, 1), in_callback, NULL);
	assert_int_equal(rpma_uv_resolve(&promise.future, 0, 0), 0);
}

static void from_any(void)
{
	rpma_uv_future_t *f[] = { rpma_uv_promise(&rig.reactor, &promise),
		rpma_uv_promise(&rig.reactor, &other_promise) };

	rpma_uv_then(rpma_uv_any(&rig.reactor, &any, f, 2, RPMA_UV_ANY_CANCEL), in_callback, NULL);
	assert_int_equal(rpma_uv_resolve(&promise.future, 0, 0), 0);
}

static void in_work(rpma_uv_work_t *w)
{
	rpma_uv_reactor_unref(w->reactor);
	stop_now();
}

static void from_work(void)
{
	rpma_uv_reactor_ref(&rig.reactor); /* as whoever posts has to */
	assert_int_equal(rpma_uv_reactor_post(&rig.reactor, &work, in_work), 0);
}

static void in_close(void *data)
{
	(void)data;
	stop_now();
}

static void from_close_callback(void)
{
	struct rig_conn other;

	rig_conn_new(&other, NULL);
	rpma_uv_conn_close(other.conn, in_close, NULL);
}

static void in_request(rpma_uv_ep_t *from, rpma_uv_conn_req_t *req, void *data)
{
	(void)data;
	(void)req; /* goes with its listener */
	stop_now();
	if (!rig.is_closing)
		rpma_uv_ep_close(from, NULL, NULL);
}

static void from_request(void)
{
	assert_int_equal(rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, "7205", 0, in_request,
				 NULL, &other_ep),
		0);
	(void)double_push_request(double_last_id(), NULL, 0);
}

static int in_hook(rpma_uv_conn_t *c, void *data)
{
	(void)c;
	(void)data;
	stop_now();
	return UV_EPERM; /* and that is all */
}

static void from_reconnect_hook(void)
{
	rpma_uv_reconnect_opts_t opts = { .size = sizeof(opts), .seed = 5, .on_conn = in_hook };
	static rpma_uv_conn_t *never;

	rpma_uv_release(rpma_uv_reconnect(
		&rig.reactor, NULL, rig.peer, NULL, UNIT_ADDR, UNIT_PORT, NULL, &opts, &never));
}

static void in_timer(uv_timer_t *handle)
{
	uv_close((uv_handle_t *)handle, NULL);
	stop_now();
}

static void from_timer(void)
{
	assert_int_equal(uv_timer_init(&rig.loop, &timer), 0);
	assert_int_equal(uv_timer_start(&timer, in_timer, 1, 0), 0);
}

static void in_prepare(uv_prepare_t *handle)
{
	uv_close((uv_handle_t *)handle, NULL);
	stop_now();
}

static void from_prepare(void)
{
	assert_int_equal(uv_prepare_init(&rig.loop, &prepare), 0);
	assert_int_equal(uv_prepare_start(&prepare, in_prepare), 0);
}

static void in_check(uv_check_t *handle)
{
	uv_close((uv_handle_t *)handle, NULL);
	stop_now();
}

static void in_idle(uv_idle_t *handle)
{
	uv_close((uv_handle_t *)handle, NULL);
	stop_now();
}

static void from_idle(void)
{
	assert_int_equal(uv_idle_init(&rig.loop, &idle), 0);
	assert_int_equal(uv_idle_start(&idle, in_idle), 0);
}

static void no_sleep(uv_idle_t *handle)
{
	uv_close((uv_handle_t *)handle, NULL);
}

static void from_check(void)
{
	assert_int_equal(uv_check_init(&rig.loop, &check), 0);
	assert_int_equal(uv_check_start(&check, in_check), 0);
	/* something has to let the loop get there */
	assert_int_equal(uv_idle_init(&rig.loop, &idle), 0);
	assert_int_equal(uv_idle_start(&idle, no_sleep), 0);
}

/* one of the connection's own futures: its device goes, and so do all of them */
static void from_own(void)
{
	is_stopped_by_own = true;
	double_push_async(IBV_EVENT_DEVICE_FATAL, NULL);
}

static bool has_own(void)
{
	for (unsigned i = 0; are_of_conn && i < ops_begun; i++) {
		if (ops[i].done.times == 0)
			return true;
	}
	return false;
}

static const struct {
	const char *name;
	void (*come)(void);
} places[] = {
	{ "outside", from_outside },
	{ "promise", from_promise },
	{ "sleep", from_sleep },
	{ "chain", from_chain },
	{ "all", from_all },
	{ "any", from_any },
	{ "work", from_work },
	{ "close callback", from_close_callback },
	{ "request", from_request },
	{ "reconnect hook", from_reconnect_hook },
	{ "timer", from_timer },
	{ "prepare", from_prepare },
	{ "check", from_check },
	{ "idle", from_idle },
	{ "own future", from_own },
};

#define PLACES (sizeof(places) / sizeof(places[0]))

/* ---- every pair ------------------------------------------------------------------------------ */

static void live(void (*arrange)(void), void (*how)(void), unsigned place)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	rig_reactor(&opts);
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
	memset(ops, 0, sizeof(ops));
	ops_begun = 0;
	are_of_conn = false;
	gone = 0;
	stops = 0;
	is_stopped_by_own = false;
	stop = how;
	arrange();
	if (places[place].come == from_own && !has_own())
		return;
	places[place].come();
	RIG_UNTIL(stops > 0 && gone > 0);
	while (rig_turn()) /* the clock jumps where a peer is silent */
		;
	assert_int_equal(gone, 1);
	if (!rig.is_closing && (how == conn_stop || how == srq_stop)) {
		for (unsigned i = 0; i < ops_begun; i++) {
			assert_int_equal(ops[i].done.times, 1);
			assert_true(ops[i].done.at < gone_at);
		}
	}
	rig_close();
	for (unsigned i = 0; i < ops_begun; i++)
		assert_int_equal(ops[i].done.times, 1);
	assert_int_equal(double_live(DOUBLE_QP), 0);
	assert_int_equal(double_live(DOUBLE_ID), 0);
	assert_int_equal(double_live(DOUBLE_SRQ), 0);
	assert_int_equal(double_async_pending(), 0);
	assert_int_equal(double_problems(), 0);
}

/* what failed, if something did */
static const char *where;
static unsigned where_state;

static int teardown(void **state)
{
	if (where != NULL)
		print_error("in state %u, from %s\n", where_state, where);
	where = NULL;
	return rig_teardown(state);
}

static void everywhere(void (*const states[])(void), unsigned count, void (*how)(void))
{
	for (unsigned i = 0; i < count; i++) {
		for (unsigned k = 0; k < PLACES; k++) {
			where = places[k].name;
			where_state = i;
			live(states[i], how, k);
		}
	}
	where = NULL;
}

#define EVERYWHERE(states_, how_) everywhere(states_, sizeof(states_) / sizeof(states_[0]), how_)

static void (*const conn_states[])(void) = { at_new, at_resolving, at_routing, at_connecting,
	at_accepting, at_ready, at_busy, at_failing, at_draining, at_left, at_closed };
static void (*const ep_states[])(void) = { ep_make, ep_with_unread, ep_with_request };
static void (*const srq_states[])(void) = { srq_make };
static void (*const srq_conn_states[])(void) = { srq_with_conn };
static void (*const reconnect_states[])(void) = { reconnect_make, reconnect_at_work };

static void stop_anywhere__connection(void **state)
{
	(void)state;
	EVERYWHERE(conn_states, conn_stop);
}

static void stop_anywhere__listener(void **state)
{
	(void)state;
	EVERYWHERE(ep_states, ep_stop);
}

static void stop_anywhere__shared_receive_queue(void **state)
{
	(void)state;
	EVERYWHERE(srq_states, srq_stop);
	EVERYWHERE(srq_conn_states, srq_and_conn_stop);
	EVERYWHERE(srq_conn_states, conn_and_srq_stop);
}

static void stop_anywhere__reconnect(void **state)
{
	(void)state;
	EVERYWHERE(reconnect_states, reconnect_stop);
}

static void stop_anywhere__reactor(void **state)
{
	(void)state;
	EVERYWHERE(conn_states, reactor_stop);
	EVERYWHERE(ep_states, reactor_stop);
	EVERYWHERE(srq_states, reactor_stop);
	EVERYWHERE(srq_conn_states, reactor_stop);
	EVERYWHERE(reconnect_states, reactor_stop);
}

#define STOP_TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STOP_TEST(stop_anywhere__connection),
		STOP_TEST(stop_anywhere__listener),
		STOP_TEST(stop_anywhere__shared_receive_queue),
		STOP_TEST(stop_anywhere__reconnect),
		STOP_TEST(stop_anywhere__reactor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
