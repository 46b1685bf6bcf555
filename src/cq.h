/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * cq.h - completion queues and completion channels
 *
 * ERRORS
 * - RPMA_E_NOMEM          out of memory
 * - RPMA_E_PROVIDER       a verbs call failed; errno tells why
 * - RPMA_E_NO_COMPLETION  rpma__cq_next_event() only: for whatever reason there is no event
 */

#ifndef RPMA_CQ_H
#define RPMA_CQ_H

#include "librpma.h"

int rpma__cq_channel_new(struct ibv_context *ibv_ctx, struct ibv_comp_channel **channel_ptr);
int rpma__cq_channel_delete(struct ibv_comp_channel *channel);

/* with a channel of its own if shared_channel is NULL; armed; a size above INT_MAX is clipped */
int rpma__cq_new(struct ibv_context *ibv_ctx, uint32_t size,
	struct ibv_comp_channel *shared_channel, struct rpma_cq **cq_ptr);

/* runs all steps and frees, whatever fails; accepts a pointer to NULL; the first failure counts */
int rpma__cq_delete(struct rpma_cq **cq_ptr);

struct ibv_cq *rpma__cq_get_ibv_cq(const struct rpma_cq *cq);

/* fetches one event and acknowledges it at once; tells which queue it is about */
int rpma__cq_next_event(struct ibv_comp_channel *channel, struct ibv_cq **ibv_cq_ptr);

/* asks for the next event; when that fails, the queue is left unarmed */
int rpma__cq_arm(struct rpma_cq *cq);

/* asks for none: the queue notifies nobody until it is armed */
void rpma__cq_leave_unarmed(struct rpma_cq *cq);

bool rpma__cq_is_unarmed(const struct rpma_cq *cq);

/* true: it was left unarmed, and it is the caller's to arm, nobody else's */
bool rpma__cq_claim_unarmed(struct rpma_cq *cq);

#endif /* RPMA_CQ_H */
