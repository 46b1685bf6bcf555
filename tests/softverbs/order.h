/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * order.h - orders for faults, as the files of faults share them
 *
 * An order is text in softverbs(7), and one struct sv_order here: what is to happen, where, and at
 * which of the times that the place is passed. ASSUMPTIONS: the device lock is held.
 */

#ifndef SOFTVERBS_ORDER_H
#define SOFTVERBS_ORDER_H

#include "clock.h"
#include "fault.h"

enum sv_order_kind {
	SV_ORDER_ANSWER, /* the points of `points` answer with `answer` */
	SV_ORDER_CM_LATE, /* events of the kind `event` */
	SV_ORDER_CM_DROP,
	SV_ORDER_CM_DOUBLE,
	SV_ORDER_CM_AFTER,
	SV_ORDER_RESOLVE_NEVER,
	SV_ORDER_WITHHOLD, /* value: enum sv_hold */
	SV_ORDER_WIRE_DELAY, /* value: nanoseconds */
	SV_ORDER_WIRE_RATE, /* value: bytes a second */
	SV_ORDER_PAYLOAD,
	SV_ORDER_PORT_MESSAGE, /* value: bytes */
	SV_ORDER_PEER_DIE, /* once, after `value` nanoseconds or at the post with number `first` */
	SV_ORDER_PEER_VANISH,
	SV_ORDER_DEVICE_REMOVE,
};

struct sv_order {
	enum sv_order_kind kind;
	unsigned points; /* bits: 1 << enum sv_fault_point */
	int answer;
	int event; /* enum rdma_cm_event_type */
	int then; /* the same, of what comes after */
	uint64_t value;
	unsigned first; /* the time it happens; 0: each time */
	bool open; /* and from then on */
	unsigned seen;
	struct sv_timer timer;
};

/* fault_parse.c: one order, from text without spaces; false: not understood */
bool sv_order_parse(const char *text, struct sv_order *order);

/* whom "withhold" and softverbs_release() name, as bits; 0: not understood */
unsigned sv_order_holds(const char *names);

/* fault.c: the order of that kind that is due now, counting this time; NULL: none */
struct sv_order *sv_order_due(enum sv_order_kind kind, int event);

/* the last order of that kind gives its value, 0: there is none */
uint64_t sv_order_value(enum sv_order_kind kind);

/* fault_cm.c */
void sv_fault_events_release(void); /* the resolver's */
int sv_fault_events_held(void);

/* fault_wire.c */
void sv_fault_act(struct sv_timer *timer); /* of an order to peer or device: now */
void sv_fault_links_resume(void);
int sv_fault_links_paused(void);
void sv_fault_wire_forget(void);

#endif
