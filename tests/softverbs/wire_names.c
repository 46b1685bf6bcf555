/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * wire_names.c - abstract unix socket names for addresses and ports
 *
 *     softverbs/NET/PORT/4:127.0.0.1     an address
 *     softverbs/NET/PORT/4:*             all of IPv4
 *     softverbs/NET/PORT/6:*             all of both families
 *     softverbs/NET/PORT/6o:*            all of IPv6
 *     softverbs/NET/qp/NUMBER            a queue pair that waits for its peer
 *
 * NET is SOFTVERBS_NET, for several worlds on one host. The names share no port space with the
 * program's own sockets, and go away with the process.
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "wire_socket.h"

static socklen_t make(struct sockaddr_un *name, const char *who, const char *suffix)
{
	const char *net = getenv("SOFTVERBS_NET");
	int n;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "softverbs/%.16s/%s%s",
		net != NULL ? net : "", who, suffix);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (unsigned)n);
}

static socklen_t make_port(struct sockaddr_un *name, uint16_t port, const char *suffix)
{
	char number[8];

	snprintf(number, sizeof(number), "%u/", port);
	return make(name, number, suffix);
}

static const char *who_is(const struct sockaddr *addr, bool v6_only, char *text, size_t size)
{
	char buf[INET6_ADDRSTRLEN] = "*";

	if (addr->sa_family == AF_INET) {
		if (!sv_addr_is_any(addr))
			inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, buf,
				sizeof(buf));
		snprintf(text, size, "4:%s", buf);
		return text;
	}
	if (sv_addr_is_any(addr)) {
		snprintf(text, size, v6_only ? "6o:*" : "6:*");
		return text;
	}
	inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, buf, sizeof(buf));
	snprintf(text, size, "6:%s", buf);
	return text;
}

socklen_t sock_name(struct sockaddr_un *name, const struct sockaddr *addr, bool v6_only)
{
	char who[64];

	return make_port(name, sv_addr_port(addr), who_is(addr, v6_only, who, sizeof(who)));
}

socklen_t sock_name_meet(struct sockaddr_un *name, uint32_t qp_num)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", qp_num);
	return make(name, "qp/", number);
}

/* in the order in which they are tried: the address itself, then all of them */
int sock_names_for(const struct sockaddr *dst, struct sockaddr_un *names, socklen_t *lengths)
{
	uint16_t port = sv_addr_port(dst);
	int n = 0;

	lengths[n] = sock_name(&names[n], dst, false);
	n++;
	if (dst->sa_family == AF_INET) {
		lengths[n] = make_port(&names[n], port, "4:*");
		n++;
	} else {
		lengths[n] = make_port(&names[n], port, "6o:*");
		n++;
	}
	lengths[n] = make_port(&names[n], port, "6:*");
	n++;
	return n;
}

/* would `who` and `other`, at the same port, both take a connection to one address? */
static bool overlap(const char *who, const char *other)
{
	bool who_any = strchr(who, '*') != NULL;
	bool other_any = strchr(other, '*') != NULL;

	if (strcmp(who, other) == 0)
		return true;
	if (!who_any && !other_any)
		return false;
	if (strcmp(who, "6:*") == 0 || strcmp(other, "6:*") == 0)
		return true;
	return who[0] == other[0];
}

/* a name that is equal is refused by bind() itself; this is about wildcards and addresses */
bool sock_name_conflicts(const struct sockaddr *addr, bool v6_only)
{
	struct sockaddr_un prefix_name;
	socklen_t length = make_port(&prefix_name, sv_addr_port(addr), "");
	const char *prefix = prefix_name.sun_path + 1;
	size_t prefix_length = length - offsetof(struct sockaddr_un, sun_path) - 1;
	FILE *f = fopen("/proc/net/unix", "re");
	bool conflict = false;
	char line[512];
	char who[64];

	if (f == NULL)
		return false;
	who_is(addr, v6_only, who, sizeof(who));
	while (!conflict && fgets(line, sizeof(line), f) != NULL) {
		char *path = strchr(line, '@');
		unsigned state = 0;

		if (path == NULL || strncmp(path + 1, prefix, prefix_length) != 0)
			continue;
		/* accepted sockets bear the name as well, but they are connected (3) */
		if (sscanf(line, "%*[^:]: %*x %*x %*x %*x %x", &state) != 1 || state != 1)
			continue;
		path[strcspn(path, "\n")] = '\0';
		conflict = overlap(who, path + 1 + prefix_length);
	}
	fclose(f);
	return conflict;
}
