/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* event.c - librdmacm: event channels and events */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *channel;

	if (double__enter("rdma_create_event_channel"))
		return NULL;
	channel = double__new(DOUBLE_EVENT_CHANNEL, sizeof(*channel));
	double__bell_init(&channel->bell);
	channel->channel.fd = channel->bell.fd;
	double__leave();
	return &channel->channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *cm_channel)
{
	struct channel *channel = OF(channel, channel, cm_channel);

	double__note("rdma_destroy_event_channel");
	if (channel->object.refs)
		double__problem("event channel destroyed under %u ids", channel->object.refs);
	close(channel->bell.fd);
	double__free(channel);
	double__leave();
}

void double__cm_forget(struct object *object)
{
	if (object->kind == DOUBLE_EVENT_CHANNEL)
		close(((struct channel *)object)->bell.fd);
}

static void queue_event(struct channel *channel, struct event *event)
{
	struct event **end;

	for (end = &channel->first; *end; end = &(*end)->next)
		;
	event->next = NULL;
	*end = event;
	double__bell_ring(&channel->bell);
}

void double__push_event(struct id *owner, struct id *subject, enum rdma_cm_event_type type,
	int status, const void *data, uint8_t len)
{
	struct event *event;

	if (!owner->id.channel) {
		double__problem("%s for an id without a channel", rdma_event_str(type));
		return;
	}
	event = double__new(DOUBLE_CM_EVENT, sizeof(*event));
	event->owner = owner;
	event->subject = subject;
	event->event.id = &subject->id;
	event->event.listen_id = owner == subject ? NULL : &owner->id;
	event->event.event = type;
	event->event.status = status;
	if (data && len) {
		memcpy(event->data, data, len);
		event->event.param.conn.private_data = event->data;
		event->event.param.conn.private_data_len = len;
	}
	queue_event(OF(channel, channel, owner->id.channel), event);
}

void double_push_cm(struct rdma_cm_id *cm_id, enum rdma_cm_event_type type, int status,
	const void *data, uint8_t len)
{
	struct id *id = OF(id, id, cm_id);

	double__lock();
	double__push_event(id, id, type, status, data, len);
	double__leave();
}

/* takes the id's events, not fetched yet, out of its channel */
static struct event *take_events(struct id *id)
{
	struct event *taken = NULL, **taken_end = &taken, **event;
	struct channel *channel;

	if (!id->id.channel)
		return NULL;
	channel = OF(channel, channel, id->id.channel);
	event = &channel->first;
	while (*event) {
		struct event *found = *event;

		if (found->owner != id && found->subject != id) {
			event = &found->next;
			continue;
		}
		*event = found->next;
		found->next = NULL;
		*taken_end = found;
		taken_end = &found->next;
		double__bell_unring(&channel->bell);
	}
	return taken;
}

void double__drop_events(struct id *id)
{
	struct event *event = take_events(id);

	while (event) {
		struct event *next = event->next;
		struct id *subject = event->subject;

		double__free(event);
		/* a request that nobody fetched: its id goes with the listening one */
		if (subject != id) {
			OF(channel, channel, subject->id.channel)->object.refs--;
			if (subject->remote)
				subject->remote->remote = NULL;
			double__free(subject);
		}
		event = next;
	}
}

int rdma_migrate_id(struct rdma_cm_id *cm_id, struct rdma_event_channel *cm_channel)
{
	struct id *id = OF(id, id, cm_id);
	struct event *event;

	if (double__enter("rdma_migrate_id"))
		return -1;
	if (id->reported != id->acked)
		double__problem("id migrated with unacknowledged events: it would wait for ever");
	event = take_events(id);
	if (cm_id->channel)
		OF(channel, channel, cm_id->channel)->object.refs--;
	cm_id->channel = cm_channel;
	id->is_sync = !cm_channel;
	if (cm_channel)
		OF(channel, channel, cm_channel)->object.refs++;
	while (event) {
		struct event *next = event->next;

		if (cm_channel)
			queue_event(OF(channel, channel, cm_channel), event);
		else
			double__free(event);
		event = next;
	}
	double__leave();
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *cm_channel, struct rdma_cm_event **cm_event)
{
	struct channel *channel = OF(channel, channel, cm_channel);
	struct event *event;

	if (double__enter("rdma_get_cm_event"))
		return -1;
	double__leave();
	if (double__bell_wait(&channel->bell))
		return -1;
	double__lock();
	event = channel->first;
	if (!event) { /* it moved to another channel meanwhile */
		double__leave();
		errno = EAGAIN;
		return -1;
	}
	channel->first = event->next;
	event->owner->reported++;
	double__step_done(event->subject, event->event.event);
	*cm_event = &event->event;
	double__leave();
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *cm_event)
{
	struct event *event = OF(event, event, cm_event);
	const bool fails = double__enter("rdma_ack_cm_event");
	const int err = errno;

	if (fails)
		double__lock();
	event->owner->acked++;
	double__free(event);
	double__leave();
	errno = err;
	return fails ? -1 : 0;
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
		[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
		[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
		[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
		[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
		[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
		[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
		[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
		[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
		[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
	};

	return event < sizeof(names) / sizeof(names[0]) ? names[event] : "UNKNOWN EVENT";
}
