/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * wait.h - waiting for what must come, and for what must not
 *
 * Every wait ends: after WAIT_MS the check has failed. What must not come is waited for QUIET_MS.
 */

#ifndef CONFORMANCE_WAIT_H
#define CONFORMANCE_WAIT_H

#include <pthread.h>
#include <rdma/rdma_cma.h>

#include "check.h"

#define WAIT_MS  20000
#define QUIET_MS 150

/* of a clock that only goes forward */
int64_t now_ms(void);

/* is there something to read from fd within ms milliseconds? */
bool readable(int fd, int ms);

/* from now on, reading fd never waits */
void nonblocking(int fd);

/* the next event of a channel, which must be of this type; the caller acknowledges it */
struct rdma_cm_event *cm_take(struct rdma_event_channel *channel, enum rdma_cm_event_type type);

/* the same, acknowledged; returns its status */
int cm_expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type);

/* an event's private data: these bytes, then zeroes up to its size; acknowledges the event */
void cm_expect_data(struct rdma_cm_event *event, const void *data, size_t len, size_t size);

/* the next completion, whatever it is */
struct ibv_wc wc_take(struct ibv_cq *cq);

/* the next completion must have this id and status */
struct ibv_wc wc_expect(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status);

/* no completion comes */
void wc_none(struct ibv_cq *cq);

/* the next event of a completion channel, which must be of this CQ; acknowledged */
void cq_event(struct ibv_comp_channel *channel, struct ibv_cq *cq);

/* arm a CQ for the next completion, or the next solicited one */
void cq_arm(struct ibv_cq *cq, int solicited_only);

/* the next asynchronous event of this type, others are passed over; the caller acknowledges it */
struct ibv_async_event async_take(struct ibv_context *verbs, enum ibv_event_type type);

/* a call in a thread of its own, to see whether it waits */
struct background {
	pthread_t thread;
	int done[2];
	int (*call)(void *arg);
	void *arg;
	int result;
};

void background_start(struct background *b, int (*call)(void *arg), void *arg);
bool background_waits(struct background *b); /* still, after QUIET_MS */
int background_join(struct background *b); /* what it returned, within WAIT_MS */

#endif /* CONFORMANCE_WAIT_H */
