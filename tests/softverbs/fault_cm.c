/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * fault_cm.c - events of ids that are lost, late, doubled, withheld, or followed by another
 *
 *     sv_event_post() --> sv_fault_event() -- true --> kept: the timer, or a release, queues it
 *                                |                        `-- its id goes first: freed
 *                              false --> queued at once
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "order.h"

enum why { LATE, UNANSWERED, LOST };

struct kept {
	struct list node;
	struct sv_timer timer; /* of a late one */
	struct sv_event *event;
	enum why why;
};

static struct list all_kept = { &all_kept, &all_kept };

static struct sv_event *take_out(struct kept *kept)
{
	struct sv_event *event = kept->event;

	sv_timer_stop(&kept->timer);
	list_remove(&kept->node);
	free(kept);
	return event;
}

static void late_enough(struct sv_timer *timer)
{
	sv_event_queue(take_out(container_of(timer, struct kept, timer)));
}

static bool keep(struct sv_event *event, enum why why, uint64_t delay_ns)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	if (kept == NULL)
		return false;
	kept->event = event;
	kept->why = why;
	sv_timer_init(&kept->timer, late_enough);
	list_push(&all_kept, &kept->node);
	if (why == LATE)
		sv_timer_set(&kept->timer, sv_clock->now_ns() + delay_ns);
	return true;
}

/* a request has an id of its own, which must not say a word: it stays until its listener goes */
static void lose(struct sv_event *event)
{
	if (event->base.event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		sv_event_free(event);
		return;
	}
	event->owner->listener.waiting--;
	if (!keep(event, LOST, 0))
		sv_event_free(event);
}

/* what the program will see: the active side's event changes its name when it is fetched */
static enum rdma_cm_event_type seen_as(const struct sv_event *event)
{
	if (event->base.event == RDMA_CM_EVENT_CONNECT_RESPONSE && event->owner->base.qp != NULL)
		return RDMA_CM_EVENT_ESTABLISHED;
	return event->base.event;
}

static void queue_twin(struct sv_event *event)
{
	struct sv_event *twin;

	if (event->base.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return; /* there is one id only to be given away */
	twin = sv_event_new(event->owner, seen_as(event), event->base.status);
	if (twin == NULL)
		return;
	twin->base.param = event->base.param;
	memcpy(twin->private_data, event->private_data, sizeof(twin->private_data));
	if (event->base.param.conn.private_data != NULL)
		twin->base.param.conn.private_data = twin->private_data;
	sv_event_queue(twin);
}

static void queue_other(struct sv_id *id, enum rdma_cm_event_type type)
{
	bool is_bad = type == RDMA_CM_EVENT_UNREACHABLE || type == RDMA_CM_EVENT_CONNECT_ERROR ||
		      type == RDMA_CM_EVENT_ADDR_ERROR || type == RDMA_CM_EVENT_ROUTE_ERROR;
	struct sv_event *other = sv_event_new(id, type, is_bad ? -ETIMEDOUT : 0);

	if (other != NULL)
		sv_event_queue(other);
}

static bool from_resolver(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_ADDR_RESOLVED || type == RDMA_CM_EVENT_ADDR_ERROR ||
	       type == RDMA_CM_EVENT_ROUTE_RESOLVED || type == RDMA_CM_EVENT_ROUTE_ERROR;
}

bool sv_fault_event(struct sv_event *event)
{
	enum rdma_cm_event_type type = seen_as(event);
	struct sv_order *order;

	if (from_resolver(type) && sv_order_due(SV_ORDER_RESOLVE_NEVER, 0) != NULL) {
		lose(event);
		return true;
	}
	if (from_resolver(type) && sv_fault_holds(SV_HOLD_RESOLVER))
		return keep(event, UNANSWERED, 0);
	if (sv_order_due(SV_ORDER_CM_DROP, (int)type) != NULL) {
		lose(event);
		return true;
	}
	order = sv_order_due(SV_ORDER_CM_LATE, (int)type);
	if (order != NULL)
		return keep(event, LATE, order->value);
	order = sv_order_due(SV_ORDER_CM_AFTER, (int)type);
	if (order != NULL) {
		sv_event_queue(event);
		queue_other(event->owner, (enum rdma_cm_event_type)order->then);
		return true;
	}
	if (sv_order_due(SV_ORDER_CM_DOUBLE, (int)type) == NULL)
		return false;
	sv_event_queue(event);
	queue_twin(event);
	return true;
}

/* freeing one may free an id, whose own events go first: start again each time */
static struct kept *first_of(const struct sv_id *id)
{
	list_each(struct kept, kept, &all_kept, node)
	{
		if (kept->event->owner == id)
			return kept;
	}
	return NULL;
}

void sv_fault_events_drop(struct sv_id *id)
{
	struct kept *kept;

	while ((kept = first_of(id)) != NULL)
		sv_event_free(take_out(kept));
}

void sv_fault_events_forget(void)
{
	list_init(&all_kept);
}

void sv_fault_events_release(void)
{
	list_each(struct kept, kept, &all_kept, node)
	{
		if (kept->why == UNANSWERED)
			sv_event_queue(take_out(kept));
	}
}

int sv_fault_events_held(void)
{
	int n = 0;

	list_each(struct kept, kept, &all_kept, node)
	{
		n += kept->why == UNANSWERED;
	}
	return n;
}
