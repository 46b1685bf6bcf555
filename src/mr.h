/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * mr.h - local and remote regions, as operations use them
 *
 * Every operation compares its ranges with its regions, so that is inlined; the reactor does it
 * too, which is of the same build.
 *
 * ERRORS
 * - RPMA_E_INVAL  the range [offset, offset + len) is not inside the region, or len is above
 *   UINT32_MAX
 */

#ifndef RPMA_MR_H
#define RPMA_MR_H

#include "librpma.h"

struct rpma_mr_local {
	struct ibv_mr *ibv_mr;
	int usage; /* as its descriptor tells it */
};

/* no padding before usage: two regions of one descriptor are equal byte by byte */
struct rpma_mr_remote {
	uint64_t addr;
	uint64_t size;
	uint32_t rkey;
	uint32_t usage;
};

/* where a native flush is not possible although the device has it */
#define RPMA__MR_USAGE_NO_NATIVE_FLUSH (RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV)

static inline bool rpma__mr_is_inside(uint64_t size, size_t offset, size_t len)
{
	return len <= size && offset <= size - len;
}

/* is the range inside a region? of any length */
static inline bool rpma__mr_local_contains(
	const struct rpma_mr_local *mr, size_t offset, size_t len)
{
	return rpma__mr_is_inside(mr->ibv_mr->length, offset, len);
}

static inline bool rpma__mr_remote_contains(
	const struct rpma_mr_remote *mr, size_t offset, size_t len)
{
	/* a descriptor may claim a size with which the address wraps around */
	return rpma__mr_is_inside(mr->size, offset, len) && offset + len <= UINT64_MAX - mr->addr;
}

/* a place in a region, which is known to be inside; no bytes of it yet */
static inline void rpma__mr_local_at(
	const struct rpma_mr_local *mr, size_t offset, struct ibv_sge *sge)
{
	sge->addr = (uint64_t)(uintptr_t)mr->ibv_mr->addr + offset;
	sge->length = 0;
	sge->lkey = mr->ibv_mr->lkey;
}

static inline void rpma__mr_remote_at(
	const struct rpma_mr_remote *mr, size_t offset, uint64_t *addr, uint32_t *rkey)
{
	*addr = mr->addr + offset;
	*rkey = mr->rkey;
}

/* the range of a local region as an element of a work request; untouched on failure */
static inline int rpma__mr_local_sge(
	const struct rpma_mr_local *mr, size_t offset, size_t len, struct ibv_sge *sge)
{
	if (len > UINT32_MAX || !rpma__mr_local_contains(mr, offset, len))
		return RPMA_E_INVAL;

	rpma__mr_local_at(mr, offset, sge);
	sge->length = (uint32_t)len;
	return 0;
}

/* the range of a remote region as a work request's target; untouched on failure */
static inline int rpma__mr_remote_target(
	const struct rpma_mr_remote *mr, size_t offset, size_t len, uint64_t *addr, uint32_t *rkey)
{
	if (len > UINT32_MAX || !rpma__mr_remote_contains(mr, offset, len))
		return RPMA_E_INVAL;

	rpma__mr_remote_at(mr, offset, addr, rkey);
	return 0;
}

/* may a native flush go to a remote region? */
static inline bool rpma__mr_remote_takes_native_flush(const struct rpma_mr_remote *mr)
{
	return (mr->usage & RPMA__MR_USAGE_NO_NATIVE_FLUSH) != RPMA__MR_USAGE_NO_NATIVE_FLUSH;
}

#endif /* RPMA_MR_H */
