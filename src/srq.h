/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * srq.h - a shared receive queue, as connections see it
 */

#ifndef RPMA_SRQ_H
#define RPMA_SRQ_H

#include "export.h"
#include "librpma.h"

/* what queue pairs are made with */
RPMA_PRIVATE_API struct ibv_srq *rpma__srq_get_ibv_srq(const struct rpma_srq *srq);

/* NULL: receives complete where each connection has its own completions */
struct rpma_cq *rpma__srq_get_rcq(const struct rpma_srq *srq);

#endif /* RPMA_SRQ_H */
