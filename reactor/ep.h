/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * ep.h - a listener and the requests that wait for an answer
 *
 * ASSUMPTIONS
 * - a request is answered once: consumed by an accept, or rejected; both free it
 */

#ifndef RPMA_UV_EP_H
#define RPMA_UV_EP_H

#include "cm.h"
#include "librpma_uv.h"

struct rpma_uv__reactor;

/* hand the request's id and private data over to a connection */
void rpma_uv__conn_req_consume(rpma_uv_conn_req_t *req, struct rpma_uv__cm_id *cm_id,
	struct rpma_conn_private_data *received);

/* turn the request down without a word */
void rpma_uv__conn_req_reject(rpma_uv_conn_req_t *req);

/* close every listener that is not closing yet */
void rpma_uv__eps_close(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_EP_H */
