/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * digest.c - jobs that compute digests beside the loop
 *
 *     QUEUED --pool--> RUNNING --after_work--> told, freed
 *        |                |
 *        +--- the last waiter leaves: `unwanted`, then after_work --> freed
 *
 * A job is on the list from its start until after_work; only `unwanted` is seen by both threads.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "digest.h"

/* a piece between two looks at `unwanted` */
#define PIECE ((size_t)256 * 1024)

struct digest_job {
	uv_work_t work;
	const struct export *export;
	uint64_t offset;
	uint64_t length;
	atomic_bool unwanted;
	LIST_HEAD(, digest_waiter) waiters;
	LIST_ENTRY(digest_job) link;
	/* the outcome: written on the pool, read after it */
	int status;
	uint8_t sha256[SHA256_BYTES];
};

void digests_init(struct digests *d, uv_loop_t *loop, const struct export *export)
{
	d->loop = loop;
	d->export = export;
	LIST_INIT(&d->jobs);
}

static int compute(struct digest_job *job, struct sha256 *sha, void *scratch)
{
	for (uint64_t done = 0; done < job->length;) {
		uint64_t left = job->length - done;
		size_t len = left < PIECE ? (size_t)left : PIECE;
		const void *piece;

		if (atomic_load(&job->unwanted))
			return UV_ECANCELED;
		int ret = export_piece(job->export, job->offset + done, len, scratch, &piece);
		if (ret)
			return ret;
		ret = sha256_add(sha, piece, len);
		if (ret)
			return ret;
		done += len;
	}
	return sha256_end(sha, job->sha256);
}

/* on the pool */
static void work(uv_work_t *req)
{
	struct digest_job *job = req->data;
	struct sha256 *sha = sha256_new();
	void *scratch = malloc(PIECE);

	job->status = sha && scratch ? compute(job, sha, scratch) : UV_ENOMEM;
	free(scratch);
	sha256_delete(sha);
	/* libuv ends its pool when the process does, which is too late for libcrypto */
	sha256_thread_end();
}

static void after_work(uv_work_t *req, int status)
{
	struct digest_job *job = req->data;
	struct digest_waiter *w;

	LIST_REMOVE(job, link);
	if (status)
		job->status = status; /* uv_cancel(): it has not run */
	while ((w = LIST_FIRST(&job->waiters))) {
		LIST_REMOVE(w, link);
		w->job = NULL;
		w->told(w, job->status, job->sha256);
	}
	free(job);
}

static struct digest_job *find(struct digests *d, uint64_t offset, uint64_t length)
{
	struct digest_job *job;

	LIST_FOREACH (job, &d->jobs, link) {
		if (job->offset == offset && job->length == length && !atomic_load(&job->unwanted))
			return job;
	}
	return NULL;
}

int digest_want(struct digests *d, struct digest_waiter *w, uint64_t offset, uint64_t length)
{
	struct digest_job *job = find(d, offset, length);

	if (!job) {
		job = calloc(1, sizeof(*job));
		if (!job)
			return UV_ENOMEM;
		job->work.data = job;
		job->export = d->export;
		job->offset = offset;
		job->length = length;
		int ret = uv_queue_work(d->loop, &job->work, work, after_work);
		assert(ret == 0); /* fails without a function only */
		(void)ret;
		LIST_INSERT_HEAD(&d->jobs, job, link);
	}
	w->job = job;
	LIST_INSERT_HEAD(&job->waiters, w, link);
	return 0;
}

void digest_leave(struct digest_waiter *w)
{
	struct digest_job *job = w->job;

	if (!job)
		return;
	w->job = NULL;
	LIST_REMOVE(w, link);
	if (LIST_EMPTY(&job->waiters)) {
		atomic_store(&job->unwanted, true);
		(void)uv_cancel((uv_req_t *)&job->work); /* UV_EBUSY: it runs, and will look */
	}
}
