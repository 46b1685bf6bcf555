/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * mr.h - local and remote regions, as operations use them
 *
 * ERRORS
 * - RPMA_E_INVAL  the range [offset, offset + len) is not inside the region, or len is above
 *   UINT32_MAX
 */

#ifndef RPMA_MR_H
#define RPMA_MR_H

#include "export.h"
#include "librpma.h"

/* the range of a local region as an element of a work request; untouched on failure */
RPMA_PRIVATE_API int rpma__mr_local_sge(
	const struct rpma_mr_local *mr, size_t offset, size_t len, struct ibv_sge *sge);

/* the range of a remote region as a work request's target; untouched on failure */
RPMA_PRIVATE_API int rpma__mr_remote_target(
	const struct rpma_mr_remote *mr, size_t offset, size_t len, uint64_t *addr, uint32_t *rkey);

/* is the range inside a remote region? of any length: nothing is moved by it */
bool rpma__mr_remote_contains(const struct rpma_mr_remote *mr, size_t offset, size_t len);

/* may a native flush go to a remote region? */
RPMA_PRIVATE_API bool rpma__mr_remote_takes_native_flush(const struct rpma_mr_remote *mr);

#endif /* RPMA_MR_H */
