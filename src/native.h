/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * native.h - flush and atomic write as operations of the device itself
 *
 * Verbs know the two since rdma-core 45; a build with older headers has neither, and then every
 * question here is answered with no. A capable device may still be told not to use them: peers made
 * while the environment has RPMA_NATIVE=0 start no native operations. What they register may
 * be the target of a native operation all the same.
 */

#ifndef RPMA_NATIVE_H
#define RPMA_NATIVE_H

#include "export.h"
#include "librpma.h"

/* what a peer's device can */
struct rpma__native {
	bool has_flush;
	bool has_atomic_write;
	bool is_used; /* for operations of our own */
};

struct rpma__native rpma__native_of(const struct ibv_device_attr_ex *attr);

/* what a usage adds to the access flags of a region so that native flushes may go to it */
unsigned rpma__native_access(const struct rpma__native *native, int usage);

/* the next weaker set of those flags, for memory that refuses the stronger one; 0: none */
unsigned rpma__native_weaker(unsigned access);

/* the operations to ask for when a queue pair is made; 0: a plain one will do */
uint64_t rpma__native_send_ops(const struct rpma__native *native);

/* the queue pair's native interface, or NULL if it has neither operation */
RPMA_PRIVATE_API struct ibv_qp_ex *rpma__native_qp(struct ibv_qp *qp);

RPMA_PRIVATE_API bool rpma__native_can_flush(const struct ibv_qp_ex *qp);
RPMA_PRIVATE_API bool rpma__native_can_atomic_write(const struct ibv_qp_ex *qp);

/*
 * Both post one work request, only where the device can. send_flags are IBV_SEND_*; of a flush, len
 * above UINT32_MAX means the whole region. The result is 0 or an errno value.
 */
int rpma__native_flush(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags, uint32_t rkey,
	uint64_t addr, size_t len, enum rpma_flush_type type);
int rpma__native_atomic_write(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, const char src[8]);

/*
 * The same as a part of a list, between ibv_wr_start() and ibv_wr_complete(); the calls of the
 * other operations that librpma knows may stand in the same list.
 */
RPMA_PRIVATE_API void rpma__native_add_flush(struct ibv_qp_ex *qp, uint64_t wr_id,
	unsigned send_flags, uint32_t rkey, uint64_t addr, size_t len, enum rpma_flush_type type);
RPMA_PRIVATE_API void rpma__native_add_atomic_write(struct ibv_qp_ex *qp, uint64_t wr_id,
	unsigned send_flags, uint32_t rkey, uint64_t addr, const char src[8]);

#endif /* RPMA_NATIVE_H */
