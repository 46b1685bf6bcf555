/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * mr.c - local and remote regions, and the descriptor that turns one into the other
 *
 * A descriptor is 21 bytes, packed, little-endian, and must not grow (see peer_cfg.c):
 *
 *     0        8        16     20     21
 *     | address | length | rkey | usage |
 *
 * Two bits of a remote region's usage, SEND and RECV, are of no use to the one who gets the
 * descriptor. Both are added where a device with native flush could not give a region to it, so that
 * flushes to such a region are emulated.
 */

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "err.h"
#include "log.h"
#include "mr.h"
#include "native.h"
#include "peer.h"

/* the macro of this name calls a newer function, for access flags that are not used here */
#undef ibv_reg_mr

#define USAGE_ALL                                                                    \
	(RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC | \
		RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |      \
		RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV)

/* the device itself writes into regions of these usages */
#define USAGE_WRITTEN (RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_RECV)

struct descriptor {
	uint64_t addr;
	uint64_t size;
	uint32_t rkey;
	uint8_t usage;
} __attribute__((packed));

static_assert(sizeof(struct descriptor) == 21, "the wire format is 21 bytes");

/* registers with the access asked for, else with the closest that the memory allows */
static struct ibv_mr *reg_with(
	struct rpma_peer *peer, void *ptr, size_t size, int usage, int access)
{
	struct ibv_pd *pd = rpma__peer_pd(peer);
	struct ibv_mr *ibv_mr = ibv_reg_mr(pd, ptr, size, access);

	if (ibv_mr)
		return ibv_mr;

	/* a file system (DAX) that does not let its pages be pinned */
	if (errno == EOPNOTSUPP && rpma__peer_is_odp_capable(peer)) {
		if (!rpma__peer_pages_messages(peer, usage))
			RPMA_LOG_WARNING("the device cannot page messages on demand, so they "
					 "will fail for the region at %p",
				ptr);
		return ibv_reg_mr(pd, ptr, size, access | IBV_ACCESS_ON_DEMAND);
	}

	/* a read-only mapping, which is good enough for the source of a write */
	if (errno == EFAULT && (access & IBV_ACCESS_LOCAL_WRITE) && !(usage & USAGE_WRITTEN))
		return ibv_reg_mr(pd, ptr, size, access & ~IBV_ACCESS_LOCAL_WRITE);

	return NULL;
}

/* native flush is given up where the memory refuses it; *usage_ptr tells so then */
static struct ibv_mr *reg_mr(struct rpma_peer *peer, void *ptr, size_t size, int *usage_ptr)
{
	const int access = rpma__peer_usage_to_access(peer, *usage_ptr);
	unsigned native = rpma__native_access(rpma__peer_native(peer), *usage_ptr);
	struct ibv_mr *ibv_mr = reg_with(peer, ptr, size, *usage_ptr, access | (int)native);

	while (!ibv_mr && native && (errno == EINVAL || errno == EOPNOTSUPP)) {
		native = rpma__native_weaker(native);
		ibv_mr = reg_with(peer, ptr, size, *usage_ptr, access | (int)native);
		if (ibv_mr)
			*usage_ptr |= RPMA__MR_USAGE_NO_NATIVE_FLUSH;
	}
	return ibv_mr;
}

int rpma_mr_reg(
	struct rpma_peer *peer, void *ptr, size_t size, int usage, struct rpma_mr_local **mr_ptr)
{
	struct rpma_mr_local *mr;

	if (!peer || !ptr || size == 0 || !mr_ptr)
		return RPMA_E_INVAL;
	if (usage == 0 || (usage & ~USAGE_ALL))
		return RPMA_E_INVAL;

	mr = malloc(sizeof(*mr));
	if (!mr)
		return RPMA_E_NOMEM;
	mr->usage = usage;
	mr->ibv_mr = reg_mr(peer, ptr, size, &mr->usage);
	if (!mr->ibv_mr) {
		RPMA_LOG_PROVIDER(
			"ibv_reg_mr(addr=%p, length=%zu, usage=0x%x)", ptr, size, (unsigned)usage);
		RPMA__UNDO(free(mr));
		return RPMA_E_PROVIDER;
	}

	*mr_ptr = mr;
	return 0;
}

int rpma_mr_dereg(struct rpma_mr_local **mr_ptr)
{
	int ret;

	if (!mr_ptr)
		return RPMA_E_INVAL;
	if (!*mr_ptr)
		return 0;

	ret = ibv_dereg_mr((*mr_ptr)->ibv_mr);
	if (ret) {
		rpma__err_set_errno(ret);
		RPMA_LOG_PROVIDER("ibv_dereg_mr()");
		ret = RPMA_E_PROVIDER;
	}
	RPMA__UNDO(free(*mr_ptr));
	*mr_ptr = NULL;
	return ret;
}

int rpma_mr_get_descriptor(const struct rpma_mr_local *mr, void *desc)
{
	struct descriptor packed;

	if (!mr || !desc)
		return RPMA_E_INVAL;

	packed.addr = htole64((uint64_t)(uintptr_t)mr->ibv_mr->addr);
	packed.size = htole64((uint64_t)mr->ibv_mr->length);
	packed.rkey = htole32(mr->ibv_mr->rkey);
	packed.usage = (uint8_t)mr->usage;
	memcpy(desc, &packed, sizeof(packed));
	return 0;
}

int rpma_mr_get_descriptor_size(const struct rpma_mr_local *mr, size_t *desc_size)
{
	if (!mr || !desc_size)
		return RPMA_E_INVAL;

	*desc_size = sizeof(struct descriptor);
	return 0;
}

int rpma_mr_get_ptr(const struct rpma_mr_local *mr, void **ptr)
{
	if (!mr || !ptr)
		return RPMA_E_INVAL;

	*ptr = mr->ibv_mr->addr;
	return 0;
}

int rpma_mr_get_size(const struct rpma_mr_local *mr, size_t *size)
{
	if (!mr || !size)
		return RPMA_E_INVAL;

	*size = mr->ibv_mr->length;
	return 0;
}

int rpma_mr_advise(struct rpma_mr_local *mr, size_t offset, size_t len, int advice, uint32_t flags)
{
	struct ibv_sge sge;
	int ret;

	if (!mr || rpma__mr_local_sge(mr, offset, len, &sge))
		return RPMA_E_INVAL;

	ret = rpma__advise_mr(mr->ibv_mr->pd, advice, flags, &sge);
	if (!ret)
		return 0;
	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("ibv_advise_mr(advice=%d, flags=0x%" PRIx32 ")", advice, flags);
	switch (errno) {
	case EOPNOTSUPP:
		return RPMA_E_NOSUPP;
	case EFAULT:
	case EINVAL:
		return RPMA_E_INVAL;
	default:
		return RPMA_E_PROVIDER;
	}
}

int rpma_mr_remote_from_descriptor(
	const void *desc, size_t desc_size, struct rpma_mr_remote **mr_ptr)
{
	struct descriptor packed;
	struct rpma_mr_remote *mr;

	if (!desc || !mr_ptr)
		return RPMA_E_INVAL;
	if (desc_size < sizeof(packed)) {
		RPMA_LOG_ERROR("a region's descriptor takes %zu bytes, not %zu", sizeof(packed),
			desc_size);
		return RPMA_E_INVAL;
	}
	memcpy(&packed, desc, sizeof(packed));
	if (packed.usage == 0) {
		RPMA_LOG_ERROR("the descriptor describes a region without any usage");
		return RPMA_E_INVAL;
	}

	mr = malloc(sizeof(*mr));
	if (!mr)
		return RPMA_E_NOMEM;
	mr->addr = le64toh(packed.addr);
	mr->size = le64toh(packed.size);
	mr->rkey = le32toh(packed.rkey);
	mr->usage = packed.usage;
	RPMA_LOG_DEBUG("remote region: address 0x%" PRIx64 ", %" PRIu64 " bytes, key 0x%" PRIx32
		       ", usage 0x%" PRIx32,
		mr->addr, mr->size, mr->rkey, mr->usage);

	*mr_ptr = mr;
	return 0;
}

int rpma_mr_remote_get_size(const struct rpma_mr_remote *mr, size_t *size)
{
	if (!mr || !size)
		return RPMA_E_INVAL;

	*size = (size_t)mr->size;
	return 0;
}

int rpma_mr_remote_get_flush_type(const struct rpma_mr_remote *mr, int *flush_type)
{
	if (!mr || !flush_type)
		return RPMA_E_INVAL;

	*flush_type = (int)mr->usage &
		      (RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	return 0;
}

int rpma_mr_remote_delete(struct rpma_mr_remote **mr_ptr)
{
	if (!mr_ptr)
		return RPMA_E_INVAL;

	free(*mr_ptr);
	*mr_ptr = NULL;
	return 0;
}
