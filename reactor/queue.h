/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * queue.h - a connection's work: waiting in software, posted to the device, completed
 *
 * An operation becomes one work request, or several: what is longer than the port's message limit
 * is cut into parts, and they are posted as far as there is room, the rest later.
 *
 * ASSUMPTIONS
 * - posted work requests of the send side form a FIFO, the slots; a completion completes all up to
 *   its own
 * - a send-queue slot is free again only when a completion at or behind it was taken
 *
 * INVARIANTS
 * - send_posted <= send_size; reads_posted <= read_depth; recv_posted <= recv_size
 * - the last posted send of a flush is signalled, so that waiting work always has a completion to
 *   wait for
 * - of the operations on send_waiting only the first may have parts that are posted
 */

#ifndef RPMA_UV_QUEUE_H
#define RPMA_UV_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

#include "future.h"

struct rpma_uv__reactor;

/* how much of an operation has been posted */
struct rpma_uv__cursor {
	uint64_t at; /* bytes of the present stretch */
	unsigned stretch;
};

/*
 * One operation, in its room. A send moves so many stretches of bytes: 1, or for persist as many as
 * it was given, each cut into parts where need be; a flush, if there is one, is behind them.
 */
struct RPMA_UV__ROOM rpma_uv__wr {
	TAILQ_ENTRY(rpma_uv__wr) link; /* while it waits; a receive, also while it is posted */
	rpma_uv_conn_t *conn;
	rpma_uv_srq_t *srq; /* of a receive that connections share: conn is known when it is done */
	/*
	 * One stretch: the local bytes, of which length is for receives only, 0: none is given; and
	 * the place at the peer. With a flush: what it reads, and from where.
	 */
	struct ibv_sge sge;
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t len; /* of a send: all of its bytes */
	uint32_t imm; /* network order */
	uint32_t byte_len; /* received */
	uint8_t opcode; /* enum ibv_wr_opcode; of no meaning for a receive */
	bool is_recv;
	bool has_imm;
	bool is_write; /* received: the word of a write */
	bool is_posted; /* nothing of it waits any more */
	bool is_forced; /* what flushes it is a cancel of its own */
	bool is_internal; /* in no operation: nobody waits for it */
	/* of a send */
	bool is_atomic; /* the stretch is `word` */
	bool has_flush;
	bool is_native; /* the device has the atomic write, or the flush, itself */
	uint8_t flush_type; /* enum rpma_flush_type */
	unsigned stretches; /* without a flush: 1 */
	const struct rpma_uv_piece *pieces; /* they are; NULL: the one above */
	uint64_t flush_len; /* from remote_addr on */
	char word[RPMA_ATOMIC_WRITE_ALIGNMENT];
	/* of a send that is being posted */
	struct rpma_uv__cursor cursor;
	unsigned out; /* work requests that the device holds */
	int status; /* the first failure */
	uint32_t detail;
};

TAILQ_HEAD(rpma_uv__wrs, rpma_uv__wr);

/* a posted work request of the send side; its address, with SLOT_TAG, is the wr_id */
struct rpma_uv__slot {
	struct rpma_uv__wr *wr;
	bool is_read; /* it holds one of the read depth */
};

/* the wr_id of a receive is the address of its struct rpma_uv__wr, which is even */
#define RPMA_UV__SLOT_TAG 1u

struct rpma_uv__queue {
	/* the send side */
	struct rpma_uv__wrs send_waiting;
	struct rpma_uv__slot *slots; /* send_size of them, a ring */
	unsigned send_first; /* the oldest posted */
	unsigned send_size;
	unsigned send_posted;
	unsigned reads_posted;
	unsigned read_depth; /* negotiated; known at READY */
	uint64_t sent_ms; /* of uv_now(): when something was posted last */
	int64_t budget_bytes; /* of a flush that is shared with others; negative: posted in advance */
	bool is_busy; /* sends wait or are posted; counted in reactor->busy */
	/* the receive side */
	struct rpma_uv__wrs recv_waiting;
	struct rpma_uv__wrs recv_out;
	unsigned recv_size;
	unsigned recv_posted;
	/* both */
	unsigned waiting; /* operations */
	bool is_dirty; /* on reactor->dirty */
};

void rpma_uv__queue_init(struct rpma_uv__queue *q, unsigned send_size, unsigned recv_size);

/* make room for what the send side will post, and free it: 0 or UV_ENOMEM */
int rpma_uv__queue_slots_new(struct rpma_uv__queue *q);
void rpma_uv__queue_slots_delete(struct rpma_uv__queue *q);

/* queue an operation that was begun; beyond the bound it ends UV_EAGAIN */
void rpma_uv__queue_add(rpma_uv_conn_t *c, struct rpma_uv__wr *wr);

/*
 * Take one that waits out of its queue: nothing more of it is posted. It ends with this status, at
 * once, or when those of its parts that are posted have come back.
 */
void rpma_uv__queue_drop(struct rpma_uv__wr *wr, int status);

/* all of it was posted: it waits no more */
void rpma_uv__queue_dequeue(struct rpma_uv__wr *wr);

/* the next flush looks at this connection */
void rpma_uv__queue_mark_dirty(rpma_uv_conn_t *c);

/* post for every dirty connection, one list and one doorbell each, and let ending ones go on */
void rpma_uv__queues_flush(struct rpma_uv__reactor *r);

/* a work completion was taken */
void rpma_uv__queue_complete(struct rpma_uv__reactor *r, const struct ibv_wc *wc);

/* what came with a receive that has succeeded */
void rpma_uv__queue_received(struct rpma_uv__wr *wr, const struct ibv_wc *wc);

/* end everything that waits, with this status */
void rpma_uv__queue_cancel_waiting(rpma_uv_conn_t *c, int status);

/* end everything that was posted: the queue pair is gone and its completions are drained */
void rpma_uv__queue_abandon_posted(rpma_uv_conn_t *c);

/*
 * Take one that waits, or the part of it that does, out of the queue: 0. One that is posted:
 * UV_EBUSY, or, when `how` forces, the queue pair goes to error: it ends UV_ECANCELED, its neighbours
 * UV_ECONNABORTED. UV_EALREADY: its completion was there.
 */
int rpma_uv__queue_cancel(struct rpma_uv__wr *wr, unsigned how);

static inline unsigned rpma_uv__queue_posted(const struct rpma_uv__queue *q)
{
	return q->send_posted + q->recv_posted;
}

#endif /* RPMA_UV_QUEUE_H */
