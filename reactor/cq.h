/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * cq.h - one completion channel a device, one or more completion queues on it
 *
 * ASSUMPTIONS
 * - a user of a completion queue reserves room for all that it can ever have outstanding, so that a
 *   queue can neither overrun nor be waited for
 * - wr_id of every work request leads to its connection, see queue.h
 */

#ifndef RPMA_UV_CQ_H
#define RPMA_UV_CQ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <uv.h>

#include "device.h"

struct rpma_uv__reactor;
struct rpma_uv__device;

struct rpma_uv__cq {
	TAILQ_ENTRY(rpma_uv__cq) link;
	struct rpma_uv__device *device;
	struct ibv_cq *ibv;
	unsigned size; /* entries */
	unsigned reserved; /* of them */
	unsigned unacked; /* events taken and not acknowledged yet */
	bool armed; /* the next completion raises an event */
	bool woken; /* an event came, nothing was polled since */
	bool is_broken; /* it cannot be armed: nobody may start to use it */
	unsigned arm_refusals; /* in a row */
	struct rpma_uv__watched watched;
};

TAILQ_HEAD(rpma_uv__cqs, rpma_uv__cq);

struct rpma_uv__device {
	LIST_ENTRY(rpma_uv__device) link;
	struct rpma_uv__reactor *reactor;
	struct ibv_context *context;
	struct ibv_comp_channel *channel;
	uv_poll_t poll;
	struct rpma_uv__watch *watch; /* of its asynchronous events; NULL: left to the program */
	unsigned max_cqe;
	struct rpma_uv__cqs cqs;
};

/*
 * find or make a queue of the device with room for `entries` more: 0, or UV_E*, *cq_ptr untouched
 */
int rpma_uv__cq_reserve(struct rpma_uv__reactor *r, struct ibv_context *context, unsigned entries,
	struct rpma_uv__cq **cq_ptr);
void rpma_uv__cq_release(struct rpma_uv__cq *cq, unsigned entries);

/*
 * take completions until the queue is empty, outside any budget: after a queue pair was destroyed
 */
void rpma_uv__cq_drain(struct rpma_uv__cq *cq);

/* poll what may have completions, `budget` of them at most: true when there may be more */
bool rpma_uv__cqs_poll(struct rpma_uv__reactor *r, unsigned budget);

/* arm every disarmed queue and poll it again: true when something was found */
bool rpma_uv__cqs_arm(struct rpma_uv__reactor *r);

/* acknowledge, destroy, close the handles (counted in handles_open) */
void rpma_uv__devices_close(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_CQ_H */
