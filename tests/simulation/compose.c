/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* compose.c - all, any, chain, cancel, time-outs: what is done to futures; and those of no connection */

#include <string.h>

#include "world.h"

/* ---- asking to end early --------------------------------------------------------------------- */

static bool is_data(const struct act *a)
{
	return a->kind >= READ && a->kind <= RECV;
}

static bool is_parent(const struct act *a)
{
	return a->kind >= ALL;
}

/* somebody has asked it, or may: what it ends with may come of that */
static void ask(struct act *a, unsigned asked)
{
	a->asked |= asked;
	if (a->end != NULL) {
		if (a->kind == CONNECT || a->kind == ACCEPT)
			a->end->is_left = true;
		if (is_data(a) && (asked & ASKED_FORCE))
			a->end->is_forced = true;
	}
	if (a->attempt != NULL)
		a->attempt->is_left = true;
	if (!is_parent(a))
		return;
	for (unsigned i = 0; i < a->input_count; i++) {
		if (a->inputs[i]->is_pending && a->inputs[i]->parent == a)
			ask(a->inputs[i], asked & ~MUST_CANCEL);
	}
}

void act_cancel(struct act *a, unsigned how)
{
	unsigned asked = ASKED_CANCEL | (how & RPMA_UV_FORCE ? ASKED_FORCE : 0);
	bool is_certain = !is_parent(a) && !(how & RPMA_UV_FORCE);
	int ret;

	if (!a->is_pending || a->is_witness)
		return;
	ret = API(rpma_uv_cancel(a->future, how));
	switch (ret) {
	case 0:
		cover(how & RPMA_UV_FORCE ? "forced: done" : "cancelled: done");
		/* a soft one was taken out; in force a success may still be on its way */
		ask(a, asked | (is_certain ? MUST_CANCEL : 0));
		break;
	case UV_EBUSY:
		cover(how & RPMA_UV_FORCE ? "forced: busy" : "cancelled: busy");
		if (is_parent(a))
			ask(a, asked);
		else if (is_data(a))
			a->was_posted = true;
		CHECK(is_parent(a) || (is_data(a) && is_certain) || a->kind == DISCONNECT ||
			a->kind == SRQ_RECV);
		break;
	default:
		CHECK_INT(ret, UV_EALREADY);
		cover(how & RPMA_UV_FORCE ? "forced: already" : "cancelled: already");
		if (is_parent(a))
			ask(a, asked);
	}
}

void act_timeout(struct act *a)
{
	unsigned how = chance(70) ? RPMA_UV_FORCE : 0;
	uint64_t ms = chance(150) ? 0 : chance(100) ? 3000 : between(0, 20);
	int ret;

	if (!a->is_pending || a->is_witness)
		return;
	ret = API(rpma_uv_timeout(a->future, ms, how));
	if (ret == 0) {
		cover(how ? "time-out that forces" : "time-out");
		ask(a, ASKED_TIMEOUT | (how ? ASKED_FORCE : 0));
	} else {
		CHECK_INT(ret, UV_EALREADY);
	}
}

/* and all that it waits for */
void act_is_unrefd(struct act *a)
{
	a->is_unrefd = true;
	for (unsigned i = 0; i < a->input_count; i++) {
		if (a->inputs[i]->parent == a)
			act_is_unrefd(a->inputs[i]);
	}
}

void act_unref(struct act *a)
{
	if (!a->is_pending)
		return;
	cover("unref'd");
	API_VOID(rpma_uv_unref(a->future));
	act_is_unrefd(a);
}

void act_wait(struct act *a)
{
	uint64_t ms = chance(100) ? 500 : between(0, 10);
	rpma_uv_future_t *f = a->future;
	int64_t result = 0;
	int ret;

	if (!a->is_pending || a->is_waited)
		return;
	if (a->parent != NULL) {
		if (a->parent->kind != ANY) /* which may have cut it loose by now */
			CHECK_INT(API(rpma_uv_wait(f, ms, &result)), UV_EBUSY);
		return;
	}
	a->is_waited = true;
	world.is_in_loop = true;
	ret = rpma_uv_wait(f, ms, &result);
	world.is_in_loop = false;
	a->is_waited = false;
	if (ret == RPMA_UV_PENDING) {
		cover("waited: in vain");
		CHECK(a->is_pending);
		return;
	}
	cover("waited: done");
	CHECK(!a->is_pending);
	CHECK_INT(ret, a->status);
	if (ret == 0)
		CHECK_INT(result, a->result);
	act_bury(a);
}

/* ---- promises, sleeps ------------------------------------------------------------------------ */

static struct act *promise_new(struct station *s)
{
	struct act *a = act_new(PROMISE, s, NULL, NULL);

	if (a != NULL)
		act_begun(a, API(rpma_uv_promise(&s->reactor, act_storage(a))));
	return a;
}

void act_resolve(struct act *a)
{
	int status = chance(700) ? 0 : UV_EPIPE;
	int64_t result = below(1000);
	int ret;

	if (!a->is_pending)
		return;
	if (a->kind != PROMISE) {
		if (chance(50)) {
			cover("resolved what is none");
			CHECK_INT(API(rpma_uv_resolve(a->future, 0, 0)), UV_EINVAL);
		}
		return;
	}
	ret = API(rpma_uv_resolve(a->future, status, result));
	if (ret == 0) {
		cover("resolved");
		a->expected = status;
		a->len = (size_t)result;
	} else {
		CHECK_INT(ret, UV_EALREADY);
		cover("resolved twice");
	}
}

void compose_promise(void)
{
	struct station *s = station_pick();
	struct act *a = s != NULL ? promise_new(s) : NULL;

	if (a != NULL && chance(300))
		act_resolve(a);
}

static struct act *sleep_new(struct station *s)
{
	struct act *a = act_new(SLEEP, s, NULL, NULL);

	if (a == NULL)
		return NULL;
	a->len = chance(100) ? 0 : below(20);
	if (chance(50)) {
		cover("sleep without an end");
		a->len = SIZE_MAX;
	}
	act_begun(a, API(rpma_uv_sleep(&s->reactor, act_storage(a),
			     a->len == SIZE_MAX ? UINT64_MAX : a->len)));
	return a;
}

void compose_sleep(void)
{
	struct station *s = station_pick();

	if (s != NULL)
		(void)sleep_new(s);
}

/* ---- peers ----------------------------------------------------------------------------------- */

void compose_peer(void)
{
	static const char *const addrs[] = { ADDR, ADDR, ADDR, "localhost", "no.such.host", NULL,
		"0.0.0.0" };
	struct station *s = station_pick();
	struct act *a = s != NULL ? act_new(PEER, s, NULL, NULL) : NULL;
	const char *addr = addrs[below(sizeof(addrs) / sizeof(*addrs))];
	bool is_local = below(2);

	if (a == NULL)
		return;
	if (addr == NULL)
		a->expected = UV_EINVAL;
	act_begun(a, API(rpma_uv_peer_new(&s->reactor, act_storage(a), addr,
			     is_local ? RPMA_UTIL_IBV_CONTEXT_LOCAL : RPMA_UTIL_IBV_CONTEXT_REMOTE,
			     &a->peer)));
}

/* ---- work ------------------------------------------------------------------------------------ */

static void on_work(rpma_uv_work_t *w)
{
	callback_enter();
	CHECK(world.works_left > 0);
	world.works_left--;
	memory_poison(w, sizeof(*w));
	world_react();
	callback_leave();
}

void compose_work(void)
{
	struct station *s = station_pick();
	rpma_uv_work_t *w;

	if (s == NULL)
		return;
	cover("work");
	w = memory_room(sizeof(*w));
	world.works_left++;
	CHECK_OK(API(rpma_uv_reactor_post(&s->reactor, w, on_work)));
}

/* ---- parents --------------------------------------------------------------------------------- */

static bool is_orphan(const struct act *a, const struct station *s)
{
	return a->is_pending && a->parent == NULL && !a->is_waited && !a->is_witness &&
	       a->station == s;
}

static bool is_taken(const struct act *a)
{
	return a->is_pending && a->parent != NULL && a->parent->kind != ANY;
}

/* inputs for one, in f[]; true: one of them is somebody else's */
static bool inputs_draw(struct act *a, rpma_uv_future_t *f[], unsigned *n_ptr)
{
	unsigned tries = below(INPUTS_MAX * 2);
	bool is_busy = false;

	for (*n_ptr = 0; tries > 0 && *n_ptr < INPUTS_MAX; tries--) {
		struct act *input = act_pick();

		if (chance(10)) {
			cover("input NULL");
			f[(*n_ptr)++] = NULL;
			a->null_count++;
			continue;
		}
		if (input == NULL || input == a || input->station != a->station)
			continue;
		if (is_taken(input) && chance(30))
			is_busy = true;
		else if (!is_orphan(input, a->station))
			continue;
		/* twice the same */
		for (unsigned i = 0; i < a->input_count; i++)
			is_busy = is_busy || a->inputs[i] == input;
		a->inputs[a->input_count++] = input;
		f[(*n_ptr)++] = input->future;
	}
	return is_busy;
}

static void inputs_take(struct act *a, bool is_taking)
{
	if (!is_taking) {
		cover("inputs of somebody else");
		a->input_count = 0;
		a->null_count = 0;
		return;
	}
	for (unsigned i = 0; i < a->input_count; i++)
		a->inputs[i]->parent = a;
}

void compose_all(void)
{
	struct station *s = station_pick();
	struct act *a = s != NULL ? act_new(ALL, s, NULL, NULL) : NULL;
	rpma_uv_future_t *f[INPUTS_MAX];
	unsigned n;

	if (a == NULL)
		return;
	if (inputs_draw(a, f, &n))
		a->expected = UV_EBUSY;
	inputs_take(a, a->expected == NOT_KNOWN);
	act_begun(a, API(rpma_uv_all(&s->reactor, act_storage(a), f, n)));
}

void compose_any(void)
{
	struct station *s = station_pick();
	struct act *a = s != NULL ? act_new(ANY, s, NULL, NULL) : NULL;
	unsigned flags = below(2) ? RPMA_UV_ANY_CANCEL : 0;
	rpma_uv_future_t *f[INPUTS_MAX];
	unsigned n;

	if (a == NULL)
		return;
	if (inputs_draw(a, f, &n))
		a->expected = UV_EBUSY;
	if (n == 0)
		a->expected = UV_EINVAL;
	inputs_take(a, a->expected == NOT_KNOWN);
	if (flags != 0) {
		cover("losers cancelled");
		for (unsigned i = 0; i < a->input_count; i++)
			ask(a->inputs[i], ASKED_CANCEL);
	}
	act_begun(a, API(rpma_uv_any(&s->reactor, act_storage(a), f, n, flags)));
}

static struct act *step_new(struct act *a)
{
	struct end *e = end_pick();
	struct act *step;

	/* nobody would end it */
	if (world.is_over) {
		step = promise_new(a->station);
		if (step != NULL)
			act_resolve(step);
		return step;
	}
	if (chance(500) && e != NULL && e->station == a->station)
		return rma_act(e, NULL);
	return below(2) ? sleep_new(a->station) : promise_new(a->station);
}

static rpma_uv_future_t *next(rpma_uv_future_t *done, void *data)
{
	struct act *a = data, *step = NULL;
	rpma_uv_future_t *f = NULL;

	callback_enter();
	CHECK(a->input_count == 1);
	CHECK(!a->inputs[0]->is_pending);
	CHECK(a->inputs[0]->future == done);
	CHECK_INT(done->status, 0);
	CHECK_INT(a->inputs[0]->status, 0);
	a->inputs[0]->parent = NULL;
	act_bury(a->inputs[0]);
	if (chance(30) && world.pending_count > 0) {
		step = act_pick();
		if (is_taken(step) && step->parent != a && step != a &&
			step->station == a->station) {
			cover("chain: a step of somebody else");
			a->expected = UV_EBUSY;
			f = step->future;
		}
	} else if (chance(970)) {
		step = step_new(a);
		if (step != NULL && step->is_pending && step->parent == NULL) {
			cover("chain: next step");
			step->parent = a;
			if (a->is_unrefd)
				act_is_unrefd(step);
			a->inputs[a->input_count++] = step;
			ask(step, a->asked & ~MUST_CANCEL);
			f = step->future;
		}
	}
	if (f == NULL) {
		cover("chain: no step");
		a->expected = UV_ENOMEM;
	}
	callback_leave();
	return f;
}

void compose_chain(void)
{
	struct act *input = act_pick();
	struct act *a;
	rpma_uv_future_t *f;

	if (input == NULL || !(is_orphan(input, input->station) || is_taken(input)))
		return;
	if (!input->station->is_open)
		return;
	a = act_new(CHAIN, input->station, NULL, NULL);
	if (a == NULL)
		return;
	if (chance(10)) {
		cover("chain: nothing");
		CHECK(API(rpma_uv_chain(NULL, next, a)) == NULL);
	}
	if (is_taken(input)) {
		a->expected = UV_EBUSY;
	} else {
		a->inputs[a->input_count++] = input;
		input->parent = a;
	}
	f = API(rpma_uv_chain(input->future, next, a));
	act_begun(a, f);
}
