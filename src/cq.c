/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * cq.c - completion queues and completion channels
 *
 * A queue is armed when it is made and again by each wait, before the caller polls: a completion
 * that comes in between raises an event, so nothing is lost. The price is an event that finds
 * nothing now and then. Every event is acknowledged where it is fetched, or destroying the queue
 * would wait for ever.
 *
 * With rpma_conn_wait a program may put the arming off, to poll undisturbed meanwhile:
 *
 *     armed --event, wait(ARM_LATER)--> unarmed --wait()--> armed, and polled once more
 */

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cq.h"
#include "err.h"
#include "log.h"

struct rpma_cq {
	struct ibv_cq *ibv_cq;
	struct ibv_comp_channel *channel;
	bool is_channel_shared;
	atomic_bool is_unarmed; /* until the next rpma_conn_wait without ARM_LATER */
};

int rpma__cq_channel_new(struct ibv_context *ibv_ctx, struct ibv_comp_channel **channel_ptr)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ibv_ctx);

	if (!channel) {
		RPMA_LOG_PROVIDER("ibv_create_comp_channel()");
		return RPMA_E_PROVIDER;
	}

	*channel_ptr = channel;
	return 0;
}

int rpma__cq_channel_delete(struct ibv_comp_channel *channel)
{
	const int ret = ibv_destroy_comp_channel(channel);

	if (!ret)
		return 0;
	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("ibv_destroy_comp_channel()");
	return RPMA_E_PROVIDER;
}

static int destroy_ibv_cq(struct ibv_cq *ibv_cq)
{
	const int ret = ibv_destroy_cq(ibv_cq);

	if (!ret)
		return 0;
	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("ibv_destroy_cq()");
	return RPMA_E_PROVIDER;
}

static int arm(struct ibv_cq *ibv_cq)
{
	const int ret = ibv_req_notify_cq(ibv_cq, 0 /* for every completion */);

	if (!ret)
		return 0;
	rpma__err_set_errno(ret);
	RPMA_LOG_PROVIDER("ibv_req_notify_cq()");
	return RPMA_E_PROVIDER;
}

int rpma__cq_new(struct ibv_context *ibv_ctx, uint32_t size,
	struct ibv_comp_channel *shared_channel, struct rpma_cq **cq_ptr)
{
	const int cqe = size > INT_MAX ? INT_MAX : (int)size;
	struct ibv_comp_channel *channel = shared_channel;
	struct ibv_cq *ibv_cq;
	struct rpma_cq *cq;
	int ret;

	if (!shared_channel) {
		ret = rpma__cq_channel_new(ibv_ctx, &channel);
		if (ret)
			return ret;
	}
	ibv_cq = ibv_create_cq(ibv_ctx, cqe, NULL, channel, 0);
	if (!ibv_cq) {
		RPMA_LOG_PROVIDER("ibv_create_cq(cqe=%d)", cqe);
		ret = RPMA_E_PROVIDER;
		goto err_channel_delete;
	}
	ret = arm(ibv_cq);
	if (ret)
		goto err_destroy_cq;
	cq = malloc(sizeof(*cq));
	if (!cq) {
		ret = RPMA_E_NOMEM;
		goto err_destroy_cq;
	}

	cq->ibv_cq = ibv_cq;
	cq->channel = channel;
	cq->is_channel_shared = shared_channel != NULL;
	atomic_init(&cq->is_unarmed, false);
	*cq_ptr = cq;
	return 0;

err_destroy_cq:
	RPMA__UNDO(destroy_ibv_cq(ibv_cq));
err_channel_delete:
	if (!shared_channel)
		RPMA__UNDO(rpma__cq_channel_delete(channel));
	return ret;
}

int rpma__cq_delete(struct rpma_cq **cq_ptr)
{
	struct rpma_cq *cq = *cq_ptr;
	struct rpma__err_first first = { 0 };

	if (!cq)
		return 0;

	rpma__err_step(&first, destroy_ibv_cq(cq->ibv_cq));
	if (!cq->is_channel_shared)
		rpma__err_step(&first, rpma__cq_channel_delete(cq->channel));
	free(cq);
	*cq_ptr = NULL;
	return rpma__err_result(&first);
}

struct ibv_cq *rpma__cq_get_ibv_cq(const struct rpma_cq *cq)
{
	return cq->ibv_cq;
}

int rpma__cq_next_event(struct ibv_comp_channel *channel, struct ibv_cq **ibv_cq_ptr)
{
	void *cq_context; /* always NULL */

	if (ibv_get_cq_event(channel, ibv_cq_ptr, &cq_context))
		return RPMA_E_NO_COMPLETION;

	ibv_ack_cq_events(*ibv_cq_ptr, 1);
	return 0;
}

int rpma__cq_arm(struct rpma_cq *cq)
{
	const int ret = arm(cq->ibv_cq);

	if (ret)
		rpma__cq_leave_unarmed(cq);
	return ret;
}

void rpma__cq_leave_unarmed(struct rpma_cq *cq)
{
	atomic_store(&cq->is_unarmed, true);
}

bool rpma__cq_is_unarmed(const struct rpma_cq *cq)
{
	return atomic_load(&cq->is_unarmed);
}

bool rpma__cq_claim_unarmed(struct rpma_cq *cq)
{
	return atomic_load(&cq->is_unarmed) && atomic_exchange(&cq->is_unarmed, false);
}

int rpma_cq_get_fd(const struct rpma_cq *cq, int *fd)
{
	if (!cq || !fd)
		return RPMA_E_INVAL;

	*fd = cq->channel->fd;
	return 0;
}

int rpma_cq_wait(struct rpma_cq *cq)
{
	struct ibv_cq *ibv_cq;
	int ret;

	if (!cq)
		return RPMA_E_INVAL;
	if (cq->is_channel_shared)
		return RPMA_E_SHARED_CHANNEL;

	ret = rpma__cq_next_event(cq->channel, &ibv_cq);
	if (ret)
		return ret;
	return arm(cq->ibv_cq);
}

/* what a poll returned that is no count of completions; out of the way of those that are */
__attribute__((cold, noinline)) static int refused(int num_entries, int count)
{
	if (count < 0) {
		errno = EIO; /* drivers do not say why */
		RPMA_LOG_PROVIDER("ibv_poll_cq(num_entries=%d) = %d", num_entries, count);
		return RPMA_E_PROVIDER;
	}
	RPMA_LOG_ERROR("ibv_poll_cq() returned %d completions, not %d at most", count, num_entries);
	return RPMA_E_UNKNOWN;
}

int rpma_cq_get_wc(struct rpma_cq *cq, int num_entries, struct ibv_wc *wc, int *num_entries_got)
{
	int count;

	if (!cq || !wc || num_entries < 1 || (num_entries > 1 && !num_entries_got))
		return RPMA_E_INVAL;

	count = ibv_poll_cq(cq->ibv_cq, num_entries, wc);
	if (count > 0 && count <= num_entries) {
		if (num_entries_got)
			*num_entries_got = count;
		return 0;
	}
	if (count == 0)
		return RPMA_E_NO_COMPLETION; /* not logged: programs poll in a loop */
	return refused(num_entries, count);
}
