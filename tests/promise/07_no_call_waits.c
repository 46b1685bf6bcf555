/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * 07_no_call_waits.c - no call waits for a peer, a resolver, a disk or another thread
 *
 * Each public function is called while nobody answers: softverbs withholds what resolvers, peers and
 * registrations have to say, and the threads of libuv's pool are kept busy. The call has returned, a
 * timer of the loop fires, the loop's thread sleeps, in epoll_wait() and nowhere else, and what has been
 * asked for is not there. Then they answer, and it ends.
 *
 * Destroying a queue pair or an id is a local command, which takes what the driver takes. Most calls do
 * not even do that themselves, but leave it to a later turn: that is what the third check is about.
 */

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "../softverbs/softverbs.h"

#define POOL_THREADS 4 /* libuv's, unless UV_THREADPOOL_SIZE says more */

/* calls that destroy in the call: a request or a listener, which nothing of ours uses any more */
static const char *const destroyers[] = { "rpma_uv_ep_close", "rpma_uv_reject" };

static struct stage stage;

/* ---- libuv's pool is busy -------------------------------------------------------------------- */

static uv_work_t jobs[POOL_THREADS];
static uv_sem_t jobs_may_end;
static unsigned jobs_ended;

static void job(uv_work_t *work)
{
	(void)work;
	uv_sem_wait(&jobs_may_end);
}

static void job_ended(uv_work_t *work, int status)
{
	(void)work;
	CHECK_OK(status);
	jobs_ended++;
}

static void pool_occupy(struct world *w)
{
	jobs_ended = 0;
	CHECK_OK(uv_sem_init(&jobs_may_end, 0));
	for (unsigned i = 0; i < POOL_THREADS; i++)
		CHECK_OK(uv_queue_work(&w->loop, &jobs[i], job, job_ended));
}

static void pool_free(struct world *w)
{
	for (unsigned i = 0; i < POOL_THREADS; i++)
		uv_sem_post(&jobs_may_end);
	UNTIL(w, jobs_ended == POOL_THREADS);
	uv_sem_destroy(&jobs_may_end);
}

/* ---- the loop's thread sleeps, and where ----------------------------------------------------- */

static struct {
	uv_async_t seen;
	uv_timer_t timer;
	uv_thread_t thread;
	int tid; /* the loop's */
	bool is_seen;
	bool has_fired;
} watch_;

/* the number of the system call that a thread is in, -1: it runs */
static long call_of(int tid)
{
	char path[64], text[256];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return -1;
	text[got] = '\0';
	return strncmp(text, "running", 7) == 0 ? -1 : strtol(text, NULL, 10);
}

static bool is_epoll(long call)
{
#ifdef SYS_epoll_wait
	if (call == SYS_epoll_wait)
		return true;
#endif
	return call == SYS_epoll_pwait;
}

/*
 * A thread that waits for an answer is never seen in epoll_wait(); one that now and then waits for the
 * lock of the software device is, some time.
 */
static void sleeper_watch(void *arg)
{
	(void)arg;
	while (!is_epoll(call_of(watch_.tid)))
		uv_sleep(0);
	uv_async_send(&watch_.seen);
}

static void on_seen(uv_async_t *async)
{
	(void)async;
	watch_.is_seen = true;
}

static void on_timer(uv_timer_t *timer)
{
	(void)timer;
	watch_.has_fired = true;
}

static void watch_begin(struct world *w)
{
	memset(&watch_, 0, sizeof(watch_));
	watch_.tid = (int)syscall(SYS_gettid);
	CHECK_OK(uv_async_init(&w->loop, &watch_.seen, on_seen));
	CHECK_OK(uv_timer_init(&w->loop, &watch_.timer));
	CHECK_OK(uv_timer_start(&watch_.timer, on_timer, 1, 0));
}

static void watch_end(struct world *w)
{
	UNTIL(w, watch_.has_fired);
	CHECK_OK(uv_thread_create(&watch_.thread, sleeper_watch, NULL));
	UNTIL(w, watch_.is_seen);
	CHECK_OK(uv_thread_join(&watch_.thread));
	uv_close((uv_handle_t *)&watch_.seen, NULL);
	uv_close((uv_handle_t *)&watch_.timer, NULL);
}

/* ---- one call -------------------------------------------------------------------------------- */

static const struct call *find_call(const char *name)
{
	for (unsigned i = 0; i < calls_count; i++) {
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	}
	live_fail(__FILE__, __LINE__, name);
}

/* the one that is there to wait: the loop runs meanwhile, and its bound holds */
static void wait_waits(struct world *w)
{
	struct op read;

	stage_set(&stage, w);
	CHECK_OK(softverbs_faults("withhold=peer"));
	op_read(w, stage.p.c, &read, 0, 64);
	watch_begin(w);
	while (!watch_.has_fired)
		CHECK_INT(rpma_uv_wait(&read.op.future, 5, NULL), RPMA_UV_PENDING);
	watch_end(w);
	CHECK_INT(read.done.times, 0);
	CHECK_OK(softverbs_faults(NULL));
	CHECK_OK(rpma_uv_wait(&read.op.future, UINT64_MAX, NULL));
	stage_end(&stage);
}

static bool registers(const struct call *call)
{
	return strcmp(call->name, "rpma_uv_pool_new") == 0 ||
	       strcmp(call->name, "rpma_uv_pool_close") == 0;
}

static void unanswered(struct world *w, bool is_pool_busy)
{
	const struct call *call = find_call(promise_now->subject);
	unsigned first, closes;

	if (call->traits & BLOCKS) {
		wait_waits(w);
		return;
	}
	stage_set(&stage, w);
	first = stage.begun;
	if (is_pool_busy)
		pool_occupy(w);
	watch_begin(w);
	/* regions of a page are registered where they are needed: that is the driver's time */
	CHECK_OK(softverbs_faults(registers(call) ? "withhold=resolver,peer,registration"
						  : "withhold=resolver,peer"));
	closes = stage.closes;
	call->make(&stage);
	watch_end(w);
	if (call->traits & ASKS) {
		if (stage.begun > first)
			CHECK_INT(stage.ops[first].done.times, 0);
		else
			CHECK_INT(stage.closes, closes);
	}
	CHECK_OK(softverbs_faults(NULL));
	if (is_pool_busy)
		pool_free(w);
	if (stage.begun > first && !(call->traits & LASTS)) {
		UNTIL(w, stage.ops[first].done.times == 1);
		CHECK(stage.ops[first].done.status == 0 ||
			stage.ops[first].done.status == UV_ECANCELED);
	}
	UNTIL(w, stage.closes == stage.closes_due);
	stage_end(&stage);
}

static void with_a_free_pool(struct world *w)
{
	unanswered(w, false);
}

static void with_a_busy_pool(struct world *w)
{
	unanswered(w, true);
}

/* ---- more that may not answer ---------------------------------------------------------------- */

/* a name is libuv's pool's business */
static void names(struct world *w)
{
	struct rpma_peer *peer = NULL;
	struct op find, connect;

	stage_set(&stage, w);
	pool_occupy(w);
	watch_begin(w);
	watch(CALL(rpma_uv_peer_new(
		      &w->client, &find.op, "localhost", RPMA_UTIL_IBV_CONTEXT_REMOTE, &peer)),
		&find.done);
	watch(CALL(rpma_uv_connect(
		      stage.connecting, &connect.op, "localhost", stage.serving_port, NULL)),
		&connect.done);
	watch_end(w);
	CHECK_INT(find.done.times + connect.done.times, 0);
	pool_free(w);
	ENDS(w, find, 0);
	UNTIL(w, connect.done.times == 1);
	/* the name may mean ::1 first, where nobody listens: an answer as good as the other */
	if (connect.done.status != UV_ECONNREFUSED)
		CHECK_OK(connect.done.status);
	CHECK_OK(rpma_peer_delete(&peer));
	stage_end(&stage);
}

/* a read that waits for what somebody writes, and one behind it */
static void slow_files(struct world *w)
{
	char byte = 1, got[2] = { 0 };
	uv_buf_t bufs[2] = { uv_buf_init(&got[0], 1), uv_buf_init(&got[1], 1) };
	struct op reads[2];
	int fd;

	stage_set(&stage, w);
	fd = open(world_path(w, "fifo"), O_RDWR);
	CHECK(fd >= 0);
	watch_begin(w);
	for (unsigned i = 0; i < 2; i++)
		watch(CALL(rpma_uv_file_read(stage.fifo, &reads[i].op, &bufs[i], 1, 0)),
			&reads[i].done);
	watch_end(w);
	CHECK_INT(reads[0].done.times + reads[1].done.times, 0);
	for (unsigned i = 0; i < 2; i++)
		CHECK_INT(write(fd, &byte, 1), 1);
	ENDS(w, reads[0], 0);
	ENDS(w, reads[1], 0);
	CHECK_INT(got[0] + got[1], 2);
	CHECK_OK(close(fd));
	stage_end(&stage);
}

/* everything is under way, nobody answers, and the reactors are closed */
static void closing(struct world *w)
{
	stage_set(&stage, w);
	pool_occupy(w);
	watch_begin(w);
	CHECK_OK(softverbs_faults("withhold=resolver,peer"));
	stage_make_all(&stage, false);
	CALL_VOID(rpma_uv_reactor_close(&w->client, NULL, NULL));
	CALL_VOID(rpma_uv_reactor_close(&w->server, NULL, NULL));
	w->client_is_closing = w->server_is_closing = true;
	watch_end(w);
	CHECK_OK(softverbs_faults(NULL));
	pool_free(w);
	stage_end(&stage);
}

/* ---- destroying ------------------------------------------------------------------------------ */

static struct {
	uv_thread_t thread;
	bool has_returned; /* the call; other threads look */
	bool may_end;
	bool began_inside; /* a destroyer was entered before it has returned */
} destroy;

/* lets the destroyers go when the first of them is held, and notes when that was */
static void destroy_release(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&destroy.may_end, __ATOMIC_ACQUIRE)) {
		if (softverbs_withheld("destroy") > 0) {
			destroy.began_inside =
				!__atomic_load_n(&destroy.has_returned, __ATOMIC_ACQUIRE);
			break;
		}
		uv_sleep(0);
	}
	CHECK_OK(softverbs_faults(NULL));
}

static bool destroys(const struct call *call)
{
	for (unsigned i = 0; i < sizeof(destroyers) / sizeof(destroyers[0]); i++) {
		if (strcmp(call->name, destroyers[i]) == 0)
			return true;
	}
	return false;
}

static void destroyed_later(struct world *w)
{
	const struct call *call = find_call(promise_now->subject);
	unsigned first;

	stage_set(&stage, w);
	first = stage.begun;
	memset(&destroy, 0, sizeof(destroy));
	CHECK_OK(softverbs_faults("withhold=destroy"));
	CHECK_OK(uv_thread_create(&destroy.thread, destroy_release, NULL));
	call->make(&stage);
	__atomic_store_n(&destroy.has_returned, true, __ATOMIC_RELEASE);
	if (stage.begun > first && !(call->traits & LASTS))
		UNTIL(w, stage.ops[first].done.times == 1);
	UNTIL(w, stage.closes == stage.closes_due);
	__atomic_store_n(&destroy.may_end, true, __ATOMIC_RELEASE);
	CHECK_OK(uv_thread_join(&destroy.thread));
	/* the list says what is so, and no more */
	CHECK_INT(destroy.began_inside, destroys(call));
	stage_end(&stage);
}

int main(int argc, char *argv[])
{
	static struct promise_check checks[3 * 128];
	unsigned n = 0;

	calls_are_complete();
	checks[n++] = (struct promise_check){ "a name: libuv's pool resolves it, and is busy",
		names, ON_SOCKETS };
	checks[n++] =
		(struct promise_check){ "a file that has no bytes yet", slow_files, ON_SOCKETS };
	checks[n++] = (struct promise_check){ "all of it under way, and the reactors are closed",
		closing, ON_SOCKETS };
	for (unsigned i = 0; i < calls_count; i++) {
		CHECK(n + 3 <= sizeof(checks) / sizeof(checks[0]));
		checks[n++] = (struct promise_check){ "returns, a timer fires, the thread sleeps "
						      "in epoll_wait; ends when answered",
			with_a_free_pool, ON_SOCKETS, calls[i].name };
		checks[n++] = (struct promise_check){ "the same while all of libuv's pool is busy",
			with_a_busy_pool, ON_SOCKETS, calls[i].name };
		if (calls[i].traits & BLOCKS)
			continue;
		checks[n++] = (struct promise_check){
			destroys(&calls[i]) ? "destroys an id, which takes what the driver takes"
					    : "destroys nothing before it has returned",
			destroyed_later, ON_SOCKETS, calls[i].name
		};
	}
	return promise_main(argc, argv, "07", checks, n);
}
