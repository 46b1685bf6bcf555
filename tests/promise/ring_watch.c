/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* ring_watch.c - what a reactor asks of its ring, seen and meddled with where it is submitted */

#include <dlfcn.h>
#include <liburing.h>
#include <sys/uio.h>

#include "promise.h"
#include "ring_watch.h"

#define REQUESTS 16384
#define BLOCK    4096 /* short writes stay aligned: they may go past the page cache */

struct request {
	uint64_t data; /* the library's own name for it */
	uint64_t off;
	uint32_t len;
	uint8_t opcode;
	bool is_durable; /* a write with RWF_DSYNC */
	bool is_of_data; /* a sync without metadata, of the file; the directory's has it */
	bool is_done;
	uint8_t *covers; /* of a sync: what was confirmed when it was submitted */
	size_t covers_len;
};

static struct {
	struct io_uring *ring;
	unsigned looked; /* completions, by the number of their place */
	struct request requests[REQUESTS];
	unsigned count, first_open;
	/* completed, and to be taken by the library: its place, its request, its result */
	struct {
		unsigned place;
		struct request *request;
		int res;
	} completed[REQUESTS];
	unsigned completed_count, taken;
	/* bytes of the file, up to the last that was written */
	uint8_t confirmed[RING_WATCH_BYTES], durable[RING_WATCH_BYTES], last[RING_WATCH_BYTES];
	size_t end;
	unsigned writes, syncs, directory_syncs, shortened;
	unsigned shorten, fail_write, fail_sync;
} watched;

void ring_watch_begin(void)
{
	for (unsigned i = 0; i < watched.count; i++)
		free(watched.requests[i].covers);
	watched.count = watched.first_open = watched.completed_count = watched.taken = 0;
	memset(watched.confirmed, 0, watched.end);
	memset(watched.durable, 0, watched.end);
	memset(watched.last, 0, watched.end);
	watched.end = 0;
	watched.writes = watched.syncs = watched.directory_syncs = watched.shortened = 0;
	watched.shorten = watched.fail_write = watched.fail_sync = 0;
}

/* ---- completions ----------------------------------------------------------------------------- */

static struct request *find(uint64_t data)
{
	for (unsigned i = watched.first_open; i < watched.count; i++) {
		struct request *request = &watched.requests[i];

		if (request->data == data && !request->is_done)
			return request;
	}
	return NULL;
}

static bool is_write(unsigned opcode)
{
	return opcode == IORING_OP_WRITE || opcode == IORING_OP_WRITE_FIXED ||
	       opcode == IORING_OP_WRITEV;
}

/* the library has taken the completion */
static void take(struct request *request, int res)
{
	if (is_write(request->opcode) && res > 0) {
		CHECK(request->off + (uint64_t)res <= RING_WATCH_BYTES);
		memset(watched.confirmed + request->off, 1, (size_t)res);
		if (request->off + (uint64_t)res > watched.end)
			watched.end = request->off + (size_t)res;
		if (request->is_durable)
			memset(watched.durable + request->off, 1, (size_t)res);
	}
	if (request->opcode != IORING_OP_FSYNC || res != 0)
		return;
	if (request->is_of_data) {
		for (size_t i = 0; i < request->covers_len; i++)
			watched.durable[i] |= request->covers[i];
	} else {
		watched.directory_syncs++;
	}
}

void ring_watch_look(void)
{
	struct io_uring_cq *cq;
	unsigned head, tail;

	if (watched.ring == NULL)
		return;
	cq = &watched.ring->cq;
	tail = io_uring_smp_load_acquire(cq->ktail);
	head = *cq->khead;
	for (; watched.looked != tail; watched.looked++) {
		const struct io_uring_cqe *cqe = &cq->cqes[watched.looked & cq->ring_mask];
		struct request *request = find(cqe->user_data);

		if (request == NULL)
			continue;
		request->is_done = true;
		CHECK(watched.completed_count < REQUESTS);
		watched.completed[watched.completed_count].place = watched.looked;
		watched.completed[watched.completed_count].request = request;
		watched.completed[watched.completed_count++].res = cqe->res;
	}
	while (watched.taken < watched.completed_count &&
		(int)(watched.completed[watched.taken].place - head) < 0) {
		take(watched.completed[watched.taken].request,
			watched.completed[watched.taken].res);
		watched.taken++;
	}
	while (watched.first_open < watched.count && watched.requests[watched.first_open].is_done)
		watched.first_open++;
}

/* ---- submissions ----------------------------------------------------------------------------- */

/* of a vector the first buffer remains */
static void shorten(struct io_uring_sqe *sqe)
{
	const struct iovec *iov = (const void *)(uintptr_t)sqe->addr;
	uint32_t blocks = sqe->len / BLOCK;

	if (sqe->opcode == IORING_OP_WRITEV) {
		if (sqe->len < 2 || iov->iov_len == 0)
			return;
		sqe->len = 1;
	} else if (blocks > 1 && sqe->len % BLOCK == 0) {
		sqe->len = (1 + below(blocks - 1)) * BLOCK;
	} else if (sqe->len < BLOCK && sqe->len > 1) {
		sqe->len = 1 + below(sqe->len - 1);
	} else {
		return;
	}
	watched.shortened++;
}

static void note_sync(struct request *request)
{
	request->covers_len = watched.end;
	request->covers = malloc(watched.end + 1);
	CHECK(request->covers != NULL);
	memcpy(request->covers, watched.confirmed, watched.end);
	memcpy(watched.last, watched.confirmed, watched.end);
}

static void note(struct io_uring_sqe *sqe)
{
	struct request *request = &watched.requests[watched.count];

	CHECK(watched.count < REQUESTS);
	*request = (struct request){
		.data = sqe->user_data,
		.off = sqe->off,
		.opcode = sqe->opcode,
	};
	if (is_write(sqe->opcode)) {
		watched.writes++;
		if (watched.fail_write > 0 && --watched.fail_write == 0)
			sqe->fd = -1;
		if (watched.shorten > 0 && below(watched.shorten) == 0)
			shorten(sqe);
		request->is_durable = (sqe->rw_flags & RWF_DSYNC) != 0;
	} else if (sqe->opcode == IORING_OP_FSYNC) {
		request->is_of_data = (sqe->fsync_flags & IORING_FSYNC_DATASYNC) != 0;
		if (request->is_of_data) {
			watched.syncs++;
			note_sync(request);
			if (watched.fail_sync > 0 && --watched.fail_sync == 0)
				sqe->fd = -1;
		}
	}
	request->len = sqe->len;
	watched.count++;
}

__attribute__((visibility("default"))) int io_uring_submit(struct io_uring *ring)
{
	static int (*call)(struct io_uring *);
	struct io_uring_sq *sq = &ring->sq;

	if (call == NULL)
		*(void **)&call = dlsym(RTLD_NEXT, "io_uring_submit");
	if (watched.ring != ring || *ring->cq.ktail - watched.looked > ring->cq.ring_entries) {
		watched.ring = ring;
		watched.looked = *ring->cq.khead;
	}
	ring_watch_look();
	for (unsigned i = sq->sqe_head; i != sq->sqe_tail; i++)
		note(&sq->sqes[i & sq->ring_mask]);
	return call(ring);
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool all_of(const uint8_t *map, size_t from, size_t len)
{
	CHECK(from + len <= RING_WATCH_BYTES);
	return len == 0 || memchr(map + from, 0, len) == NULL;
}

bool ring_watch_is_confirmed(size_t from, size_t len)
{
	ring_watch_look();
	return all_of(watched.confirmed, from, len);
}

bool ring_watch_is_durable(size_t from, size_t len)
{
	ring_watch_look();
	return all_of(watched.durable, from, len);
}

bool ring_watch_last_sync_covers(size_t from, size_t len)
{
	return all_of(watched.last, from, len);
}

size_t ring_watch_durable(void)
{
	size_t count = 0;

	ring_watch_look();
	for (size_t i = 0; i < watched.end; i++)
		count += watched.durable[i];
	return count;
}

unsigned ring_watch_writes(void)
{
	return watched.writes;
}

unsigned ring_watch_syncs(void)
{
	return watched.syncs;
}

unsigned ring_watch_directory_syncs(void)
{
	ring_watch_look();
	return watched.directory_syncs;
}

unsigned ring_watch_shortened(void)
{
	return watched.shortened;
}

void ring_watch_shorten(unsigned one_in)
{
	watched.shorten = one_in;
}

void ring_watch_fail_write(unsigned k)
{
	watched.fail_write = k;
}

void ring_watch_fail_sync(unsigned k)
{
	watched.fail_sync = k;
}
