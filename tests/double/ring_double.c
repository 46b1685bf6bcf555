/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* ring_double.c - a stand-in for reactor/ring.c, and for the files behind it */

/* what a test double asserts is part of the test */
#undef NDEBUG

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "reactor/reactor.h"
#include "ring_double.h"

#define CODES    (RPMA_UV__IO_FALLOCATE + 1)
#define RULES    64
#define FDS      16
#define FD_FIRST 1000
#define PAGE     4096
#define LOG_SIZE 16384
#define BUFFERS  1024
#define MANY     1000000

enum { IDLE, QUEUED, SUBMITTED, HELD, FINISHED };
enum { CLOSED, PLAIN, DIRECT, DIRECTORY };
enum { UNWRITTEN, WRITTEN, SYNCING, DURABLE };

TAILQ_HEAD(ios, rpma_uv__io);

/* what makes up a ring for the reactor: only that there is one */
struct rpma_uv__ring {
	int dummy;
};

static struct rpma_uv__ring ring;
static struct {
	struct ios queued, submitted, held, finished;
	unsigned count;
	int hold; /* a code, -1 all, -2 none */
	unsigned seed;
	struct {
		int code;
		unsigned k;
		int res;
	} rules[RULES];
	unsigned rule_count;
	unsigned counts[CODES];
	struct rpma_uv__io lasts[CODES];
	char log[LOG_SIZE];
	uint8_t fds[FDS];
	unsigned dio_align;
	unsigned mem_align, offset_align; /* that statx tells */
	bool exists;
	bool has_name;
	uint8_t *data;
	uint8_t *pages;
	size_t size, size_max;
	bool buffers[BUFFERS];
	unsigned buffers_max;
	int missing;
	struct rpma_uv__reactor *reactor;
} d;

/* ---- the file ------------------------------------------------------------------------------- */

void ring_double_reset(size_t size, unsigned dio_align)
{
	free(d.data);
	free(d.pages);
	memset(&d, 0, sizeof(d));
	TAILQ_INIT(&d.queued);
	TAILQ_INIT(&d.submitted);
	TAILQ_INIT(&d.held);
	TAILQ_INIT(&d.finished);
	d.hold = -2;
	d.size_max = size;
	d.dio_align = d.mem_align = d.offset_align = dio_align;
	d.data = calloc(1, size);
	d.pages = calloc(1, size / PAGE + 1);
	d.buffers_max = BUFFERS;
	assert(d.data != NULL && d.pages != NULL);
}

static int fd_new(uint8_t what)
{
	for (int i = 0; i < FDS; i++) {
		if (d.fds[i] == CLOSED) {
			d.fds[i] = what;
			return FD_FIRST + i;
		}
	}
	return -EMFILE;
}

static uint8_t fd_is(int fd)
{
	return fd >= FD_FIRST && fd < FD_FIRST + FDS ? d.fds[fd - FD_FIRST] : CLOSED;
}

static int do_openat(const struct rpma_uv__io *io)
{
	size_t len = strlen(io->path);

	if (io->flags & O_DIRECTORY || strcmp(io->path, ".") == 0 ||
		(len > 0 && io->path[len - 1] == '/'))
		return fd_new(DIRECTORY);
	if (io->flags & O_DIRECT)
		return d.dio_align > 0 ? fd_new(DIRECT) : -EINVAL;
	if (d.exists && (io->flags & O_EXCL))
		return -EEXIST;
	if (!d.exists && !(io->flags & O_CREAT))
		return -ENOENT;
	if (io->flags & O_TRUNC)
		d.size = 0;
	if (!d.exists)
		d.has_name = false;
	d.exists = true;
	return fd_new(PLAIN);
}

static int do_statx(const struct rpma_uv__io *io)
{
	memset(io->statx, 0, sizeof(*io->statx));
	io->statx->stx_mask = STATX_SIZE;
	io->statx->stx_size = d.size;
	if (d.dio_align > 0) {
		io->statx->stx_mask |= STATX_DIOALIGN;
		io->statx->stx_dio_mem_align = d.mem_align;
		io->statx->stx_dio_offset_align = d.offset_align;
	}
	return 0;
}

/* bytes [from, to) were confirmed: whole pages, and the last one of the file */
static void pages_set(size_t from, size_t to, uint8_t what)
{
	for (size_t page = from / PAGE; page < (to + PAGE - 1) / PAGE; page++)
		d.pages[page] = what;
}

static int copy_in(uint64_t off, const void *base, size_t len)
{
	if (off >= d.size_max)
		return -ENOSPC;
	if (len > d.size_max - off)
		len = d.size_max - (size_t)off;
	memcpy(d.data + off, base, len);
	if (off + len > d.size)
		d.size = (size_t)off + len;
	return (int)len;
}

static int do_write(const struct rpma_uv__io *io, int limit)
{
	size_t len = io->len < (size_t)limit ? (size_t)io->len : (size_t)limit;
	bool is_durable = io->flags & RWF_DSYNC;
	int ret;

	if (fd_is(io->fd) == DIRECT &&
		((io->off | io->len | (uintptr_t)io->addr) & (d.dio_align - 1)) != 0)
		return -EINVAL;
	ret = copy_in(io->off, io->addr, len);
	if (ret > 0)
		pages_set((size_t)io->off, (size_t)io->off + (size_t)ret,
			is_durable ? DURABLE : WRITTEN);
	return ret;
}

static int do_writev(const struct rpma_uv__io *io, int limit)
{
	uint64_t off = io->off;
	int ret, total = 0;

	for (uint64_t i = 0; i < io->len && total < limit; i++) {
		size_t len = io->iov[i].iov_len;

		if (len > (size_t)(limit - total))
			len = (size_t)(limit - total);
		ret = copy_in(off, io->iov[i].iov_base, len);
		if (ret < 0)
			return total > 0 ? total : ret;
		off += (uint64_t)ret;
		total += ret;
	}
	pages_set((size_t)io->off, (size_t)io->off + (size_t)total, WRITTEN);
	return total;
}

static int do_read(const struct rpma_uv__io *io, int limit)
{
	size_t len = io->len < (size_t)limit ? (size_t)io->len : (size_t)limit;

	if (io->off >= d.size)
		return 0;
	if (len > d.size - io->off)
		len = d.size - (size_t)io->off;
	memcpy(io->addr, d.data + io->off, len);
	return (int)len;
}

static int do_sync(const struct rpma_uv__io *io)
{
	if (fd_is(io->fd) == DIRECTORY) {
		d.has_name = true;
		return 0;
	}
	for (size_t page = 0; page <= d.size_max / PAGE; page++) {
		if (d.pages[page] == SYNCING)
			d.pages[page] = DURABLE;
	}
	return 0;
}

static int do_close(const struct rpma_uv__io *io)
{
	if (fd_is(io->fd) == CLOSED)
		return -EBADF;
	d.fds[io->fd - FD_FIRST] = CLOSED;
	return 0;
}

/* do what the file system would, moving no more than limit bytes */
static int perform(const struct rpma_uv__io *io, int limit)
{
	switch ((enum rpma_uv__io_code)io->code) {
	case RPMA_UV__IO_OPENAT:
		return do_openat(io);
	case RPMA_UV__IO_CLOSE:
		return do_close(io);
	case RPMA_UV__IO_STATX:
		return do_statx(io);
	case RPMA_UV__IO_READ:
		return do_read(io, limit);
	case RPMA_UV__IO_WRITE:
		return do_write(io, limit);
	case RPMA_UV__IO_WRITEV:
		return do_writev(io, limit);
	case RPMA_UV__IO_FSYNC:
	case RPMA_UV__IO_FDATASYNC:
		return do_sync(io);
	case RPMA_UV__IO_FALLOCATE:
		return 0;
	case RPMA_UV__IO_READV:
		break;
	}
	return -ENOSYS;
}

static bool moves_bytes(const struct rpma_uv__io *io)
{
	return io->code >= RPMA_UV__IO_READ && io->code <= RPMA_UV__IO_WRITEV;
}

/* ---- requests ------------------------------------------------------------------------------- */

static void finish(struct rpma_uv__io *io, int res)
{
	io->res = res;
	io->state = FINISHED;
	TAILQ_INSERT_TAIL(&d.finished, io, link);
	rpma_uv__reactor_kick(d.reactor);
}

/* a result that is ordered: a positive one of a write moves that many bytes */
static void finish_as(struct rpma_uv__io *io, int res)
{
	/* the kernel drops the pages that it could not write, and tells once */
	for (size_t page = 0;
		io->code == RPMA_UV__IO_FDATASYNC && res < 0 && page <= d.size_max / PAGE; page++) {
		if (d.pages[page] == SYNCING)
			d.pages[page] = res == -EAGAIN || res == -EINTR ? WRITTEN : UNWRITTEN;
	}
	finish(io, res > 0 && moves_bytes(io) ? perform(io, res) : res);
}

static bool rule_take(const struct rpma_uv__io *io, int *res_ptr)
{
	bool hit = false;

	for (unsigned i = 0; i < d.rule_count; i++) {
		if (d.rules[i].code != io->code || d.rules[i].k == 0 || --d.rules[i].k > 0)
			continue;
		*res_ptr = d.rules[i].res;
		hit = true;
	}
	return hit;
}

static void log_add(const struct rpma_uv__io *io)
{
	static const char *const names[] = { "openat", "close", "statx", "read", "write", "readv",
		"writev", "fsync", "fdatasync", "fallocate" };
	size_t used = strlen(d.log);
	const char *gap = used > 0 ? " " : "";

	if (used > LOG_SIZE - 64)
		return;
	if (moves_bytes(io))
		snprintf(d.log + used, LOG_SIZE - used, "%s%s%s(%llu,%llu)", gap, names[io->code],
			fd_is(io->fd) == DIRECT ? "*" : "", (unsigned long long)io->off,
			(unsigned long long)io->len);
	else
		snprintf(d.log + used, LOG_SIZE - used, "%s%s", gap, names[io->code]);
}

static void submit(struct rpma_uv__io *io)
{
	int res;

	TAILQ_REMOVE(&d.queued, io, link);
	d.counts[io->code]++;
	d.lasts[io->code] = *io;
	log_add(io);
	if (io->code == RPMA_UV__IO_FDATASYNC || io->code == RPMA_UV__IO_FSYNC) {
		for (size_t page = 0; page <= d.size_max / PAGE; page++) {
			if (fd_is(io->fd) != DIRECTORY && d.pages[page] == WRITTEN)
				d.pages[page] = SYNCING;
		}
	}
	if (rule_take(io, &res)) {
		finish_as(io, res);
	} else if (d.hold == -1 || d.hold == io->code) {
		io->state = HELD;
		TAILQ_INSERT_TAIL(&d.held, io, link);
	} else {
		io->state = SUBMITTED;
		TAILQ_INSERT_TAIL(&d.submitted, io, link);
	}
}

static unsigned roll(unsigned n)
{
	d.seed = d.seed * 1103515245u + 12345u;
	return (d.seed >> 16) % n;
}

/* take a random one from the list */
static struct rpma_uv__io *pick(struct ios *list)
{
	struct rpma_uv__io *io, *picked = NULL;
	unsigned n = 0;

	TAILQ_FOREACH (io, list, link) {
		if (roll(++n) == 0)
			picked = io;
	}
	return picked;
}

static void complete_some(void)
{
	struct rpma_uv__io *io;
	unsigned n = MANY;

	if (d.seed != 0)
		n = roll(6);
	while (n-- > 0 && !TAILQ_EMPTY(&d.submitted)) {
		io = d.seed != 0 ? pick(&d.submitted) : TAILQ_FIRST(&d.submitted);
		TAILQ_REMOVE(&d.submitted, io, link);
		finish(io, perform(io, INT32_MAX));
	}
}

/* ---- the functions of ring.h ---------------------------------------------------------------- */

int rpma_uv__ring_ensure(struct rpma_uv__reactor *r)
{
	if (d.missing)
		return d.missing;
	r->ring = &ring;
	d.reactor = r;
	return 0;
}

void rpma_uv__ring_queue(struct rpma_uv__reactor *r, struct rpma_uv__io *io)
{
	assert(r->ring == &ring);
	io->state = QUEUED;
	d.count++;
	TAILQ_INSERT_TAIL(&d.queued, io, link);
	rpma_uv__reactor_kick(r);
}

void rpma_uv__ring_cancel(struct rpma_uv__reactor *r, struct rpma_uv__io *io)
{
	assert(io->state != IDLE);
	if (io->state == QUEUED) {
		TAILQ_REMOVE(&d.queued, io, link);
		finish(io, -ECANCELED);
	} else if (io->state == HELD) {
		TAILQ_REMOVE(&d.held, io, link);
		finish(io, -ECANCELED);
	}
	rpma_uv__reactor_kick(r);
}

void rpma_uv__ring_flush(struct rpma_uv__reactor *r)
{
	struct rpma_uv__io *io;

	(void)r;
	while ((io = TAILQ_FIRST(&d.queued)) != NULL)
		submit(io);
}

bool rpma_uv__ring_reap(struct rpma_uv__reactor *r)
{
	struct rpma_uv__io *io;
	bool any = false;

	complete_some();
	while ((io = TAILQ_FIRST(&d.finished)) != NULL) {
		TAILQ_REMOVE(&d.finished, io, link);
		io->state = IDLE;
		d.count--;
		any = true;
		io->done(io, io->res);
	}
	if (rpma_uv__ring_has_queued(r))
		rpma_uv__reactor_kick(r);
	return any;
}

bool rpma_uv__ring_has_queued(const struct rpma_uv__reactor *r)
{
	(void)r;
	return !TAILQ_EMPTY(&d.queued) || !TAILQ_EMPTY(&d.submitted) || !TAILQ_EMPTY(&d.finished);
}

unsigned rpma_uv__ring_in_flight(const struct rpma_uv__reactor *r)
{
	(void)r;
	return d.count;
}

int rpma_uv__ring_buffer_add(struct rpma_uv__reactor *r, void *base, size_t len, int *index_ptr)
{
	assert(r->ring == &ring);
	assert(base != NULL && len > 0 && len <= RPMA_UV__RING_BUFFER_MAX);
	if (ring_double_buffers() >= d.buffers_max)
		return UV_ENOMEM;
	for (int i = 0; i < BUFFERS; i++) {
		if (!d.buffers[i]) {
			d.buffers[i] = true;
			*index_ptr = i;
			return 0;
		}
	}
	return UV_ENOBUFS;
}

void rpma_uv__ring_buffer_remove(struct rpma_uv__reactor *r, int index)
{
	(void)r;
	assert(d.buffers[index]);
	d.buffers[index] = false;
}

void rpma_uv__ring_close(struct rpma_uv__reactor *r)
{
	assert(d.count == 0);
	r->ring = NULL;
}

/* ---- for tests ------------------------------------------------------------------------------ */

void ring_double_hold(int code)
{
	d.hold = code;
}

void ring_double_go(void)
{
	struct rpma_uv__io *io;

	d.hold = -2;
	while ((io = TAILQ_FIRST(&d.held)) != NULL)
		ring_double_complete(io);
}

void ring_double_seed(unsigned seed)
{
	d.seed = seed;
}

void ring_double_rule(int code, unsigned k, int res)
{
	assert(d.rule_count < RULES);
	d.rules[d.rule_count].code = code;
	d.rules[d.rule_count].k = k;
	d.rules[d.rule_count++].res = res;
}

unsigned ring_double_held(void)
{
	struct rpma_uv__io *io;
	unsigned n = 0;

	TAILQ_FOREACH (io, &d.held, link)
		n++;
	return n;
}

struct rpma_uv__io *ring_double_at(unsigned i)
{
	struct rpma_uv__io *io = TAILQ_FIRST(&d.held);

	while (io != NULL && i-- > 0)
		io = TAILQ_NEXT(io, link);
	return io;
}

void ring_double_complete(struct rpma_uv__io *io)
{
	assert(io->state == HELD);
	TAILQ_REMOVE(&d.held, io, link);
	finish(io, perform(io, INT32_MAX));
}

void ring_double_complete_as(struct rpma_uv__io *io, int res)
{
	assert(io->state == HELD);
	TAILQ_REMOVE(&d.held, io, link);
	finish_as(io, res);
}

unsigned ring_double_count(int code)
{
	return d.counts[code];
}

const struct rpma_uv__io *ring_double_last(int code)
{
	return &d.lasts[code];
}

const char *ring_double_log(void)
{
	return d.log;
}

void ring_double_log_clear(void)
{
	d.log[0] = '\0';
	memset(d.counts, 0, sizeof(d.counts));
}

void ring_double_dio_told(unsigned mem_align, unsigned offset_align)
{
	d.mem_align = mem_align;
	d.offset_align = offset_align;
}

unsigned ring_double_open_fds(void)
{
	unsigned n = 0;

	for (int i = 0; i < FDS; i++)
		n += d.fds[i] != CLOSED;
	return n;
}

void ring_double_exists(size_t size)
{
	d.exists = true;
	d.has_name = true;
	d.size = size;
}

uint8_t *ring_double_data(void)
{
	return d.data;
}

size_t ring_double_size(void)
{
	return d.size;
}

size_t ring_double_durable(void)
{
	size_t page = 0;

	while (page <= d.size_max / PAGE && d.pages[page] == DURABLE)
		page++;
	return page * PAGE < d.size ? page * PAGE : d.size;
}

bool ring_double_has_name(void)
{
	return d.has_name;
}

unsigned ring_double_buffers(void)
{
	unsigned n = 0;

	for (int i = 0; i < BUFFERS; i++)
		n += d.buffers[i];
	return n;
}

void ring_double_buffers_max(unsigned count)
{
	d.buffers_max = count;
}

void ring_double_missing(int status)
{
	d.missing = status;
}
