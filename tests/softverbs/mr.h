/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * mr.h - protection domains, memory regions and the table of keys
 *
 * A key is an index into one table of the process and a tag that changes each time the index is used
 * again, so that a key that was kept too long is noticed. lkey and rkey are the same number.
 */

#ifndef SOFTVERBS_MR_H
#define SOFTVERBS_MR_H

#include "device.h"

struct sv_pd {
	struct ibv_pd base;
	int users; /* regions, queue pairs, shared receive queues, address handles */
};

struct sv_mr {
	struct ibv_mr base;
	uint64_t iova; /* the address that work requests and peers use for base.addr */
	int access;
};

static inline struct sv_pd *sv_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct sv_pd, base);
}

/*
 * The real address of [addr, addr + length) in the region of that key; NULL when there is none in pd,
 * when it does not allow `access` (all of these ibv_access_flags), or the range is not inside.
 */
void *sv_mr_at(struct ibv_pd *pd, uint32_t key, uint64_t addr, uint64_t length, int access);

/* the same of whatever range */
bool sv_mr_allows(struct ibv_pd *pd, uint32_t key, int access);

struct ibv_pd *sv_mr_pd(uint32_t key); /* whose key it is; NULL: nobody's */

/* a scatter list of real addresses; false: one of them is not in order */
bool sv_mr_sges(
	struct ibv_pd *pd, const struct ibv_sge *in, int n, int access, struct ibv_sge *out);

unsigned sv_mr_count(void);
void sv_mr_forget_keys(void);
void sv_mr_forget(void);

#endif
