/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * seed.h - the simulation: one thread, one seed, and time that passes only as the seed says
 *
 * SOFTVERBS_WIRE=seed turns it on. Everything that takes time (a frame on a link, an event on its way
 * to the program, a job of the thread pool) is a timer of clock.h at a moment drawn from the seed; to
 * wait is to go to the next timer. So there is one order of all things a seed, and the trace tells it.
 *
 *     wire_seed.c     links between queue pairs of this process
 *     seed_names.c    its addresses and ports
 *     seed_device.c   completion queues
 *     seed_calls.c    libc's calls that wait or tell the time
 *     seed_uv.c       libuv's thread pool, without threads
 *     seed_trace.c    what happened
 *     seed_world.c    the end of one world and the beginning of the next
 *
 * ASSUMPTIONS: the device lock is held, except where a comment says otherwise. One thread of the
 * program calls the device and sleeps; others would bring in an order of their own.
 */

#ifndef SOFTVERBS_SEED_H
#define SOFTVERBS_SEED_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/* how often, per thousand, and how long, in microseconds */
struct sv_odds {
	unsigned fast_us; /* most things take up to this */
	unsigned slow; /* but some take */
	unsigned slow_us; /* up to that */
	unsigned split; /* a frame arrives in two parts */
	unsigned merge; /* several arrive at once */
	unsigned cut; /* a poll gives less than there is */
	unsigned race; /* something arrives between the poll and the arming */
	unsigned spurious; /* an event of a completion queue that has nothing to tell */
	unsigned shuffle; /* descriptors that are ready are told in another order */
	unsigned stall; /* the program gets no processor for */
	unsigned stall_us; /* up to that */
};

extern struct sv_odds sv_odds;

bool sv_seed_odds_take(const char *text); /* false: an unknown name in it */

/* the next number of each kind: small, and the same for the same seed */
struct sv_numbers {
	unsigned ids;
	unsigned cqs;
	unsigned links;
	unsigned jobs;
	unsigned qps;
	unsigned ports;
};

extern struct sv_numbers sv_numbers;

enum sv_seed_mode { SV_SEED_UNKNOWN, SV_SEED_OFF, SV_SEED_ON };

extern int sv_seed_mode;

bool sv_seed_find_out(void);

/* without the lock, and before anything else, too */
static inline bool sv_seed_is_on(void)
{
	int mode = __atomic_load_n(&sv_seed_mode, __ATOMIC_ACQUIRE);

	return mode == SV_SEED_UNKNOWN ? sv_seed_find_out() : mode == SV_SEED_ON;
}

/* seed.c: chance */
uint32_t sv_seed_below(uint32_t n); /* 0 <= it < n */
bool sv_seed_chance(unsigned per_mille);
uint64_t sv_seed_delay_ns(void); /* of one thing on its way */

/* seed.c: time */
uint64_t sv_seed_now_ns(void); /* without the lock; a program that only looks makes it pass */
uint64_t sv_seed_elapsed_ns(void); /* since the world began */
void sv_seed_pass(uint64_t ns); /* the program works; nothing happens */
void sv_seed_poll_pass(void); /* it looks at a completion queue, in vain */
bool sv_seed_advance(uint64_t limit_ns); /* to the next thing, and do it; false: none until then */
void sv_seed_sleep(void); /* the same; with nothing to come, this is the end */

/*
 * seed.c: the program waits, without the lock. look() gives the number of things that are ready, or -1;
 * what it gives is given on, 0 when wait_ns (SV_NEVER: for ever) are over.
 */
int sv_seed_wait(int (*look)(void *arg, int timeout_ms), void *arg, uint64_t wait_ns);

extern bool sv_seed_touched; /* a descriptor may have become ready */

/* seed_device.c: what the seed does to completion queues and events of the CM */
struct sv_cq;
struct sv_event;

int sv_seed_poll(struct sv_cq *cq, int n); /* gives n, or less */
void sv_seed_arm(struct sv_cq *cq); /* before it is armed */

/* seed_uv.c: runs the jobs whose moment has come, without the lock; true: there were some */
bool sv_seed_jobs_run(void);
unsigned sv_seed_jobs_left(void);

/* seed_trace.c */
enum sv_step {
	SV_STEP_WORLD,
	SV_STEP_CONNECT,
	SV_STEP_REFUSED,
	SV_STEP_MOVE,
	SV_STEP_LAST,
	SV_STEP_CM_EVENT,
	SV_STEP_CQ_EVENT,
	SV_STEP_SPURIOUS,
	SV_STEP_ASYNC,
	SV_STEP_CUT,
	SV_STEP_RACE,
	SV_STEP_STALL,
	SV_STEP_WAKE,
	SV_STEP_TIMEOUT,
	SV_STEP_JOB,
	SV_STEP_JOB_DONE,
	SV_STEP_JOB_CANCELED,
	SV_STEPS,
};

void sv_trace(enum sv_step step, uint64_t a, uint64_t b, uint64_t c);
void sv_trace_begin(uint64_t seed);
void sv_trace_last(void); /* the last steps, to stderr */
uint64_t sv_trace_digest(void); /* of all steps since the world began */
uint64_t sv_trace_count(void);

/* seed_world.c */
void sv_world_print(void); /* to stderr */

/* wire_seed.c: links that are closed, but not gone yet, go at once */
void sv_wire_seed_clear(void);

void sv_seed_start(uint64_t seed); /* chance, time and numbers as at the beginning */
uint64_t sv_seed_value(void);

#endif
