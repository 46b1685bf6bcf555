/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * conn.h - a connection, as the rest of the core sees it
 */

#ifndef RPMA_CONN_H
#define RPMA_CONN_H

#include <stdatomic.h>

#include "flush.h"
#include "librpma.h"
#include "link.h"

/* what posts comes first */
struct rpma_conn {
	struct ibv_qp *qp; /* the link's */
	struct ibv_qp_ex *native_qp; /* NULL: no native operations */
	struct rpma__flush *flush; /* where emulated flushes read to */
	atomic_bool direct_write_to_pmem; /* what the peer declared */
	struct rpma__link *link;
};

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

#endif /* RPMA_CONN_H */
