/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* resolve.c - addresses, routes, options, rdma_getaddrinfo */

#include <errno.h>
#include <stdlib.h>

#include "pair.h"

static void addr_resolved(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);
	union address here = address_here(htons(4791));

	MUST_EQ(rdma_resolve_addr(id, NULL, &here.any, 2000), 0);
	struct rdma_cm_event *event = cm_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST_EQ(event->status, 0);
	MUST(event->id == id);
	MUST(event->listen_id == NULL);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST(id->verbs != NULL);
	MUST(id->port_num >= 1);
	MUST_EQ(rdma_get_dst_port(id), htons(4791));
	MUST_EQ(rdma_get_peer_addr(id)->sa_family, here.any.sa_family);
	MUST_EQ(rdma_get_local_addr(id)->sa_family, here.any.sa_family);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void source_port_chosen(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *a = id_resolved(channel, htons(7));
	struct rdma_cm_id *b = id_resolved(channel, htons(7));

	MUST(rdma_get_src_port(a) != 0);
	MUST(rdma_get_src_port(b) != 0);
	MUST(rdma_get_src_port(a) != rdma_get_src_port(b));
	MUST_EQ(rdma_destroy_id(a), 0);
	MUST_EQ(rdma_destroy_id(b), 0);
}

static void with_source(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);
	union address from = address_here(0);
	union address to = address_here(htons(7));

	MUST_EQ(rdma_resolve_addr(id, &from.any, &to.any, 2000), 0);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	MUST(id->verbs != NULL);
	MUST(rdma_get_src_port(id) != 0);
	if (from.any.sa_family == AF_INET)
		MUST_EQ(id->route.addr.src_sin.sin_addr.s_addr, from.in.sin_addr.s_addr);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void after_bind(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);
	union address from = address_here(0);
	union address to = address_here(htons(7));

	MUST_EQ(rdma_bind_addr(id, &from.any), 0);
	uint16_t port = rdma_get_src_port(id);
	MUST_EQ(rdma_resolve_addr(id, NULL, &to.any, 2000), 0);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	MUST_EQ(rdma_get_src_port(id), port);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void unreachable_address(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);
	union address there = address_of("192.0.2.1", htons(7));

	if (rdma_resolve_addr(id, NULL, &there.any, 1000) == 0)
		MUST(cm_expect(channel, RDMA_CM_EVENT_ADDR_ERROR) != 0);
	else
		MUST(errno == ENETUNREACH || errno == ENODEV || errno == EHOSTUNREACH);
	MUST(id->qp == NULL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void foreign_source(void)
{
	struct rdma_cm_id *id = id_new(channel_new());
	union address from = address_of("192.0.2.1", 0);
	union address to = address_here(htons(7));

	MUST_EQ(rdma_resolve_addr(id, &from.any, &to.any, 1000), -1);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void mixed_families(void)
{
	struct rdma_cm_id *id = id_new(channel_new());
	union address from = address_of("127.0.0.1", 0);
	union address to = address_of("::1", htons(7));

	MUST_EQ(rdma_resolve_addr(id, &from.any, &to.any, 1000), -1);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void addr_twice(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_resolved(channel, htons(7));
	union address to = address_here(htons(7));

	MUST_ERRNO(rdma_resolve_addr(id, NULL, &to.any, 1000), EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void route_too_early(void)
{
	struct rdma_cm_id *id = id_of_device();

	MUST_ERRNO(rdma_resolve_route(id, 1000), EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void connect_too_early(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);
	union address to = address_here(htons(7));
	struct rdma_conn_param param = { .qp_num = 99 };

	MUST_EQ(rdma_resolve_addr(id, NULL, &to.any, 2000), 0);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	MUST_ERRNO(rdma_connect(id, &param), EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void two_addresses_one_device(void)
{
	struct rdma_cm_id *a = id_of_device();
	struct rdma_cm_id *b = id_resolved(channel_new(), htons(7));

	MUST(a->verbs == b->verbs);
	MUST_EQ(rdma_destroy_id(a), 0);
	MUST_EQ(rdma_destroy_id(b), 0);
}

static void ipv6(void)
{
	const char *text = getenv("ADDR6");
	struct pair p;

	if (text == NULL)
		SKIP("ADDR6 is not set");
	setenv("ADDR", text, 1);
	PAIR(&p, .depth = 2);
	MUST_EQ(rdma_get_peer_addr(p.c.id)->sa_family, AF_INET6);
	MUST_EQ(rdma_get_local_addr(p.s.id)->sa_family, AF_INET6);
	pair_disconnect(&p);
	pair_close(&p);
}

const struct check resolve_checks[] = {
	{ "ADDR_RESOLVED comes, and the id has the device and both addresses",
		"rdma_resolve_addr(3)", addr_resolved },
	{ "without a bind, each id gets a source port of its own", "rdma_resolve_addr(3)",
		source_port_chosen },
	{ "a source address is the id's, once ADDR_RESOLVED has come", "rdma_resolve_addr(3)",
		with_source, .differs = true },
	{ "a bound id keeps its port", "rdma_resolve_addr(3), rdma_bind_addr(3)", after_bind },
	{ "an address without a route fails at once or by ADDR_ERROR", "rdma_resolve_addr(3)",
		unreachable_address },
	{ "a source address of no local device fails at once", "rdma_resolve_addr(3)",
		foreign_source },
	{ "source and destination of two families fail at once", "rdma_resolve_addr(3)",
		mixed_families },
	{ "an id resolves its address once", "rdma_resolve_addr(3)", addr_twice },
	{ "a route needs a resolved address", "rdma_resolve_route(3)", route_too_early },
	{ "connecting needs a route", "rdma_connect(3)", connect_too_early },
	{ "two ids on one device have the same verbs context", "rdma_get_devices(3)",
		two_addresses_one_device },
	{ "IPv6 addresses connect like IPv4 ones", "rdma_getaddrinfo(3)", ipv6 }, { 0 }
};

/* options and rdma_getaddrinfo */

static void tos(void)
{
	struct rdma_cm_id *id = id_new(channel_new());
	uint8_t value = 0x20;

	MUST_EQ(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value, 1), 0);
	MUST_ERRNO(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value, 0), EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void option_unknown(void)
{
	struct rdma_cm_id *id = id_new(channel_new());
	int value = 1;

	MUST_EQ(rdma_set_option(id, 77, 0, &value, sizeof(value)), -1);
	MUST(errno == ENOSYS || errno == EINVAL);
	MUST_EQ(rdma_set_option(id, RDMA_OPTION_ID, 77, &value, sizeof(value)), -1);
	MUST(errno == ENOSYS || errno == EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void reuse_address(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *a = id_new(channel);
	struct rdma_cm_id *b = id_new(channel);
	union address here = address_here(0);
	int on = 1;

	MUST_EQ(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), 0);
	MUST_EQ(rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), 0);
	MUST_EQ(rdma_bind_addr(a, &here.any), 0);
	here = address_here(rdma_get_src_port(a));
	MUST_EQ(rdma_bind_addr(b, &here.any), 0);
	MUST_EQ(rdma_destroy_id(a), 0);
	MUST_EQ(rdma_destroy_id(b), 0);
}

static void ack_timeout(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p;

	PAIR(&p, .ack_timeout = 12);
	MUST_EQ(ibv_query_qp(p.c.id->qp, &attr, IBV_QP_TIMEOUT, &init), 0);
	MUST_EQ(attr.timeout, 12);
	MUST_EQ(ibv_query_qp(p.s.id->qp, &attr, IBV_QP_TIMEOUT, &init), 0);
	MUST_EQ(attr.timeout, 12);
	pair_close(&p);
}

static void info_active(void)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = IBV_QPT_RC,
	};
	union address here = address_here(htons(7471));
	struct rdma_addrinfo *info;

	MUST_EQ(rdma_getaddrinfo(getenv("ADDR"), "7471", &hints, &info), 0);
	MUST_EQ(info->ai_family, here.any.sa_family);
	MUST_EQ(info->ai_port_space, RDMA_PS_TCP);
	MUST_EQ(info->ai_qp_type, IBV_QPT_RC);
	MUST(info->ai_dst_len > 0);
	MUST_EQ(((struct sockaddr_in *)info->ai_dst_addr)->sin_port, htons(7471));
	rdma_freeaddrinfo(info);
}

static void info_passive(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *info;

	MUST_EQ(rdma_getaddrinfo(getenv("ADDR"), "7471", &hints, &info), 0);
	MUST_EQ(info->ai_dst_len, 0);
	MUST(info->ai_src_len > 0);
	MUST((info->ai_flags & RAI_PASSIVE) != 0);
	MUST_EQ(((struct sockaddr_in *)info->ai_src_addr)->sin_port, htons(7471));
	rdma_freeaddrinfo(info);
}

static void info_bad_name(void)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *info;

	MUST(rdma_getaddrinfo("not-a-number", "7471", &hints, &info) != 0);
}

const struct check option_checks[] = { { "the type of service takes one byte, not none",
					       "rdma_set_option(3)", tos },
	{ "an unknown level or name is refused", "rdma_set_option(3)", option_unknown },
	{ "with REUSEADDR two ids bind one address", "rdma_set_option(3)", reuse_address },
	{ "ACK_TIMEOUT is the timeout of the connected QP", "rdma_set_option(3), ibv_query_qp(3)",
		ack_timeout },
	{ "getaddrinfo gives the destination for the active side", "rdma_getaddrinfo(3)",
		info_active },
	{ "getaddrinfo gives the source for the passive side", "rdma_getaddrinfo(3)",
		info_passive },
	{ "getaddrinfo with NUMERICHOST refuses a name", "rdma_getaddrinfo(3)", info_bad_name },
	{ 0 } };
