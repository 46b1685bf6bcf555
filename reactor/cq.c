/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * cq.c - completion queues: reserve, poll, arm and look again, acknowledge
 *
 *                    event                        nothing found
 *     armed ------------------------> disarmed ------------------> armed
 *           channel_ready()           |      ^     cqs_arm()
 *                                     +------+
 *                                 found by looking again; its event may come yet, and find nothing
 *
 * Notification is one-shot and covers only completions that come after the arming, so the order is
 * always: arm, poll again, sleep (ibv_req_notify_cq(3), ibv_get_cq_event(3)). Events must be
 * acknowledged exactly, or ibv_destroy_cq(3) waits for ever: counted a queue, settled before it
 * goes.
 */

#include <errno.h>
#include <stdlib.h>

#include "conn.h"
#include "cq.h"
#include "queue.h"
#include "reactor.h"
#include "status.h"

/* completions taken with one ibv_poll_cq() */
#define WC_BATCH 32

/* refusals of arming in a row until a queue counts as broken */
#define ARM_TRIES 3

/* ibv_ack_cq_events() takes a lock: do it for many events at once */
#define ACK_BATCH 64

static void cq_ack(struct rpma_uv__cq *cq)
{
	if (cq->unacked > 0)
		ibv_ack_cq_events(cq->ibv, cq->unacked);
	cq->unacked = 0;
}

/* take up to `most` completions; how many there were */
static unsigned cq_poll(struct rpma_uv__cq *cq, unsigned most)
{
	struct rpma_uv__reactor *r = cq->device->reactor;
	struct ibv_wc wc[WC_BATCH];
	unsigned total = 0;

	while (total < most) {
		unsigned want = most - total < WC_BATCH ? most - total : WC_BATCH;
		int got = ibv_poll_cq(cq->ibv, (int)want, wc);

		if (got <= 0) /* a broken queue shows by its device's end, not here */
			break;
		for (int i = 0; i < got; i++)
			rpma_uv__queue_complete(r, &wc[i]);
		total += (unsigned)got;
		if ((unsigned)got < want)
			break;
	}
	if (total > 0) {
		r->stats.completions += total;
		if (r->opts.spin_us > 0)
			r->spin_until_ns = uv_hrtime() + (uint64_t)r->opts.spin_us * 1000;
	}
	return total;
}

/* it is of no use any more, and neither are the connections on it */
static void cq_fail(struct rpma_uv__cq *cq, int status)
{
	cq->is_broken = true;
	rpma_uv__conns_fail(cq->device->reactor,
		&(struct rpma_uv__conns_of){ .device = cq->device, .cq = cq }, status);
}

void rpma_uv__cq_drain(struct rpma_uv__cq *cq)
{
	while (cq_poll(cq, WC_BATCH) > 0)
		;
}

/* the queue that took what was left of the budget is the last to be looked at in the next turn */
static void cq_to_the_end(struct rpma_uv__cq *cq)
{
	struct rpma_uv__device *device = cq->device, *last;

	TAILQ_REMOVE(&device->cqs, cq, link);
	TAILQ_INSERT_TAIL(&device->cqs, cq, link);
	for (last = device; LIST_NEXT(last, link) != NULL;)
		last = LIST_NEXT(last, link);
	if (last != device) {
		LIST_REMOVE(device, link);
		LIST_INSERT_AFTER(last, device, link);
	}
}

bool rpma_uv__cqs_poll(struct rpma_uv__reactor *r, unsigned budget)
{
	struct rpma_uv__device *device;
	struct rpma_uv__cq *cq;

	LIST_FOREACH (device, &r->devices, link) {
		TAILQ_FOREACH (cq, &device->cqs, link) {
			unsigned got;

			if (cq->armed) /* silent: nothing has come since the last look */
				continue;
			got = cq_poll(cq, budget);
			if (cq->woken && got == 0)
				r->stats.cq_events_empty++;
			cq->woken = false;
			budget -= got;
			if (budget == 0) {
				cq_to_the_end(cq);
				return true;
			}
		}
	}
	return false;
}

/*
 * It cannot be slept on: look again next turn, but not for ever. A broken queue is still polled in
 * every turn, and the deadlines of its connections see to it that there is one.
 */
static void arm_refused(struct rpma_uv__cq *cq, int err)
{
	if (++cq->arm_refusals == ARM_TRIES)
		cq_fail(cq, err > 0 ? uv_translate_sys_error(err) : UV_EIO);
}

bool rpma_uv__cqs_arm(struct rpma_uv__reactor *r)
{
	struct rpma_uv__device *device;
	struct rpma_uv__cq *cq;
	bool found = false;

	LIST_FOREACH (device, &r->devices, link) {
		TAILQ_FOREACH (cq, &device->cqs, link) {
			int ret;

			if (cq->armed || cq->is_broken)
				continue;
			ret = ibv_req_notify_cq(cq->ibv, 0);
			if (ret) {
				arm_refused(cq, ret);
				found = true;
				continue;
			}
			cq->arm_refusals = 0;
			cq->armed = true;
			if (cq_poll(cq, r->opts.cq_budget) == 0)
				continue;
			/* its event may come or not: go on as if it had */
			cq->armed = false;
			found = true;
		}
	}
	return found;
}

/* ---- the channel ----------------------------------------------------------------------------- */

static void channel_ready(uv_poll_t *poll, int status, int events)
{
	struct rpma_uv__device *device = poll->data;
	struct rpma_uv__reactor *r = device->reactor;
	struct ibv_cq *ibv;
	void *context;

	(void)events;
	if (status < 0) { /* libuv has stopped watching: the device is gone */
		rpma_uv__conns_fail(r, &(struct rpma_uv__conns_of){ .device = device }, UV_ENODEV);
		return;
	}
	for (;;) {
		struct rpma_uv__cq *cq;

		if (ibv_get_cq_event(device->channel, &ibv, &context)) {
			if (errno == EINTR)
				continue;
			break;
		}
		cq = context;
		cq->armed = false;
		cq->woken = true;
		r->stats.cq_events++;
		if (++cq->unacked == ACK_BATCH)
			cq_ack(cq);
	}
}

static void device_closed(uv_handle_t *handle)
{
	struct rpma_uv__device *device = handle->data;
	struct rpma_uv__reactor *r = device->reactor;

	ibv_destroy_comp_channel(device->channel);
	free(device);
	rpma_uv__reactor_handle_gone(r);
}

static void handle_close(struct rpma_uv__device *device)
{
	device->reactor->handles_open++;
	uv_close((uv_handle_t *)&device->poll, device_closed);
}

static int device_new(struct rpma_uv__reactor *r, struct ibv_context *context,
	struct rpma_uv__device **device_ptr)
{
	struct rpma_uv__device *device;
	struct ibv_device_attr attr;
	int ret;

	ret = ibv_query_device(context, &attr);
	if (ret)
		return uv_translate_sys_error(ret);
	device = calloc(1, sizeof(*device));
	if (device == NULL)
		return UV_ENOMEM;
	device->channel = ibv_create_comp_channel(context);
	if (device->channel == NULL) {
		ret = rpma_uv__status_errno();
		goto err_free;
	}
	device->reactor = r;
	device->context = context;
	ret = uv_poll_init(r->loop, &device->poll, device->channel->fd);
	if (ret)
		goto err_destroy_channel;
	device->max_cqe = (unsigned)attr.max_cqe;
	TAILQ_INIT(&device->cqs);
	device->poll.data = device;
	uv_poll_start(&device->poll, UV_READABLE, channel_ready);
	uv_unref((uv_handle_t *)&device->poll);
	ret = rpma_uv__watch_start(device);
	if (ret) {
		handle_close(device);
		return ret;
	}
	LIST_INSERT_HEAD(&r->devices, device, link);
	*device_ptr = device;
	return 0;

err_destroy_channel:
	ibv_destroy_comp_channel(device->channel);
err_free:
	free(device);
	return ret;
}

static int device_get(struct rpma_uv__reactor *r, struct ibv_context *context,
	struct rpma_uv__device **device_ptr)
{
	struct rpma_uv__device *device;

	LIST_FOREACH (device, &r->devices, link) {
		if (device->context == context) {
			*device_ptr = device;
			return 0;
		}
	}
	return device_new(r, context, device_ptr);
}

/* ---- reservation ----------------------------------------------------------------------------- */

/* IBV_EVENT_CQ_ERR: it has overrun, or the device has given it up */
static void cq_event(struct rpma_uv__watched *watched, enum ibv_event_type type)
{
	(void)type;
	cq_fail(rpma_uv__container_of(watched, struct rpma_uv__cq, watched), UV_EIO);
}

static int cq_new(struct rpma_uv__device *device, unsigned entries, struct rpma_uv__cq **cq_ptr)
{
	struct rpma_uv__reactor *r = device->reactor;
	unsigned size = r->opts.cq_entries > entries ? r->opts.cq_entries : entries;
	struct rpma_uv__cq *cq;
	int ret;

	if (size > device->max_cqe)
		size = device->max_cqe;
	if (size < entries)
		return UV_ENOMEM;
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return UV_ENOMEM;
	cq->ibv = ibv_create_cq(device->context, (int)size, cq, device->channel, 0);
	if (cq->ibv == NULL) {
		ret = rpma_uv__status_errno();
		free(cq);
		return ret;
	}
	cq->device = device;
	cq->size = size; /* the device may have given more: not counted on */
	rpma_uv__watched_add(device, &cq->watched, cq->ibv, cq_event);
	TAILQ_INSERT_TAIL(&device->cqs, cq, link);
	r->stats.cq_count++;
	*cq_ptr = cq;
	return 0;
}

int rpma_uv__cq_reserve(struct rpma_uv__reactor *r, struct ibv_context *context, unsigned entries,
	struct rpma_uv__cq **cq_ptr)
{
	struct rpma_uv__device *device;
	struct rpma_uv__cq *cq;
	int ret;

	ret = device_get(r, context, &device);
	if (ret)
		return ret;
	TAILQ_FOREACH (cq, &device->cqs, link) {
		if (!cq->is_broken && cq->size - cq->reserved >= entries)
			break;
	}
	if (cq == NULL) {
		ret = cq_new(device, entries, &cq);
		if (ret)
			return ret;
	}
	cq->reserved += entries;
	assert(cq->reserved <= cq->size);
	*cq_ptr = cq;
	return 0;
}

void rpma_uv__cq_release(struct rpma_uv__cq *cq, unsigned entries)
{
	assert(cq->reserved >= entries);
	cq->reserved -= entries; /* the queue stays for the next one */
}

/* ---- closing --------------------------------------------------------------------------------- */

static void device_close(struct rpma_uv__device *device)
{
	struct rpma_uv__reactor *r = device->reactor;
	struct rpma_uv__cq *cq;

	/* events that came since the last look must be acknowledged too */
	uv_poll_stop(&device->poll);
	channel_ready(&device->poll, 0, UV_READABLE);
	while ((cq = TAILQ_FIRST(&device->cqs)) != NULL) {
		assert(cq->reserved == 0);
		TAILQ_REMOVE(&device->cqs, cq, link);
		rpma_uv__watched_remove(&cq->watched);
		cq_ack(cq);
		(void)ibv_destroy_cq(cq->ibv);
		r->stats.cq_count--;
		free(cq);
	}
	rpma_uv__watch_stop(device);
	LIST_REMOVE(device, link);
	handle_close(device);
}

void rpma_uv__devices_close(struct rpma_uv__reactor *r)
{
	while (!LIST_EMPTY(&r->devices))
		device_close(LIST_FIRST(&r->devices));
}
