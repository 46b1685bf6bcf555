/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * world.h - what is in a world: reactors, listeners, ends of connections, and acts
 *
 *   world.c      its beginning, its time
 *   curtain.c    its end
 *   acts.c       one future each: begun, watched, done
 *   rma.c        acts on remote memory, and messages
 *   ends.c       connections, listeners, requests
 *   shared.c     shared receive queues
 *   compose.c    all, any, chain, cancel, time-outs: what is done to futures
 *   faults.c     what the device does wrong
 *   check.c      what must hold
 */

#ifndef SIMULATION_WORLD_H
#define SIMULATION_WORLD_H

#include <librpma_uv.h>

#include "../softverbs/seed/check.h"
#include "coverage.h"
#include "memory.h"
#include "random.h"

#define ACTS_MAX     1280
#define ENDS_MAX     32
#define STATIONS_MAX 2
#define EPS_MAX      4
#define SHARED_MAX   3
#define INPUTS_MAX   6
#define PIECES_MAX   4
#define RECEIVED_MAX 512
#define ADDR         "127.0.0.1"

/* a reactor */
struct station {
	rpma_uv_reactor_t reactor;
	bool is_open; /* from init to the call of close */
	bool is_closed;
	unsigned queue_bound; /* 0: none to speak of */
	unsigned pending; /* acts */
};

/* a shared receive queue */
struct shared {
	rpma_uv_srq_t *srq; /* NULL: none */
	struct station *station;
	bool is_closing;
	bool is_taken;
	unsigned pending; /* acts */
};

/* a message that has come */
struct message {
	uint64_t hash;
	size_t len;
	uint32_t imm;
	bool has_imm;
	bool is_write;
};

/* one end of a connection */
struct end {
	unsigned number;
	rpma_uv_conn_t *conn; /* NULL: not made, or gone */
	struct station *station;
	struct end *other; /* NULL: not accepted, or it is not known */
	struct shared *shared; /* NULL: it has receives of its own */
	unsigned recv_size;
	bool is_begun; /* connect or accept was called */
	bool was_ready;
	bool has_ended; /* its witness has */
	int error; /* and with that status */
	bool is_declared; /* direct write */
	/* what the program has asked for */
	bool is_closing;
	bool is_forced;
	bool is_left; /* disconnect, or connect and accept cancelled */
	bool is_lent; /* an attempt of a reconnect: not the program's yet */
	bool is_taken; /* by the closing of its reactor: the program does not hear of its close */
	unsigned pending; /* acts */
	unsigned
		last_posted; /* number of the last act of the send side that was posted, and is done */
	struct message received[RECEIVED_MAX];
	unsigned received_count;
};

struct listener {
	rpma_uv_ep_t *ep; /* NULL: none */
	struct station *station;
	char port[8];
	bool is_closing;
	bool is_taken;
};

/* a request that nobody has answered yet */
struct request {
	rpma_uv_conn_req_t *req;
	struct listener *listener;
	struct end *end; /* the client's; NULL: it is not known */
};

#define ASKED_CANCEL  1u
#define ASKED_TIMEOUT 2u
#define ASKED_FORCE   4u
#define MUST_CANCEL   8u /* a cancel was accepted: it has to end so */

#define NOT_KNOWN 1 /* of act->expected */

/* one future */
struct act {
	unsigned number; /* counts from 1 in the order of the calls */
	enum kind kind;
	struct station *station;
	struct end *end; /* NULL: of no connection */
	struct shared *shared; /* of a receive of it */
	rpma_uv_future_t *future; /* NULL: its storage is given back */
	void *storage; /* NULL: of the slab */
	size_t storage_size;
	bool is_pending; /* its callback has not run */
	bool is_unseen; /* released: it has none */
	bool is_witness; /* the conn_end() by which an end knows its error: it is left alone */
	bool is_unrefd;
	bool is_waited; /* by rpma_uv_wait() */
	unsigned pending_index; /* in world.pending */
	/* what is known before */
	int expected; /* NOT_KNOWN, or what it has to end with */
	bool was_ready; /* its connection, at the call */
	struct piece local[PIECES_MAX];
	uint8_t *remote[PIECES_MAX];
	unsigned pieces;
	rpma_uv_piece_t *piece_list;
	size_t len; /* also: milliseconds of a sleep */
	uint64_t began_ms;
	/* what was done to it */
	unsigned asked;
	struct act *parent; /* all, any or chain that has not ended */
	struct act *inputs[INPUTS_MAX]; /* of a chain: the two steps */
	unsigned input_count;
	unsigned null_count;
	/* what has become of it */
	unsigned sequence; /* of its end among the others */
	int status;
	int64_t result;
	uint32_t detail;
	bool was_posted; /* the device has had it, for certain */
	struct rpma_peer *peer; /* of a look-up */
	struct end *attempt; /* of a reconnect: the present one */
	unsigned attempts;
	rpma_uv_conn_t *conn; /* what it has brought */
};

struct world {
	uv_loop_t loop;
	uv_timer_t tick;
	uv_check_t turn;
	unsigned turns;
	struct station stations[STATIONS_MAX];
	unsigned station_count;
	struct rpma_peer *peer;
	struct rpma_mr_local *mr; /* all of the arena, for everything */
	struct rpma_mr_remote *remote;
	struct rpma_mr_local *closed_mr; /* the served part: for messages to be sent only */
	struct rpma_mr_remote *closed_remote;
	struct listener listeners[EPS_MAX];
	struct shared shared[SHARED_MAX];
	struct request requests[ENDS_MAX];
	unsigned request_count;
	struct end ends[ENDS_MAX];
	unsigned end_count;
	struct act acts[ACTS_MAX + 1];
	unsigned act_count;
	struct act *pending[ACTS_MAX];
	unsigned pending_count;
	rpma_uv_work_t *works[8];
	unsigned works_left;
	unsigned act_budget; /* so many may still begin */
	unsigned sequence;
	size_t max_msg; /* of the port */
	char faults[256]; /* their orders */
	bool is_stalling; /* the loop, for seconds */
	bool is_narrow; /* much happens on one connection, and little else */
	bool has_faults;
	bool may_refuse; /* the device: what is posted */
	bool is_removed; /* the device may be */
	bool is_garbled; /* memory, while a payload arrives */
	bool is_over; /* nothing new begins */
	bool is_in_api;
	bool is_in_callback;
	bool is_in_loop;
};

extern struct world world;

/* ---- calls and callbacks: none of the latter inside of the former ---------------------------- */

#define API(call)                        \
	({                               \
		__typeof__(call) ret_;   \
		CHECK(!world.is_in_api); \
		world.is_in_api = true;  \
		ret_ = (call);           \
		world.is_in_api = false; \
		ret_;                    \
	})

#define API_VOID(call)                   \
	do {                             \
		CHECK(!world.is_in_api); \
		world.is_in_api = true;  \
		(call);                  \
		world.is_in_api = false; \
	} while (0)

void callback_enter(void);
void callback_leave(void);

/* ---- world.c --------------------------------------------------------------------------------- */

void world_run(uint64_t seed);
void world_print(void); /* what is under way */

/* the loop runs until it ends, or is stopped */
void world_turn(void);

/* something happens, here and now */
void world_act(void);

/* what a program may do in a callback */
void world_react(void);

/* one of those that are open, or NULL */
struct station *station_pick(void);
void station_close(struct station *s);

/* ---- acts.c ---------------------------------------------------------------------------------- */

/* room for one; NULL: the world has had enough. storage NULL: its own, or the slab's, as it comes */
struct act *act_new(enum kind kind, struct station *s, struct end *e, void *storage);

/* the storage to be given to the call */
void *act_storage(struct act *a);

/* the call has returned: the future is watched from now on */
void act_begun(struct act *a, rpma_uv_future_t *f);

/* its storage is nobody's */
void act_bury(struct act *a);

/* one whose callback has not run, or NULL */
struct act *act_pick(void);

/* ---- rma.c ----------------------------------------------------------------------------------- */

/* any of them; what was begun, or NULL. storage NULL: as for act_new() */
struct act *rma_act(struct end *e, void *storage);
void rma_recv(struct end *e);
void rma_shared_recv(struct shared *sh);

/* ---- ends.c ---------------------------------------------------------------------------------- */

struct end *end_pick(void); /* a connection that exists, or NULL */
void ends_connect(void);
void ends_reconnect(void);
void ends_reconnected(struct act *a); /* it is done */
void ends_answer(void); /* a request that waits */
void ends_disconnect(struct end *e);
void ends_watch(struct end *e); /* one more conn_end() */
void end_close(struct end *e);
void end_change(struct end *e); /* keep-alive, declarations */
void listener_open(void);
void listener_drop(struct listener *l); /* close it, if it is the program's to close */
void listeners_unref(void);

void stations_taken(struct station *s); /* its connections and listeners go with it */

/* ---- shared.c -------------------------------------------------------------------------------- */

struct shared *shared_pick(const struct station *s); /* one that is open, or NULL */
void shared_open(void);
void shared_drop(struct shared *sh);
void shared_taken(struct station *s); /* all of its own, by its closing */

/* ---- curtain.c ------------------------------------------------------------------------------- */

void curtain_fall(void);

/* ---- compose.c ------------------------------------------------------------------------------- */

void compose_all(void);
void compose_any(void);
void compose_chain(void);
void compose_sleep(void);
void compose_promise(void);
void compose_peer(void);
void compose_work(void);
void act_cancel(struct act *a, unsigned how);
void act_timeout(struct act *a);
void act_resolve(struct act *a);
void act_unref(struct act *a);
void act_is_unrefd(struct act *a); /* it is, and what it waits for with it */
void act_wait(struct act *a); /* not in a callback */

/* ---- faults.c -------------------------------------------------------------------------------- */

void faults_begin(void); /* the port and the odds; what the device can do */
void faults_order(void); /* and what it does wrong */
void faults_end(void);
bool faults_are_covered(void); /* says which has never happened */

/* ---- check.c --------------------------------------------------------------------------------- */

void check_done(struct act *a, const rpma_uv_future_t *f, int status);
void check_world(void); /* at its end */
void check_quiet(const struct station *s); /* no work is left on it */

#endif
