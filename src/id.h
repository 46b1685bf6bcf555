/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * id.h - rdma_cm ids, their events and queue pairs
 *
 * Thin: each function makes one call, under the lock where it has to, and logs its failure.
 *
 * ERRORS
 * - RPMA_E_PROVIDER  the call failed; errno tells why
 * - RPMA_E_NO_EVENT  rpma__id_next_event() only: nothing is waiting, or a signal came
 */

#ifndef RPMA_ID_H
#define RPMA_ID_H

#include <rdma/rdma_cma.h>

int rpma__id_channel_new(struct rdma_event_channel **channel_ptr);
void rpma__id_channel_delete(struct rdma_event_channel *channel);

/* the event has to be acknowledged with rpma__id_ack_event() */
int rpma__id_next_event(struct rdma_event_channel *channel, struct rdma_cm_event **event_ptr);
int rpma__id_ack_event(struct rdma_cm_event *event);

/* without a channel (NULL) the id is synchronous: its calls wait */
int rpma__id_new(struct rdma_event_channel *channel, struct rdma_cm_id **id_ptr);

/* the queue pair is gone before; waits for events of the id that are not acknowledged */
int rpma__id_delete(struct rdma_cm_id *id);

int rpma__id_bind(struct rdma_cm_id *id, const struct rdma_addrinfo *info);
int rpma__id_listen(struct rdma_cm_id *id);
int rpma__id_resolve_addr(struct rdma_cm_id *id, const struct rdma_addrinfo *info, int timeout_ms);
int rpma__id_resolve_route(struct rdma_cm_id *id, int timeout_ms);
int rpma__id_migrate(struct rdma_cm_id *id, struct rdma_event_channel *channel);
int rpma__id_reject(struct rdma_cm_id *id);
int rpma__id_disconnect(struct rdma_cm_id *id);
void rpma__id_delete_qp(struct rdma_cm_id *id);

#endif /* RPMA_ID_H */
