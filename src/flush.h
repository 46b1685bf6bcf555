/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * flush.h - making sure that what was written to a remote region has arrived
 *
 * A flush is native, an operation of its own, or emulated: a small read of the same region, which
 * an RDMA device answers only after earlier writes of the same queue pair have left its buffers.
 */

#ifndef RPMA_FLUSH_H
#define RPMA_FLUSH_H

#include "export.h"
#include "librpma.h"

/* where emulated flushes read to: a page of its own, of which the first bytes are registered */
struct rpma__flush;

/*
 * rpma__flush_new - make room for emulated flushes; all flushes of a connection may share it
 *
 * ERRORS
 * - RPMA_E_NOMEM     out of memory
 * - RPMA_E_PROVIDER  the page's size is unknown, or the region is refused; errno tells why
 */
RPMA_PRIVATE_API int rpma__flush_new(struct rpma_peer *peer, struct rpma__flush **flush_ptr);

/*
 * rpma__flush_delete - undo it, after the queue pairs that used it are gone; accepts a pointer to
 * NULL
 *
 * ERRORS
 * - RPMA_E_PROVIDER  the region cannot be deregistered; errno tells why
 * - RPMA_E_INVAL     the page cannot be unmapped
 */
RPMA_PRIVATE_API int rpma__flush_delete(struct rpma__flush **flush_ptr);

/*
 * rpma__flush_check - may such a flush go to that region?
 *
 * ERRORS
 * - RPMA_E_INVAL   no such type, or the range is outside the region
 * - RPMA_E_NOSUPP  the region is not made for that type, or it is to become persistent and the
 *                  peer has not declared that writes get there directly
 */
RPMA_PRIVATE_API int rpma__flush_check(const struct rpma_mr_remote *dst, size_t offset, size_t len,
	enum rpma_flush_type type, bool is_direct_write);

/* the read that is an emulated flush of a range that was checked: inside the region, whatever len */
RPMA_PRIVATE_API void rpma__flush_read(const struct rpma__flush *flush,
	const struct rpma_mr_remote *dst, size_t offset, struct ibv_sge *sge, uint64_t *addr,
	uint32_t *rkey);

#endif /* RPMA_FLUSH_H */
