/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pool.c - buffers that the device and the ring both know
 *
 *                 registered           in the ring, or not        close()
 *   REGISTERING ------------> SLICING -------------------> READY ---------+
 *        |        with verbs     |                                        v
 *        | refused               | cancelled               out of it   UNSLICING
 *        v                       +------------------------------------->  |
 *   UNREGISTERING <-------------------------------------------------------+
 *        |
 *        +--> freed: after the close callback, or with the failure of rpma_uv_pool_new()
 *
 *   REGISTERING    big regions on libuv's pool, since pinning takes a while; so does letting go.
 *   SLICING        the ring takes the region in slices, one a turn. Verbs come first: the kernel
 *                  counts both against RLIMIT_MEMLOCK, and the device cannot do without.
 *   READY          `free` and `waiters` are not both non-empty.
 *   UNSLICING      as SLICING, the other way.
 *   UNREGISTERING  the region goes: verbs, then the mapping.
 */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "deadline.h"
#include "future.h"
#include "pool.h"
#include "reactor.h"
#include "ring.h"
#include "status.h"

#define COUNT_DEFAULT 16
#define CHUNK_DEFAULT ((size_t)256 << 10)
#define CHUNK_ALIGN   4096

/* a region that is pinned within the loop's turn is not larger than this */
#define INLINE_MAX ((size_t)4 << 20)

/* the next turn is as far off as the shortest deadline that does not expire within this one */
#define NEXT_TURN_MS 1

/* reads land in buffers, writes and messages are taken from them; no peer reaches into them */
#define USAGE \
	(RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV)

enum state { REGISTERING, SLICING, READY, UNSLICING, UNREGISTERING };

TAILQ_HEAD(waiters, rpma_uv__buf_waiter);

/* numbers only: they can be told when the pool is gone */
struct RPMA_UV__ROOM new_op {
	bool is_told; /* false in the room of an operation that was refused */
	unsigned count;
	uint64_t chunk;
	uint64_t memlock; /* what RLIMIT_MEMLOCK allows, when it may be what was missing; or 0 */
	rpma_uv_pool_t *pool;
	rpma_uv_pool_t **pool_ptr;
};

struct RPMA_UV__ROOM wait_op {
	struct rpma_uv__buf_waiter waiter;
	rpma_uv_pool_t *pool;
	rpma_uv_buf_t **buf_ptr;
};

struct rpma_uv_pool {
	struct rpma_uv__reactor *reactor;
	TAILQ_ENTRY(rpma_uv_pool) link;
	enum state state;

	struct rpma_peer *peer;
	struct rpma_mr_local *mr;
	char *base;
	size_t size, chunk;
	unsigned count;

	/* the ring's view: slices of slice_size bytes; 0: buffers are too large for it */
	size_t slice_size;
	unsigned slice_count, slices_in_ring;
	int *slices; /* places in the ring's table */
	bool is_fixed;

	struct rpma_uv__deadline step;
	uv_work_t work;
	int work_status; /* of the other thread; read once it is done */

	/* before READY */
	rpma_uv_op_t *new_op;
	int new_status;
	bool new_cancelled;

	/* READY */
	rpma_uv_buf_t *free;
	struct waiters waiters;

	rpma_uv_close_cb close_cb;
	void *close_data;
	struct rpma_uv__closer closer;

	rpma_uv_buf_t bufs[];
};

static void pool_set_state(rpma_uv_pool_t *pool, enum state state)
{
	assert(state > pool->state);
	assert(pool->slices_in_ring == 0 || state != UNREGISTERING);
	assert(TAILQ_EMPTY(&pool->waiters));
	pool->state = state;
}

/* ---- letting go ------------------------------------------------------------------------------ */

static void pool_free(rpma_uv_pool_t *pool)
{
	struct rpma_uv__reactor *r = pool->reactor;

	TAILQ_REMOVE(&r->pools, pool, link);
	free(pool->slices);
	free(pool);
	rpma_uv__reactor_child_gone(r);
}

static void pool_call_back(void *data)
{
	rpma_uv_pool_t *pool = data;

	if (pool->close_cb != NULL)
		pool->close_cb(pool->close_data);
}

static void pool_closed(struct rpma_uv__closer *closer)
{
	rpma_uv__reactor_drop(closer->reactor);
	pool_free(rpma_uv__container_of(closer, rpma_uv_pool_t, closer));
}

static void unregister_work(uv_work_t *work)
{
	rpma_uv_pool_t *pool = work->data;

	/* what a destroyer may fail with, nobody can do anything about */
	(void)rpma_mr_dereg(&pool->mr);
	(void)munmap(pool->base, pool->size);
}

static void unregister_done(uv_work_t *work, int status)
{
	rpma_uv_pool_t *pool = work->data;

	(void)status;
	if (pool->new_op != NULL) {
		rpma_uv__future_finish(&pool->new_op->future, pool->new_status, 0, 0);
		pool_free(pool);
	} else {
		rpma_uv__closer_start(
			pool->reactor, &pool->closer, pool_call_back, pool, pool_closed);
	}
}

/* run work() here, or on libuv's pool when it takes a while */
static void do_work(rpma_uv_pool_t *pool, uv_work_cb work, uv_after_work_cb done)
{
	pool->work.data = pool;
	if (pool->size > INLINE_MAX) {
		(void)uv_queue_work(pool->reactor->loop, &pool->work, work, done);
	} else {
		work(&pool->work);
		done(&pool->work, 0);
	}
}

static void unregister(rpma_uv_pool_t *pool)
{
	pool_set_state(pool, UNREGISTERING);
	do_work(pool, unregister_work, unregister_done);
}

static void unslice_next(rpma_uv_pool_t *pool)
{
	assert(pool->state == UNSLICING);
	if (pool->slices_in_ring > 0)
		rpma_uv__ring_buffer_remove(pool->reactor, pool->slices[--pool->slices_in_ring]);
	if (pool->slices_in_ring > 0)
		rpma_uv__deadline_set(pool->reactor, &pool->step, NEXT_TURN_MS);
	else
		unregister(pool);
}

static void unslice(rpma_uv_pool_t *pool)
{
	pool->is_fixed = false;
	pool_set_state(pool, UNSLICING);
	unslice_next(pool);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void new_fail(rpma_uv_pool_t *pool, int status)
{
	pool->new_status = status;
	if (pool->state == SLICING)
		unslice(pool);
	else
		unregister(pool);
}

static void bufs_init(rpma_uv_pool_t *pool)
{
	for (unsigned i = pool->count; i-- > 0;) {
		rpma_uv_buf_t *buf = &pool->bufs[i];

		buf->base = pool->base + i * pool->chunk;
		buf->size = pool->chunk;
		buf->local = (rpma_uv_local_t){ .mr = pool->mr, .offset = i * pool->chunk };
		buf->pool = pool;
		buf->index = i;
		buf->u_next = pool->free;
		pool->free = buf;
	}
}

static void new_succeed(rpma_uv_pool_t *pool)
{
	rpma_uv_op_t *op = pool->new_op;

	pool->is_fixed = pool->slice_count > 0 && pool->slices_in_ring == pool->slice_count;
	pool->new_op = NULL;
	bufs_init(pool);
	pool_set_state(pool, READY);
	*rpma_uv__room(struct new_op, op)->pool_ptr = pool;
	rpma_uv__future_finish(&op->future, 0, 0, 0);
}

/* a ring that takes a part only takes none: what it has pinned is better used elsewhere */
static void slices_refused(rpma_uv_pool_t *pool)
{
	while (pool->slices_in_ring > 0)
		rpma_uv__ring_buffer_remove(pool->reactor, pool->slices[--pool->slices_in_ring]);
	new_succeed(pool);
}

static void slice_next(rpma_uv_pool_t *pool)
{
	size_t at = pool->slices_in_ring * pool->slice_size;
	size_t len = pool->size - at < pool->slice_size ? pool->size - at : pool->slice_size;

	assert(pool->state == SLICING);
	if (pool->new_cancelled) {
		new_fail(pool, UV_ECANCELED);
		return;
	}
	if (rpma_uv__ring_buffer_add(
		    pool->reactor, pool->base + at, len, &pool->slices[pool->slices_in_ring])) {
		slices_refused(pool);
		return;
	}
	if (++pool->slices_in_ring < pool->slice_count)
		rpma_uv__deadline_set(pool->reactor, &pool->step, NEXT_TURN_MS);
	else
		new_succeed(pool);
}

static void step_expired(struct rpma_uv__deadline *d)
{
	rpma_uv_pool_t *pool = rpma_uv__container_of(d, rpma_uv_pool_t, step);

	if (pool->state == SLICING)
		slice_next(pool);
	else
		unslice_next(pool);
}

static void register_work(uv_work_t *work)
{
	rpma_uv_pool_t *pool = work->data;
	int ret = rpma_mr_reg(pool->peer, pool->base, pool->size, USAGE, &pool->mr);

	pool->work_status = rpma_uv__status_core(ret);
}

/* say how much memory may be locked, when that may have been the reason */
static void note_memlock(struct new_op *new_op)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_cur != RLIM_INFINITY)
		new_op->memlock = limit.rlim_cur;
}

static void register_done(uv_work_t *work, int status)
{
	rpma_uv_pool_t *pool = work->data;

	(void)status;
	assert(pool->state == REGISTERING);
	if (pool->new_cancelled) {
		new_fail(pool, UV_ECANCELED);
		return;
	}
	if (pool->work_status < 0) {
		if (pool->work_status == UV_ENOMEM)
			note_memlock(rpma_uv__room(struct new_op, pool->new_op));
		new_fail(pool, pool->work_status);
		return;
	}
	pool_set_state(pool, SLICING);
	if (pool->slice_count > 0 && rpma_uv__ring_ensure(pool->reactor) == 0)
		slice_next(pool);
	else
		new_succeed(pool);
}

static void new_describe(const rpma_uv_future_t *f, char *text, size_t size)
{
	const struct new_op *new_op = rpma_uv__room(struct new_op, rpma_uv__op_of(f));
	unsigned long long chunk = new_op->chunk;

	if (!new_op->is_told)
		return;
	if (new_op->memlock > 0)
		snprintf(text, size,
			" of %u buffers of %llu bytes, which needs %llu bytes locked where "
			"RLIMIT_MEMLOCK allows %llu",
			new_op->count, chunk, new_op->count * chunk,
			(unsigned long long)new_op->memlock);
	else
		snprintf(text, size, " of %u buffers of %llu bytes", new_op->count, chunk);
}

/* the registration cannot be called off, but its outcome can */
static int new_cancel(rpma_uv_future_t *f, unsigned how)
{
	(void)how;
	rpma_uv__room(struct new_op, rpma_uv__op_of(f))->pool->new_cancelled = true;
	return 0;
}

static const struct rpma_uv__kind new_kind = {
	.name = "pool",
	.cancel = new_cancel,
	.describe = new_describe,
};

/* the shape of a pool, its defaults filled in */
static int opts_take(rpma_uv_pool_opts_t *opts, const rpma_uv_pool_opts_t *from)
{
	*opts = (rpma_uv_pool_opts_t){ .size = sizeof(*opts) };
	if (from != NULL) {
		if (from->size < offsetof(rpma_uv_pool_opts_t, u_reserved))
			return UV_EINVAL;
		memcpy(opts, from, from->size < sizeof(*opts) ? from->size : sizeof(*opts));
	}
	if (opts->count == 0)
		opts->count = COUNT_DEFAULT;
	if (opts->chunk == 0)
		opts->chunk = CHUNK_DEFAULT;
	if (opts->chunk % CHUNK_ALIGN != 0 || opts->count > SIZE_MAX / 2 / opts->chunk)
		return UV_EINVAL;
	return 0;
}

static void shape_init(rpma_uv_pool_t *pool, const rpma_uv_pool_opts_t *opts)
{
	pool->count = opts->count;
	pool->chunk = opts->chunk;
	pool->size = opts->count * opts->chunk;
	if (pool->chunk > RPMA_UV__RING_BUFFER_MAX)
		return;
	pool->slice_size = RPMA_UV__RING_BUFFER_MAX - RPMA_UV__RING_BUFFER_MAX % pool->chunk;
	pool->slice_count = (unsigned)((pool->size + pool->slice_size - 1) / pool->slice_size);
}

static rpma_uv_pool_t *pool_map(struct rpma_uv__reactor *r, const rpma_uv_pool_opts_t *opts)
{
	rpma_uv_pool_t *pool = calloc(1, sizeof(*pool) + opts->count * sizeof(pool->bufs[0]));

	if (pool == NULL)
		return NULL;
	pool->reactor = r;
	TAILQ_INIT(&pool->waiters);
	rpma_uv__deadline_init(&pool->step, step_expired);
	shape_init(pool, opts);
	pool->slices = calloc(pool->slice_count + 1, sizeof(pool->slices[0]));
	if (pool->slices == NULL)
		goto err_free;
	pool->base =
		mmap(NULL, pool->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool->base == MAP_FAILED)
		goto err_slices_free;
	/* a child process that shared the pages would make the kernel move ours from the device */
	(void)madvise(pool->base, pool->size, MADV_DONTFORK);
	return pool;

err_slices_free:
	free(pool->slices);
err_free:
	free(pool);
	return NULL;
}

rpma_uv_future_t *rpma_uv_pool_new(rpma_uv_reactor_t *reactor, rpma_uv_op_t *op,
	struct rpma_peer *peer, const rpma_uv_pool_opts_t *from, rpma_uv_pool_t **pool_ptr)
{
	struct rpma_uv__reactor *r = reactor->impl;
	rpma_uv_pool_opts_t opts;
	rpma_uv_pool_t *pool;

	if (peer == NULL || pool_ptr == NULL || opts_take(&opts, from))
		return rpma_uv__op_fail(r, op, &new_kind, UV_EINVAL);
	if (r->closing)
		return rpma_uv__op_fail(r, op, &new_kind, UV_ECANCELED);
	pool = pool_map(r, &opts);
	if (pool == NULL)
		return rpma_uv__op_fail(r, op, &new_kind, UV_ENOMEM);
	op = rpma_uv__op_begin(r, op, &new_kind);
	if (op == NULL) {
		(void)munmap(pool->base, pool->size);
		free(pool->slices);
		free(pool);
		return NULL;
	}
	*rpma_uv__room(struct new_op, op) = (struct new_op){
		.is_told = true,
		.count = opts.count,
		.chunk = opts.chunk,
		.pool = pool,
		.pool_ptr = pool_ptr,
	};
	pool->peer = peer;
	pool->new_op = op;
	TAILQ_INSERT_TAIL(&r->pools, pool, link);
	do_work(pool, register_work, register_done);
	return &op->future;
}

int rpma_uv_pool_is_fixed(const rpma_uv_pool_t *pool)
{
	return pool->is_fixed;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* a buffer that is out is its own successor: so giving it back twice is noticed */
static rpma_uv_buf_t *take(rpma_uv_pool_t *pool)
{
	rpma_uv_buf_t *buf = pool->free;

	if (buf != NULL) {
		pool->free = buf->u_next;
		buf->u_next = buf;
	}
	return buf;
}

rpma_uv_buf_t *rpma_uv_buf_get(rpma_uv_pool_t *pool)
{
	assert(pool->free == NULL || TAILQ_EMPTY(&pool->waiters));
	return pool->state == READY ? take(pool) : NULL;
}

void rpma_uv_buf_put(rpma_uv_buf_t *buf)
{
	rpma_uv_pool_t *pool = buf->pool;
	struct rpma_uv__buf_waiter *waiter = TAILQ_FIRST(&pool->waiters);

	assert(buf->u_next == buf);
	if (waiter != NULL) {
		TAILQ_REMOVE(&pool->waiters, waiter, link);
		waiter->got(waiter, buf);
		return;
	}
	buf->u_next = pool->free;
	pool->free = buf;
}

void rpma_uv__buf_wait(rpma_uv_pool_t *pool, struct rpma_uv__buf_waiter *waiter)
{
	assert(pool->state == READY);
	assert(pool->free == NULL);
	TAILQ_INSERT_TAIL(&pool->waiters, waiter, link);
}

void rpma_uv__buf_wait_cancel(rpma_uv_pool_t *pool, struct rpma_uv__buf_waiter *waiter)
{
	TAILQ_REMOVE(&pool->waiters, waiter, link);
}

static void wait_got(struct rpma_uv__buf_waiter *waiter, rpma_uv_buf_t *buf)
{
	struct wait_op *wait = rpma_uv__container_of(waiter, struct wait_op, waiter);

	*wait->buf_ptr = buf;
	rpma_uv__future_finish(&rpma_uv__op_of_room(wait)->future, 0, buf->index, 0);
}

static int wait_cancel(rpma_uv_future_t *f, unsigned how)
{
	struct wait_op *wait = rpma_uv__room(struct wait_op, rpma_uv__op_of(f));

	(void)how;
	rpma_uv__buf_wait_cancel(wait->pool, &wait->waiter);
	rpma_uv__future_finish(f, UV_ECANCELED, 0, 0);
	return 0;
}

static const struct rpma_uv__kind wait_kind = {
	.name = "buffer wait",
	.cancel = wait_cancel,
};

rpma_uv_future_t *rpma_uv_buf_wait(rpma_uv_pool_t *pool, rpma_uv_op_t *op, rpma_uv_buf_t **buf_ptr)
{
	struct wait_op *wait;
	rpma_uv_buf_t *buf;

	if (buf_ptr == NULL)
		return rpma_uv__op_fail(pool->reactor, op, &wait_kind, UV_EINVAL);
	if (pool->state != READY)
		return rpma_uv__op_fail(pool->reactor, op, &wait_kind, UV_ECANCELED);
	op = rpma_uv__op_begin(pool->reactor, op, &wait_kind);
	if (op == NULL)
		return NULL;
	wait = rpma_uv__room(struct wait_op, op);
	wait->waiter.got = wait_got;
	wait->pool = pool;
	wait->buf_ptr = buf_ptr;
	buf = take(pool);
	if (buf != NULL)
		wait_got(&wait->waiter, buf);
	else
		rpma_uv__buf_wait(pool, &wait->waiter);
	return &op->future;
}

/* ---- closing --------------------------------------------------------------------------------- */

void rpma_uv_pool_close(rpma_uv_pool_t *pool, rpma_uv_close_cb cb, void *data)
{
	struct rpma_uv__buf_waiter *waiter;
	struct wait_op *wait;

	assert(pool->close_cb == NULL);
	pool->close_cb = cb;
	pool->close_data = data;
	/* the reactor that closes may have been first; the callback still comes */
	if (pool->state != READY)
		return;
	while ((waiter = TAILQ_FIRST(&pool->waiters)) != NULL) {
		assert(waiter->got == wait_got);
		wait = rpma_uv__container_of(waiter, struct wait_op, waiter);
		(void)wait_cancel(&rpma_uv__op_of_room(wait)->future, 0);
	}
	/* the loop stays alive until the close callback has run */
	rpma_uv__reactor_hold(pool->reactor);
	unslice(pool);
}

void rpma_uv__pool_close_all(struct rpma_uv__reactor *r)
{
	rpma_uv_pool_t *pool;

	TAILQ_FOREACH (pool, &r->pools, link) {
		if (pool->new_op != NULL)
			pool->new_cancelled = true;
		else if (pool->state == READY)
			rpma_uv_pool_close(pool, NULL, NULL);
	}
}

/* ---- for the rest of the library ------------------------------------------------------------- */

struct rpma_uv__reactor *rpma_uv__pool_reactor(const rpma_uv_pool_t *pool)
{
	return pool->reactor;
}

unsigned rpma_uv__pool_count(const rpma_uv_pool_t *pool)
{
	return pool->count;
}

size_t rpma_uv__pool_chunk(const rpma_uv_pool_t *pool)
{
	return pool->chunk;
}

int rpma_uv__pool_find(const struct rpma_uv__reactor *r, const void *base, size_t len)
{
	const rpma_uv_pool_t *pool;
	size_t at, slice;

	TAILQ_FOREACH (pool, &r->pools, link) {
		at = (size_t)((uintptr_t)base - (uintptr_t)pool->base);
		if (at >= pool->size || len > pool->size - at)
			continue;
		if (!pool->is_fixed)
			return -1;
		slice = at / pool->slice_size;
		return len <= (slice + 1) * pool->slice_size - at ? pool->slices[slice] : -1;
	}
	return -1;
}
