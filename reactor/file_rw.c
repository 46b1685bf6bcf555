/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * file_rw.c - reads, writes and allocates, piece by piece: short results, alignment, retries
 *
 * Direct and buffered pieces. A second descriptor bypasses the page cache. It carries whole pages
 * only, whatever finer unit the file system allows: were one page written both ways at once, the
 * cache could write back what it had read before. The rest goes through the first descriptor, and
 * the kernel keeps the two views of different pages coherent.
 */

#include <assert.h>
#include <errno.h>
#include <sys/uio.h>

#include "file_object.h"
#include "pool.h"

#define BUFS_MAX 16

/* the most that one request moves; the kernel's own limit is not a whole number of pages */
#define PIECE_MAX ((size_t)1 << 30)

/* the longest delay between two tries is 128 ms */
#define DELAY_SHIFT 7

static_assert(sizeof(uv_buf_t) == sizeof(struct iovec), "an array of the one is one of the other");
static_assert(offsetof(uv_buf_t, base) == offsetof(struct iovec, iov_base), "as above");
static_assert(offsetof(uv_buf_t, len) == offsetof(struct iovec, iov_len), "as above");

/* ---- trying again ---------------------------------------------------------------------------- */

bool rpma_uv__file_is_passing(int res)
{
	return res == -EAGAIN || res == -EINTR;
}

uint64_t rpma_uv__file_delay_ms(unsigned tries, int res)
{
	if (res == -EINTR || tries == 1)
		return 0;
	return UINT64_C(1) << (tries - 1 < DELAY_SHIFT ? tries - 1 : DELAY_SHIFT);
}

/* ---- piece by piece -------------------------------------------------------------------------- */

static const struct rpma_uv__kind read_kind, write_kind, allocate_kind;

static bool is_kind(const void *room, const struct rpma_uv__kind *kind)
{
	return rpma_uv__op_of_room(room)->future.u_kind == kind;
}

static void rw_end(struct rpma_uv__file_rw *rw, int status)
{
	rpma_uv_file_t *f = rw->head.file;
	bool is_read = is_kind(rw, &read_kind);

	assert(!rpma_uv__deadline_is_set(&rw->retry));
	TAILQ_REMOVE(is_read ? &f->reads : &f->writes, rw, link);
	/* a file system may not know how to allocate: nothing is lost then */
	if (status < 0 && is_kind(rw, &write_kind))
		rpma_uv__file_write_failed(f, rw->sequence, status);
	rpma_uv__file_op_finish(rpma_uv__op_of_room(rw), f->path, rw->head.off + (int64_t)rw->done,
		status, (int64_t)rw->done);
	if (!is_read)
		rpma_uv__file_syncs_step(f);
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
static void rw_piece(struct rpma_uv__file_rw *rw)
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

static void rw_next(struct rpma_uv__file_rw *rw)
{
	if (!is_kind(rw, &allocate_kind))
		rw_piece(rw);
	rpma_uv__ring_queue(rw->head.file->reactor, &rw->io);
}

static void rw_again(struct rpma_uv__deadline *d)
{
	rw_next(rpma_uv__container_of(d, struct rpma_uv__file_rw, retry));
}

static void rw_retry(struct rpma_uv__file_rw *rw, int res)
{
	uint64_t ms = rpma_uv__file_delay_ms(++rw->head.tries, res);

	if (rw->head.tries > RPMA_UV__FILE_TRIES_MAX)
		rw_end(rw, res);
	else if (ms > 0)
		rpma_uv__deadline_set(rw->head.file->reactor, &rw->retry, ms);
	else
		rw_next(rw);
}

static void rw_failed(struct rpma_uv__file_rw *rw, int res)
{
	if (!rpma_uv__file_is_passing(res))
		rw_end(rw, res);
	else if (rw->head.cancelled)
		rw_end(rw, UV_ECANCELED);
	else
		rw_retry(rw, res);
}

/* bytes of this piece were moved: a short direct write goes on from a place where direct I/O can */
static void rw_advance(struct rpma_uv__file_rw *rw, size_t moved)
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
	struct rpma_uv__file_rw *rw = rpma_uv__container_of(io, struct rpma_uv__file_rw, io);
	rpma_uv_file_t *f = rw->head.file;

	if (res > 0) {
		rw_advance(rw, (size_t)res);
	} else if (res == 0 && is_kind(rw, &read_kind)) {
		rw_end(rw, 0); /* the end of the file */
	} else if (res == 0) {
		/* no byte taken and no reason given: asking again would not end */
		rw_end(rw, UV_EIO);
	} else if (res == -EINVAL && io->fd == f->fd_direct && !rw->head.cancelled) {
		/* the file system promised more than it keeps, to others that are out as well */
		f->granule = 0;
		rw_next(rw);
	} else {
		rw_failed(rw, res);
	}
}

static void allocate_done(struct rpma_uv__io *io, int res)
{
	struct rpma_uv__file_rw *rw = rpma_uv__container_of(io, struct rpma_uv__file_rw, io);

	if (res < 0)
		rw_failed(rw, res);
	else
		rw_end(rw, 0);
}

static int rw_cancel(rpma_uv_future_t *future, unsigned how)
{
	struct rpma_uv__file_rw *rw =
		rpma_uv__room(struct rpma_uv__file_rw, rpma_uv__op_of(future));
	struct rpma_uv__reactor *r = rw->head.file->reactor;

	(void)how;
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
	.describe = rpma_uv__file_op_describe,
};

static const struct rpma_uv__kind write_kind = {
	.name = "file write",
	.cancel = rw_cancel,
	.describe = rpma_uv__file_op_describe,
};

static const struct rpma_uv__kind allocate_kind = {
	.name = "file allocate",
	.cancel = rw_cancel,
	.describe = rpma_uv__file_op_describe,
};

/* ---- beginning ------------------------------------------------------------------------------- */

static struct rpma_uv__file_rw *rw_begin(
	rpma_uv_op_t *op, void (*done)(struct rpma_uv__io *io, int res))
{
	struct rpma_uv__file_rw *rw = rpma_uv__room(struct rpma_uv__file_rw, op);
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

/* may it run? a read may also after a failed sync */
static int rw_status(const rpma_uv_file_t *f, const struct rpma_uv__kind *kind)
{
	if (kind == &read_kind)
		return f->state == RPMA_UV__FILE_OPEN ? 0 : UV_ECANCELED;
	return rpma_uv__file_status(f);
}

static rpma_uv_future_t *rw_call(rpma_uv_file_t *f, rpma_uv_op_t *op,
	const struct rpma_uv__kind *kind, const uv_buf_t bufs[], unsigned n, int64_t off, int rwf)
{
	struct rpma_uv__file_rw *rw;
	uint64_t total = 0;
	int status = rw_total(bufs, n, off, &total);

	if (status == 0)
		status = rwf < 0 ? rwf : rw_status(f, kind);
	op = rpma_uv__file_op_begin(f, op, kind, off, status);
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
	struct rpma_uv__file_rw *rw;

	if (status == 0)
		status = rpma_uv__file_status(f);
	op = rpma_uv__file_op_begin(f, op, &allocate_kind, off, status);
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

void rpma_uv__file_rws_init(rpma_uv_file_t *f)
{
	TAILQ_INIT(&f->writes);
	TAILQ_INIT(&f->reads);
}

static void list_cancel(struct rpma_uv__file_rws *list)
{
	struct rpma_uv__file_rw *rw, *next;

	for (rw = TAILQ_FIRST(list); rw != NULL; rw = next) {
		next = TAILQ_NEXT(rw, link);
		(void)rw_cancel(&rpma_uv__op_of_room(rw)->future, 0);
	}
}

void rpma_uv__file_rws_cancel(rpma_uv_file_t *f)
{
	list_cancel(&f->writes);
	list_cancel(&f->reads);
}
