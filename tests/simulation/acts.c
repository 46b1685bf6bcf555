/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * acts.c - one future each: begun, watched, done
 *
 *     act_new() --> the call --> act_begun() --> ... --> on_done(): checked, its memory poisoned,
 *                                                         and its storage too, or by its parent later
 */

#include <string.h>

#include "world.h"

static size_t storage_size(enum kind kind)
{
	switch (kind) {
	case ALL:
		return sizeof(rpma_uv_all_t);
	case ANY:
		return sizeof(rpma_uv_any_t);
	default:
		return sizeof(rpma_uv_op_t);
	}
}

struct act *act_new(enum kind kind, struct station *s, struct end *e, void *storage)
{
	struct act *a;

	if (world.act_count == ACTS_MAX)
		return NULL;
	a = &world.acts[++world.act_count];
	a->number = world.act_count;
	a->kind = kind;
	a->station = s;
	a->end = e;
	a->storage_size = storage_size(kind);
	/* a chain has no storage of its own */
	if (storage != NULL)
		a->storage = storage;
	else if (kind != CHAIN && chance(700))
		a->storage = memory_room(a->storage_size);
	a->expected = NOT_KNOWN;
	a->was_ready = e != NULL && e->was_ready && !e->has_ended;
	a->began_ms = uv_now(&world.loop);
	return a;
}

void *act_storage(struct act *a)
{
	return a->storage;
}

void act_bury(struct act *a)
{
	if (a->storage != NULL && a->future != NULL)
		memory_poison(a->storage, a->storage_size);
	a->future = NULL;
}

static void pending_add(struct act *a)
{
	a->is_pending = true;
	a->pending_index = world.pending_count;
	world.pending[world.pending_count++] = a;
	a->station->pending++;
	if (a->end != NULL)
		a->end->pending++;
	if (a->shared != NULL)
		a->shared->pending++;
}

static void pending_remove(struct act *a)
{
	struct act *last = world.pending[--world.pending_count];

	CHECK(a->is_pending);
	a->is_pending = false;
	world.pending[a->pending_index] = last;
	last->pending_index = a->pending_index;
	a->station->pending--;
	if (a->end != NULL)
		a->end->pending--;
	if (a->shared != NULL)
		a->shared->pending--;
}

struct act *act_pick(void)
{
	return world.pending_count > 0 ? world.pending[below(world.pending_count)] : NULL;
}

/* its memory is the program's again */
static void memory_return(struct act *a)
{
	for (unsigned i = 0; i < a->pieces; i++) {
		if (a->local[i].at != NULL)
			memory_poison(a->local[i].at, a->local[i].len);
	}
	if (a->piece_list != NULL)
		memory_poison(a->piece_list, sizeof(*a->piece_list) * a->pieces);
}

/* what makes no sense any more is refused, in the future's own callback too */
static void ask_too_late(rpma_uv_future_t *f)
{
	int64_t result = 0;

	CHECK_INT(API(rpma_uv_cancel(f, below(2) ? RPMA_UV_FORCE : 0)), UV_EALREADY);
	CHECK_INT(API(rpma_uv_timeout(f, below(5), 0)), UV_EALREADY);
	CHECK(API(rpma_uv_then(f, NULL, NULL)) == NULL);
	CHECK_INT(API(rpma_uv_wait(f, 0, &result)), UV_EBUSY);
	CHECK(API(rpma_uv_strerror(f)) != NULL);
	cover("asked in its own callback");
}

/* inputs are readable until here */
static void inputs_bury(struct act *parent)
{
	for (unsigned i = 0; i < parent->input_count; i++) {
		struct act *input = parent->inputs[i];

		if (input == NULL || input->parent != parent)
			continue;
		input->parent = NULL;
		if (!input->is_pending)
			act_bury(input);
	}
}

static void on_done(rpma_uv_future_t *f, int status)
{
	struct act *a = f->data;
	void *storage = NULL;

	callback_enter();
	CHECK(a->is_pending);
	CHECK(a->future == f);
	check_done(a, f, status);
	a->status = status;
	a->result = f->result;
	a->sequence = ++world.sequence;
	cover_outcome(a->kind, status);
	if (chance(50))
		ask_too_late(f);
	memory_return(a);
	pending_remove(a);
	inputs_bury(a);
	if (a->parent == NULL && !a->is_waited) {
		if (a->storage != NULL && a->storage_size == sizeof(rpma_uv_op_t) && chance(100))
			storage = a->storage;
		else
			act_bury(a);
		a->future = NULL;
	}
	if (a->kind == RECONNECT)
		ends_reconnected(a);
	if (a->is_witness) {
		a->end->has_ended = true;
		a->end->error = status;
	}
	if (storage != NULL && !world.is_over && a->end != NULL && !a->end->is_closing &&
		!a->end->is_taken && !a->end->is_lent) {
		cover("storage used again in its callback");
		(void)rma_act(a->end, storage);
	} else if (storage != NULL) {
		memory_poison(storage, sizeof(rpma_uv_op_t));
	}
	world_react();
	callback_leave();
}

/* nobody will hear of it: not of those whose end has to be made, or of which check.c needs to know */
static bool may_be_released(const struct act *a)
{
	return a->kind != CONN_END && a->kind != PEER && a->kind != SEND && a->kind != RECV &&
	       a->kind != SRQ_RECV && a->kind != RECONNECT && a->kind != PROMISE &&
	       a->kind != SLEEP;
}

void act_begun(struct act *a, rpma_uv_future_t *f)
{
	CHECK(f != NULL);
	if (a->storage != NULL)
		CHECK((void *)f == a->storage);
	CHECK_INT(f->status, RPMA_UV_PENDING);
	CHECK(f->reactor == &a->station->reactor);
	a->future = f;
	if (a->storage == NULL && may_be_released(a) && chance(30)) {
		cover("released");
		API_VOID(rpma_uv_unref(f)); /* unref_all() will not find it */
		act_is_unrefd(a);
		API_VOID(rpma_uv_release(f));
		a->is_unseen = true;
		a->future = NULL;
		return;
	}
	CHECK(API(rpma_uv_then(f, on_done, a)) == f);
	pending_add(a);
	if (a->is_witness || world.is_narrow)
		return;
	/* of a connection that comes up there is more to be seen */
	if (chance(a->kind == CONNECT || a->kind == ACCEPT ? 10 : 50))
		act_timeout(a);
	if (chance(a->kind == CONNECT || a->kind == ACCEPT ? 10 : 30))
		act_cancel(a, below(10) == 0 ? RPMA_UV_FORCE : 0);
	if (chance(20))
		act_unref(a);
}
