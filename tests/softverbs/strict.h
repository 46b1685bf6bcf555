/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * strict.h - what no program should do, reported the moment it is seen
 *
 * Off unless SOFTVERBS_STRICT is set; each hook is then the test of one flag. On, there is a record
 * of every object of the program: where it was made, and when it went, where that was. What has gone
 * keeps its memory for a while, so that a call on it finds it and says so. Buffers that the device
 * owns are summed up when they are posted and again when they come back (strict_watch.c).
 *
 * ASSUMPTIONS: records have a lock of their own, the innermost; buffers are under the device lock.
 */

#ifndef SOFTVERBS_STRICT_H
#define SOFTVERBS_STRICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sv_kind {
	SV_CONTEXT,
	SV_PD,
	SV_MR,
	SV_COMP_CHANNEL,
	SV_CQ,
	SV_QP,
	SV_SRQ,
	SV_AH,
	SV_EVENT_CHANNEL,
	SV_ID,
	SV_CM_EVENT,
};

extern bool sv_strict;

/* the return address of the exported call; inside another one of ours, that one's counts */
#define SV_SITE __builtin_return_address(0)

#define SV_STRICT (__builtin_expect(sv_strict, 0))

/* at the start of an exported call: where it comes from */
#define SV_ENTER()                                \
	do {                                      \
		if (SV_STRICT)                    \
			sv_strict_enter(SV_SITE); \
	} while (0)

/* the same, and true when that object has gone: the call has to fail */
#define SV_DEAD(kind, object) \
	(SV_STRICT && (sv_strict_enter(SV_SITE), sv_strict_dead((kind), (object), __func__)))

void sv_strict_enter(const void *site);
const void *sv_strict_site(void); /* of the call that this thread is in */
bool sv_strict_dead(enum sv_kind kind, const void *object, const char *call);
void sv_strict_born(enum sv_kind kind, const void *object);
void sv_strict_gone(const void *object, void *memory);
bool sv_strict_patient(
	void); /* about to wait for acks: false: that was too long, and is reported */
void sv_strict_forget(void); /* in a forked child: what there is belongs to the parent */

static inline void sv_born(enum sv_kind kind, const void *object)
{
	if (SV_STRICT)
		sv_strict_born(kind, object);
}

/* instead of free(memory) */
#define sv_gone(object, memory)                             \
	do {                                                \
		if (SV_STRICT)                              \
			sv_strict_gone((object), (memory)); \
		else                                        \
			free(memory);                       \
	} while (0)

void sv_misuse(const void *site, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* strict_watch.c: the memory of a work request that the device owns */
struct ibv_pd;
struct ibv_sge;
struct sv_watch;

enum sv_watch_kind { SV_WATCH_SEND, SV_WATCH_READ, SV_WATCH_RECV };

/* of a request that is being posted; pd NULL: that of each key. *at: the old one is forgotten */
void sv_watch_post(struct sv_watch **at, enum sv_watch_kind kind, struct ibv_pd *pd,
	const struct ibv_sge *sges, int n, uint64_t wr_id);
void sv_watch_end(struct sv_watch **at); /* the memory is the program's again: was it touched? */
void sv_watch_drop(struct sv_watch **at); /* nobody will know */
void sv_watch_written(const void *at, size_t length); /* by the device itself */
void sv_watch_unpinned(uint32_t key); /* the region goes: is it in use? */

#endif
