/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * softverbs_seed.h - many simulated worlds in one process
 *
 * For a program that is run with SOFTVERBS_WIRE=seed under softverbs-run. Nothing is linked: the calls
 * are looked up in the object that is preloaded, and do nothing without it.
 *
 * A world begins with the process, with the seed SOFTVERBS_SEED (or 0), and whenever
 * softverbs_seed_restart() is called. What a program does in a world depends on its seed alone, if the
 * program makes everything anew in it: loops, ids, queues, regions; and if it has no other thread. The
 * n-th world of a process does the same as the only world of a process that begins with its seed.
 */

#ifndef SOFTVERBS_SEED_CONTROL_H
#define SOFTVERBS_SEED_CONTROL_H

#include <dlfcn.h>
#include <stdint.h>

/* an exported function of the preloaded object, NULL without it; for the calls below */
static inline void *softverbs_seed_symbol(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/*
 * The end of a world, and the beginning of the next one, of that seed.
 *
 * The number of things that the old one has left over: ids, queue pairs, completion queues, regions,
 * channels, listeners, jobs of the thread pool, and contexts that were opened. They are listed on
 * stderr then, and no world begins. -1: no simulation is on.
 */
static inline int softverbs_seed_restart(uint64_t seed)
{
	int (*call)(uint64_t);

	*(void **)&call = softverbs_seed_symbol("softverbs_seed_restart_world");
	return call != 0 ? call(seed) : -1;
}

/* a number for all that has happened in this world so far: equal traces have equal ones */
static inline uint64_t softverbs_seed_digest(void)
{
	uint64_t (*call)(void);

	*(void **)&call = softverbs_seed_symbol("softverbs_seed_digest_world");
	return call != 0 ? call() : 0;
}

/* how many steps that were */
static inline uint64_t softverbs_seed_steps(void)
{
	uint64_t (*call)(void);

	*(void **)&call = softverbs_seed_symbol("softverbs_seed_steps_world");
	return call != 0 ? call() : 0;
}

/*
 * The odds of what comes from now on, in later worlds too, as in SOFTVERBS_SEED_ODDS: "slow=0,stall=0".
 * Per thousand: slow, split, merge (frames on the wire), cut (polls), race (at arming), spurious (events
 * of completion queues), shuffle (descriptors that are ready), stall (turns of the loop); and the longest
 * times in microseconds: fast_us, slow_us, stall_us. What is not named stays. 0; -1: an unknown name.
 */
static inline int softverbs_seed_odds(const char *odds)
{
	int (*call)(const char *);

	*(void **)&call = softverbs_seed_symbol("softverbs_seed_odds_world");
	return call != 0 ? call(odds) : -1;
}

#endif
