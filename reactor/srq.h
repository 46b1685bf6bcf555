/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * srq.h - a shared receive queue: receives that several connections draw from
 *
 * ASSUMPTIONS
 * - a connection joins while it is NEW and leaves when it is CLOSED; between, its queue pair is
 *   bound from its making until it was destroyed and the completion queue drained
 */

#ifndef RPMA_UV_SRQ_H
#define RPMA_UV_SRQ_H

#include <infiniband/verbs.h>

#include "librpma_uv.h"

struct rpma_uv__cq;
struct rpma_uv__kind;
struct rpma_uv__reactor;
struct rpma_uv__wr;

/* the kind of its receives, for rpma_uv_recv_info() */
extern const struct rpma_uv__kind rpma_uv__srq_recv_kind;

/* where its receives complete, whosever queue pair has taken them */
struct rpma_uv__cq *rpma_uv__srq_cq(const rpma_uv_srq_t *srq);

/* c->qp_num is that of a queue pair which draws from it, or no more */
void rpma_uv__srq_bind(rpma_uv_srq_t *srq, rpma_uv_conn_t *c);
void rpma_uv__srq_unbind(rpma_uv_srq_t *srq, rpma_uv_conn_t *c);

/* a connection that had joined is CLOSED; not from within the polling of a queue */
void rpma_uv__srq_leave(rpma_uv_srq_t *srq);

/* one of its receives has completed */
void rpma_uv__srq_complete(struct rpma_uv__wr *wr, const struct ibv_wc *wc);

/* post what waits, for every queue that has such */
void rpma_uv__srqs_flush(struct rpma_uv__reactor *r);

/* close every queue that is not closing yet */
void rpma_uv__srqs_close(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_SRQ_H */
