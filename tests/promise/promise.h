/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * promise.h - what the tests of the promises share: a world with both ends of connections in it
 *
 * A program is one promise, and each sentence of it is a check with a name, which runs in a world of
 * its own: one loop, two reactors on it, the client's and the server's. Which device carries them is
 * told by the environment: softverbs' simulation (many worlds, one a seed), softverbs' sockets, or a
 * device of the kernel at ADDR. Nothing may be left over when a world ends.
 *
 *     PROGRAM [SUBSTRING]      only the checks that have it in their names
 *
 * PROMISE_SEEDS is "FIRST COUNT" for the simulation, 1 12 unless it is set. Exit 0 passed, 77 skipped,
 * else failed.
 */

#ifndef RPMA_PROMISE_H
#define RPMA_PROMISE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "librpma_uv.h"

/* ---- checks ---------------------------------------------------------------------------------- */

enum wires {
	ON_SEEDS = 1, /* the simulation */
	ON_SOCKETS = 2, /* softverbs between real descriptors */
	ON_KERNEL = 4,
	ON_SOFTVERBS = ON_SEEDS | ON_SOCKETS,
	ON_REAL_TIME = ON_SOCKETS | ON_KERNEL,
	ON_ALL = ON_SEEDS | ON_SOCKETS | ON_KERNEL,
	ON_NONE = 8, /* of this build */
};

struct world;

struct promise_check {
	const char *says; /* the sentence */
	void (*run)(struct world *w);
	unsigned wires; /* where it can be seen; 0: all */
	const char *subject; /* what it says that of; NULL: nothing in particular */
};

extern const struct promise_check *promise_now; /* the one that runs */
extern enum wires promise_wire; /* of this process */
extern uint64_t promise_seed; /* of this world; 0 where there are none */

int promise_main(int argc, char *argv[], const char *number, const struct promise_check checks[],
	unsigned count);

#define PROMISE_MAIN(number, ...)                                                        \
	int main(int argc, char *argv[])                                                 \
	{                                                                                \
		const struct promise_check checks[] = { __VA_ARGS__ };                   \
                                                                                         \
		return promise_main(                                                     \
			argc, argv, number, checks, sizeof(checks) / sizeof(checks[0])); \
	}

/* any number below n; the seed's, and always the same where there are none */
unsigned below(unsigned n);

/* ---- the world ------------------------------------------------------------------------------- */

#define WORLD_MEM ((size_t)1 << 20)
#define WORLD_MAX 64 /* connections */

/* a region that may be used for everything, and its remote form */
struct memory {
	uint8_t *bytes;
	size_t size;
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *remote;
};

struct world {
	uv_loop_t loop;
	rpma_uv_reactor_opts_t opts; /* of both reactors */
	rpma_uv_reactor_t client;
	rpma_uv_reactor_t server;
	bool client_is_closing, server_is_closing; /* the check has seen to it */
	struct rpma_peer *peer;
	struct memory here; /* the client's */
	struct memory there; /* the server's */

	rpma_uv_ep_t *ep; /* the server's; NULL before the first connection */
	char port[8];
	rpma_uv_conn_t *accepting; /* what the next request is accepted on; NULL: it is kept */
	rpma_uv_conn_req_t *kept[8]; /* requests that were not answered */
	unsigned kept_count;
	unsigned ticks; /* of world_tick() */
};

/* the address of the device */
const char *world_addr(void);

/* other options: to be called before anything else, by a check that needs them */
void world_reopen(struct world *w, const rpma_uv_reactor_opts_t *opts);

void memory_new(struct world *w, struct memory *m, size_t size);
void memory_delete(struct memory *m);

static inline rpma_uv_local_t local_of(const struct memory *m, size_t offset)
{
	return (rpma_uv_local_t){ m->mr, offset };
}

static inline rpma_uv_remote_t remote_of(const struct memory *m, size_t offset)
{
	return (rpma_uv_remote_t){ m->remote, offset };
}

static const rpma_uv_local_t no_local = { NULL, 0 };
static const rpma_uv_remote_t no_remote = { NULL, 0 };

/* a listener of the server, unref'd; made once */
void world_listen(struct world *w);

/* a connection that is NEW, of the client or the server; sizes of its queues, 0: the default */
rpma_uv_conn_t *world_conn(
	struct world *w, rpma_uv_reactor_t *reactor, uint32_t sq_size, uint32_t rq_size);

/* two NEW connections become the ends of one, both READY */
void world_join(struct world *w, rpma_uv_conn_t *client, rpma_uv_conn_t *server);

/* both at once, with queues of this size */
struct pair {
	rpma_uv_conn_t *c; /* the client's */
	rpma_uv_conn_t *s; /* the server's */
};

struct pair world_pair(struct world *w, uint32_t sq_size, uint32_t rq_size);

/* close one and run until it is gone */
void world_conn_close(struct world *w, rpma_uv_conn_t *c);

/* a path for a file of this world; the same name again is the same path */
const char *world_path(const struct world *w, const char *name);

/* a file of the client at that path, opened with these flags; how: 0 or RPMA_UV_FILE_DIRECT */
rpma_uv_file_t *world_file(struct world *w, const char *name, int oflags, unsigned how);

rpma_uv_reactor_stats_t stats_of(const rpma_uv_reactor_t *r);

/* ---- running --------------------------------------------------------------------------------- */

/* turns that do not sleep: enough for what was called to be posted */
void world_glance(struct world *w);

/* turns until it is so, sleeping as the loop likes */
#define UNTIL(w, condition)                                                                        \
	do {                                                                                       \
		while (!(condition)) {                                                             \
			if (!world_turn(w) && !(condition))                                        \
				live_fail(                                                         \
					__FILE__, __LINE__, "the loop ended before: " #condition); \
		}                                                                                  \
	} while (0)

bool world_turn(struct world *w);

/* ---- futures --------------------------------------------------------------------------------- */

/* what became of a future */
struct done {
	unsigned times;
	int status;
	int64_t result;
	uint32_t detail;
	unsigned at; /* the order among all of this world, from 1 */
};

/* zeroes d and has it filled in; the callback fails inside of an API call. Returns f. */
rpma_uv_future_t *watch(rpma_uv_future_t *f, struct done *d);

/* what watch() registers: data is the struct done */
void on_done(rpma_uv_future_t *f, int status);

struct op {
	rpma_uv_op_t op;
	struct done done;
};

/* watched operations: the client's memory is `here`, the server's `there`, at the same offset */
void op_read(struct world *w, rpma_uv_conn_t *c, struct op *op, size_t offset, size_t len);
void op_write(struct world *w, rpma_uv_conn_t *c, struct op *op, size_t offset, size_t len);
void op_send(rpma_uv_conn_t *c, struct op *op, const struct memory *m, size_t offset, size_t len);
void op_recv(rpma_uv_conn_t *c, struct op *op, const struct memory *m, size_t offset, size_t len);

/* run until it is done; its status must be this one */
#define ENDS(w, op_, expected)                            \
	do {                                              \
		UNTIL(w, (op_).done.times == 1);          \
		CHECK_INT((op_).done.status, (expected)); \
	} while (0)

/* run until it is done; its status must be this one. Returns its result. */
#define AWAIT(w, future, expected) await_at(__FILE__, __LINE__, #future, (w), (future), (expected))
int64_t await_at(const char *file, int line, const char *what, struct world *w, rpma_uv_future_t *f,
	int expected);

/*
 * A call of the library: what runs a callback inside of one is noticed. The statement expression
 * yields what the call returns.
 */
extern unsigned promise_inside;

#define CALL(call)                                   \
	({                                           \
		promise_inside++;                    \
		__typeof__(call) returned_ = (call); \
		promise_inside--;                    \
		returned_;                           \
	})
#define CALL_VOID(call)           \
	do {                      \
		promise_inside++; \
		call;             \
		promise_inside--; \
	} while (0)

#endif /* RPMA_PROMISE_H */
