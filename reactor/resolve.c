/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* resolve.c - numeric addresses on the spot, names on libuv's pool */

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "resolve.h"

struct rpma_uv__resolve {
	uv_getaddrinfo_t req;
	rpma_uv__resolve_cb cb; /* NULL: abandoned */
	void *arg;
};

int rpma_uv__resolve_numeric(const char *host, const char *port, struct sockaddr_storage *addr)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *info;

	if (getaddrinfo(host, port != NULL ? port : "0", &hints, &info))
		return UV_EINVAL;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, info->ai_addr, info->ai_addrlen);
	freeaddrinfo(info);
	return 0;
}

static void resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *info)
{
	struct rpma_uv__resolve *resolve = req->data;

	if (resolve->cb != NULL)
		resolve->cb(resolve->arg, status, status == 0 ? info->ai_addr : NULL);
	uv_freeaddrinfo(info);
	free(resolve);
}

int rpma_uv__resolve_start(uv_loop_t *loop, const char *host, const char *port,
	rpma_uv__resolve_cb cb, void *arg, struct rpma_uv__resolve **resolve_ptr)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct rpma_uv__resolve *resolve;
	int ret;

	resolve = malloc(sizeof(*resolve));
	if (resolve == NULL)
		return UV_ENOMEM;
	resolve->cb = cb;
	resolve->arg = arg;
	resolve->req.data = resolve;
	ret = uv_getaddrinfo(loop, &resolve->req, resolved, host, port, &hints);
	if (ret) {
		free(resolve);
		return ret;
	}
	*resolve_ptr = resolve;
	return 0;
}

void rpma_uv__resolve_abandon(struct rpma_uv__resolve **resolve_ptr)
{
	struct rpma_uv__resolve *resolve = *resolve_ptr;

	if (resolve == NULL)
		return;
	*resolve_ptr = NULL;
	resolve->cb = NULL;
	(void)uv_cancel((uv_req_t *)&resolve->req); /* of use only while it has not started */
}
