/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * native.c - flush and atomic write as operations of the device itself
 *
 * Only this file knows whether the build has them.
 */

#if defined(RPMA_HAVE_NATIVE_FLUSH) || defined(RPMA_HAVE_NATIVE_ATOMIC_WRITE)
#include <rdma/ib_user_verbs.h> /* what a device can, as the kernel names it */
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "native.h"

#if defined(RPMA_HAVE_NATIVE_FLUSH) || defined(RPMA_HAVE_NATIVE_ATOMIC_WRITE)

static bool has_all(uint64_t caps, uint64_t wanted)
{
	return (caps & wanted) == wanted;
}

struct rpma__native rpma__native_of(const struct ibv_device_attr_ex *attr)
{
	const char *const setting = getenv("RPMA_NATIVE");
	struct rpma__native native = { .is_used = !setting || strcmp(setting, "0") != 0 };

#ifdef RPMA_HAVE_NATIVE_FLUSH
	native.has_flush = has_all(attr->device_cap_flags_ex,
		IB_UVERBS_DEVICE_FLUSH_GLOBAL | IB_UVERBS_DEVICE_FLUSH_PERSISTENT);
#endif
#ifdef RPMA_HAVE_NATIVE_ATOMIC_WRITE
	native.has_atomic_write = has_all(attr->device_cap_flags_ex, IB_UVERBS_DEVICE_ATOMIC_WRITE);
#endif
	if (!native.has_flush)
		RPMA_LOG_INFO("the device has no native flush");
	if (!native.has_atomic_write)
		RPMA_LOG_INFO("the device has no native atomic write");
	return native;
}

/* what may stand in one list with them */
#define IN_ONE_LIST                                                        \
	((uint64_t)IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE |  \
		IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
		IBV_QP_EX_WITH_SEND_WITH_IMM)

uint64_t rpma__native_send_ops(const struct rpma__native *native)
{
	uint64_t ops = 0;

#ifdef RPMA_HAVE_NATIVE_FLUSH
	if (native->is_used && native->has_flush)
		ops |= IBV_QP_EX_WITH_FLUSH;
#endif
#ifdef RPMA_HAVE_NATIVE_ATOMIC_WRITE
	if (native->is_used && native->has_atomic_write)
		ops |= IBV_QP_EX_WITH_ATOMIC_WRITE;
#endif
	return ops ? ops | IN_ONE_LIST : 0;
}

struct ibv_qp_ex *rpma__native_qp(struct ibv_qp *qp)
{
	struct ibv_qp_ex *const native = ibv_qp_to_qp_ex(qp);

	if (rpma__native_can_flush(native) || rpma__native_can_atomic_write(native))
		return native;
	return NULL;
}

#else

struct rpma__native rpma__native_of(const struct ibv_device_attr_ex *attr)
{
	(void)attr;
	return (struct rpma__native){ 0 };
}

uint64_t rpma__native_send_ops(const struct rpma__native *native)
{
	(void)native;
	return 0;
}

struct ibv_qp_ex *rpma__native_qp(struct ibv_qp *qp)
{
	(void)qp;
	return NULL;
}

#endif

#ifdef RPMA_HAVE_NATIVE_FLUSH

unsigned rpma__native_access(const struct rpma__native *native, int usage)
{
	unsigned access = 0;

	if (!native->has_flush)
		return 0;
	if (usage & RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY)
		access |= IBV_ACCESS_FLUSH_GLOBAL;
	if (usage & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)
		access |= IBV_ACCESS_FLUSH_PERSISTENT;
	return access;
}

unsigned rpma__native_weaker(unsigned access)
{
	/* memory that is not persistent refuses this one */
	return access & IBV_ACCESS_FLUSH_PERSISTENT ? access & ~IBV_ACCESS_FLUSH_PERSISTENT : 0;
}

bool rpma__native_can_flush(const struct ibv_qp_ex *qp)
{
	return qp && qp->wr_flush;
}

void rpma__native_add_flush(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, size_t len, enum rpma_flush_type type)
{
	const uint8_t placement =
		type == RPMA_FLUSH_TYPE_PERSISTENT ? IBV_FLUSH_PERSISTENT : IBV_FLUSH_GLOBAL;

	qp->wr_id = wr_id;
	qp->wr_flags = send_flags;
	/* a length on the wire has 32 bits */
	if (len > UINT32_MAX)
		ibv_wr_flush(qp, rkey, addr, 0, placement, IBV_FLUSH_MR);
	else
		ibv_wr_flush(qp, rkey, addr, len, placement, IBV_FLUSH_RANGE);
}

int rpma__native_flush(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags, uint32_t rkey,
	uint64_t addr, size_t len, enum rpma_flush_type type)
{
	ibv_wr_start(qp);
	rpma__native_add_flush(qp, wr_id, send_flags, rkey, addr, len, type);
	return ibv_wr_complete(qp);
}

#else

unsigned rpma__native_access(const struct rpma__native *native, int usage)
{
	(void)native;
	(void)usage;
	return 0;
}

unsigned rpma__native_weaker(unsigned access)
{
	(void)access;
	return 0;
}

bool rpma__native_can_flush(const struct ibv_qp_ex *qp)
{
	(void)qp;
	return false;
}

void rpma__native_add_flush(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, size_t len, enum rpma_flush_type type)
{
	(void)qp, (void)wr_id, (void)send_flags, (void)rkey, (void)addr, (void)len, (void)type;
}

int rpma__native_flush(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags, uint32_t rkey,
	uint64_t addr, size_t len, enum rpma_flush_type type)
{
	(void)qp, (void)wr_id, (void)send_flags, (void)rkey, (void)addr, (void)len, (void)type;
	return EOPNOTSUPP;
}

#endif

#ifdef RPMA_HAVE_NATIVE_ATOMIC_WRITE

bool rpma__native_can_atomic_write(const struct ibv_qp_ex *qp)
{
	return qp && qp->wr_atomic_write;
}

void rpma__native_add_atomic_write(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, const char src[8])
{
	qp->wr_id = wr_id;
	qp->wr_flags = send_flags;
	ibv_wr_atomic_write(qp, rkey, addr, src);
}

int rpma__native_atomic_write(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, const char src[8])
{
	ibv_wr_start(qp);
	rpma__native_add_atomic_write(qp, wr_id, send_flags, rkey, addr, src);
	return ibv_wr_complete(qp);
}

#else

bool rpma__native_can_atomic_write(const struct ibv_qp_ex *qp)
{
	(void)qp;
	return false;
}

void rpma__native_add_atomic_write(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, const char src[8])
{
	(void)qp, (void)wr_id, (void)send_flags, (void)rkey, (void)addr, (void)src;
}

int rpma__native_atomic_write(struct ibv_qp_ex *qp, uint64_t wr_id, unsigned send_flags,
	uint32_t rkey, uint64_t addr, const char src[8])
{
	(void)qp, (void)wr_id, (void)send_flags, (void)rkey, (void)addr, (void)src;
	return EOPNOTSUPP;
}

#endif
