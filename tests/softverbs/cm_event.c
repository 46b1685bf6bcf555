/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* cm_event.c - event channels: what happened to ids, in order */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "fault.h"
#include "progress.h"
#include "seed.h"

struct rdma_event_channel *sv_channel_new(void)
{
	struct sv_event_channel *channel;

	if (sv_progress_start() != 0)
		return NULL;
	channel = calloc(1, sizeof(*channel));
	if (channel == NULL)
		return NULL;
	if (sv_signal_open(&channel->signal) != 0) {
		free(channel);
		return NULL;
	}
	channel->base.fd = channel->signal.fd;
	channel->generation = sv_device.generation;
	list_init(&channel->events);
	list_init(&channel->late);
	return &channel->base;
}

void sv_event_free(struct sv_event *event)
{
	/* an id that the program never got to see */
	if (event->base.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		sv_id_free(sv_id(event->base.id));
	sv_timer_stop(&event->late);
	free(event);
}

/* owner NULL: of any id */
static struct sv_event *first_of(struct list *events, const struct sv_id *owner)
{
	list_each(struct sv_event, event, events, node)
	{
		if (owner == NULL || event->owner == owner)
			return event;
	}
	return NULL;
}

/* freeing one may free an id, whose own events go first: start again each time */
static void drop(struct list *events, const struct sv_id *owner)
{
	struct sv_event *event;

	while ((event = first_of(events, owner)) != NULL) {
		list_remove(&event->node);
		event->owner->queued--;
		sv_event_free(event);
	}
}

void sv_channel_free(struct rdma_event_channel *base)
{
	struct sv_event_channel *channel = sv_event_channel(base);

	drop(&channel->events, NULL);
	drop(&channel->late, NULL);
	sv_signal_close(&channel->signal);
	sv_gone(base, channel);
}

SV_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel;

	SV_ENTER();
	sv_lock();
	channel = sv_channel_new();
	if (channel != NULL)
		sv_born(SV_EVENT_CHANNEL, channel);
	sv_unlock();
	return channel;
}

/* a kernel ends what is left on a descriptor that is closed */
SV_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *base)
{
	unsigned left;

	if (SV_DEAD(SV_EVENT_CHANNEL, base))
		return;
	sv_lock();
	if (sv_event_channel(base)->generation == sv_device.generation) {
		left = sv_ids_orphan(base);
		if (left > 0)
			sv_misuse(SV_SITE, "rdma_destroy_event_channel with %u ids on it", left);
		sv_channel_free(base);
	}
	sv_unlock();
}

static void arrive(struct sv_event *event)
{
	struct sv_event_channel *channel = sv_event_channel(event->owner->base.channel);

	list_push(&channel->events, &event->node);
	sv_signal_set(&channel->signal, true);
}

static void arrive_late(struct sv_timer *timer)
{
	struct sv_event *event = container_of(timer, struct sv_event, late);

	sv_trace(SV_STEP_CM_EVENT, event->owner->number, event->base.event, 0);
	list_remove(&event->node);
	arrive(event);
}

struct sv_event *sv_event_new(struct sv_id *id, enum rdma_cm_event_type type, int status)
{
	struct sv_event *event = calloc(1, sizeof(*event));

	if (event == NULL)
		return NULL; /* lost, as in a kernel without memory */
	list_init(&event->node);
	sv_timer_init(&event->late, arrive_late);
	event->owner = id;
	event->base.id = &id->base;
	event->base.event = type;
	event->base.status = status;
	return event;
}

void sv_event_private(struct sv_event *event, const struct sv_cm_message *message, unsigned length)
{
	memcpy(event->private_data, message->private_data, length);
	event->base.param.conn.private_data = event->private_data;
	event->base.param.conn.private_data_len = (uint8_t)length;
}

/* at once; in a simulation it takes its time, but the events of one id stay in order */
void sv_event_queue(struct sv_event *event)
{
	struct sv_id *id = event->owner;
	uint64_t at;

	id->queued++;
	if (!sv_seed_is_on()) {
		arrive(event);
		return;
	}
	at = sv_clock->now_ns() + sv_seed_delay_ns();
	id->told_ns = at > id->told_ns ? at : id->told_ns;
	if (event->base.event ==
		RDMA_CM_EVENT_CONNECT_REQUEST) /* nothing of an id comes before it */
		sv_id(event->base.id)->told_ns = id->told_ns;
	list_push(&sv_event_channel(id->base.channel)->late, &event->node);
	sv_timer_set(&event->late, id->told_ns);
}

void sv_event_post(struct sv_event *event)
{
	if (event != NULL && !(sv_faults_on && sv_fault_event(event)))
		sv_event_queue(event);
}

void sv_event_tell(struct sv_id *id, enum rdma_cm_event_type type, int status)
{
	sv_event_post(sv_event_new(id, type, status));
}

void sv_events_drop(struct sv_id *id)
{
	struct sv_event_channel *channel = sv_event_channel(id->base.channel);

	sv_fault_events_drop(id);
	if (id->queued == 0)
		return; /* the lists are everybody's, and may be long */
	drop(&channel->events, id);
	drop(&channel->late, id);
	sv_signal_set(&channel->signal, !list_empty(&channel->events));
}

static struct sv_event *fetch(struct sv_event_channel *channel)
{
	while (!list_empty(&channel->events)) {
		struct sv_event *event = list_first(&channel->events, struct sv_event, node);

		list_remove(&event->node);
		sv_signal_set(&channel->signal, !list_empty(&channel->events));
		event->owner->queued--;
		event->owner->fetched++;
		if (sv_cm_fetched(event))
			return event;
		event->owner->acked++; /* nothing that the program should see */
		free(event);
	}
	return NULL;
}

/* now the program knows of it, and of the id that came with it */
static void born(struct sv_event *event)
{
	sv_born(SV_CM_EVENT, &event->base);
	if (event->base.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		sv_born(SV_ID, event->base.id);
}

/* by_program: the call is the program's own, which faults are about */
static int get_event(
	struct rdma_event_channel *base, struct rdma_cm_event **event_ptr, bool by_program)
{
	struct sv_event_channel *channel;
	struct sv_event *event;
	int fault;

	if (base == NULL || event_ptr == NULL) {
		errno = EINVAL;
		return -1;
	}
	channel = sv_event_channel(base);
	for (;;) {
		sv_lock();
		if (channel->generation != sv_device.generation) {
			sv_unlock();
			errno = ENODEV;
			return -1;
		}
		fault = by_program ? sv_fault(SV_FAULT_GET_CM_EVENT, base) : 0;
		event = fault == 0 ? fetch(channel) : NULL;
		if (event != NULL)
			born(event);
		sv_progress_wake();
		sv_unlock();
		if (event != NULL) {
			*event_ptr = &event->base;
			return 0;
		}
		if (fault > 0 || sv_signal_nonblocking(&channel->signal)) {
			errno = fault > 0 ? fault : EAGAIN;
			return -1;
		}
		if (sv_progress_block(&channel->signal) != 0)
			return -1;
	}
}

SV_EXPORT int rdma_get_cm_event(struct rdma_event_channel *base, struct rdma_cm_event **event_ptr)
{
	if (base != NULL && SV_DEAD(SV_EVENT_CHANNEL, base))
		return -1;
	return get_event(base, event_ptr, true);
}

SV_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *base)
{
	struct sv_event *event;

	if (base == NULL) {
		errno = EINVAL;
		return -1;
	}
	if (SV_DEAD(SV_CM_EVENT, base))
		return -1;
	event = container_of(base, struct sv_event, base);
	if (!sv_id_enter(event->owner))
		return -1;
	event->owner->acked++;
	pthread_cond_broadcast(&sv_device.acked);
	sv_unlock();
	sv_gone(base, event);
	return 0;
}

int sv_id_complete(struct sv_id *id)
{
	int ret;

	if (!id->sync)
		return 0;
	if (id->base.event != NULL) {
		rdma_ack_cm_event(id->base.event);
		id->base.event = NULL;
	}
	ret = get_event(id->base.channel, &id->base.event, false);
	if (ret != 0)
		return ret;
	if (id->base.event->status == 0)
		return 0;
	if (id->base.event->event == RDMA_CM_EVENT_REJECTED)
		errno = ECONNREFUSED;
	else
		errno = abs(id->base.event->status);
	return -1;
}

SV_EXPORT const char *rdma_event_str(enum rdma_cm_event_type event)
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
	size_t i = (size_t)event;

	return i < sizeof(names) / sizeof(*names) ? names[i] : "UNKNOWN EVENT";
}
