/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * memory.h - what the device may touch, and what nobody may touch any more
 *
 * All of a world's memory is one arena, given out piece by piece and never twice in a world. A piece
 * whose operation is done is poisoned: filled with a pattern of its own, which must be there at the
 * end of the world, and forbidden to whatever the address sanitizer watches.
 */

#ifndef SIMULATION_MEMORY_H
#define SIMULATION_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define ARENA_SIZE  (4u << 20)
#define SERVED_SIZE (64u << 10) /* its beginning: what is read, and never changes */
#define EMPTY       0x5a /* what memory holds before anything else */

struct piece {
	uint8_t *at;
	size_t len;
};

/* the registered arena; the same from world to world */
uint8_t *memory_arena(void);

void memory_begin(void);

/* a piece of the arena, multiple of 8 from its start, holding EMPTY; at NULL: the arena is full */
struct piece memory_take(size_t len);

/* room for the library, holding garbage; it is not registered */
void *memory_room(size_t len);

/* the bytes of number `id` */
void memory_fill(uint8_t *to, uint64_t id, size_t len);
int memory_holds(const uint8_t *at, uint64_t id, size_t len);
/* each byte is either of `id` or EMPTY: a write that has failed */
int memory_may_hold(const uint8_t *at, uint64_t id, size_t len);
uint64_t memory_hash(const uint8_t *at, size_t len);

/* it is over: nobody may touch it until the end of the world */
void memory_poison(void *at, size_t len);

/* all that was poisoned is as it was left, and all that is served as well: 0, or says what is not */
int memory_check(void);

#endif
