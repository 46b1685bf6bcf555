/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* info.c - addresses from text */

#include <errno.h>
#include <netdb.h>

#include "info.h"
#include "log.h"

/* rdma_getaddrinfo(3) fails with -1 and errno, or with one of the codes of getaddrinfo(3) */
static int errno_of(int ret)
{
	switch (ret) {
	case -1:
	case EAI_SYSTEM:
		return errno;
	case EAI_MEMORY:
		return ENOMEM;
	case EAI_AGAIN:
		return EAGAIN;
	case EAI_FAMILY:
		return EAFNOSUPPORT;
	case EAI_SERVICE:
		return EINVAL;
	default:
		return EADDRNOTAVAIL;
	}
}

int rpma__info_new(const char *addr, const char *port, enum rpma__info_side side,
	struct rdma_addrinfo **info_ptr)
{
	const struct rdma_addrinfo hints = {
		.ai_flags = side == RPMA__INFO_PASSIVE ? RAI_PASSIVE : 0,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	const int ret = rdma_getaddrinfo(addr, port, &hints, info_ptr);

	if (!ret)
		return 0;
	errno = errno_of(ret);
	RPMA_LOG_PROVIDER("rdma_getaddrinfo(node=%s, service=%s, ai_flags=%d)", addr,
		port ? port : "NULL", hints.ai_flags);
	return RPMA_E_PROVIDER;
}
