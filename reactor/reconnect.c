/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * reconnect.c - trying to connect until it works, with growing and scattered delays
 *
 *   reconnect() --> DELAY --expired--> attempt(): a new connection, on_conn(), connect
 *                     ^                     |                  |
 *                     |                   failed               +--established--> done: it is theirs
 *                     |                     v
 *                     +--next()-- on_closed() <-- the connection closes
 *                                     |
 *                                     +--cancelled, no attempt left, not worth another--> done
 *
 *   DELAY      the deadline is set, conn is NULL.
 *   else       conn is not NULL: the next attempt is not before it is gone.
 *
 * Many clients lose their server in the same moment. What keeps them from coming back in the same
 * moment, time after time, is that each delay is drawn at random from a range that grows with the
 * one before it (decorrelated jitter):
 *
 *   first   0 .. initial
 *   next    initial .. min(max, factor * the delay before)
 */

#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "reactor.h"
#include "reconnect.h"
#include "status.h"

#define INITIAL_MS UINT64_C(100)
#define MAX_MS     UINT64_C(10000)
#define FACTOR     3

struct rpma_uv__reconnect {
	TAILQ_ENTRY(rpma_uv__reconnect) link;
	struct rpma_uv__reactor *reactor;
	rpma_uv_op_t *op;
	rpma_uv_conn_t **conn_ptr;

	/* of every attempt */
	struct rpma_peer *peer;
	struct rpma_conn_cfg *cfg; /* a copy of its own */
	rpma_uv_reconnect_opts_t opts; /* with the defaults filled in */
	char *addr;
	char *port;
	struct rpma_conn_private_data pd; /* ptr NULL: none */

	/* delays */
	struct rpma_uv__deadline deadline;
	uint64_t delay_ms; /* the last one, or initial before there was one */
	uint64_t random; /* state */

	/* the present attempt */
	rpma_uv_conn_t *conn;
	rpma_uv_op_t connect;

	unsigned attempts; /* made, the present one included */
	int status; /* of the last one that has failed */
	uint32_t detail;
	bool is_over; /* no other attempt will be made */
};

/* in the room of the operation */
struct RPMA_UV__ROOM reconnect_room {
	struct rpma_uv__reconnect *rc;
};

/* ---- delays ---------------------------------------------------------------------------------- */

/* a sequence by Weyl, with its bits mixed: every seed is as good as any other */
static uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t draw(struct rpma_uv__reconnect *rc, uint64_t least, uint64_t most)
{
	uint64_t x = random_next(&rc->random);

	assert(least <= most);
	if (most - least == UINT64_MAX)
		return x;
	return least + x % (most - least + 1);
}

static uint64_t next_delay(struct rpma_uv__reconnect *rc)
{
	const rpma_uv_reconnect_opts_t *opts = &rc->opts;
	uint64_t most = opts->max_ms;

	if (rc->attempts == 0)
		return draw(rc, 0, opts->initial_ms);
	if (rc->delay_ms < opts->max_ms / opts->factor)
		most = rc->delay_ms * opts->factor;
	rc->delay_ms = draw(rc, opts->initial_ms, most);
	return rc->delay_ms;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void reconnect_free(struct rpma_uv__reconnect *rc)
{
	(void)rpma_conn_cfg_delete(&rc->cfg);
	free(rc->pd.ptr);
	free(rc->port);
	free(rc->addr);
	free(rc);
}

static void finish(struct rpma_uv__reconnect *rc, int status, uint32_t detail)
{
	rpma_uv_future_t *f = &rc->op->future;
	int64_t attempts = rc->attempts;

	TAILQ_REMOVE(&rc->reactor->reconnects, rc, link);
	rpma_uv__deadline_clear(rc->reactor, &rc->deadline);
	reconnect_free(rc);
	rpma_uv__future_finish(f, status, status == 0 ? attempts : 0, detail);
}

/* what an attempt has failed of may be over by the next one; wrong arguments stay wrong */
static bool is_worth_another(const struct rpma_uv__reconnect *rc)
{
	if (rc->is_over || rc->status == UV_EINVAL)
		return false;
	return rc->opts.attempts == 0 || rc->attempts < rc->opts.attempts;
}

/* the last attempt has failed, and nothing of it is left */
static void next(struct rpma_uv__reconnect *rc)
{
	assert(rc->conn == NULL);
	if (is_worth_another(rc))
		rpma_uv__deadline_set(rc->reactor, &rc->deadline, next_delay(rc));
	else
		finish(rc, rc->status, rc->detail);
}

/* ---- attempts -------------------------------------------------------------------------------- */

static void on_closed(void *data)
{
	struct rpma_uv__reconnect *rc = data;

	rc->conn = NULL;
	next(rc);
}

static void on_connected(rpma_uv_future_t *f, int status)
{
	struct rpma_uv__reconnect *rc = f->data;

	if (rc->is_over)
		return; /* its connection closes already */
	if (status == 0) {
		*rc->conn_ptr = rc->conn;
		finish(rc, 0, 0);
		return;
	}
	rc->status = status;
	rc->detail = f->detail;
	rpma_uv_conn_close(rc->conn, on_closed, rc);
}

/* the program's word about a new connection: 0, or the status to end with */
static int show(struct rpma_uv__reconnect *rc)
{
	int status = 0;

	if (rc->opts.on_conn != NULL)
		RPMA_UV__CALLBACK(status = rc->opts.on_conn(rc->conn, rc->opts.data));
	return status;
}

static void stop(struct rpma_uv__reconnect *rc, int status)
{
	rc->is_over = true;
	rc->status = status;
	rc->detail = 0;
	if (rc->conn == NULL)
		finish(rc, status, 0);
	else if (rc->conn->close_cb != on_closed) /* of an attempt that has failed it closes already */
		rpma_uv_conn_close(rc->conn, on_closed, rc);
}

static void attempt(struct rpma_uv__deadline *d)
{
	struct rpma_uv__reconnect *rc =
		rpma_uv__container_of(d, struct rpma_uv__reconnect, deadline);
	int status;

	rc->attempts++;
	rc->status = rpma_uv_conn_new(rc->reactor->pub, rc->peer, rc->cfg, &rc->conn);
	rc->detail = 0;
	if (rc->status) {
		next(rc);
		return;
	}
	status = show(rc);
	if (rc->is_over)
		return; /* cancelled in the callback */
	if (status) {
		stop(rc, status < 0 ? status : UV_EINVAL);
		return;
	}
	(void)rpma_uv_then(rpma_uv_connect(rc->conn, &rc->connect, rc->addr, rc->port,
				   rc->pd.ptr != NULL ? &rc->pd : NULL),
		on_connected, rc);
	/* the loop lives for the one that the program has */
	rpma_uv_unref(&rc->connect.future);
}

static int reconnect_cancel(rpma_uv_future_t *f, unsigned how)
{
	struct rpma_uv__reconnect *rc = rpma_uv__room(struct reconnect_room, rpma_uv__op_of(f))->rc;

	(void)how;
	if (!rc->is_over)
		stop(rc, UV_ECANCELED);
	return 0;
}

void rpma_uv__reconnects_cancel(struct rpma_uv__reactor *r)
{
	struct rpma_uv__reconnect *rc, *following;

	for (rc = TAILQ_FIRST(&r->reconnects); rc != NULL; rc = following) {
		following = TAILQ_NEXT(rc, link);
		(void)reconnect_cancel(&rc->op->future, 0);
	}
}

static const struct rpma_uv__kind reconnect_kind = {
	.name = "reconnect",
	.cancel = reconnect_cancel,
};

/* ---- beginning ------------------------------------------------------------------------------- */

static int opts_take(rpma_uv_reconnect_opts_t *opts, const rpma_uv_reconnect_opts_t *from)
{
	*opts = (rpma_uv_reconnect_opts_t){ .size = sizeof(*opts) };
	if (from != NULL) {
		if (from->size < offsetof(rpma_uv_reconnect_opts_t, u_reserved))
			return UV_EINVAL;
		memcpy(opts, from, from->size < sizeof(*opts) ? from->size : sizeof(*opts));
	}
	if (opts->initial_ms == 0)
		opts->initial_ms = INITIAL_MS;
	if (opts->max_ms == 0)
		opts->max_ms = opts->initial_ms > MAX_MS ? opts->initial_ms : MAX_MS;
	if (opts->factor == 0)
		opts->factor = FACTOR;
	return opts->max_ms < opts->initial_ms ? UV_EINVAL : 0;
}

static uint64_t seed_of(const struct rpma_uv__reconnect *rc)
{
	uint64_t seed = rc->opts.seed;

	/* without entropy the time and the place have to do */
	if (seed == 0 && uv_random(NULL, NULL, &seed, sizeof(seed), 0, NULL))
		seed = uv_hrtime() ^ (uintptr_t)rc;
	return seed;
}

/* what the caller gave, as copies: 0 or UV_ENOMEM */
static int copy(struct rpma_uv__reconnect *rc, const struct rpma_conn_cfg *cfg, const char *addr,
	const char *port, const struct rpma_conn_private_data *pd)
{
	int ret = rpma_uv__conn_cfg_copy(cfg, &rc->cfg);

	if (ret)
		return ret;
	rc->addr = strdup(addr);
	rc->port = strdup(port);
	if (rc->addr == NULL || rc->port == NULL)
		return UV_ENOMEM;
	if (pd == NULL)
		return 0;
	rc->pd.ptr = malloc(pd->len);
	if (rc->pd.ptr == NULL)
		return UV_ENOMEM;
	memcpy(rc->pd.ptr, pd->ptr, pd->len);
	rc->pd.len = pd->len;
	return 0;
}

/* 0 with everything but the operation in its place, or UV_E* */
static int reconnect_new(struct rpma_uv__reactor *r, struct rpma_peer *peer,
	const rpma_uv_reconnect_opts_t *opts, struct rpma_uv__reconnect **rc_ptr)
{
	struct rpma_uv__reconnect *rc = calloc(1, sizeof(*rc));
	int ret;

	if (rc == NULL)
		return UV_ENOMEM;
	ret = opts_take(&rc->opts, opts);
	if (ret) {
		free(rc);
		return ret;
	}
	rc->reactor = r;
	rc->peer = peer;
	rc->delay_ms = rc->opts.initial_ms;
	rc->random = seed_of(rc);
	rpma_uv__deadline_init(&rc->deadline, attempt);
	*rc_ptr = rc;
	return 0;
}

rpma_uv_future_t *rpma_uv_reconnect(rpma_uv_reactor_t *reactor, rpma_uv_op_t *op,
	struct rpma_peer *peer, const struct rpma_conn_cfg *cfg, const char *addr, const char *port,
	const struct rpma_conn_private_data *pd, const rpma_uv_reconnect_opts_t *opts,
	rpma_uv_conn_t **conn_ptr)
{
	struct rpma_uv__reactor *r = reactor->impl;
	struct rpma_uv__reconnect *rc;
	int ret;

	if (peer == NULL || addr == NULL || port == NULL || conn_ptr == NULL ||
		(pd != NULL && (pd->ptr == NULL || pd->len == 0)))
		return rpma_uv__op_fail(r, op, &reconnect_kind, UV_EINVAL);
	if (r->closing)
		return rpma_uv__op_fail(r, op, &reconnect_kind, UV_ECANCELED);
	ret = reconnect_new(r, peer, opts, &rc);
	if (ret)
		return rpma_uv__op_fail(r, op, &reconnect_kind, ret);
	ret = copy(rc, cfg, addr, port, pd);
	if (ret) {
		reconnect_free(rc);
		return rpma_uv__op_fail(r, op, &reconnect_kind, ret);
	}
	op = rpma_uv__op_begin(r, op, &reconnect_kind);
	if (op == NULL) {
		reconnect_free(rc);
		return NULL;
	}
	rpma_uv__room(struct reconnect_room, op)->rc = rc;
	rc->op = op;
	rc->conn_ptr = conn_ptr;
	TAILQ_INSERT_TAIL(&r->reconnects, rc, link);
	rpma_uv__deadline_set(r, &rc->deadline, next_delay(rc));
	return &op->future;
}
