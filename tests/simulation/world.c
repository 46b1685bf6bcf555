/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * world.c - the beginning of a world, and its time; see curtain.c for its end
 *
 *     begin --> ticks: something happens --> no more of it: the curtain --> all reactors closed
 *                ^                |
 *                `- callbacks react
 */

#include <string.h>

#include "world.h"

#define ACTS_LEAST  10
#define ACTS_MOST   160
#define ACTS_NARROW 500
#define TURNS_MAX   3000000 /* of the loop: more means that it spins */
#define REACT       120 /* per thousand: callbacks in which something happens */

uint64_t random_state;
struct world world;

/* ---- callbacks ------------------------------------------------------------------------------- */

void callback_enter(void)
{
	CHECK(!world.is_in_api);
	CHECK(!world.is_in_callback);
	CHECK(world.is_in_loop);
	world.is_in_callback = true;
}

void callback_leave(void)
{
	CHECK(world.is_in_callback);
	world.is_in_callback = false;
}

/* ---- reactors -------------------------------------------------------------------------------- */

struct station *station_pick(void)
{
	struct station *s = &world.stations[below(world.station_count)];

	return s->is_open ? s : NULL;
}

static void on_station_closed(void *data)
{
	struct station *s = data;

	callback_enter();
	CHECK(!s->is_open);
	CHECK(!s->is_closed);
	CHECK_INT(s->pending, 0);
	s->is_closed = true;
	for (unsigned i = 0; i < world.end_count; i++) {
		struct end *e = &world.ends[i];

		if (e->station != s)
			continue;
		/* of those that are closing the callbacks have run */
		CHECK(e->conn == NULL || (e->is_taken && !e->is_closing));
		e->conn = NULL;
	}
	for (unsigned i = 0; i < EPS_MAX; i++) {
		struct listener *l = &world.listeners[i];

		if (l->ep == NULL || l->station != s)
			continue;
		CHECK(l->is_taken && !l->is_closing);
		l->ep = NULL;
		l->is_taken = false;
	}
	for (unsigned i = 0; i < SHARED_MAX; i++) {
		struct shared *sh = &world.shared[i];

		if (sh->srq == NULL || sh->station != s)
			continue;
		CHECK(sh->is_taken && !sh->is_closing);
		CHECK_INT(sh->pending, 0);
		sh->srq = NULL;
		sh->is_taken = false;
	}
	callback_leave();
}

void station_close(struct station *s)
{
	CHECK(s->is_open);
	s->is_open = false;
	cover("reactor closed");
	API_VOID(rpma_uv_reactor_close(&s->reactor, on_station_closed, s));
	stations_taken(s);
}

static void station_init(struct station *s)
{
	rpma_uv_reactor_opts_t opts = { .size = sizeof(opts) };

	opts.spin_us = below(2) ? -1 : (int)below(60);
	opts.cq_budget = chance(300) ? between(1, 4) : 0;
	opts.callback_budget = chance(300) ? between(1, 4) : 0;
	opts.cq_entries = chance(300) ? 64 : 0;
	opts.async_events = chance(800) ? 0 : -1;
	opts.queue_bound = chance(100) ? between(1, 8) : 0;
	s->queue_bound = opts.queue_bound;
	CHECK_OK(rpma_uv_reactor_init(&world.loop, &s->reactor, chance(900) ? &opts : NULL));
	s->is_open = true;
}

/* ---- what happens ---------------------------------------------------------------------------- */

static bool may_act(void)
{
	if (world.is_over || world.act_budget == 0)
		return false;
	world.act_budget--;
	return true;
}

static void act_on_end(struct end *e)
{
	unsigned what = below(100);

	if (e == NULL)
		return;
	if (what < 92)
		(void)rma_act(e, NULL);
	else if (what < 94)
		ends_watch(e);
	else if (what < 95)
		ends_disconnect(e);
	else if (what < 98)
		end_change(e);
	else
		end_close(e);
}

static void act_on_future(void)
{
	struct act *a = act_pick();
	unsigned what = below(100);

	if (what < 12)
		compose_all();
	else if (what < 24)
		compose_any();
	else if (what < 40)
		compose_chain();
	else if (a == NULL)
		compose_promise();
	else if (what < 62)
		act_resolve(a);
	else if (what < 76)
		act_cancel(a, 0);
	else if (what < 79)
		act_cancel(a, RPMA_UV_FORCE);
	else if (what < 92)
		act_timeout(a);
	else
		act_unref(a);
}

/* one of two, while the other goes on */
static void station_drop(void)
{
	struct station *s = station_pick();

	if (s != NULL)
		station_close(s);
}

static void narrow_act(struct end *e)
{
	if (e != NULL)
		(void)rma_act(e, NULL);
}

void world_act(void)
{
	unsigned what = below(1000);

	if (!may_act())
		return;
	if (world.is_narrow && chance(980))
		narrow_act(end_pick());
	else if (what < 660)
		act_on_end(end_pick());
	else if (what < 810)
		act_on_future();
	else if (what < 844)
		ends_connect();
	else if (what < 851)
		ends_reconnect();
	else if (what < 856)
		shared_open();
	else if (what < 859)
		shared_drop(&world.shared[below(SHARED_MAX)]);
	else if (what < 880)
		ends_answer();
	else if (what < 905)
		compose_promise();
	else if (what < 930)
		compose_sleep();
	else if (what < 950)
		compose_work();
	else if (what < 965)
		compose_peer();
	else if (what < 985)
		listener_open();
	else if (what < 990)
		listener_drop(&world.listeners[below(EPS_MAX)]);
	else if (world.station_count > 1 && chance(300))
		station_drop();
}

void world_react(void)
{
	while (chance(REACT) && !world.is_over)
		world_act();
}

/* ---- time ------------------------------------------------------------------------------------ */

void world_print(void)
{
	fprintf(stderr, "faults: %s\n%s, %u may still begin; so far %u\n", world.faults,
		world.is_over ? "all is to end" : "in the midst", world.act_budget,
		world.act_count);
	for (unsigned i = 0; i < world.pending_count; i++) {
		const struct act *a = world.pending[i];

		fprintf(stderr, "  act %u, %s%s, is not done", a->number, kind_name(a->kind),
			a->is_unrefd ? ", unref'd" : "");
		if (a->end != NULL)
			fprintf(stderr, "; of end %u", a->end->number);
		fputc('\n', stderr);
	}
	for (unsigned i = 0; i < world.end_count; i++) {
		const struct end *e = &world.ends[i];

		if (e->conn != NULL)
			fprintf(stderr, "  end %u is open%s%s\n", e->number,
				e->is_closing ? ", closing" : "", e->has_ended ? ", ended" : "");
	}
}

static void on_turn(uv_check_t *turn)
{
	(void)turn;
	if (++world.turns < TURNS_MAX)
		return;
	fputs("the loop goes on for ever\n", stderr);
	world_print();
	CHECK(world.turns < TURNS_MAX);
}

static void on_tick(uv_timer_t *tick)
{
	unsigned count = between(1, 6);

	while (count-- > 0)
		world_act();
	if (world.act_budget == 0) {
		uv_timer_stop(tick);
		uv_stop(&world.loop);
		return;
	}
	CHECK_OK(uv_timer_start(tick, on_tick, chance(20) ? between(100, 6000) : below(5), 0));
	if (chance(100))
		uv_stop(&world.loop);
}

void world_turn(void)
{
	world.is_in_loop = true;
	(void)uv_run(&world.loop, UV_RUN_DEFAULT);
	world.is_in_loop = false;
}

static void wait_for_some(void)
{
	struct act *a = act_pick();

	if (a != NULL)
		act_wait(a);
}

/* ---- a world --------------------------------------------------------------------------------- */

static void peer_make(void)
{
	rpma_uv_future_t *f;

	f = API(rpma_uv_peer_new(
		&world.stations[0].reactor, NULL, ADDR, RPMA_UTIL_IBV_CONTEXT_REMOTE, &world.peer));
	CHECK_OK(rpma_uv_wait(f, UINT64_MAX, NULL));
}

static void region_make(uint8_t *at, size_t size, int usage, struct rpma_mr_local **mr,
	struct rpma_mr_remote **remote)
{
	char descriptor[256];
	size_t len;

	CHECK_OK(rpma_mr_reg(world.peer, at, size, usage, mr));
	CHECK_OK(rpma_mr_get_descriptor_size(*mr, &len));
	CHECK(len <= sizeof(descriptor));
	CHECK_OK(rpma_mr_get_descriptor(*mr, descriptor));
	CHECK_OK(rpma_mr_remote_from_descriptor(descriptor, len, remote));
}

static void world_begin(uint64_t seed)
{
	memset(&world, 0, sizeof(world));
	check_seed = seed;
	random_state = random_mix(seed ^ UINT64_C(0x73696d756c617465));
	memory_begin();
	faults_begin();
	CHECK_OK(uv_loop_init(&world.loop));
	CHECK_OK(uv_timer_init(&world.loop, &world.tick));
	CHECK_OK(uv_check_init(&world.loop, &world.turn));
	CHECK_OK(uv_check_start(&world.turn, on_turn));
	uv_unref((uv_handle_t *)&world.turn);
	world.station_count = between(1, STATIONS_MAX);
	for (unsigned i = 0; i < world.station_count; i++)
		station_init(&world.stations[i]);
	peer_make();
	region_make(memory_arena(), ARENA_SIZE,
		RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC |
			RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV |
			RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT,
		&world.mr, &world.remote);
	region_make(memory_arena(), SERVED_SIZE, RPMA_MR_USAGE_SEND, &world.closed_mr,
		&world.closed_remote);
	world.act_budget = between(ACTS_LEAST, ACTS_MOST);
	world.is_narrow = chance(40);
	if (world.is_narrow) {
		cover("one connection");
		world.act_budget = ACTS_NARROW;
	}
	listener_open();
	if (chance(300))
		shared_open();
	faults_order();
	for (unsigned i = world.is_narrow ? 1 : between(1, 4); i > 0; i--)
		ends_connect();
	CHECK_OK(uv_timer_start(&world.tick, on_tick, below(40), 0));
}

static void world_end(void)
{
	for (unsigned i = 0; i < world.station_count; i++)
		CHECK(world.stations[i].is_closed);
	uv_close((uv_handle_t *)&world.tick, NULL);
	uv_close((uv_handle_t *)&world.turn, NULL);
	world_turn();
	CHECK_OK(uv_loop_close(&world.loop));
	check_world();
	CHECK_OK(rpma_mr_remote_delete(&world.closed_remote));
	CHECK_OK(rpma_mr_remote_delete(&world.remote));
	CHECK_OK(rpma_mr_dereg(&world.closed_mr));
	CHECK_OK(rpma_mr_dereg(&world.mr));
	CHECK_OK(rpma_peer_delete(&world.peer));
	faults_end();
}

void world_run(uint64_t seed)
{
	world_begin(seed);
	while (world.act_budget > 0) {
		world_turn();
		while (chance(400) && world.act_budget > 0)
			wait_for_some();
	}
	curtain_fall();
	world_end();
}
