/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * future.h - how the library makes and finishes futures
 *
 * ASSUMPTIONS
 * - all of it runs on the loop's thread
 * - an operation is begun once and finished once; finishing only queues: callbacks run from a phase
 *   of the loop, never below rpma_uv__future_finish()
 */

#ifndef RPMA_UV_FUTURE_H
#define RPMA_UV_FUTURE_H

#include <assert.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "librpma_uv.h"

struct rpma_uv__reactor;

/* an object inside an operation's room; it may alias the array that reserves the space */
#define RPMA_UV__ROOM __attribute__((may_alias))

/* what makes one sort of future different from another; one constant per sort */
struct rpma_uv__kind {
	/* for people: "read", "connect" */
	const char *name;
	/* ask a running operation to stop: 0 or UV_E*; NULL: it cannot be recalled (UV_EBUSY) */
	int (*cancel)(rpma_uv_future_t *f);
	/* parents: a child is done; true keeps a slab child until the parent itself is consumed */
	bool (*child_done)(rpma_uv_future_t *parent, rpma_uv_future_t *child);
	/* where it happened, for rpma_uv_strerror(); may be NULL */
	void (*describe)(const rpma_uv_future_t *f, char *text, size_t size);
};

/*
 * Begin an operation: op, or room from the slab for NULL (then NULL when the slab could not grow).
 * Its future is pending and keeps the loop alive until it is done.
 */
rpma_uv_op_t *rpma_uv__op_begin(
	struct rpma_uv__reactor *r, rpma_uv_op_t *op, const struct rpma_uv__kind *kind);

/* the same for a future that is embedded elsewhere */
void rpma_uv__future_begin(
	struct rpma_uv__reactor *r, rpma_uv_future_t *f, const struct rpma_uv__kind *kind);

/* the op's private room as a pointer to T */
#define rpma_uv__room(T, op)                                                                 \
	({                                                                                   \
		_Static_assert(                                                              \
			sizeof(T) <= sizeof(((rpma_uv_op_t *)0)->u_room), "room too small"); \
		(T *)(op)->u_room;                                                           \
	})

/* the operation whose future or room this is */
#define rpma_uv__op_of(f)         ((rpma_uv_op_t *)(f))
#define rpma_uv__op_of_room(room) ((rpma_uv_op_t *)((char *)(room)-offsetof(rpma_uv_op_t, u_room)))

/* finish a pending future: status 0 or UV_E*; its callback runs in the next ready phase */
void rpma_uv__future_finish(rpma_uv_future_t *f, int status, int64_t result, uint32_t detail);

/* shorthand: begin and finish at once, for arguments that are refused */
rpma_uv_future_t *rpma_uv__op_fail(
	struct rpma_uv__reactor *r, rpma_uv_op_t *op, const struct rpma_uv__kind *kind, int status);

/* run the futures that were ready at entry; returns how many */
unsigned rpma_uv__futures_run(struct rpma_uv__reactor *r);

/* end every promise that nobody has resolved: the reactor closes */
void rpma_uv__promises_cancel(struct rpma_uv__reactor *r);

/* the slab's memory goes back to the heap */
void rpma_uv__slab_free(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_FUTURE_H */
