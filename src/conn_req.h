/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * conn_req.h - connection requests, as an endpoint makes them
 */

#ifndef RPMA_CONN_REQ_H
#define RPMA_CONN_REQ_H

#include <rdma/rdma_cma.h>

#include "librpma.h"

/*
 * rpma__conn_req_from_event - make a request out of RDMA_CM_EVENT_CONNECT_REQUEST
 *
 * Takes the event's id over on success. The event stays the caller's, to be acknowledged.
 *
 * ERRORS
 * - RPMA_E_INVAL     cfg contradicts itself; see rpma__link_new()
 * - RPMA_E_NOMEM     out of memory
 * - RPMA_E_PROVIDER  the device refuses a queue; errno tells why
 */
int rpma__conn_req_from_event(struct rpma_peer *peer, const struct rdma_cm_event *event,
	const struct rpma_conn_cfg *cfg, struct rpma_conn_req **req_ptr);

/*
 * rpma__conn_req_own_events - move a request away from its endpoint; its event is acknowledged
 *
 * ERRORS
 * - RPMA_E_PROVIDER  rdma_cm refuses; errno tells why
 */
int rpma__conn_req_own_events(struct rpma_conn_req *req);

#endif /* RPMA_CONN_REQ_H */
