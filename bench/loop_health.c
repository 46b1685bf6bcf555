/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * loop_health.c - what a reactor costs the loop that it lives on
 *
 *     ADDR=ADDRESS loop_health
 *
 * Prints a line a question: name, figure, bound, and "ok" or "MISSED". Exits 1 when a count misses
 * its bound; the one that is a time is printed only, for it needs a machine with nothing else to do.
 */

#include <dlfcn.h>
#include <sys/epoll.h>

#include "heap.h"
#include "live.h"

#define PORT    "7333"
#define REGION  ((size_t)1 << 20)
#define LEN     4096
#define CLIENTS 2

#define SINGLE_READS 10000
#define STEADY_READS 20000
#define STEADY_DEPTH 16
#define TIMER_MS     10
#define TIMER_COUNT  300
#define GREEDY_DEPTH 4096
#define MODEST_DEPTH 64
#define MODEST_READS 8000

static struct live_node node;
static struct rpma_mr_local *local;
static unsigned missed;

/* ---- counted from outside -------------------------------------------------------------------- */

static unsigned long wakeups;

/* the libraries call these, too */
#define FOR_ALL __attribute__((visibility("default")))

/* a wake-up: the poll was allowed to sleep, and has come back */
FOR_ALL int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	static int (*next)(int, struct epoll_event *, int, int);

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "epoll_wait");
	wakeups += timeout != 0;
	return next(epfd, events, maxevents, timeout);
}

FOR_ALL int epoll_pwait(
	int epfd, struct epoll_event *events, int maxevents, int timeout, const sigset_t *sigmask)
{
	static int (*next)(int, struct epoll_event *, int, int, const sigset_t *);

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "epoll_pwait");
	wakeups += timeout != 0;
	return next(epfd, events, maxevents, timeout, sigmask);
}

static void report(const char *what, double figure, double bound)
{
	const bool is_kept = figure <= bound;

	printf("%-52s %9.3f  at most %7.3f  %s\n", what, figure, bound, is_kept ? "ok" : "MISSED");
	missed += !is_kept;
}

/* ---- reads without end: each that has completed starts another ------------------------------- */

struct lane {
	rpma_uv_conn_t *conn;
	struct rpma_mr_remote *remote;
	rpma_uv_op_t *ops;
	unsigned long started, done, limit;
};

static void lane_read(struct lane *lane, rpma_uv_op_t *op);

static void on_read(rpma_uv_future_t *f, int status)
{
	struct lane *lane = f->data;

	CHECK_OK(status);
	lane->done++;
	if (lane->started < lane->limit)
		lane_read(lane, (rpma_uv_op_t *)f);
}

static void lane_read(struct lane *lane, rpma_uv_op_t *op)
{
	const size_t offset = lane->started++ % (REGION / LEN) * LEN;

	rpma_uv_then(rpma_uv_read(lane->conn, op, (rpma_uv_local_t){ local, offset },
			     (rpma_uv_remote_t){ lane->remote, offset }, LEN, 0),
		on_read, lane);
}

static void lane_start(struct lane *lane, unsigned depth, unsigned long limit)
{
	lane->started = lane->done = 0;
	lane->limit = limit;
	lane->ops = realloc(lane->ops, depth * sizeof(*lane->ops));
	CHECK(lane->ops != NULL);
	for (unsigned i = 0; i < depth; i++)
		lane_read(lane, &lane->ops[i]);
}

static void run_until(const struct lane *lane, unsigned long done)
{
	while (lane->done < done)
		uv_run(&node.loop, UV_RUN_ONCE);
}

/* ---- the questions --------------------------------------------------------------------------- */

static void depth_one(struct lane *lane)
{
	unsigned long before;

	lane_start(lane, 1, UINT64_MAX);
	run_until(lane, 100);
	before = wakeups;
	run_until(lane, 100 + SINGLE_READS);
	report("wake-ups per read, one at a time", (double)(wakeups - before) / SINGLE_READS, 1.05);
	lane->limit = 0;
	uv_run(&node.loop, UV_RUN_DEFAULT);
}

static void on_timer(uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, NULL);
}

static void idle_second(void)
{
	unsigned long before;
	uv_timer_t timer;

	CHECK_OK(uv_timer_init(&node.loop, &timer));
	CHECK_OK(uv_timer_start(&timer, on_timer, 1000, 0));
	before = wakeups;
	uv_run(&node.loop, UV_RUN_DEFAULT);
	/* the one that ends the second is the timer's */
	report("wake-ups in an idle second", (double)(wakeups - before) - 1, 0);
}

static void steady(struct lane *lane)
{
	rpma_uv_reactor_stats_t before, after;
	unsigned long heap;

	lane_start(lane, STEADY_DEPTH, UINT64_MAX);
	run_until(lane, 1000);
	rpma_uv_reactor_stats(&node.reactor, &before);
	heap = heap_calls();
	run_until(lane, 1000 + STEADY_READS);
	heap = heap_calls() - heap;
	rpma_uv_reactor_stats(&node.reactor, &after);
	report("doorbells per flush of a connection",
		(double)(after.doorbells - before.doorbells) /
			(double)(after.flushes - before.flushes),
		1);
	printf("%-52s %9.3f\n", "    reads per doorbell",
		(double)(after.work_requests - before.work_requests) /
			(double)(after.doorbells - before.doorbells));
	report("heap calls per read", (double)heap / STEADY_READS, 0);
	lane->limit = 0;
	uv_run(&node.loop, UV_RUN_DEFAULT);
}

static struct {
	uint64_t due_ns;
	uint64_t late_ns[TIMER_COUNT];
	unsigned count;
	struct lane *lane;
} tick;

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void tick_start(uv_timer_t *timer);

static void on_tick(uv_timer_t *timer)
{
	const uint64_t now = uv_hrtime();

	tick.late_ns[tick.count++] = now > tick.due_ns ? now - tick.due_ns : 0;
	if (tick.count < TIMER_COUNT) {
		tick_start(timer);
		return;
	}
	tick.lane->limit = 0;
	uv_close((uv_handle_t *)timer, NULL);
}

/* a timer of libuv counts from the time that its loop knows, in whole milliseconds */
static void tick_start(uv_timer_t *timer)
{
	uv_update_time(&node.loop);
	tick.due_ns = uv_hrtime() + TIMER_MS * UINT64_C(1000000);
	CHECK_OK(uv_timer_start(timer, on_tick, TIMER_MS, 0));
}

static void timer_beside(struct lane *lane)
{
	uv_timer_t timer;

	tick.lane = lane;
	lane_start(lane, STEADY_DEPTH, UINT64_MAX);
	CHECK_OK(uv_timer_init(&node.loop, &timer));
	tick_start(&timer);
	uv_run(&node.loop, UV_RUN_DEFAULT);
	qsort(tick.late_ns, TIMER_COUNT, sizeof(tick.late_ns[0]), compare);
	printf("%-52s %9.3f  at most %7.3f  on an idle machine\n",
		"ms that a timer is late beside reads, 99th percentile",
		(double)tick.late_ns[TIMER_COUNT * 99 / 100] / 1e6, 1.0);
}

static void greedy(struct lane *greedy, struct lane *modest)
{
	lane_start(greedy, GREEDY_DEPTH, UINT64_MAX);
	lane_start(modest, MODEST_DEPTH, UINT64_MAX);
	run_until(modest, 1000);
	greedy->done = modest->done = 0;
	run_until(modest, MODEST_READS);
	report("share of a connection with 64 times the queue",
		(double)greedy->done / (double)(greedy->done + modest->done), 0.6);
	greedy->limit = modest->limit = 0;
	uv_run(&node.loop, UV_RUN_DEFAULT);
}

static int server(const char *addr)
{
	const struct live_offer offer = {
		.port = PORT, .size = REGION, .seed = 5, .clients = CLIENTS
	};

	return live_serve(addr, &offer);
}

int main(void)
{
	/* a spin is a turn without a sleep: not what is counted here */
	const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .spin_us = -1 };
	static struct lane lanes[CLIENTS];
	const char *addr = live_addr();
	void *memory;

	live_fork(server, addr);
	memory = live_memory(REGION);
	live_node_open(&node, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, &opts);
	CHECK_OK(rpma_mr_reg(node.peer, memory, REGION, RPMA_MR_USAGE_READ_DST, &local));
	for (unsigned i = 0; i < CLIENTS; i++)
		lanes[i].conn = live_connect(&node, addr, PORT, &lanes[i].remote);

	CHECK(wakeups > 0 && heap_calls() > 0); /* both are counted */
	depth_one(&lanes[0]);
	idle_second();
	steady(&lanes[0]);
	timer_beside(&lanes[0]);
	greedy(&lanes[0], &lanes[1]);
	live_pattern_check(memory, REGION, 5, 0);

	rpma_uv_reactor_close(&node.reactor, NULL, NULL);
	CHECK_OK(uv_run(&node.loop, UV_RUN_DEFAULT));
	for (unsigned i = 0; i < CLIENTS; i++) {
		CHECK_OK(rpma_mr_remote_delete(&lanes[i].remote));
		free(lanes[i].ops);
	}
	CHECK_OK(rpma_mr_dereg(&local));
	CHECK_OK(uv_loop_close(&node.loop));
	CHECK_OK(rpma_peer_delete(&node.peer));
	live_join();
	return missed != 0;
}
