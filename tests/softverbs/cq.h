/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * cq.h - completion queues and completion channels
 */

#ifndef SOFTVERBS_CQ_H
#define SOFTVERBS_CQ_H

#include "clock.h"
#include "device.h"

struct sv_qp;
struct sv_srq;

struct sv_channel {
	struct ibv_comp_channel base;
	struct sv_signal signal;
	struct list cqs; /* struct sv_cq.in_channel: those with events, in order */
	uint64_t told_ns; /* in a simulation: when the last of them arrives */
};

/* what a completion frees when it is polled */
enum sv_cqe_frees { SV_FREES_NOTHING, SV_FREES_SEND, SV_FREES_RECV, SV_FREES_SRQ };

struct sv_cqe {
	struct ibv_wc wc;
	enum sv_cqe_frees frees;
	uint32_t upto; /* of the send queue: all before this one */
	struct sv_qp *qp; /* NULL: destroyed since */
	struct sv_srq *srq;
};

extern struct list sv_all_cqs;

enum sv_arm { SV_ARM_NOT, SV_ARM_SOLICITED, SV_ARM_ANY };

struct sv_cq {
	struct ibv_cq base;
	struct list node; /* of all */
	struct list in_channel;
	unsigned number; /* for people */
	struct sv_timer late; /* in a simulation: the next event arrives */
	unsigned events_late;
	unsigned events_queued; /* not fetched yet */
	unsigned events_fetched;
	unsigned async_fetched;
	enum sv_arm arm;
	bool overrun; /* what is in it can be polled, then it is dead */
	int users; /* queue pairs */
	uint32_t head; /* the oldest entry; both only grow */
	uint32_t tail;
	uint32_t size;
	uint32_t hidden; /* the newest, which no poll finds before the next arming: a fault */
	struct sv_cqe *ring;
};

static inline struct sv_cq *sv_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct sv_cq, base);
}

void sv_cq_push(struct sv_cq *cq, const struct sv_cqe *cqe, bool solicited);
void sv_cq_event(struct sv_cq *cq); /* a completion event, deserved or not */
void sv_channel_drop(struct sv_cq *cq); /* its events that were not fetched */
void sv_channel_init(struct sv_cq *cq);
void sv_cq_forget_all(void);
void sv_cq_forget_qp(struct sv_cq *cq, struct sv_qp *qp);
void sv_cq_forget_srq(struct sv_srq *srq);

int sv_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int sv_req_notify_cq(struct ibv_cq *cq, int solicited_only);

#endif
