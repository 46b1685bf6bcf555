/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * resolve.h - a host and a port as a socket address
 *
 * ASSUMPTIONS
 * - numeric ones are translated on the spot; a name goes through uv_getaddrinfo(), on libuv's pool
 * - an abandoned lookup runs on by itself and frees itself: nothing can stop a resolver
 */

#ifndef RPMA_UV_RESOLVE_H
#define RPMA_UV_RESOLVE_H

#include <sys/socket.h>
#include <uv.h>

struct rpma_uv__resolve;

/* status 0 and the address, or UV_EAI_* */
typedef void (*rpma_uv__resolve_cb)(void *arg, int status, const struct sockaddr *addr);

/*
 * Numeric host and port (NULL: 0) into *addr: 0, or UV_EINVAL when one of them is not numeric.
 */
int rpma_uv__resolve_numeric(const char *host, const char *port, struct sockaddr_storage *addr);

/* look a name up; cb runs later, once, unless abandoned: 0 or UV_E* */
int rpma_uv__resolve_start(uv_loop_t *loop, const char *host, const char *port,
	rpma_uv__resolve_cb cb, void *arg, struct rpma_uv__resolve **resolve_ptr);

/* forget a lookup: its cb will not run */
void rpma_uv__resolve_abandon(struct rpma_uv__resolve **resolve_ptr);

#endif /* RPMA_UV_RESOLVE_H */
