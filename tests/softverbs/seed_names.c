/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* seed_names.c - addresses and ports of the simulated wire: a list, as they belong to this process */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "seed.h"
#include "seed_names.h"

#define PORT_FIRST 32768 /* of those that are given out for 0 */
#define PORT_LAST  60999

/* an address that is taken */
struct bound {
	struct list node;
	struct sv_listener *owner;
	bool listening;
	bool is_meet;
	uint32_t qp_num;
};

static struct list bounds = { &bounds, &bounds };

static const struct sockaddr *addr_of(const struct bound *b)
{
	return (const struct sockaddr *)&b->owner->addr;
}

static bool same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	union ibv_gid x;
	union ibv_gid y;

	sv_addr_gid(a, &x);
	sv_addr_gid(b, &y);
	return a->sa_family == b->sa_family && memcmp(&x, &y, sizeof(x)) == 0;
}

/* does a listener at addr take what goes to dst? */
static bool covers(const struct sockaddr *addr, bool v6_only, const struct sockaddr *dst)
{
	if (sv_addr_port(addr) != sv_addr_port(dst))
		return false;
	if (!sv_addr_is_any(addr))
		return same_host(addr, dst);
	return addr->sa_family == dst->sa_family || (addr->sa_family == AF_INET6 && !v6_only);
}

/* could both take one and the same connection? */
static bool overlap(const struct bound *b, const struct sockaddr *addr, bool v6_only)
{
	return covers(addr_of(b), b->owner->v6_only, addr) || covers(addr, v6_only, addr_of(b));
}

static bool is_taken(const struct sv_listener *listener)
{
	const struct sockaddr *addr = (const struct sockaddr *)&listener->addr;

	list_each(struct bound, b, &bounds, node)
	{
		if (!b->is_meet && overlap(b, addr, listener->v6_only))
			return true;
	}
	return false;
}

/* the address itself goes before the one for all */
struct sv_listener *sv_seed_find_listener(const struct sockaddr *dst)
{
	struct bound *found = NULL;

	list_each(struct bound, b, &bounds, node)
	{
		if (b->is_meet || !b->listening || !covers(addr_of(b), b->owner->v6_only, dst))
			continue;
		if (found == NULL || !sv_addr_is_any(addr_of(b)))
			found = b;
	}
	return found != NULL ? found->owner : NULL;
}

struct sv_listener *sv_seed_find_meet(uint32_t qp_num)
{
	list_each(struct bound, b, &bounds, node)
	{
		if (b->is_meet && b->qp_num == qp_num)
			return b->owner;
	}
	return NULL;
}

static struct bound *bound_new(struct sv_listener *owner)
{
	struct bound *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->owner = owner;
	list_push(&bounds, &b->node);
	owner->wire = b;
	return b;
}

static int choose_port(struct sv_listener *listener)
{
	for (int i = PORT_FIRST; i <= PORT_LAST; i++) {
		unsigned port = PORT_FIRST + sv_numbers.ports++ % (PORT_LAST - PORT_FIRST + 1);

		sv_addr_set_port((struct sockaddr *)&listener->addr, (uint16_t)port);
		if (!is_taken(listener))
			return 0;
	}
	return EADDRINUSE;
}

int sv_seed_bind(struct sv_listener *listener)
{
	int ret = 0;

	if (sv_addr_port((const struct sockaddr *)&listener->addr) == 0)
		ret = choose_port(listener);
	else if (is_taken(listener))
		ret = EADDRINUSE;
	if (ret != 0)
		return ret;
	return bound_new(listener) != NULL ? 0 : ENOMEM;
}

int sv_seed_listen(struct sv_listener *listener)
{
	struct bound *b = listener->wire;

	b->listening = true;
	return 0;
}

void sv_seed_unbind(struct sv_listener *listener)
{
	struct bound *b = listener->wire;

	if (b == NULL)
		return;
	list_remove(&b->node);
	free(b);
	listener->wire = NULL;
}

int sv_seed_meet_bind(struct sv_listener *listener, uint32_t qp_num)
{
	struct bound *b = bound_new(listener);

	if (b == NULL)
		return ENOMEM;
	b->is_meet = true;
	b->listening = true;
	b->qp_num = qp_num;
	return 0;
}

unsigned sv_seed_names_count(void)
{
	unsigned n = 0;

	list_each(struct bound, b, &bounds, node)
	{
		n++;
	}
	return n;
}

void sv_seed_names_forget(void)
{
	list_init(&bounds);
}
