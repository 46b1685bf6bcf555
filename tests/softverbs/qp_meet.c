/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * qp_meet.c - queue pairs that are connected by ibv_modify_qp alone
 *
 * At RTR each of the two knows the other's number. Each opens a meeting point under its own; the one
 * with the smaller number goes to the other's, again and again until it is there, and says who it is.
 * A queue pair that is connected to itself meets nobody.
 */

#include <stdlib.h>

#include "qp.h"
#include "wire.h"

#define AGAIN_NS (5 * SV_MS)

static void go(struct sv_qp *qp)
{
	int error;
	struct sv_link *link = sv_wire->meet(qp->attr.dest_qp_num, &error);

	if (link != NULL)
		sv_qp_attach(qp, link);
	else
		sv_timer_set(&qp->meet_timer, sv_clock->now_ns() + AGAIN_NS);
}

static void timer_fired(struct sv_timer *timer)
{
	struct sv_qp *qp = container_of(timer, struct sv_qp, meet_timer);

	if (qp->link != NULL) { /* the last try */
		sv_link_leave(qp->link, NULL, qp);
		qp->link = NULL;
	}
	go(qp);
}

/* without a meeting point the peer is one that never answers */
void sv_meet_start(struct sv_qp *qp)
{
	struct sv_listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return;
	l->qp = qp;
	if (sv_wire->meet_bind(l, qp->base.qp_num) != 0) {
		free(l);
		return;
	}
	qp->meet = l;
	qp->meet_timer.fire = timer_fired;
	if (qp->base.qp_num < qp->attr.dest_qp_num)
		go(qp);
}

void sv_meet_stop(struct sv_qp *qp)
{
	sv_timer_stop(&qp->meet_timer);
	if (qp->meet == NULL)
		return;
	list_each(struct sv_link, link, &sv_device.links, node) if (link->listener == qp->meet)
		sv_link_close(link);
	sv_wire->unbind(qp->meet);
	free(qp->meet);
	qp->meet = NULL;
}

void sv_meet_up(struct sv_link *link)
{
	struct sv_cm_message message = { .qp_num = link->qp->base.qp_num };

	sv_link_send_cm(link, SV_FRAME_MEET, &message);
}

void sv_meet_down(struct sv_link *link)
{
	if (!link->qp->started && link->heard_ns == 0)
		sv_timer_set(&link->qp->meet_timer, sv_clock->now_ns() + AGAIN_NS);
}

void sv_meet_frame(struct sv_link *link)
{
	struct sv_qp *qp = link->listener != NULL ? link->listener->qp : NULL;

	if (qp == NULL || qp->link != NULL || link->message.magic != SV_CM_MAGIC ||
		link->message.version != SV_CM_VERSION ||
		link->message.qp_num != qp->attr.dest_qp_num) {
		sv_link_close(link);
		return;
	}
	link->listener = NULL;
	sv_qp_attach(qp, link);
	sv_requester_run(qp);
}
