/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* recv_ring.c - queues of posted receives */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "qp.h"

bool sv_ring_init(struct sv_recv_ring *ring, uint32_t size, uint32_t max_sge)
{
	memset(ring, 0, sizeof(*ring));
	ring->size = size;
	ring->max_sge = max_sge;
	if (size == 0)
		return true;
	ring->slots = calloc(size, sizeof(*ring->slots));
	ring->sges = calloc((size_t)size * (max_sge + 1), sizeof(*ring->sges));
	if (ring->slots == NULL || ring->sges == NULL) {
		sv_ring_free(ring);
		return false;
	}
	for (uint32_t i = 0; i < size; i++)
		ring->slots[i].sge = &ring->sges[(size_t)i * (max_sge + 1)];
	return true;
}

void sv_ring_free(struct sv_recv_ring *ring)
{
	for (uint32_t i = 0; ring->slots != NULL && i < ring->size; i++)
		sv_watch_drop(&ring->slots[i].watch);
	free(ring->slots);
	free(ring->sges);
	ring->slots = NULL;
	ring->sges = NULL;
}

int sv_ring_post(struct sv_recv_ring *ring, const struct ibv_recv_wr *wr)
{
	struct sv_recv *slot;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > ring->max_sge)
		return EINVAL;
	if (ring->posted - ring->freed >= ring->size)
		return ENOMEM;
	slot = &ring->slots[ring->posted % ring->size];
	slot->wr_id = wr->wr_id;
	slot->sge_count = wr->num_sge;
	if (wr->num_sge > 0)
		memcpy(slot->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(*slot->sge));
	if (SV_STRICT)
		sv_watch_post(
			&slot->watch, SV_WATCH_RECV, NULL, slot->sge, slot->sge_count, slot->wr_id);
	ring->posted++;
	return 0;
}

bool sv_ring_take(struct sv_recv_ring *ring, struct sv_incoming *in)
{
	struct sv_recv *slot;

	if (ring->taken == ring->posted)
		return false;
	slot = &ring->slots[ring->taken++ % ring->size];
	if (SV_STRICT)
		sv_watch_end(&slot->watch);
	in->valid = true;
	in->wr_id = slot->wr_id;
	in->sge_count = slot->sge_count;
	memcpy(in->sge, slot->sge, (size_t)slot->sge_count * sizeof(*in->sge));
	return true;
}
