/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* cm_id.c - ids: creation, addresses, resolution, migration, options, destruction */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "fault.h"
#include "progress.h"
#include "seed.h"

#define ACK_TIMEOUT_DEFAULT 18 /* 1.07 s, times the retries */
#define ARP_MS              3000

static int fail(int error)
{
	errno = error;
	return -1;
}

bool sv_id_enter_locked(struct sv_id *id)
{
	sv_lock();
	if (id->generation == sv_device.generation)
		return true;
	sv_unlock();
	errno = ENODEV;
	return false;
}

/* channel NULL: a synchronous id with a channel of its own */
struct sv_id *sv_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps)
{
	struct sv_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	id->sync = channel == NULL;
	if (id->sync)
		channel = sv_channel_new();
	if (channel == NULL) {
		free(id);
		return NULL;
	}
	id->base.channel = channel;
	id->base.context = context;
	id->base.ps = ps;
	id->base.qp_type = IBV_QPT_RC;
	id->generation = sv_device.generation;
	id->state = SV_ID_IDLE;
	id->ack_timeout = ACK_TIMEOUT_DEFAULT;
	id->listener.id = id;
	id->number = ++sv_numbers.ids;
	sv_timer_init(&id->timer, sv_cm_timer);
	list_push(&sv_device.ids, &id->node);
	return id;
}

/* nothing happens to it any more */
static void end(struct sv_id *id)
{
	sv_cm_hang_up(id);
	sv_events_drop(id);
	sv_timer_stop(&id->timer);
	if (id->listener.wire != NULL)
		sv_wire->unbind(&id->listener);
	list_remove(&id->node);
}

static struct sv_id *first_on(struct rdma_event_channel *channel)
{
	list_each(struct sv_id, id, &sv_device.ids, node)
	{
		if (id->base.channel == channel)
			return id;
	}
	return NULL;
}

unsigned sv_ids_orphan(struct rdma_event_channel *channel)
{
	struct sv_id *id;
	unsigned count = 0;

	/* ending one may end others: start again each time */
	while ((id = first_on(channel)) != NULL) {
		end(id);
		id->generation = sv_device.generation - 1; /* calls on it fail with ENODEV */
		id->base.channel = NULL;
		count++;
	}
	return count;
}

void sv_id_free(struct sv_id *id)
{
	end(id);
	if (id->sync)
		sv_channel_free(id->base.channel);
	free(id->ep_attr);
	sv_gone(&id->base, id);
}

SV_EXPORT int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id_ptr,
	void *context, enum rdma_port_space ps)
{
	struct sv_id *id;

	if (ps != RDMA_PS_TCP && ps != RDMA_PS_IB)
		return fail(ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? EPROTONOSUPPORT : EINVAL);
	if (channel != NULL && SV_DEAD(SV_EVENT_CHANNEL, channel))
		return -1;
	SV_ENTER();
	sv_lock();
	if (channel != NULL && sv_event_channel(channel)->generation != sv_device.generation) {
		sv_unlock();
		return fail(ENODEV);
	}
	id = sv_context_cm() != NULL ? sv_id_new(channel, context, ps) : NULL;
	if (id != NULL)
		sv_born(SV_ID, &id->base);
	sv_unlock();
	if (id == NULL)
		return -1;
	*id_ptr = &id->base;
	return 0;
}

/* waits for the acks of all events that were fetched; those that were not are dropped */
SV_EXPORT int rdma_destroy_id(struct rdma_cm_id *base)
{
	struct sv_id *id = sv_id(base);

	if (SV_DEAD(SV_ID, base))
		return -1;
	if (base->event != NULL)
		rdma_ack_cm_event(base->event);
	base->event = NULL;
	if (!sv_id_enter(id))
		return -1;
	sv_hold(SV_HOLD_DESTROY);
	sv_cm_hang_up(id);
	sv_events_drop(id);
	while ((int32_t)(id->acked - id->fetched) < 0)
		sv_wait();
	if (id->acked != id->fetched)
		sv_misuse(SV_SITE, "rdma_destroy_id: %u events acknowledged, %u fetched", id->acked,
			id->fetched);
	sv_id_free(id);
	sv_unlock();
	return 0;
}

static void set_device(struct sv_id *id)
{
	id->verbs = &sv_context_cm()->verbs.context;
}

/* ids of one process may bind one address, if all of them say so; one of them may listen */
static bool may_share(const struct sv_id *id)
{
	list_each(struct sv_id, other, &sv_device.ids,
		node) if (other != id && other->reuse_addr && other->state == SV_ID_BOUND &&
			  memcmp(&other->listener.addr, &id->listener.addr,
				  sizeof(id->listener.addr)) == 0) return id->reuse_addr;
	return false;
}

int sv_id_bind(struct sv_id *id, const struct sockaddr *addr)
{
	unsigned length = sv_addr_length(addr);
	int ret;

	if (id->state != SV_ID_IDLE)
		return EINVAL;
	if (length == 0)
		return EAFNOSUPPORT;
	if (!sv_addr_is_any(addr) && !sv_addr_is_local(addr))
		return ENODEV;
	memset(&id->listener.addr, 0, sizeof(id->listener.addr));
	memcpy(&id->listener.addr, addr, length);
	ret = sv_wire->bind(&id->listener);
	if (ret != 0 && !(ret == EADDRINUSE && may_share(id)))
		return ret;
	memcpy(&id->base.route.addr.src_storage, &id->listener.addr, length);
	if (!sv_addr_is_any(addr)) {
		set_device(id);
		id->base.verbs = id->verbs;
		id->base.port_num = 1;
	}
	id->state = SV_ID_BOUND;
	return 0;
}

SV_EXPORT int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *addr)
{
	int ret;

	if (!sv_id_enter(sv_id(base)))
		return -1;
	ret = sv_id_bind(sv_id(base), addr);
	sv_unlock();
	return ret == 0 ? 0 : fail(ret);
}

/* ports of clients are not reserved, only different */
static uint16_t client_port(void)
{
	static uint16_t next;

	if (sv_seed_is_on())
		next = (uint16_t)(sv_numbers.ports++ % 28232);
	next = (uint16_t)((next + 1) % 28232);
	return (uint16_t)(32768 + next);
}

static void set_loopback(struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)addr)->sin6_addr = in6addr_loopback;
}

/* fills in both addresses of the route; 0 or an errno */
static int choose_addresses(
	struct sv_id *id, const struct sockaddr *src, const struct sockaddr *dst)
{
	struct rdma_addr *route = &id->base.route.addr;
	unsigned length = sv_addr_length(dst);
	struct sockaddr_storage from;
	uint16_t port = 0;
	int ret;

	memset(&route->dst_storage, 0, sizeof(route->dst_storage));
	memcpy(&route->dst_storage, dst, length);
	if (sv_addr_is_any(dst))
		set_loopback(&route->dst_addr);
	if (id->state == SV_ID_BOUND)
		src = &route->src_addr;
	if (src != NULL && src->sa_family != dst->sa_family)
		return EINVAL;
	if (src != NULL)
		port = sv_addr_port(src);
	if (src != NULL && !sv_addr_is_any(src)) {
		if (!sv_addr_is_local(src))
			return ENODEV;
		memmove(&route->src_storage, src, length);
	} else {
		ret = sv_addr_source(&route->dst_addr, &from);
		if (ret != 0)
			return ret;
		memcpy(&route->src_storage, &from, length);
	}
	sv_addr_set_port(&route->src_addr, port != 0 ? port : client_port());
	return 0;
}

static void fill_path(struct sv_id *id)
{
	struct rdma_route *route = &id->base.route;

	sv_addr_gid(&route->addr.src_addr, &route->addr.addr.ibaddr.sgid);
	sv_addr_gid(&route->addr.dst_addr, &route->addr.addr.ibaddr.dgid);
	route->addr.addr.ibaddr.pkey = htobe16(0xffff);
	id->path.sgid = route->addr.addr.ibaddr.sgid;
	id->path.dgid = route->addr.addr.ibaddr.dgid;
	id->path.pkey = htobe16(0xffff);
	id->path.mtu = IBV_MTU_4096;
	id->path.hop_limit = 64;
	id->path.reversible = 1;
	id->path.numb_path = 1;
}

static int resolve(
	struct sv_id *id, const struct sockaddr *src, const struct sockaddr *dst, int timeout_ms)
{
	int ret;

	if (id->state != SV_ID_IDLE && id->state != SV_ID_BOUND)
		return EINVAL;
	if (sv_addr_length(dst) == 0 || (src != NULL && sv_addr_length(src) == 0))
		return EAFNOSUPPORT;
	ret = choose_addresses(id, src, dst);
	if (ret != 0)
		return ret;
	ret = sv_wire->reach(&id->base.route.addr.dst_storage);
	if (ret != 0) { /* nobody answers: known only after a while */
		id->state = SV_ID_ADDR_QUERY;
		id->resolve_status = timeout_ms < ARP_MS ? -ETIMEDOUT : -ret;
		sv_timer_set(&id->timer,
			sv_clock->now_ns() +
				(uint64_t)(timeout_ms < ARP_MS ? timeout_ms : ARP_MS) * SV_MS);
		return 0;
	}
	set_device(id);
	fill_path(id);
	id->state = SV_ID_ADDR_RESOLVED;
	sv_event_tell(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	return 0;
}

SV_EXPORT int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *src_addr,
	struct sockaddr *dst_addr, int timeout_ms)
{
	int ret;

	if (!sv_id_enter(sv_id(base)))
		return -1;
	ret = resolve(sv_id(base), src_addr, dst_addr, timeout_ms);
	sv_unlock();
	return ret == 0 ? sv_id_complete(sv_id(base)) : fail(ret);
}

SV_EXPORT int rdma_resolve_route(struct rdma_cm_id *base, int timeout_ms)
{
	struct sv_id *id = sv_id(base);

	(void)timeout_ms;
	if (!sv_id_enter(id))
		return -1;
	if (id->state != SV_ID_ADDR_RESOLVED) {
		sv_unlock();
		return fail(EINVAL);
	}
	id->state = SV_ID_ROUTE_RESOLVED;
	sv_event_tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	sv_unlock();
	return sv_id_complete(id);
}

static void move_list(struct sv_id *id, struct list *from, struct list *to)
{
	list_each(struct sv_event, event, from, node)
	{
		if (event->owner != id)
			continue;
		list_remove(&event->node);
		list_push(to, &event->node);
	}
}

/* its events that were not fetched go with it */
static void move_events(struct sv_id *id, struct rdma_event_channel *to_base)
{
	struct sv_event_channel *from = sv_event_channel(id->base.channel);
	struct sv_event_channel *to = sv_event_channel(to_base);

	if (from == to)
		return;
	move_list(id, &from->events, &to->events);
	move_list(id, &from->late, &to->late);
	sv_signal_set(&from->signal, !list_empty(&from->events));
	sv_signal_set(&to->signal, !list_empty(&to->events));
}

/* waits until what was fetched from the old channel is acknowledged */
SV_EXPORT int rdma_migrate_id(struct rdma_cm_id *base, struct rdma_event_channel *channel)
{
	struct sv_id *id = sv_id(base);
	bool sync = channel == NULL;

	if (id->sync && !sync && base->event != NULL) {
		rdma_ack_cm_event(base->event);
		base->event = NULL;
	}
	if (!sv_id_enter(id))
		return -1;
	if (id->sync && sync) {
		sv_unlock();
		return fail(EINVAL);
	}
	if (sync)
		channel = sv_channel_new();
	if (channel == NULL) {
		sv_unlock();
		return -1;
	}
	move_events(id, channel);
	if (id->sync)
		sv_channel_free(base->channel);
	id->sync = sync;
	base->channel = channel;
	while ((int32_t)(id->acked - id->fetched) < 0)
		sv_wait();
	sv_unlock();
	return 0;
}

static int set_id_option(struct sv_id *id, int name, const void *value, size_t length)
{
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		return length == sizeof(uint8_t) ? 0 : EINVAL;
	case RDMA_OPTION_ID_REUSEADDR:
		if (length != sizeof(int))
			return EINVAL;
		id->reuse_addr = *(const int *)value != 0;
		return 0;
	case RDMA_OPTION_ID_AFONLY:
		if (length != sizeof(int) || id->state != SV_ID_IDLE)
			return EINVAL;
		id->listener.v6_only = *(const int *)value != 0;
		return 0;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (length != sizeof(uint8_t))
			return EINVAL;
		id->ack_timeout = *(const uint8_t *)value & 31;
		return 0;
	default:
		return ENOSYS;
	}
}

SV_EXPORT int rdma_set_option(
	struct rdma_cm_id *base, int level, int name, void *value, size_t length)
{
	int ret = ENOSYS;

	if (!sv_id_enter(sv_id(base)))
		return -1;
	if (level == RDMA_OPTION_ID)
		ret = set_id_option(sv_id(base), name, value, length);
	else if (level == RDMA_OPTION_IB && name == RDMA_OPTION_IB_PATH)
		ret = length > 0 && length % sizeof(struct ibv_path_data) == 0 ? 0 : EINVAL;
	sv_unlock();
	return ret == 0 ? 0 : fail(ret);
}

SV_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return sv_addr_length(&id->route.addr.src_addr) != 0 ? id->route.addr.src_sin.sin_port : 0;
}

SV_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return sv_addr_length(&id->route.addr.dst_addr) != 0 ? id->route.addr.dst_sin.sin_port : 0;
}

SV_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **list = calloc(2, sizeof(*list));

	sv_lock();
	if (list != NULL && sv_context_cm() != NULL)
		list[0] = &sv_context_cm()->verbs.context;
	sv_unlock();
	if (num_devices != NULL)
		*num_devices = list != NULL && list[0] != NULL;
	return list;
}

SV_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
