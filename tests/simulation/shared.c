/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* shared.c - shared receive queues */

#include "world.h"

static void on_shared_closed(void *data)
{
	struct shared *sh = data;

	callback_enter();
	CHECK(sh->is_closing);
	CHECK(sh->srq != NULL);
	CHECK_INT(sh->pending, 0);
	sh->srq = NULL;
	sh->is_closing = false;
	sh->is_taken = false;
	world_react();
	callback_leave();
}

struct shared *shared_pick(const struct station *s)
{
	struct shared *sh = &world.shared[below(SHARED_MAX)];

	return sh->srq != NULL && sh->station == s && !sh->is_closing && !sh->is_taken ? sh : NULL;
}

void shared_open(void)
{
	struct shared *sh = &world.shared[below(SHARED_MAX)];
	struct station *s = station_pick();
	int ret;

	if (sh->srq != NULL || sh->pending > 0 || s == NULL)
		return;
	/* its ends are told by it */
	for (unsigned i = 0; i < world.end_count; i++) {
		if (world.ends[i].shared == sh)
			return;
	}
	sh->station = s;
	ret = API(rpma_uv_srq_new(&s->reactor, world.peer, between(1, 16), &sh->srq));
	if (ret != 0) {
		CHECK(world.has_faults);
		CHECK(sh->srq == NULL);
		return;
	}
	cover("shared receive queue");
	for (unsigned i = below(8); i > 0 && !sh->is_closing; i--)
		rma_shared_recv(sh);
}

static void shared_close(struct shared *sh)
{
	if (sh->srq == NULL || sh->is_closing)
		return;
	sh->is_closing = true;
	cover("shared receive queue closed");
	API_VOID(rpma_uv_srq_close(sh->srq, on_shared_closed, sh));
}

void shared_drop(struct shared *sh)
{
	if (!sh->is_taken)
		shared_close(sh);
}

void shared_taken(struct station *s)
{
	for (unsigned i = 0; i < SHARED_MAX; i++) {
		struct shared *sh = &world.shared[i];

		if (sh->srq == NULL || sh->station != s || sh->is_closing)
			continue;
		sh->is_taken = true;
		if (chance(300))
			shared_close(sh);
	}
}
