/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * future.h - how the library makes, stops and finishes futures
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
	/*
	 * ask a running operation to stop, `how` being that of rpma_uv__future_cancel(): 0 or UV_E*;
	 * NULL: it cannot be recalled (UV_EBUSY). What ends UV_ECANCELED of it, at once or later, is
	 * given the name of the first who asked.
	 */
	int (*cancel)(rpma_uv_future_t *f, unsigned how);
	/* parents: a child is done; true keeps a slab child until the parent itself is consumed */
	bool (*child_done)(rpma_uv_future_t *parent, rpma_uv_future_t *child);
	/* parents: the loop need not wait for what they wait for */
	void (*unref)(rpma_uv_future_t *f);
	/* where it happened, for rpma_uv_strerror(); may be NULL */
	void (*describe)(const rpma_uv_future_t *f, char *text, size_t size);
	/* it is an `all` or an `any`: see inputs.h */
	bool has_inputs;
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

/* begun, and not finished */
bool rpma_uv__future_is_pending(const rpma_uv_future_t *f);

/* shorthand: begin and finish at once, for arguments that are refused */
rpma_uv_future_t *rpma_uv__op_fail(
	struct rpma_uv__reactor *r, rpma_uv_op_t *op, const struct rpma_uv__kind *kind, int status);

/* `how` of a cancel, beside RPMA_UV_FORCE: a time-out asks, and the end is to be called so */
#define RPMA_UV__TIMED_OUT (1u << 31)

/* ask a future to end early, as rpma_uv_cancel() does */
int rpma_uv__future_cancel(rpma_uv_future_t *f, unsigned how);

/* what to call it when something else than the future itself ends of a cancel */
static inline int rpma_uv__cancel_status(unsigned how)
{
	return how & RPMA_UV__TIMED_OUT ? UV_ETIMEDOUT : UV_ECANCELED;
}

/* run the futures that were ready at entry, `most` of them at most; returns how many */
unsigned rpma_uv__futures_run(struct rpma_uv__reactor *r, unsigned most);

/* end every promise that nobody has resolved, and every sleep: the reactor closes */
void rpma_uv__promises_cancel(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_FUTURE_H */
