/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * conn.h - a connection: its states are drawn atop conn.c
 *
 * ASSUMPTIONS
 * - a connection is on reactor->conns from its creation until its close callback has returned
 * - `error` is latched once, when the connection leaves its way to READY or READY itself
 */

#ifndef RPMA_UV_CONN_H
#define RPMA_UV_CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cm.h"
#include "cq.h"
#include "deadline.h"
#include "device.h"
#include "keepalive.h"
#include "queue.h"
#include "reactor.h"
#include "resolve.h"

enum rpma_uv__conn_state {
	RPMA_UV__CONN_NEW,
	RPMA_UV__CONN_RESOLVING,
	RPMA_UV__CONN_ROUTING,
	RPMA_UV__CONN_CONNECTING,
	RPMA_UV__CONN_READY,
	RPMA_UV__CONN_DRAINING,
	RPMA_UV__CONN_CLOSED,
};

/* futures of a connection that wait for a state, in the rooms of their operations */
struct RPMA_UV__ROOM rpma_uv__conn_waiter {
	TAILQ_ENTRY(rpma_uv__conn_waiter) link;
	rpma_uv_conn_t *conn;
};

TAILQ_HEAD(rpma_uv__conn_waiters, rpma_uv__conn_waiter);

struct rpma_uv_conn {
	TAILQ_ENTRY(rpma_uv_conn) link;
	TAILQ_ENTRY(rpma_uv_conn) dirty_link;
	struct rpma_uv__reactor *reactor;
	enum rpma_uv__conn_state state;

	/* what it was made with */
	struct rpma_peer *peer;
	struct ibv_context *context;
	struct rpma_conn_cfg *cfg; /* a copy of its own */
	int timeout_ms; /* of a step of resolution */
	struct rpma_uv__cq *cq; /* send_size + recv_size entries of it are reserved */
	unsigned reserved;
	rpma_uv_srq_t *srq; /* where its receives come from; NULL: from itself */
	LIST_ENTRY(rpma_uv_conn) srq_link; /* of it, while there is a queue pair */

	/* while it connects */
	rpma_uv_op_t *connecting; /* of connect or accept; NULL otherwise */
	struct rpma_uv__resolve *resolve;
	struct rpma_uv__route *route; /* being looked up on libuv's pool, which uses the id */
	struct rpma_conn_private_data sending; /* points into sending_data */
	uint8_t sending_data[UINT8_MAX];

	/* the device's side of it */
	struct rpma_uv__cm_id cm_id;
	bool has_qp;
	uint32_t qp_num; /* of it */
	struct rpma_uv__watched watched; /* it */
	bool can_have_taken; /* receives of a shared queue: its state was such that it could */
	bool has_taken_last; /* it will take none any more */
	bool is_gone; /* the peer has left, or has answered that we do */
	bool was_ready; /* the peer has to be told of the end */
	struct ibv_qp_ex *native_qp; /* NULL: it has neither flush nor atomic write of its own */
	struct rpma__flush *flush; /* for emulated ones; NULL until the first */
	size_t max_msg;
	uint32_t max_inline; /* known at READY */
	struct rpma_uv__queue queue;
	struct rpma_uv__deadline deadline; /* of the present state */
	struct rpma_uv__keepalive keepalive;

	/* how it ended: 0 while it has not, and when we disconnected */
	int error;
	uint32_t error_detail;
	bool has_ended; /* error is final */
	struct rpma_uv__conn_waiters ends;
	struct rpma_uv__conn_waiters disconnects;

	/* what the peer told */
	struct rpma_conn_private_data received; /* its memory is ours */
	bool direct_write_to_pmem;
	char remote_addr[64];

	bool is_closing; /* rpma_uv_conn_close() was called */
	rpma_uv_close_cb close_cb;
	void *close_data;
	struct rpma_uv__closer closer;
};

/*
 * Something ended the connection: latch the first reason and go to DRAINING. status 0: we
 * disconnected. No-op on one that is on its way out already.
 */
void rpma_uv__conn_end(rpma_uv_conn_t *c, int status, uint32_t detail);

/* its queue pair was found in error: end it, if nothing else has */
void rpma_uv__conn_broke(rpma_uv_conn_t *c, uint32_t detail);

/* DRAINING: go on to CLOSED if nothing is out any more; never from within the polling of a queue */
void rpma_uv__conn_drain_step(rpma_uv_conn_t *c);

/* what a connection looks at of a configuration (NULL: the defaults): 0 or UV_ENOMEM */
int rpma_uv__conn_cfg_copy(const struct rpma_conn_cfg *from, struct rpma_conn_cfg **cfg_ptr);

/* what happened to its queue pair */
void rpma_uv__conn_qp_event(struct rpma_uv__watched *watched, enum ibv_event_type type);

/* the one place that changes the state */
void rpma_uv__conn_set_state(rpma_uv_conn_t *c, enum rpma_uv__conn_state state);

/* its CM events, and the deadline of a step on the way to READY; see connect.c */
void rpma_uv__connect_event(struct rpma_uv__cm_id *cm_id, const struct rpma_uv__cm_event *event);
void rpma_uv__connect_abandon(rpma_uv_conn_t *c);

/* the peer of an accepted connection has sent something, so the connection is there */
void rpma_uv__connect_heard(rpma_uv_conn_t *c);

/* may receives, or sends, be called: 0, or the status to refuse them with */
int rpma_uv__conn_may_recv(const rpma_uv_conn_t *c);
int rpma_uv__conn_may_send(const rpma_uv_conn_t *c);

/* outstanding READs the connection may have, and the bytes that one message may carry */
unsigned rpma_uv__conn_read_depth(const rpma_uv_conn_t *c);
size_t rpma_uv__conn_max_msg(const rpma_uv_conn_t *c);

/* connections of a device: all of them, or those of one queue, or of one port */
struct rpma_uv__conns_of {
	const struct rpma_uv__device *device;
	const struct rpma_uv__cq *cq; /* NULL: any */
	const rpma_uv_srq_t *srq; /* NULL: any */
	uint8_t port; /* 0: any */
};

/* their device has failed: the peer's answer is not waited for, of those that end already either */
void rpma_uv__conns_fail(
	struct rpma_uv__reactor *r, const struct rpma_uv__conns_of *of, int status);

/* close all of the reactor */
void rpma_uv__conns_close(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_CONN_H */
