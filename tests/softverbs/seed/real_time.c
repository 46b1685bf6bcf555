/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * real_time.c - without a simulation the same calls are libc's and libuv's
 *
 * Proven: clocks show what the kernel shows, sleeps end no earlier than they should by its clock, jobs
 *         run in another thread, and there is no world to begin.
 */

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <uv.h>

#include "../softverbs_seed.h"
#include "check.h"

#define NAP_MS 5

static pthread_t loop_thread;
static unsigned callbacks;

static uint64_t to_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000 + (uint64_t)ts->tv_nsec;
}

static uint64_t kernel_ns(clockid_t clock)
{
	struct timespec ts;

	CHECK_OK(syscall(SYS_clock_gettime, clock, &ts));
	return to_ns(&ts);
}

static void clocks(void)
{
	static const clockid_t all[] = { CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME };
	struct timespec ts;
	struct timeval tv;
	uint64_t s;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		uint64_t before = kernel_ns(all[i]);

		CHECK_OK(clock_gettime(all[i], &ts));
		CHECK(to_ns(&ts) >= before);
		CHECK(to_ns(&ts) <= kernel_ns(all[i]));
	}
	s = kernel_ns(CLOCK_REALTIME) / 1000000000;
	CHECK_OK(gettimeofday(&tv, NULL));
	CHECK((uint64_t)tv.tv_sec >= s);
	CHECK((uint64_t)time(NULL) + 1 >= s); /* time() is that of the last tick */
}

/* since `from` at least n naps have passed */
static void slept(uint64_t from, unsigned n)
{
	CHECK(kernel_ns(CLOCK_MONOTONIC) - from >= n * NAP_MS * UINT64_C(1000000));
}

static void sleeps(void)
{
	struct timespec ts = { .tv_nsec = NAP_MS * 1000000 };
	uint64_t from = kernel_ns(CLOCK_MONOTONIC);
	struct epoll_event event;
	int fd = epoll_create1(0);

	CHECK(fd >= 0);
	CHECK_OK(nanosleep(&ts, NULL));
	slept(from, 1);
	CHECK_OK(usleep(NAP_MS * 1000));
	slept(from, 2);
	CHECK_OK(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL));
	slept(from, 3);
	CHECK_OK(poll(NULL, 0, NAP_MS));
	CHECK_OK(ppoll(NULL, 0, &ts, NULL));
	slept(from, 5);
	CHECK_OK(epoll_wait(fd, &event, 1, NAP_MS));
	CHECK_OK(epoll_pwait(fd, &event, 1, NAP_MS, NULL));
	slept(from, 7);
	CHECK_OK(sleep(0));
	close(fd);
}

static void on_work(uv_work_t *work)
{
	(void)work;
	CHECK(!pthread_equal(pthread_self(), loop_thread));
}

static void after_work(uv_work_t *work, int status)
{
	(void)work;
	CHECK_OK(status);
	callbacks++;
}

static void on_lookup(uv_getaddrinfo_t *req, int status, struct addrinfo *res)
{
	(void)req;
	CHECK_OK(status);
	CHECK(res != NULL);
	uv_freeaddrinfo(res);
	callbacks++;
}

static void pool(void)
{
	uv_getaddrinfo_t lookup;
	uv_work_t work;
	uv_loop_t loop;

	loop_thread = pthread_self();
	CHECK_OK(uv_loop_init(&loop));
	CHECK_OK(uv_queue_work(&loop, &work, on_work, after_work));
	CHECK_OK(uv_getaddrinfo(&loop, &lookup, on_lookup, "127.0.0.1", NULL, NULL));
	CHECK_OK(uv_run(&loop, UV_RUN_DEFAULT));
	CHECK_INT(callbacks, 2);
	(void)uv_cancel((uv_req_t *)&work); /* reaches libuv, which knows that it is done */
	CHECK_OK(uv_loop_close(&loop));
}

int main(void)
{
	clocks();
	sleeps();
	pool();
	CHECK_INT(softverbs_seed_restart(1), -1);
	return 0;
}
