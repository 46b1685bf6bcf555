/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * conn.c - connections: events, completion queues, end
 *
 *     made --rdma_connect / rdma_accept--> started --ESTABLISHED--> in use --CLOSED--> over
 *                                             |                        |
 *                                             +-- REJECTED, UNREACHABLE, LOST --> over
 *
 * rdma_cm keeps this state, not we: each call is passed on, and what does not fit is refused there.
 * Deleting is right in any state.
 */

#include <errno.h>
#include <stdlib.h>

#include "conn.h"
#include "err.h"
#include "id.h"
#include "log.h"
#include "native.h"

int rpma__conn_new(struct rpma__link *link, struct rpma_conn **conn_ptr)
{
	struct rpma_conn *conn = malloc(sizeof(*conn));
	int ret;

	if (!conn)
		return RPMA_E_NOMEM;

	conn->link = link;
	conn->qp = link->id->qp;
	conn->native_qp = rpma__native_qp(conn->qp);
	atomic_init(&conn->direct_write_to_pmem, false);
	/* needed beside a native flush too: not all regions take one */
	ret = rpma__flush_new(link->peer, &conn->flush);
	if (ret)
		goto err_free;
	if (!link->evch) {
		ret = rpma__link_own_events(link);
		if (ret)
			goto err_flush_delete;
	}

	*conn_ptr = conn;
	return 0;

err_flush_delete:
	RPMA__UNDO(rpma__flush_delete(&conn->flush));
err_free:
	RPMA__UNDO(free(conn));
	return ret;
}

int rpma_conn_get_event_fd(const struct rpma_conn *conn, int *fd)
{
	if (!conn || !fd)
		return RPMA_E_INVAL;

	*fd = conn->link->evch->fd;
	return 0;
}

/* RPMA_CONN_UNDEFINED: no counterpart */
static enum rpma_conn_event conn_event_of(enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ESTABLISHED:
		return RPMA_CONN_ESTABLISHED;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return RPMA_CONN_LOST;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return RPMA_CONN_CLOSED;
	case RDMA_CM_EVENT_REJECTED:
		return RPMA_CONN_REJECTED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return RPMA_CONN_UNREACHABLE;
	default:
		return RPMA_CONN_UNDEFINED;
	}
}

int rpma_conn_next_event(struct rpma_conn *conn, enum rpma_conn_event *event)
{
	struct rdma_cm_event *cm_event;
	enum rdma_cm_event_type type;
	enum rpma_conn_event conn_event;
	bool brings_data;
	int status;
	int ret;

	if (!conn || !event)
		return RPMA_E_INVAL;

	ret = rpma__id_next_event(conn->link->evch, &cm_event);
	if (ret)
		return ret;
	type = cm_event->event;
	status = cm_event->status;
	brings_data = type == RDMA_CM_EVENT_ESTABLISHED && !conn->link->data.ptr;
	if (brings_data)
		rpma__link_store_data(conn->link, cm_event);
	ret = rpma__id_ack_event(cm_event);
	if (ret) {
		/* the caller never hears of the event, so it has not brought data either */
		if (brings_data)
			conn->link->data = (struct rpma_conn_private_data){ NULL, 0 };
		return ret;
	}

	conn_event = conn_event_of(type);
	if (conn_event == RPMA_CONN_UNDEFINED) {
		RPMA_LOG_WARNING("skipped %s (status %d)", rdma_event_str(type), status);
		return RPMA_E_UNKNOWN;
	}
	RPMA_LOG_NOTICE("%s (%s, status %d)", rpma_utils_conn_event_2str(conn_event),
		rdma_event_str(type), status);
	*event = conn_event;
	return 0;
}

int rpma_conn_get_private_data(const struct rpma_conn *conn, struct rpma_conn_private_data *pdata)
{
	if (!conn || !pdata)
		return RPMA_E_INVAL;

	*pdata = conn->link->data;
	return 0;
}

int rpma_conn_apply_remote_peer_cfg(struct rpma_conn *conn, const struct rpma_peer_cfg *pcfg)
{
	bool supported = false;

	if (!conn || !pcfg)
		return RPMA_E_INVAL;

	(void)rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &supported);
	atomic_store(&conn->direct_write_to_pmem, supported);
	return 0;
}

int rpma_conn_get_qp_num(const struct rpma_conn *conn, uint32_t *qp_num)
{
	if (!conn || !qp_num)
		return RPMA_E_INVAL;

	*qp_num = conn->link->id->qp->qp_num;
	return 0;
}

int rpma_conn_get_cq(const struct rpma_conn *conn, struct rpma_cq **cq_ptr)
{
	if (!conn || !cq_ptr)
		return RPMA_E_INVAL;

	*cq_ptr = conn->link->cq;
	return 0;
}

int rpma_conn_get_rcq(const struct rpma_conn *conn, struct rpma_cq **rcq_ptr)
{
	if (!conn || !rcq_ptr)
		return RPMA_E_INVAL;

	*rcq_ptr = conn->link->rcq;
	return 0;
}

int rpma_conn_get_compl_fd(const struct rpma_conn *conn, int *fd)
{
	if (!conn || !fd)
		return RPMA_E_INVAL;
	if (!conn->link->channel)
		return RPMA_E_NOT_SHARED_CHNL;

	*fd = conn->link->channel->fd;
	return 0;
}

/* NULL: not a queue of this connection */
static struct rpma_cq *find_cq(const struct rpma_conn *conn, const struct ibv_cq *ibv_cq)
{
	if (ibv_cq == rpma__cq_get_ibv_cq(conn->link->cq))
		return conn->link->cq;
	if (conn->link->rcq && ibv_cq == rpma__cq_get_ibv_cq(conn->link->rcq))
		return conn->link->rcq;
	return NULL;
}

/* waits for the event of a queue */
static int next_cq(const struct rpma_conn *conn, struct rpma_cq **found_ptr)
{
	struct ibv_cq *ibv_cq;
	const int ret = rpma__cq_next_event(conn->link->channel, &ibv_cq);

	if (ret)
		return ret;
	*found_ptr = find_cq(conn, ibv_cq);
	if (*found_ptr)
		return 0;
	RPMA_LOG_ERROR("an event of a completion queue that is not the connection's");
	return RPMA_E_UNKNOWN;
}

static bool is_any_armed(const struct rpma__link *link)
{
	return !rpma__cq_is_unarmed(link->cq) || (link->rcq && !rpma__cq_is_unarmed(link->rcq));
}

/* a queue that was left unarmed, now the caller's to arm; NULL: all are armed */
static struct rpma_cq *claim_unarmed(const struct rpma__link *link)
{
	if (rpma__cq_claim_unarmed(link->cq))
		return link->cq;
	if (link->rcq && rpma__cq_claim_unarmed(link->rcq))
		return link->rcq;
	return NULL;
}

int rpma_conn_wait(struct rpma_conn *conn, int flags, struct rpma_cq **cq, bool *is_rcq)
{
	const bool is_armed_later = flags & RPMA_CONN_WAIT_ARM_LATER;
	struct rpma_cq *found = NULL;
	int ret;

	if (!conn || !cq)
		return RPMA_E_INVAL;
	if (!conn->link->channel)
		return RPMA_E_NOT_SHARED_CHNL;

	if (!is_armed_later)
		found = claim_unarmed(conn->link);
	else if (!is_any_armed(conn->link))
		return RPMA_E_NO_COMPLETION; /* it would wait for ever */
	if (!found) {
		ret = next_cq(conn, &found);
		if (ret)
			return ret;
	}

	*cq = found;
	if (is_rcq)
		*is_rcq = found == conn->link->rcq;
	if (is_armed_later) {
		rpma__cq_leave_unarmed(found);
		return 0;
	}
	ret = rpma__cq_arm(found);
	if (ret)
		*cq = NULL;
	return ret;
}

int rpma_conn_disconnect(struct rpma_conn *conn)
{
	int ret;

	if (!conn)
		return RPMA_E_INVAL;

	ret = rpma__id_disconnect(conn->link->id);
	if (ret)
		return ret;
	RPMA_LOG_NOTICE("disconnection requested");
	return 0;
}

int rpma_conn_delete(struct rpma_conn **conn_ptr)
{
	struct rpma__err_first first = { 0 };
	struct rpma_conn *conn;

	if (!conn_ptr)
		return RPMA_E_INVAL;
	conn = *conn_ptr;
	if (!conn)
		return 0;

	/* the queue pair first: a flush may still be on its way */
	rpma__err_step(&first, rpma__link_delete(conn->link, false));
	rpma__err_step(&first, rpma__flush_delete(&conn->flush));
	free(conn);
	*conn_ptr = NULL;
	return rpma__err_result(&first);
}
