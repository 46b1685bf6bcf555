/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* memory.c - the arena, the room for the library, and poison */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "random.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_WATCHED 1
#endif
#endif

#ifdef IS_WATCHED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, len)   ((void)(at), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#endif

#define ROOM_SIZE (2u << 20)
#define GUARD     16 /* between two pieces: EMPTY, for ever */
#define POISON    0xd5
#define GARBAGE   0xa9
#define DEAD_MAX  8192

static uint8_t arena[ARENA_SIZE] __attribute__((aligned(4096)));
static uint8_t room[ROOM_SIZE] __attribute__((aligned(16)));
static size_t arena_used, room_used;

static struct piece dead[DEAD_MAX];
static unsigned dead_count;

uint8_t *memory_arena(void)
{
	return arena;
}

/* what the world before has used */
static void forget(void)
{
	for (unsigned i = 0; i < dead_count; i++)
		ASAN_UNPOISON_MEMORY_REGION(dead[i].at, dead[i].len);
	dead_count = 0;
	memset(arena + SERVED_SIZE, EMPTY,
		(arena_used > 0 ? arena_used : ARENA_SIZE) - SERVED_SIZE);
	memset(room, GARBAGE, room_used > 0 ? room_used : ROOM_SIZE);
}

void memory_begin(void)
{
	forget();
	if (arena_used == 0)
		memory_fill(arena, 0, SERVED_SIZE);
	arena_used = SERVED_SIZE + GUARD;
	room_used = GUARD;
}

struct piece memory_take(size_t len)
{
	size_t size = (len + 7) / 8 * 8 + GUARD;
	struct piece piece = { NULL, len };

	if (size > ARENA_SIZE - arena_used)
		return piece;
	piece.at = arena + arena_used;
	arena_used += size;
	return piece;
}

void *memory_room(size_t len)
{
	size_t size = (len + 15) / 16 * 16 + GUARD;
	void *at = room + room_used;

	if (size > ROOM_SIZE - room_used) /* more than ACTS_MAX can need */
		abort();
	room_used += size;
	return at;
}

static uint64_t word_of(uint64_t id, size_t number)
{
	return random_mix(id << 32 ^ number ^ UINT64_C(0x5eed000000000000));
}

void memory_fill(uint8_t *to, uint64_t id, size_t len)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t word = word_of(id, i / 8);

		memcpy(to + i, &word, len - i < 8 ? len - i : 8);
	}
}

int memory_holds(const uint8_t *at, uint64_t id, size_t len)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t word = word_of(id, i / 8);

		if (memcmp(at + i, &word, len - i < 8 ? len - i : 8) != 0)
			return 0;
	}
	return 1;
}

int memory_may_hold(const uint8_t *at, uint64_t id, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t word = word_of(id, i / 8);
		uint8_t bytes[8];

		memcpy(bytes, &word, sizeof(bytes));
		if (at[i] != EMPTY && at[i] != bytes[i % 8]) {
			fprintf(stderr, "byte %zu of %zu is 0x%02x, not 0x%02x\n", i, len, at[i],
				bytes[i % 8]);
			return 0;
		}
	}
	return 1;
}

uint64_t memory_hash(const uint8_t *at, size_t len)
{
	uint64_t hash = len;

	for (size_t i = 0; i < len; i += 8) {
		uint64_t word = 0;

		memcpy(&word, at + i, len - i < 8 ? len - i : 8);
		hash = random_mix(hash ^ word);
	}
	return hash;
}

void memory_poison(void *at, size_t len)
{
	if (len == 0 || dead_count == DEAD_MAX)
		return;
	memset(at, POISON, len);
	ASAN_POISON_MEMORY_REGION(at, len);
	dead[dead_count++] = (struct piece){ at, len };
}

static int is_all(const uint8_t *at, uint8_t value, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] != value)
			return 0;
	}
	return 1;
}

int memory_check(void)
{
	int ret = 0;

	for (unsigned i = 0; i < dead_count; i++) {
		ASAN_UNPOISON_MEMORY_REGION(dead[i].at, dead[i].len);
		if (is_all(dead[i].at, POISON, dead[i].len))
			continue;
		fprintf(stderr, "memory that was given back, %zu bytes, was written to\n",
			dead[i].len);
		ret = -1;
	}
	if (!memory_holds(arena, 0, SERVED_SIZE)) {
		fputs("memory that is only read was written to\n", stderr);
		ret = -1;
	}
	return ret;
}
