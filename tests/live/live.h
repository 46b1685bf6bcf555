/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * live.h - what the live programs share
 *
 * A live program is one test: its parent is the client, its child the server, two processes on one
 * device whose address is in ADDR. Exit 0 passed, 77 skipped, else failed.
 */

#ifndef RPMA_LIVE_H
#define RPMA_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "librpma_uv.h"

/* run the loop until a future is done; its status must be this one, its result is returned */
#define AWAIT(future, expected) live_await(__FILE__, __LINE__, #future, (future), (expected))

int64_t live_await(const char *file, int line, const char *what, rpma_uv_future_t *f, int expected);

/* tell the parent that the server listens */
void live_ready(void);

/*
 * Fork: the child runs server() and exits with what it returns; the parent comes back when the
 *       child
 * has called live_ready(). Neither has touched the device before.
 */
void live_fork(int (*server)(const char *addr), const char *addr);

/* the child must have ended well */
void live_join(void);

/* memory of whole pages, and a pattern in it that tells every 8 bytes from all others */
void *live_memory(size_t size);
void live_pattern(void *memory, size_t size, uint64_t seed);
void live_pattern_check(const void *memory, size_t size, uint64_t seed, size_t offset);

/* a loop and a reactor on it with a peer; and their end: nothing may be left */
struct live_node {
	uv_loop_t loop;
	rpma_uv_reactor_t reactor;
	struct rpma_peer *peer;
	rpma_uv_op_t op;
};

void live_node_open(struct live_node *node, const char *addr, enum rpma_util_ibv_context_type type,
	const rpma_uv_reactor_opts_t *opts);
void live_node_close(struct live_node *node);

/* the core: wait for a queue's next completion, a success; one of this kind */
void live_any_completion(struct rpma_cq *cq, struct ibv_wc *wc);
void live_completion(struct rpma_cq *cq, enum ibv_wc_opcode opcode, struct ibv_wc *wc);

/* a region as its descriptor, ready to be sent along */
struct live_descriptor {
	uint8_t bytes[32];
	struct rpma_conn_private_data pd;
};

void live_descriptor_of(const struct rpma_mr_local *mr, struct live_descriptor *descriptor);

/*
 * a server of one region, patterned from a seed: it accepts so many clients, tells each of the
 * region in the private data of the acceptance, and returns 0 when all have left
 */
struct live_offer {
	const char *port;
	size_t size;
	uint64_t seed;
	unsigned clients;
};

int live_serve(const char *addr, const struct live_offer *offer);

/* a READY connection to it, and the region, for rpma_mr_remote_delete() */
rpma_uv_conn_t *live_connect(
	struct live_node *node, const char *addr, const char *port, struct rpma_mr_remote **remote);

#endif /* RPMA_LIVE_H */
