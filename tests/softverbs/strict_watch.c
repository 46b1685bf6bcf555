/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * strict_watch.c - memory of posted work requests: registered at all, and left alone?
 *
 * A sum over the buffer is taken at the post. It is taken again when a send has completed, or before
 * the first byte of a read or a message is received: what has changed in between, the program did.
 * Where the device has written there itself meanwhile, nothing can be said.
 */

#include <stdlib.h>
#include <string.h>

#include "mr.h"
#include "strict.h"

struct sv_watch {
	struct list node;
	enum sv_watch_kind kind;
	uint64_t wr_id;
	const void *site; /* of the post */
	bool silent; /* written by the device: the sum says nothing */
	uint64_t sum;
	int n;
	struct ibv_sge sges[]; /* real addresses */
};

static const char *const names[] = {
	[SV_WATCH_SEND] = "send", [SV_WATCH_READ] = "read", [SV_WATCH_RECV] = "receive"
};

static struct list watches = { &watches, &watches };

static uint64_t mix(uint64_t sum, uint64_t value)
{
	sum = (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 29;
}

static uint64_t sum_up(const struct sv_watch *watch)
{
	uint64_t sum = 1;

	for (int i = 0; i < watch->n; i++) {
		const uint8_t *at = (const uint8_t *)(uintptr_t)watch->sges[i].addr;
		uint32_t left = watch->sges[i].length;
		uint64_t word;

		for (; left >= sizeof(word); left -= (uint32_t)sizeof(word)) {
			memcpy(&word, at, sizeof(word));
			at += sizeof(word);
			sum = mix(sum, word);
		}
		while (left-- > 0)
			sum = mix(sum, *at++);
	}
	return sum;
}

/* where an entry of the list points to; NULL, and a report: nowhere that the device may go */
static void *locate(enum sv_watch_kind kind, struct ibv_pd *pd, const struct ibv_sge *sge)
{
	int access = kind == SV_WATCH_SEND ? 0 : IBV_ACCESS_LOCAL_WRITE;
	void *real = NULL;

	if (pd == NULL)
		pd = sv_mr_pd(sge->lkey);
	if (pd != NULL)
		real = sv_mr_at(pd, sge->lkey, sge->addr, sge->length, access);
	if (real == NULL)
		sv_misuse(NULL,
			"%s posted with memory that is not registered for it: %u bytes at "
			"0x%llx, lkey 0x%x",
			names[kind], sge->length, (unsigned long long)sge->addr, sge->lkey);
	return real;
}

void sv_watch_post(struct sv_watch **at, enum sv_watch_kind kind, struct ibv_pd *pd,
	const struct ibv_sge *sges, int n, uint64_t wr_id)
{
	struct sv_watch *watch;

	sv_watch_drop(at);
	watch = calloc(1, sizeof(*watch) + (size_t)n * sizeof(*sges));
	if (watch == NULL)
		return;
	watch->kind = kind;
	watch->wr_id = wr_id;
	watch->site = sv_strict_site();
	for (int i = 0; i < n; i++) {
		void *real = sges[i].length > 0 ? locate(kind, pd, &sges[i]) : NULL;

		if (real == NULL)
			continue;
		watch->sges[watch->n] = sges[i];
		watch->sges[watch->n++].addr = (uintptr_t)real;
	}
	watch->sum = sum_up(watch);
	list_push(&watches, &watch->node);
	*at = watch;
}

void sv_watch_drop(struct sv_watch **at)
{
	if (*at == NULL)
		return;
	list_remove(&(*at)->node);
	free(*at);
	*at = NULL;
}

/* memory that is registered no more may be mapped no more */
static bool still_there(const struct sv_watch *watch)
{
	for (int i = 0; i < watch->n; i++)
		if (sv_mr_pd(watch->sges[i].lkey) == NULL)
			return false;
	return true;
}

void sv_watch_end(struct sv_watch **at)
{
	struct sv_watch *watch = *at;

	if (watch != NULL && !watch->silent && still_there(watch) && sum_up(watch) != watch->sum)
		sv_misuse(watch->site,
			"the buffer of %s 0x%llx, posted here, was touched while the device owned "
			"it",
			names[watch->kind], (unsigned long long)watch->wr_id);
	sv_watch_drop(at);
}

void sv_watch_written(const void *at, size_t length)
{
	uintptr_t from = (uintptr_t)at;

	if (!SV_STRICT)
		return;
	list_each(struct sv_watch, watch, &watches, node)
	{
		for (int i = 0; i < watch->n; i++)
			if (watch->sges[i].addr < from + length &&
				from < watch->sges[i].addr + watch->sges[i].length)
				watch->silent = true;
	}
}

void sv_watch_unpinned(uint32_t key)
{
	list_each(struct sv_watch, watch, &watches, node)
	{
		for (int i = 0; i < watch->n; i++)
			if (watch->sges[i].lkey == key) {
				sv_misuse(NULL, "ibv_dereg_mr of a region that %s 0x%llx uses",
					names[watch->kind], (unsigned long long)watch->wr_id);
				return;
			}
	}
}
