/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * conn.h - a connection, as the rest of the core sees it
 */

#ifndef RPMA_CONN_H
#define RPMA_CONN_H

#include "librpma.h"
#include "link.h"

/*
 * rpma__conn_new - make a connection that is not started yet; it takes the link over on success
 *
 * The id's events come to the connection from then on, or have come to the link already.
 *
 * ERRORS
 * - RPMA_E_NOMEM     out of memory
 * - RPMA_E_PROVIDER  rdma_cm refuses; errno tells why
 */
int rpma__conn_new(struct rpma__link *link, struct rpma_conn **conn_ptr);

/* the queue pair, for posting */
struct ibv_qp *rpma__conn_get_qp(const struct rpma_conn *conn);

#endif /* RPMA_CONN_H */
