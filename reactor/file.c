/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * file.c - files on the ring: opening, ending, and who keeps them
 *
 *            opened             file_close()             holds == 0          fds closed
 *   OPENING ---------> OPEN --------------------> CLOSING -----------> ENDING -----------> freed
 *      |                                                                  ^       closer
 *      +-- failed, cancelled ---------------------------------------------+
 *                                                              (the open's future ends then)
 *
 *   OPENING  the open's future is pending; nobody else knows the file.
 *   OPEN     operations come and go; each holds the file.
 *   CLOSING  new operations end UV_ECANCELED; those that run go on.
 *   ENDING   nothing runs but one close of a descriptor at a time.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_object.h"

struct RPMA_UV__ROOM open_op {
	struct rpma_uv__file_op head;
	rpma_uv_file_t **file_ptr;
};

/* a failed operation's room: all that its description needs once the file is gone */
#define NAME_SIZE 160
struct RPMA_UV__ROOM failure {
	struct rpma_uv__file_op head;
	char name[NAME_SIZE]; /* the end of the path */
};

static void file_check(const rpma_uv_file_t *f)
{
	assert(f->state != RPMA_UV__FILE_OPENING || f->holds == 0);
	assert(f->state != RPMA_UV__FILE_ENDING || f->holds == 0);
	assert(f->holds > 0 || TAILQ_EMPTY(&f->writes));
	assert(f->holds > 0 || TAILQ_EMPTY(&f->syncs_waiting));
	(void)f;
}

static void file_set_state(rpma_uv_file_t *f, enum rpma_uv__file_state state)
{
	assert(state > f->state);
	f->state = state;
	file_check(f);
}

/* ---- what all operations have in common ------------------------------------------------------ */

void rpma_uv__file_op_describe(const rpma_uv_future_t *future, char *text, size_t size)
{
	const struct failure *failure = rpma_uv__room(struct failure, rpma_uv__op_of(future));
	const struct rpma_uv__file_op *head = &failure->head;
	const char *name;

	if (head->phase == RPMA_UV__FILE_UNTOLD)
		return;
	name = head->phase == RPMA_UV__FILE_FAILED ? failure->name : head->file->path;
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

	failure->head = (struct rpma_uv__file_op){ .phase = RPMA_UV__FILE_FAILED, .off = off };
	snprintf(failure->name, NAME_SIZE, "%s%s", is_long ? "..." : "",
		is_long ? path + len - (NAME_SIZE - 4) : path);
}

void rpma_uv__file_op_finish(
	rpma_uv_op_t *op, const char *path, int64_t off, int status, int64_t result)
{
	rpma_uv__room(struct rpma_uv__file_op, op)->phase = RPMA_UV__FILE_UNTOLD;
	if (status < 0)
		record(op, off, path);
	rpma_uv__future_finish(&op->future, status, status < 0 ? 0 : result, 0);
}

rpma_uv_op_t *rpma_uv__file_op_begin(rpma_uv_file_t *f, rpma_uv_op_t *op,
	const struct rpma_uv__kind *kind, int64_t off, int status)
{
	struct rpma_uv__file_op *head;

	op = rpma_uv__op_begin(f->reactor, op, kind);
	if (op == NULL)
		return NULL;
	if (status < 0) {
		rpma_uv__file_op_finish(op, f->path, off, status, 0);
		return op;
	}
	head = rpma_uv__room(struct rpma_uv__file_op, op);
	*head = (struct rpma_uv__file_op){ .phase = RPMA_UV__FILE_RUNNING, .file = f, .off = off };
	rpma_uv__file_hold(f);
	return op;
}

void rpma_uv__file_queue(rpma_uv_file_t *f, enum rpma_uv__io_code code, int fd,
	void (*done)(struct rpma_uv__io *io, int res))
{
	f->io.code = (uint8_t)code;
	f->io.fd = fd;
	f->io.done = done;
	rpma_uv__ring_queue(f->reactor, &f->io);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void file_free(rpma_uv_file_t *f)
{
	struct rpma_uv__reactor *r = f->reactor;

	TAILQ_REMOVE(&r->files, f, link);
	free(f->directory);
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
	end_next(rpma_uv__file_of(io));
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

	assert(f->state == RPMA_UV__FILE_ENDING);
	if (fd_ptr != NULL) {
		fd = *fd_ptr;
		*fd_ptr = -1;
		rpma_uv__file_queue(f, RPMA_UV__IO_CLOSE, fd, end_done);
	} else if (f->open_op != NULL) {
		rpma_uv__file_op_finish(f->open_op, f->path, -1, f->open_status, 0);
		file_free(f);
	} else {
		rpma_uv__closer_start(f->reactor, &f->closer, file_call_back, f, file_closed);
	}
}

static void end_if_unheld(rpma_uv_file_t *f)
{
	if (f->state != RPMA_UV__FILE_CLOSING || f->holds > 0)
		return;
	file_set_state(f, RPMA_UV__FILE_ENDING);
	end_next(f);
}

void rpma_uv__file_hold(rpma_uv_file_t *f)
{
	assert(f->state == RPMA_UV__FILE_OPEN);
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
	if (f->state != RPMA_UV__FILE_OPEN)
		return;
	/* the loop stays alive until the close callback has run */
	rpma_uv__reactor_hold(f->reactor);
	file_set_state(f, RPMA_UV__FILE_CLOSING);
	end_if_unheld(f);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_cancel(rpma_uv_future_t *future, unsigned how)
{
	rpma_uv_file_t *f = rpma_uv__room(struct open_op, rpma_uv__op_of(future))->head.file;

	(void)how;
	/* a file that is undone already has its outcome */
	if (f->state == RPMA_UV__FILE_OPENING) {
		f->open_cancelled = true;
		rpma_uv__ring_cancel(f->reactor, &f->io);
	}
	return 0;
}

static const struct rpma_uv__kind open_kind = {
	.name = "file open",
	.cancel = open_cancel,
	.describe = rpma_uv__file_op_describe,
};

static void open_fail(rpma_uv_file_t *f, int status)
{
	f->open_status = status;
	file_set_state(f, RPMA_UV__FILE_ENDING);
	end_next(f);
}

static void open_succeed(rpma_uv_file_t *f)
{
	rpma_uv_op_t *op = f->open_op;

	free(f->directory);
	f->directory = NULL;
	f->tries = 0;
	f->open_op = NULL;
	file_set_state(f, RPMA_UV__FILE_OPEN);
	*rpma_uv__room(struct open_op, op)->file_ptr = f;
	rpma_uv__file_op_finish(op, f->path, -1, 0, 0);
}

static void direct_opened(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = rpma_uv__file_of(io);

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
		if (f->granule < RPMA_UV__FILE_PAGE)
			f->granule = RPMA_UV__FILE_PAGE;
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
	snprintf(f->fd_path, sizeof(f->fd_path), "/proc/self/fd/%d", f->fd);
	f->io.path = f->fd_path;
	f->io.flags =
		((uint32_t)f->oflags & (O_ACCMODE | O_SYNC | O_NOATIME)) | O_DIRECT | O_CLOEXEC;
	f->io.len = 0;
	rpma_uv__file_queue(f, RPMA_UV__IO_OPENAT, AT_FDCWD, direct_opened);
}

static void directory_opened(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = rpma_uv__file_of(io);

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
	f->directory = f->may_be_old ? realpath(f->path, NULL) : strdup(f->path);
	if (f->directory == NULL) {
		open_fail(f, -errno);
		return;
	}
	slash = strrchr(f->directory, '/');
	if (slash == NULL)
		strcpy(f->directory, ".");
	else
		slash[slash == f->directory] = '\0';
	f->io.path = f->directory;
	f->io.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	f->io.len = 0;
	rpma_uv__file_queue(f, RPMA_UV__IO_OPENAT, AT_FDCWD, directory_opened);
}

static void stat_done(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = rpma_uv__file_of(io);

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
	rpma_uv_file_t *f = rpma_uv__file_of(io);

	f->fd = res >= 0 ? res : -1;
	if (f->open_cancelled) {
		open_fail(f, UV_ECANCELED);
	} else if (res == -EEXIST && f->created && !(f->oflags & O_EXCL)) {
		f->created = false;
		f->may_be_old = true;
		open_first(f, f->oflags);
	} else if (res == -EINTR && f->tries++ < RPMA_UV__FILE_TRIES_MAX) {
		open_first(f, (int)f->io.flags);
	} else if (res < 0) {
		open_fail(f, res);
	} else if (f->wants_direct || f->may_be_old) {
		f->io.statx = &f->statx;
		f->io.flags = STATX_SIZE | STATX_DIOALIGN;
		rpma_uv__file_queue(f, RPMA_UV__IO_STATX, f->fd, stat_done);
	} else {
		open_directory(f);
	}
}

static void open_first(rpma_uv_file_t *f, int oflags)
{
	f->io.path = f->path;
	f->io.flags = (uint32_t)oflags;
	f->io.len = f->mode;
	rpma_uv__file_queue(f, RPMA_UV__IO_OPENAT, AT_FDCWD, opened);
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
	rpma_uv__file_rws_init(f);
	rpma_uv__file_syncs_init(f);
	return f;
}

/* what a file could not be opened for before it came to the ring */
static rpma_uv_future_t *open_refuse(
	struct rpma_uv__reactor *r, rpma_uv_op_t *op, const char *path, int status)
{
	op = rpma_uv__op_begin(r, op, &open_kind);
	if (op == NULL)
		return NULL;
	rpma_uv__file_op_finish(op, path != NULL ? path : "(null)", -1, status, 0);
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
		.head = { .phase = RPMA_UV__FILE_RUNNING, .file = f, .off = -1 },
		.file_ptr = file_ptr,
	};
	TAILQ_INSERT_TAIL(&r->files, f, link);
	f->open_op = op;
	f->wants_direct = (flags & RPMA_UV_FILE_DIRECT) || (oflags & O_DIRECT);
	f->oflags = (oflags & ~O_DIRECT) | O_CLOEXEC;
	f->mode = mode;
	/* only a name that O_EXCL let us make is known to be new */
	f->created = (oflags & O_CREAT) != 0;
	open_first(f, f->created ? f->oflags | O_EXCL : f->oflags);
	return &op->future;
}

/* ---- for the rest of the library ------------------------------------------------------------- */

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
	return f->state == RPMA_UV__FILE_OPEN ? f->sync_status : UV_ECANCELED;
}

bool rpma_uv__file_is_unnamed(const rpma_uv_file_t *f)
{
	return f->created;
}

void rpma_uv__file_close_all(struct rpma_uv__reactor *r)
{
	rpma_uv_file_t *f;

	TAILQ_FOREACH (f, &r->files, link) {
		if (f->state == RPMA_UV__FILE_OPENING) {
			(void)open_cancel(&f->open_op->future, 0);
		} else if (f->state == RPMA_UV__FILE_OPEN) {
			/* syncs first: what they wait for ends next, and would start them */
			rpma_uv__file_syncs_cancel(f);
			rpma_uv__file_rws_cancel(f);
			rpma_uv_file_close(f, NULL, NULL);
		}
	}
}
