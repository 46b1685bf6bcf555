/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * curtain.c - the end of a world
 *
 *     a   reactors are closed in the midst of everything
 *     b   all is closed or ended, and the loop ends by itself
 *     c   all is unref'd, the loop ends, and then as b
 *
 * Before any of them half a minute may pass in which nothing is asked of the world.
 */

#include "world.h"

#define LIVELY_MS 30000 /* connections, time-outs and retries take some seconds each */

static void close_all_stations(void)
{
	unsigned first = below(STATIONS_MAX);

	for (unsigned i = 0; i < STATIONS_MAX; i++) {
		struct station *s = &world.stations[(first + i) % STATIONS_MAX];

		if (s->is_open)
			station_close(s);
	}
}

/* the rest of what runs: nothing of it may be left when the loop ends */
static void end_all(void)
{
	for (unsigned i = 0; i < EPS_MAX; i++)
		listener_drop(&world.listeners[i]);
	for (unsigned i = 0; i < world.end_count; i++) {
		if (!world.ends[i].is_taken && !world.ends[i].is_lent)
			end_close(&world.ends[i]);
	}
	for (unsigned i = 0; i < SHARED_MAX; i++)
		shared_drop(&world.shared[i]);
	for (unsigned i = 0; i < world.pending_count; i++) {
		struct act *a = world.pending[i];

		if (a->kind == PROMISE || a->kind == SLEEP || a->kind == RECONNECT)
			act_cancel(a, 0);
	}
}

static void unref_all(void)
{
	listeners_unref();
	for (unsigned i = 0; i < world.pending_count; i++)
		act_unref(world.pending[i]);
}

/* without a tick the loop has come to its end by itself: no work is left but what is unref'd */
static void check_ended(void)
{
	for (unsigned i = 0; i < world.pending_count; i++) {
		if (world.pending[i]->is_unrefd)
			continue;
		fprintf(stderr, "the loop has ended without act %u, %s\n", world.pending[i]->number,
			kind_name(world.pending[i]->kind));
		CHECK(world.pending[i]->is_unrefd);
	}
}

static void on_nothing(uv_timer_t *tick)
{
	(void)tick;
}

/* for what is unref'd the loop does not turn by itself */
static void settle(void)
{
	for (unsigned i = 0; i < 4; i++) {
		CHECK_OK(uv_timer_start(&world.tick, on_nothing, 1, 0));
		world_turn();
	}
}

/* they wait for connections that nobody closes */
static bool is_shared_closing(void)
{
	for (unsigned i = 0; i < SHARED_MAX; i++) {
		if (world.shared[i].srq != NULL && world.shared[i].is_closing)
			return true;
	}
	return false;
}

static void on_late(uv_timer_t *tick)
{
	(void)tick;
	uv_stop(&world.loop);
}

static bool has_to_end(const struct act *a)
{
	switch (a->kind) {
	case PEER:
	case CONNECT:
	case ACCEPT:
	case DISCONNECT:
	case READ:
	case WRITE:
	case WRITE_IMM:
	case ATOMIC:
	case FLUSH:
	case PERSIST:
	case SEND:
	case SEND_IMM:
		return true;
	default:
		return false; /* nobody knows when a message comes, or a promise is kept */
	}
}

/* however long it takes, and whatever the device does: what a deadline ends has taken far too long */
static void check_lively(void)
{
	CHECK_OK(uv_timer_start(&world.tick, on_late, LIVELY_MS, 0));
	world_turn();
	for (unsigned i = 0; i < world.pending_count; i++) {
		const struct act *a = world.pending[i];

		if (!has_to_end(a))
			continue;
		fprintf(stderr, "act %u, %s, is not done after %u seconds\n", a->number,
			kind_name(a->kind), LIVELY_MS / 1000);
		world_print();
		CHECK(!has_to_end(a));
	}
}

void curtain_fall(void)
{
	unsigned how = below(3);

	world.is_over = true;
	uv_timer_stop(&world.tick);
	/* a loop that stalls again and again does little in that time */
	if (!world.is_stalling && chance(300)) {
		cover("curtain: late");
		check_lively();
	}
	if (how == 0) {
		cover("curtain: in the midst");
		close_all_stations();
		world_turn();
		return;
	}
	if (how == 2 && !is_shared_closing()) {
		cover("curtain: unref'd");
		unref_all();
		world_turn();
	}
	cover("curtain: at the end");
	end_all();
	world_turn();
	check_ended();
	settle();
	end_all(); /* what an unref'd reconnect has brought only now */
	world_turn();
	settle();
	for (unsigned i = 0; i < STATIONS_MAX; i++) {
		if (world.stations[i].is_open && world.stations[i].pending == 0)
			check_quiet(&world.stations[i]);
	}
	close_all_stations();
	world_turn();
}
