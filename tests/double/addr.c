/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* addr.c - librdmacm: addresses */

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "state.h"

#define NAME_SIZE 256

static struct rdma_addrinfo hints;
static char node[NAME_SIZE], service[NAME_SIZE];

struct addrinfo_object {
	struct object object;
	struct rdma_addrinfo info;
	struct sockaddr_storage addr;
};

int rdma_getaddrinfo(const char *node_name, const char *service_name,
	const struct rdma_addrinfo *rdma_hints, struct rdma_addrinfo **res)
{
	const struct addrinfo numeric = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	struct addrinfo_object *object;
	struct addrinfo *found;
	int ret;

	if (double__enter("rdma_getaddrinfo")) {
		/* a code of getaddrinfo(3) was ordered, or an errno */
		if (errno < 0)
			return errno;
		return -1;
	}
	hints = *rdma_hints;
	strncpy(node, node_name ? node_name : "", sizeof(node) - 1);
	strncpy(service, service_name ? service_name : "", sizeof(service) - 1);
	ret = getaddrinfo(node_name, service_name, &numeric, &found);
	if (ret) {
		double__leave();
		return ret;
	}
	object = double__new(DOUBLE_ADDRINFO, sizeof(*object));
	memcpy(&object->addr, found->ai_addr, found->ai_addrlen);
	object->info = hints;
	object->info.ai_family = found->ai_family;
	if (hints.ai_flags & RAI_PASSIVE) {
		object->info.ai_src_addr = (struct sockaddr *)&object->addr;
		object->info.ai_src_len = found->ai_addrlen;
	} else {
		object->info.ai_dst_addr = (struct sockaddr *)&object->addr;
		object->info.ai_dst_len = found->ai_addrlen;
	}
	freeaddrinfo(found);
	*res = &object->info;
	double__leave();
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	double__lock();
	double__free(OF(addrinfo_object, info, res));
	double__leave();
}

const struct rdma_addrinfo *double_hints(void)
{
	return &hints;
}

const char *double_node(void)
{
	return node;
}

const char *double_service(void)
{
	return service;
}
