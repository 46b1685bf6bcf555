/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * seed_calls.c - the calls of libc that tell the time, wait, or ask the network, in a simulation
 *
 * Without one each of them is the next definition in line, libc's or a sanitizer's, and nothing else.
 *
 * A call that waits looks at the real descriptors first, without waiting: eventfds, pipes and sockets
 * that the program writes to itself work as ever, and so do those of the device. What is not here
 * runs in real time and outside of the order of the seed: select(), timerfd, timed waits of threads.
 */

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "seed.h"

#define S_NS       UINT64_C(1000000000)
#define EPOCH_S    1700000000 /* of the calendar, when the monotonic clock shows 0 */
#define EVENTS_MAX 64 /* more of them are not shuffled */

static void *next_of(void **kept, const char *name)
{
	void *found = __atomic_load_n(kept, __ATOMIC_RELAXED);

	if (found == NULL) {
		found = dlsym(RTLD_NEXT, name);
		/* a plain store, as relaxed would be, is a race to helgrind(1) */
		__atomic_store_n(kept, found, __ATOMIC_SEQ_CST);
	}
	return found;
}

/* declares `next`, the next definition of the symbol, under its own type */
#define NEXT(name)                \
	static void *kept;        \
	__typeof__(&(name)) next; \
	*(void **)&next = next_of(&kept, #name)

/* ---- the time -------------------------------------------------------------------------------- */

static void to_timespec(uint64_t ns, struct timespec *ts)
{
	ts->tv_sec = (time_t)(ns / S_NS);
	ts->tv_nsec = (long)(ns % S_NS);
}

static uint64_t to_ns(const struct timespec *ts)
{
	uint64_t s = ts->tv_sec > 0 ? (uint64_t)ts->tv_sec : 0;

	if (s >= SV_NEVER / S_NS)
		return SV_NEVER;
	return s * S_NS + (uint64_t)ts->tv_nsec;
}

static uint64_t calendar_ns(void)
{
	return EPOCH_S * S_NS + sv_seed_now_ns();
}

SV_EXPORT int clock_gettime(clockid_t clock, struct timespec *ts)
{
	NEXT(clock_gettime);

	if (!sv_seed_is_on())
		return next(clock, ts);
	switch (clock) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		to_timespec(sv_seed_now_ns(), ts);
		return 0;
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		to_timespec(calendar_ns(), ts);
		return 0;
	default: /* processor time */
		return next(clock, ts);
	}
}

SV_EXPORT int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;
	NEXT(gettimeofday);

	if (!sv_seed_is_on())
		return next(tv, zone);
	to_timespec(calendar_ns(), &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

SV_EXPORT time_t time(time_t *to)
{
	time_t now;
	NEXT(time);

	if (!sv_seed_is_on())
		return next(to);
	now = (time_t)(calendar_ns() / S_NS);
	if (to != NULL)
		*to = now;
	return now;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static int look_at_nothing(void *arg, int timeout_ms)
{
	(void)arg;
	(void)timeout_ms;
	return 0;
}

static void sleep_ns(uint64_t ns)
{
	/* for ever is as long as the clock can tell */
	(void)sv_seed_wait(look_at_nothing, NULL, ns == SV_NEVER ? SV_NEVER / 2 : ns);
}

SV_EXPORT int nanosleep(const struct timespec *ts, struct timespec *left)
{
	NEXT(nanosleep);

	if (!sv_seed_is_on())
		return next(ts, left);
	sleep_ns(to_ns(ts));
	return 0;
}

SV_EXPORT int clock_nanosleep(
	clockid_t clock, int flags, const struct timespec *ts, struct timespec *left)
{
	struct timespec now;
	NEXT(clock_nanosleep);

	if (!sv_seed_is_on())
		return next(clock, flags, ts, left);
	if (flags & TIMER_ABSTIME) {
		if (clock_gettime(clock, &now) != 0)
			return errno;
		sleep_ns(to_ns(ts) > to_ns(&now) ? to_ns(ts) - to_ns(&now) : 0);
	} else {
		sleep_ns(to_ns(ts));
	}
	return 0;
}

SV_EXPORT int usleep(useconds_t us)
{
	NEXT(usleep);

	if (!sv_seed_is_on())
		return next(us);
	sleep_ns(us * UINT64_C(1000));
	return 0;
}

SV_EXPORT unsigned sleep(unsigned s)
{
	NEXT(sleep);

	if (!sv_seed_is_on())
		return next(s);
	sleep_ns(s * S_NS);
	return 0;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static uint64_t wait_ns(int timeout_ms)
{
	return timeout_ms < 0 ? SV_NEVER : (uint64_t)timeout_ms * SV_MS;
}

struct epoll_look {
	int (*call)(int, struct epoll_event *, int, int, const sigset_t *);
	int fd;
	struct epoll_event *events;
	int most;
	const sigset_t *mask;
};

static int look_at_epoll(void *arg, int timeout_ms)
{
	struct epoll_look *l = arg;

	return l->call(l->fd, l->events, l->most, timeout_ms, l->mask);
}

/* epoll promises no order */
static void shuffle(struct epoll_event *events, int n)
{
	if (n < 2 || n > EVENTS_MAX || !sv_seed_chance(sv_odds.shuffle))
		return;
	for (int i = n - 1; i > 0; i--) {
		uint32_t k = sv_seed_below((uint32_t)i + 1);
		struct epoll_event event = events[i];

		events[i] = events[k];
		events[k] = event;
	}
}

static int wait_epoll(struct epoll_look *l, uint64_t ns)
{
	int n = sv_seed_wait(look_at_epoll, l, ns);

	shuffle(l->events, n);
	return n;
}

SV_EXPORT int epoll_pwait(
	int fd, struct epoll_event *events, int most, int timeout_ms, const sigset_t *mask)
{
	struct epoll_look l = { .fd = fd, .events = events, .most = most, .mask = mask };
	NEXT(epoll_pwait);

	if (!sv_seed_is_on())
		return next(fd, events, most, timeout_ms, mask);
	l.call = next;
	return wait_epoll(&l, wait_ns(timeout_ms));
}

SV_EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
	NEXT(epoll_wait);

	if (!sv_seed_is_on())
		return next(fd, events, most, timeout_ms);
	return epoll_pwait(fd, events, most, timeout_ms, NULL);
}

struct poll_look {
	int (*call)(struct pollfd *, nfds_t, int);
	struct pollfd *fds;
	nfds_t count;
};

static int look_at_poll(void *arg, int timeout_ms)
{
	struct poll_look *l = arg;

	return l->call(l->fds, l->count, timeout_ms);
}

SV_EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct poll_look l = { .fds = fds, .count = count };
	NEXT(poll);

	if (!sv_seed_is_on())
		return next(fds, count, timeout_ms);
	l.call = next;
	return sv_seed_wait(look_at_poll, &l, wait_ns(timeout_ms));
}

struct ppoll_look {
	int (*call)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
	struct pollfd *fds;
	nfds_t count;
	const sigset_t *mask;
};

static int look_at_ppoll(void *arg, int timeout_ms)
{
	struct ppoll_look *l = arg;
	struct timespec ts;

	to_timespec(timeout_ms < 0 ? 0 : (uint64_t)timeout_ms * SV_MS, &ts);
	return l->call(l->fds, l->count, timeout_ms < 0 ? NULL : &ts, l->mask);
}

SV_EXPORT int ppoll(
	struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	struct ppoll_look l = { .fds = fds, .count = count, .mask = mask };
	NEXT(ppoll);

	if (!sv_seed_is_on())
		return next(fds, count, timeout, mask);
	l.call = next;
	return sv_seed_wait(look_at_ppoll, &l, timeout != NULL ? to_ns(timeout) : SV_NEVER);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* a simulated world has localhost and numbers, and asks nobody about other names */
SV_EXPORT int getaddrinfo(const char *restrict node, const char *restrict service,
	const struct addrinfo *restrict hints, struct addrinfo **restrict res)
{
	struct addrinfo numeric = { 0 };
	NEXT(getaddrinfo);

	if (!sv_seed_is_on() || node == NULL ||
		(hints != NULL && (hints->ai_flags & AI_NUMERICHOST)))
		return next(node, service, hints, res);
	if (hints != NULL)
		numeric = *hints;
	if (strcmp(node, "localhost") == 0)
		node = numeric.ai_family == AF_INET6 ? "::1" : "127.0.0.1";
	numeric.ai_flags |= AI_NUMERICHOST;
	return next(node, service, &numeric, res);
}
