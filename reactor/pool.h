/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pool.h - what the rest of the library needs of pools
 *
 * ASSUMPTIONS
 * - a pool is on reactor->pools from its making until its close callback has returned
 * - buffers go to those who wait in the order of their waiting; a free buffer means that nobody
 *   waits. So those who share a pool and wait for each further buffer get them in turn
 */

#ifndef RPMA_UV_POOL_H
#define RPMA_UV_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "librpma_uv.h"

struct rpma_uv__reactor;

/* one who waits for a buffer; got() is called once, from within rpma_uv_buf_put() */
struct rpma_uv__buf_waiter {
	void (*got)(struct rpma_uv__buf_waiter *waiter, rpma_uv_buf_t *buf);
	TAILQ_ENTRY(rpma_uv__buf_waiter) link;
};

void rpma_uv__buf_wait(rpma_uv_pool_t *pool, struct rpma_uv__buf_waiter *waiter);
void rpma_uv__buf_wait_cancel(rpma_uv_pool_t *pool, struct rpma_uv__buf_waiter *waiter);

struct rpma_uv__reactor *rpma_uv__pool_reactor(const rpma_uv_pool_t *pool);
unsigned rpma_uv__pool_count(const rpma_uv_pool_t *pool);
size_t rpma_uv__pool_chunk(const rpma_uv_pool_t *pool);

/* the ring's registered buffer that [base, base + len) lies in, or -1 */
int rpma_uv__pool_find(const struct rpma_uv__reactor *r, const void *base, size_t len);

/* the reactor closes: close all pools that are not closing yet */
void rpma_uv__pool_close_all(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_POOL_H */
