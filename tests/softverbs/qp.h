/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * qp.h - queue pairs and the two queues of each
 *
 * Counters of a send queue only grow; a work request is slots[n % size], and n is its psn on the wire:
 *
 *     freed <= done <= sent <= posted,   posted - freed <= size
 *       |       |       |       `-- the program's next one goes here
 *       |       |       `---------- the next one to travel
 *       |       `------------------ the oldest that has not completed
 *       `-------------------------- the oldest whose slot is not free: its completion, or one behind
 *                                   it, has not been polled
 */

#ifndef SOFTVERBS_QP_H
#define SOFTVERBS_QP_H

#include "clock.h"
#include "cq.h"
#include "link.h"
#include "mr.h"

struct sv_slot {
	struct sv_tx tx;
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	unsigned flags; /* enum ibv_send_flags; SIGNALED is set by sq_sig_all as well */
	struct sv_frame head;
	bool doomed; /* travels no more: completes with status when its turn comes */
	enum ibv_wc_status status;
	uint32_t length;
	struct sv_watch *watch; /* strict mode */
	int sge_count;
	struct ibv_sge *sge; /* as posted */
	struct ibv_sge *real; /* translated */
	uint8_t *inline_data;
};

struct sv_recv {
	uint64_t wr_id;
	struct sv_watch *watch; /* strict mode */
	int sge_count;
	struct ibv_sge *sge;
};

/* one that a message is being received into: a copy, since its slot may be given out again */
struct sv_incoming {
	bool valid;
	uint64_t wr_id;
	int sge_count;
	struct ibv_sge sge[SV_MAX_SGE];
};

struct sv_recv_ring {
	uint32_t size;
	uint32_t max_sge;
	uint32_t posted;
	uint32_t taken;
	uint32_t freed; /* polled */
	struct sv_recv *slots;
	struct ibv_sge *sges;
};

/* an answer of the responder on its way */
struct sv_answer {
	struct sv_tx tx;
	struct list node; /* on qp->answers_free */
	struct ibv_sge sge;
	uint64_t value;
	bool is_read; /* or atomic: counts against max_dest_rd_atomic */
};

struct sv_srq;

struct sv_qp {
	union {
		struct ibv_qp base;
		struct ibv_qp_ex ex;
	};
	struct list node; /* on sv_device.qps */
	struct sv_link *link;
	struct sv_srq *srq;
	struct ibv_qp_cap cap;
	struct ibv_qp_attr attr; /* what ibv_modify_qp has set; attr.qp_state is the state */
	bool sig_all;
	bool is_ex;
	bool started; /* a message arrived: COMM_EST is said */
	unsigned async_fetched;
	struct sv_listener *meet; /* connected by number, without a CM */
	struct sv_timer meet_timer;

	/* requester */
	uint32_t freed;
	uint32_t done;
	uint32_t sent;
	uint32_t posted;
	uint32_t reads_out;
	bool stuck; /* a slot is still with the wire: go on when it is back */
	bool running;
	uint8_t rnr_tries;
	struct sv_timer rnr_timer; /* set: nothing is sent */
	struct sv_timer ack_timer;
	uint64_t heard_ns; /* progress */
	struct sv_slot *slots;
	struct ibv_sge *slot_sges;
	uint8_t *inline_pool;

	/* responder */
	struct sv_recv_ring rq;
	uint32_t expected; /* psn */
	bool refused; /* a NAK was sent: what follows it is ignored */
	uint32_t reads_in;
	struct sv_incoming incoming;
	bool ack_due;
	struct sv_answer *answers;
	unsigned answer_count;
	struct list answers_free;
	struct sv_answer *last_answer;

	/* the list that the extended calls build */
	int ex_error;
	struct ibv_send_wr *ex_wr;
	unsigned ex_count;
	struct ibv_sge *ex_sges;
	uint8_t *ex_inline;
};

static inline struct sv_qp *sv_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct sv_qp, base);
}

static inline struct sv_slot *sv_slot(struct sv_qp *qp, uint32_t n)
{
	return &qp->slots[n % qp->cap.max_send_wr];
}

/* qp.c */
struct ibv_qp *sv_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr_ex *attr);
int sv_qp_destroy(struct sv_qp *qp);
struct sv_qp *sv_qp_find(uint32_t qp_num);

/* qp_state.c */
int sv_qp_modify(struct sv_qp *qp, const struct ibv_qp_attr *attr, int mask); /* 0 or an errno */
void sv_qp_fail(struct sv_qp *qp, enum ibv_wc_status first); /* into ERR; flushes everything */
void sv_qp_stop(struct sv_qp *qp); /* nothing of it is on its link any more */
void sv_qp_attach(struct sv_qp *qp, struct sv_link *link);

/* qp_meet.c: two queue pairs that find each other by number */
void sv_meet_start(struct sv_qp *qp);
void sv_meet_stop(struct sv_qp *qp);
void sv_meet_up(struct sv_link *link);
void sv_meet_down(struct sv_link *link);
void sv_meet_frame(struct sv_link *link);

/* qp_ex.c */
bool sv_qp_ex_init(struct sv_qp *qp, uint64_t send_ops);
void sv_qp_ex_free(struct sv_qp *qp);
struct ibv_qp *sv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/* post.c */
int sv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int sv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int sv_post_one(struct sv_qp *qp, const struct ibv_send_wr *wr); /* 0 or an errno; sends nothing */

/* requester.c */
void sv_requester_run(struct sv_qp *qp); /* sends what may be sent */
void sv_requester_flush(struct sv_qp *qp, enum ibv_wc_status first);
bool sv_requester_head(struct sv_qp *qp, struct sv_rx *rx); /* an answer arrives: name its sink */
void sv_requester_finish(struct sv_qp *qp, struct sv_rx *rx);
void sv_requester_init(struct sv_qp *qp);
void sv_requester_stop(struct sv_qp *qp);

/* responder.c */
bool sv_responder_init(struct sv_qp *qp); /* when max_dest_rd_atomic is known */
void sv_responder_head(struct sv_qp *qp, struct sv_rx *rx);
void sv_responder_finish(struct sv_qp *qp, struct sv_rx *rx);
void sv_responder_flush(struct sv_qp *qp);
void sv_responder_batch_end(struct sv_qp *qp); /* acknowledges what has arrived */

/* recv_ring.c */
bool sv_ring_init(struct sv_recv_ring *ring, uint32_t size, uint32_t max_sge);
void sv_ring_free(struct sv_recv_ring *ring);
int sv_ring_post(struct sv_recv_ring *ring, const struct ibv_recv_wr *wr);
bool sv_ring_take(struct sv_recv_ring *ring, struct sv_incoming *in); /* false: empty */

#endif
