/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * one_hour.c - a timer of an hour takes no time
 *
 * Proven: the timers of a loop fire in their order and not too early by any clock of the program; all
 *         ways to sleep make the same time pass; descriptors that the program itself makes ready, such
 *         as a pipe and uv_async_t, are seen before any time passes. The test's time limit, a few
 *         seconds, does the rest.
 */

#include <poll.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <uv.h>

#include "check.h"

#define HOUR_MS UINT64_C(3600000)
#define HOUR_NS (HOUR_MS * 1000000)

static unsigned fired;
static uint64_t started_ns;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	CHECK_OK(clock_gettime(clock, &ts));
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void on_minute(uv_timer_t *timer)
{
	CHECK_INT(fired++, 1);
	uv_close((uv_handle_t *)timer, NULL);
}

static void on_hour(uv_timer_t *timer)
{
	CHECK_INT(fired++, 2);
	CHECK(clock_ns(CLOCK_MONOTONIC) - started_ns >= HOUR_NS);
	CHECK(uv_hrtime() - started_ns >= HOUR_NS);
	uv_close((uv_handle_t *)timer, NULL);
}

static void on_async(uv_async_t *async)
{
	CHECK_INT(fired++, 0);
	uv_close((uv_handle_t *)async, NULL);
}

static void timers(void)
{
	uv_timer_t hour, minute;
	uv_async_t async;
	uv_loop_t loop;

	CHECK_OK(uv_loop_init(&loop));
	CHECK_OK(uv_timer_init(&loop, &hour));
	CHECK_OK(uv_timer_init(&loop, &minute));
	CHECK_OK(uv_async_init(&loop, &async, on_async));
	started_ns = uv_hrtime();
	uv_update_time(&loop);
	CHECK_OK(uv_timer_start(&hour, on_hour, HOUR_MS, 0));
	CHECK_OK(uv_timer_start(&minute, on_minute, HOUR_MS / 60, 0));
	CHECK_OK(uv_async_send(&async));
	CHECK_OK(uv_run(&loop, UV_RUN_DEFAULT));
	CHECK_INT(fired, 3);
	CHECK_OK(uv_loop_close(&loop));
}

/* what a sleep makes of all clocks that a program may look at */
static void slept(uint64_t before_ns, time_t before_s, unsigned hours)
{
	struct timeval tv;

	CHECK(clock_ns(CLOCK_MONOTONIC) - before_ns >= hours * HOUR_NS);
	CHECK(clock_ns(CLOCK_BOOTTIME) - before_ns >= hours * HOUR_NS);
	CHECK(time(NULL) - before_s >= (time_t)hours * 3600);
	CHECK_OK(gettimeofday(&tv, NULL));
	CHECK(tv.tv_sec - before_s >= (time_t)hours * 3600);
	CHECK_INT(tv.tv_sec, (long long)(clock_ns(CLOCK_REALTIME) / 1000000000));
}

static void sleeps(void)
{
	uint64_t ns = clock_ns(CLOCK_MONOTONIC);
	struct timespec ts = { .tv_sec = 3600 };
	struct pollfd pfd = { .events = POLLIN };
	time_t s = time(NULL);
	int fds[2];

	CHECK_OK(pipe(fds));
	pfd.fd = fds[0];
	CHECK_OK(nanosleep(&ts, NULL));
	slept(ns, s, 1);
	CHECK_OK(sleep(3600));
	slept(ns, s, 2);
	CHECK_OK(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL));
	slept(ns, s, 3);
	ts.tv_sec = (time_t)(ns / 1000000000) + 4 * 3600 + 1;
	CHECK_OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL));
	slept(ns, s, 4);
	CHECK_OK(poll(&pfd, 1, (int)HOUR_MS));
	slept(ns, s, 5);
	CHECK_OK(usleep(3600u * 1000000u));
	slept(ns, s, 6);
	CHECK_INT(write(fds[1], "x", 1), 1);
	ns = clock_ns(CLOCK_MONOTONIC);
	CHECK_INT(poll(&pfd, 1, (int)HOUR_MS), 1);
	CHECK(clock_ns(CLOCK_MONOTONIC) - ns < HOUR_NS);
	close(fds[0]);
	close(fds[1]);
}

/* a program that only looks at the clock gets on as well */
static void looks(void)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + 10000000;

	while (clock_ns(CLOCK_MONOTONIC) < until)
		;
}

int main(void)
{
	timers();
	sleeps();
	looks();
	return 0;
}
