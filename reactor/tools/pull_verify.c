/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pull_verify.c - does the file hold what the source held?
 *
 * The file is read back through the transfer's buffers, several reads ahead, and digested in order.
 * The server has computed its digest meanwhile, or is waited for.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "pull.h"

/* how often a silent server is looked after: its digest may take long, its host may be gone */
#define PROBE_INTERVAL_MS 10000

/* one read ahead */
struct slot {
	rpma_uv_op_t op;
	rpma_uv_buf_t *buf;
	uv_buf_t vec;
};

struct reader {
	struct pull *p;
	struct sha256 *sha;
	struct slot *slots;
	uint64_t count; /* of slots */
	uint64_t chunks; /* of the file */
	uint64_t begun; /* chunks whose read was begun; chunk k is in slot k % count */
	uint64_t taken; /* of those, the ones that were digested */
	uint64_t digested; /* bytes */
};

static void begin_read(struct reader *r)
{
	struct slot *slot = &r->slots[r->begun % r->count];
	size_t chunk = r->p->args.chunk;

	/* all of the buffer, also at the end of the file: that keeps it aligned */
	slot->vec = uv_buf_init(slot->buf->base, (unsigned)chunk);
	(void)rpma_uv_file_read(r->p->file, &slot->op, &slot->vec, 1, (int64_t)(r->begun * chunk));
	r->begun++;
}

/* 0, or UV_E* of the chunk at r->digested */
static int take_read(struct reader *r)
{
	struct pull *p = r->p;
	struct slot *slot = &r->slots[r->taken % r->count];
	uint64_t left = p->region.length - r->digested;
	size_t len = left < p->args.chunk ? (size_t)left : p->args.chunk;

	int ret = pull_await(p, &slot->op.future);
	r->taken++;
	if (ret)
		return ret;
	if ((uint64_t)slot->op.future.result != len)
		return UV_EOF;
	ret = sha256_add(r->sha, slot->buf->base, len);
	r->digested += len;
	return ret;
}

static int read_all(struct reader *r)
{
	int ret = 0;

	while (r->begun < r->count)
		begin_read(r);
	while (!ret && r->taken < r->chunks) {
		ret = take_read(r);
		if (!ret && r->begun < r->chunks)
			begin_read(r);
	}
	/* buffers may not go back before their reads have come back */
	while (r->taken < r->begun) {
		struct slot *slot = &r->slots[r->taken++ % r->count];
		(void)pull_await_firm(r->p, &slot->op.future);
	}
	return ret ? ret : sha256_end(r->sha, r->p->file_sha256);
}

static uint64_t digested(void *data)
{
	struct reader *r = data;

	return r->digested;
}

static int digest_file(struct pull *p)
{
	uint64_t chunks = (p->region.length - 1) / p->args.chunk + 1;
	struct reader r = {
		.p = p,
		.chunks = chunks,
		.count = chunks < p->args.depth ? chunks : p->args.depth,
	};
	int ret = UV_ENOMEM;

	r.sha = sha256_new();
	r.slots = calloc(r.count, sizeof(*r.slots));
	if (!r.sha || !r.slots)
		goto out;
	/* the transfer is over: all buffers are free, and there are `depth` of them */
	for (uint64_t i = 0; i < r.count; i++) {
		r.slots[i].buf = rpma_uv_buf_get(p->pool);
		assert(r.slots[i].buf);
	}

	progress_start(&p->progress, "verifying", p->region.length, digested, &r);
	ret = read_all(&r);
	progress_stop(&p->progress);
	for (uint64_t i = 0; i < r.count; i++)
		rpma_uv_buf_put(r.slots[i].buf);
out:
	free(r.slots);
	sha256_delete(r.sha);
	if (ret == UV_ENOMEM)
		return pull_failed(p, EXIT_RESOURCES, "verify", ret, "%s", reason(ret));
	return ret ? pull_failed_at(p, EXIT_STORAGE, "verify", r.digested, ret) : 0;
}

static int await_source_digest(struct pull *p)
{
	const rpma_uv_local_t nowhere = { NULL, 0 };
	const rpma_uv_remote_t nothing = { NULL, 0 };
	struct control_message message;
	int ret;

	while ((ret = pull_await_for(p, &p->digest_op.future, PROBE_INTERVAL_MS)) ==
		RPMA_UV_PENDING) {
		/* a read of nothing fails when there is nobody any more */
		ret = pull_await(p, rpma_uv_read(p->conn, &p->op, nowhere, nothing, 0, 0));
		if (ret)
			break;
	}
	if (ret)
		return pull_failed(
			p, EXIT_REMOTE, "verify", ret, "no digest of the source: %s", reason(ret));
	ret = pull_hear(p, "verify", &p->digest_op, p->room->digest, CONTROL_DIGEST, &message);
	if (ret)
		return ret;
	if (message.digest.offset != p->region.offset || message.digest.length != p->region.length)
		return pull_failed(p, EXIT_REFUSED, "verify", UV_EPROTO,
			"the server's digest is of another range");
	memcpy(p->source_sha256, message.digest.sha256, sizeof(p->source_sha256));
	return 0;
}

int pull_verify(struct pull *p)
{
	char file[SHA256_TEXT], source[SHA256_TEXT];

	if (!p->args.verify)
		return 0;
	int ret = digest_file(p);
	if (ret)
		return ret;
	p->have_file_digest = true;
	ret = await_source_digest(p);
	if (ret)
		return ret;
	p->have_source_digest = true;
	if (memcmp(p->file_sha256, p->source_sha256, SHA256_BYTES) != 0)
		return pull_failed(p, EXIT_MISMATCH, "verify", UV_EILSEQ,
			"the file's SHA-256 is %s, the source's %s",
			sha256_format(p->file_sha256, file),
			sha256_format(p->source_sha256, source));
	p->verified = true;
	return 0;
}
