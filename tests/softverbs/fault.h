/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * fault.h - where faults and checks of the program's behaviour hook in
 *
 * Each place in the device where hardware can do something rare asks sv_fault() first. Without orders
 * that is one test of a flag. sv_misuse() is told what no program should do, and where from.
 */

#ifndef SOFTVERBS_FAULT_H
#define SOFTVERBS_FAULT_H

#include <stdbool.h>

enum sv_fault_point {
	SV_FAULT_POST_SEND, /* object: ibv_qp; an errno fails the work request */
	SV_FAULT_POST_RECV, /* object: ibv_qp or ibv_srq */
	SV_FAULT_REG_MR, /* object: ibv_pd */
	SV_FAULT_CREATE_QP, /* object: ibv_pd */
	SV_FAULT_CREATE_CQ, /* object: ibv_context */
	SV_FAULT_POLL, /* object: ibv_cq; a positive number bounds the batch */
	SV_FAULT_ARM, /* object: ibv_cq; between the program's poll and its arming */
	SV_FAULT_COMP_EVENT, /* object: ibv_cq; SV_FAULT_DROP, SV_FAULT_TWICE */
	SV_FAULT_CM_EVENT, /* object: rdma_cm_event; SV_FAULT_DROP, SV_FAULT_TWICE */
	SV_FAULT_GET_EVENT, /* object: the channel; EINTR or EAGAIN from the read */
	SV_FAULT_COMPLETE, /* object: ibv_wc, before it enters its CQ */
	SV_FAULT_POINTS,
};

enum { SV_FAULT_DROP = -1, SV_FAULT_TWICE = -2 };

extern bool sv_faults_on;

int sv_fault_ask(enum sv_fault_point point, void *object);

/* 0: nothing special; positive: an errno, or the number that the point is about; else SV_FAULT_* */
static inline int sv_fault(enum sv_fault_point point, void *object)
{
	return __builtin_expect(sv_faults_on, 0) ? sv_fault_ask(point, object) : 0;
}

/* site: the return address of the exported call */
#define SV_SITE __builtin_return_address(0)

void sv_misuse(const void *site, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
