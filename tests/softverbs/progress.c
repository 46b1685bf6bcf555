/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * progress.c - the progress thread, and those who help it
 *
 *     SLEEPS --- a socket, a timer or a kick ---> STEPS --- nothing left ---> SLEEPS
 *        ^                                          |
 *        `--- REST_NS without help from a poll --- RESTS (a program polls and does the work)
 *
 * It never rests while a completion queue is armed: then somebody may be asleep.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "device.h"
#include "progress.h"
#include "seed.h"
#include "wire.h"

#define FRESH_NS   (SV_MS / 4) /* a poll that long ago still counts as help */
#define REST_MS    1
#define FRUITLESS  16
#define SETTLE_MAX 4
#define STEPS_MAX  64 /* before others get the lock */

const struct sv_wire *sv_wire;

static struct {
	pthread_t thread;
	bool running;
	int stop; /* atomic: set without the lock at exit */
	int kick_fd;
	bool asleep;
	bool resting;
	uint64_t wake_ns; /* when it wakes by itself */
	uint64_t helped_ns;
	int armed;
	unsigned fruitless; /* steps of pollers in a row that found nothing to do */
} progress = { .kick_fd = -1 };

static void kick(void)
{
	uint64_t one = 1;

	(void)!write(progress.kick_fd, &one, sizeof(one));
}

int sv_progress_step(void)
{
	int done = sv_wire->step();

	return done + sv_timers_run();
}

void sv_progress_settle(void)
{
	for (int i = 0; i < SETTLE_MAX && sv_progress_step() > 0; i++)
		;
}

void sv_progress_help(void)
{
	int saved = errno;

	if (sv_wire == NULL)
		return;
	progress.fruitless = sv_progress_step() > 0 ? 0 : progress.fruitless + 1;
	progress.helped_ns = sv_clock->now_ns();
	errno = saved;
}

bool sv_progress_is_fruitless(void)
{
	if (progress.fruitless < FRUITLESS)
		return false;
	progress.fruitless = 0;
	return true;
}

void sv_progress_wake(void)
{
	progress.helped_ns = 0;
	if (progress.resting)
		kick();
}

void sv_progress_armed(int more)
{
	progress.armed += more;
}

void sv_progress_retime(uint64_t at_ns)
{
	if (progress.running && progress.asleep && at_ns < progress.wake_ns)
		kick();
}

int sv_progress_block(struct sv_signal *signal)
{
	if (sv_wire == NULL || sv_wire->threaded)
		return sv_signal_sleep(signal);
	sv_lock();
	sv_wire->sleep();
	sv_unlock();
	return 0;
}

/* under the lock: what poll() is to wait for; gives its time-out */
static int prepare_sleep(void)
{
	uint64_t now = sv_clock->now_ns();
	uint64_t next = sv_timers_next();
	uint64_t ms;

	progress.resting = progress.armed == 0 && now - progress.helped_ns < FRESH_NS;
	progress.asleep = true;
	progress.wake_ns = next;
	if (progress.resting)
		return REST_MS;
	if (next == SV_NEVER)
		return -1;
	ms = next <= now ? 0 : (next - now + SV_MS - 1) / SV_MS;
	return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

static void *run(void *arg)
{
	struct pollfd fds[2] = { { .fd = progress.kick_fd, .events = POLLIN },
		{ .fd = sv_wire->wait_fd(), .events = POLLIN } };

	while (!__atomic_load_n(&progress.stop, __ATOMIC_ACQUIRE)) {
		uint64_t count;
		bool resting;
		int timeout;

		sv_lock();
		resting = progress.armed == 0 && sv_clock->now_ns() - progress.helped_ns < FRESH_NS;
		for (int i = 0; i < STEPS_MAX && !resting && sv_progress_step() > 0; i++)
			;
		timeout = prepare_sleep();
		resting = progress.resting;
		sv_unlock();
		poll(fds, resting ? 1 : 2, timeout);
		sv_lock();
		progress.asleep = false;
		progress.resting = false;
		if (fds[0].revents != 0)
			(void)!read(progress.kick_fd, &count, sizeof(count));
		sv_unlock();
	}
	return arg;
}

static int start_thread(void)
{
	sigset_t all;
	sigset_t old;
	int ret;

	progress.kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (progress.kick_fd < 0)
		return errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&progress.thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret != 0) {
		close(progress.kick_fd);
		progress.kick_fd = -1;
	} else {
		pthread_setname_np(progress.thread, "softverbs");
	}
	progress.running = ret == 0;
	return ret;
}

static const struct sv_wire *choose_wire(void)
{
	const char *name = getenv("SOFTVERBS_WIRE");

	if (name != NULL && strcmp(name, sv_wire_tcp.name) == 0)
		return &sv_wire_tcp;
	if (sv_seed_is_on())
		return &sv_wire_seed;
	return &sv_wire_unix;
}

int sv_progress_start(void)
{
	const struct sv_wire *wire;
	int ret;

	if (sv_wire != NULL)
		return 0;
	wire = choose_wire();
	ret = wire->start();
	if (ret == 0) {
		sv_wire = wire;
		if (wire->threaded)
			ret = start_thread();
	}
	if (ret == 0)
		return 0;
	if (sv_wire != NULL)
		sv_wire->forget();
	sv_wire = NULL;
	errno = ret;
	return -1;
}

void sv_progress_forget(void)
{
	if (progress.kick_fd >= 0)
		close(progress.kick_fd);
	memset(&progress, 0, sizeof(progress));
	progress.kick_fd = -1;
	sv_wire = NULL;
}

/* at exit no thread of ours is left behind; one that cannot end, because exit() was called under
 * the lock in a signal handler, must not hold up the exit */
__attribute__((destructor)) static void stop_thread(void)
{
	struct timespec until;

	if (!progress.running)
		return;
	/* a plain store, as release would be, is a race to helgrind(1) */
	__atomic_store_n(&progress.stop, 1, __ATOMIC_SEQ_CST);
	kick();
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	if (pthread_timedjoin_np(progress.thread, NULL, &until) != 0)
		return;
	if (pthread_mutex_trylock(&sv_device.lock) == 0) {
		for (int i = 0; i < SETTLE_MAX && sv_wire->step() > 0;
			i++) /* frees what was closed last */
			;
		pthread_mutex_unlock(&sv_device.lock);
	}
}
