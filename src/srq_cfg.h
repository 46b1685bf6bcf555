/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * srq_cfg.h - configuration of a shared receive queue, as the core reads it
 *
 * cfg may be NULL everywhere: the defaults.
 */

#ifndef RPMA_SRQ_CFG_H
#define RPMA_SRQ_CFG_H

#include "librpma.h"

uint32_t rpma__srq_cfg_rq_size(const struct rpma_srq_cfg *cfg);
uint32_t rpma__srq_cfg_rcq_size(const struct rpma_srq_cfg *cfg);

#endif /* RPMA_SRQ_CFG_H */
