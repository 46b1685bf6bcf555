/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * peer_cfg.c - what a host declares about itself
 *
 * The descriptor is one byte: 1 for direct write to persistent memory, else 0. It may travel in
 * private data next to a region's descriptor, and programs reserve 24 bytes for the two: it must
 * not grow.
 */

#include <stdatomic.h>
#include <stdlib.h>

#include "log.h"

#define DESCRIPTOR_SIZE_BYTES 1

struct rpma_peer_cfg {
	atomic_bool direct_write_to_pmem;
};

static int new_with(bool direct_write_to_pmem, struct rpma_peer_cfg **pcfg_ptr)
{
	struct rpma_peer_cfg *pcfg = malloc(sizeof(*pcfg));

	if (!pcfg)
		return RPMA_E_NOMEM;

	atomic_init(&pcfg->direct_write_to_pmem, direct_write_to_pmem);
	*pcfg_ptr = pcfg;
	return 0;
}

int rpma_peer_cfg_new(struct rpma_peer_cfg **pcfg_ptr)
{
	if (!pcfg_ptr)
		return RPMA_E_INVAL;

	return new_with(false, pcfg_ptr);
}

int rpma_peer_cfg_delete(struct rpma_peer_cfg **pcfg_ptr)
{
	if (!pcfg_ptr)
		return RPMA_E_INVAL;

	free(*pcfg_ptr);
	*pcfg_ptr = NULL;
	return 0;
}

int rpma_peer_cfg_set_direct_write_to_pmem(struct rpma_peer_cfg *pcfg, bool supported)
{
	if (!pcfg)
		return RPMA_E_INVAL;

	atomic_store(&pcfg->direct_write_to_pmem, supported);
	return 0;
}

int rpma_peer_cfg_get_direct_write_to_pmem(const struct rpma_peer_cfg *pcfg, bool *supported)
{
	if (!pcfg || !supported)
		return RPMA_E_INVAL;

	*supported = atomic_load(&pcfg->direct_write_to_pmem);
	return 0;
}

int rpma_peer_cfg_get_descriptor(const struct rpma_peer_cfg *pcfg, void *desc)
{
	if (!pcfg || !desc)
		return RPMA_E_INVAL;

	*(uint8_t *)desc = atomic_load(&pcfg->direct_write_to_pmem) ? 1 : 0;
	return 0;
}

int rpma_peer_cfg_get_descriptor_size(const struct rpma_peer_cfg *pcfg, size_t *desc_size)
{
	if (!pcfg || !desc_size)
		return RPMA_E_INVAL;

	*desc_size = DESCRIPTOR_SIZE_BYTES;
	return 0;
}

int rpma_peer_cfg_from_descriptor(
	const void *desc, size_t desc_size, struct rpma_peer_cfg **pcfg_ptr)
{
	bool direct_write_to_pmem;

	if (!desc || !pcfg_ptr)
		return RPMA_E_INVAL;
	if (desc_size < DESCRIPTOR_SIZE_BYTES) {
		RPMA_LOG_ERROR("a peer configuration takes %d byte, not %zu", DESCRIPTOR_SIZE_BYTES,
			desc_size);
		return RPMA_E_INVAL;
	}

	direct_write_to_pmem = *(const uint8_t *)desc != 0;
	RPMA_LOG_INFO("the peer declares direct write to persistent memory: %s",
		direct_write_to_pmem ? "supported" : "not supported");
	return new_with(direct_write_to_pmem, pcfg_ptr);
}
