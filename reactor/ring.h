/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * ring.h - one io_uring a reactor; the only place that knows liburing
 *
 * ASSUMPTIONS
 * - requests are embedded in what started them and stay put until done() was called
 * - done() is called once for each request that was queued, from the loop's reaping, never from
 *   within a queue, cancel, flush or close; it may queue further requests, the same one too
 * - what finds no room in the submission or completion queue waits in order and is prepared later
 * - after a flush the loop does not sleep before it has reaped once more
 */

#ifndef RPMA_UV_RING_H
#define RPMA_UV_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct iovec;
struct statx;
struct rpma_uv__reactor;

/* the most that one registered buffer may hold */
#define RPMA_UV__RING_BUFFER_MAX ((size_t)16 << 20)

enum rpma_uv__io_code {
	RPMA_UV__IO_OPENAT, /* fd: directory; path, flags, len: mode */
	RPMA_UV__IO_CLOSE, /* fd */
	RPMA_UV__IO_STATX, /* fd: the file itself; statx, flags: mask */
	RPMA_UV__IO_READ, /* fd, addr, len, off, flags: RWF_*, buf_index */
	RPMA_UV__IO_WRITE, /* as read */
	RPMA_UV__IO_READV, /* fd, iov, len: how many, off, flags: RWF_* */
	RPMA_UV__IO_WRITEV, /* as readv */
	RPMA_UV__IO_FSYNC, /* fd */
	RPMA_UV__IO_FDATASYNC, /* fd */
	RPMA_UV__IO_FALLOCATE, /* fd, flags: mode, off, len */
};

/* one request; the caller fills in the upper half, what its code needs */
struct rpma_uv__io {
	void (*done)(struct rpma_uv__io *io, int res); /* as the system call, -errno on failure */
	union {
		void *addr;
		const char *path;
		struct statx *statx;
		const struct iovec *iov;
	};
	uint64_t off;
	uint64_t len;
	int fd;
	uint32_t flags;
	int16_t buf_index; /* registered buffer that addr lies in, or -1 */
	uint8_t code;
	/* the ring's */
	uint8_t state;
	int res;
	TAILQ_ENTRY(rpma_uv__io) link;
};

/*
 * Make the ring at its first use. Allowed on any thread as long as the loop has not run since
 * the reactor's start: the ring is bound to a thread at its first flush.
 * ERRORS: UV_ENOSYS, UV_EPERM (no io_uring here), UV_ENOMEM, UV_EMFILE, UV_ECANCELED (closing)
 */
int rpma_uv__ring_ensure(struct rpma_uv__reactor *r);

/* queue a request; it is submitted by the next flush. The ring must have been made */
void rpma_uv__ring_queue(struct rpma_uv__reactor *r, struct rpma_uv__io *io);

/* ask a request that is out to end early; done() still comes, with its true outcome */
void rpma_uv__ring_cancel(struct rpma_uv__reactor *r, struct rpma_uv__io *io);

/* submit what is queued with one io_uring_enter(); no-op without a ring */
void rpma_uv__ring_flush(struct rpma_uv__reactor *r);

/* take all completions and call done(): true when there was one; no-op without a ring */
bool rpma_uv__ring_reap(struct rpma_uv__reactor *r);

/* is there something that a flush or a reaping could take a step with right now? */
bool rpma_uv__ring_has_queued(const struct rpma_uv__reactor *r);

/* requests whose done() is due, queued or submitted */
unsigned rpma_uv__ring_in_flight(const struct rpma_uv__reactor *r);

/*
 * Register memory as one fixed buffer, at most RPMA_UV__RING_BUFFER_MAX: *index_ptr is its place in
 * a table of fixed size. One system call each, on the loop's thread.
 * ERRORS: UV_ENOMEM (the memlock limit), UV_ENOBUFS (the table is full), UV_EINVAL (an old kernel)
 */
int rpma_uv__ring_buffer_add(struct rpma_uv__reactor *r, void *base, size_t len, int *index_ptr);
void rpma_uv__ring_buffer_remove(struct rpma_uv__reactor *r, int index);

/*
 * Close: cancels what is out, reaps every completion, then lets go of the ring and closes its
 *        handle
 * (counted in handles_open). No-op without a ring.
 */
void rpma_uv__ring_close(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_RING_H */
