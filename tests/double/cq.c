/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* cq.c - libibverbs: completion channels and completion queues */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "state.h"

static int poll_result;
static bool has_poll_result;
static void (*on_arm)(struct ibv_cq *cq, void *arg);
static void *on_arm_arg;

void double__cq_reset(void)
{
	has_poll_result = false;
	on_arm = NULL;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct comp_channel *channel;

	if (double__enter("ibv_create_comp_channel"))
		return NULL;
	channel = double__new(DOUBLE_COMP_CHANNEL, sizeof(*channel));
	double__bell_init(&channel->bell);
	channel->channel.context = context;
	channel->channel.fd = channel->bell.fd;
	double__leave();
	return &channel->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv_channel)
{
	struct comp_channel *channel = OF(comp_channel, channel, ibv_channel);
	int ret = 0;

	if (double__enter("ibv_destroy_comp_channel")) {
		double__gone(channel);
		return double__errno();
	}
	if (channel->object.refs) {
		ret = EBUSY;
	} else {
		close(channel->bell.fd);
		double__free(channel);
	}
	double__leave();
	return ret;
}

static void push_cq_event(struct cq *cq)
{
	struct comp_channel *channel;
	struct cq_event *event, **end;

	if (!cq->cq.channel)
		return;
	channel = OF(comp_channel, channel, cq->cq.channel);
	event = calloc(1, sizeof(*event));
	if (!event)
		abort();
	event->cq = cq;
	for (end = &channel->first; *end; end = &(*end)->next)
		;
	*end = event;
	double__bell_ring(&channel->bell);
}

int ibv_get_cq_event(struct ibv_comp_channel *ibv_channel, struct ibv_cq **cq, void **cq_context)
{
	struct comp_channel *channel = OF(comp_channel, channel, ibv_channel);
	struct cq_event *event;

	if (double__enter("ibv_get_cq_event"))
		return -1;
	double__leave();
	if (double__bell_wait(&channel->bell))
		return -1;
	double__lock();
	event = channel->first;
	if (!event) { /* its queue was destroyed meanwhile */
		double__leave();
		errno = EAGAIN;
		return -1;
	}
	channel->first = event->next;
	event->cq->fetched++;
	*cq = &event->cq->cq;
	*cq_context = event->cq->cq.cq_context;
	free(event);
	double__leave();
	return 0;
}

/* completion queues */

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
	struct ibv_comp_channel *channel, int comp_vector)
{
	struct cq *cq;

	if (double__enter("ibv_create_cq"))
		return NULL;
	if (cqe < 1 || cqe > double_device.max_cqe || comp_vector >= context->num_comp_vectors) {
		double__leave();
		errno = EINVAL;
		return NULL;
	}
	cq = double__new(DOUBLE_CQ, sizeof(*cq));
	cq->ring = calloc((size_t)cqe, sizeof(*cq->ring));
	if (!cq->ring)
		abort();
	cq->cq.context = context;
	cq->cq.channel = channel;
	cq->cq.cq_context = cq_context;
	cq->cq.cqe = cqe;
	if (channel)
		OF(comp_channel, channel, channel)->object.refs++;
	double__leave();
	return &cq->cq;
}

static void drop_cq_events(struct cq *cq)
{
	struct comp_channel *channel = OF(comp_channel, channel, cq->cq.channel);
	struct cq_event **event = &channel->first;

	while (*event) {
		struct cq_event *dropped = *event;

		if (dropped->cq != cq) {
			event = &dropped->next;
			continue;
		}
		*event = dropped->next;
		double__bell_unring(&channel->bell);
		free(dropped);
	}
}

int ibv_destroy_cq(struct ibv_cq *ibv_cq)
{
	struct cq *cq = OF(cq, cq, ibv_cq);
	const bool fails = double__enter("ibv_destroy_cq");
	const int err = fails ? double__errno() : 0;

	if (fails)
		double__lock();
	if (!fails && cq->object.refs) {
		double__leave();
		return EBUSY;
	}
	if (cq->fetched != cq->acked)
		double__problem("%u events of a completion queue fetched, %u acknowledged: "
				"its destruction would wait for ever",
			cq->fetched, cq->acked);
	if (cq->async_unacked)
		double__problem("completion queue destroyed with unacknowledged async events");
	double__drop_async(ibv_cq);
	if (cq->cq.channel) {
		drop_cq_events(cq);
		OF(comp_channel, channel, cq->cq.channel)->object.refs--;
	}
	if (fails) {
		double__gone(cq);
	} else {
		free(cq->ring);
		double__free(cq);
	}
	double__leave();
	return err;
}

void ibv_ack_cq_events(struct ibv_cq *ibv_cq, unsigned int nevents)
{
	struct cq *cq = OF(cq, cq, ibv_cq);

	double__lock();
	cq->acked += nevents;
	if (cq->acked > cq->fetched)
		double__problem("more completion events acknowledged than fetched");
	double__leave();
}

void double__push_cqe(struct ibv_cq *ibv_cq, const struct cqe *cqe)
{
	struct cq *cq = OF(cq, cq, ibv_cq);

	if (cq->count == (unsigned)cq->cq.cqe) {
		double__problem("completion queue of %d overrun", cq->cq.cqe);
		return;
	}
	cq->ring[(cq->head + cq->count) % (unsigned)cq->cq.cqe] = *cqe;
	cq->count++;
	if (cq->is_armed) {
		cq->is_armed = false;
		push_cq_event(cq);
	}
}

void double__cq_forget_srq(const struct srq *srq)
{
	struct object *object;
	unsigned i;

	for (object = double__last(DOUBLE_CQ); object; object = object->next) {
		struct cq *cq = (struct cq *)object;

		for (i = 0; object->kind == DOUBLE_CQ && i < (unsigned)cq->cq.cqe; i++) {
			if (cq->ring[i].srq != srq)
				continue;
			cq->ring[i].srq = NULL;
			cq->ring[i].number = UINT64_MAX;
		}
	}
}

struct ibv_cq *double_last_cq(void)
{
	struct cq *cq = (struct cq *)double__last(DOUBLE_CQ);

	return cq ? &cq->cq : NULL;
}

unsigned double_cq_count(const struct ibv_cq *cq)
{
	return OF(cq, cq, cq)->count;
}

bool double_cq_is_armed(const struct ibv_cq *cq)
{
	return OF(cq, cq, cq)->is_armed;
}

void double_spurious_event(struct ibv_cq *cq)
{
	double__lock();
	push_cq_event(OF(cq, cq, cq));
	double__leave();
}

void double_push_wc(struct ibv_cq *cq, const struct ibv_wc *wc)
{
	const struct cqe cqe = { .wc = *wc, .number = UINT64_MAX };

	double__lock();
	double__push_cqe(cq, &cqe);
	double__leave();
}

void double_poll_returns(int ret)
{
	poll_result = ret;
	has_poll_result = true;
}

void double_on_arm(void (*cb)(struct ibv_cq *cq, void *arg), void *arg)
{
	double__lock();
	on_arm = cb;
	on_arm_arg = arg;
	double__leave();
}

int double__poll_cq(struct ibv_cq *ibv_cq, int num_entries, struct ibv_wc *wc)
{
	struct cq *cq = OF(cq, cq, ibv_cq);
	int count = 0;

	double__lock();
	if (has_poll_result) {
		has_poll_result = false;
		count = poll_result;
		double__leave();
		return count;
	}
	while (cq->count && count < num_entries) {
		const struct cqe *cqe = &cq->ring[cq->head];

		wc[count++] = cqe->wc;
		if (cqe->srq)
			cqe->srq->rq.reclaimed++;
		else if (cqe->number != UINT64_MAX)
			double__qp_polled(cqe->wc.qp_num, cqe->is_recv, cqe->number);
		cq->head = (cq->head + 1) % (unsigned)cq->cq.cqe;
		cq->count--;
	}
	double__leave();
	return count;
}

int double__req_notify_cq(struct ibv_cq *ibv_cq, int solicited_only)
{
	if (double__enter("ibv_req_notify_cq"))
		return double__errno();
	if (solicited_only)
		double__problem("armed for solicited completions only");
	if (on_arm)
		on_arm(ibv_cq, on_arm_arg);
	OF(cq, cq, ibv_cq)->is_armed = true;
	double__leave();
	return 0;
}
