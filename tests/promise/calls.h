/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * calls.h - every public function of librpma_uv.h, as a call that can be made anywhere
 *
 * A stage has what they need: connections in each state, requests, files, pools and so on. Each call can
 * be made once on a stage, in any order, from any place that the contract allows. A function that is
 * exported and stands in no line of the table is a failure: calls_are_complete().
 */

#ifndef RPMA_PROMISE_CALLS_H
#define RPMA_PROMISE_CALLS_H

#include "promise.h"

#define STAGE_OPS 192

struct stage {
	struct world *w;
	struct pair p; /* READY */
	struct pair ending; /* READY, for disconnect */
	struct pair closing; /* READY, for conn_close */
	rpma_uv_conn_t *connecting; /* NEW: for connect, accept, and to be given a shared queue */
	rpma_uv_conn_t *accepting;
	rpma_uv_conn_t *sharing;
	rpma_uv_conn_req_t *accept_req, *reject_req, *look_req;
	rpma_uv_ep_t *ep, *unref_ep, *close_ep;
	rpma_uv_ep_t *serving_ep; /* whose requests are accepted, at this port */
	char serving_port[8];
	rpma_uv_srq_t *srq, *close_srq;
	rpma_uv_pool_t *pool, *close_pool;
	rpma_uv_buf_t *buf;
	rpma_uv_file_t *file, *close_file;
	rpma_uv_file_t *fifo; /* where nothing is to be read */
	rpma_uv_transfer_t *transfer, *delete_transfer;
	rpma_uv_reactor_t closing_reactor, new_reactor;
	bool has_new_reactor;
	rpma_uv_op_t promise, cancelled, timed, unrefd, thened, released, slept, received;
	rpma_uv_all_t all;
	rpma_uv_any_t any;
	rpma_uv_work_t work;
	struct memory area; /* of the client; calls do not share their bytes */

	/* made by calls; they have to be looked after */
	struct rpma_peer *peer;
	rpma_uv_pool_t *new_pool;
	rpma_uv_file_t *new_file;
	rpma_uv_transfer_t *new_transfer;
	rpma_uv_buf_t *waited_buf;
	rpma_uv_conn_t *reconnected;

	struct op ops[STAGE_OPS];
	rpma_uv_future_t *futures[STAGE_OPS]; /* of them; from the slab some, and gone when done */
	unsigned begun; /* operations */
	unsigned closes_due, closes; /* close callbacks, and the callback of work */
};

/* the answers that a call's future waits for, and what it does not end without */
enum call_traits {
	ASKS = 1, /* somebody outside of the loop's thread has to answer */
	LASTS = 2, /* the future ends with the world only */
	BLOCKS = 4, /* it is rpma_uv_wait() */
};

struct call {
	const char *name;
	void (*make)(struct stage *s); /* its own future is the first that it begins */
	unsigned traits;
};

extern const struct call calls[];
extern const unsigned calls_count;

/* each exported function has one line in the table, and each line is an exported function */
void calls_are_complete(void);

void stage_set(struct stage *s, struct world *w);

/* every call of the table once, in any order; where it may not be called, without rpma_uv_wait() */
void stage_make_all(struct stage *s, bool may_wait);

/*
 * Close everything and run to the end: each operation has ended exactly once, each close callback has
 * run.
 */
void stage_end(struct stage *s);

/* the number of operations from the first-th on that have ended */
unsigned stage_ended(const struct stage *s, unsigned first);

#endif /* RPMA_PROMISE_CALLS_H */
