/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * conn.h - a connection, as the rest of the core sees it
 */

#ifndef RPMA_CONN_H
#define RPMA_CONN_H

#include "flush.h"
#include "librpma.h"
#include "link.h"

/*
 * rpma__conn_new - make a connection that is not started yet; it takes the link over on success
 *
 * The id's events come to the connection from then on, or have come to the link already.
 *
 * ERRORS
 * - RPMA_E_NOMEM     out of memory
 * - RPMA_E_PROVIDER  rdma_cm or the device refuses; errno tells why
 */
int rpma__conn_new(struct rpma__link *link, struct rpma_conn **conn_ptr);

/* the queue pair, for posting */
struct ibv_qp *rpma__conn_get_qp(const struct rpma_conn *conn);

/* its interface for native operations; NULL: it has none */
struct ibv_qp_ex *rpma__conn_get_native_qp(const struct rpma_conn *conn);

/* where its emulated flushes read to */
const struct rpma__flush *rpma__conn_get_flush(const struct rpma_conn *conn);

/* did the peer declare that writes go directly to persistent memory? */
bool rpma__conn_is_direct_write(const struct rpma_conn *conn);

#endif /* RPMA_CONN_H */
