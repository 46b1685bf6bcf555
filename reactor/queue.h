/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * queue.h - a connection's work: waiting in software, posted to the device, completed
 *
 * ASSUMPTIONS
 * - posted operations of the send side form a FIFO; a completion completes all up to its own
 * - a send-queue slot is free again only when a completion at or behind it was taken
 *
 * INVARIANTS
 * - send_posted <= send_size; reads_posted <= read_depth; recv_posted <= recv_size
 * - the last posted send of a flush is signalled, so that waiting work always has a completion to
 *   wait for
 */

#ifndef RPMA_UV_QUEUE_H
#define RPMA_UV_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

#include "future.h"

struct rpma_uv__reactor;

/* one work request, in the room of its operation */
struct RPMA_UV__ROOM rpma_uv__wr {
	TAILQ_ENTRY(rpma_uv__wr) link;
	rpma_uv_conn_t *conn;
	struct ibv_sge sge; /* length 0: none is given to the device */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm; /* network order */
	uint32_t byte_len; /* received */
	uint8_t opcode; /* enum ibv_wr_opcode; of no meaning for a receive */
	bool is_recv;
	bool has_imm;
	bool is_posted;
	bool is_internal; /* in no operation: nobody waits for it */
};

TAILQ_HEAD(rpma_uv__wrs, rpma_uv__wr);

struct rpma_uv__queue {
	/* the send side */
	struct rpma_uv__wrs send_waiting;
	struct rpma_uv__wrs send_out; /* posted, oldest first */
	unsigned send_size;
	unsigned send_posted;
	unsigned reads_posted;
	unsigned read_depth; /* negotiated; known at READY */
	uint64_t sent_ms; /* of uv_now(): when something was posted last */
	/* the receive side */
	struct rpma_uv__wrs recv_waiting;
	struct rpma_uv__wrs recv_out;
	unsigned recv_size;
	unsigned recv_posted;
	/* both */
	unsigned waiting;
	bool is_dirty; /* on reactor->dirty */
};

/* work requests in one list */
#define RPMA_UV__WR_BATCH 128

struct rpma_uv__wr_scratch {
	struct ibv_send_wr send[RPMA_UV__WR_BATCH];
	struct ibv_recv_wr recv[RPMA_UV__WR_BATCH];
};

void rpma_uv__queue_init(struct rpma_uv__queue *q, unsigned send_size, unsigned recv_size);

/* queue a work request of a begun operation; beyond the bound it ends UV_EAGAIN */
void rpma_uv__queue_add(rpma_uv_conn_t *c, struct rpma_uv__wr *wr);

/* post the receives that wait, as far as there is room: the connection has a queue pair */
void rpma_uv__queue_post_recvs(rpma_uv_conn_t *c);

/* the next flush looks at this connection */
void rpma_uv__queue_mark_dirty(rpma_uv_conn_t *c);

/* post for every dirty connection, one list and one doorbell each, and let ending ones go on */
void rpma_uv__queues_flush(struct rpma_uv__reactor *r);

/* a work completion was taken */
void rpma_uv__queue_complete(struct rpma_uv__reactor *r, const struct ibv_wc *wc);

/* end everything that waits, with this status */
void rpma_uv__queue_cancel_waiting(rpma_uv_conn_t *c, int status);

/* end everything that was posted: the queue pair is gone and its completions are drained */
void rpma_uv__queue_abandon_posted(rpma_uv_conn_t *c, int status);

/* take one that waits out of the queue: 0, or UV_EBUSY when it is posted */
int rpma_uv__queue_cancel(struct rpma_uv__wr *wr);

static inline unsigned rpma_uv__queue_posted(const struct rpma_uv__queue *q)
{
	return q->send_posted + q->recv_posted;
}

#endif /* RPMA_UV_QUEUE_H */
