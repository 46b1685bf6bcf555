/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * conn_cfg.c - connection configuration
 *
 * Plain values, each atomic by itself: several threads may set and get them on one object.
 */

#include <stdatomic.h>
#include <stdlib.h>

#include "conn_cfg.h"

#define DEFAULT_CQ_SIZE  10
#define DEFAULT_RCQ_SIZE 0 /* receives complete in the main completion queue */
#define DEFAULT_SQ_SIZE  10
#define DEFAULT_RQ_SIZE  10

struct rpma_conn_cfg {
	atomic_int timeout_ms;
	_Atomic uint32_t cq_size;
	_Atomic uint32_t rcq_size;
	_Atomic uint32_t sq_size;
	_Atomic uint32_t rq_size;
	atomic_bool is_channel_shared;
	_Atomic(struct rpma_srq *) srq; /* NULL: none */
};

static const struct rpma_conn_cfg defaults = {
	.timeout_ms = RPMA_DEFAULT_TIMEOUT_MS,
	.cq_size = DEFAULT_CQ_SIZE,
	.rcq_size = DEFAULT_RCQ_SIZE,
	.sq_size = DEFAULT_SQ_SIZE,
	.rq_size = DEFAULT_RQ_SIZE,
	.is_channel_shared = false,
	.srq = NULL,
};

static const struct rpma_conn_cfg *or_defaults(const struct rpma_conn_cfg *cfg)
{
	return cfg ? cfg : &defaults;
}

int rpma__conn_cfg_timeout_ms(const struct rpma_conn_cfg *cfg)
{
	return atomic_load(&or_defaults(cfg)->timeout_ms);
}

uint32_t rpma__conn_cfg_cq_size(const struct rpma_conn_cfg *cfg)
{
	return atomic_load(&or_defaults(cfg)->cq_size);
}

uint32_t rpma__conn_cfg_rcq_size(const struct rpma_conn_cfg *cfg)
{
	return atomic_load(&or_defaults(cfg)->rcq_size);
}

uint32_t rpma__conn_cfg_sq_size(const struct rpma_conn_cfg *cfg)
{
	return atomic_load(&or_defaults(cfg)->sq_size);
}

uint32_t rpma__conn_cfg_rq_size(const struct rpma_conn_cfg *cfg)
{
	return atomic_load(&or_defaults(cfg)->rq_size);
}

bool rpma__conn_cfg_is_channel_shared(const struct rpma_conn_cfg *cfg)
{
	return atomic_load(&or_defaults(cfg)->is_channel_shared);
}

struct rpma_srq *rpma__conn_cfg_srq(const struct rpma_conn_cfg *cfg)
{
	return atomic_load(&or_defaults(cfg)->srq);
}

int rpma_conn_cfg_new(struct rpma_conn_cfg **cfg_ptr)
{
	struct rpma_conn_cfg *cfg;

	if (!cfg_ptr)
		return RPMA_E_INVAL;

	/* unlike most outputs this one is NULL after a failure; programs rely on it */
	*cfg_ptr = cfg = malloc(sizeof(*cfg));
	if (!cfg)
		return RPMA_E_NOMEM;

	atomic_init(&cfg->timeout_ms, RPMA_DEFAULT_TIMEOUT_MS);
	atomic_init(&cfg->cq_size, DEFAULT_CQ_SIZE);
	atomic_init(&cfg->rcq_size, DEFAULT_RCQ_SIZE);
	atomic_init(&cfg->sq_size, DEFAULT_SQ_SIZE);
	atomic_init(&cfg->rq_size, DEFAULT_RQ_SIZE);
	atomic_init(&cfg->is_channel_shared, false);
	atomic_init(&cfg->srq, NULL);
	return 0;
}

int rpma_conn_cfg_delete(struct rpma_conn_cfg **cfg_ptr)
{
	if (!cfg_ptr)
		return RPMA_E_INVAL;

	free(*cfg_ptr);
	*cfg_ptr = NULL;
	return 0;
}

int rpma_conn_cfg_set_timeout(struct rpma_conn_cfg *cfg, int timeout_ms)
{
	if (!cfg || timeout_ms < 0)
		return RPMA_E_INVAL;

	atomic_store(&cfg->timeout_ms, timeout_ms);
	return 0;
}

int rpma_conn_cfg_get_timeout(const struct rpma_conn_cfg *cfg, int *timeout_ms)
{
	if (!cfg || !timeout_ms)
		return RPMA_E_INVAL;

	*timeout_ms = atomic_load(&cfg->timeout_ms);
	return 0;
}

int rpma_conn_cfg_set_cq_size(struct rpma_conn_cfg *cfg, uint32_t cq_size)
{
	if (!cfg)
		return RPMA_E_INVAL;

	atomic_store(&cfg->cq_size, cq_size);
	return 0;
}

int rpma_conn_cfg_get_cq_size(const struct rpma_conn_cfg *cfg, uint32_t *cq_size)
{
	if (!cfg || !cq_size)
		return RPMA_E_INVAL;

	*cq_size = atomic_load(&cfg->cq_size);
	return 0;
}

int rpma_conn_cfg_set_rcq_size(struct rpma_conn_cfg *cfg, uint32_t rcq_size)
{
	if (!cfg)
		return RPMA_E_INVAL;

	atomic_store(&cfg->rcq_size, rcq_size);
	return 0;
}

int rpma_conn_cfg_get_rcq_size(const struct rpma_conn_cfg *cfg, uint32_t *rcq_size)
{
	if (!cfg || !rcq_size)
		return RPMA_E_INVAL;

	*rcq_size = atomic_load(&cfg->rcq_size);
	return 0;
}

int rpma_conn_cfg_set_sq_size(struct rpma_conn_cfg *cfg, uint32_t sq_size)
{
	if (!cfg)
		return RPMA_E_INVAL;

	atomic_store(&cfg->sq_size, sq_size);
	return 0;
}

int rpma_conn_cfg_get_sq_size(const struct rpma_conn_cfg *cfg, uint32_t *sq_size)
{
	if (!cfg || !sq_size)
		return RPMA_E_INVAL;

	*sq_size = atomic_load(&cfg->sq_size);
	return 0;
}

int rpma_conn_cfg_set_rq_size(struct rpma_conn_cfg *cfg, uint32_t rq_size)
{
	if (!cfg)
		return RPMA_E_INVAL;

	atomic_store(&cfg->rq_size, rq_size);
	return 0;
}

int rpma_conn_cfg_get_rq_size(const struct rpma_conn_cfg *cfg, uint32_t *rq_size)
{
	if (!cfg || !rq_size)
		return RPMA_E_INVAL;

	*rq_size = atomic_load(&cfg->rq_size);
	return 0;
}

int rpma_conn_cfg_set_compl_channel(struct rpma_conn_cfg *cfg, bool shared)
{
	if (!cfg)
		return RPMA_E_INVAL;

	atomic_store(&cfg->is_channel_shared, shared);
	return 0;
}

int rpma_conn_cfg_get_compl_channel(const struct rpma_conn_cfg *cfg, bool *shared)
{
	if (!cfg || !shared)
		return RPMA_E_INVAL;

	*shared = atomic_load(&cfg->is_channel_shared);
	return 0;
}

int rpma_conn_cfg_set_srq(struct rpma_conn_cfg *cfg, struct rpma_srq *srq)
{
	if (!cfg || !srq)
		return RPMA_E_INVAL;

	atomic_store(&cfg->srq, srq);
	return 0;
}

int rpma_conn_cfg_get_srq(const struct rpma_conn_cfg *cfg, struct rpma_srq **srq_ptr)
{
	if (!cfg || !srq_ptr)
		return RPMA_E_INVAL;

	*srq_ptr = atomic_load(&cfg->srq);
	return 0;
}
