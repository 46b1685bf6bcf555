/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * 01_once.c - every future completes exactly once, from a phase of the loop
 *
 * watch() fails a callback that runs inside of a call, or twice; stage_end() one that never runs.
 */

#include "calls.h"

#define LEN 64

static struct stage stage;

/* which phases of the loop have begun in this turn: handles around the reactor's own */
static struct {
	uv_prepare_t prepare;
	uv_check_t check;
	uv_timer_t timer;
	bool in_foreign; /* callback */
} phases;

static void every_kind(struct world *w)
{
	unsigned first, ended;

	calls_are_complete();
	stage_set(&stage, w);
	first = stage.begun;
	ended = stage_ended(&stage, 0);
	stage_make_all(&stage, false);
	CHECK_INT(stage_ended(&stage, 0), ended); /* the loop has not run */
	CHECK(stage.begun > first);
	world_glance(w);
	stage_end(&stage);
}

static void closed_at_once(struct world *w)
{
	stage_set(&stage, w);
	stage_make_all(&stage, false);
	stage_end(&stage);
}

static void cancelled(struct world *w, unsigned how, unsigned turns)
{
	unsigned first;

	stage_set(&stage, w);
	first = stage.begun;
	stage_make_all(&stage, false);
	for (unsigned i = 0; i < turns; i++)
		(void)uv_run(&w->loop, UV_RUN_NOWAIT);
	for (unsigned i = first; i < stage.begun; i++) {
		if (stage.ops[i].done.times == 0)
			(void)CALL(rpma_uv_cancel(stage.futures[i], how));
		if (below(4) == 0)
			(void)uv_run(&w->loop, UV_RUN_NOWAIT);
	}
	stage_end(&stage);
}

static void cancelled_softly(struct world *w)
{
	cancelled(w, 0, below(3));
}

static void cancelled_by_force(struct world *w)
{
	cancelled(w, RPMA_UV_FORCE, below(5));
}

static void timed_out(struct world *w)
{
	unsigned first;

	stage_set(&stage, w);
	first = stage.begun;
	stage_make_all(&stage, false);
	for (unsigned i = first; i < stage.begun; i++) {
		unsigned how = below(2) ? RPMA_UV_FORCE : 0;
		int ret = CALL(rpma_uv_timeout(stage.futures[i], below(3), how));

		CHECK(ret == 0 || ret == UV_EALREADY); /* its callback is due */
	}
	AWAIT(w, rpma_uv_sleep(&w->client, NULL, 5), 0);
	stage_end(&stage);
}

/* operations that are refused: by what they are given, or by the state of the connection */
static void refused(struct world *w)
{
	rpma_uv_conn_t *c = world_conn(w, &w->client, 0, 0);
	const rpma_uv_local_t local = local_of(&w->here, WORLD_MEM - 1);
	const rpma_uv_remote_t remote = remote_of(&w->there, WORLD_MEM - 1);
	struct pair p = world_pair(w, 0, 0);
	struct op ops[11];
	rpma_uv_file_t *file;
	rpma_uv_pool_t *pool;
	unsigned n = 0;

	watch(CALL(rpma_uv_read(p.c, &ops[n].op, local, remote, LEN, 0)), &ops[n].done);
	n++;
	watch(CALL(rpma_uv_write(p.c, &ops[n].op, remote, local, LEN, 0)), &ops[n].done);
	n++;
	watch(CALL(rpma_uv_write(p.c, &ops[n].op, remote, local, 1, 99)), &ops[n].done);
	n++;
	watch(CALL(rpma_uv_send(p.c, &ops[n].op, local, LEN, 0)), &ops[n].done);
	n++;
	watch(CALL(rpma_uv_recv(p.c, &ops[n].op, local, LEN)), &ops[n].done);
	n++;
	watch(CALL(rpma_uv_connect(p.c, &ops[n].op, world_addr(), "1", NULL)), &ops[n].done);
	n++;
	watch(CALL(rpma_uv_peer_new(
		      &w->client, &ops[n].op, NULL, RPMA_UTIL_IBV_CONTEXT_LOCAL, &w->peer)),
		&ops[n].done);
	n++;
	watch(CALL(rpma_uv_file_open(&w->client, &ops[n].op, NULL, 0, 0, 0, &file)), &ops[n].done);
	n++;
	watch(CALL(rpma_uv_pool_new(&w->client, &ops[n].op, NULL, NULL, &pool)), &ops[n].done);
	n++;
	watch(CALL(rpma_uv_read(c, &ops[n].op, no_local, no_remote, 0, 0)), &ops[n].done);
	n++;
	watch(CALL(rpma_uv_disconnect(c, &ops[n].op)), &ops[n].done);
	n++;
	for (unsigned i = 0; i < n; i++)
		CHECK_INT(ops[i].done.times, 0);
	for (unsigned i = 0; i < n; i++)
		ENDS(w, ops[i], i < 9 ? UV_EINVAL : UV_ENOTCONN);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static unsigned phase_callbacks;

static void in_phase(rpma_uv_future_t *f, int status)
{
	struct op *op = f->data;

	(void)status;
	CHECK(!phases.in_foreign);
	CHECK_INT(promise_inside, 0);
	op->done.times++;
	phase_callbacks++;
}

/* calls of the program's own handles: what they make runs later, and not in them */
static void make_some(void)
{
	struct world *w = stage.w;

	phases.in_foreign = true;
	for (unsigned i = 0; i < 4; i++) {
		struct op *op = &stage.ops[stage.begun++];

		memset(&op->done, 0, sizeof(op->done));
		if (i % 2 == 0) {
			CHECK(rpma_uv_then(rpma_uv_sleep(&w->client, &op->op, 0), in_phase, op) !=
				NULL);
		} else {
			CHECK(rpma_uv_then(rpma_uv_promise(&w->client, &op->op), in_phase, op) !=
				NULL);
			CHECK_OK(rpma_uv_resolve(&op->op.future, 0, 0));
		}
		CHECK_INT(op->done.times, 0);
	}
	phases.in_foreign = false;
}

static void on_prepare(uv_prepare_t *prepare)
{
	uv_prepare_stop(prepare);
	make_some();
}

static void on_check(uv_check_t *check)
{
	uv_check_stop(check);
	make_some();
}

static void on_timer(uv_timer_t *timer)
{
	(void)timer;
	make_some();
}

static void from_foreign(struct world *w)
{
	memset(&stage, 0, sizeof(stage));
	stage.w = w;
	phase_callbacks = 0;
	uv_prepare_init(&w->loop, &phases.prepare);
	uv_check_init(&w->loop, &phases.check);
	uv_timer_init(&w->loop, &phases.timer);
	uv_prepare_start(&phases.prepare, on_prepare);
	uv_check_start(&phases.check, on_check);
	uv_timer_start(&phases.timer, on_timer, 0, 0);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_INT(phase_callbacks, 12);
	for (unsigned i = 0; i < stage.begun; i++)
		CHECK_INT(stage.ops[i].done.times, 1);
	uv_close((uv_handle_t *)&phases.prepare, NULL);
	uv_close((uv_handle_t *)&phases.check, NULL);
	uv_close((uv_handle_t *)&phases.timer, NULL);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
}

PROMISE_MAIN("01",
	{ "every kind of future: exactly once, and never inside an API call", every_kind },
	{ "closed at once: exactly once", closed_at_once },
	{ "cancelled: exactly once", cancelled_softly },
	{ "cancelled by force, wherever it is: exactly once", cancelled_by_force },
	{ "timed out: exactly once", timed_out },
	{ "refused: exactly once, and not on the spot", refused },
	{ "from a phase of the loop, and not in the callback that made it", from_foreign })
