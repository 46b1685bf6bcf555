/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * clock.h - time and timers of the device
 *
 * All of the device's notion of time comes from sv_clock, so that another clock (a virtual one) can
 * take its place before anything else runs.
 *
 * ASSUMPTIONS: the device lock is held for all but now_ns.
 */

#ifndef SOFTVERBS_CLOCK_H
#define SOFTVERBS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define SV_MS    UINT64_C(1000000) /* in nanoseconds */
#define SV_NEVER UINT64_MAX

struct sv_clock {
	uint64_t (*now_ns)(void); /* monotonic */
};

extern const struct sv_clock *sv_clock;

struct sv_timer {
	struct sv_timer *child; /* of the heap: the first one, its siblings, */
	struct sv_timer *next;
	struct sv_timer **link; /* and what points here; NULL: not set */
	uint64_t at_ns;
	uint64_t order; /* among those due at the same time: as they were set */
	void (*fire)(struct sv_timer *timer);
};

void sv_timer_init(struct sv_timer *timer, void (*fire)(struct sv_timer *timer));
void sv_timer_set(struct sv_timer *timer, uint64_t at_ns); /* again, if it is set already */
void sv_timer_stop(struct sv_timer *timer);
bool sv_timer_is_set(const struct sv_timer *timer);
uint64_t sv_timers_next(void); /* SV_NEVER: none */
int sv_timers_run(void); /* fires what is due, gives the count */
void sv_timers_fire_first(void); /* there is one, due or not */
void sv_timers_forget(void); /* in a forked child: none is set any more */

#endif
