/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * threads.c - runs the cases
 *
 *     ADDR=ADDRESS threads [CASE...]
 *
 * ADDR is the device's address. Ends with a line that tells how many cases passed.
 */

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "threads.h"

#define BASE_PORT 7310

struct worker {
	pthread_t thread;
	unsigned number;
	const struct threads_case *work;
};

struct threads_world threads_world;

static pthread_barrier_t barrier;
static unsigned passed;

void threads_meet(void)
{
	const int ret = pthread_barrier_wait(&barrier);

	CHECK(ret == 0 || ret == PTHREAD_BARRIER_SERIAL_THREAD);
}

struct threads_port threads_port(unsigned thread)
{
	struct threads_port port;

	snprintf(port.text, sizeof(port.text), "%u", (BASE_PORT + thread) & UINT16_MAX);
	return port;
}

static void *work(void *arg)
{
	const struct worker *worker = arg;

	threads_meet();
	worker->work->run(worker->number);
	return NULL;
}

static void run_case(const struct threads_case *this)
{
	struct worker workers[THREADS];

	if (this->set_up)
		this->set_up();
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].number = i;
		workers[i].work = this;
		CHECK_OK(pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (unsigned i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(workers[i].thread, NULL));
	if (this->tear_down)
		this->tear_down();
	printf("ok %s\n", this->name);
	fflush(stdout);
	passed++;
}

static bool is_wanted(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

static void run_group(const struct threads_case *cases, char **names)
{
	for (; cases->name; cases++) {
		if (is_wanted(cases->name, names))
			run_case(cases);
	}
}

static void world_open(void)
{
	threads_world.addr = live_addr();
	CHECK_OK(rpma_utils_get_ibv_context(
		threads_world.addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, &threads_world.ibv_ctx));
	CHECK_OK(rpma_peer_new(threads_world.ibv_ctx, &threads_world.peer));
}

int main(int argc, char **argv)
{
	char **const names = argv + (argc > 0);

	live_who = "threads";
	/* messages are dated; libc reads the time zone once, under a lock that helgrind does not see */
	tzset();
	CHECK_OK(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_WARNING));
	CHECK_OK(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_WARNING));
	CHECK_OK(pthread_barrier_init(&barrier, NULL, THREADS));

	run_group(threads_objects, names);
	run_group(threads_log, names);
	world_open();
	run_group(threads_device, names);
	run_group(threads_connect, names);
	run_group(threads_data, names);

	CHECK_OK(rpma_peer_delete(&threads_world.peer));
	CHECK_OK(pthread_barrier_destroy(&barrier));
	printf("%u cases passed, of %d threads each\n", passed, THREADS);
	return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
