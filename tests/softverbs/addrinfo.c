/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* addrinfo.c - rdma_getaddrinfo: names and services, by way of getaddrinfo() */

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

SV_EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res != NULL) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
		res = next;
	}
}

static int copy_addr(
	const struct sockaddr *from, socklen_t length, struct sockaddr **to, socklen_t *to_length)
{
	*to = calloc(1, sizeof(struct sockaddr_storage));
	if (*to == NULL)
		return EAI_MEMORY;
	memcpy(*to, from, length);
	*to_length = length;
	return 0;
}

static int fill(
	struct rdma_addrinfo *res, const struct addrinfo *ai, const struct rdma_addrinfo *hints)
{
	int flags = hints != NULL ? hints->ai_flags : 0;
	struct sockaddr_storage src;
	int ret;

	res->ai_flags = flags;
	res->ai_family = ai->ai_family;
	res->ai_qp_type = hints != NULL && hints->ai_qp_type != 0 ? hints->ai_qp_type : IBV_QPT_RC;
	res->ai_port_space =
		hints != NULL && hints->ai_port_space != 0 ? hints->ai_port_space : RDMA_PS_TCP;
	if (flags & RAI_PASSIVE)
		return copy_addr(ai->ai_addr, ai->ai_addrlen, &res->ai_src_addr, &res->ai_src_len);
	ret = copy_addr(ai->ai_addr, ai->ai_addrlen, &res->ai_dst_addr, &res->ai_dst_len);
	if (ret != 0)
		return ret;
	if (hints != NULL && hints->ai_src_len > 0)
		return copy_addr(
			hints->ai_src_addr, hints->ai_src_len, &res->ai_src_addr, &res->ai_src_len);
	if (flags & RAI_NOROUTE || sv_addr_source(ai->ai_addr, &src) != 0)
		return 0; /* the source is chosen by rdma_resolve_addr */
	return copy_addr(
		(struct sockaddr *)&src, ai->ai_addrlen, &res->ai_src_addr, &res->ai_src_len);
}

static int look_up(const char *node, const char *service, const struct rdma_addrinfo *hints,
	struct addrinfo **ai)
{
	struct addrinfo ask = { .ai_socktype = SOCK_STREAM };

	if (hints != NULL) {
		if (hints->ai_flags & RAI_PASSIVE)
			ask.ai_flags |= AI_PASSIVE;
		if (hints->ai_flags & RAI_NUMERICHOST)
			ask.ai_flags |= AI_NUMERICHOST;
		if (hints->ai_flags & RAI_FAMILY)
			ask.ai_family = hints->ai_family;
	}
	return getaddrinfo(node, service, &ask, ai);
}

/* an address given in the hints alone needs no looking up */
static int from_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *res)
{
	struct addrinfo ai = { 0 };
	bool passive = (hints->ai_flags & RAI_PASSIVE) != 0;

	ai.ai_addr = passive ? hints->ai_src_addr : hints->ai_dst_addr;
	ai.ai_addrlen = passive ? hints->ai_src_len : hints->ai_dst_len;
	if (ai.ai_addrlen == 0 || ai.ai_addr == NULL) {
		errno = EINVAL;
		return -1;
	}
	ai.ai_family = ai.ai_addr->sa_family;
	return fill(res, &ai, hints);
}

SV_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
	const struct rdma_addrinfo *hints, struct rdma_addrinfo **res_ptr)
{
	struct rdma_addrinfo *res;
	struct addrinfo *ai = NULL;
	int ret;

	if (node == NULL && service == NULL && hints == NULL) {
		errno = EINVAL;
		return -1;
	}
	sv_lock();
	sv_hold(SV_HOLD_RESOLVER);
	sv_unlock();
	res = calloc(1, sizeof(*res));
	if (res == NULL)
		return -1;
	if (node != NULL || service != NULL) {
		ret = look_up(node, service, hints, &ai);
		if (ret == 0)
			ret = fill(res, ai, hints);
		if (ai != NULL)
			freeaddrinfo(ai);
	} else {
		ret = from_hints(hints, res);
	}
	if (ret != 0) {
		rdma_freeaddrinfo(res);
		return ret;
	}
	*res_ptr = res;
	return 0;
}
