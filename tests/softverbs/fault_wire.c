/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * fault_wire.c - a wire that is slow, a peer that is gone, a device that is pulled out
 *
 * A peer that dies is one whose connections end at once, as when its process is killed. One that
 * vanishes says nothing any more, nor hears: as when its machine loses power. Both are told of every
 * peer that this process has at the moment; the peers themselves, if they live, notice when their
 * connection is given up.
 */

#include <errno.h>
#include <string.h>

#include "async.h"
#include "cm.h"
#include "order.h"

#define SLICE_NS     SV_MS /* a limited rate is kept to over this time */
#define RANDOM_START 2463534242

static uint32_t random = RANDOM_START;

static void kick_all(struct sv_timer *timer)
{
	(void)timer;
	list_each(struct sv_link, link, &sv_device.links, node)
	{
		sv_link_kick(link);
	}
}

static struct sv_timer wake = { .at_ns = SV_NEVER, .fire = kick_all };

static void wake_at(uint64_t at_ns)
{
	if (!sv_timer_is_set(&wake) || wake.at_ns > at_ns)
		sv_timer_set(&wake, at_ns);
}

void sv_fault_tx(struct sv_tx *tx)
{
	tx->due_ns = sv_clock->now_ns() + sv_order_value(SV_ORDER_WIRE_DELAY);
}

/* the bytes of those frames whose time has come; *next: when there are more */
static uint64_t due_bytes(struct sv_link *link, uint64_t now, uint64_t *next)
{
	uint64_t bytes = 0;

	*next = SV_NEVER;
	list_each(struct sv_tx, tx, &link->tx_queue, node)
	{
		if (tx->due_ns > now) {
			*next = tx->due_ns;
			break;
		}
		bytes += sizeof(tx->head) - tx->head_sent;
		for (int i = tx->sge_at; i < tx->sge_count; i++)
			bytes += tx->sge[i].length - (i == tx->sge_at ? tx->sge_offset : 0);
	}
	return bytes;
}

/* as many of these bytes as the rate allows now, which then counts as sent */
static uint64_t limited(struct sv_link *link, uint64_t bytes, uint64_t now, uint64_t *next)
{
	uint64_t rate = sv_order_value(SV_ORDER_WIRE_RATE);
	uint64_t slice = rate / (1000 * SV_MS / SLICE_NS);

	if (rate == 0 || bytes == 0)
		return bytes;
	if (link->free_ns > now) {
		*next = link->free_ns;
		return 0;
	}
	slice = slice > 0 ? slice : 1;
	bytes = bytes < slice ? bytes : slice;
	link->free_ns = now + bytes * 1000 * SV_MS / rate;
	*next = link->free_ns;
	return bytes;
}

int sv_fault_iov(struct sv_link *link, struct iovec *iov, int n)
{
	uint64_t now = sv_clock->now_ns();
	uint64_t next;
	uint64_t bytes = limited(link, due_bytes(link, now, &next), now, &next);
	int used = 0;

	while (used < n && bytes > 0) {
		if (iov[used].iov_len > bytes)
			iov[used].iov_len = bytes;
		bytes -= iov[used++].iov_len;
	}
	if (next != SV_NEVER)
		wake_at(next);
	return used;
}

/* until it completes, memory that is received into holds anything */
void sv_fault_payload(const struct ibv_sge *sges, int n)
{
	if (sv_order_due(SV_ORDER_PAYLOAD, 0) == NULL)
		return;
	for (int i = 0; i < n; i++) {
		uint8_t *at = (uint8_t *)(uintptr_t)sges[i].addr;

		sv_watch_written(at, sges[i].length);
		for (uint32_t k = 0; k < sges[i].length; k++) {
			random ^= random << 13;
			random ^= random >> 17;
			random ^= random << 5;
			at[k] = (uint8_t)random;
		}
	}
}

/* what comes in from now on, and what has come in by half, is not looked at */
static void silence(struct sv_link *link)
{
	link->silent = true;
	if (link->rx.in_payload) {
		link->rx.discard = true;
		link->rx.head.type = 0;
	}
}

static void end_all_links(bool told)
{
	list_each(struct sv_link, link, &sv_device.links, node)
	{
		if (link->state != SV_LINK_UP || link->closing)
			continue;
		silence(link);
		if (told) {
			sv_link_down(link, ECONNRESET);
		} else {
			link->state = SV_LINK_DOWN;
			sv_tx_drop_all(link);
		}
	}
}

static void remove_device(void)
{
	list_each(struct sv_context, context, &sv_device.contexts, node)
	{
		context->gone = true;
		sv_async(&context->verbs.context, IBV_EVENT_DEVICE_FATAL, NULL);
	}
	end_all_links(false);
	list_each(struct sv_qp, qp, &sv_device.qps, node)
	{
		sv_qp_fail(qp, IBV_WC_WR_FLUSH_ERR);
	}
	list_each(struct sv_id, id, &sv_device.ids, node)
	{
		if (id->base.verbs != NULL)
			sv_event_tell(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	}
}

void sv_fault_act(struct sv_timer *timer)
{
	struct sv_order *order = container_of(timer, struct sv_order, timer);

	if (order->kind == SV_ORDER_DEVICE_REMOVE)
		remove_device();
	else
		end_all_links(order->kind == SV_ORDER_PEER_DIE);
}

void sv_fault_links_resume(void)
{
	list_each(struct sv_link, link, &sv_device.links, node)
	{
		sv_link_resume(link);
	}
}

int sv_fault_links_paused(void)
{
	int n = 0;

	list_each(struct sv_link, link, &sv_device.links, node)
	{
		n += link->paused;
	}
	return n;
}

void sv_fault_wire_forget(void)
{
	sv_timer_init(&wake, kick_all);
	random = RANDOM_START;
}
