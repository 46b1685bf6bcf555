/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * ring.h - one io_uring a reactor; the only place that knows liburing
 *
 * ASSUMPTIONS
 * - requests are embedded in what started them and stay put until done() was called
 * - done() is called once for each request that was queued, from the loop's reaping, never from within
 *   a call of this header; it may queue further requests, the same one too
 * - what finds no room in the submission queue waits in order and is prepared later
 */

#ifndef RPMA_UV_RING_H
#define RPMA_UV_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

struct iovec;
struct statx;
struct rpma_uv__reactor;

enum rpma_uv__io_code {
	RPMA_UV__IO_OPENAT,
	RPMA_UV__IO_CLOSE,
	RPMA_UV__IO_STATX,
	RPMA_UV__IO_READ,
	RPMA_UV__IO_WRITE,
	RPMA_UV__IO_FSYNC,
	RPMA_UV__IO_FALLOCATE,
};

/* one request; the caller fills in the upper half */
struct rpma_uv__io {
	void (*done)(struct rpma_uv__io *io, int res); /* res: as the system call, -errno on failure */
	enum rpma_uv__io_code code;
	int fd;
	void *addr;      /* memory, path, or struct statx: by code */
	const char *path;
	uint64_t off;
	uint64_t len;    /* bytes; openat: the mode */
	uint32_t flags;  /* open flags, RWF_*, fsync flags, statx mask, fallocate mode: by code */
	int buf_index;   /* registered buffer of addr, or -1 */
	/* the ring's */
	uint8_t state;
	TAILQ_ENTRY(rpma_uv__io) link;
};

/* make the ring at its first use: 0, or UV_ENOSYS, UV_EPERM, UV_ENOMEM ... */
int rpma_uv__ring_ensure(struct rpma_uv__reactor *r);

/* queue a request; it is submitted by the next flush */
void rpma_uv__ring_queue(struct rpma_uv__reactor *r, struct rpma_uv__io *io);

/* ask a queued or submitted request to end early; done() still comes, with its true outcome */
void rpma_uv__ring_cancel(struct rpma_uv__reactor *r, struct rpma_uv__io *io);

/* submit what is queued: one io_uring_enter() at most; no-op without a ring */
void rpma_uv__ring_flush(struct rpma_uv__reactor *r);

/* take all completions: true when there was one; no-op without a ring */
bool rpma_uv__ring_reap(struct rpma_uv__reactor *r);

/* queued requests that no flush has taken yet? */
bool rpma_uv__ring_has_queued(const struct rpma_uv__reactor *r);

/* requests out, queued or submitted */
unsigned rpma_uv__ring_in_flight(const struct rpma_uv__reactor *r);

/*
 * Register memory as one fixed buffer, at most 16 MiB, in the sparse table: *index_ptr is its place.
 * 0 or UV_E* (UV_ENOMEM: the memlock limit). In the loop's thread, a system call each.
 */
int rpma_uv__ring_buffer_add(struct rpma_uv__reactor *r, void *base, size_t len, int *index_ptr);
void rpma_uv__ring_buffer_remove(struct rpma_uv__reactor *r, int index);

/*
 * Close: cancels what is out, reaps every completion, then lets go of the ring and closes its handle
 * (counted in handles_open). No-op without a ring.
 */
void rpma_uv__ring_close(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_RING_H */
