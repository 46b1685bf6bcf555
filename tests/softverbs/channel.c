/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* channel.c - completion channels: the completion queues that have something to tell, in order */

#include <errno.h>
#include <stdlib.h>

#include "cq.h"
#include "fault.h"
#include "progress.h"
#include "seed.h"

static struct sv_channel *channel_of(struct ibv_comp_channel *channel)
{
	return container_of(channel, struct sv_channel, base);
}

static void arrive(struct sv_cq *cq)
{
	struct sv_channel *channel = channel_of(cq->base.channel);

	if (cq->events_queued++ == 0)
		list_push(&channel->cqs, &cq->in_channel);
	sv_signal_set(&channel->signal, true);
}

/* the events of one channel stay in order */
static void set_late(struct sv_cq *cq)
{
	struct sv_channel *channel = channel_of(cq->base.channel);
	uint64_t at = sv_clock->now_ns() + sv_seed_delay_ns();

	channel->told_ns = at > channel->told_ns ? at : channel->told_ns;
	sv_timer_set(&cq->late, channel->told_ns);
}

static void arrive_late(struct sv_timer *timer)
{
	struct sv_cq *cq = container_of(timer, struct sv_cq, late);

	sv_trace(SV_STEP_CQ_EVENT, cq->number, 0, 0);
	arrive(cq);
	if (--cq->events_late > 0)
		set_late(cq);
}

void sv_channel_init(struct sv_cq *cq)
{
	sv_timer_init(&cq->late, arrive_late);
}

/* at once, except in a simulation */
static void deliver(struct sv_cq *cq)
{
	if (!sv_seed_is_on()) {
		arrive(cq);
		return;
	}
	cq->events_late++;
	if (!sv_timer_is_set(&cq->late))
		set_late(cq);
}

void sv_cq_event(struct sv_cq *cq)
{
	int fault;

	if (cq->base.channel == NULL)
		return;
	fault = sv_fault(SV_FAULT_COMP_EVENT, &cq->base);
	if (fault == SV_FAULT_DROP)
		return;
	if (fault == SV_FAULT_TWICE)
		deliver(cq);
	deliver(cq);
}

void sv_channel_drop(struct sv_cq *cq)
{
	sv_timer_stop(&cq->late);
	cq->events_late = 0;
	if (cq->base.channel == NULL || cq->events_queued == 0)
		return;
	cq->events_queued = 0;
	list_remove(&cq->in_channel);
	if (list_empty(&channel_of(cq->base.channel)->cqs))
		sv_signal_set(&channel_of(cq->base.channel)->signal, false);
}

SV_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct sv_channel *channel;

	SV_ENTER();
	if (!sv_enter(context))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	if (channel != NULL && sv_signal_open(&channel->signal) != 0) {
		free(channel);
		channel = NULL;
	}
	if (channel != NULL) {
		channel->base.context = context;
		channel->base.fd = channel->signal.fd;
		list_init(&channel->cqs);
		sv_born(SV_COMP_CHANNEL, &channel->base);
	}
	sv_unlock();
	return channel != NULL ? &channel->base : NULL;
}

SV_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *base)
{
	struct sv_channel *channel = channel_of(base);

	if (SV_DEAD(SV_COMP_CHANNEL, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	if (base->refcnt != 0) {
		sv_misuse(SV_SITE, "ibv_destroy_comp_channel with %d completion queues on it",
			base->refcnt);
		sv_unlock();
		return EBUSY;
	}
	sv_signal_close(&channel->signal);
	sv_unlock();
	sv_gone(base, channel);
	return 0;
}

/* one event, if there is one */
static struct sv_cq *fetch(struct sv_channel *channel)
{
	struct sv_cq *cq;

	if (list_empty(&channel->cqs))
		return NULL;
	cq = list_first(&channel->cqs, struct sv_cq, in_channel);
	list_remove(&cq->in_channel);
	if (--cq->events_queued > 0)
		list_push(&channel->cqs, &cq->in_channel);
	else if (list_empty(&channel->cqs))
		sv_signal_set(&channel->signal, false);
	cq->events_fetched++;
	return cq;
}

SV_EXPORT int ibv_get_cq_event(
	struct ibv_comp_channel *base, struct ibv_cq **cq_ptr, void **cq_context)
{
	struct sv_channel *channel = channel_of(base);
	struct sv_cq *cq;
	int fault;

	if (SV_DEAD(SV_COMP_CHANNEL, base))
		return -1;
	for (;;) {
		if (!sv_enter(base->context))
			return -1;
		fault = sv_fault(SV_FAULT_GET_CQ_EVENT, base);
		cq = fault == 0 ? fetch(channel) : NULL;
		if (cq != NULL) {
			*cq_ptr = &cq->base;
			*cq_context = cq->base.cq_context;
			sv_unlock();
			return 0;
		}
		sv_progress_wake();
		sv_unlock();
		if (fault > 0) {
			errno = fault;
			return -1;
		}
		if (sv_signal_nonblocking(&channel->signal)) {
			errno = EAGAIN;
			return -1;
		}
		if (sv_progress_block(&channel->signal) != 0)
			return -1;
	}
}

SV_EXPORT void ibv_ack_cq_events(struct ibv_cq *base, unsigned n)
{
	struct sv_cq *cq = sv_cq(base);

	if (SV_DEAD(SV_CQ, base) || !sv_enter(base->context))
		return;
	base->comp_events_completed += n;
	if ((int32_t)(base->comp_events_completed - cq->events_fetched) > 0)
		sv_misuse(SV_SITE, "ibv_ack_cq_events: %u acknowledged, %u fetched",
			base->comp_events_completed, cq->events_fetched);
	pthread_cond_broadcast(&sv_device.acked);
	sv_unlock();
}
