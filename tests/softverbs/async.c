/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* async.c - asynchronous events: what happened to an object, queued at its context */

#include <errno.h>
#include <stdlib.h>

#include "async.h"
#include "cq.h"
#include "fault.h"
#include "progress.h"
#include "qp.h"
#include "seed.h"
#include "srq.h"

struct sv_async {
	struct list node;
	struct ibv_async_event event;
};

void sv_async(struct ibv_context *context, enum ibv_event_type type, void *object)
{
	struct sv_context *c = sv_context(context);
	struct sv_async *async = calloc(1, sizeof(*async));

	if (async == NULL)
		return; /* as a queue of the kernel that overflows */
	async->event.event_type = type;
	if (object != NULL)
		async->event.element.qp = object;
	else
		async->event.element.port_num = 1;
	list_push(&c->async, &async->node);
	if (!sv_seed_is_on())
		sv_signal_set(&c->signal, true);
	else if (!c->signal.readable && !sv_timer_is_set(&c->late))
		sv_timer_set(&c->late, sv_clock->now_ns() + sv_seed_delay_ns());
}

static void tell_late(struct sv_timer *timer)
{
	struct sv_context *c = container_of(timer, struct sv_context, late);

	if (list_empty(&c->async))
		return;
	sv_trace(SV_STEP_ASYNC, 0, 0, 0);
	sv_signal_set(&c->signal, true);
}

void sv_async_init(struct sv_context *c)
{
	sv_timer_init(&c->late, tell_late);
}

/* object NULL: all of them */
void sv_async_drop(struct ibv_context *context, void *object)
{
	struct sv_context *c = sv_context(context);

	list_each(struct sv_async, async, &c->async, node)
	{
		if (object != NULL && (void *)async->event.element.qp != object)
			continue;
		list_remove(&async->node);
		free(async);
	}
	if (list_empty(&c->async))
		sv_signal_set(&c->signal, false);
}

/* the counters of what was fetched and acknowledged, by the kind of object; NULL: the port's */
static uint32_t *counters(struct ibv_async_event *event, unsigned **fetched)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		*fetched = &sv_cq(event->element.cq)->async_fetched;
		return &event->element.cq->async_events_completed;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		*fetched = &sv_qp(event->element.qp)->async_fetched;
		return &event->element.qp->events_completed;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		*fetched = &sv_srq(event->element.srq)->async_fetched;
		return &event->element.srq->events_completed;
	default:
		return NULL;
	}
}

static bool fetch(struct sv_context *c, struct ibv_async_event *event)
{
	struct sv_async *async;
	unsigned *fetched;

	if (list_empty(&c->async))
		return false;
	async = list_first(&c->async, struct sv_async, node);
	list_remove(&async->node);
	*event = async->event;
	free(async);
	if (counters(event, &fetched) != NULL)
		++*fetched;
	if (list_empty(&c->async))
		sv_signal_set(&c->signal, false);
	return true;
}

SV_EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct sv_context *c = sv_context(context);
	bool got;
	int fault;

	SV_ENTER();
	for (;;) {
		sv_lock(); /* not sv_enter: a device that is gone still tells */
		if (c->generation != sv_device.generation) {
			sv_unlock();
			errno = ENODEV;
			return -1;
		}
		fault = sv_fault(SV_FAULT_GET_ASYNC_EVENT, context);
		got = fault == 0 && fetch(c, event);
		sv_progress_wake();
		sv_unlock();
		if (got)
			return 0;
		if (fault > 0 || sv_signal_nonblocking(&c->signal)) {
			errno = fault > 0 ? fault : EAGAIN;
			return -1;
		}
		if (sv_progress_block(&c->signal) != 0)
			return -1;
	}
}

SV_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	uint32_t *completed;
	unsigned *fetched;

	SV_ENTER();
	sv_lock();
	completed = counters(event, &fetched);
	if (completed != NULL) {
		++*completed;
		if ((int32_t)(*completed - *fetched) > 0)
			sv_misuse(SV_SITE, "ibv_ack_async_event: %u acknowledged, %u fetched",
				*completed, *fetched);
	}
	pthread_cond_broadcast(&sv_device.acked);
	sv_unlock();
}
