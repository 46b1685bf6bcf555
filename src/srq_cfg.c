/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * srq_cfg.c - configuration of a shared receive queue
 *
 * Plain values, each atomic by itself: several threads may set and get them on one object.
 */

#include <stdatomic.h>
#include <stdlib.h>

#include "srq_cfg.h"

#define DEFAULT_RQ_SIZE  20
#define DEFAULT_RCQ_SIZE 20

struct rpma_srq_cfg {
	_Atomic uint32_t rq_size;
	_Atomic uint32_t rcq_size;
};

static const struct rpma_srq_cfg defaults = {
	.rq_size = DEFAULT_RQ_SIZE,
	.rcq_size = DEFAULT_RCQ_SIZE,
};

static const struct rpma_srq_cfg *or_defaults(const struct rpma_srq_cfg *cfg)
{
	return cfg ? cfg : &defaults;
}

uint32_t rpma__srq_cfg_rq_size(const struct rpma_srq_cfg *cfg)
{
	return atomic_load(&or_defaults(cfg)->rq_size);
}

uint32_t rpma__srq_cfg_rcq_size(const struct rpma_srq_cfg *cfg)
{
	return atomic_load(&or_defaults(cfg)->rcq_size);
}

int rpma_srq_cfg_new(struct rpma_srq_cfg **cfg_ptr)
{
	struct rpma_srq_cfg *cfg;

	if (!cfg_ptr)
		return RPMA_E_INVAL;

	/* unlike most outputs this one is NULL after a failure; programs rely on it */
	*cfg_ptr = cfg = malloc(sizeof(*cfg));
	if (!cfg)
		return RPMA_E_NOMEM;

	atomic_init(&cfg->rq_size, DEFAULT_RQ_SIZE);
	atomic_init(&cfg->rcq_size, DEFAULT_RCQ_SIZE);
	return 0;
}

int rpma_srq_cfg_delete(struct rpma_srq_cfg **cfg_ptr)
{
	if (!cfg_ptr)
		return RPMA_E_INVAL;

	free(*cfg_ptr);
	*cfg_ptr = NULL;
	return 0;
}

int rpma_srq_cfg_set_rq_size(struct rpma_srq_cfg *cfg, uint32_t rq_size)
{
	if (!cfg)
		return RPMA_E_INVAL;

	atomic_store(&cfg->rq_size, rq_size);
	return 0;
}

int rpma_srq_cfg_get_rq_size(const struct rpma_srq_cfg *cfg, uint32_t *rq_size)
{
	if (!cfg || !rq_size)
		return RPMA_E_INVAL;

	*rq_size = atomic_load(&cfg->rq_size);
	return 0;
}

int rpma_srq_cfg_set_rcq_size(struct rpma_srq_cfg *cfg, uint32_t rcq_size)
{
	if (!cfg)
		return RPMA_E_INVAL;

	atomic_store(&cfg->rcq_size, rcq_size);
	return 0;
}

int rpma_srq_cfg_get_rcq_size(const struct rpma_srq_cfg *cfg, uint32_t *rcq_size)
{
	if (!cfg || !rcq_size)
		return RPMA_E_INVAL;

	*rcq_size = atomic_load(&cfg->rcq_size);
	return 0;
}
