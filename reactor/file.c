/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * file.c - files on the ring: short results, alignment, the sync barrier
 *
 *            opened                    file_close()             holds == 0           fds closed
 *   OPENING ---------> OPEN -------------------------> CLOSING ------------> ENDING ------------> freed
 *      |                                                                        ^        closer
 *      +-- failed, cancelled ---------------------------------------------------+
 *                                                                      (the open's future ends then)
 *
 *   OPENING  the open's future is pending; nobody else knows the file.
 *   OPEN     operations come and go; each holds the file.
 *   CLOSING  new operations end UV_ECANCELED; those that run go on.
 *   ENDING   nothing runs but one close of a descriptor at a time.
 *
 * Direct and buffered pieces. A second descriptor bypasses the page cache. It carries whole pages
 * only, whatever finer unit the file system allows: were one page written both ways at once, the
 * cache could write back what it had read before. The rest goes through the first descriptor, and
 * the kernel keeps the two views of different pages coherent.
 *
 * The barrier. Writes carry the number of writes called before them, syncs too. A sync is ready when
 * the oldest unfinished write is not older than itself. All that are ready when fdatasync(2) starts
 * share it; one that is called later waits for the next. Links of the ring would be no barrier: a
 * short write cuts them.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "deadline.h"
#include "file.h"
#include "future.h"
#include "pool.h"
#include "reactor.h"
#include "ring.h"

#define BUFS_MAX 16

/* the most that one request moves; the kernel's own limit is not a whole number of pages */
#define PIECE_MAX ((size_t)1 << 30)

/* direct pieces are whole pages, see above */
#define PAGE 4096

/*
 * EAGAIN and EINTR are asked again, the first time at once, then after 2, 4, 8 .. 128 ms: a
 * little less than a second in all
 */
#define TRIES_MAX   12
#define DELAY_SHIFT 7

static_assert(sizeof(uv_buf_t) == sizeof(struct iovec), "an array of the one is one of the other");
static_assert(offsetof(uv_buf_t, base) == offsetof(struct iovec, iov_base), "as above");
static_assert(offsetof(uv_buf_t, len) == offsetof(struct iovec, iov_len), "as above");

enum state { OPENING, OPEN, CLOSING, ENDING };

/* what an operation's room starts with; a refused operation's room is all zero */
enum phase { UNTOLD, RUNNING, FAILED };

struct RPMA_UV__ROOM op_head {
	uint8_t phase;
	uint8_t tries;
	uint8_t count; /* of bufs */
	bool cancelled;
	uint32_t flags; /* RWF_* */
	rpma_uv_file_t *file;
	int64_t off; /* -1: the file as a whole */
};

/* read, write, allocate */
struct RPMA_UV__ROOM rw_op {
	struct op_head head;
	struct rpma_uv__io io;
	struct rpma_uv__deadline retry;
	const uv_buf_t *bufs;
	uint64_t total;
	uint64_t done; /* bytes confirmed */
	uint64_t sequence; /* writes and allocates: how many were called before */
	TAILQ_ENTRY(rw_op) link;
};

struct RPMA_UV__ROOM sync_op {
	struct op_head head;
	int status; /* of a write that it covers and that has failed */
	uint64_t sequence;
	TAILQ_ENTRY(sync_op) link;
};

struct RPMA_UV__ROOM open_op {
	struct op_head head;
	rpma_uv_file_t **file_ptr;
};

/* a failed operation's room: all that describe() needs once the file is gone */
#define NAME_SIZE 160
struct RPMA_UV__ROOM failure {
	struct op_head head;
	char name[NAME_SIZE]; /* the end of the path */
};

TAILQ_HEAD(rw_ops, rw_op);
TAILQ_HEAD(sync_ops, sync_op);

struct rpma_uv_file {
	struct rpma_uv__reactor *reactor;
	TAILQ_ENTRY(rpma_uv_file) link;
	enum state state;
	unsigned holds; /* operations, and others who keep the file */

	int fd, fd_direct, fd_directory; /* or -1 */
	size_t granule; /* direct pieces start at and have multiples of it; 0: no direct I/O */
	size_t memory_align; /* their memory starts at a multiple of this */

	/* one request of the file's own at a time: a step of opening, of a sync, or of ending */
	struct rpma_uv__io io;
	struct rpma_uv__deadline retry;
	unsigned tries;

	/* OPENING */
	rpma_uv_op_t *open_op;
	int open_status;
	bool open_cancelled;
	bool wants_direct;
	bool may_be_old; /* O_CREAT found the name taken */
	int oflags;
	mode_t mode;
	struct statx statx;
	char *reopen_path;

	/* OPEN, CLOSING */
	bool created; /* its name is not durable before its directory was synced */
	int directory_status; /* why that directory could not be opened */
	uint64_t writes_called;
	struct rw_ops writes, reads;
	struct sync_ops syncs_waiting, syncs_running;
	int write_status; /* of a failed write that no sync has reported yet */
	int sync_status; /* of the sync that failed for good */

	/* CLOSING, ENDING */
	rpma_uv_close_cb close_cb;
	void *close_data;
	struct rpma_uv__closer closer;

	char path[];
};

static void file_check(const rpma_uv_file_t *f)
{
	assert(f->state != OPENING || f->holds == 0);
	assert(f->state != ENDING || f->holds == 0);
	assert(f->holds > 0 || TAILQ_EMPTY(&f->writes));
	assert(f->holds > 0 || TAILQ_EMPTY(&f->syncs_waiting));
	(void)f;
}

static void file_set_state(rpma_uv_file_t *f, enum state state)
{
	assert(state > f->state);
	f->state = state;
	file_check(f);
}

/* ---- telling ---------------------------------------------------------------------------------- */

static void describe(const rpma_uv_future_t *future, char *text, size_t size)
{
	const struct failure *failure = rpma_uv__room(struct failure, rpma_uv__op_of(future));
	const struct op_head *head = &failure->head;
	const char *name;

	if (head->phase == UNTOLD)
		return;
	name = head->phase == FAILED ? failure->name : head->file->path;
	if (head->off >= 0)
		snprintf(text, size, " at offset %lld of %s", (long long)head->off, name);
	else
		snprintf(text, size, " of %s", name);
}

/* turn the room of an operation into what can be told about its failure */
static void record(rpma_uv_op_t *op, int64_t off, const char *path)
{
	struct failure *failure = rpma_uv__room(struct failure, op);
	size_t len = strlen(path);
	bool is_long = len >= NAME_SIZE;

	failure->head = (struct op_head){ .phase = FAILED, .off = off };
	snprintf(failure->name, NAME_SIZE, "%s%s", is_long ? "..." : "",
		is_long ? path + len - (NAME_SIZE - 4) : path);
}

static void op_finish(rpma_uv_op_t *op, rpma_uv_file_t *f, int64_t off, int status, int64_t result)
{
	rpma_uv__room(struct op_head, op)->phase = UNTOLD;
	if (status < 0)
		record(op, off, f->path);
	rpma_uv__future_finish(&op->future, status, status < 0 ? 0 : result, 0);
}

/* EAGAIN and EINTR say nothing about the file */
static bool is_passing(int res)
{
	return res == -EAGAIN || res == -EINTR;
}

/* how long to wait before the next try; 0: not at all */
static uint64_t delay_ms(unsigned tries, int res)
{
	if (res == -EINTR || tries == 1)
		return 0;
	return UINT64_C(1) << (tries - 1 < DELAY_SHIFT ? tries - 1 : DELAY_SHIFT);
}

/* ---- ending ----------------------------------------------------------------------------------- */

static void file_queue(rpma_uv_file_t *f, enum rpma_uv__io_code code, int fd,
	void (*done)(struct rpma_uv__io *io, int res))
{
	f->io.code = (uint8_t)code;
	f->io.fd = fd;
	f->io.done = done;
	rpma_uv__ring_queue(f->reactor, &f->io);
}

static rpma_uv_file_t *file_of(struct rpma_uv__io *io)
{
	return rpma_uv__container_of(io, rpma_uv_file_t, io);
}

static void file_free(rpma_uv_file_t *f)
{
	struct rpma_uv__reactor *r = f->reactor;

	TAILQ_REMOVE(&r->files, f, link);
	free(f->reopen_path);
	free(f);
	rpma_uv__reactor_child_gone(r);
}

static void file_call_back(void *data)
{
	rpma_uv_file_t *f = data;

	if (f->close_cb != NULL)
		f->close_cb(f->close_data);
}

static void file_closed(struct rpma_uv__closer *closer)
{
	rpma_uv__reactor_drop(closer->reactor);
	file_free(rpma_uv__container_of(closer, rpma_uv_file_t, closer));
}

static void end_next(rpma_uv_file_t *f);

static void end_done(struct rpma_uv__io *io, int res)
{
	/* what close(2) may report is a write-back error, which a sync is there to report */
	(void)res;
	end_next(file_of(io));
}

static int *any_fd(rpma_uv_file_t *f)
{
	if (f->fd_direct >= 0)
		return &f->fd_direct;
	if (f->fd_directory >= 0)
		return &f->fd_directory;
	return f->fd >= 0 ? &f->fd : NULL;
}

/* close one descriptor after the other, then say so */
static void end_next(rpma_uv_file_t *f)
{
	int *fd_ptr = any_fd(f);
	int fd;

	assert(f->state == ENDING);
	if (fd_ptr != NULL) {
		fd = *fd_ptr;
		*fd_ptr = -1;
		file_queue(f, RPMA_UV__IO_CLOSE, fd, end_done);
	} else if (f->open_op != NULL) {
		op_finish(f->open_op, f, -1, f->open_status, 0);
		file_free(f);
	} else {
		rpma_uv__closer_start(f->reactor, &f->closer, file_call_back, f, file_closed);
	}
}

static void end_if_unheld(rpma_uv_file_t *f)
{
	if (f->state != CLOSING || f->holds > 0)
		return;
	file_set_state(f, ENDING);
	end_next(f);
}

void rpma_uv__file_hold(rpma_uv_file_t *f)
{
	assert(f->state == OPEN);
	f->holds++;
}

void rpma_uv__file_drop(rpma_uv_file_t *f)
{
	assert(f->holds > 0);
	f->holds--;
	end_if_unheld(f);
}

void rpma_uv_file_close(rpma_uv_file_t *f, rpma_uv_close_cb cb, void *data)
{
	assert(f->close_cb == NULL);
	f->close_cb = cb;
	f->close_data = data;
	/* the reactor that closes may have been first; the callback still comes */
	if (f->state != OPEN)
		return;
	/* the loop stays alive until the close callback has run */
	rpma_uv__reactor_hold(f->reactor);
	file_set_state(f, CLOSING);
	end_if_unheld(f);
}

/* ---- the barrier ------------------------------------------------------------------------------ */

static void syncs_step(rpma_uv_file_t *f);

static void sync_end(struct sync_op *sync, int status)
{
	rpma_uv_file_t *f = sync->head.file;

	op_finish(rpma_uv__op_of_room(sync), f, -1, status, 0);
	rpma_uv__file_drop(f);
}

/* the shared sync is over; a failure is final, since the kernel reports lost pages only once */
static void syncs_finish(rpma_uv_file_t *f, int status)
{
	struct sync_op *sync;

	f->tries = 0;
	if (status < 0 && f->sync_status == 0)
		f->sync_status = status;
	while ((sync = TAILQ_FIRST(&f->syncs_running)) != NULL) {
		TAILQ_REMOVE(&f->syncs_running, sync, link);
		sync_end(sync, status);
	}
	syncs_step(f);
}

static void directory_closed(struct rpma_uv__io *io, int res)
{
	(void)res;
	syncs_finish(file_of(io), 0);
}

static void directory_synced(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = file_of(io);
	int fd = f->fd_directory;

	/* EINVAL: a file system whose directories need no sync, and so offer none */
	if (res < 0 && res != -EINVAL) {
		syncs_finish(f, res);
		return;
	}
	f->created = false;
	f->fd_directory = -1;
	file_queue(f, RPMA_UV__IO_CLOSE, fd, directory_closed);
}

static void data_sync(rpma_uv_file_t *f);

static void data_synced(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = file_of(io);
	uint64_t ms;

	if (is_passing(res) && f->tries++ < TRIES_MAX) {
		ms = delay_ms(f->tries, res);
		if (ms > 0)
			rpma_uv__deadline_set(f->reactor, &f->retry, ms);
		else
			data_sync(f);
	} else if (res < 0 || !f->created) {
		syncs_finish(f, res);
	} else if (f->directory_status < 0) {
		syncs_finish(f, f->directory_status);
	} else {
		file_queue(f, RPMA_UV__IO_FSYNC, f->fd_directory, directory_synced);
	}
}

static void data_sync(rpma_uv_file_t *f)
{
	assert(!TAILQ_EMPTY(&f->syncs_running));
	file_queue(f, RPMA_UV__IO_FDATASYNC, f->fd, data_synced);
}

static void data_sync_again(struct rpma_uv__deadline *d)
{
	data_sync(rpma_uv__container_of(d, rpma_uv_file_t, retry));
}

/* end what has failed, and start a shared sync of all that are ready, unless one is running */
static void syncs_step(rpma_uv_file_t *f)
{
	const struct rw_op *oldest = TAILQ_FIRST(&f->writes);
	struct sync_op *sync, *next;

	if (!TAILQ_EMPTY(&f->syncs_running))
		return;
	for (sync = TAILQ_FIRST(&f->syncs_waiting); sync != NULL; sync = next) {
		if (oldest != NULL && oldest->sequence < sync->sequence)
			break;
		next = TAILQ_NEXT(sync, link);
		TAILQ_REMOVE(&f->syncs_waiting, sync, link);
		if (f->sync_status < 0)
			sync_end(sync, f->sync_status);
		else if (sync->status < 0)
			sync_end(sync, sync->status);
		else
			TAILQ_INSERT_TAIL(&f->syncs_running, sync, link);
	}
	if (!TAILQ_EMPTY(&f->syncs_running))
		data_sync(f);
}

/* a write has failed: the syncs that cover it fail with it, or else the next one to be called */
static void write_failed(rpma_uv_file_t *f, const struct rw_op *rw, int status)
{
	struct sync_op *sync;
	bool covered = false;

	TAILQ_FOREACH(sync, &f->syncs_waiting, link) {
		if (sync->sequence <= rw->sequence)
			continue;
		covered = true;
		if (sync->status == 0)
			sync->status = status;
	}
	if (!covered && f->write_status == 0)
		f->write_status = status;
}

/* one that waits is taken back; one that runs is shared, and half a sync looks like a failed one */
static int sync_cancel(rpma_uv_future_t *future)
{
	struct sync_op *sync = rpma_uv__room(struct sync_op, rpma_uv__op_of(future));
	rpma_uv_file_t *f = sync->head.file;
	const struct sync_op *other;

	TAILQ_FOREACH(other, &f->syncs_running, link) {
		if (other == sync)
			return UV_EBUSY;
	}
	TAILQ_REMOVE(&f->syncs_waiting, sync, link);
	if (f->write_status == 0)
		f->write_status = sync->status;
	sync_end(sync, UV_ECANCELED);
	return 0;
}

static const struct rpma_uv__kind sync_kind = {
	.name = "file sync",
	.cancel = sync_cancel,
	.describe = describe,
};

/* ---- reads and writes: piece by piece ----------------------------------------------------------- */

static const struct rpma_uv__kind read_kind, write_kind, allocate_kind;

static bool is_kind(const void *room, const struct rpma_uv__kind *kind)
{
	return rpma_uv__op_of_room(room)->future.u_kind == kind;
}

static void rw_end(struct rw_op *rw, int status)
{
	rpma_uv_file_t *f = rw->head.file;
	bool is_read = is_kind(rw, &read_kind);

	assert(!rpma_uv__deadline_is_set(&rw->retry));
	TAILQ_REMOVE(is_read ? &f->reads : &f->writes, rw, link);
	/* a file system may not know how to allocate: nothing is lost then */
	if (status < 0 && is_kind(rw, &write_kind))
		write_failed(f, rw, status);
	op_finish(rpma_uv__op_of_room(rw), f, rw->head.off + (int64_t)rw->done, status,
		(int64_t)rw->done);
	if (!is_read)
		syncs_step(f);
	rpma_uv__file_drop(f);
}

/* bytes from pos on that the direct descriptor can carry, at base */
static size_t direct_len(const rpma_uv_file_t *f, const char *base, uint64_t pos, size_t len)
{
	if (f->granule == 0 || pos % f->granule != 0 || (uintptr_t)base % f->memory_align != 0)
		return 0;
	return len - len % f->granule;
}

/* choose the next piece: as much as one request can carry */
static void rw_piece(struct rw_op *rw)
{
	rpma_uv_file_t *f = rw->head.file;
	struct rpma_uv__io *io = &rw->io;
	uint64_t skip = rw->done, pos = (uint64_t)rw->head.off + rw->done;
	bool is_read = is_kind(rw, &read_kind);
	const uv_buf_t *buf = rw->bufs;
	size_t len, direct, left;

	for (; skip >= buf->len; buf++)
		skip -= buf->len;
	len = buf->len - (size_t)skip;
	len = len < PIECE_MAX ? len : PIECE_MAX;
	direct = direct_len(f, buf->base + skip, pos, len);
	left = (size_t)(rw->bufs + rw->head.count - buf);
	io->off = pos;
	io->buf_index = -1;
	io->fd = direct > 0 ? f->fd_direct : f->fd;
	if (f->granule == 0 && skip == 0 && left > 1) {
		io->code = is_read ? RPMA_UV__IO_READV : RPMA_UV__IO_WRITEV;
		io->iov = (const struct iovec *)buf;
		io->len = left;
		return;
	}
	/* up to where direct pieces can begin */
	if (direct == 0 && f->granule > 0 && pos % f->granule != 0 &&
		len > f->granule - pos % f->granule)
		len = f->granule - pos % f->granule;
	io->code = is_read ? RPMA_UV__IO_READ : RPMA_UV__IO_WRITE;
	io->addr = buf->base + skip;
	io->len = direct > 0 ? direct : len;
	io->buf_index = (int16_t)rpma_uv__pool_find(f->reactor, io->addr, io->len);
}

static void rw_next(struct rw_op *rw)
{
	if (!is_kind(rw, &allocate_kind))
		rw_piece(rw);
	rpma_uv__ring_queue(rw->head.file->reactor, &rw->io);
}

static void rw_again(struct rpma_uv__deadline *d)
{
	rw_next(rpma_uv__container_of(d, struct rw_op, retry));
}

static void rw_retry(struct rw_op *rw, int res)
{
	uint64_t ms = delay_ms(++rw->head.tries, res);

	if (rw->head.tries > TRIES_MAX)
		rw_end(rw, res);
	else if (ms > 0)
		rpma_uv__deadline_set(rw->head.file->reactor, &rw->retry, ms);
	else
		rw_next(rw);
}

/* bytes of this piece were moved: a short direct write goes on from a place where direct I/O can */
static void rw_advance(struct rw_op *rw, size_t moved)
{
	rpma_uv_file_t *f = rw->head.file;
	size_t rest = f->granule > 0 ? (size_t)(rw->io.off + moved) % f->granule : 0;

	if (rw->io.fd == f->fd_direct && is_kind(rw, &write_kind) && moved < rw->io.len &&
		moved > rest)
		moved -= rest;
	rw->done += moved;
	rw->head.tries = 0;
	assert(rw->done <= rw->total);
	if (rw->done == rw->total)
		rw_end(rw, 0);
	else if (rw->head.cancelled)
		rw_end(rw, UV_ECANCELED);
	else
		rw_next(rw);
}

static void rw_done(struct rpma_uv__io *io, int res)
{
	struct rw_op *rw = rpma_uv__container_of(io, struct rw_op, io);
	rpma_uv_file_t *f = rw->head.file;

	if (res > 0) {
		rw_advance(rw, (size_t)res);
	} else if (res == 0 && is_kind(rw, &read_kind)) {
		rw_end(rw, 0); /* the end of the file */
	} else if (res == 0) {
		rw_end(rw,
			UV_EIO); /* no byte taken and no reason given: asking again would not end */
	} else if (rw->head.cancelled) {
		rw_end(rw, is_passing(res) ? UV_ECANCELED : res);
	} else if (is_passing(res)) {
		rw_retry(rw, res);
	} else if (res == -EINVAL && f->granule > 0 && io->fd == f->fd_direct) {
		/* the file system promised more than it keeps */
		f->granule = 0;
		rw_next(rw);
	} else {
		rw_end(rw, res);
	}
}

static void allocate_done(struct rpma_uv__io *io, int res)
{
	struct rw_op *rw = rpma_uv__container_of(io, struct rw_op, io);

	if (is_passing(res) && !rw->head.cancelled)
		rw_retry(rw, res);
	else
		rw_end(rw, res);
}

static int rw_cancel(rpma_uv_future_t *future)
{
	struct rw_op *rw = rpma_uv__room(struct rw_op, rpma_uv__op_of(future));
	struct rpma_uv__reactor *r = rw->head.file->reactor;

	if (rpma_uv__deadline_is_set(&rw->retry)) {
		rpma_uv__deadline_clear(r, &rw->retry);
		rw_end(rw, UV_ECANCELED);
	} else {
		rw->head.cancelled = true;
		rpma_uv__ring_cancel(r, &rw->io);
	}
	return 0;
}

static const struct rpma_uv__kind read_kind = {
	.name = "file read",
	.cancel = rw_cancel,
	.describe = describe,
};

static const struct rpma_uv__kind write_kind = {
	.name = "file write",
	.cancel = rw_cancel,
	.describe = describe,
};

static const struct rpma_uv__kind allocate_kind = {
	.name = "file allocate",
	.cancel = rw_cancel,
	.describe = describe,
};

/* ---- beginning operations ----------------------------------------------------------------------- */

/* may an operation run on f? one that alters it may not after a failed sync */
static int file_status(const rpma_uv_file_t *f, bool alters)
{
	if (f->state != OPEN)
		return UV_ECANCELED;
	return alters ? f->sync_status : 0;
}

/* begin an operation that holds the file, or one that has failed already */
static rpma_uv_op_t *op_begin(rpma_uv_file_t *f, rpma_uv_op_t *op, const struct rpma_uv__kind *kind,
	int64_t off, int status)
{
	struct op_head *head;

	op = rpma_uv__op_begin(f->reactor, op, kind);
	if (op == NULL)
		return NULL;
	if (status < 0) {
		op_finish(op, f, off, status, 0);
		return op;
	}
	head = rpma_uv__room(struct op_head, op);
	*head = (struct op_head){ .phase = RUNNING, .file = f, .off = off };
	rpma_uv__file_hold(f);
	return op;
}

static struct rw_op *rw_begin(rpma_uv_op_t *op, void (*done)(struct rpma_uv__io *io, int res))
{
	struct rw_op *rw = rpma_uv__room(struct rw_op, op);
	rpma_uv_file_t *f = rw->head.file;

	rw->done = 0;
	rw->io.done = done;
	rpma_uv__deadline_init(&rw->retry, rw_again);
	if (is_kind(rw, &read_kind)) {
		TAILQ_INSERT_TAIL(&f->reads, rw, link);
	} else {
		rw->sequence = f->writes_called++;
		TAILQ_INSERT_TAIL(&f->writes, rw, link);
	}
	return rw;
}

/* bytes in bufs; an error when the arguments make no sense */
static int rw_total(const uv_buf_t bufs[], unsigned n, int64_t off, uint64_t *total_ptr)
{
	uint64_t total = 0;

	if (bufs == NULL || n == 0 || n > BUFS_MAX || off < 0)
		return UV_EINVAL;
	for (unsigned i = 0; i < n; i++) {
		if (bufs[i].len > (uint64_t)INT64_MAX - (uint64_t)off - total)
			return UV_EINVAL;
		total += bufs[i].len;
	}
	*total_ptr = total;
	return 0;
}

static rpma_uv_future_t *rw_call(rpma_uv_file_t *f, rpma_uv_op_t *op,
	const struct rpma_uv__kind *kind, const uv_buf_t bufs[], unsigned n, int64_t off, int rwf)
{
	struct rw_op *rw;
	uint64_t total = 0;
	int status = rw_total(bufs, n, off, &total);

	if (status == 0)
		status = rwf < 0 ? rwf : file_status(f, kind == &write_kind);
	op = op_begin(f, op, kind, off, status);
	if (op == NULL || status < 0)
		return op != NULL ? &op->future : NULL;
	rw = rw_begin(op, rw_done);
	rw->head.count = (uint8_t)n;
	rw->io.flags = (uint32_t)rwf;
	rw->bufs = bufs;
	rw->total = total;
	if (total == 0)
		rw_end(rw, 0);
	else
		rw_next(rw);
	return &op->future;
}

rpma_uv_future_t *rpma_uv_file_write(rpma_uv_file_t *f, rpma_uv_op_t *op, const uv_buf_t bufs[],
	unsigned n, int64_t off, unsigned flags)
{
	int rwf = flags & RPMA_UV_FILE_DSYNC ? RWF_DSYNC : 0;

	if (flags & ~RPMA_UV_FILE_DSYNC)
		rwf = UV_EINVAL;
	return rw_call(f, op, &write_kind, bufs, n, off, rwf);
}

rpma_uv_future_t *rpma_uv_file_read(
	rpma_uv_file_t *f, rpma_uv_op_t *op, const uv_buf_t bufs[], unsigned n, int64_t off)
{
	return rw_call(f, op, &read_kind, bufs, n, off, 0);
}

rpma_uv_future_t *rpma_uv_file_allocate(
	rpma_uv_file_t *f, rpma_uv_op_t *op, int64_t off, int64_t len)
{
	int status = off < 0 || len <= 0 || off > INT64_MAX - len ? UV_EINVAL : 0;
	struct rw_op *rw;

	if (status == 0)
		status = file_status(f, true);
	op = op_begin(f, op, &allocate_kind, off, status);
	if (op == NULL || status < 0)
		return op != NULL ? &op->future : NULL;
	rw = rw_begin(op, allocate_done);
	rw->total = 0;
	rw->io.code = RPMA_UV__IO_FALLOCATE;
	rw->io.fd = f->fd;
	rw->io.flags = 0;
	rw->io.off = (uint64_t)off;
	rw->io.len = (uint64_t)len;
	rw_next(rw);
	return &op->future;
}

rpma_uv_future_t *rpma_uv_file_sync(rpma_uv_file_t *f, rpma_uv_op_t *op)
{
	int status = file_status(f, true);
	struct sync_op *sync;

	op = op_begin(f, op, &sync_kind, -1, status);
	if (op == NULL || status < 0)
		return op != NULL ? &op->future : NULL;
	sync = rpma_uv__room(struct sync_op, op);
	sync->sequence = f->writes_called;
	sync->status = f->write_status;
	f->write_status = 0;
	TAILQ_INSERT_TAIL(&f->syncs_waiting, sync, link);
	syncs_step(f);
	return &op->future;
}

/* ---- opening ------------------------------------------------------------------------------------ */

static int open_cancel(rpma_uv_future_t *future)
{
	rpma_uv_file_t *f = rpma_uv__room(struct open_op, rpma_uv__op_of(future))->head.file;

	/* a file that is undone already has its outcome */
	if (f->state == OPENING) {
		f->open_cancelled = true;
		rpma_uv__ring_cancel(f->reactor, &f->io);
	}
	return 0;
}

static const struct rpma_uv__kind open_kind = {
	.name = "file open",
	.cancel = open_cancel,
	.describe = describe,
};

static void open_fail(rpma_uv_file_t *f, int status)
{
	f->open_status = status;
	file_set_state(f, ENDING);
	end_next(f);
}

static void open_succeed(rpma_uv_file_t *f)
{
	rpma_uv_op_t *op = f->open_op;

	free(f->reopen_path);
	f->reopen_path = NULL;
	f->tries = 0;
	f->open_op = NULL;
	file_set_state(f, OPEN);
	*rpma_uv__room(struct open_op, op)->file_ptr = f;
	op_finish(op, f, -1, 0, 0);
}

static void direct_opened(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = file_of(io);

	if (f->open_cancelled) {
		f->fd_direct = res >= 0 ? res : -1;
		open_fail(f, UV_ECANCELED);
		return;
	}
	/* whatever the reason: the page cache does as well, and rpma_uv_file_is_direct() tells */
	if (res >= 0) {
		f->fd_direct = res;
		f->memory_align = f->statx.stx_dio_mem_align;
		f->granule = f->statx.stx_dio_offset_align;
		if (f->granule < PAGE)
			f->granule = PAGE;
	}
	open_succeed(f);
}

/* a second descriptor of the same file, even if its name means another one by now */
static void open_direct(rpma_uv_file_t *f)
{
	if (!f->wants_direct || !(f->statx.stx_mask & STATX_DIOALIGN) ||
		f->statx.stx_dio_mem_align == 0 || f->statx.stx_dio_offset_align == 0) {
		open_succeed(f);
		return;
	}
	free(f->reopen_path);
	if (asprintf(&f->reopen_path, "/proc/self/fd/%d", f->fd) < 0) {
		f->reopen_path = NULL;
		open_fail(f, UV_ENOMEM);
		return;
	}
	f->io.path = f->reopen_path;
	f->io.flags =
		((uint32_t)f->oflags & (O_ACCMODE | O_SYNC | O_NOATIME)) | O_DIRECT | O_CLOEXEC;
	f->io.len = 0;
	file_queue(f, RPMA_UV__IO_OPENAT, AT_FDCWD, direct_opened);
}

static void directory_opened(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = file_of(io);

	f->fd_directory = res >= 0 ? res : -1;
	f->directory_status = res >= 0 ? 0 : res;
	if (f->open_cancelled)
		open_fail(f, UV_ECANCELED);
	else
		open_direct(f);
}

/*
 * The directory that has the name: opened at once and kept until the first sync, for by then it, or
 * the process, may have moved. A name that O_CREAT found taken may be a link to where the file is.
 */
static void open_directory(rpma_uv_file_t *f)
{
	char *slash;

	if (!f->created) {
		open_direct(f);
		return;
	}
	f->reopen_path = f->may_be_old ? realpath(f->path, NULL) : strdup(f->path);
	if (f->reopen_path == NULL) {
		open_fail(f, -errno);
		return;
	}
	slash = strrchr(f->reopen_path, '/');
	if (slash == NULL)
		strcpy(f->reopen_path, ".");
	else
		slash[slash == f->reopen_path] = '\0';
	f->io.path = f->reopen_path;
	f->io.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	f->io.len = 0;
	file_queue(f, RPMA_UV__IO_OPENAT, AT_FDCWD, directory_opened);
}

static void stat_done(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = file_of(io);

	if (f->open_cancelled || res < 0) {
		open_fail(f, f->open_cancelled ? UV_ECANCELED : res);
		return;
	}
	/* empty: made by us after all, when who had made the name took it away in between */
	if (f->may_be_old)
		f->created = f->statx.stx_size == 0;
	open_directory(f);
}

static void open_first(rpma_uv_file_t *f, int oflags);

static void opened(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = file_of(io);

	f->fd = res >= 0 ? res : -1;
	if (f->open_cancelled) {
		open_fail(f, UV_ECANCELED);
	} else if (res == -EEXIST && f->created && !(f->oflags & O_EXCL)) {
		f->created = false;
		f->may_be_old = true;
		open_first(f, f->oflags);
	} else if (res == -EINTR && f->tries++ < TRIES_MAX) {
		open_first(f, (int)f->io.flags);
	} else if (res < 0) {
		open_fail(f, res);
	} else if (f->wants_direct || f->may_be_old) {
		f->io.statx = &f->statx;
		f->io.flags = STATX_SIZE | STATX_DIOALIGN;
		file_queue(f, RPMA_UV__IO_STATX, f->fd, stat_done);
	} else {
		open_directory(f);
	}
}

static void open_first(rpma_uv_file_t *f, int oflags)
{
	f->io.path = f->path;
	f->io.flags = (uint32_t)oflags;
	f->io.len = f->mode;
	file_queue(f, RPMA_UV__IO_OPENAT, AT_FDCWD, opened);
}

static rpma_uv_file_t *file_new(struct rpma_uv__reactor *r, const char *path)
{
	size_t size = strlen(path) + 1;
	rpma_uv_file_t *f = calloc(1, sizeof(*f) + size);

	if (f == NULL)
		return NULL;
	f->reactor = r;
	f->fd = f->fd_direct = f->fd_directory = -1;
	memcpy(f->path, path, size);
	TAILQ_INIT(&f->writes);
	TAILQ_INIT(&f->reads);
	TAILQ_INIT(&f->syncs_waiting);
	TAILQ_INIT(&f->syncs_running);
	rpma_uv__deadline_init(&f->retry, data_sync_again);
	return f;
}

/* what a file could not be opened for before it came to the ring */
static rpma_uv_future_t *open_refuse(
	struct rpma_uv__reactor *r, rpma_uv_op_t *op, const char *path, int status)
{
	op = rpma_uv__op_begin(r, op, &open_kind);
	if (op == NULL)
		return NULL;
	record(op, -1, path != NULL ? path : "(null)");
	rpma_uv__future_finish(&op->future, status, 0, 0);
	return &op->future;
}

/* O_APPEND would ignore the offsets of writes */
static int open_check(const struct rpma_uv__reactor *r, const char *path, int oflags,
	unsigned flags, rpma_uv_file_t **file_ptr)
{
	if (path == NULL || file_ptr == NULL || (oflags & (O_APPEND | O_PATH)) ||
		(flags & ~RPMA_UV_FILE_DIRECT))
		return UV_EINVAL;
	return r->closing ? UV_ECANCELED : 0;
}

rpma_uv_future_t *rpma_uv_file_open(rpma_uv_reactor_t *reactor, rpma_uv_op_t *op, const char *path,
	int oflags, mode_t mode, unsigned flags, rpma_uv_file_t **file_ptr)
{
	struct rpma_uv__reactor *r = reactor->impl;
	rpma_uv_file_t *f;
	int status = open_check(r, path, oflags, flags, file_ptr);

	if (status == 0)
		status = rpma_uv__ring_ensure(r);
	if (status < 0)
		return open_refuse(r, op, path, status);
	f = file_new(r, path);
	if (f == NULL)
		return open_refuse(r, op, path, UV_ENOMEM);
	op = rpma_uv__op_begin(r, op, &open_kind);
	if (op == NULL) {
		free(f);
		return NULL;
	}
	*rpma_uv__room(struct open_op, op) = (struct open_op){
		.head = { .phase = RUNNING, .file = f, .off = -1 },
		.file_ptr = file_ptr,
	};
	TAILQ_INSERT_TAIL(&r->files, f, link);
	f->open_op = op;
	f->wants_direct = (flags & RPMA_UV_FILE_DIRECT) || (oflags & O_DIRECT);
	f->oflags = (oflags & ~O_DIRECT) | O_CLOEXEC;
	f->mode = mode;
	/* only a name that O_EXCL let us make is known to be new; an O_TMPFILE has none */
	f->created = (oflags & O_CREAT) != 0 && (oflags & O_TMPFILE) != O_TMPFILE;
	open_first(f, f->created ? f->oflags | O_EXCL : f->oflags);
	return &op->future;
}

/* ---- for the rest of the library ---------------------------------------------------------------- */

int rpma_uv_file_is_direct(const rpma_uv_file_t *f)
{
	return f->granule > 0;
}

struct rpma_uv__reactor *rpma_uv__file_reactor(const rpma_uv_file_t *f)
{
	return f->reactor;
}

int rpma_uv__file_status(const rpma_uv_file_t *f)
{
	return file_status(f, true);
}

bool rpma_uv__file_is_unnamed(const rpma_uv_file_t *f)
{
	return f->created;
}

/* syncs first: what they wait for ends next, and would start them */
static void cancel_operations(rpma_uv_file_t *f)
{
	struct sync_op *sync, *next_sync;
	struct rw_op *rw, *next_rw;

	for (sync = TAILQ_FIRST(&f->syncs_waiting); sync != NULL; sync = next_sync) {
		next_sync = TAILQ_NEXT(sync, link);
		(void)sync_cancel(&rpma_uv__op_of_room(sync)->future);
	}
	for (rw = TAILQ_FIRST(&f->writes); rw != NULL; rw = next_rw) {
		next_rw = TAILQ_NEXT(rw, link);
		(void)rw_cancel(&rpma_uv__op_of_room(rw)->future);
	}
	for (rw = TAILQ_FIRST(&f->reads); rw != NULL; rw = next_rw) {
		next_rw = TAILQ_NEXT(rw, link);
		(void)rw_cancel(&rpma_uv__op_of_room(rw)->future);
	}
}

void rpma_uv__file_close_all(struct rpma_uv__reactor *r)
{
	rpma_uv_file_t *f;

	TAILQ_FOREACH(f, &r->files, link) {
		if (f->state == OPENING) {
			(void)open_cancel(&f->open_op->future);
		} else if (f->state == OPEN) {
			cancel_operations(f);
			rpma_uv_file_close(f, NULL, NULL);
		}
	}
}
