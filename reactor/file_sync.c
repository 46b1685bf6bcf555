/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * file_sync.c - the barrier: syncs of the data, and once of the directory
 *
 * Writes carry the number of writes called before them, syncs too. A sync is ready when the oldest
 * unfinished write is not older than itself. All that are ready when fdatasync(2) starts share it;
 * one that is called later waits for the next. Links of the ring would be no barrier: a short
 * write cuts them.
 */

#include <assert.h>
#include <errno.h>

#include "file_object.h"

static void sync_end(struct rpma_uv__file_sync *sync, int status)
{
	rpma_uv_file_t *f = sync->head.file;

	rpma_uv__file_op_finish(rpma_uv__op_of_room(sync), f->path, -1, status, 0);
	rpma_uv__file_drop(f);
}

/* the shared sync is over; a failure is final, since the kernel reports lost pages only once */
static void syncs_finish(rpma_uv_file_t *f, int status)
{
	struct rpma_uv__file_sync *sync;

	f->tries = 0;
	assert(f->sync_status == 0);
	f->sync_status = status;
	while ((sync = TAILQ_FIRST(&f->syncs_running)) != NULL) {
		TAILQ_REMOVE(&f->syncs_running, sync, link);
		sync_end(sync, status);
	}
	rpma_uv__file_syncs_step(f);
}

static void directory_closed(struct rpma_uv__io *io, int res)
{
	(void)res;
	syncs_finish(rpma_uv__file_of(io), 0);
}

static void directory_synced(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = rpma_uv__file_of(io);
	int fd = f->fd_directory;

	/* EINVAL: a file system whose directories need no sync, and so offer none */
	if (res < 0 && res != -EINVAL) {
		syncs_finish(f, res);
		return;
	}
	f->created = false;
	f->fd_directory = -1;
	rpma_uv__file_queue(f, RPMA_UV__IO_CLOSE, fd, directory_closed);
}

static void data_sync(rpma_uv_file_t *f);

static void data_synced(struct rpma_uv__io *io, int res)
{
	rpma_uv_file_t *f = rpma_uv__file_of(io);
	uint64_t ms;

	if (rpma_uv__file_is_passing(res) && f->tries++ < RPMA_UV__FILE_TRIES_MAX) {
		ms = rpma_uv__file_delay_ms(f->tries, res);
		if (ms > 0)
			rpma_uv__deadline_set(f->reactor, &f->retry, ms);
		else
			data_sync(f);
	} else if (res < 0 || !f->created) {
		syncs_finish(f, res);
	} else if (f->directory_status < 0) {
		syncs_finish(f, f->directory_status);
	} else {
		rpma_uv__file_queue(f, RPMA_UV__IO_FSYNC, f->fd_directory, directory_synced);
	}
}

static void data_sync(rpma_uv_file_t *f)
{
	assert(!TAILQ_EMPTY(&f->syncs_running));
	rpma_uv__file_queue(f, RPMA_UV__IO_FDATASYNC, f->fd, data_synced);
}

static void data_sync_again(struct rpma_uv__deadline *d)
{
	data_sync(rpma_uv__container_of(d, rpma_uv_file_t, retry));
}

/* end what has failed, and start a shared sync of all that are ready, unless one is running */
void rpma_uv__file_syncs_step(rpma_uv_file_t *f)
{
	const struct rpma_uv__file_rw *oldest = TAILQ_FIRST(&f->writes);
	struct rpma_uv__file_sync *sync, *next;

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

void rpma_uv__file_write_failed(rpma_uv_file_t *f, uint64_t sequence, int status)
{
	struct rpma_uv__file_sync *sync;
	bool covered = false;

	TAILQ_FOREACH (sync, &f->syncs_waiting, link) {
		if (sync->sequence <= sequence)
			continue;
		covered = true;
		if (sync->status == 0)
			sync->status = status;
	}
	if (!covered && f->write_status == 0)
		f->write_status = status;
}

/* one that waits is taken back; one that runs is shared, and half a sync looks like a failed one */
static int sync_cancel(rpma_uv_future_t *future, unsigned how)
{
	struct rpma_uv__file_sync *sync =
		rpma_uv__room(struct rpma_uv__file_sync, rpma_uv__op_of(future));
	rpma_uv_file_t *f = sync->head.file;
	const struct rpma_uv__file_sync *other;

	(void)how;
	TAILQ_FOREACH (other, &f->syncs_running, link) {
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
	.describe = rpma_uv__file_op_describe,
};

rpma_uv_future_t *rpma_uv_file_sync(rpma_uv_file_t *f, rpma_uv_op_t *op)
{
	int status = rpma_uv__file_status(f);
	struct rpma_uv__file_sync *sync;

	op = rpma_uv__file_op_begin(f, op, &sync_kind, -1, status);
	if (op == NULL || status < 0)
		return op != NULL ? &op->future : NULL;
	sync = rpma_uv__room(struct rpma_uv__file_sync, op);
	sync->sequence = f->writes_called;
	sync->status = f->write_status;
	f->write_status = 0;
	TAILQ_INSERT_TAIL(&f->syncs_waiting, sync, link);
	rpma_uv__file_syncs_step(f);
	return &op->future;
}

void rpma_uv__file_syncs_init(rpma_uv_file_t *f)
{
	TAILQ_INIT(&f->syncs_waiting);
	TAILQ_INIT(&f->syncs_running);
	rpma_uv__deadline_init(&f->retry, data_sync_again);
}

void rpma_uv__file_syncs_cancel(rpma_uv_file_t *f)
{
	struct rpma_uv__file_sync *sync, *next;

	for (sync = TAILQ_FIRST(&f->syncs_waiting); sync != NULL; sync = next) {
		next = TAILQ_NEXT(sync, link);
		(void)sync_cancel(&rpma_uv__op_of_room(sync)->future, 0);
	}
}
