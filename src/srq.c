/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * srq.c - shared receive queues: receives that several connections draw from
 *
 * Where a receive completes depends on two sizes:
 *
 *     the SRQ's rcq_size > 0 ------------------> the SRQ's completion queue, one for all
 *     else the connection's rcq_size > 0 ------> the connection's receive completion queue
 *     else ------------------------------------> the connection's main completion queue
 */

#include <stdlib.h>

#include "cq.h"
#include "err.h"
#include "lock.h"
#include "log.h"
#include "op.h"
#include "peer.h"
#include "srq.h"
#include "srq_cfg.h"

/* one buffer per receive */
#define MAX_SGE 1

struct rpma_srq {
	struct ibv_srq *ibv_srq;
	struct rpma_cq *rcq; /* NULL: the connections' completion queues do */
};

struct ibv_srq *rpma__srq_get_ibv_srq(const struct rpma_srq *srq)
{
	return srq->ibv_srq;
}

struct rpma_cq *rpma__srq_get_rcq(const struct rpma_srq *srq)
{
	return srq->rcq;
}

static int create_ibv_srq(struct rpma_peer *peer, uint32_t rq_size, struct ibv_srq **ibv_srq_ptr)
{
	struct ibv_srq_init_attr attr = {
		.srq_context = NULL,
		.attr = {
			.max_wr = rq_size,
			.max_sge = MAX_SGE,
			.srq_limit = 0,
		},
	};

	rpma__lock();
	*ibv_srq_ptr = ibv_create_srq(rpma__peer_pd(peer), &attr);
	rpma__unlock();
	if (*ibv_srq_ptr)
		return 0;

	RPMA_LOG_PROVIDER("ibv_create_srq(max_wr=%u)", rq_size);
	return RPMA_E_PROVIDER;
}

static int destroy_ibv_srq(struct ibv_srq *ibv_srq)
{
	int ret;

	rpma__lock();
	ret = ibv_destroy_srq(ibv_srq);
	rpma__unlock();
	if (!ret)
		return 0;

	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("ibv_destroy_srq()");
	return RPMA_E_PROVIDER;
}

int rpma_srq_new(struct rpma_peer *peer, struct rpma_srq_cfg *cfg, struct rpma_srq **srq_ptr)
{
	const uint32_t rcq_size = rpma__srq_cfg_rcq_size(cfg);
	struct rpma_srq *srq;
	int ret = RPMA_E_NOMEM;

	if (!peer || !srq_ptr)
		return RPMA_E_INVAL;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		goto err_set_null;
	ret = create_ibv_srq(peer, rpma__srq_cfg_rq_size(cfg), &srq->ibv_srq);
	if (ret)
		goto err_free;
	if (rcq_size) {
		ret = rpma__cq_new(rpma__peer_context(peer), rcq_size, NULL, &srq->rcq);
		if (ret)
			goto err_destroy_srq;
	}

	*srq_ptr = srq;
	return 0;

err_destroy_srq:
	RPMA__UNDO(destroy_ibv_srq(srq->ibv_srq));
err_free:
	RPMA__UNDO(free(srq));
err_set_null:
	/* unlike most outputs this one is NULL when memory is short; programs rely on it */
	if (ret == RPMA_E_NOMEM)
		*srq_ptr = NULL;
	return ret;
}

int rpma_srq_delete(struct rpma_srq **srq_ptr)
{
	struct rpma__err_first first = { 0 };
	struct rpma_srq *srq;

	if (!srq_ptr)
		return RPMA_E_INVAL;
	srq = *srq_ptr;
	if (!srq)
		return 0;

	rpma__err_step(&first, rpma__cq_delete(&srq->rcq));
	rpma__err_step(&first, destroy_ibv_srq(srq->ibv_srq));
	free(srq);
	*srq_ptr = NULL;
	return rpma__err_result(&first);
}

int rpma_srq_recv(struct rpma_srq *srq, struct rpma_mr_local *dst, size_t offset, size_t len,
	const void *op_context)
{
	if (!srq || (!dst && (offset || len)))
		return RPMA_E_INVAL;

	return rpma__op_srq_recv(srq->ibv_srq, dst, offset, len, op_context);
}

int rpma_srq_get_rcq(const struct rpma_srq *srq, struct rpma_cq **rcq_ptr)
{
	if (!srq || !rcq_ptr)
		return RPMA_E_INVAL;

	*rcq_ptr = srq->rcq;
	return 0;
}
