/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * info.h - a translated address
 *
 * ERRORS
 * - RPMA_E_PROVIDER  rdma_getaddrinfo(3) failed; errno is the closest relative of its code
 */

#ifndef RPMA_INFO_H
#define RPMA_INFO_H

#include <rdma/rdma_cma.h>

enum rpma__info_side { RPMA__INFO_ACTIVE, RPMA__INFO_PASSIVE };

/* port may be NULL; may wait for a name server; freed with rdma_freeaddrinfo(3) */
int rpma__info_new(const char *addr, const char *port, enum rpma__info_side side,
	struct rdma_addrinfo **info_ptr);

#endif /* RPMA_INFO_H */
