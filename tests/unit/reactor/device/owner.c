/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * owner.c - one descriptor, several reactors: who reads it, who is told, who follows
 *
 * The other reactors have loops of their own, which this test turns itself: what would be other
 * threads waits exactly as long as it likes.
 */

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rig.h"

#define OTHERS 2

/* another reactor on another loop, with a connection */
struct other {
	uv_loop_t loop;
	rpma_uv_reactor_t reactor;
	rpma_uv_conn_t *conn;
	struct rig_done connected, end;
	bool is_closed;
	struct rig_conn c; /* its id and queue pair */
};

static struct other others[OTHERS];

static void turn(struct other *o)
{
	for (unsigned i = 0; i < 20; i++)
		(void)uv_run(&o->loop, UV_RUN_NOWAIT);
}

static void other_init(struct other *o, const rpma_uv_reactor_opts_t *opts)
{
	rpma_uv_reactor_opts_t defaults = rig_opts();

	memset(o, 0, sizeof(*o));
	assert_int_equal(uv_loop_init(&o->loop), 0);
	assert_int_equal(
		rpma_uv_reactor_init(&o->loop, &o->reactor, opts != NULL ? opts : &defaults), 0);
	assert_int_equal(rpma_uv_conn_new(&o->reactor, rig.peer, NULL, &o->conn), 0);
	rig_watch(rpma_uv_connect(o->conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), &o->connected);
	o->c.id = double_last_id();
	rig_watch(rpma_uv_conn_end(o->conn, NULL), &o->end);
	/* whatever becomes of that: work, since a loop without any does not turn */
	rpma_uv_release(rpma_uv_promise(&o->reactor, NULL));
	turn(o);
	assert_done(o->connected, 0);
	o->c.qp = o->c.id->qp;
}

static void other_closed(void *data)
{
	((struct other *)data)->is_closed = true;
}

static void other_close(struct other *o)
{
	rpma_uv_reactor_close(&o->reactor, other_closed, o);
	turn(o);
	assert_true(o->is_closed);
	assert_int_equal(uv_loop_close(&o->loop), 0);
}

static uint64_t read_by(const rpma_uv_reactor_t *r)
{
	rpma_uv_reactor_stats_t stats;

	rpma_uv_reactor_stats(r, &stats);
	return stats.async_events;
}

static bool is_nonblocking(void)
{
	return fcntl(double_ctx()->async_fd, F_GETFL) & O_NONBLOCK;
}

/* the first one reads all of them and hands over what is not its own */
static void owner__hands_over(void **state)
{
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	for (unsigned i = 0; i < OTHERS; i++)
		other_init(&others[i], NULL);
	double_push_async(IBV_EVENT_QP_FATAL, others[1].c.qp);
	/* those that do not own it do not read it */
	turn(&others[0]);
	turn(&others[1]);
	assert_int_equal(double_async_pending(), 1);
	rig_settle();
	assert_int_equal(double_async_pending(), 0);
	assert_int_equal(rig_stats().async_events, 1);
	assert_int_equal(end.times, 0);
	/* nothing happens to another's connection in this thread */
	assert_int_equal(others[1].end.times, 0);
	turn(&others[0]);
	turn(&others[1]);
	assert_int_equal(others[0].end.times, 0);
	assert_done(others[1].end, UV_EIO);
	/* what concerns all reaches all */
	double_push_async(IBV_EVENT_PORT_ERR, NULL);
	rig_settle();
	turn(&others[0]);
	assert_done(end, UV_ENETDOWN);
	assert_done(others[0].end, UV_ENETDOWN);
	for (unsigned i = 0; i < OTHERS; i++) {
		assert_int_equal(read_by(&others[i].reactor), 0);
		other_close(&others[i]);
	}
	assert_int_equal(double_problems(), 0);
}

static bool is_pushed;

/* between the other's poll and its check */
static void push_late(uv_check_t *check)
{
	struct other *o = check->data;

	if (is_pushed)
		return;
	is_pushed = true;
	double_push_async(IBV_EVENT_QP_FATAL, o->c.qp);
	rig_settle();
	assert_int_equal(double_async_pending(), 0);
}

/* handed over, and its object is gone before the other's turn: acknowledged, nobody is told */
static void owner__object_is_gone(void **state)
{
	struct other *o = &others[0];
	uv_check_t check;
	struct rig_conn c;

	(void)state;
	/* arrange: a connection whose end waits for its peer, until its time is over */
	rig_conn_ready(&c, NULL);
	other_init(o, NULL);
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	rpma_uv_release(rpma_uv_disconnect(o->conn, NULL));
	turn(o);
	assert_int_equal(double_live(DOUBLE_QP), 2);

	/* run: the last started is the first to be run */
	assert_int_equal(uv_check_init(&o->loop, &check), 0);
	assert_int_equal(uv_check_start(&check, push_late), 0);
	check.data = o;
	rig_advance(RPMA_UV_DRAIN_TIMEOUT);
	/* from 1.45 on libuv runs timers after the check, which then finds what is due a turn later */
	is_pushed = uv_version() >= 0x012d00;
	if (is_pushed)
		(void)uv_run(&o->loop, UV_RUN_NOWAIT);
	is_pushed = false;
	(void)uv_run(&o->loop, UV_RUN_NOWAIT);

	/* verify */
	assert_true(is_pushed);
	assert_int_equal(double_live(DOUBLE_QP), 1);
	turn(o);
	assert_done(o->end, 0);
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
	uv_close((uv_handle_t *)&check, NULL);
	other_close(o);
	assert_int_equal(double_problems(), 0);
}

/* when the owner closes the next one reads, with what came in between */
static void owner__passes_on(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	for (unsigned i = 0; i < OTHERS; i++)
		other_init(&others[i], NULL);
	rig_reactor(&opts);
	double_push_async(IBV_EVENT_QP_FATAL, others[1].c.qp);
	assert_true(is_nonblocking());
	turn(&others[1]);
	assert_int_equal(double_async_pending(), 1); /* not its turn */
	turn(&others[0]);
	assert_int_equal(double_async_pending(), 0);
	assert_int_equal(read_by(&others[0].reactor), 1);
	turn(&others[1]);
	assert_done(others[1].end, UV_EIO);
	/* one that comes back is the last in the row */
	rig_conn_ready(&c, NULL);
	other_close(&others[0]);
	double_push_async(IBV_EVENT_PORT_ACTIVE, NULL);
	rig_settle();
	assert_int_equal(rig_stats().async_events, 0);
	turn(&others[1]);
	assert_int_equal(read_by(&others[1].reactor), 1);
	other_close(&others[1]);
	double_push_async(IBV_EVENT_PORT_ACTIVE, NULL);
	rig_settle();
	assert_int_equal(rig_stats().async_events, 1);
}

/* one that closes while it is the owner to be, before it has read */
static void owner__passes_on_unread(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	for (unsigned i = 0; i < OTHERS; i++)
		other_init(&others[i], NULL);
	rig_reactor(&opts);
	other_close(&others[0]);
	double_push_async(IBV_EVENT_PORT_ACTIVE, NULL);
	turn(&others[1]);
	assert_int_equal(read_by(&others[1].reactor), 1);
	other_close(&others[1]);
}

/* one whose loop cannot watch the descriptor is passed by; when nobody can, the next newcomer does */
static void owner__cannot(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	for (unsigned i = 0; i < OTHERS; i++)
		other_init(&others[i], NULL);
	rig_reactor(&opts);
	rig.watch_errno = ENOSPC;
	turn(&others[0]);
	double_push_async(IBV_EVENT_QP_FATAL, others[0].c.qp);
	turn(&others[1]);
	assert_int_equal(read_by(&others[1].reactor), 1);
	turn(&others[0]);
	assert_done(others[0].end, UV_EIO);
	/* the only one that could leaves */
	other_close(&others[1]);
	turn(&others[0]);
	double_push_async(IBV_EVENT_PORT_ACTIVE, NULL);
	turn(&others[0]);
	assert_int_equal(double_async_pending(), 1);
	rig_conn_ready(&c, NULL);
	rig_settle();
	assert_int_equal(rig_stats().async_events, 1);
	other_close(&others[0]);
}

/* a descriptor that fails tells all of them */
static void owner__descriptor_fails(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	other_init(&others[0], NULL);
	double_fail_always("ibv_get_async_event", EBADF);
	double_push_async(IBV_EVENT_PORT_ACTIVE, NULL);
	rig_settle();
	turn(&others[0]);
	assert_done(others[0].end, UV_ENODEV);
	double_fail_none();
	/* nobody tries again, when the owner has left neither, nor do newcomers */
	rig_reactor(&opts);
	turn(&others[0]);
	other_init(&others[1], NULL);
	turn(&others[1]);
	assert_int_equal(double_async_pending(), 1);
	other_close(&others[0]);
	other_close(&others[1]);
}

/* the descriptor is as it was found when the last one has left, whichever way that was */
static void owner__flags_are_restored(void **state)
{
	int fd = double_ctx()->async_fd, flags = fcntl(fd, F_GETFL);
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn c;

	(void)state;
	for (unsigned was_nonblocking = 0; was_nonblocking < 2; was_nonblocking++) {
		assert_int_equal(
			fcntl(fd, F_SETFL, was_nonblocking ? flags | O_NONBLOCK : flags), 0);
		rig_conn_ready(&c, NULL);
		other_init(&others[0], NULL);
		assert_true(is_nonblocking());
		rig_reactor(&opts);
		assert_true(is_nonblocking());
		other_close(&others[0]);
		assert_int_equal(is_nonblocking(), was_nonblocking);
	}
	assert_int_equal(fcntl(fd, F_SETFL, flags), 0);
}

/* left to the program: neither touched nor read */
static void owner__not_wanted(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	static struct rig_done end;
	struct rig_conn c;

	(void)state;
	opts.async_events = -1;
	rig_reactor(&opts);
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	assert_false(is_nonblocking());
	double_push_async(IBV_EVENT_QP_FATAL, c.qp);
	rig_settle();
	assert_int_equal(end.times, 0);
	assert_int_equal(double_calls("ibv_get_async_event"), 0);
	assert_int_equal(double_async_pending(), 1);
	/* another one of the process may still want them */
	other_init(&others[0], NULL);
	turn(&others[0]);
	assert_int_equal(read_by(&others[0].reactor), 1);
	rig_settle();
	assert_int_equal(end.times, 0);
	other_close(&others[0]);
}

/* two reactors on one loop: the descriptor goes from one to the other */
static void owner__on_one_loop(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	rpma_uv_reactor_t second;
	rpma_uv_conn_t *conn;
	static struct rig_done done, end;
	struct other closed = { .is_closed = false };
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &second, &opts), 0);
	assert_int_equal(rpma_uv_conn_new(&second, rig.peer, NULL, &conn), 0);
	rig_watch(rpma_uv_connect(conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), &done);
	rig_watch(rpma_uv_conn_end(conn, NULL), &end);
	RIG_UNTIL(done.times > 0);
	rig_close_begin();
	RIG_UNTIL(rig.is_closed);
	double_push_async(IBV_EVENT_PORT_ERR, NULL);
	RIG_UNTIL(end.times > 0);
	assert_done(end, UV_ENETDOWN);
	rpma_uv_reactor_close(&second, other_closed, &closed);
	RIG_UNTIL(closed.is_closed);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)poll;
	(void)status;
	(void)events;
	fail();
}

/* the program itself watches the descriptor, on this loop: a connection cannot be made, and that's it */
static void owner__refused(void **state)
{
	rpma_uv_conn_t *conn = UNIT_UNTOUCHED;
	struct rig_conn c;
	uv_poll_t own;

	(void)state;
	assert_int_equal(uv_poll_init(&rig.loop, &own, double_ctx()->async_fd), 0);
	assert_int_equal(uv_poll_start(&own, UV_READABLE, on_readable), 0);
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, rig.peer, NULL, &conn), UV_EEXIST);
	assert_ptr_equal(conn, UNIT_UNTOUCHED);
	uv_close((uv_handle_t *)&own, NULL);
	(void)rig_turn();
	rig_settle();
	assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 0);
	fcntl(double_ctx()->async_fd, F_SETFL,
		fcntl(double_ctx()->async_fd, F_GETFL) & ~O_NONBLOCK);
	rig_conn_ready(&c, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(owner__hands_over),
		RIG_TEST(owner__object_is_gone),
		RIG_TEST(owner__passes_on),
		RIG_TEST(owner__passes_on_unread),
		RIG_TEST(owner__cannot),
		RIG_TEST(owner__descriptor_fails),
		RIG_TEST(owner__flags_are_restored),
		RIG_TEST(owner__not_wanted),
		RIG_TEST(owner__on_one_loop),
		RIG_TEST(owner__refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
