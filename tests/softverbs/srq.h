/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * srq.h - shared receive queues
 */

#ifndef SOFTVERBS_SRQ_H
#define SOFTVERBS_SRQ_H

#include "qp.h"

struct sv_srq {
	struct ibv_srq base;
	struct sv_recv_ring ring;
	uint32_t limit; /* 0: not armed */
	unsigned async_fetched;
	int users; /* queue pairs */
};

static inline struct sv_srq *sv_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct sv_srq, base);
}

bool sv_srq_take(struct sv_srq *srq, struct sv_incoming *in);
int sv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif
