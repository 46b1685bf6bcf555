/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * simulation.c - the reactor in worlds that a seed draws: whatever a program may do, whenever it may
 *
 * Proven: in each world all of check.c holds.
 *
 *     simulation FIRST COUNT       COUNT worlds from seed FIRST on, their rate, what happened in them
 *     simulation -2 FIRST COUNT    each of them twice: the second time everything is the same
 *     simulation SEED              one world, alone
 *
 * For softverbs-run with SOFTVERBS_WIRE=seed. A seed that fails is the one to be run alone, with
 * SOFTVERBS_SEED=SEED SOFTVERBS_TRACE=FILE.
 */

#include <signal.h>
#include <string.h>
#include <time.h>

#include <sys/syscall.h>
#include <unistd.h>

#include "../softverbs/softverbs.h"
#include "../softverbs/softverbs_seed.h"
#include "world.h"

#define WORLD_SECONDS 120 /* real ones: a world that takes longer hangs */
#define MANY          10000 /* so many worlds have everything in them */

static uint64_t real_ns(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts); /* the call itself tells virtual time */
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void how_to_replay(void)
{
	fprintf(stderr,
		"to see it again: SOFTVERBS_WIRE=seed SOFTVERBS_SEED=%" PRIu64
		" SOFTVERBS_STRICT=1 SOFTVERBS_TRACE=trace softverbs-run simulation %" PRIu64 "\n",
		check_seed, check_seed);
}

static bool is_finished;

/* what is checked ends the program */
static void on_exit_early(void)
{
	if (!is_finished)
		how_to_replay();
}

/* it may be in the midst of anything; what it prints is all that is to be had of this world */
static void on_signal(int number)
{
	fprintf(stderr, "in the world of seed %" PRIu64 ": %s\n", check_seed, strsignal(number));
	world_print();
	how_to_replay();
	signal(number, SIG_DFL);
	raise(number == SIGALRM ? SIGABRT : number);
}

static uint64_t run_seed(uint64_t seed)
{
	CHECK_OK(softverbs_seed_restart(seed));
	alarm(WORLD_SECONDS);
	world_run(seed);
	CHECK_INT(softverbs_reports(), 0);
	return softverbs_seed_digest();
}

static void run_many(uint64_t first, uint64_t count, bool is_twice)
{
	uint64_t from = real_ns(), steps = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t digest = run_seed(first + i);

		steps += softverbs_seed_steps();
		if (is_twice)
			CHECK(run_seed(first + i) == digest);
	}
	CHECK_OK(softverbs_seed_restart(0));
	is_finished = true;
	coverage_print();
	printf("%" PRIu64 " seeds%s from %" PRIu64 " on, %.0f a second, %.0f steps each\n", count,
		is_twice ? " twice" : "", first,
		(double)count * (is_twice ? 2 : 1) * 1e9 / (double)(real_ns() - from),
		(double)steps / (double)count);
}

int main(int argc, char *argv[])
{
	bool is_twice = argc == 4 && strcmp(argv[1], "-2") == 0;

	if (softverbs_seed_symbol("softverbs_seed_restart_world") == NULL) {
		fputs("this is for softverbs-run with SOFTVERBS_WIRE=seed\n", stderr);
		return 77;
	}
	(void)rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED);
	atexit(on_exit_early);
	signal(SIGABRT, on_signal);
	signal(SIGALRM, on_signal);
	signal(SIGSEGV, on_signal);
	signal(SIGBUS, on_signal);
	if (argc == 2) {
		run_many(strtoull(argv[1], NULL, 0), 1, false);
		return 0;
	}
	if (argc != 3 && !is_twice) {
		is_finished = true;
		fputs("usage: simulation [-2] FIRST COUNT | SEED\n", stderr);
		return 2;
	}
	argv += is_twice;
	run_many(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0), is_twice);
	if (strtoull(argv[2], NULL, 0) < MANY)
		return 0;
	return coverage_is_full() && faults_are_covered() ? 0 : 1;
}
