/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * rma.c - acts on remote memory, and messages
 *
 * Both ends have one region, so that the peer's memory can be looked at. What act number N moves is
 * made of N; a message and a write with a word say N in their word.
 */

#include <string.h>

#include "world.h"

#define NOTHING         \
	{               \
		NULL, 0 \
	}

static const rpma_uv_local_t no_local = NOTHING;
static const rpma_uv_remote_t no_remote = NOTHING;

static rpma_uv_local_t local_at(const uint8_t *at)
{
	return (rpma_uv_local_t){ world.mr, (size_t)(at - memory_arena()) };
}

static rpma_uv_remote_t remote_at(const uint8_t *at)
{
	return (rpma_uv_remote_t){ world.remote, (size_t)(at - memory_arena()) };
}

static size_t draw_len(void)
{
	unsigned what = below(100);
	size_t limit = world.max_msg;

	if (what < 8)
		return 0;
	if (what < 25)
		return between(1, 16);
	if (what < 75)
		return between(1, 1024);
	if (what < 90)
		return between(1, (unsigned)limit);
	if (what < 94)
		return limit;
	cover("longer than a message");
	return limit + between(1, (unsigned)limit * 2);
}

/* a piece of the arena for this act; false: there is no room left in it */
static bool take_local(struct act *a, size_t len)
{
	struct piece piece = memory_take(len);

	a->local[a->pieces++] = piece;
	return piece.at != NULL;
}

static bool take_remote(struct act *a, size_t len)
{
	struct piece piece = memory_take(len);

	a->remote[a->pieces - 1] = piece.at;
	return piece.at != NULL;
}

/* the world is full: nothing was called */
static void give_up(struct act *a)
{
	a->is_unseen = true;
	a->pieces = 0;
	world.act_budget = 0;
}

/* ---- read, write ----------------------------------------------------------------------------- */

static rpma_uv_future_t *call_read(struct act *a)
{
	rpma_uv_conn_t *c = a->end->conn;
	size_t at = below(SERVED_SIZE - (unsigned)a->len + 1);
	rpma_uv_local_t dst = local_at(a->local[0].at);
	rpma_uv_remote_t src = { world.remote, at };
	unsigned flags = 0;

	a->remote[0] = memory_arena() + at;
	if (a->len == 0 && chance(500)) {
		dst = no_local;
		src = no_remote;
	} else if (chance(10)) {
		cover("out of range");
		src.offset = ARENA_SIZE - a->len + 1 + below(8);
		a->expected = UV_EINVAL;
	} else if (chance(10)) {
		cover("unknown flags");
		flags = 1;
		a->expected = UV_EINVAL;
	} else if (chance(3) && a->len > 0) {
		cover("no right to read");
		src.mr = world.closed_remote;
	}
	return API(rpma_uv_read(c, act_storage(a), dst, src, a->len, flags));
}

static rpma_uv_future_t *call_write(struct act *a)
{
	rpma_uv_conn_t *c = a->end->conn;
	rpma_uv_local_t src = local_at(a->local[0].at);
	rpma_uv_remote_t dst = remote_at(a->remote[0]);

	memory_fill(a->local[0].at, a->number, a->len);
	if (a->len == 0 && chance(500)) {
		src = no_local;
		dst = no_remote;
	} else if (chance(10)) {
		cover("one region alone");
		dst = no_remote;
		a->expected = UV_EINVAL;
	} else if (chance(3) && a->len > 0) {
		cover("no right to write");
		dst = (rpma_uv_remote_t){ world.closed_remote, 0 };
	}
	if (a->kind == WRITE_IMM)
		return API(
			rpma_uv_write_with_imm(c, act_storage(a), dst, src, a->len, 0, a->number));
	return API(rpma_uv_write(c, act_storage(a), dst, src, a->len, 0));
}

static rpma_uv_future_t *call_atomic(struct act *a)
{
	rpma_uv_remote_t dst = remote_at(a->remote[0]);
	char word[RPMA_ATOMIC_WRITE_ALIGNMENT];
	rpma_uv_future_t *f;

	memory_fill((uint8_t *)word, a->number, sizeof(word));
	if (chance(20)) {
		cover("not aligned");
		dst.offset++;
		a->expected = UV_EINVAL;
	}
	f = API(rpma_uv_atomic_write(
		a->end->conn, act_storage(a), dst, word, below(2) ? RPMA_F_EMULATED : 0));
	memset(word, 0, sizeof(word)); /* it was copied */
	return f;
}

/* ---- flush, persist -------------------------------------------------------------------------- */

/* which, and what comes of it when it is refused */
static enum rpma_flush_type draw_type(struct act *a)
{
	if (chance(a->end->is_declared ? 500 : 900))
		return RPMA_FLUSH_TYPE_VISIBILITY;
	if (!a->end->is_declared)
		a->expected = UV_ENOTSUP;
	return RPMA_FLUSH_TYPE_PERSISTENT;
}

static rpma_uv_future_t *call_flush(struct act *a)
{
	/* it may be a read: not of what is poisoned */
	rpma_uv_remote_t dst = { world.remote, below(SERVED_SIZE - (unsigned)a->len) };
	enum rpma_flush_type type = draw_type(a);

	if (chance(10)) {
		cover("flush of nothing");
		dst = no_remote;
		a->expected = UV_EINVAL;
	}
	return API(rpma_uv_flush(
		a->end->conn, act_storage(a), dst, a->len, type, below(2) ? RPMA_F_EMULATED : 0));
}

static rpma_uv_future_t *call_persist(struct act *a)
{
	enum rpma_flush_type type = draw_type(a);

	a->piece_list = memory_room(sizeof(*a->piece_list) * a->pieces);
	for (unsigned i = 0; i < a->pieces; i++) {
		memory_fill(a->local[i].at, a->number + i, a->local[i].len);
		a->piece_list[i] = (rpma_uv_piece_t){ local_at(a->local[i].at),
			remote_at(a->remote[i]), a->local[i].len };
	}
	return API(rpma_uv_persist(a->end->conn, act_storage(a), a->piece_list, a->pieces, type,
		below(2) ? RPMA_F_EMULATED : 0));
}

/* ---- messages -------------------------------------------------------------------------------- */

static rpma_uv_future_t *call_send(struct act *a)
{
	rpma_uv_local_t src = a->len > 0 || chance(500) ? local_at(a->local[0].at) : no_local;

	memory_fill(a->local[0].at, a->number, a->len);
	/* how long a message may be is known once the connection is */
	if (a->len > world.max_msg && a->was_ready)
		a->expected = UV_EMSGSIZE;
	if (a->kind == SEND_IMM)
		return API(rpma_uv_send_with_imm(
			a->end->conn, act_storage(a), src, a->len, 0, a->number));
	return API(rpma_uv_send(a->end->conn, act_storage(a), src, a->len, 0));
}

static rpma_uv_future_t *call_recv(struct act *a)
{
	rpma_uv_local_t dst = a->len > 0 || chance(500) ? local_at(a->local[0].at) : no_local;

	if (a->kind == SRQ_RECV)
		return API(rpma_uv_srq_recv(a->shared->srq, act_storage(a), dst, a->len));
	if (a->end->recv_size == 0 && a->len <= world.max_msg) {
		cover("receive without a queue");
		a->expected = UV_EINVAL;
	}
	return API(rpma_uv_recv(a->end->conn, act_storage(a), dst, a->len));
}

/* ---- any of them ----------------------------------------------------------------------------- */

#define NARROW_KINDS 11 /* of those that are drawn, the first */

static enum kind draw_kind(void)
{
	static const enum kind kinds[] = { READ, READ, READ, READ, WRITE, WRITE, WRITE, ATOMIC,
		FLUSH, PERSIST, PERSIST, WRITE_IMM, SEND, SEND, SEND_IMM, RECV, RECV, RECV, RECV,
		RECV };

	/* messages that nobody receives would end the one connection that there is */
	return kinds[below(world.is_narrow ? NARROW_KINDS : sizeof(kinds) / sizeof(*kinds))];
}

static bool take_memory(struct act *a)
{
	switch (a->kind) {
	case ATOMIC:
		a->len = RPMA_ATOMIC_WRITE_ALIGNMENT;
		return take_local(a, 0) && take_remote(a, a->len);
	case FLUSH:
		a->len = below(2048);
		return true;
	case PERSIST:
		for (unsigned i = between(1, PIECES_MAX); i > 0; i--) {
			size_t len = 1 + draw_len();

			if (!take_local(a, len) || !take_remote(a, len))
				return false;
			a->len += len;
		}
		return true;
	case WRITE:
	case WRITE_IMM:
		a->len = draw_len();
		return take_local(a, a->len) && take_remote(a, a->len);
	case RECV:
	case SRQ_RECV:
		a->len = chance(900) ? world.max_msg : draw_len();
		return take_local(a, a->len);
	default:
		a->len = draw_len();
		return take_local(a, a->len);
	}
}

static rpma_uv_future_t *call(struct act *a)
{
	switch (a->kind) {
	case READ:
		return call_read(a);
	case WRITE:
	case WRITE_IMM:
		return call_write(a);
	case ATOMIC:
		return call_atomic(a);
	case FLUSH:
		return call_flush(a);
	case PERSIST:
		return call_persist(a);
	case SEND:
	case SEND_IMM:
		return call_send(a);
	default:
		return call_recv(a);
	}
}

static struct act *begin(struct act *a, void *storage)
{
	if (a == NULL || !take_memory(a)) {
		if (storage != NULL)
			memory_poison(storage, sizeof(rpma_uv_op_t));
		if (a != NULL)
			give_up(a);
		return NULL;
	}
	act_begun(a, call(a));
	return a;
}

static struct act *begin_shared(struct shared *sh, void *storage)
{
	struct act *a = act_new(SRQ_RECV, sh->station, NULL, storage);

	if (a != NULL)
		a->shared = sh;
	return begin(a, storage);
}

struct act *rma_act(struct end *e, void *storage)
{
	enum kind kind = draw_kind();
	struct shared *sh = e->shared;

	if (kind == RECV && sh != NULL && sh->srq != NULL && !sh->is_taken && !sh->is_closing &&
		chance(900))
		return begin_shared(sh, storage);
	return begin(act_new(kind, e->station, e, storage), storage);
}

void rma_recv(struct end *e)
{
	(void)begin(act_new(RECV, e->station, e, NULL), NULL);
}

void rma_shared_recv(struct shared *sh)
{
	(void)begin_shared(sh, NULL);
}
