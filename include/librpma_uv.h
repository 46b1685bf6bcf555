/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * librpma_uv.h - remote memory access as futures on a libuv loop
 *
 * A reactor lives on one uv_loop_t and in that loop's thread. An operation never fails on the spot:
 * it returns a future, and the future carries success or failure.
 *
 * What follows holds for every function here unless its own comment says otherwise:
 *
 *   Ownership:  strings and private data are copied during the call. Memory, regions and uv_buf_t
 *               arrays are borrowed until the callback.
 *   Storage:    op is caller-owned room for one operation; it need not be initialised and belongs
 *               to the library until the operation's callback. NULL takes the room from the
 *               reactor's slab; such a future frees itself after its callback, when its parent has
 *               consumed it, or when rpma_uv_wait() has returned its status.
 *   Completion: the future completes exactly once, later, from a phase of the loop, never inside
 *               the call that made it. Completed means that the hardware has let go: the
 *               operation's storage, its buffers and its regions may be reused in the callback.
 *   Threads:    the loop's thread only. From another one, hand it over: rpma_uv_reactor_post().
 *   Callbacks:  may be called in the callbacks of this library and of libuv, where the object that
 *               the callback belongs to may be closed as well.
 *   Returns:    int     0, or a negative UV_E*, which means that nothing was done.
 *               future  the operation's future; NULL only when op is NULL and the slab could not
 *                       grow.
 *   Errors:     future  the status of the future has the error, and its detail the reason below;
 *                       rpma_uv_strerror() puts them into words. An operation that the device
 *                       refuses to take, or fails, ends with the device's error.
 */

#ifndef LIBRPMA_UV_H
#define LIBRPMA_UV_H 1

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <uv.h>

#include <librpma.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* the status of a future that is not done yet */
#define RPMA_UV_PENDING 1

/* connect and accept: how long the peer may stay silent once the route is known, in milliseconds */
#define RPMA_UV_CONNECT_TIMEOUT 5000

/* a closing connection: how long posted work may take to come back, in milliseconds */
#define RPMA_UV_DRAIN_TIMEOUT 2000

typedef struct rpma_uv_reactor rpma_uv_reactor_t;
typedef struct rpma_uv_work rpma_uv_work_t;
typedef struct rpma_uv_future rpma_uv_future_t;
typedef struct rpma_uv_op rpma_uv_op_t;
typedef struct rpma_uv_all rpma_uv_all_t;
typedef struct rpma_uv_any rpma_uv_any_t;
typedef struct rpma_uv_conn rpma_uv_conn_t;
typedef struct rpma_uv_conn_req rpma_uv_conn_req_t;
typedef struct rpma_uv_ep rpma_uv_ep_t;
typedef struct rpma_uv_srq rpma_uv_srq_t;
typedef struct rpma_uv_file rpma_uv_file_t;
typedef struct rpma_uv_pool rpma_uv_pool_t;
typedef struct rpma_uv_buf rpma_uv_buf_t;
typedef struct rpma_uv_transfer rpma_uv_transfer_t;

/* runs when a future is done; status is the future's */
typedef void (*rpma_uv_cb)(rpma_uv_future_t *f, int status);

/* runs when a closed object is gone */
typedef void (*rpma_uv_close_cb)(void *data);

/* runs in the loop's thread, for work that any thread has posted */
typedef void (*rpma_uv_work_cb)(rpma_uv_work_t *w);

/* runs when a future has succeeded, and says how it goes on */
typedef rpma_uv_future_t *(*rpma_uv_next_fn)(rpma_uv_future_t *done, void *data);

/* ---- futures --------------------------------------------------------------------------------- */

/* private: the time at which something is given up */
struct rpma_uv__deadline {
	uint64_t at_ms; /* of uv_now() */
	void (*expired)(struct rpma_uv__deadline *d);
	/* a pairing heap: first child, next sibling, and what points here (NULL: not set) */
	struct rpma_uv__deadline *child;
	struct rpma_uv__deadline *next;
	struct rpma_uv__deadline **link;
};

/*
 * The head is for reading: data is what rpma_uv_then() was given, status is RPMA_UV_PENDING
 * until done, result is the operation's value (bytes, unless its comment says
 * otherwise) once status is 0. detail explains a failure: of a work request the ibv_wc_status in
 * its low 8 bits and the vendor's code above, of a connection the status of its CM event.
 */
struct rpma_uv_future {
	void *data;
	rpma_uv_reactor_t *reactor;
	int64_t result;
	int status;
	uint32_t detail;
	/* private from here on */
	int u_status;
	unsigned u_index;
	uint16_t u_flags;
	int16_t u_label;
	uint8_t u_state;
	uint8_t u_reserved8[3];
	const void *u_kind;
	rpma_uv_cb u_cb;
	rpma_uv_future_t *u_parent;
	struct {
		struct rpma_uv_future *tqe_next;
		struct rpma_uv_future **tqe_prev;
	} u_link;
	void *u_reserved[2];
	struct rpma_uv__deadline u_deadline;
};

/* room for any single operation; its future is the first member */
struct rpma_uv_op {
	rpma_uv_future_t future;
	uint64_t u_room[24]; /* private */
};

/* private: a list of futures */
struct rpma_uv__futures {
	struct rpma_uv_future *tqh_first;
	struct rpma_uv_future **tqh_last;
};

/* private: the inputs of an `all` or an `any` */
struct rpma_uv__inputs {
	struct rpma_uv__futures running;
	struct rpma_uv__futures consumed;
	unsigned left;
	unsigned reserved;
};

/* room for rpma_uv_all(); total and failed may be read once it is done */
struct rpma_uv_all {
	rpma_uv_future_t future;
	struct rpma_uv__inputs u_inputs; /* private */
	unsigned total; /* inputs */
	unsigned failed; /* of them */
};

/* room for rpma_uv_any(); total, failed and winner may be read once it is done */
struct rpma_uv_any {
	rpma_uv_future_t future;
	struct rpma_uv__inputs u_inputs; /* private */
	unsigned total; /* inputs */
	unsigned failed; /* of them, before it was done */
	unsigned winner; /* index of the one that succeeded; total: none did */
	unsigned u_flags; /* private */
};

/*
 * rpma_uv_then - have a callback run when the future is done
 *
 * Shape:      registers cb and returns f. A future that is done already has its callback run in the
 *             next turn. One callback a future: a second then, or one with cb NULL, registers
 *             nothing.
 * Ownership:  data is the caller's; it becomes f->data.
 * Completion: cb runs once, on the loop's thread; f and its operation's storage may be reused in
 *             it, unless f also has a parent, which learns after it.
 * Returns:    f; NULL when f or cb is NULL, or f has a callback already.
 * Source:     reactor/future.c
 */
rpma_uv_future_t *rpma_uv_then(rpma_uv_future_t *f, rpma_uv_cb cb, void *data);

/*
 * rpma_uv_chain - go on with another operation when this one has succeeded
 *
 * Shape:      a future, always from the slab, for the one which next returns. When f fails, next
 *             is skipped and the failure is passed on. To end it with a value of your own, let next
 *             return a resolved promise. A cancel goes to the step that is waited for; one that
 *             comes between two steps keeps the second from being called, or reaches it as soon as
 *             next has returned it.
 * Ownership:  f is consumed: the chain is its parent. data is handed to next as it is.
 * Completion: after what next has returned, or after f when that failed; result and detail are
 *             those of the one that was the last.
 * Returns:    the chain's future; NULL when f is NULL or the slab could not grow, and then f is
 *             untouched.
 * Errors:     UV_EBUSY   f, or what next returned, has a parent already
 *             UV_ENOMEM  next returned NULL
 *             UV_EINVAL  next is NULL
 *             any other  that of f, or of what next returned
 * Source:     reactor/chain.c
 */
rpma_uv_future_t *rpma_uv_chain(rpma_uv_future_t *f, rpma_uv_next_fn next, void *data);

/*
 * rpma_uv_all - one future for many
 *
 * Shape:      done when the last of n inputs is; status is that of the first to fail, or 0;
 *             result is the number that succeeded, all->failed counts the others. n of 0 ends 0 in
 *             the next turn. f[] is read during the call only.
 * Ownership:  inputs are consumed; they stay readable until the callback of all, or the
 *             rpma_uv_wait() on it, has returned. An input that is NULL counts as failed with
 *             UV_ENOMEM. all is caller-owned room, which need not be initialised and is the
 *             library's until then; NULL takes it from the slab.
 * Returns:    the future of all; NULL only when all is NULL and the slab could not grow.
 * Errors:     UV_EINVAL  an input of another reactor; no input is taken then
 *             UV_EBUSY   an input has a parent already, or stands in f[] twice; no input is taken
 *                        then
 *             any other  that of the first input to fail
 * Source:     reactor/all.c
 */
rpma_uv_future_t *rpma_uv_all(
	rpma_uv_reactor_t *r, rpma_uv_all_t *all, rpma_uv_future_t *const f[], unsigned n);

/* rpma_uv_any: cancel the losers too, as rpma_uv_cancel() without force does */
#define RPMA_UV_ANY_CANCEL 1u

/*
 * rpma_uv_any - one future for the first of many to succeed
 *
 * Shape:      done with the first input that succeeds: status 0, its result, and any->winner is its
 *             index in f[]; or with the last one that fails, when all have: its status and detail.
 *             Inputs that are done already count at once, the first in f[] before the others. f[]
 *             is read during the call only. flags is 0 or RPMA_UV_ANY_CANCEL, which also cancels
 *             what still runs when another has won. With a sleep among the inputs it stops the
 *             waiting, not the operation; to stop that, see rpma_uv_timeout().
 * Ownership:  inputs are consumed, but for the losers: those are cut loose before it is done. A
 *             loser runs on and may get a new parent; from the slab, it frees itself when done. All
 *             inputs stay readable until the callback of any, or the rpma_uv_wait() on it, has
 *             returned. An input that is NULL counts as failed with UV_ENOMEM. any is caller-owned
 *             room, as in rpma_uv_all().
 * Returns:    the future of any; NULL only when any is NULL and the slab could not grow.
 * Errors:     UV_EINVAL  n is 0 (in the next turn), unknown flags, an input of another reactor; no
 *                        input is taken then
 *             UV_EBUSY   an input has a parent already, or stands in f[] twice; no input is taken
 *                        then
 *             any other  that of the last input to fail
 * Source:     reactor/any.c
 */
rpma_uv_future_t *rpma_uv_any(rpma_uv_reactor_t *r, rpma_uv_any_t *any, rpma_uv_future_t *const f[],
	unsigned n, unsigned flags);

/*
 * rpma_uv_sleep - a future that is done when the time has passed
 *
 * Shape:      0 is done in the next turn, UINT64_MAX only when it is cancelled.
 * Units:      ms in milliseconds from the call on
 * Completion: with status 0.
 * Errors:     UV_ECANCELED  cancelled, or the reactor is closing
 * Source:     reactor/promise.c
 */
rpma_uv_future_t *rpma_uv_sleep(rpma_uv_reactor_t *r, rpma_uv_op_t *op, uint64_t ms);

/*
 * rpma_uv_promise - a future that the program completes itself
 *
 * Shape:      pending until rpma_uv_resolve() or rpma_uv_cancel(). It joins other work of the loop
 *             to futures: uv_fs, TCP, uv_queue_work().
 * Completion: in the turn after it is resolved, with the status and result given there.
 * Errors:     UV_ECANCELED  cancelled, or the reactor is closing
 *             any other     what rpma_uv_resolve() was given
 * Source:     reactor/promise.c
 */
rpma_uv_future_t *rpma_uv_promise(rpma_uv_reactor_t *r, rpma_uv_op_t *op);

/*
 * rpma_uv_resolve - complete a promise
 *
 * Shape:      the promise's callback runs in the next turn, not inside of this call. status is 0 or
 *             negative, result whatever the program likes.
 * Errors:     UV_EINVAL    promise is NULL or not a promise, or status is positive
 *             UV_EALREADY  resolved or cancelled before
 * Source:     reactor/promise.c
 */
int rpma_uv_resolve(rpma_uv_future_t *promise, int status, int64_t result);

/* rpma_uv_cancel, rpma_uv_timeout: end posted work too, and the connection with it */
#define RPMA_UV_FORCE 1u

/*
 * rpma_uv_cancel - ask an operation to end early
 *
 * Shape:      asks and returns; the future completes in its own time, once. how is 0 or
 *             RPMA_UV_FORCE. Where the operation is decides:
 *             queued           taken out; it ends UV_ECANCELED
 *             in the ring      asked to stop, and its true outcome wins
 *             posted           cannot be recalled: UV_EBUSY. With RPMA_UV_FORCE the connection ends
 *                              with UV_ECONNABORTED: this operation ends UV_ECANCELED, all others
 *                              of the connection UV_ECONNABORTED; what had completed by the time of
 *                              the call keeps its outcome, and the connection lives on if this was
 *                              among it
 *             connect, accept  abandoned at once, and the connection ends UV_ECANCELED
 *             transfer         stops issuing, drains, and ends UV_ECANCELED; forced, its READs are
 *                              as above
 *             all, any, chain  passed on to the inputs that run, or the present step
 * Ownership:  storage and memory stay the operation's until its callback, as if nobody had asked.
 * Errors:     UV_EBUSY     posted to the device, a receive of a shared receive queue (forced or
 *                          not), or a sync that runs: it cannot be recalled; of an all or any: one
 *                          of its inputs, and the others have been asked all the same
 *             UV_EALREADY  done already
 *             UV_EINVAL    f is NULL, how unknown
 * Source:     reactor/future.c
 */
int rpma_uv_cancel(rpma_uv_future_t *f, unsigned how);

/*
 * rpma_uv_timeout - cancel an operation that is not done in time
 *
 * Shape:      when the time has passed, what rpma_uv_cancel() with this how does is done, and what
 *             it ends is called UV_ETIMEDOUT instead of UV_ECANCELED. A completion that is there by
 *             then has come in time. One without force that finds the operation posted changes
 *             nothing and is counted (timeouts_refused). A second time-out of the same future
 *             replaces the first; it goes when the future ends.
 * Units:      ms in milliseconds from the call on, 0 is the next turn
 * Errors:     UV_EALREADY  done already
 *             UV_EINVAL    f is NULL, how unknown
 * Source:     reactor/timeout.c
 */
int rpma_uv_timeout(rpma_uv_future_t *f, uint64_t ms, unsigned how);

/*
 * rpma_uv_wait - run the loop until the future is done
 *
 * Shape:      runs uv_run() in its turns until f is done or the time has run out. Other callbacks
 *             run meanwhile. It is the parent of f while it runs.
 * Units:      timeout_ms in milliseconds; UINT64_MAX: no bound
 * Ownership:  a future of the slab is gone once its status was returned.
 * Callbacks:  must not be called in any, for uv_run() is not re-entrant. In a callback of this
 *             library it is noticed, UV_EBUSY; in a foreign callback of libuv it cannot be.
 * Returns:    the status of f, and its result in *result_ptr, which may be NULL and is untouched on
 *             failure; RPMA_UV_PENDING when the time ran out: f is then as it was before the call.
 * Errors:     UV_EBUSY   called from a callback of this library, or f has a parent already
 *             UV_ENOMEM  f is NULL
 *             any other  the status of f
 * Source:     reactor/wait.c
 */
int rpma_uv_wait(rpma_uv_future_t *f, uint64_t timeout_ms, int64_t *result_ptr);

/*
 * rpma_uv_release - give a future of the slab back without looking at it
 *
 * Shape:      on one that is still running it means: free yourself when done. Ignored by a future
 *             that is embedded, is NULL, or has a callback or a parent, by which it will be freed
 *             anyway.
 * Ownership:  f is not to be used after the call.
 * Source:     reactor/future.c
 */
void rpma_uv_release(rpma_uv_future_t *f);

/*
 * rpma_uv_unref - the loop need not wait for this future
 *
 * Shape:      it runs on as long as the loop does for other reasons, and keeps it alive no more: of
 *             use for posted receives and rpma_uv_conn_end(). all, any and chain pass it on to the
 *             inputs that run, and to the steps to come. rpma_uv_wait() on it turns the loop all
 *             the same. NULL and one that is done already: no effect. There is no way back.
 * Source:     reactor/future.c
 */
void rpma_uv_unref(rpma_uv_future_t *f);

/*
 * rpma_uv_strerror - one line for people: what failed, and why
 *
 * Shape:      names the operation, what it worked on where that is known, and the reason. f may be
 *             NULL, which is what an operation returns for which the slab could not grow.
 * Ownership:  the text belongs to the reactor and is good until the next call.
 * Returns:    the text, never NULL.
 * Source:     reactor/future.c
 */
const char *rpma_uv_strerror(const rpma_uv_future_t *f);

/* ---- the reactor ----------------------------------------------------------------------------- */

struct rpma_uv_reactor {
	void *data; /* the caller's; never touched */
	uv_loop_t *loop;
	struct rpma_uv__reactor *impl; /* private */
	void *u_reserved[3];
};

/* all zero means all defaults; size is sizeof() of the struct the caller was built with */
typedef struct rpma_uv_reactor_opts {
	size_t size;
	unsigned ring_entries; /* submission entries of the io_uring: 256 */
	unsigned
		cq_entries; /* entries of each completion queue: 4096, at most the device's limit */
	unsigned cq_budget; /* completions handled in one turn: 256 */
	int spin_us; /* microseconds of polling after a completion: 0 means 50, negative none */
	unsigned queue_bound; /* operations that may wait on one connection: 65536 */
	unsigned callback_budget; /* callbacks run in one phase of a turn, of three at most: 1024 */
	/*
	 * Asynchronous events of devices (port down, queue pair or device failed) end the
	 * connections concerned. All reactors of a process share the device and its descriptor
	 * (ibv_context.async_fd): the first one that uses it makes it non-blocking, reads it and
	 * hands over what concerns others, until it closes. 0 or positive: so; negative: left to
	 * the program. It then ends such connections itself, and one on a shared receive queue
	 * takes RPMA_UV_DRAIN_TIMEOUT to end.
	 */
	int async_events;
	uint64_t u_reserved[3];
} rpma_uv_reactor_opts_t;

typedef struct rpma_uv_reactor_stats {
	uint64_t futures_pending; /* futures not done */
	uint64_t callbacks; /* callbacks run */
	uint64_t slab_objects; /* objects the slab has room for */
	uint64_t slab_used; /* of those, the ones in use */
	uint64_t posted; /* work requests that a device holds */
	uint64_t timeouts; /* time-outs of futures that have passed */
	uint64_t timeouts_refused; /* of those, the ones that found the work posted, or over */
	uint64_t cancels_forced; /* operations ended by force */
	uint64_t works; /* of rpma_uv_reactor_post(), run */
	uint64_t budgets_spent; /* phases that left callbacks for the next one */
	uint64_t holds; /* reasons to keep the loop alive: 0 and it ends */
	uint64_t flushes; /* of queues that had something to give: at most three a turn */
	uint64_t doorbells; /* lists of work requests given to a device */
	uint64_t work_requests; /* work requests in those lists */
	uint64_t completions; /* work completions taken from completion queues */
	uint64_t cq_events; /* events of completion channels */
	uint64_t cq_events_empty; /* of those, the ones with nothing behind them */
	uint64_t cq_count; /* completion queues alive */
	uint64_t cm_events; /* events of the connection manager */
	uint64_t ring_enters; /* io_uring_enter() calls that submitted */
	uint64_t ring_submitted; /* requests they carried */
	uint64_t ring_completions; /* completions taken from the ring */
	uint64_t ring_wakeups; /* wake-ups by the ring's eventfd */
	uint64_t spins; /* turns spent polling instead of sleeping */
	uint64_t ring_flags; /* set-up flags that the kernel accepted, IORING_SETUP_* */
	uint64_t conns; /* connections alive */
	uint64_t conns_ready; /* of those, READY */
	uint64_t rnr_errors; /* sends that ended UV_ENOBUFS: the peer had no receive for too long */
	uint64_t async_events; /* of devices, read by this reactor */
	uint64_t u_reserved[3];
} rpma_uv_reactor_stats_t;

/*
 * rpma_uv_reactor_init - put a reactor on a loop
 *
 * Shape:      it embeds in the loop's turn; every handle is unref'd, and one is ref'd exactly while
 *             work is outstanding (a future not done, an open listener, a close under way), so that
 *             uv_run() returns when the work is done. The RDMA event channel and the ring are made
 *             at their first use, so that a machine without the one or the other can still use what
 *             it has. Futures and listeners can be unref'd.
 * Ownership:  r is the caller's storage, not movable, reusable from its close callback on. opts may
 *             be NULL and is copied.
 * Errors:     UV_EINVAL  loop or r is NULL, or an option is out of range
 *             UV_ENOMEM  out of memory
 * Source:     reactor/reactor.c
 */
int rpma_uv_reactor_init(uv_loop_t *loop, rpma_uv_reactor_t *r, const rpma_uv_reactor_opts_t *opts);

/*
 * rpma_uv_reactor_close - end everything on a reactor
 *
 * Shape:      stops transfers, closes listeners, connections and shared receive queues, then files,
 *             then pools that are still open; their close callbacks run before cb, which may be
 *             NULL, and their futures end UV_ECANCELED. Closing twice is the caller's bug.
 * Ownership:  from cb on r may be reused. The program may still close a connection, listener,
 *             shared receive queue, file or pool that was taken so: once, right after this call or
 *             in the callback of a future of that object. Its close callback then runs as well.
 * Completion: cb runs once, with data, in the closing phase, never inside this call.
 * Source:     reactor/reactor.c
 */
void rpma_uv_reactor_close(rpma_uv_reactor_t *r, rpma_uv_close_cb cb, void *data);

/*
 * rpma_uv_reactor_ref - keep the loop alive without work
 *
 * Shape:      a reactor starts unref'd: its work alone keeps the loop alive. Ref'd, it does so by
 *             itself, as it must for a program that waits for what other threads post. As with
 *             uv_ref(), twice is the same as once. Closing ends it.
 * Source:     reactor/reactor.c
 */
void rpma_uv_reactor_ref(rpma_uv_reactor_t *r);

/*
 * rpma_uv_reactor_unref - keep the loop alive for work alone
 *
 * Shape:      takes rpma_uv_reactor_ref() back. Work that is outstanding keeps the loop alive all
 *             the same; for that, see rpma_uv_unref() and rpma_uv_ep_unref().
 * Source:     reactor/reactor.c
 */
void rpma_uv_reactor_unref(rpma_uv_reactor_t *r);

/* caller-owned room for one piece of work; data is the caller's, reactor where it was posted */
struct rpma_uv_work {
	void *data;
	rpma_uv_reactor_t *reactor;
	/* private from here on */
	rpma_uv_work_cb u_cb;
	struct rpma_uv_work *u_next;
	void *u_reserved[2];
};

/*
 * rpma_uv_reactor_post - have the loop's thread run a callback
 *
 * Shape:      hands over and returns; wakes the loop; never waits, takes no lock. What one thread
 *             posts is run in that order. What was posted in a turn of the loop keeps it alive until
 *             it has run. Of what is posted to a loop that is just ending, or does not run, uv_run()
 *             can know nothing: so hold a rpma_uv_reactor_ref() as long as others may post, from
 *             before they start to the callback of their last work.
 *             No post may begin when rpma_uv_reactor_close() has been called; but the callback of
 *             the last work may call it, even if that post has not returned yet. What was posted
 *             before runs before the reactor's close callback.
 * Ownership:  w is the library's until its callback has begun, in which it may be posted again, or
 *             freed. w->data is set before; the rest need not be initialised.
 * Completion: cb runs once, in a phase of the loop, never inside this call.
 * Threads:    any, and this is the only call of which that is true; what the poster has written
 *             before is visible in the callback. Not from a signal handler.
 * Errors:     UV_EINVAL  r, w or cb is NULL
 * Source:     reactor/work.c
 */
int rpma_uv_reactor_post(rpma_uv_reactor_t *r, rpma_uv_work_t *w, rpma_uv_work_cb cb);

/*
 * rpma_uv_reactor_stats - copy a reactor's counters
 *
 * Shape:      counts since rpma_uv_reactor_init(), and sizes as they are now. Cheap: nothing is
 *             asked of the device or the kernel.
 * Ownership:  stats is the caller's.
 * Source:     reactor/stats.c
 */
void rpma_uv_reactor_stats(const rpma_uv_reactor_t *r, rpma_uv_reactor_stats_t *stats);

/* ---- connections ----------------------------------------------------------------------------- */

/*
 * rpma_uv_peer_new - find the device behind an address and make a peer on it
 *
 * Shape:      addr is an address or a host name: with RPMA_UTIL_IBV_CONTEXT_LOCAL of this host, for
 *             the device that has it, with RPMA_UTIL_IBV_CONTEXT_REMOTE of another, for the device
 *             that leads there. Only a name needs libuv's pool. Each step is bounded by
 *             RPMA_DEFAULT_TIMEOUT_MS.
 * Ownership:  *peer_ptr is the caller's, for rpma_peer_delete() after everything made from it; it
 *             is written before the callback, and untouched on failure.
 * Errors:     UV_EINVAL         addr or peer_ptr is NULL, unknown type, wildcard address of this
 *                               host
 *             UV_EADDRNOTAVAIL  no device has the address
 *             UV_ENODEV         no device leads there
 *             UV_EAI_*          the name cannot be resolved
 *             UV_ETIMEDOUT      nobody answered for the address
 *             UV_ENOMEM         out of memory
 *             UV_ECANCELED      cancelled, or the reactor is closing
 *             any other         that of the device
 * Source:     reactor/peer.c
 */
rpma_uv_future_t *rpma_uv_peer_new(rpma_uv_reactor_t *r, rpma_uv_op_t *op, const char *addr,
	enum rpma_util_ibv_context_type type, struct rpma_peer **peer_ptr);

/*
 * rpma_uv_conn_new - make a connection in the state NEW
 *
 * Shape:      reserves room on a completion queue for sq_size + rq_size entries; the reactor owns
 *             completion, so cfg's cq_size, rcq_size, shared channel and shared receive queue are not
 *             looked at. Receives may be posted at once.
 * Ownership:  *conn_ptr is the reactor's until the callback of rpma_uv_conn_close(); peer is
 *             borrowed as long. Untouched on failure. cfg may be NULL for the defaults and is
 *             copied.
 * Errors:     UV_EINVAL     r, peer or conn_ptr is NULL, or cfg has an sq_size of 0
 *             UV_ENOMEM     memory
 *             UV_ECANCELED  the reactor is closing
 *             any other     that of the device, when a completion queue could not be made
 * Source:     reactor/conn.c
 */
int rpma_uv_conn_new(rpma_uv_reactor_t *r, struct rpma_peer *peer, const struct rpma_conn_cfg *cfg,
	rpma_uv_conn_t **conn_ptr);

/*
 * rpma_uv_conn_set_keepalive - notice a peer that is gone without a word
 *
 * Shape:      while the connection is READY and nothing was sent to the peer for that long, the
 *             library writes zero bytes to it, which its card answers and its program does not
 *             notice. Without that, a peer whose power was cut is never noticed by one that only
 *             has receives posted. Allowed from NEW to READY, where it takes effect at once; it
 *             stays when it is set before.
 *             It is no work: it has no future, and does not keep the loop alive.
 * Units:      keepalive_ms in milliseconds; 0, the default, is none. A peer that is gone is noticed
 *             about 4 seconds after the write: the connection ends UV_ETIMEDOUT.
 * Errors:     UV_EINVAL     c is NULL
 *             UV_ENOTCONN   the connection has ended
 *             UV_ECANCELED  it was closed
 * Source:     reactor/keepalive.c
 */
int rpma_uv_conn_set_keepalive(rpma_uv_conn_t *c, uint64_t keepalive_ms);

/*
 * rpma_uv_connect - connect to a listener
 *
 * Shape:      resolves address and route, each within cfg's time-out, then connects within
 *             RPMA_UV_CONNECT_TIMEOUT. Receives posted before are on the queue when the peer's
 *             first message can arrive. A failed connection goes to CLOSED and only waits for its
 *             close.
 * Units:      pd->len in bytes, at most 56 on InfiniBand and RoCE; pd may be NULL
 * Completion: when the connection is READY; private data of the answer is readable then.
 * Errors:     UV_EINVAL         addr or port is NULL, pd->ptr is NULL, pd->len is 0 or too long,
 *                               or the connection is not NEW
 *             UV_EAI_*          the name cannot be resolved
 *             UV_EADDRNOTAVAIL  the address is of no use
 *             UV_EHOSTUNREACH   no route, or no answer below
 *             UV_ECONNREFUSED   rejected, or nobody listens; private data of a rejection is
 *                               readable
 *             UV_ETIMEDOUT      the peer stayed silent
 *             UV_ENODEV         the route leads over another device than the peer's
 *             UV_ECONNRESET     the peer has disconnected
 *             UV_ENOMEM         the device has no room for the queues
 *             UV_ECANCELED      cancelled, or closed first
 *             any other         that of the device
 * Source:     reactor/connect.c
 */
rpma_uv_future_t *rpma_uv_connect(rpma_uv_conn_t *c, rpma_uv_op_t *op, const char *addr,
	const char *port, const struct rpma_conn_private_data *pd);

/* all zero means all defaults; size is sizeof() of the struct the caller was built with */
typedef struct rpma_uv_reconnect_opts {
	size_t size;
	uint64_t initial_ms; /* the first delay is between 0 and this, later ones are longer: 100 */
	uint64_t max_ms; /* none is longer than this: 10000 */
	unsigned factor; /* a delay is at most so many times the one before: 3 */
	unsigned attempts; /* that many, then it fails: 0 means until it is cancelled */
	uint64_t seed; /* of the random delays, for tests: 0 means that nobody knows */
	/*
	 * runs with each new connection, before it connects, to post receives or to set its
	 * keep-alive or its shared receive queue; it does not connect or close it. Non-zero, a
	 * UV_E*, gives up with that.
	 */
	int (*on_conn)(rpma_uv_conn_t *c, void *data);
	void *data;
	uint64_t u_reserved[4];
} rpma_uv_reconnect_opts_t;

/*
 * rpma_uv_reconnect - connect, and try again with growing delays until it works
 *
 * Shape:      makes a connection as rpma_uv_conn_new() does and connects it as rpma_uv_connect()
 *             does. One that fails is closed; when it is gone and a delay has passed, another one
 *             is tried: never two at once. The connection that was lost is not needed, and not
 *             touched.
 *             Clients that lose their server together do not come back together: the first delay is
 *             random between 0 and initial_ms, each later one between initial_ms and factor times
 *             the one before it, or max_ms if that is less (decorrelated jitter).
 *             Receives that on_conn has posted end with the attempt that they were posted for.
 * Units:      pd->len in bytes, at most 56 on InfiniBand and RoCE; pd may be NULL
 * Ownership:  peer is borrowed until the callback, and by the connection; cfg and opts may be NULL
 *             for the defaults and are copied. *conn_ptr is written before the callback, and is the
 *             reactor's until the callback of rpma_uv_conn_close(). Untouched on failure.
 * Completion: when a connection is READY; result is the number of attempts that it took.
 * Errors:     UV_EINVAL     peer, addr, port or conn_ptr is NULL, pd->ptr is NULL or pd->len 0,
 *                           max_ms is below initial_ms, or an attempt found an argument wrong
 *             UV_ENOMEM     memory for the operation itself
 *             UV_ECANCELED  cancelled, or the reactor is closing
 *             any other     that of the last attempt, or on_conn's
 * Source:     reactor/reconnect.c
 */
rpma_uv_future_t *rpma_uv_reconnect(rpma_uv_reactor_t *r, rpma_uv_op_t *op, struct rpma_peer *peer,
	const struct rpma_conn_cfg *cfg, const char *addr, const char *port,
	const struct rpma_conn_private_data *pd, const rpma_uv_reconnect_opts_t *opts,
	rpma_uv_conn_t **conn_ptr);

/* runs for each request; it may accept or reject it at once or later */
typedef void (*rpma_uv_conn_req_cb)(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data);

/*
 * rpma_uv_listen - listen for connection requests
 *
 * Shape:      addr and port are numeric: nothing is resolved. cb runs for every request; the
 *             request stays open until it is accepted or rejected, or the listener is closed (which
 *             rejects it). A backlog of 0 leaves the length to the kernel. An open listener keeps
 *             the loop running.
 * Ownership:  *ep_ptr is the reactor's until the callback of rpma_uv_ep_close(). Untouched on
 *             failure. peer is borrowed as long; data is handed to cb as it is.
 * Errors:     UV_EINVAL         an argument but data is NULL, or addr or port is not numeric
 *             UV_ENODEV         the address is another device's than the peer's; of a wildcard
 *                               address the accept tells
 *             UV_EADDRINUSE     somebody listens there
 *             UV_EADDRNOTAVAIL  the address is not of this host
 *             UV_ENOMEM         out of memory
 *             UV_ECANCELED      the reactor is closing
 * Source:     reactor/ep.c
 */
int rpma_uv_listen(rpma_uv_reactor_t *r, struct rpma_peer *peer, const char *addr, const char *port,
	int backlog, rpma_uv_conn_req_cb cb, void *data, rpma_uv_ep_t **ep_ptr);

/*
 * rpma_uv_ep_port - the port that a listener got
 *
 * Shape:      of use after listening on port 0.
 * Returns:    the port, in host order; 0 once the listener is closing.
 * Source:     reactor/ep.c
 */
uint16_t rpma_uv_ep_port(const rpma_uv_ep_t *ep);

/*
 * rpma_uv_ep_unref - the loop need not wait for requests
 *
 * Shape:      an open listener keeps the loop alive; one that is unref'd does not, and serves as
 *             long as the loop runs for other reasons. A request that has arrived is work until it
 *             was shown. There is no way back.
 * Source:     reactor/ep.c
 */
void rpma_uv_ep_unref(rpma_uv_ep_t *ep);

/*
 * rpma_uv_ep_close - stop listening
 *
 * Shape:      requests that are not answered are rejected; accepted connections live on.
 * Ownership:  ep is gone once cb, which may be NULL, has run.
 * Completion: cb runs once, with data, in the closing phase, never inside this call.
 * Source:     reactor/ep.c
 */
void rpma_uv_ep_close(rpma_uv_ep_t *ep, rpma_uv_close_cb cb, void *data);

/*
 * rpma_uv_accept - accept a request on a NEW connection
 *
 * Shape:      posts the receives that wait on c, then accepts, within RPMA_UV_CONNECT_TIMEOUT.
 * Units:      pd->len in bytes, at most 196 on InfiniBand and RoCE; pd may be NULL
 * Ownership:  req is consumed whatever comes; its private data moves to c.
 * Completion: when the connection is READY.
 * Errors:     UV_EINVAL        pd->ptr is NULL, pd->len is 0 or too long, or the connection is not
 *                              NEW; the request is rejected
 *             UV_ENODEV        the request came over another device than the peer's
 *             UV_ECONNREFUSED  the peer has given up
 *             UV_ECONNRESET    the peer has disconnected
 *             UV_EHOSTUNREACH  no answer below
 *             UV_ETIMEDOUT     the peer stayed silent
 *             UV_ENOMEM        the device has no room for the queues
 *             UV_ECANCELED     cancelled, or closed first
 *             any other        that of the device
 * Source:     reactor/connect.c
 */
rpma_uv_future_t *rpma_uv_accept(rpma_uv_conn_req_t *req, rpma_uv_op_t *op, rpma_uv_conn_t *c,
	const struct rpma_conn_private_data *pd);

/*
 * rpma_uv_reject - turn a request down, with a word of why
 *
 * Shape:      the peer's connect ends UV_ECONNREFUSED and finds the word in its private data.
 * Units:      pd->len in bytes, at most 148 on InfiniBand and RoCE; pd may be NULL
 * Ownership:  req is gone after the call, whatever comes.
 * Errors:     UV_EINVAL  pd->ptr is NULL, or pd->len is 0 or too long; the request is rejected
 *                        without it
 *             any other  that of rdma_reject(3)
 * Source:     reactor/ep.c
 */
rpma_uv_future_t *rpma_uv_reject(
	rpma_uv_conn_req_t *req, rpma_uv_op_t *op, const struct rpma_conn_private_data *pd);

/*
 * rpma_uv_conn_end - learn when and why a connection has left READY for good
 *
 * Shape:      any number may wait. On a connection that never was READY it ends with the reason for
 *             that.
 * Completion: with status 0 when we disconnected.
 * Errors:     UV_ECANCELED   it was closed, or the waiting was cancelled
 *             UV_ECONNRESET  the peer disconnected
 *             UV_ENODEV, UV_ENETDOWN  its device or its port went away
 *             any other      the connection's first error
 * Source:     reactor/conn.c
 */
rpma_uv_future_t *rpma_uv_conn_end(rpma_uv_conn_t *c, rpma_uv_op_t *op);

/*
 * rpma_uv_disconnect - end a READY connection in good order
 *
 * Shape:      queued operations end UV_ECANCELED, posted ones by their flush.
 * Completion: with 0, when no operation is left, at the latest RPMA_UV_DRAIN_TIMEOUT later.
 * Errors:     UV_ENOTCONN   the connection is not READY
 *             UV_ECANCELED  it was closed
 * Source:     reactor/conn.c
 */
rpma_uv_future_t *rpma_uv_disconnect(rpma_uv_conn_t *c, rpma_uv_op_t *op);

/*
 * rpma_uv_conn_close - end a connection in any state and free it
 *
 * Shape:      disconnects when need be; every future of the connection is done before cb runs.
 * Ownership:  c is gone once cb, which may be NULL, has run.
 * Completion: cb runs once, with data, in the closing phase, never inside this call.
 * Source:     reactor/conn.c
 */
void rpma_uv_conn_close(rpma_uv_conn_t *c, rpma_uv_close_cb cb, void *data);

/*
 * rpma_uv_conn_private_data, rpma_uv_conn_req_private_data - what the peer sent along
 *
 * Shape:      {NULL, 0} when there is none. On InfiniBand and RoCE the length is that of the whole
 *             field, zero padded: 56 bytes of a request, 196 of an acceptance, 148 of a rejection.
 * Units:      pd->len in bytes
 * Ownership:  the memory lives as long as the object; accepting moves it to the connection.
 * Errors:     UV_EINVAL  an argument is NULL
 * Source:     reactor/conn.c, reactor/ep.c
 */
int rpma_uv_conn_private_data(const rpma_uv_conn_t *c, struct rpma_conn_private_data *pd);
int rpma_uv_conn_req_private_data(const rpma_uv_conn_req_t *req, struct rpma_conn_private_data *pd);

/*
 * rpma_uv_conn_remote_addr - the peer's address
 *
 * Shape:      numeric with its port, such as "10.9.9.1:7204"; empty before it is known.
 * Ownership:  the text is the connection's.
 * Returns:    the text, never NULL.
 * Source:     reactor/conn.c
 */
const char *rpma_uv_conn_remote_addr(const rpma_uv_conn_t *c);

/*
 * rpma_uv_conn_apply_remote_peer_cfg - take over what the peer says of itself
 *
 * Shape:      copies the direct-write flag into the connection.
 * Ownership:  pcfg may be deleted after the call.
 * Errors:     UV_EINVAL  an argument is NULL
 * Source:     reactor/conn.c
 */
int rpma_uv_conn_apply_remote_peer_cfg(rpma_uv_conn_t *c, const struct rpma_peer_cfg *pcfg);

/* ---- remote memory --------------------------------------------------------------------------- */

/* a place in a region: offset in bytes from its start; {NULL, 0} for zero-byte operations */
typedef struct rpma_uv_local {
	const struct rpma_mr_local *mr;
	size_t offset;
} rpma_uv_local_t;

typedef struct rpma_uv_remote {
	const struct rpma_mr_remote *mr;
	size_t offset;
} rpma_uv_remote_t;

/*
 * rpma_uv_read - start a READ of remote bytes into a local region
 *
 * Shape:      queues and returns; never waits. What the send queue or the negotiated read depth has
 *             no room for waits in order. What is longer than the port's message limit becomes
 *             several work requests, with this one future. flags is 0.
 * Units:      len in bytes; 0 with both regions NULL and both offsets 0 is a zero-byte read
 * Ownership:  borrows dst's region until the callback; src's may be deleted after the call.
 * Completion: in the order of the calls on this connection's send side; result is len. After a
 *             failure any part of dst may have been written. Cancelled while a part is posted, it
 *             posts no more, and ends UV_ECANCELED when that part has come back.
 * Errors:     UV_EINVAL     one region alone is NULL, flags is not 0, or a range is outside a
 *                           region
 *             UV_ENOTCONN   the connection is not READY
 *             UV_EAGAIN     the connection's queue bound is reached; wait for any completion
 *             UV_EACCES     the peer's region does not allow it
 *             UV_EFAULT     the local region does not allow it
 *             UV_ETIMEDOUT  the peer is gone
 *             UV_ECANCELED  the connection was closed first, or rpma_uv_cancel()
 *             any other     the connection's first error; of several work requests, that of the
 *                           first to fail
 * Source:     reactor/rma.c
 */
rpma_uv_future_t *rpma_uv_read(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t dst,
	rpma_uv_remote_t src, size_t len, unsigned flags);

/*
 * rpma_uv_write - start a WRITE of local bytes into a remote region
 *
 * Shape:      queues and returns; never waits. What the send queue has no room for waits in order.
 *             What is longer than the port's message limit becomes several work requests, with this
 *             one future. flags is 0.
 * Units:      len in bytes; 0 with both regions NULL and both offsets 0 is a zero-byte write
 * Ownership:  borrows src's region until the callback; dst's may be deleted after the call.
 * Completion: in the order of the calls on this connection's send side; result is len. Done means
 *             that the peer's device has taken the bytes: src may be changed. Whether the peer's
 *             processor sees them, and whether they outlast a loss of power, is what a flush is
 *             for. After a failure any part of dst may have been written.
 * Errors:     UV_EINVAL     one region alone is NULL, flags is not 0, or a range is outside a
 *                           region
 *             UV_ENOTCONN   the connection is not READY
 *             UV_EAGAIN     the connection's queue bound is reached; wait for any completion
 *             UV_EACCES     the peer's region does not allow it
 *             UV_EFAULT     the local region does not allow it
 *             UV_ETIMEDOUT  the peer is gone
 *             UV_ECANCELED  the connection was closed first, or rpma_uv_cancel()
 *             any other     the connection's first error; of several work requests, that of the
 *                           first to fail
 * Source:     reactor/rma.c
 */
rpma_uv_future_t *rpma_uv_write(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_remote_t dst,
	rpma_uv_local_t src, size_t len, unsigned flags);

/*
 * rpma_uv_write_with_imm - start a WRITE that uses up a receive of the peer, and tells it 32 bits
 *
 * Shape:      as rpma_uv_write(). Of several work requests the last one carries the word: when the
 *             peer's receive completes, all of the bytes are there.
 * Units:      len as in rpma_uv_write(); imm in host order
 * Ownership:  borrows src's region until the callback; dst's may be deleted after the call.
 * Completion: as rpma_uv_write(). The peer's receive tells the length of the last work request and
 *             leaves its own buffer alone, see rpma_uv_recv_info().
 * Errors:     UV_ENOBUFS  the peer had no receive posted for too long
 *             any other   as rpma_uv_write()
 * Source:     reactor/rma.c
 */
rpma_uv_future_t *rpma_uv_write_with_imm(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_remote_t dst,
	rpma_uv_local_t src, size_t len, unsigned flags, uint32_t imm);

/*
 * rpma_uv_atomic_write - start a write of 8 bytes that the peer sees all at once
 *
 * Shape:      queues and returns; never waits. It takes effect after the writes and the flushes that
 *             were called before it on this connection: write, flush, atomic write, flush is how a
 *             record, and after it the pointer to it, become durable. The device's own operation
 *             where it has one; RPMA_F_EMULATED in flags keeps it from that. flags is 0 otherwise.
 * Units:      dst's offset in bytes; it and the remote address are multiples of
 *             RPMA_ATOMIC_WRITE_ALIGNMENT
 * Ownership:  src is copied during the call; dst's region may be deleted after it.
 * Completion: in the order of the calls on this connection's send side; result is 8. Done means what
 *             it means of a write.
 * Errors:     UV_EINVAL     NULL, an unknown flag, not aligned, or outside the region
 *             UV_ENOTSUP    the device neither does it by itself nor carries data in a work request
 *             UV_ENOTCONN   the connection is not READY
 *             UV_EAGAIN     the connection's queue bound is reached; wait for any completion
 *             UV_EACCES     the peer's region does not allow it
 *             UV_ETIMEDOUT  the peer is gone
 *             UV_ECANCELED  the connection was closed first, or rpma_uv_cancel()
 *             any other     the connection's first error
 * Source:     reactor/persist.c
 */
rpma_uv_future_t *rpma_uv_atomic_write(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_remote_t dst,
	const char src[RPMA_ATOMIC_WRITE_ALIGNMENT], unsigned flags);

/*
 * rpma_uv_flush - make what was written before visible, or durable, at the peer
 *
 * Shape:      queues and returns; never waits. It covers the writes that were called before it on
 *             this connection and went to the range; their own futures need not be waited for.
 *             RPMA_FLUSH_TYPE_VISIBILITY: the peer's processor sees them.
 *             RPMA_FLUSH_TYPE_PERSISTENT: they outlast a loss of power; refused unless the peer has
 *             declared direct write, see rpma_uv_conn_apply_remote_peer_cfg(). Where the device has
 *             the operation itself it is that, else a READ of 8 bytes of the region; either takes
 *             one of the negotiated read depth. Whether the peer's device has it cannot be asked:
 *             towards one that has not, the first flush of the device's own breaks the connection.
 *             RPMA_F_EMULATED in flags, or RPMA_NATIVE=0 in the environment when the peer object is
 *             made, chooses the READ. flags is 0 otherwise.
 * Units:      len in bytes, inside the region; it may be 0 and may exceed UINT32_MAX
 * Ownership:  dst's region may be deleted after the call.
 * Completion: in the order of the calls on this connection's send side; result is len.
 * Errors:     UV_EINVAL     NULL, an unknown flag or type, or a range outside the region
 *             UV_ENOTSUP    PERSISTENT without the peer's declaration of direct write, or a region
 *                           that was not registered for this type of flush
 *             UV_ENOMEM     memory; only of the first one of a connection that is a READ
 *             UV_ENOTCONN   the connection is not READY
 *             UV_EAGAIN     the connection's queue bound is reached; wait for any completion
 *             UV_EACCES     the peer's region does not allow it
 *             UV_ETIMEDOUT  the peer is gone
 *             UV_ECANCELED  the connection was closed first, or rpma_uv_cancel()
 *             any other     the connection's first error, or that of ibv_reg_mr(3), when UV_ENOMEM
 *                           could be too
 * Source:     reactor/persist.c, src/flush.c
 */
rpma_uv_future_t *rpma_uv_flush(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_remote_t dst,
	size_t len, enum rpma_flush_type type, unsigned flags);

/* one write of rpma_uv_persist(): len bytes, more than 0, from local to remote */
typedef struct rpma_uv_piece {
	rpma_uv_local_t local;
	rpma_uv_remote_t remote;
	size_t len;
} rpma_uv_piece_t;

/*
 * rpma_uv_persist - write pieces and flush them: one future, one doorbell
 *
 * Shape:      queues and returns; never waits. As many writes as there are pieces, in their order,
 *             then one flush of the range from the first to the last byte of them all, as by
 *             rpma_uv_flush() with type and flags. They go out together as far as the send queue has
 *             room: n + 1 work requests, and one more each time that a piece exceeds the port's
 *             message limit; the rest follows in order when there is room.
 * Units:      n is 1 at least; len of each piece in bytes, not 0
 * Ownership:  borrows pieces[], and the regions of both ends, until the callback.
 * Completion: in the order of the calls on this connection's send side; result is the bytes of all
 *             pieces. Status 0 means what it means of the flush. After a failure any part may have
 *             been written, and nothing is known of its durability. Cancelled while a part is
 *             posted, it posts no more, no flush either, and ends UV_ECANCELED when that part has
 *             come back.
 * Errors:     UV_EINVAL     NULL, n or a len is 0, there is more than one remote region, an unknown
 *                           flag or type, or a range outside a region
 *             UV_EFAULT     a local region does not allow it
 *             any other     as rpma_uv_flush(); of several work requests, that of the first to fail
 * Source:     reactor/persist.c
 */
rpma_uv_future_t *rpma_uv_persist(rpma_uv_conn_t *c, rpma_uv_op_t *op,
	const rpma_uv_piece_t pieces[], unsigned n, enum rpma_flush_type type, unsigned flags);

/*
 * rpma_uv_send, rpma_uv_send_with_imm - send one message, the latter with 32 bits beside it
 *
 * Shape:      queues and returns; never waits. What the send queue has no room for waits in order.
 *             At the peer it takes one receive. A message is never cut. flags is 0; imm is in host
 *             order at both ends.
 * Units:      len in bytes, at most the port's message limit; 0 with src's region NULL is an empty
 *             message
 * Ownership:  borrows src's region until the callback.
 * Completion: in the order of the calls on this connection's send side; result is len.
 * Errors:     UV_EINVAL     src's region is NULL and len is not 0, flags is not 0, or the range is
 *                           outside the region
 *             UV_EMSGSIZE   above the port's message limit
 *             UV_ENOTCONN   the connection is not READY
 *             UV_EAGAIN     the connection's queue bound is reached; wait for any completion
 *             UV_ENOBUFS    the peer had no receive posted for too long
 *             UV_EREMOTEIO  the peer's receive was too small
 *             UV_EFAULT     the local region does not allow it
 *             UV_ETIMEDOUT  the peer is gone
 *             UV_ECANCELED  the connection was closed first, or rpma_uv_cancel()
 *             any other     the connection's first error
 * Source:     reactor/rma.c
 */
rpma_uv_future_t *rpma_uv_send(
	rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t src, size_t len, unsigned flags);
rpma_uv_future_t *rpma_uv_send_with_imm(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t src,
	size_t len, unsigned flags, uint32_t imm);

/*
 * rpma_uv_recv - post one receive
 *
 * Shape:      allowed from NEW on: receives posted before connect or accept are on the queue before
 *             the peer can send. What the receive queue has no room for waits in order.
 * Units:      len in bytes; 0 with dst's region NULL takes an empty message
 * Ownership:  borrows dst's region until the callback.
 * Completion: in posting order, and not before the connection is READY, so that it can be answered;
 *             result is the number of bytes received, and rpma_uv_recv_info() has the rest. A write
 *             with a word in it uses a receive up too: then the bytes are in that write's target,
 *             and dst is as it was.
 * Errors:     UV_EINVAL     dst's region is NULL and len is not 0, the range is outside the region,
 *                           or the connection was made without a receive queue
 *             UV_EMSGSIZE   the message did not fit, or len is above the port's message limit
 *             UV_ENOTCONN   the connection has ended
 *             UV_EAGAIN     the connection's queue bound is reached; wait for any completion
 *             UV_EFAULT     the local region does not allow it
 *             UV_ECANCELED  the connection was closed first, or rpma_uv_cancel()
 *             any other     the connection's first error
 * Source:     reactor/rma.c
 */
rpma_uv_future_t *rpma_uv_recv(
	rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t dst, size_t len);

typedef struct rpma_uv_recv_info {
	size_t len;
	int has_imm;
	uint32_t imm; /* host order */
	rpma_uv_conn_t *conn;
	int is_write; /* rpma_uv_write_with_imm(): len bytes are in its target, none in the buffer */
} rpma_uv_recv_info_t;

/*
 * rpma_uv_recv_info - what came with a received message
 *
 * Shape:      to be called in the receive's callback, or later as long as its storage is not
 *             reused.
 * Units:      info->len in bytes; info->imm in host order, if info->has_imm is not 0
 * Ownership:  info is the caller's; info->conn is the connection that the message came over.
 * Errors:     UV_EINVAL  f or info is NULL, or f is not a receive that has succeeded
 * Source:     reactor/rma.c
 */
int rpma_uv_recv_info(const rpma_uv_future_t *f, rpma_uv_recv_info_t *info);

/*
 * rpma_uv_srq_new - make a shared receive queue: receives that several connections draw from
 *
 * Shape:      reserves room on a completion queue for all of it, once, whoever's messages come.
 * Units:      size is the number of receives that the device holds at a time; more wait in order.
 * Ownership:  *srq_ptr is the reactor's until the callback of rpma_uv_srq_close(); peer is borrowed
 *             as long. Untouched on failure.
 * Errors:     UV_EINVAL     r, peer or srq_ptr is NULL, size is 0, or more than the device can
 *             UV_ENOMEM     memory, or a completion queue could not be made
 *             UV_ECANCELED  the reactor is closing
 * Source:     reactor/srq.c
 */
int rpma_uv_srq_new(
	rpma_uv_reactor_t *r, struct rpma_peer *peer, uint32_t size, rpma_uv_srq_t **srq_ptr);

/*
 * rpma_uv_conn_set_srq - have a connection draw its receives from a shared receive queue
 *
 * Shape:      allowed while the connection is NEW and no receive of its own was called; none can be
 *             from then on, and its rq_size is of no meaning any more. A connection that ends waits
 *             for the device's word that it has taken its last receive, at the latest until
 *             RPMA_UV_DRAIN_TIMEOUT.
 * Ownership:  srq is borrowed until the connection has ended: rpma_uv_srq_close() waits for it.
 * Errors:     UV_EINVAL     c or srq is NULL, the connection is not NEW, has receives or a queue
 *                           already, or the queue is of another reactor or peer
 *             UV_ECANCELED  connection or queue was closed
 * Source:     reactor/srq.c
 */
int rpma_uv_conn_set_srq(rpma_uv_conn_t *c, rpma_uv_srq_t *srq);

/*
 * rpma_uv_srq_recv - post one receive for a message of any of the connections
 *
 * Shape:      allowed at once: receives that are posted before the connections are made are there
 *             when the first message comes. What the queue has no room for waits in order. A receive
 *             is the queue's: one that a connection has not taken when it ends stays for the others.
 *             A posted one cannot be cancelled, forced or not.
 * Units:      len in bytes; 0 with dst's region NULL takes an empty message
 * Ownership:  borrows dst's region until the callback.
 * Completion: as the messages come, of one connection in the order of posting; result is the number
 *             of bytes received, and rpma_uv_recv_info() has the rest and the connection. One that
 *             fails ends the connection that has taken it.
 * Errors:     UV_EINVAL     dst's region is NULL and len is not 0, or the range is outside the region
 *             UV_EMSGSIZE   the message did not fit
 *             UV_EAGAIN     the queue bound of the reactor is reached; wait for any completion
 *             UV_EFAULT     the local region does not allow it
 *             UV_ECANCELED  the queue was closed first, or rpma_uv_cancel() while it waited
 *             any other     the first error of the connection that has taken it
 * Source:     reactor/srq.c
 */
rpma_uv_future_t *rpma_uv_srq_recv(
	rpma_uv_srq_t *srq, rpma_uv_op_t *op, rpma_uv_local_t dst, size_t len);

/*
 * rpma_uv_srq_close - give a shared receive queue up, once its connections have ended
 *
 * Shape:      receives that wait end UV_ECANCELED at once. When the last connection that was given
 *             the queue has ended, which is the program's to see to, before or after, the device lets
 *             go of it, and the receives that were posted end UV_ECANCELED too.
 * Ownership:  srq is gone from cb on. cb may be NULL.
 * Completion: cb runs once, with data, in the closing phase, never inside this call.
 * Source:     reactor/srq.c
 */
void rpma_uv_srq_close(rpma_uv_srq_t *srq, rpma_uv_close_cb cb, void *data);

/* ---- local storage --------------------------------------------------------------------------- */

/* rpma_uv_file_open: bypass the page cache where the file system says it can be done */
#define RPMA_UV_FILE_DIRECT 1u
/* rpma_uv_file_write: durable when done (RWF_DSYNC) */
#define RPMA_UV_FILE_DSYNC 1u

/*
 * rpma_uv_file_open - open a file through the ring
 *
 * Shape:      as open(2); O_CLOEXEC is always added. RPMA_UV_FILE_DIRECT, or O_DIRECT in oflags,
 *             asks the file system (STATX_DIOALIGN) and falls back to the page cache where it does
 *             not say; pieces that are not aligned go through a second, buffered descriptor.
 * Ownership:  *file_ptr is the reactor's until the callback of rpma_uv_file_close(); written before
 *             the callback, untouched on failure. path is copied.
 * Errors:     UV_EINVAL     path or file_ptr is NULL, unknown flags, O_APPEND or O_PATH
 *             UV_ENOSYS     the kernel has no io_uring
 *             UV_EPERM      the kernel allows no io_uring
 *             UV_ENOMEM     out of memory
 *             UV_ECANCELED  cancelled, or the reactor is closing
 *             any other     that of open(2) or statx(2)
 * Source:     reactor/file.c
 */
rpma_uv_future_t *rpma_uv_file_open(rpma_uv_reactor_t *r, rpma_uv_op_t *op, const char *path,
	int oflags, mode_t mode, unsigned flags, rpma_uv_file_t **file_ptr);

/*
 * rpma_uv_file_write, rpma_uv_file_read - move bytes between memory and a file at an offset
 *
 * Shape:      short results are continued, EAGAIN and EINTR repeated within a bound. A write is
 *             done when every byte is confirmed; a read also at the end of the file. flags is 0 or
 *             RPMA_UV_FILE_DSYNC.
 * Units:      off in bytes, not negative; n of 1 to 16 buffers
 * Ownership:  bufs[] and its memory are borrowed until the callback. Memory of a pool buffer takes
 *             the registered path by itself.
 * Completion: result is the bytes moved. No order among them.
 * Errors:     UV_EINVAL     bufs is NULL, off negative, n or a flag out of range
 *             UV_ECANCELED  cancelled before the ring had it, or the file was closed first
 *             any other     that of pwrite(2) or pread(2); of a write after a sync has failed, the
 *                           status of that sync
 * Source:     reactor/file_rw.c
 */
rpma_uv_future_t *rpma_uv_file_write(rpma_uv_file_t *f, rpma_uv_op_t *op, const uv_buf_t bufs[],
	unsigned n, int64_t off, unsigned flags);
rpma_uv_future_t *rpma_uv_file_read(
	rpma_uv_file_t *f, rpma_uv_op_t *op, const uv_buf_t bufs[], unsigned n, int64_t off);

/*
 * rpma_uv_file_sync - a barrier: all that was written before it is durable
 *
 * Shape:      waits for every write called before it, then starts fdatasync(2); of a file that this
 *             reactor created it also syncs the directory, once. Overlapping syncs share one call.
 *             One that waits can be cancelled; one that runs cannot, see rpma_uv_cancel().
 * Completion: after every write that it covers. Writes called after it are no part of it.
 * Errors:     UV_ECANCELED  cancelled while it waited, or the file was closed first
 *             any other     that of the first failed write that it covers, or of fsync(2). The
 *                           latter is final: every later write, allocate and sync of the file fails
 *                           with the same status
 * Source:     reactor/file_sync.c
 */
rpma_uv_future_t *rpma_uv_file_sync(rpma_uv_file_t *f, rpma_uv_op_t *op);

/*
 * rpma_uv_file_allocate - give a file its blocks ahead of the writes
 *
 * Shape:      extends the file where it is shorter than off + len: fallocate(2) with mode 0.
 * Units:      off and len in bytes; off not negative, len above 0
 * Errors:     UV_EINVAL     off or len out of range
 *             UV_ENOTSUP    the file system cannot do it
 *             UV_ECANCELED  cancelled, or the file was closed first
 *             any other     that of fallocate(2); after a sync has failed, the status of that sync
 * Source:     reactor/file_rw.c
 */
rpma_uv_future_t *rpma_uv_file_allocate(
	rpma_uv_file_t *f, rpma_uv_op_t *op, int64_t off, int64_t len);

/*
 * rpma_uv_file_close - close a file, once its operations are done
 *
 * Shape:      waits for nothing itself: operations go on, and end before cb. It does not sync.
 * Ownership:  f is gone once cb, which may be NULL, has run.
 * Completion: cb runs once, with data, in the closing phase, never inside this call.
 * Source:     reactor/file.c
 */
void rpma_uv_file_close(rpma_uv_file_t *f, rpma_uv_close_cb cb, void *data);

/*
 * rpma_uv_file_is_direct - tell whether writes of a file bypass the page cache
 *
 * Shape:      what was asked for at rpma_uv_file_open(), if the file system can do it.
 * Returns:    1 if they do, else 0.
 * Source:     reactor/file.c
 */
int rpma_uv_file_is_direct(const rpma_uv_file_t *f);

/* ---- buffers known to the device and the ring ------------------------------------------------ */

typedef struct rpma_uv_pool_opts {
	size_t size;
	unsigned count; /* buffers: 16 */
	size_t chunk; /* bytes each, a multiple of 4096: 262144 */
	uint64_t u_reserved[4];
} rpma_uv_pool_opts_t;

/* one buffer; base and size are for reading, and local is its place in the pool's region */
struct rpma_uv_buf {
	void *base;
	size_t size;
	rpma_uv_local_t local;
	rpma_uv_pool_t *pool;
	unsigned index;
	unsigned u_reserved;
	rpma_uv_buf_t *u_next; /* private */
};

/*
 * rpma_uv_pool_new - one region, registered with the device first and with the ring second
 *
 * Shape:      opts->count buffers of opts->chunk bytes, page aligned, in one mapping; opts may be
 *             NULL for the defaults. Above 4 MiB the registration runs on libuv's pool. When the
 *             ring refuses (memlock limit), buffers still work through ordinary writes;
 *             rpma_uv_pool_is_fixed() tells.
 * Units:      opts->chunk in bytes, a multiple of 4096
 * Ownership:  *pool_ptr is the reactor's until the callback of rpma_uv_pool_close(); peer is
 *             borrowed as long. Written before the callback, untouched on failure. opts is copied.
 * Errors:     UV_EINVAL     peer or pool_ptr is NULL, or an option is out of range
 *             UV_ENOMEM     out of memory, or of what RLIMIT_MEMLOCK allows: rpma_uv_strerror()
 *                           names the needed and the allowed size
 *             UV_ECANCELED  cancelled, or the reactor is closing
 *             any other     that of the device
 * Source:     reactor/pool.c
 */
rpma_uv_future_t *rpma_uv_pool_new(rpma_uv_reactor_t *r, rpma_uv_op_t *op, struct rpma_peer *peer,
	const rpma_uv_pool_opts_t *opts, rpma_uv_pool_t **pool_ptr);

/*
 * rpma_uv_pool_is_fixed - tell whether the ring knows a pool's buffers
 *
 * Shape:      for curiosity and figures; buffers are used alike.
 * Returns:    1 if it does, 0 if writes of them are ordinary ones.
 * Source:     reactor/pool.c
 */
int rpma_uv_pool_is_fixed(const rpma_uv_pool_t *pool);

/*
 * rpma_uv_buf_get - take a free buffer
 *
 * Shape:      never waits; rpma_uv_buf_wait() does.
 * Ownership:  the buffer is the caller's until rpma_uv_buf_put().
 * Returns:    the buffer; NULL when none is free or the pool is closing.
 * Source:     reactor/pool.c
 */
rpma_uv_buf_t *rpma_uv_buf_get(rpma_uv_pool_t *pool);

/*
 * rpma_uv_buf_put - give a buffer back
 *
 * Shape:      the first that waits for one gets it, in the next turn. Giving back twice is the
 *             caller's bug.
 * Ownership:  every operation on the buffer has to be done first.
 * Source:     reactor/pool.c
 */
void rpma_uv_buf_put(rpma_uv_buf_t *buf);

/*
 * rpma_uv_buf_wait - wait for a buffer
 *
 * Shape:      served in the order of the calls.
 * Ownership:  *buf_ptr is written before the callback and the caller's until rpma_uv_buf_put();
 *             untouched on failure.
 * Completion: result is the buffer's index.
 * Errors:     UV_EINVAL     buf_ptr is NULL
 *             UV_ECANCELED  cancelled, or the pool is closing
 * Source:     reactor/pool.c
 */
rpma_uv_future_t *rpma_uv_buf_wait(rpma_uv_pool_t *pool, rpma_uv_op_t *op, rpma_uv_buf_t **buf_ptr);

/*
 * rpma_uv_pool_close - free a pool
 *
 * Shape:      buffers that are out or waited for by then are the caller's bug.
 * Ownership:  pool is gone once cb, which may be NULL, has run.
 * Completion: cb runs once, with data, in the closing phase, never inside this call.
 * Source:     reactor/pool.c
 */
void rpma_uv_pool_close(rpma_uv_pool_t *pool, rpma_uv_close_cb cb, void *data);

/* ---- transfers ------------------------------------------------------------------------------- */

enum rpma_uv_durability {
	RPMA_UV_DURABILITY_GROUP = 0, /* a sync each group_bytes, and one at the end */
	RPMA_UV_DURABILITY_NONE,
	RPMA_UV_DURABILITY_DSYNC, /* every write */
	RPMA_UV_DURABILITY_FINAL /* one sync at the end */
};

enum rpma_uv_stage {
	RPMA_UV_STAGE_NONE = 0,
	RPMA_UV_STAGE_READ, /* the remote READ */
	RPMA_UV_STAGE_CHUNK, /* on_chunk refused */
	RPMA_UV_STAGE_WRITE, /* the file's write */
	RPMA_UV_STAGE_SYNC /* the file's sync */
};

/* all counts are of completed work, in bytes, from the start of the range */
typedef struct rpma_uv_transfer_stat {
	uint64_t total;
	uint64_t read;
	uint64_t written;
	uint64_t durable;
	uint64_t watermark; /* everything below is written, and durable unless durability is NONE */
	unsigned reads_in_flight;
	unsigned writes_in_flight;
	unsigned peak_reads;
	unsigned peak_writes;
	unsigned peak_overlap; /* most reads in flight while a write was too */
	unsigned syncs;
} rpma_uv_transfer_stat_t;

typedef struct rpma_uv_transfer_error {
	enum rpma_uv_stage stage;
	int status;
	uint32_t detail;
	uint64_t offset; /* of the failed step, from the start of the range */
	uint64_t watermark;
} rpma_uv_transfer_error_t;

typedef struct rpma_uv_transfer_opts {
	size_t size;
	size_t chunk; /* bytes a READ, at most the pool's buffer: that size */
	unsigned depth; /* READs in flight: 16, at most the negotiated read depth */
	unsigned writes; /* writes in flight: as many as the pool has buffers */
	enum rpma_uv_durability durability;
	uint64_t group_bytes; /* 16 MiB */
	/*
	 * called with each chunk before it is written; non-zero (UV_E*)
	 * ends the transfer with it
	 */
	int (*on_chunk)(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data);
	/* called when bytes were written or became durable, at most once a turn */
	void (*on_progress)(rpma_uv_transfer_t *t, const rpma_uv_transfer_stat_t *stat, void *data);
	void *data;
	uint64_t u_reserved[4];
} rpma_uv_transfer_opts_t;

/*
 * rpma_uv_transfer_new - make what a transfer needs, for one at a time
 *
 * Shape:      no transfer is started; rpma_uv_pull() does that, again and again. opts may be NULL
 *             for the defaults.
 * Units:      opts->chunk in bytes, opts->group_bytes too
 * Ownership:  delete it with rpma_uv_transfer_delete(). pool is borrowed until then; opts is
 *             copied.
 * Errors:     UV_EINVAL  pool or t_ptr is NULL, or an option is out of range
 *             UV_ENOMEM  out of memory
 * Source:     reactor/transfer.c
 */
int rpma_uv_transfer_new(
	rpma_uv_pool_t *pool, const rpma_uv_transfer_opts_t *opts, rpma_uv_transfer_t **t_ptr);

/*
 * rpma_uv_transfer_delete - delete a transfer
 *
 * Shape:      sets *t_ptr to NULL. A pointer to NULL is fine.
 * Ownership:  the pool stays whose it is.
 * Errors:     UV_EINVAL  t_ptr is NULL
 *             UV_EBUSY   it is running; cancel it and wait for its future
 * Source:     reactor/transfer.c
 */
int rpma_uv_transfer_delete(rpma_uv_transfer_t **t_ptr);

/*
 * rpma_uv_pull - remote memory into a local file
 *
 * Shape:      reads len bytes from src on, chunk by chunk, and writes each at off and the same
 *             distance; reads and writes overlap and complete in any order.
 * Units:      len and off in bytes
 * Ownership:  borrows t, the connection, the region of src and the file until the callback.
 * Completion: result is len. Status 0 with a durability other than NONE means durable.
 * Errors:     UV_EINVAL     an argument is NULL or out of range, or objects of several reactors
 *             UV_EBUSY      t is running already
 *             UV_ENOTCONN   the connection is not READY
 *             UV_ECANCELED  cancelled or closed
 *             any other     the first failure of a step; rpma_uv_transfer_error() tells stage,
 *                           offset and watermark
 * Source:     reactor/transfer.c
 */
rpma_uv_future_t *rpma_uv_pull(rpma_uv_transfer_t *t, rpma_uv_op_t *op, rpma_uv_conn_t *c,
	rpma_uv_remote_t src, uint64_t len, rpma_uv_file_t *dst, int64_t off);

/*
 * rpma_uv_transfer_stat - how far a transfer has come
 *
 * Shape:      at any time: before, while and after it runs, and in its callbacks.
 * Units:      bytes, from the start of the range
 * Ownership:  stat is the caller's.
 * Source:     reactor/transfer.c
 */
void rpma_uv_transfer_stat(const rpma_uv_transfer_t *t, rpma_uv_transfer_stat_t *stat);

/*
 * rpma_uv_transfer_error - where a transfer has failed
 *
 * Shape:      the first failure; stage NONE and status 0 when there is none.
 * Units:      error->offset and error->watermark in bytes, from the start of the range
 * Ownership:  error is the caller's.
 * Source:     reactor/transfer.c
 */
void rpma_uv_transfer_error(const rpma_uv_transfer_t *t, rpma_uv_transfer_error_t *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* LIBRPMA_UV_H */
