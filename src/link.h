/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * link.h - an id with its queue pair and what completes on it
 *
 * It is made for a connection request and moves to the connection, so pointers into it (private
 * data, completion queues) stay as they are.
 */

#ifndef RPMA_LINK_H
#define RPMA_LINK_H

#include <rdma/rdma_cma.h>

#include "cq.h"
#include "librpma.h"

struct rpma__link {
	struct rpma_peer *peer;
	struct rdma_cm_id *id;
	struct rpma_cq *cq;
	struct rpma_cq
		*rcq; /* NULL: receives complete in cq, or in that of the shared receive queue */
	struct ibv_comp_channel *channel; /* NULL: each completion queue has its own */
	struct rdma_event_channel *evch; /* NULL: the id's events do not come to the link yet */

	/* the peer's private data: a pointer into the buffer, or NULL before there is any */
	struct rpma_conn_private_data data;
	uint8_t data_buf[UINT8_MAX];
};

/*
 * rpma__link_new - make the queues of an id; the link takes the id over on success
 *
 * ERRORS
 * - RPMA_E_INVAL     cfg wants a shared channel, and a shared receive queue that has its own
 * - RPMA_E_NOMEM     out of memory
 * - RPMA_E_PROVIDER  the device refuses a queue; errno tells why
 */
int rpma__link_new(struct rpma_peer *peer, struct rdma_cm_id *id, const struct rpma_conn_cfg *cfg,
	struct rpma__link **link_ptr);

/*
 * rpma__link_delete - undo everything, the id included; is_request: an incoming request, to be
 * rejected
 *
 * Runs all steps, whatever fails.
 *
 * ERRORS
 * - RPMA_E_PROVIDER  the first step that failed; errno tells why
 */
int rpma__link_delete(struct rpma__link *link, bool is_request);

/*
 * rpma__link_own_events - give the link a channel for its id's events; the id has none that is not
 * acknowledged
 *
 * ERRORS
 * - RPMA_E_PROVIDER  rdma_cm refuses; errno tells why
 */
int rpma__link_own_events(struct rpma__link *link);

/* keeps a copy of the private data that came with an event, if it brought any */
void rpma__link_store_data(struct rpma__link *link, const struct rdma_cm_event *event);

#endif /* RPMA_LINK_H */
