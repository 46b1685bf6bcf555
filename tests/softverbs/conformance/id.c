/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* id.c - the life of an id: creation, binding, listening, migration, synchronous ids */

#include <errno.h>
#include <rdma/rdma_verbs.h>

#include "pair.h"

static void create_fields(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id;
	int context;

	MUST_EQ(rdma_create_id(channel, &id, &context, RDMA_PS_TCP), 0);
	MUST(id->channel == channel);
	MUST(id->context == &context);
	MUST_EQ(id->ps, RDMA_PS_TCP);
	MUST(id->verbs == NULL);
	MUST(id->qp == NULL);
	MUST(id->event == NULL);
	MUST_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void unbound_is_zero(void)
{
	struct rdma_cm_id *id = id_new(channel_new());

	MUST_EQ(rdma_get_src_port(id), 0);
	MUST_EQ(rdma_get_dst_port(id), 0);
	MUST(zeroed(rdma_get_local_addr(id), sizeof(struct sockaddr)));
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void bind_wildcard(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_cm_id *id = id_new(channel_new());

	MUST_EQ(rdma_bind_addr(id, (struct sockaddr *)&any), 0);
	MUST(id->verbs == NULL);
	MUST(rdma_get_src_port(id) != 0);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void bind_port_zero(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *a = id_listening(channel);
	struct rdma_cm_id *b = id_listening(channel);

	MUST(rdma_get_src_port(a) != 0);
	MUST(rdma_get_src_port(b) != 0);
	MUST(rdma_get_src_port(a) != rdma_get_src_port(b));
	MUST_EQ(rdma_destroy_id(a), 0);
	MUST_EQ(rdma_destroy_id(b), 0);
}

static void bind_specific(void)
{
	struct rdma_cm_id *id = id_of_device();
	union address here = address_here(rdma_get_src_port(id));

	MUST(id->verbs != NULL);
	MUST(id->port_num >= 1);
	MUST_EQ(rdma_get_local_addr(id)->sa_family, here.any.sa_family);
	if (here.any.sa_family == AF_INET)
		MUST_EQ(id->route.addr.src_sin.sin_addr.s_addr, here.in.sin_addr.s_addr);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void bind_given_port(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_listening(channel);
	uint16_t port = rdma_get_src_port(id);
	union address here = address_here(port);

	MUST_EQ(rdma_destroy_id(id), 0);
	id = id_new(channel);
	MUST_EQ(rdma_bind_addr(id, &here.any), 0);
	MUST_EQ(rdma_get_src_port(id), port);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void bind_in_use(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *listener = id_listening(channel);
	union address here = address_here(rdma_get_src_port(listener));
	struct rdma_cm_id *id = id_new(channel);

	MUST_ERRNO(rdma_bind_addr(id, &here.any), EADDRINUSE);
	MUST_EQ(rdma_destroy_id(listener), 0);
	MUST_EQ(rdma_bind_addr(id, &here.any), 0);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void bind_foreign(void)
{
	struct rdma_cm_id *id = id_new(channel_new());
	union address foreign = address_of("192.0.2.1", 0);

	MUST_EQ(rdma_bind_addr(id, &foreign.any), -1);
	MUST(errno == ENODEV || errno == EADDRNOTAVAIL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void bind_twice(void)
{
	struct rdma_cm_id *id = id_of_device();
	union address here = address_here(0);

	MUST_ERRNO(rdma_bind_addr(id, &here.any), EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void listen_unbound(void)
{
	struct rdma_cm_id *id = id_new(channel_new());

	MUST_EQ(rdma_listen(id, 1), 0);
	MUST(rdma_get_src_port(id) != 0);
	MUST(id->verbs == NULL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void listen_twice(void)
{
	struct rdma_cm_id *id = id_listening(channel_new());

	MUST_ERRNO(rdma_listen(id, 1), EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

/* a client's request arrives at a listener, whose id is returned */
static void request_at(struct rdma_event_channel *channel, struct rdma_cm_id *listener)
{
	struct rdma_event_channel *clients = channel_new();
	struct pair p = { 0 };

	pair_listen(&p, &(struct pair_options){ 0 });
	p.c.channel = clients;
	p.c.id = id_resolved(clients, rdma_get_src_port(listener));
	side_open(&p.c, &p.o, false);
	struct rdma_conn_param param = pair_param(&p);
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	struct rdma_cm_event *event = cm_take(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	MUST(event->listen_id == listener);
	MUST(event->id != listener);
	MUST(event->id->verbs == p.c.id->verbs);
	MUST(event->id->channel == channel);
	MUST(event->id->context == listener->context);
	MUST_EQ(rdma_get_src_port(event->id), rdma_get_src_port(listener));
	MUST_EQ(rdma_get_dst_port(event->id), rdma_get_src_port(p.c.id));
	p.s.id = event->id;
	MUST_EQ(rdma_ack_cm_event(event), 0);
	side_close(&p.s);
	side_close(&p.c);
}

static void listen_wildcard(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_cm_id *listener = id_new(channel);

	MUST_EQ(rdma_bind_addr(listener, (struct sockaddr *)&any), 0);
	MUST_EQ(rdma_listen(listener, 1), 0);
	request_at(channel, listener);
	MUST_EQ(rdma_destroy_id(listener), 0);
}

static void request_fields(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *listener = id_listening(channel);

	listener->context = &channel;
	request_at(channel, listener);
	MUST_EQ(rdma_destroy_id(listener), 0);
}

static void migrate_moves_pending(void)
{
	struct rdma_event_channel *from = channel_new();
	struct rdma_event_channel *to = channel_new();
	struct rdma_cm_id *id = id_new(from);
	union address here = address_here(htons(7));

	MUST_EQ(rdma_resolve_addr(id, NULL, &here.any, 2000), 0);
	MUST(readable(from->fd, WAIT_MS));
	MUST_EQ(rdma_migrate_id(id, to), 0);
	MUST(id->channel == to);
	MUST(!readable(from->fd, 0));
	struct rdma_cm_event *event = cm_take(to, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(event->id == id);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_EQ(rdma_resolve_route(id, 2000), 0);
	MUST_EQ(cm_expect(to, RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
	MUST(!readable(from->fd, 0));
	MUST_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(from);
	rdma_destroy_event_channel(to);
}

struct migration {
	struct rdma_cm_id *id;
	struct rdma_event_channel *to;
};

static int migrate(void *arg)
{
	struct migration *m = arg;

	return rdma_migrate_id(m->id, m->to);
}

static void migrate_waits(void)
{
	struct rdma_event_channel *from = channel_new();
	struct rdma_cm_id *id = id_new(from);
	union address here = address_here(htons(7));
	struct migration m = { id, channel_new() };
	struct background b;

	MUST_EQ(rdma_resolve_addr(id, NULL, &here.any, 2000), 0);
	struct rdma_cm_event *event = cm_take(from, RDMA_CM_EVENT_ADDR_RESOLVED);
	background_start(&b, migrate, &m);
	MUST(background_waits(&b));
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_EQ(background_join(&b), 0);
	MUST(id->channel == m.to);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void migrate_listener(void)
{
	struct rdma_event_channel *to = channel_new();
	struct rdma_cm_id *listener = id_listening(channel_new());

	MUST_EQ(rdma_migrate_id(listener, to), 0);
	request_at(to, listener);
	MUST_EQ(rdma_destroy_id(listener), 0);
}

static void migrate_after_accept(void)
{
	struct rdma_event_channel *own = channel_new();
	struct pair p;

	pair_open_requested(&p);
	pair_accept(&p);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	MUST(readable(p.s.channel->fd, WAIT_MS));
	MUST_EQ(rdma_migrate_id(p.s.id, own), 0);
	MUST_EQ(cm_expect(own, RDMA_CM_EVENT_ESTABLISHED), 0);
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(own, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST(!readable(p.s.channel->fd, 0));
	pair_close(&p);
	rdma_destroy_event_channel(own);
}

static void migrate_to_null(void)
{
	struct rdma_cm_id *id = id_new(channel_new());
	union address here = address_here(htons(7));

	MUST_EQ(rdma_migrate_id(id, NULL), 0);
	MUST_EQ(rdma_resolve_addr(id, NULL, &here.any, 2000), 0);
	MUST(id->event != NULL);
	MUST_EQ(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void synchronous_id(void)
{
	struct rdma_cm_id *id = id_new(NULL);
	union address here = address_here(htons(7));

	MUST_EQ(rdma_resolve_addr(id, NULL, &here.any, 2000), 0);
	MUST(id->event != NULL);
	MUST_EQ(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(id->event->id == id);
	MUST_EQ(rdma_resolve_route(id, 2000), 0);
	MUST_EQ(id->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void destroy_cancels(void)
{
	struct rdma_event_channel *channel = channel_new();
	union address here = address_here(htons(7));

	for (int i = 0; i < 20; i++) {
		struct rdma_cm_id *id = id_new(channel);

		MUST_EQ(rdma_resolve_addr(id, NULL, &here.any, 2000), 0);
		MUST_EQ(rdma_destroy_id(id), 0);
	}
	MUST(!readable(channel->fd, QUIET_MS));
	rdma_destroy_event_channel(channel);
}

const struct check id_checks[] = {
	{ "a new id has its channel, context and port space, and no device", "rdma_create_id(3)",
		create_fields },
	{ "an id that is not bound has port 0 and an address of zeroes",
		"rdma_get_src_port(3), rdma_get_local_addr(3)", unbound_is_zero },
	{ "bound to the wildcard, an id has a port but no device", "rdma_bind_addr(3)",
		bind_wildcard },
	{ "bound to port 0, each id gets a port of its own", "rdma_bind_addr(3)", bind_port_zero },
	{ "bound to an address, an id has the device, a port and that address", "rdma_bind_addr(3)",
		bind_specific },
	{ "bound to a port, an id has that port", "rdma_bind_addr(3)", bind_given_port },
	{ "a port in use gives EADDRINUSE until its id is destroyed", "rdma_bind_addr(3), bind(2)",
		bind_in_use },
	{ "an address of no local device cannot be bound", "rdma_bind_addr(3)", bind_foreign },
	{ "a second bind gives EINVAL", "rdma_bind_addr(3)", bind_twice },
	{ "listening without a bind takes the wildcard and any port", "rdma_listen(3)",
		listen_unbound, .differs = true },
	{ "a second listen gives EINVAL", "rdma_listen(3)", listen_twice },
	{ "a listener on the wildcard gets the request for the device's address", "rdma_listen(3)",
		listen_wildcard },
	{ "a request has an id of its own with the listener's channel and context",
		"rdma_accept(3), rdma_get_cm_event(3)", request_fields },
	{ "migrating moves the pending event and the later ones", "rdma_migrate_id(3)",
		migrate_moves_pending },
	{ "migrating waits for events to be acknowledged", "rdma_migrate_id(3)", migrate_waits },
	{ "a migrated listener gets its requests on the new channel", "rdma_migrate_id(3)",
		migrate_listener },
	{ "an accepted id can be migrated before ESTABLISHED is taken", "rdma_migrate_id(3)",
		migrate_after_accept },
	{ "migrated to no channel, an id is synchronous", "rdma_migrate_id(3)", migrate_to_null },
	{ "without a channel calls wait, and the event is in the id", "rdma_create_id(3)",
		synchronous_id },
	{ "destroying an id cancels what it was doing", "rdma_destroy_id(3)", destroy_cancels },
	{ 0 }
};
