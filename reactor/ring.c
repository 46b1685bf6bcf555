/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * ring.c - one io_uring a reactor
 *
 *         queue()           flush()           completion             reap()
 *   IDLE ---------> QUEUED --------> OUT --------------> FINISHED ------------> IDLE, done()
 *                     |               | cancel()     ^     ^
 *                     |               v              |     |
 *                     |             STOP --flush()--> STOPPED
 *                     +----------- cancel() ---------------+
 *
 *   QUEUED    on the list `queued`; the kernel knows nothing of it
 *   OUT       on `out`; in the submission queue or with the kernel
 *   STOP      on `stops`; as OUT, and a request to cancel it is still to be prepared
 *   STOPPED   on `out`; that request was prepared
 *   FINISHED  on `finished`, with its result; only reaping calls done()
 *
 * Two steps make a completion: taking it from the completion queue, which may happen anywhere, and
 * done(), which happens in reaping only. So a flush that is told EBUSY can make room at once, and
 * yet nobody is called back from within a flush.
 *
 * The ring's own descriptor never wakes epoll when task work is deferred; a registered eventfd
 * does. Running deferred work signals the eventfd once more, hence the order: take, read the
 * eventfd, take again. Whoever has taken something outside the eventfd's callback reads it too, so
 * that the loop is not woken for what it knows already.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <liburing.h>

#include "deadline.h"
#include "reactor.h"
#include "ring.h"

/* places for registered buffers; a sparse table costs 16 bytes for each */
#define SLOTS      1024
#define SLOTS_WORD 64

/* completions looked at in one go, and goes in one reaping; more are left to the next turn */
#define TAKE_BATCH      64
#define TAKE_ROUNDS_MAX 1024

/* submission entries that are still worth having when memory is short */
#define ENTRIES_MIN 16

/* a kernel that takes nothing is asked again after so many milliseconds, doubling */
#define RETRY_MS     1
#define RETRY_MS_MAX 64

enum { IDLE, QUEUED, OUT, STOP, STOPPED, FINISHED };

TAILQ_HEAD(ios, rpma_uv__io);

struct rpma_uv__ring {
	struct rpma_uv__reactor *reactor;
	struct io_uring uring;
	uv_poll_t poll;
	int eventfd;
	bool enabled; /* the kernel has bound the ring to the loop's thread */
	bool reaping;
	bool closing;
	/* completions that the queue holds, and how many of those are kept free for cancels */
	unsigned room;
	unsigned spare;
	/* entries prepared, cancels too, whose completion was not taken */
	unsigned uncompleted;
	/* requests that are not IDLE */
	unsigned count;
	struct ios queued, out, stops, finished;
	struct rpma_uv__deadline retry; /* set: the kernel takes nothing for now */
	unsigned retry_ms;
	bool has_slots;
	uint64_t slots[SLOTS / SLOTS_WORD]; /* bits: place taken */
};

static void ring_check(const struct rpma_uv__ring *ring)
{
	assert(ring->uncompleted <= ring->room);
	assert(ring->count > 0 || TAILQ_EMPTY(&ring->queued));
	assert(ring->count > 0 || TAILQ_EMPTY(&ring->out));
	(void)ring;
}

/* ---- preparing ------------------------------------------------------------------------------- */

static void prepare_rw(struct io_uring_sqe *sqe, const struct rpma_uv__io *io)
{
	unsigned len = (unsigned)io->len;

	assert(io->len <= UINT32_MAX);
	if (io->code == RPMA_UV__IO_READV)
		io_uring_prep_readv(sqe, io->fd, io->iov, len, io->off);
	else if (io->code == RPMA_UV__IO_WRITEV)
		io_uring_prep_writev(sqe, io->fd, io->iov, len, io->off);
	else if (io->code == RPMA_UV__IO_READ && io->buf_index >= 0)
		io_uring_prep_read_fixed(sqe, io->fd, io->addr, len, io->off, io->buf_index);
	else if (io->code == RPMA_UV__IO_READ)
		io_uring_prep_read(sqe, io->fd, io->addr, len, io->off);
	else if (io->buf_index >= 0)
		io_uring_prep_write_fixed(sqe, io->fd, io->addr, len, io->off, io->buf_index);
	else
		io_uring_prep_write(sqe, io->fd, io->addr, len, io->off);
	sqe->rw_flags = (int)io->flags;
}

static void prepare(struct io_uring_sqe *sqe, struct rpma_uv__io *io)
{
	switch ((enum rpma_uv__io_code)io->code) {
	case RPMA_UV__IO_OPENAT:
		io_uring_prep_openat(sqe, io->fd, io->path, (int)io->flags, (mode_t)io->len);
		break;
	case RPMA_UV__IO_CLOSE:
		io_uring_prep_close(sqe, io->fd);
		break;
	case RPMA_UV__IO_STATX:
		io_uring_prep_statx(sqe, io->fd, "", AT_EMPTY_PATH, io->flags, io->statx);
		break;
	case RPMA_UV__IO_READ:
	case RPMA_UV__IO_WRITE:
	case RPMA_UV__IO_READV:
	case RPMA_UV__IO_WRITEV:
		prepare_rw(sqe, io);
		break;
	case RPMA_UV__IO_FSYNC:
		io_uring_prep_fsync(sqe, io->fd, 0);
		break;
	case RPMA_UV__IO_FDATASYNC:
		io_uring_prep_fsync(sqe, io->fd, IORING_FSYNC_DATASYNC);
		break;
	case RPMA_UV__IO_FALLOCATE:
		io_uring_prep_fallocate(
			sqe, io->fd, (int)io->flags, (off_t)io->off, (off_t)io->len);
		break;
	}
	io_uring_sqe_set_data(sqe, io);
}

/* a completion queue with room for all that is out cannot overflow; cancels always get through */
static bool has_room(const struct rpma_uv__ring *ring)
{
	return ring->uncompleted < ring->room - ring->spare;
}

static bool has_room_for_stop(const struct rpma_uv__ring *ring)
{
	return ring->uncompleted < ring->room;
}

static void prepare_stops(struct rpma_uv__ring *ring)
{
	struct io_uring_sqe *sqe;
	struct rpma_uv__io *io;

	while ((io = TAILQ_FIRST(&ring->stops)) != NULL && has_room_for_stop(ring)) {
		sqe = io_uring_get_sqe(&ring->uring);
		if (sqe == NULL)
			return;
		/* its own completion tells nothing that the target's does not */
		io_uring_prep_cancel(sqe, io, 0);
		io_uring_sqe_set_data(sqe, NULL);
		ring->uncompleted++;
		TAILQ_REMOVE(&ring->stops, io, link);
		TAILQ_INSERT_TAIL(&ring->out, io, link);
		io->state = STOPPED;
	}
}

static void prepare_queued(struct rpma_uv__ring *ring)
{
	struct io_uring_sqe *sqe;
	struct rpma_uv__io *io;

	while ((io = TAILQ_FIRST(&ring->queued)) != NULL && has_room(ring)) {
		sqe = io_uring_get_sqe(&ring->uring);
		if (sqe == NULL)
			return;
		prepare(sqe, io);
		ring->uncompleted++;
		TAILQ_REMOVE(&ring->queued, io, link);
		TAILQ_INSERT_TAIL(&ring->out, io, link);
		io->state = OUT;
	}
}

/* ---- taking completions ---------------------------------------------------------------------- */

static void finish(struct rpma_uv__ring *ring, struct ios *from, struct rpma_uv__io *io, int res)
{
	TAILQ_REMOVE(from, io, link);
	TAILQ_INSERT_TAIL(&ring->finished, io, link);
	io->state = FINISHED;
	io->res = res;
}

static void take_one(struct rpma_uv__ring *ring, const struct io_uring_cqe *cqe)
{
	struct rpma_uv__io *io = io_uring_cqe_get_data(cqe);

	assert(ring->uncompleted > 0);
	ring->uncompleted--;
	if (io == NULL)
		return;
	assert(io->state == OUT || io->state == STOP || io->state == STOPPED);
	finish(ring, io->state == STOP ? &ring->stops : &ring->out, io, cqe->res);
}

/* does the kernel hold completions back until it is entered? */
static bool holds_back(const struct rpma_uv__ring *ring)
{
	return IO_URING_READ_ONCE(*ring->uring.sq.kflags) &
	       (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN);
}

/*
 * Take all completions. Looking at an empty queue enters the kernel when that holds some back, and
 * one such entry runs a part of the deferred work only: so go on until nothing is left.
 */
static unsigned take(struct rpma_uv__ring *ring)
{
	struct io_uring_cqe *cqes[TAKE_BATCH];
	unsigned n, round, total = 0;

	if (!ring->enabled)
		return 0;
	for (round = 0; round < TAKE_ROUNDS_MAX; round++) {
		n = io_uring_peek_batch_cqe(&ring->uring, cqes, TAKE_BATCH);
		for (unsigned i = 0; i < n; i++)
			take_one(ring, cqes[i]);
		io_uring_cq_advance(&ring->uring, n);
		total += n;
		if (n == 0 && !holds_back(ring))
			break;
	}
	if (round == TAKE_ROUNDS_MAX)
		rpma_uv__reactor_kick(ring->reactor);
	if (total > 0)
		rpma_uv__deadline_clear(ring->reactor, &ring->retry);
	ring->reactor->stats.ring_completions += total;
	return total;
}

/* ---- submitting ------------------------------------------------------------------------------ */

static bool is_throttled(const struct rpma_uv__ring *ring)
{
	return rpma_uv__deadline_is_set(&ring->retry);
}

static void retry_expired(struct rpma_uv__deadline *d)
{
	struct rpma_uv__ring *ring = rpma_uv__container_of(d, struct rpma_uv__ring, retry);

	rpma_uv__reactor_kick(ring->reactor);
}

/*
 * The kernel took nothing. Completions of what is out would end that, but there may be none, so a
 * timer asks again.
 */
static void throttle(struct rpma_uv__ring *ring)
{
	ring->retry_ms = ring->retry_ms == 0 ? RETRY_MS : ring->retry_ms * 2;
	if (ring->retry_ms > RETRY_MS_MAX)
		ring->retry_ms = RETRY_MS_MAX;
	rpma_uv__deadline_set(ring->reactor, &ring->retry, ring->retry_ms);
}

/* bind the ring to this thread, which is the loop's; liburing 2.3 does not export its own call */
static int enable(struct rpma_uv__ring *ring)
{
	int ret = 0;

	if (ring->enabled)
		return 0;
	if (ring->uring.flags & IORING_SETUP_R_DISABLED)
		ret = io_uring_register(ring->uring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
	ring->enabled = ret >= 0;
	return ret;
}

static int submit(struct rpma_uv__ring *ring)
{
	int ret = enable(ring);

	if (ret < 0)
		return ret;
	ret = io_uring_submit(&ring->uring);
	/* no room for completions: make some, and ask once more */
	if (ret == -EBUSY && take(ring) > 0)
		ret = io_uring_submit(&ring->uring);
	return ret;
}

bool rpma_uv__ring_has_queued(const struct rpma_uv__reactor *r)
{
	const struct rpma_uv__ring *ring = r->ring;

	if (ring == NULL)
		return false;
	if (!TAILQ_EMPTY(&ring->finished))
		return true;
	if (is_throttled(ring))
		return false;
	return io_uring_sq_ready(&ring->uring) > 0 ||
	       (!TAILQ_EMPTY(&ring->stops) && has_room_for_stop(ring)) ||
	       (!TAILQ_EMPTY(&ring->queued) && has_room(ring));
}

void rpma_uv__ring_flush(struct rpma_uv__reactor *r)
{
	struct rpma_uv__ring *ring = r->ring;
	int ret;

	if (ring == NULL || is_throttled(ring))
		return;
	prepare_stops(ring);
	prepare_queued(ring);
	ring_check(ring);
	if (io_uring_sq_ready(&ring->uring) == 0)
		return;
	ret = submit(ring);
	if (ret > 0) {
		ring->retry_ms = 0;
		r->stats.ring_enters++;
		r->stats.ring_submitted += (unsigned)ret;
	} else {
		throttle(ring);
	}
	/* more than one submission carries, or completions taken on the way */
	if (rpma_uv__ring_has_queued(r))
		rpma_uv__reactor_kick(r);
}

/* ---- letting go ------------------------------------------------------------------------------ */

/* requests to cancel may still be on their way: they refer to no memory of ours */
static bool is_idle(const struct rpma_uv__ring *ring)
{
	return ring->count == 0;
}

static void poll_closed(uv_handle_t *handle)
{
	struct rpma_uv__ring *ring = handle->data;
	struct rpma_uv__reactor *r = ring->reactor;

	/* not before: a descriptor that epoll still watches would wake the loop for ever */
	close(ring->eventfd);
	free(ring);
	rpma_uv__reactor_handle_gone(r);
}

/* the kernel holds no request of ours any more: io_uring_queue_exit() would not wait for one */
static void let_go(struct rpma_uv__ring *ring)
{
	assert(is_idle(ring));
	rpma_uv__deadline_clear(ring->reactor, &ring->retry);
	ring->reactor->ring = NULL;
	(void)io_uring_unregister_eventfd(&ring->uring);
	io_uring_queue_exit(&ring->uring);
	uv_poll_stop(&ring->poll);
	uv_close((uv_handle_t *)&ring->poll, poll_closed);
}

/* ---- reaping --------------------------------------------------------------------------------- */

static void drain_eventfd(const struct rpma_uv__ring *ring)
{
	uint64_t value;
	ssize_t ret = read(ring->eventfd, &value, sizeof(value));

	/* it is not blocking: nothing to read is as good as having read it */
	(void)ret;
}

static bool deliver(struct rpma_uv__ring *ring)
{
	struct rpma_uv__io *io;
	bool any = false;

	while ((io = TAILQ_FIRST(&ring->finished)) != NULL) {
		assert(io->state == FINISHED);
		TAILQ_REMOVE(&ring->finished, io, link);
		io->state = IDLE;
		ring->count--;
		any = true;
		io->done(io, io->res);
	}
	return any;
}

static bool reap(struct rpma_uv__ring *ring, bool woken)
{
	bool any;

	assert(!ring->reaping);
	ring->reaping = true;
	if (take(ring) > 0 || woken) {
		drain_eventfd(ring);
		(void)take(ring);
	}
	any = deliver(ring);
	ring->reaping = false;
	ring_check(ring);
	/* what waited for room may have some now, whether or not anybody was called back */
	if (rpma_uv__ring_has_queued(ring->reactor))
		rpma_uv__reactor_kick(ring->reactor);
	return any;
}

bool rpma_uv__ring_reap(struct rpma_uv__reactor *r)
{
	return r->ring != NULL && reap(r->ring, false);
}

static void eventfd_cb(uv_poll_t *poll, int status, int events)
{
	struct rpma_uv__ring *ring = poll->data;

	(void)status;
	(void)events;
	ring->reactor->stats.ring_wakeups++;
	(void)reap(ring, true);
}

/*
 * The turn of the loop is no longer ours: submit the cancels from here. Where no completion is sure
 * to wake us, since some were taken already or the kernel took nothing, wake ourselves.
 */
static void closing_step(struct rpma_uv__ring *ring)
{
	const uint64_t one = 1;
	ssize_t ret = 0;

	rpma_uv__deadline_clear(ring->reactor, &ring->retry);
	rpma_uv__ring_flush(ring->reactor);
	if (!TAILQ_EMPTY(&ring->finished) || io_uring_sq_ready(&ring->uring) > 0)
		ret = write(ring->eventfd, &one, sizeof(one));
	(void)ret;
}

static void closing_cb(uv_poll_t *poll, int status, int events)
{
	struct rpma_uv__ring *ring = poll->data;

	(void)status;
	(void)events;
	(void)reap(ring, true);
	if (is_idle(ring))
		let_go(ring);
	else
		closing_step(ring);
}

/* ---- requests -------------------------------------------------------------------------------- */

void rpma_uv__ring_queue(struct rpma_uv__reactor *r, struct rpma_uv__io *io)
{
	struct rpma_uv__ring *ring = r->ring;

	assert(ring != NULL);
	assert(!ring->closing);
	io->state = QUEUED;
	TAILQ_INSERT_TAIL(&ring->queued, io, link);
	ring->count++;
	rpma_uv__reactor_kick(r);
}

void rpma_uv__ring_cancel(struct rpma_uv__reactor *r, struct rpma_uv__io *io)
{
	struct rpma_uv__ring *ring = r->ring;

	assert(io->state != IDLE);
	if (io->state == QUEUED) {
		finish(ring, &ring->queued, io, -ECANCELED);
	} else if (io->state == OUT) {
		TAILQ_REMOVE(&ring->out, io, link);
		TAILQ_INSERT_TAIL(&ring->stops, io, link);
		io->state = STOP;
	}
	rpma_uv__reactor_kick(r);
}

unsigned rpma_uv__ring_in_flight(const struct rpma_uv__reactor *r)
{
	return r->ring == NULL ? 0 : r->ring->count;
}

/* ---- registered buffers ---------------------------------------------------------------------- */

static int slot_find(const struct rpma_uv__ring *ring)
{
	for (int i = 0; i < SLOTS / SLOTS_WORD; i++) {
		if (~ring->slots[i] != 0)
			return i * SLOTS_WORD + __builtin_ctzll(~ring->slots[i]);
	}
	return -1;
}

static int slot_update(struct rpma_uv__ring *ring, int slot, void *base, size_t len)
{
	const struct iovec iov = { .iov_base = base, .iov_len = len };
	int ret;

	assert(slot >= 0 && slot < SLOTS);
	ret = io_uring_register_buffers_update_tag(&ring->uring, (unsigned)slot, &iov, NULL, 1);
	return ret < 0 ? ret : 0;
}

int rpma_uv__ring_buffer_add(struct rpma_uv__reactor *r, void *base, size_t len, int *index_ptr)
{
	struct rpma_uv__ring *ring = r->ring;
	int slot, ret;

	assert(ring != NULL);
	assert(len <= RPMA_UV__RING_BUFFER_MAX);
	if (!ring->has_slots) {
		ret = io_uring_register_buffers_sparse(&ring->uring, SLOTS);
		if (ret < 0)
			return ret;
		ring->has_slots = true;
	}
	slot = slot_find(ring);
	if (slot < 0)
		return UV_ENOBUFS;
	ret = slot_update(ring, slot, base, len);
	if (ret)
		return ret;
	ring->slots[slot / SLOTS_WORD] |= UINT64_C(1) << slot % SLOTS_WORD;
	*index_ptr = slot;
	return 0;
}

void rpma_uv__ring_buffer_remove(struct rpma_uv__reactor *r, int index)
{
	struct rpma_uv__ring *ring = r->ring;

	assert(ring != NULL);
	assert(ring->slots[index / SLOTS_WORD] & UINT64_C(1) << index % SLOTS_WORD);
	/* emptying a place needs no memory that could be refused */
	(void)slot_update(ring, index, NULL, 0);
	ring->slots[index / SLOTS_WORD] &= ~(UINT64_C(1) << index % SLOTS_WORD);
}

/* ---- making and closing ---------------------------------------------------------------------- */

/* from what suits us best to what every kernel has; each step down is taken on EINVAL */
static const unsigned flags_ladder[] = {
	IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
		IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
	IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
	0,
};

/* kernels before 5.12 count the ring against the memlock limit: a small one may still fit */
static int set_up_with(struct rpma_uv__ring *ring, unsigned entries, unsigned flags)
{
	struct io_uring_params params;
	int ret;

	do {
		params = (struct io_uring_params){ .flags = flags };
		ret = io_uring_queue_init_params(entries, &ring->uring, &params);
		entries /= 2;
	} while (ret == -ENOMEM && entries >= ENTRIES_MIN);
	if (ret)
		return ret;
	ring->room = params.cq_entries;
	ring->spare = ring->room / 8;
	return 0;
}

static int set_up(struct rpma_uv__ring *ring, unsigned entries)
{
	int ret = -EINVAL;

	for (size_t i = 0; i < sizeof(flags_ladder) / sizeof(flags_ladder[0]); i++) {
		ret = set_up_with(ring, entries, flags_ladder[i]);
		if (ret != -EINVAL)
			break;
	}
	return ret;
}

static int watch(struct rpma_uv__ring *ring, uv_loop_t *loop)
{
	int ret = uv_poll_init(loop, &ring->poll, ring->eventfd);

	if (ret)
		return ret;
	ring->poll.data = ring;
	uv_unref((uv_handle_t *)&ring->poll);
	/* of a handle that was just made this cannot fail */
	(void)uv_poll_start(&ring->poll, UV_READABLE, eventfd_cb);
	return 0;
}

int rpma_uv__ring_ensure(struct rpma_uv__reactor *r)
{
	struct rpma_uv__ring *ring = r->ring;
	int ret;

	if (ring != NULL)
		return ring->closing ? UV_ECANCELED : 0;
	ring = calloc(1, sizeof(*ring));
	if (ring == NULL)
		return UV_ENOMEM;
	ring->reactor = r;
	TAILQ_INIT(&ring->queued);
	TAILQ_INIT(&ring->out);
	TAILQ_INIT(&ring->stops);
	TAILQ_INIT(&ring->finished);
	rpma_uv__deadline_init(&ring->retry, retry_expired);
	ret = set_up(ring, r->opts.ring_entries);
	if (ret)
		goto err_free;
	ring->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ring->eventfd < 0) {
		ret = -errno;
		goto err_queue_exit;
	}
	ret = io_uring_register_eventfd(&ring->uring, ring->eventfd);
	if (ret)
		goto err_eventfd_close;
	ret = watch(ring, r->loop);
	if (ret)
		goto err_eventfd_close;
	r->ring = ring;
	r->stats.ring_flags = ring->uring.flags;
	return 0;

err_eventfd_close:
	close(ring->eventfd);
err_queue_exit:
	io_uring_queue_exit(&ring->uring);
err_free:
	free(ring);
	return ret;
}

void rpma_uv__ring_close(struct rpma_uv__reactor *r)
{
	struct rpma_uv__ring *ring = r->ring;
	struct rpma_uv__io *io, *next;

	if (ring == NULL)
		return;
	assert(!ring->closing);
	assert(!ring->reaping);
	r->handles_open++;
	ring->closing = true;
	if (is_idle(ring)) {
		let_go(ring);
		return;
	}
	while ((io = TAILQ_FIRST(&ring->queued)) != NULL)
		rpma_uv__ring_cancel(r, io);
	for (io = TAILQ_FIRST(&ring->out); io != NULL; io = next) {
		next = TAILQ_NEXT(io, link);
		rpma_uv__ring_cancel(r, io);
	}
	(void)uv_poll_start(&ring->poll, UV_READABLE, closing_cb);
	uv_ref((uv_handle_t *)&ring->poll);
	closing_step(ring);
}
