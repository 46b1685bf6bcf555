/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * digest.h - SHA-256 of ranges of the export, computed on libuv's pool
 *
 * ASSUMPTIONS
 * - the loop's thread only, except for the work itself
 * - a waiter is embedded in what waits; it is told once, or leaves
 * - who asks for a range that is being computed waits along; nothing is remembered beyond that,
 *   since the source may change
 */

#ifndef RPMA_TOOLS_DIGEST_H
#define RPMA_TOOLS_DIGEST_H

#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "export.h"
#include "sha256.h"

struct digest_job;

struct digest_waiter {
	/* status 0, or UV_E* and no digest; from the loop */
	void (*told)(struct digest_waiter *w, int status, const uint8_t sha256[SHA256_BYTES]);
	struct digest_job *job; /* NULL: waits for nothing */
	LIST_ENTRY(digest_waiter) link;
};

struct digests {
	uv_loop_t *loop;
	const struct export *export;
	LIST_HEAD(, digest_job) jobs;
};

void digests_init(struct digests *d, uv_loop_t *loop, const struct export *export);

/* 0, or UV_ENOMEM and told() will not be called */
int digest_want(struct digests *d, struct digest_waiter *w, uint64_t offset, uint64_t length);

/*
 * forget it; a job that nobody waits for any more is stopped. One that waits for nothing is fine.
 */
void digest_leave(struct digest_waiter *w);

#endif /* RPMA_TOOLS_DIGEST_H */
