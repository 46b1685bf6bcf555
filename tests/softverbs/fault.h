/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * fault.h - where faults hook in
 *
 * Each place in the device where hardware can do something rare asks first, with sv_fault() or one of
 * the calls below it. Without orders that is one test of a flag, which is predicted well.
 *
 * ASSUMPTIONS: the device lock is held.
 */

#ifndef SOFTVERBS_FAULT_H
#define SOFTVERBS_FAULT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "device.h"
#include "strict.h"

enum sv_fault_point {
	SV_FAULT_POST_SEND, /* object: ibv_qp; an errno fails the work request */
	SV_FAULT_POST_RECV, /* object: ibv_qp or ibv_srq */
	SV_FAULT_REG_MR, /* object: ibv_pd */
	SV_FAULT_CREATE_QP, /* object: ibv_pd */
	SV_FAULT_CREATE_CQ, /* object: ibv_context */
	SV_FAULT_WORK, /* object: ibv_qp; the ibv_wc_status of a work request that is not to travel */
	SV_FAULT_REQUEST, /* object: ibv_qp; SV_FAULT_RNR, or how a peer's request is refused */
	SV_FAULT_POLL, /* object: ibv_cq; a positive number bounds the batch */
	SV_FAULT_ARM, /* object: ibv_cq; SV_FAULT_TWICE: an event that nothing has earned */
	SV_FAULT_COMP_EVENT, /* object: ibv_cq; SV_FAULT_DROP, SV_FAULT_TWICE */
	SV_FAULT_COMPLETE, /* object: ibv_cq; SV_FAULT_HIDE, SV_FAULT_OVERRUN */
	SV_FAULT_GET_CQ_EVENT, /* object: the channel; EINTR or EAGAIN from the read */
	SV_FAULT_GET_CM_EVENT,
	SV_FAULT_GET_ASYNC_EVENT, /* object: the context */
	SV_FAULT_POINTS,
};

enum {
	SV_FAULT_DROP = -1,
	SV_FAULT_TWICE = -2,
	SV_FAULT_HIDE = -3,
	SV_FAULT_OVERRUN = -4,
	SV_FAULT_RNR = -5,
};

/* whose answers are withheld until softverbs_release() */
enum sv_hold {
	SV_HOLD_RESOLVER = 1,
	SV_HOLD_PEER = 2,
	SV_HOLD_DESTROY = 4,
	SV_HOLD_REGISTRATION = 8,
};

struct ibv_sge;
struct sv_event;
struct sv_id;
struct sv_link;
struct sv_tx;

extern bool sv_faults_on; /* there are orders: all else here is asked only then */

int sv_fault_ask(enum sv_fault_point point, void *object);
void sv_fault_wait(enum sv_hold what); /* drops the lock meanwhile */
bool sv_fault_holds(enum sv_hold what);
uint32_t sv_fault_max_msg(void);

/* 0: nothing special; positive: an errno, or the number that the point is about; else SV_FAULT_* */
static inline int sv_fault(enum sv_fault_point point, void *object)
{
	return __builtin_expect(sv_faults_on, 0) ? sv_fault_ask(point, object) : 0;
}

/* does not return before the answer may be given */
static inline void sv_hold(enum sv_hold what)
{
	if (__builtin_expect(sv_faults_on, 0))
		sv_fault_wait(what);
}

static inline bool sv_holds(enum sv_hold what)
{
	return __builtin_expect(sv_faults_on, 0) && sv_fault_holds(what);
}

/* the longest message of the port */
static inline uint32_t sv_max_msg(void)
{
	return __builtin_expect(sv_faults_on, 0) ? sv_fault_max_msg() : SV_MAX_MSG;
}

/* fault_cm.c: events on their way to the program */
bool sv_fault_event(struct sv_event *event); /* true: it is not to be queued, or not now */
void sv_fault_events_drop(struct sv_id *id); /* kept back, and now of no use */
void sv_fault_events_forget(void); /* in a forked child */

/* fault_wire.c: the wire, and what is at its other end */
void sv_fault_tx(struct sv_tx *tx); /* enters its queue */
int sv_fault_iov(struct sv_link *link, struct iovec *iov, int n); /* what may travel now of it */
void sv_fault_payload(const struct ibv_sge *sges, int n); /* the device may write there */

/* what softverbs.h looks up */
__attribute__((visibility("default"))) int softverbs_device_faults(const char *text);
__attribute__((visibility("default"))) int softverbs_device_release(const char *what);
__attribute__((visibility("default"))) int softverbs_device_withheld(const char *what);

void sv_fault_forget(void); /* in a forked child: orders stay, what is under way does not */
void sv_fault_restart(void); /* a new simulated world: orders count from the beginning */

#endif
