/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* channel.c - event channels: file descriptors, the events in them, acknowledging */

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pair.h"

/* start to resolve, so that exactly one event comes */
static struct rdma_cm_id *id_resolving(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = id_new(channel);
	union address here = address_here(htons(7));

	MUST_EQ(rdma_resolve_addr(id, NULL, &here.any, 2000), 0);
	return id;
}

static void quiet_at_first(void)
{
	struct rdma_event_channel *channel = channel_new();

	MUST(fcntl(channel->fd, F_GETFD) >= 0);
	MUST(!readable(channel->fd, 0));
	rdma_destroy_event_channel(channel);
}

static void two_have_two_fds(void)
{
	struct rdma_event_channel *a = channel_new();
	struct rdma_event_channel *b = channel_new();

	MUST(a->fd != b->fd);
	struct rdma_cm_id *id = id_resolving(b);
	MUST(readable(b->fd, WAIT_MS));
	MUST(!readable(a->fd, 0));
	MUST_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(a);
	rdma_destroy_event_channel(b);
}

static void nonblocking_eagain(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_event *event;

	nonblocking(channel->fd);
	MUST_ERRNO(rdma_get_cm_event(channel, &event), EAGAIN);
	rdma_destroy_event_channel(channel);
}

static void readable_while_pending(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_resolving(channel);

	MUST(readable(channel->fd, WAIT_MS));
	MUST(readable(channel->fd, 0));
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	MUST(!readable(channel->fd, QUIET_MS));
	MUST_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void epoll_level(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = 5 };
	int ep = epoll_create1(0);

	MUST_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, channel->fd, &e), 0);
	MUST_EQ(epoll_wait(ep, &e, 1, 0), 0);
	struct rdma_cm_id *id = id_resolving(channel);
	MUST_EQ(epoll_wait(ep, &e, 1, WAIT_MS), 1);
	MUST_EQ(e.events, EPOLLIN);
	MUST_EQ(e.data.u32, 5);
	MUST_EQ(epoll_wait(ep, &e, 1, 0), 1);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	MUST_EQ(epoll_wait(ep, &e, 1, 0), 0);
	MUST_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
	close(ep);
}

static void epoll_edge(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(0);

	MUST_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, channel->fd, &e), 0);
	struct rdma_cm_id *id = id_resolving(channel);
	MUST_EQ(epoll_wait(ep, &e, 1, WAIT_MS), 1);
	MUST_EQ(epoll_wait(ep, &e, 1, 0), 0);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	MUST_EQ(rdma_resolve_route(id, 2000), 0);
	MUST_EQ(epoll_wait(ep, &e, 1, WAIT_MS), 1);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
	MUST_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
	close(ep);
}

static int get_and_ack(void *arg)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(arg, &event) != 0)
		return -1;
	int type = (int)event->event;
	return rdma_ack_cm_event(event) != 0 ? -1 : type;
}

static void get_waits(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct background b;

	background_start(&b, get_and_ack, channel);
	MUST(background_waits(&b));
	struct rdma_cm_id *id = id_resolving(channel);
	MUST_EQ(background_join(&b), RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void ids_share(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *ids[2] = { id_resolving(channel), id_resolving(channel) };
	int seen[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		struct rdma_cm_event *event = cm_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);

		MUST(event->id == ids[0] || event->id == ids[1]);
		seen[event->id == ids[1]]++;
		MUST_EQ(rdma_ack_cm_event(event), 0);
	}
	MUST_EQ(seen[0], 1);
	MUST_EQ(seen[1], 1);
	MUST_EQ(rdma_destroy_id(ids[0]), 0);
	MUST_EQ(rdma_destroy_id(ids[1]), 0);
	rdma_destroy_event_channel(channel);
}

static void destroy_closes(void)
{
	struct rdma_event_channel *channel = channel_new();
	int fd = channel->fd;

	rdma_destroy_event_channel(channel);
	MUST_ERRNO(fcntl(fd, F_GETFD), EBADF);
}

static int destroy_id(void *arg)
{
	return rdma_destroy_id(arg);
}

static void destroy_id_waits(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_resolving(channel);
	struct rdma_cm_event *event = cm_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	struct background b;

	background_start(&b, destroy_id, id);
	MUST(background_waits(&b));
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_EQ(background_join(&b), 0);
	rdma_destroy_event_channel(channel);
}

static void destroy_listener_waits(void)
{
	struct background b;
	struct pair p;

	pair_open_resolved(&p);
	struct rdma_conn_param param = pair_param(&p);
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	struct rdma_cm_event *event = cm_take(p.s.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	p.s.id = event->id;
	background_start(&b, destroy_id, p.listener);
	MUST(background_waits(&b));
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_EQ(background_join(&b), 0);
	side_close(&p.s);
	side_close(&p.c);
}

static void pending_events_go_with_id(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_resolving(channel);

	MUST(readable(channel->fd, WAIT_MS));
	MUST_EQ(rdma_destroy_id(id), 0);
	MUST(!readable(channel->fd, 0));
	rdma_destroy_event_channel(channel);
}

static void many_pending(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *ids[32];

	for (int i = 0; i < 32; i++)
		ids[i] = id_resolving(channel);
	for (int i = 0; i < 32; i++)
		MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	MUST(!readable(channel->fd, 0));
	for (int i = 0; i < 32; i++)
		MUST_EQ(rdma_destroy_id(ids[i]), 0);
	rdma_destroy_event_channel(channel);
}

static void names(void)
{
	MUST(strcmp(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED), "RDMA_CM_EVENT_ADDR_RESOLVED") ==
		0);
	MUST(strcmp(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT), "RDMA_CM_EVENT_TIMEWAIT_EXIT") ==
		0);
	for (int i = 0; i < RDMA_CM_EVENT_TIMEWAIT_EXIT; i++)
		MUST(strcmp(rdma_event_str(i), rdma_event_str(i + 1)) != 0);
	MUST(rdma_event_str(999) != NULL);
}

const struct check channel_checks[] = { { "a new channel has a descriptor that is not readable",
						"rdma_create_event_channel(3)", quiet_at_first },
	{ "events go to the id's channel, not to another", "rdma_create_event_channel(3)",
		two_have_two_fds },
	{ "with O_NONBLOCK and no event, get fails with EAGAIN", "rdma_get_cm_event(3)",
		nonblocking_eagain },
	{ "the descriptor is readable exactly while an event is pending",
		"rdma_create_event_channel(3)", readable_while_pending },
	{ "level-triggered epoll reports the event until it is taken",
		"rdma_create_event_channel(3), epoll(7)", epoll_level },
	{ "edge-triggered epoll reports each event once", "rdma_create_event_channel(3), epoll(7)",
		epoll_edge },
	{ "get waits for an event by default", "rdma_get_cm_event(3)", get_waits },
	{ "two ids share a channel and are told apart by event->id", "rdma_get_cm_event(3)",
		ids_share },
	{ "destroying the channel closes its descriptor", "rdma_destroy_event_channel(3)",
		destroy_closes },
	{ "destroying an id waits for its events to be acknowledged", "rdma_get_cm_event(3)",
		destroy_id_waits },
	{ "a connect request counts as an event of the listener", "rdma_get_cm_event(3)",
		destroy_listener_waits },
	{ "destroying an id takes its pending events from the channel", "rdma_destroy_id(3)",
		pending_events_go_with_id },
	{ "32 events can be pending, and all are delivered", "rdma_create_event_channel(3)",
		many_pending },
	{ "every event type has a name of its own", "rdma_event_str(3)", names }, { 0 } };
