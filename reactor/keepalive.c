/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * keepalive.c - a write of nothing, when nothing else was sent for a while
 *
 *   READY: start() --> deadline --expired--> sent meanwhile, or something is on its way? wait on
 *                         ^                  silent? queue the write
 *                         +--------------------------+
 *
 * A peer that is gone answers nothing that is sent to it: the write fails as any operation would,
 * and ends the connection. What is on its way already tells as much. A write of zero bytes touches
 * no memory, so it needs no region of the peer (the key is not looked at), and unlike a READ takes
 * no part of the negotiated depth.
 *
 * Posting does not touch the deadline, only notes the time: when the deadline comes it is moved to
 * where it should have been.
 */

#include "conn.h"
#include "keepalive.h"
#include "reactor.h"

static void keepalive_expired(struct rpma_uv__deadline *d)
{
	rpma_uv_conn_t *c = rpma_uv__container_of(d, rpma_uv_conn_t, keepalive.deadline);
	struct rpma_uv__keepalive *k = &c->keepalive;
	const struct rpma_uv__queue *q = &c->queue;
	uint64_t silent_ms = uv_now(c->reactor->loop) - q->sent_ms;

	assert(c->state == RPMA_UV__CONN_READY);
	if (silent_ms < k->interval_ms) {
		rpma_uv__deadline_set(c->reactor, d, k->interval_ms - silent_ms);
		return;
	}
	if (!q->is_busy) {
		k->wr = (struct rpma_uv__wr){
			.opcode = IBV_WR_RDMA_WRITE,
			.is_internal = true,
		};
		rpma_uv__queue_add(c, &k->wr);
	}
	rpma_uv__deadline_set(c->reactor, d, k->interval_ms);
}

void rpma_uv__keepalive_init(rpma_uv_conn_t *c)
{
	rpma_uv__deadline_init(&c->keepalive.deadline, keepalive_expired);
}

void rpma_uv__keepalive_start(rpma_uv_conn_t *c)
{
	assert(c->state == RPMA_UV__CONN_READY);
	if (c->keepalive.interval_ms > 0)
		rpma_uv__deadline_set(c->reactor, &c->keepalive.deadline, c->keepalive.interval_ms);
}

void rpma_uv__keepalive_stop(rpma_uv_conn_t *c)
{
	rpma_uv__deadline_clear(c->reactor, &c->keepalive.deadline);
}

int rpma_uv_conn_set_keepalive(rpma_uv_conn_t *c, uint64_t keepalive_ms)
{
	int status;

	if (c == NULL)
		return UV_EINVAL;
	status = rpma_uv__conn_may_recv(c);
	if (status)
		return status;
	c->keepalive.interval_ms = keepalive_ms;
	rpma_uv__keepalive_stop(c);
	if (c->state == RPMA_UV__CONN_READY)
		rpma_uv__keepalive_start(c);
	return 0;
}
