/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * advise.h - ibv_advise_mr(3), also for a libibverbs that does not have it yet
 */

#ifndef RPMA_ADVISE_H
#define RPMA_ADVISE_H

#include <errno.h>
#include <infiniband/verbs.h>

/* returns 0 or an errno value; EOPNOTSUPP: nobody takes advice */
static inline int rpma__advise_mr(
	struct ibv_pd *pd, int advice, uint32_t flags, struct ibv_sge *sge)
{
#ifdef RPMA_HAVE_ADVISE_MR
	return ibv_advise_mr(pd, (enum ibv_advise_mr_advice)advice, flags, sge, 1);
#else
	(void)pd, (void)advice, (void)flags, (void)sge;
	return EOPNOTSUPP;
#endif
}

#endif /* RPMA_ADVISE_H */
