/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* turn.c - a loop with a reactor, for tests that watch its turns */

#include <dirent.h>
#include <limits.h>

#include "turn.h"

unsigned turn_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

/* the first loop of a process makes descriptors that all loops share, and that stay */
static void first_loop(void)
{
	static bool was_here;
	uv_loop_t loop;

	if (was_here)
		return;
	was_here = true;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
}

void turn_open(struct turn *turn, const rpma_uv_reactor_opts_t *opts)
{
	first_loop();
	memset(turn, 0, sizeof(*turn));
	turn->descriptors = turn_descriptors();
	assert_int_equal(uv_loop_init(&turn->loop), 0);
	assert_int_equal(rpma_uv_reactor_init(&turn->loop, &turn->reactor, opts), 0);
	turn->r = turn->reactor.impl;
}

void turn_count(void *data)
{
	(*(unsigned *)data)++;
}

static void on_guard(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

static void guard_start(struct turn *turn, uv_timer_t *timer, bool *late, uint64_t ms)
{
	*late = false;
	uv_timer_init(&turn->loop, timer);
	timer->data = late;
	uv_update_time(&turn->loop);
	uv_timer_start(timer, on_guard, ms, 0);
}

static void guard_stop(struct turn *turn, uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, NULL);
	uv_run(&turn->loop, UV_RUN_NOWAIT);
}

void turn_until(struct turn *turn, const volatile unsigned *flag)
{
	uv_timer_t timer;
	bool late;

	guard_start(turn, &timer, &late, TURN_LONG_MS);
	while (!*flag && !late)
		uv_run(&turn->loop, UV_RUN_ONCE);
	assert_false(late);
	guard_stop(turn, &timer);
}

unsigned turn_for(struct turn *turn, uint64_t ms)
{
	uv_timer_t timer;
	unsigned turns = 0;
	bool late;

	guard_start(turn, &timer, &late, ms);
	while (!late) {
		uv_run(&turn->loop, UV_RUN_ONCE);
		turns++;
	}
	guard_stop(turn, &timer);
	return turns;
}

int turn_wait(rpma_uv_future_t *f)
{
	int status = rpma_uv_wait(f, TURN_LONG_MS, NULL);

	assert_int_not_equal(status, RPMA_UV_PENDING);
	return status;
}

void turn_close(struct turn *turn)
{
	rpma_uv_reactor_close(&turn->reactor, turn_count, &turn->closed);
	assert_int_equal(turn->closed, 0);
	turn_until(turn, &turn->closed);
	assert_int_equal(turn->closed, 1);
	/* nothing keeps a loop alive whose reactor is gone */
	assert_int_equal(uv_run(&turn->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&turn->loop), 0);
	assert_int_equal(turn_descriptors(), turn->descriptors);
}

rpma_uv_reactor_stats_t turn_stats(const struct turn *turn)
{
	rpma_uv_reactor_stats_t stats;

	rpma_uv_reactor_stats(&turn->reactor, &stats);
	return stats;
}

static char directory[64];

static void directory_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	if (system(command) != 0)
		fprintf(stderr, "%s is left over\n", directory);
}

const char *turn_path(const char *name)
{
	static char path[PATH_MAX];
	const char *parent = getenv("TMPDIR");

	if (directory[0] == '\0') {
		snprintf(directory, sizeof(directory), "%s/rpma-uv.XXXXXX",
			parent != NULL ? parent : "/tmp");
		assert_non_null(mkdtemp(directory));
		atexit(directory_remove);
	}
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static uint8_t pattern_at(uint64_t offset)
{
	return (uint8_t)(offset * 31 + (offset >> 8) * 7 + (offset >> 16));
}

void turn_pattern(void *base, size_t len, uint64_t offset)
{
	uint8_t *bytes = base;

	for (size_t i = 0; i < len; i++)
		bytes[i] = pattern_at(offset + i);
}

bool turn_is_pattern(const void *base, size_t len, uint64_t offset)
{
	const uint8_t *bytes = base;

	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != pattern_at(offset + i))
			return false;
	}
	return true;
}
