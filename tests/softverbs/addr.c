/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* addr.c - IPv4 and IPv6 addresses */

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cm.h"
#include "seed.h"

unsigned sv_addr_length(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

bool sv_addr_is_any(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* in a simulation, without a look at the machine: the world is the same everywhere */
static bool is_loopback(const struct sockaddr *addr)
{
	if (!sv_seed_is_on())
		return false;
	if (addr->sa_family == AF_INET)
		return ((const struct sockaddr_in *)addr)->sin_addr.s_addr ==
		       htonl(INADDR_LOOPBACK);
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* the kernel knows best: an address that a socket can be bound to */
bool sv_addr_is_local(const struct sockaddr *addr)
{
	struct sockaddr_storage any_port = { 0 };
	bool local;
	int fd;

	if (is_loopback(addr))
		return true;
	memcpy(&any_port, addr, sv_addr_length(addr));
	sv_addr_set_port((struct sockaddr *)&any_port, 0);
	fd = socket(addr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	local = bind(fd, (struct sockaddr *)&any_port, sv_addr_length(addr)) == 0;
	close(fd);
	return local;
}

uint16_t sv_addr_port(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)addr)->sin_port);
	return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
}

void sv_addr_set_port(struct sockaddr *addr, uint16_t port)
{
	if (addr->sa_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

/* the source that the routing tables give for dst; no packet is sent */
int sv_addr_source(const struct sockaddr *dst, struct sockaddr_storage *src)
{
	struct sockaddr_storage to = { 0 };
	socklen_t length = sizeof(*src);
	int ret = 0;
	int fd;

	memset(src, 0, sizeof(*src));
	memcpy(&to, dst, sv_addr_length(dst));
	if (is_loopback(dst)) {
		memcpy(src, dst, sv_addr_length(dst));
		sv_addr_set_port((struct sockaddr *)src, 0);
		return 0;
	}
	if (sv_addr_port(dst) == 0)
		sv_addr_set_port((struct sockaddr *)&to, 9);
	fd = socket(dst->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	if (connect(fd, (struct sockaddr *)&to, sv_addr_length(dst)) != 0 ||
		getsockname(fd, (struct sockaddr *)src, &length) != 0)
		ret = errno;
	close(fd);
	if (ret == 0)
		sv_addr_set_port((struct sockaddr *)src, 0);
	return ret;
}

void sv_addr_gid(const struct sockaddr *addr, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (addr->sa_family == AF_INET) {
		gid->raw[10] = 0xff;
		gid->raw[11] = 0xff;
		memcpy(&gid->raw[12], &((const struct sockaddr_in *)addr)->sin_addr, 4);
	} else if (addr->sa_family == AF_INET6) {
		memcpy(gid->raw, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
	}
}

void sv_addr_pack(const struct sockaddr *src, const struct sockaddr *dst, struct sv_cm_message *m)
{
	if (dst->sa_family == AF_INET) {
		const struct sockaddr_in *s = (const struct sockaddr_in *)src;
		const struct sockaddr_in *d = (const struct sockaddr_in *)dst;

		m->family = 4;
		memcpy(m->src_addr, &s->sin_addr, 4);
		memcpy(m->dst_addr, &d->sin_addr, 4);
		m->src_port = s->sin_port;
		m->dst_port = d->sin_port;
	} else {
		const struct sockaddr_in6 *s = (const struct sockaddr_in6 *)src;
		const struct sockaddr_in6 *d = (const struct sockaddr_in6 *)dst;

		m->family = 6;
		memcpy(m->src_addr, &s->sin6_addr, 16);
		memcpy(m->dst_addr, &d->sin6_addr, 16);
		m->src_port = s->sin6_port;
		m->dst_port = d->sin6_port;
		m->scope_id = d->sin6_scope_id;
	}
}

static void unpack_one(
	const struct sv_cm_message *m, const uint8_t *addr, uint16_t port, struct sockaddr *to)
{
	if (m->family == 4) {
		struct sockaddr_in *in = (struct sockaddr_in *)to;

		memset(in, 0, sizeof(*in));
		in->sin_family = AF_INET;
		in->sin_port = port;
		memcpy(&in->sin_addr, addr, 4);
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;

		memset(in6, 0, sizeof(*in6));
		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		in6->sin6_scope_id = m->scope_id;
		memcpy(&in6->sin6_addr, addr, 16);
	}
}

/* what the sender calls src is src here as well */
void sv_addr_unpack(const struct sv_cm_message *m, struct sockaddr *src, struct sockaddr *dst)
{
	unpack_one(m, m->src_addr, m->src_port, src);
	unpack_one(m, m->dst_addr, m->dst_port, dst);
}
