/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * peer.c - the device behind an address, without waiting for it
 *
 *   peer_new() --name: libuv's pool--> address_known() --local: bind--------------------> found()
 *              --numeric-------------->                --remote: [ADDR_RESOLVED] event()-->
 *
 * Every way out goes through lookup_end(), once.
 */

#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "peer.h"
#include "reactor.h"
#include "resolve.h"
#include "status.h"

struct rpma_uv__lookup {
	TAILQ_ENTRY(rpma_uv__lookup) link;
	struct rpma_uv__reactor *reactor;
	rpma_uv_op_t *op;
	enum rpma_util_ibv_context_type type;
	struct rpma_peer **peer_ptr;
	struct rpma_uv__cm_id cm_id;
	struct rpma_uv__resolve *resolve;
	struct rpma_uv__deadline deadline;
};

/* what the operation's room holds */
struct RPMA_UV__ROOM lookup_room {
	struct rpma_uv__lookup *lookup;
};

static void lookup_end(struct rpma_uv__lookup *lookup, int status, uint32_t detail)
{
	struct rpma_uv__reactor *r = lookup->reactor;
	rpma_uv_op_t *op = lookup->op;

	rpma_uv__deadline_clear(r, &lookup->deadline);
	rpma_uv__resolve_abandon(&lookup->resolve);
	rpma_uv__cm_id_destroy(&lookup->cm_id);
	TAILQ_REMOVE(&r->lookups, lookup, link);
	free(lookup);
	rpma_uv__future_finish(&op->future, status, 0, detail);
	rpma_uv__reactor_child_gone(r);
}

/* the context stays valid after its id is gone: librdmacm keeps its devices open */
static void found(struct rpma_uv__lookup *lookup)
{
	struct ibv_context *context = lookup->cm_id.id->verbs;
	int ret;

	if (context == NULL) { /* a wildcard address is on no device */
		lookup_end(lookup, UV_EINVAL, 0);
		return;
	}
	ret = rpma_peer_new(context, lookup->peer_ptr);
	lookup_end(lookup, rpma_uv__status_core(ret), 0);
}

static void lookup_event(struct rpma_uv__cm_id *cm_id, const struct rpma_uv__cm_event *event)
{
	struct rpma_uv__lookup *lookup =
		rpma_uv__container_of(cm_id, struct rpma_uv__lookup, cm_id);

	if (event->type == RDMA_CM_EVENT_ADDR_RESOLVED)
		found(lookup);
	else
		lookup_end(lookup, rpma_uv__status_cm(event->type, event->status),
			(uint32_t)event->status);
}

static void address_known(void *arg, int status, const struct sockaddr *addr)
{
	struct rpma_uv__lookup *lookup = arg;
	struct sockaddr *to = (struct sockaddr *)addr;

	lookup->resolve = NULL;
	if (status == 0)
		status = rpma_uv__cm_id_create(lookup->reactor, &lookup->cm_id);
	if (status) {
		lookup_end(lookup, status, 0);
		return;
	}
	rpma_uv__deadline_set(lookup->reactor, &lookup->deadline, RPMA_DEFAULT_TIMEOUT_MS);
	if (lookup->type == RPMA_UTIL_IBV_CONTEXT_LOCAL) {
		if (rdma_bind_addr(lookup->cm_id.id, to))
			lookup_end(lookup, rpma_uv__status_errno(), 0);
		else
			found(lookup);
	} else if (rdma_resolve_addr(lookup->cm_id.id, NULL, to, RPMA_DEFAULT_TIMEOUT_MS)) {
		lookup_end(lookup, rpma_uv__status_errno(), 0);
	}
}

static void lookup_expired(struct rpma_uv__deadline *d)
{
	lookup_end(rpma_uv__container_of(d, struct rpma_uv__lookup, deadline), UV_ETIMEDOUT, 0);
}

static int lookup_cancel(rpma_uv_future_t *f, unsigned how)
{
	(void)how;
	lookup_end(rpma_uv__room(struct lookup_room, rpma_uv__op_of(f))->lookup, UV_ECANCELED, 0);
	return 0;
}

void rpma_uv__lookups_cancel(struct rpma_uv__reactor *r)
{
	while (!TAILQ_EMPTY(&r->lookups))
		lookup_end(TAILQ_FIRST(&r->lookups), UV_ECANCELED, 0);
}

static const struct rpma_uv__kind peer_kind = { .name = "find device", .cancel = lookup_cancel };

static struct rpma_uv__lookup *lookup_new(struct rpma_uv__reactor *r, rpma_uv_op_t *op,
	enum rpma_util_ibv_context_type type, struct rpma_peer **peer_ptr)
{
	struct rpma_uv__lookup *lookup = calloc(1, sizeof(*lookup));

	if (lookup == NULL)
		return NULL;
	lookup->reactor = r;
	lookup->op = op;
	lookup->type = type;
	lookup->peer_ptr = peer_ptr;
	lookup->cm_id.event = lookup_event;
	rpma_uv__deadline_init(&lookup->deadline, lookup_expired);
	rpma_uv__room(struct lookup_room, op)->lookup = lookup;
	TAILQ_INSERT_TAIL(&r->lookups, lookup, link);
	return lookup;
}

rpma_uv_future_t *rpma_uv_peer_new(rpma_uv_reactor_t *reactor, rpma_uv_op_t *op, const char *addr,
	enum rpma_util_ibv_context_type type, struct rpma_peer **peer_ptr)
{
	struct rpma_uv__reactor *r = reactor->impl;
	struct rpma_uv__lookup *lookup;
	struct sockaddr_storage numeric;
	int ret;

	if (addr == NULL || peer_ptr == NULL ||
		(type != RPMA_UTIL_IBV_CONTEXT_LOCAL && type != RPMA_UTIL_IBV_CONTEXT_REMOTE))
		return rpma_uv__op_fail(r, op, &peer_kind, UV_EINVAL);
	if (r->closing)
		return rpma_uv__op_fail(r, op, &peer_kind, UV_ECANCELED);
	op = rpma_uv__op_begin(r, op, &peer_kind);
	if (op == NULL)
		return NULL;
	lookup = lookup_new(r, op, type, peer_ptr);
	if (lookup == NULL) {
		rpma_uv__future_finish(&op->future, UV_ENOMEM, 0, 0);
		return &op->future;
	}
	rpma_uv__deadline_set(r, &lookup->deadline, RPMA_DEFAULT_TIMEOUT_MS);
	if (rpma_uv__resolve_numeric(addr, NULL, &numeric) == 0) {
		address_known(lookup, 0, (struct sockaddr *)&numeric);
		return &op->future;
	}
	ret = rpma_uv__resolve_start(r->loop, addr, NULL, address_known, lookup, &lookup->resolve);
	if (ret)
		lookup_end(lookup, ret, 0);
	return &op->future;
}
