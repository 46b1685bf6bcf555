/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* seed_device.c - what the seed does at completion queues, where hardware could do it as well */

#include "cq.h"
#include "seed.h"

/* ibv_poll_cq() says only that what it gives is there, not that there is no more */
int sv_seed_poll(struct sv_cq *cq, int n)
{
	uint32_t there = cq->tail - cq->head;
	uint32_t most = there < (uint32_t)n ? there : (uint32_t)n;
	uint32_t less;

	if (most < 2 || !sv_seed_chance(sv_odds.cut))
		return n;
	less = 1 + sv_seed_below(most - 1);
	sv_trace(SV_STEP_CUT, cq->number, less, there);
	return (int)less;
}

void sv_seed_arm(struct sv_cq *cq)
{
	/* between the program's poll and this, something came in */
	if (sv_seed_chance(sv_odds.race) &&
		sv_seed_advance(sv_clock->now_ns() + sv_odds.fast_us * UINT64_C(1000)))
		sv_trace(SV_STEP_RACE, cq->number, 0, 0);
	if (cq->base.channel != NULL && sv_seed_chance(sv_odds.spurious)) {
		sv_trace(SV_STEP_SPURIOUS, cq->number, 0, 0);
		sv_cq_event(cq);
	}
}
