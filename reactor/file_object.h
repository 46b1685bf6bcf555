/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * file_object.h - a file from within: its states are drawn atop file.c
 *
 *   file.c       opening, ending, who keeps it, and what its operations have in common
 *   file_rw.c    reads, writes and allocates, piece by piece
 *   file_sync.c  the barrier
 *
 * ASSUMPTIONS
 * - only these three include this header; all others know files by file.h
 * - a field is written by the source that its group names, and may be read by all three
 * - a read, write, allocate or sync that runs is on one list of its file's, and holds the file
 * - io, retry and tries serve one at a time: the opening, then the syncs, then the ending. Nothing
 *   ends a file that is held, and each sync holds it
 */

#ifndef RPMA_UV_FILE_OBJECT_H
#define RPMA_UV_FILE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "deadline.h"
#include "file.h"
#include "future.h"
#include "reactor.h"
#include "ring.h"

/* direct pieces are whole pages, see file_rw.c */
#define RPMA_UV__FILE_PAGE 4096

/*
 * EAGAIN and EINTR are asked again, the first time at once, then after 2, 4, 8 .. 128 ms: a
 * little less than a second in all
 */
#define RPMA_UV__FILE_TRIES_MAX 12

enum rpma_uv__file_state {
	RPMA_UV__FILE_OPENING,
	RPMA_UV__FILE_OPEN,
	RPMA_UV__FILE_CLOSING,
	RPMA_UV__FILE_ENDING,
};

/* what an operation's room starts with; a refused operation's room is all zero */
enum rpma_uv__file_phase {
	RPMA_UV__FILE_UNTOLD,
	RPMA_UV__FILE_RUNNING,
	RPMA_UV__FILE_FAILED,
};

struct RPMA_UV__ROOM rpma_uv__file_op {
	uint8_t phase;
	uint8_t tries;
	uint8_t count; /* of bufs */
	bool cancelled;
	rpma_uv_file_t *file;
	int64_t off; /* -1: the file as a whole */
};

/* read, write, allocate */
struct RPMA_UV__ROOM rpma_uv__file_rw {
	struct rpma_uv__file_op head;
	struct rpma_uv__io io;
	struct rpma_uv__deadline retry;
	const uv_buf_t *bufs;
	uint64_t total;
	uint64_t done; /* bytes confirmed */
	uint64_t sequence; /* writes and allocates: how many were called before */
	TAILQ_ENTRY(rpma_uv__file_rw) link;
};

struct RPMA_UV__ROOM rpma_uv__file_sync {
	struct rpma_uv__file_op head;
	int status; /* of a write that it covers and that has failed */
	uint64_t sequence;
	TAILQ_ENTRY(rpma_uv__file_sync) link;
};

TAILQ_HEAD(rpma_uv__file_rws, rpma_uv__file_rw);
TAILQ_HEAD(rpma_uv__file_syncs, rpma_uv__file_sync);

struct rpma_uv_file {
	/* file.c */
	struct rpma_uv__reactor *reactor;
	TAILQ_ENTRY(rpma_uv_file) link;
	enum rpma_uv__file_state state;
	unsigned holds; /* operations, and others who keep the file */
	int fd, fd_direct; /* or -1 */
	size_t memory_align; /* memory of direct pieces starts at a multiple of this */

	/* whoever has the request of the file's own, see above */
	struct rpma_uv__io io;
	struct rpma_uv__deadline retry;
	unsigned tries;

	/* file.c, OPENING */
	rpma_uv_op_t *open_op;
	int open_status;
	bool open_cancelled;
	bool wants_direct;
	bool may_be_old; /* O_CREAT found the name taken */
	int oflags;
	mode_t mode;
	struct statx statx;
	char *directory; /* the path of the one that has the name */
	char fd_path[32]; /* the file once more, whatever has its name by now */
	int directory_status; /* why the directory of its name could not be opened */

	/* file.c sets, file_rw.c takes it back when the file system does not keep its word */
	size_t granule; /* direct pieces start at and have multiples of it; 0: no direct I/O */

	/* file.c sets both, file_sync.c takes them back once the directory was synced */
	bool created; /* its name is not durable before */
	int fd_directory; /* or -1 */

	/* file_rw.c, OPEN and CLOSING */
	uint64_t writes_called;
	struct rpma_uv__file_rws writes, reads;

	/* file_sync.c, OPEN and CLOSING */
	struct rpma_uv__file_syncs syncs_waiting, syncs_running;
	int write_status; /* of a failed write that no sync has reported yet */
	int sync_status; /* of the sync that failed for good */

	/* file.c, CLOSING and ENDING */
	rpma_uv_close_cb close_cb;
	void *close_data;
	struct rpma_uv__closer closer;

	char path[];
};

/* ---- file.c ---------------------------------------------------------------------------------- */

/*
 * Begin an operation that holds the file, or, with status < 0, one that has failed already. NULL:
 * the slab could not grow.
 */
rpma_uv_op_t *rpma_uv__file_op_begin(rpma_uv_file_t *f, rpma_uv_op_t *op,
	const struct rpma_uv__kind *kind, int64_t off, int status);

/* finish one, which does not drop the file; of a failure, off and path stay in its room */
void rpma_uv__file_op_finish(
	rpma_uv_op_t *op, const char *path, int64_t off, int status, int64_t result);

/* describe() of every kind */
void rpma_uv__file_op_describe(const rpma_uv_future_t *future, char *text, size_t size);

/* queue the request of the file's own; the code's other fields are set already */
void rpma_uv__file_queue(rpma_uv_file_t *f, enum rpma_uv__io_code code, int fd,
	void (*done)(struct rpma_uv__io *io, int res));

/* the file whose own request this is */
static inline rpma_uv_file_t *rpma_uv__file_of(struct rpma_uv__io *io)
{
	return rpma_uv__container_of(io, rpma_uv_file_t, io);
}

/* ---- file_rw.c ------------------------------------------------------------------------------- */

/* EAGAIN and EINTR say nothing about the file */
bool rpma_uv__file_is_passing(int res);

/* how long to wait after so many tries, the last of which ended with res; 0: not at all */
uint64_t rpma_uv__file_delay_ms(unsigned tries, int res);

void rpma_uv__file_rws_init(rpma_uv_file_t *f);

/* ask all to end early */
void rpma_uv__file_rws_cancel(rpma_uv_file_t *f);

/* ---- file_sync.c ----------------------------------------------------------------------------- */

void rpma_uv__file_syncs_init(rpma_uv_file_t *f);

/* end those that wait; one that runs goes on */
void rpma_uv__file_syncs_cancel(rpma_uv_file_t *f);

/* a write has failed: the syncs that cover it fail with it, or else the next one to be called */
void rpma_uv__file_write_failed(rpma_uv_file_t *f, uint64_t sequence, int status);

/* a write is off its list, and has been told of if it has failed: go on with what waited for it */
void rpma_uv__file_syncs_step(rpma_uv_file_t *f);

#endif /* RPMA_UV_FILE_OBJECT_H */
