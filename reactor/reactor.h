/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * reactor.h - the turn of the loop, and what hangs on it
 *
 * ASSUMPTIONS
 * - one reactor belongs to one loop and its thread; nothing here is locked
 * - children (connections, listeners, files, pools) are on their list from their creation until
 *   their close callback has returned; the reactor closes when the lists are empty
 */

#ifndef RPMA_UV_REACTOR_H
#define RPMA_UV_REACTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "deadline.h"
#include "future.h"
#include "librpma_uv.h"
#include "work.h"

struct rpma_uv__cm;
struct rpma_uv__device;
struct rpma_uv__ring;
struct rpma_uv__slab_block;
struct rpma_uv__wr_scratch;

TAILQ_HEAD(rpma_uv__conns, rpma_uv_conn);
TAILQ_HEAD(rpma_uv__eps, rpma_uv_ep);
TAILQ_HEAD(rpma_uv__srqs, rpma_uv_srq);
TAILQ_HEAD(rpma_uv__files, rpma_uv_file);
TAILQ_HEAD(rpma_uv__pools, rpma_uv_pool);
TAILQ_HEAD(rpma_uv__transfers, rpma_uv_transfer);
TAILQ_HEAD(rpma_uv__promises, rpma_uv__promise);
TAILQ_HEAD(rpma_uv__lookups, rpma_uv__lookup);
TAILQ_HEAD(rpma_uv__reconnects, rpma_uv__reconnect);
LIST_HEAD(rpma_uv__devices, rpma_uv__device);

enum rpma_uv__closing {
	RPMA_UV__OPEN,
	RPMA_UV__CLOSING_STARTED,
	RPMA_UV__CLOSING_PEERS, /* connections and what they share, listeners, lookups; transfers drain */
	RPMA_UV__CLOSING_FILES,
	RPMA_UV__CLOSING_POOLS,
	RPMA_UV__CLOSING_POSTS, /* a thread is still on its way out of rpma_uv_reactor_post() */
	RPMA_UV__CLOSING_HANDLES, /* ring, devices, channel, the loop's handles */
};

/*
 * A close callback is due: it runs from the closing phase of the loop. closed() runs after it and
 * frees the object; it must take the object off its list and call rpma_uv__reactor_child_gone().
 */
struct rpma_uv__closer {
	rpma_uv_future_t turn; /* behind the futures that are ready already */
	uv_idle_t handle; /* never started; its uv_close() carries the callback */
	struct rpma_uv__reactor *reactor;
	rpma_uv_close_cb cb;
	void *data;
	void (*closed)(struct rpma_uv__closer *closer);
};

struct rpma_uv__reactor {
	rpma_uv_reactor_t *pub;
	uv_loop_t *loop;
	rpma_uv_reactor_opts_t opts; /* with the defaults filled in */

	/* the turn: all unref'd, but prepare, which is ref'd while holds > 0 */
	uv_prepare_t prepare;
	uv_check_t check;
	uv_idle_t kick;
	uv_timer_t timer;
	unsigned holds;
	bool is_refd; /* one of them is the program's own */
	uint64_t spin_until_ns; /* of uv_hrtime(): poll instead of sleeping until then */
	struct rpma_uv__deadline *deadlines; /* root of the heap */
	bool deadlines_due; /* its timer has fired */

	/* futures */
	struct rpma_uv__futures ready;
	struct rpma_uv__promises promises;
	struct rpma_uv__slab_block *slab_blocks;
	void *slab_free;

	struct rpma_uv__works works;

	/* children */
	struct rpma_uv__conns conns;
	struct rpma_uv__conns dirty; /* those with work for the next flush */
	struct rpma_uv__eps eps;
	struct rpma_uv__srqs srqs;
	struct rpma_uv__srqs srqs_dirty; /* likewise */
	struct rpma_uv__lookups lookups;
	struct rpma_uv__reconnects reconnects;
	struct rpma_uv__files files;
	struct rpma_uv__pools pools;
	struct rpma_uv__transfers transfers; /* running ones */

	/* what completes */
	struct rpma_uv__devices devices;
	struct rpma_uv__cm *cm; /* NULL until first use */
	struct rpma_uv__ring *ring; /* NULL until first use */
	struct rpma_uv__wr_scratch *scratch;
	unsigned posted; /* work requests that a device holds */
	unsigned busy; /* connections whose sends wait or are posted */

	/* closing */
	enum rpma_uv__closing closing;
	unsigned handles_open; /* uv handles whose close callback is due */
	rpma_uv_close_cb close_cb;
	void *close_data;

	rpma_uv_reactor_stats_t stats;
	char text[512]; /* rpma_uv_strerror() */
};

/* make the next poll of the loop return at once, so that queued work is not slept upon */
void rpma_uv__reactor_kick(struct rpma_uv__reactor *r);

/* work is outstanding, or no more: the loop stays alive while any is */
void rpma_uv__reactor_hold(struct rpma_uv__reactor *r);
void rpma_uv__reactor_drop(struct rpma_uv__reactor *r);

/* a child has left its list: go on closing, if the reactor is */
void rpma_uv__reactor_child_gone(struct rpma_uv__reactor *r);

/* a handle of the reactor was closed: the last one frees a reactor that closes */
void rpma_uv__reactor_handle_gone(struct rpma_uv__reactor *r);

/* depth of user callbacks in this thread, whichever of its reactors they belong to */
extern _Thread_local unsigned rpma_uv__in_callback;

/* run a user's callback: RPMA_UV__CALLBACK(cb(args)); */
#define RPMA_UV__CALLBACK(call)         \
	do {                            \
		rpma_uv__in_callback++; \
		call;                   \
		rpma_uv__in_callback--; \
	} while (0)

void rpma_uv__closer_start(struct rpma_uv__reactor *r, struct rpma_uv__closer *closer,
	rpma_uv_close_cb cb, void *data, void (*closed)(struct rpma_uv__closer *closer));

#define rpma_uv__container_of(ptr, T, member) ((T *)((char *)(ptr)-offsetof(T, member)))

#endif /* RPMA_UV_REACTOR_H */
