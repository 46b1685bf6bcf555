/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * 08_wake_ups.c - no wake-up is lost, and none is for nothing
 *
 * A wake-up is a wait for events with a non-zero time-out that returned. They are counted, not timed: the
 * loop waits through libuv, and libuv through the functions below. A second in which nothing happens has
 * one, that of the timer that tells when it is over; in the simulation it is an hour.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "promise.h"
#include "../softverbs/softverbs.h"
#include "../softverbs/softverbs_seed.h"

#define LEN       256
#define SECOND_MS 1000
#define HOUR_MS   3600000

/* ---- counting -------------------------------------------------------------------------------- */

static unsigned wake_ups, looks;
static pthread_t loop_thread;

/* for the libraries too, which would go on calling libc's */
#define FOR_ALL __attribute__((visibility("default")))

static void count(int timeout)
{
	if (!pthread_equal(pthread_self(), loop_thread))
		return;
	if (timeout != 0)
		wake_ups++;
	else
		looks++;
}

FOR_ALL int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	static int (*call)(int, struct epoll_event *, int, int);
	int ret;

	if (call == NULL)
		*(void **)&call = dlsym(RTLD_NEXT, "epoll_wait");
	ret = call(fd, events, most, timeout);
	count(timeout);
	return ret;
}

FOR_ALL int epoll_pwait(
	int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask)
{
	static int (*call)(int, struct epoll_event *, int, int, const sigset_t *);
	int ret;

	if (call == NULL)
		*(void **)&call = dlsym(RTLD_NEXT, "epoll_pwait");
	ret = call(fd, events, most, timeout, mask);
	count(timeout);
	return ret;
}

static void on_timer(uv_timer_t *timer)
{
	bool *is_over = timer->data;

	*is_over = true;
	uv_close((uv_handle_t *)timer, NULL);
}

/* one wake-up, which is the timer's, and not even a look without a sleep */
static void idle_for(struct world *w, uint64_t ms)
{
	bool is_over = false;
	uv_timer_t timer;
	uint64_t spins = stats_of(&w->client).spins;

	/* what was under way a moment ago has come, its events too */
	AWAIT(w, rpma_uv_sleep(&w->client, NULL, 50), 0);
	CHECK_OK(uv_timer_init(&w->loop, &timer));
	timer.data = &is_over;
	loop_thread = pthread_self();
	spins = stats_of(&w->client).spins;
	CHECK_OK(uv_timer_start(&timer, on_timer, ms, 0));
	world_glance(w); /* and sleeping has become safe */
	wake_ups = looks = 0;
	UNTIL(w, is_over);
	CHECK_INT(wake_ups, 1);
	CHECK_INT(looks, 0);
	CHECK_INT(stats_of(&w->client).spins, spins);
	world_glance(w); /* the timer is closed */
}

static void idle(struct world *w)
{
	idle_for(w, promise_wire == ON_SEEDS ? HOUR_MS : SECOND_MS);
}

/* the reactors do not spin, or as they do by default */
static void reopen(struct world *w, int spin_us)
{
	const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .spin_us = spin_us };

	world_reopen(w, &opts);
	(void)softverbs_seed_odds("spurious=0,stall=0");
}

static void again_as_usual(void)
{
	(void)softverbs_seed_odds("spurious=20,stall=5");
}

/* ---- nothing for nothing --------------------------------------------------------------------- */

static void fresh(struct world *w)
{
	reopen(w, -1);
	idle(w);
	again_as_usual();
}

static void traffic(struct world *w, struct pair *p)
{
	struct op reads[32], send, recv;

	for (unsigned i = 0; i < 32; i++)
		op_read(w, p->c, &reads[i], i * LEN, LEN);
	op_recv(p->s, &recv, &w->there, 0, LEN);
	op_send(p->c, &send, &w->here, 0, LEN);
	for (unsigned i = 0; i < 32; i++)
		ENDS(w, reads[i], 0);
	ENDS(w, send, 0);
	ENDS(w, recv, 0);
}

/* what a server has open while its clients are quiet */
static void open_all(struct world *w, int spin_us)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 2, .chunk = 4096 };
	static struct op recvs[4], end, shared;
	rpma_uv_conn_t *c, *s;
	rpma_uv_file_t *file;
	rpma_uv_pool_t *pool;
	rpma_uv_srq_t *srq;
	uv_buf_t buf = uv_buf_init("x", 1);
	struct pair p;

	reopen(w, spin_us);
	p = world_pair(w, 0, 0);
	for (unsigned i = 0; i < 4; i++)
		op_recv(i % 2 ? p.s : p.c, &recvs[i], i % 2 ? &w->there : &w->here, LEN, LEN);
	watch(CALL(rpma_uv_conn_end(p.c, &end.op)), &end.done);
	c = world_conn(w, &w->client, 0, 0);
	s = world_conn(w, &w->server, 0, 0);
	CHECK_OK(rpma_uv_srq_new(&w->client, w->peer, 4, &srq));
	CHECK_OK(rpma_uv_conn_set_srq(c, srq));
	watch(CALL(rpma_uv_srq_recv(srq, &shared.op, local_of(&w->here, 0), LEN)), &shared.done);
	world_join(w, c, s);
	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &opts, &pool), 0);
	file = world_file(w, "idle", O_CREAT | O_RDWR, 0);
	AWAIT(w, rpma_uv_file_write(file, NULL, &buf, 1, 0, 0), 0);
	AWAIT(w, rpma_uv_file_sync(file, NULL), 0);
	CHECK_OK(unlink(world_path(w, "idle")));
	traffic(w, &(struct pair){ c, s });
	idle(w);
	again_as_usual();
}

static void with_all_open(struct world *w)
{
	open_all(w, -1);
}

static void after_spinning(struct world *w)
{
	open_all(w, 0);
}

/* what waits for the peer, or for the disk, is not looked after in vain */
static void under_way(struct world *w)
{
	static struct op read, file_read;
	static char byte;
	uv_buf_t buf = uv_buf_init(&byte, 1);
	rpma_uv_file_t *file;
	struct pair p;

	reopen(w, -1);
	p = world_pair(w, 0, 0);
	(void)unlink(world_path(w, "fifo"));
	CHECK_OK(mkfifo(world_path(w, "fifo"), 0600));
	file = world_file(w, "fifo", O_RDWR, 0);
	CHECK_OK(unlink(world_path(w, "fifo")));
	watch(CALL(rpma_uv_file_read(file, &file_read.op, &buf, 1, 0)), &file_read.done);
	CHECK_OK(softverbs_faults("withhold=peer"));
	op_read(w, p.c, &read, 0, LEN);
	idle_for(w, SECOND_MS); /* in an hour the device would give it up */
	CHECK_INT(read.done.times + file_read.done.times, 0);
	CHECK_OK(softverbs_faults(NULL));
	ENDS(w, read, 0);
	CHECK_OK(CALL(rpma_uv_cancel(&file_read.op.future, 0)));
	ENDS(w, file_read, UV_ECANCELED);
	again_as_usual();
}

/* connections that have failed, or whose peer is gone, and are not closed yet */
static void after_failures(struct world *w)
{
	struct op refused;
	struct pair p;

	reopen(w, -1);
	p = world_pair(w, 0, 0);
	traffic(w, &p);
	world_conn_close(w, p.s);
	AWAIT(w, rpma_uv_conn_end(p.c, NULL), UV_ECONNRESET);
	watch(CALL(rpma_uv_connect(
		      world_conn(w, &w->client, 0, 0), &refused.op, world_addr(), "1", NULL)),
		&refused.done);
	ENDS(w, refused, UV_ECONNREFUSED);
	idle(w);
	again_as_usual();
}

static void after_cancels(struct world *w)
{
	struct op reads[16];
	struct pair p;

	reopen(w, -1);
	p = world_pair(w, 4, 4);
	for (unsigned i = 0; i < 16; i++)
		op_read(w, p.c, &reads[i], 0, LEN);
	world_glance(w);
	for (unsigned i = 0; i < 16; i++)
		(void)CALL(rpma_uv_cancel(&reads[i].op.future, i == 8 ? RPMA_UV_FORCE : 0));
	for (unsigned i = 0; i < 16; i++)
		UNTIL(w, reads[i].done.times == 1);
	idle(w);
	again_as_usual();
}

/* ---- none is lost ---------------------------------------------------------------------------- */

/* from a loop that sleeps each time: one that is lost would be slept upon for ever */
static void one_at_a_time(struct world *w)
{
	struct op send, recv, file_op;
	uv_buf_t buf = uv_buf_init("bytes", 5);
	rpma_uv_file_t *file;
	struct pair p;

	reopen(w, -1);
	again_as_usual();
	p = world_pair(w, 0, 0);
	file = world_file(w, "one", O_CREAT | O_RDWR, 0);
	for (unsigned i = 0; i < 50; i++) {
		op_read(w, p.c, &send, 0, LEN);
		ENDS(w, send, 0);
		op_recv(p.c, &recv, &w->here, 0, LEN);
		op_send(p.s, &send, &w->there, 0, LEN);
		ENDS(w, recv, 0);
		ENDS(w, send, 0);
		watch(CALL(rpma_uv_file_write(file, &file_op.op, &buf, 1, 0, 0)), &file_op.done);
		ENDS(w, file_op, 0);
	}
	CHECK_OK(unlink(world_path(w, "one")));
}

/* a completion comes after the last look and before the arming, and raises no event */
static void before_arming(struct world *w)
{
	struct op read;
	struct pair p;

	reopen(w, -1);
	again_as_usual();
	(void)softverbs_seed_odds("race=700");
	p = world_pair(w, 0, 0);
	if (promise_wire == ON_SOCKETS)
		CHECK_OK(softverbs_faults("complete:before_arm"));
	for (unsigned i = 0; i < 100; i++) {
		op_read(w, p.c, &read, 0, LEN);
		ENDS(w, read, 0);
	}
	(void)softverbs_seed_odds("race=50");
}

/* events for nothing, events that are interrupted, batches that are cut: a wake-up each at most */
static void odd_events(struct world *w)
{
	struct op read;
	struct pair p;

	reopen(w, -1);
	p = world_pair(w, 0, 0);
	CHECK_OK(softverbs_faults("cq_event:spurious@2;cq_event:spurious@5;cq_event:double@7;"
				  "get_cq_event:EINTR@3;get_cq_event:EAGAIN@6;poll:batch=1"));
	for (unsigned i = 0; i < 50; i++) {
		op_read(w, p.c, &read, 0, LEN);
		ENDS(w, read, 0);
	}
	idle(w);
	again_as_usual();
}

/* completions, or callbacks, beyond the budget of a turn are not slept upon */
static void beyond(struct world *w, unsigned cq_budget, unsigned callback_budget)
{
	const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts),
		.spin_us = -1,
		.cq_budget = cq_budget,
		.callback_budget = callback_budget };
	struct op reads[64];
	struct pair p;

	world_reopen(w, &opts);
	p = world_pair(w, 64, 4);
	for (unsigned i = 0; i < 64; i++)
		op_write(w, p.c, &reads[i], 0, LEN);
	for (unsigned i = 0; i < 64; i++)
		ENDS(w, reads[i], 0);
}

static void beyond_the_budget(struct world *w)
{
	beyond(w, 1, 0);
	beyond(w, 0, 1);
}

static void on_work(rpma_uv_work_t *work)
{
	bool *has_run = work->data;

	*has_run = true;
}

static void post(void *arg)
{
	rpma_uv_work_t *work = arg;

	CHECK_OK(rpma_uv_reactor_post(work->reactor, work, on_work));
}

static void posted_work(struct world *w)
{
	bool has_run;
	rpma_uv_work_t work;
	uv_thread_t thread;

	for (unsigned i = 0; i < 50; i++) {
		has_run = false;
		work = (rpma_uv_work_t){ .data = &has_run, .reactor = &w->client };
		rpma_uv_reactor_ref(&w->client);
		CHECK_OK(uv_thread_create(&thread, post, &work));
		UNTIL(w, has_run);
		CHECK_OK(uv_thread_join(&thread));
		rpma_uv_reactor_unref(&w->client);
	}
}

/*
 * Prepare callbacks run in the reverse order of their start, so one that was started before a reactor
 * was made runs behind the reactor's own, right before the loop sleeps.
 */
static struct {
	struct op op;
	struct world *w;
	rpma_uv_conn_t *c;
	bool is_due;
} late;

static void on_prepare(uv_prepare_t *prepare)
{
	(void)prepare;
	if (!late.is_due)
		return;
	late.is_due = false;
	op_read(late.w, late.c, &late.op, 0, LEN);
}

static void from_foreign_callbacks(struct world *w)
{
	const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .spin_us = -1 };
	rpma_uv_reactor_t reactor;
	uv_prepare_t prepare;

	memset(&late, 0, sizeof(late));
	late.w = w;
	CHECK_OK(uv_prepare_init(&w->loop, &prepare));
	CHECK_OK(uv_prepare_start(&prepare, on_prepare));
	CHECK_OK(rpma_uv_reactor_init(&w->loop, &reactor, &opts));
	late.c = world_conn(w, &reactor, 0, 0);
	world_join(w, late.c, world_conn(w, &w->server, 0, 0));
	for (unsigned i = 0; i < 20; i++) {
		world_glance(w); /* nothing else is to be done */
		late.op.done.times = 0;
		late.is_due = true;
		UNTIL(w, late.op.done.times == 1);
		CHECK_OK(late.op.done.status);
	}
	CALL_VOID(rpma_uv_reactor_close(&reactor, NULL, NULL));
	uv_close((uv_handle_t *)&prepare, NULL);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
}

PROMISE_MAIN("08", { "a fresh reactor: no wake-up in an idle second", fresh },
	{ "everything open, receives posted: none", with_all_open },
	{ "spinning ends: none", after_spinning },
	{ "work with the peer and in the ring: none", under_way, ON_SOFTVERBS },
	{ "connections that have failed: none", after_failures },
	{ "after cancels: none", after_cancels },
	{ "no wake-up is lost: one operation at a time, from sleep", one_at_a_time },
	{ "what comes before the arming is found", before_arming },
	{ "odd events: nothing lost, nothing for nothing", odd_events, ON_SOCKETS },
	{ "what exceeds a budget is not slept upon", beyond_the_budget },
	{ "work from other threads wakes the loop", posted_work, ON_REAL_TIME },
	{ "what foreign callbacks queue behind ours is not slept upon", from_foreign_callbacks })
