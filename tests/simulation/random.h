/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* random.h - what the simulation draws: a generator of its own, or the device's numbers would shift */

#ifndef SIMULATION_RANDOM_H
#define SIMULATION_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

extern uint64_t random_state;

static inline uint64_t random_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline uint64_t random_next(void)
{
	random_state += UINT64_C(0x9e3779b97f4a7c15);
	return random_mix(random_state);
}

/* 0 to n - 1 */
static inline unsigned below(unsigned n)
{
	return n > 0 ? (unsigned)(random_next() % n) : 0;
}

static inline unsigned between(unsigned low, unsigned high)
{
	return low + below(high - low + 1);
}

static inline bool chance(unsigned per_thousand)
{
	return below(1000) < per_thousand;
}

#endif
