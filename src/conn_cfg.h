/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * conn_cfg.h - connection configuration, as the core reads it
 *
 * cfg may be NULL everywhere: the defaults.
 */

#ifndef RPMA_CONN_CFG_H
#define RPMA_CONN_CFG_H

#include "librpma.h"

int rpma__conn_cfg_timeout_ms(const struct rpma_conn_cfg *cfg);
uint32_t rpma__conn_cfg_cq_size(const struct rpma_conn_cfg *cfg);
uint32_t rpma__conn_cfg_rcq_size(const struct rpma_conn_cfg *cfg);
uint32_t rpma__conn_cfg_sq_size(const struct rpma_conn_cfg *cfg);
uint32_t rpma__conn_cfg_rq_size(const struct rpma_conn_cfg *cfg);
bool rpma__conn_cfg_is_channel_shared(const struct rpma_conn_cfg *cfg);
struct rpma_srq *rpma__conn_cfg_srq(const struct rpma_conn_cfg *cfg); /* NULL: none */

#endif /* RPMA_CONN_CFG_H */
