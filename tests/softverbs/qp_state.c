/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * qp_state.c - the states of a queue pair
 *
 *     RESET --> INIT --> RTR --> RTS <--> SQD
 *       ^         `--------`------`--------`----> ERR      any state --> RESET, ERR
 *       `--------------------------------------------'
 *
 *     RESET: posting fails.   INIT: receives are taken, what arrives waits on its link.
 *     RTR: requests are executed.   RTS: and sent.   SQD: those out are finished, none is sent.
 *     ERR: nothing is on the link; all that is posted completes at once with a flush error.
 */

#include <errno.h>
#include <string.h>

#include "async.h"
#include "fault.h"
#include "progress.h"
#include "qp.h"
#include "srq.h"

struct transition {
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	int required;
	int optional;
};

#define ANYTIME (IBV_QP_STATE | IBV_QP_CUR_STATE)
#define ON_CHANGE \
	(IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE)

static const struct transition transitions[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPS_INIT, IBV_QPS_RTR,
		IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC,
		ON_CHANGE },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, ON_CHANGE },
	{ IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	{ IBV_QPS_SQD, IBV_QPS_RTS, 0, ON_CHANGE },
	{ IBV_QPS_SQD, IBV_QPS_SQD, 0,
		ON_CHANGE | IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_PKEY_INDEX },
	{ IBV_QPS_SQE, IBV_QPS_RTS, 0, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER },
};

static bool is_allowed(enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	mask &= ~ANYTIME;
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return mask == 0;
	for (size_t i = 0; i < sizeof(transitions) / sizeof(*transitions); i++) {
		const struct transition *t = &transitions[i];

		if (t->from != from || t->to != to)
			continue;
		return (mask & t->required) == t->required &&
		       (mask & ~(t->required | t->optional)) == 0;
	}
	return false;
}

static int check_values(const struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_PORT) && attr->port_num != 1)
		return EINVAL;
	if ((mask & IBV_QP_PKEY_INDEX) && attr->pkey_index != 0)
		return EINVAL;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > SV_MAX_RD_ATOMIC)
		return EINVAL;
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > SV_MAX_RD_ATOMIC)
		return EINVAL;
	if ((mask & IBV_QP_TIMEOUT) && attr->timeout > 31)
		return EINVAL;
	if ((mask & IBV_QP_RETRY_CNT) && attr->retry_cnt > 7)
		return EINVAL;
	if ((mask & IBV_QP_RNR_RETRY) && attr->rnr_retry > 7)
		return EINVAL;
	if ((mask & IBV_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
		return EINVAL;
	if ((mask & IBV_QP_PATH_MTU) &&
		(attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096))
		return EINVAL;
	return 0;
}

#define TAKE(bit, field)                         \
	do {                                     \
		if (mask & (bit))                \
			to->field = from->field; \
	} while (0)

static void take_values(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
	TAKE(IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	TAKE(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	TAKE(IBV_QP_PKEY_INDEX, pkey_index);
	TAKE(IBV_QP_PORT, port_num);
	TAKE(IBV_QP_AV, ah_attr);
	TAKE(IBV_QP_PATH_MTU, path_mtu);
	TAKE(IBV_QP_TIMEOUT, timeout);
	TAKE(IBV_QP_RETRY_CNT, retry_cnt);
	TAKE(IBV_QP_RNR_RETRY, rnr_retry);
	TAKE(IBV_QP_RQ_PSN, rq_psn);
	TAKE(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	TAKE(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	TAKE(IBV_QP_SQ_PSN, sq_psn);
	TAKE(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(IBV_QP_DEST_QPN, dest_qp_num);
}

void sv_qp_stop(struct sv_qp *qp)
{
	sv_requester_stop(qp);
	if (qp->link != NULL)
		sv_link_cut(qp->link, qp);
}

void sv_qp_fail(struct sv_qp *qp, enum ibv_wc_status first)
{
	if (qp->attr.qp_state == IBV_QPS_ERR)
		return;
	qp->attr.qp_state = IBV_QPS_ERR;
	sv_qp_stop(qp);
	sv_requester_flush(qp, first);
	sv_responder_flush(qp);
	if (qp->srq != NULL)
		sv_async(qp->base.context, IBV_EVENT_QP_LAST_WQE_REACHED, &qp->base);
	if (qp->link != NULL) {
		sv_link_kick(qp->link);
		sv_link_resume(qp->link);
	}
}

/* everything is forgotten, without completions */
static void reset(struct sv_qp *qp)
{
	struct ibv_qp_attr blank = { .qp_state = IBV_QPS_RESET };

	qp->attr = blank;
	sv_qp_stop(qp);
	sv_meet_stop(qp);
	if (qp->link != NULL)
		sv_link_leave(qp->link, NULL, qp);
	qp->link = NULL;
	sv_cq_forget_qp(sv_cq(qp->base.send_cq), qp);
	sv_cq_forget_qp(sv_cq(qp->base.recv_cq), qp);
	qp->freed = qp->done = qp->sent = qp->posted = 0;
	qp->reads_out = 0;
	qp->rq.freed = qp->rq.taken = qp->rq.posted = 0;
	qp->incoming.valid = false;
	qp->started = false;
}

static int enter_rtr(struct sv_qp *qp)
{
	if (!sv_responder_init(qp))
		return ENOMEM;
	if (qp->link == NULL)
		sv_meet_start(qp);
	return 0;
}

void sv_qp_attach(struct sv_qp *qp, struct sv_link *link)
{
	assert(qp->link == NULL);
	assert(link->qp == NULL);
	qp->link = link;
	link->qp = qp;
}

int sv_qp_modify(struct sv_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state from = qp->attr.qp_state;
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;
	int ret;

	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != from)
		return EINVAL;
	if (!is_allowed(from, to, mask))
		return EINVAL;
	ret = check_values(attr, mask);
	if (ret != 0)
		return ret;
	if (to == IBV_QPS_ERR) {
		sv_qp_fail(qp, IBV_WC_WR_FLUSH_ERR);
		return 0;
	}
	if (to == IBV_QPS_RESET) {
		reset(qp);
		return 0;
	}
	take_values(&qp->attr, attr, mask);
	if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
		ret = enter_rtr(qp);
	if (ret != 0)
		return ret;
	qp->attr.qp_state = to;
	if (to == IBV_QPS_SQD && from == IBV_QPS_RTS && qp->done == qp->sent &&
		qp->attr.en_sqd_async_notify)
		sv_async(qp->base.context, IBV_EVENT_SQ_DRAINED, &qp->base);
	if (qp->link != NULL && to != IBV_QPS_INIT)
		sv_link_resume(qp->link);
	if (to == IBV_QPS_RTS)
		sv_requester_run(qp);
	return 0;
}

SV_EXPORT int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
	int ret;

	if (SV_DEAD(SV_QP, base))
		return EINVAL;
	if (!sv_enter(base->context))
		return errno;
	sv_progress_settle();
	ret = sv_qp_modify(sv_qp(base), attr, mask);
	if (ret == 0 && (mask & IBV_QP_STATE))
		base->state = attr->qp_state;
	sv_unlock();
	return ret;
}
