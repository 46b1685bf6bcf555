/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * seed.c - chance and virtual time
 *
 *     the program works ---- waits, nothing is ready ----> ADVANCE: to the next timer, or to the end
 *           ^                                                 |     of the wait; one timer fires
 *           `--- something is ready, or the time is over -----'     nothing to come: DEADLOCK
 *
 * Time passes only when the program waits, polls, or turns its loop. Looking at the clock is free, or
 * the first look of a process, which no later world repeats, would shift all that follows; only a
 * program that looks again and again without doing anything else is given a little each time.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "seed.h"

#define START_NS    (UINT64_C(1000000) * 1000 * SV_MS) /* also what worlds are aligned to, see start */
#define ALIGN_NS    (UINT64_C(1000) * 1000 * SV_MS)
#define LOOKS_FREE  1000
#define LOOK_NS     1000
#define POLL_NS     200 /* of an empty completion queue */
#define TIMES_MAX   16 /* so often that gets twice as much */
#define TURN_NS     1000 /* of the loop, about */
#define GRACE_MS    1000 /* real ones: for threads, signals and processes, of which nothing is known */
#define LATENCY_MAX 4 /* things that happen between being woken and looking */

int sv_seed_mode = SV_SEED_UNKNOWN;

struct sv_odds sv_odds = {
	.fast_us = 10,
	.slow = 50,
	.slow_us = 2000,
	.split = 100,
	.merge = 200,
	.cut = 100,
	.race = 50,
	.spurious = 20,
	.shuffle = 300,
	.stall = 5,
	.stall_us = 5000,
};

struct sv_numbers sv_numbers;
bool sv_seed_touched;

static struct {
	uint64_t seed;
	uint64_t random;
	uint64_t now_ns; /* atomic: threads that only look at the clock may do so */
	uint64_t begun_ns;
	unsigned looks; /* atomic; since time has passed last */
	unsigned polls; /* in vain, since step */
	uint64_t steps;
} world = { .now_ns = START_NS };

static uint64_t now_ns(void)
{
	return __atomic_load_n(&world.now_ns, __ATOMIC_RELAXED);
}

static const struct sv_clock virtual_clock = { .now_ns = now_ns };

/* "name=number,name=number": what is not named stays */
bool sv_seed_odds_take(const char *text)
{
	static const struct {
		const char *name;
		unsigned *value;
	} known[] = {
		{ "fast_us", &sv_odds.fast_us },
		{ "slow", &sv_odds.slow },
		{ "slow_us", &sv_odds.slow_us },
		{ "split", &sv_odds.split },
		{ "merge", &sv_odds.merge },
		{ "cut", &sv_odds.cut },
		{ "race", &sv_odds.race },
		{ "spurious", &sv_odds.spurious },
		{ "shuffle", &sv_odds.shuffle },
		{ "stall", &sv_odds.stall },
		{ "stall_us", &sv_odds.stall_us },
	};

	bool all = true;

	while (text != NULL && *text != '\0') {
		size_t length = strcspn(text, "=,");
		bool found = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(*known) && text[length] == '='; i++) {
			if (strlen(known[i].name) != length ||
				strncmp(known[i].name, text, length) != 0)
				continue;
			*known[i].value = (unsigned)strtoul(text + length + 1, NULL, 10);
			found = true;
		}
		if (!found)
			fprintf(stderr, "softverbs: SOFTVERBS_SEED_ODDS: unknown: %s\n", text);
		all = all && found;
		text += strcspn(text, ",");
		text += *text == ',';
	}
	return all;
}

/*
 * The first to ask is often a clock, read from inside of an allocator, before main() and before our
 * own constructor: nothing may be done here that could need memory.
 */
bool sv_seed_find_out(void)
{
	const char *wire = getenv("SOFTVERBS_WIRE");
	bool on = wire != NULL && strcmp(wire, "seed") == 0;

	__atomic_store_n(&sv_seed_mode, on ? SV_SEED_ON : SV_SEED_OFF, __ATOMIC_RELEASE);
	return on;
}

__attribute__((constructor)) static void first_world(void)
{
	const char *seed = getenv("SOFTVERBS_SEED");

	if (!sv_seed_is_on())
		return;
	(void)sv_seed_odds_take(getenv("SOFTVERBS_SEED_ODDS"));
	sv_clock = &virtual_clock;
	sv_seed_start(seed != NULL ? strtoull(seed, NULL, 0) : 0);
}

/*
 * A world begins at a full multiple of seconds, later than all before it: a loop that lives on sees no
 * time go back, and all that is rounded to milliseconds is rounded the same way in every world.
 */
void sv_seed_start(uint64_t seed)
{
	uint64_t now = world.now_ns;

	now += (ALIGN_NS - now % ALIGN_NS) % ALIGN_NS;
	__atomic_store_n(&world.now_ns, now, __ATOMIC_RELAXED);
	__atomic_store_n(&world.looks, 0, __ATOMIC_RELAXED);
	world.begun_ns = now;
	world.polls = 0;
	world.steps = 0;
	world.seed = seed;
	world.random = seed;
	memset(&sv_numbers, 0, sizeof(sv_numbers));
	sv_trace_begin(seed);
}

uint64_t sv_seed_value(void)
{
	return world.seed;
}

/* a counter, and a mix of its bits (splitmix64): any seed will do, 0 as well */
static uint64_t next_random(void)
{
	uint64_t z = world.random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint32_t sv_seed_below(uint32_t n)
{
	return n > 1 ? (uint32_t)((next_random() >> 32) * n >> 32) : 0;
}

bool sv_seed_chance(unsigned per_mille)
{
	return per_mille > 0 && sv_seed_below(1000) < per_mille;
}

static uint64_t up_to_us(unsigned us)
{
	return (uint64_t)sv_seed_below(us) * 1000 + sv_seed_below(1000);
}

uint64_t sv_seed_delay_ns(void)
{
	return up_to_us(sv_seed_chance(sv_odds.slow) ? sv_odds.slow_us : sv_odds.fast_us);
}

/* who tries in vain for a long time is to come to an end all the same: each try takes longer then */
static uint64_t longer(uint64_t ns, unsigned times)
{
	return ns << (times < TIMES_MAX ? times : TIMES_MAX);
}

void sv_seed_poll_pass(void)
{
	uint64_t next = sv_timers_next();
	uint64_t ns;

	world.polls = world.steps == sv_trace_count() ? world.polls + 1 : 0;
	world.steps = sv_trace_count();
	ns = longer(POLL_NS, world.polls / 100);
	if (next != SV_NEVER && next > world.now_ns && next - world.now_ns < ns)
		ns = next - world.now_ns;
	sv_seed_pass(ns);
}

uint64_t sv_seed_now_ns(void)
{
	unsigned looks = __atomic_add_fetch(&world.looks, 1, __ATOMIC_RELAXED);

	if (looks <= LOOKS_FREE)
		return now_ns();
	return __atomic_add_fetch(
		&world.now_ns, longer(LOOK_NS, (looks - LOOKS_FREE) / 1000), __ATOMIC_RELAXED);
}

uint64_t sv_seed_elapsed_ns(void)
{
	return world.now_ns - world.begun_ns;
}

void sv_seed_pass(uint64_t ns)
{
	__atomic_store_n(&world.looks, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&world.now_ns, world.now_ns + ns, __ATOMIC_RELAXED);
}

bool sv_seed_advance(uint64_t limit_ns)
{
	uint64_t next = sv_timers_next();

	if (next > limit_ns || next == SV_NEVER)
		return false;
	sv_seed_pass(next > world.now_ns ? next - world.now_ns : 0);
	sv_timers_fire_first();
	return true;
}

static void deadlock(const char *where)
{
	fflush(stdout);
	fprintf(stderr,
		"softverbs: deadlock in the world of seed %llu: %s, and nothing can happen any "
		"more\n",
		(unsigned long long)world.seed, where);
	sv_world_print();
	sv_trace_last();
	abort();
}

void sv_seed_sleep(void)
{
	if (!sv_seed_advance(SV_NEVER))
		deadlock("a call waits for an event or an acknowledgement");
}

/* one turn of the program's own loop, and what has happened meanwhile */
static void turn(void)
{
	uint64_t ns = TURN_NS / 2 + sv_seed_below(TURN_NS);

	if (sv_seed_chance(sv_odds.stall)) {
		ns = up_to_us(sv_odds.stall_us);
		sv_trace(SV_STEP_STALL, ns, 0, 0);
	}
	sv_seed_pass(ns);
	while (sv_seed_advance(world.now_ns))
		;
}

/* the program is woken by one thing, and finds more of them by the time it looks */
static void wake_late(void)
{
	for (uint32_t n = sv_seed_below(LATENCY_MAX); n > 0; n--)
		if (!sv_seed_advance(world.now_ns + sv_odds.fast_us * UINT64_C(500)))
			break;
}

/* goes on until there may be something to see; false: nothing is to come before until_ns */
static bool go_on(uint64_t until_ns)
{
	bool moved;

	do {
		sv_lock();
		sv_seed_touched = false;
		moved = sv_seed_advance(until_ns);
		if (moved && sv_seed_touched)
			wake_late();
		sv_unlock();
	} while (!sv_seed_jobs_run() && moved && !sv_seed_touched);
	return moved;
}

/* the number of milliseconds that a world without anything to come waits for another one */
static int grace_ms(void)
{
	const char *text = getenv("SOFTVERBS_SEED_GRACE_MS");

	return text != NULL ? atoi(text) : GRACE_MS;
}

/* looks until something is ready, and gives what look() gave; 0 when the time is over */
static int look_until(int (*look)(void *arg, int timeout_ms), void *arg, uint64_t until_ns)
{
	int n;

	while ((n = look(arg, 0)) == 0 && world.now_ns < until_ns) {
		if (go_on(until_ns))
			continue;
		if (until_ns != SV_NEVER) {
			sv_seed_pass(until_ns - world.now_ns + sv_seed_below(TURN_NS));
			continue;
		}
		n = look(arg, grace_ms());
		if (n == 0)
			deadlock("the program sleeps without a time-out");
		break;
	}
	return n;
}

int sv_seed_wait(int (*look)(void *arg, int timeout_ms), void *arg, uint64_t wait_ns)
{
	uint64_t from = world.now_ns;
	uint64_t until = wait_ns < SV_NEVER - from ? from + wait_ns : SV_NEVER;
	int n;

	sv_lock();
	turn();
	sv_unlock();
	(void)sv_seed_jobs_run();
	n = look_until(look, arg, until);
	if (n > 0)
		sv_trace(SV_STEP_WAKE, (uint64_t)n, world.now_ns - from, 0);
	else if (n == 0 && wait_ns > 0)
		sv_trace(SV_STEP_TIMEOUT, world.now_ns - from, 0, 0);
	return n;
}
