/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* peer.c - an RDMA device and a protection domain on it */

#include <errno.h>
#include <stdlib.h>

#include "conn_cfg.h"
#include "device.h"
#include "err.h"
#include "lock.h"
#include "log.h"
#include "peer.h"
#include "srq.h"

/* one buffer per operation */
#define MAX_SGE 1

/* what an operation may carry inside its work request, if the device can */
#define INLINE_SIZE_BYTES 8

struct rpma_peer {
	struct ibv_pd *pd;
	uint32_t odp; /* IBV_ODP_SUPPORT_* */
	struct rpma__native native;
};

struct ibv_context *rpma__peer_context(const struct rpma_peer *peer)
{
	return peer->pd->context;
}

struct ibv_pd *rpma__peer_pd(const struct rpma_peer *peer)
{
	return peer->pd;
}

const struct rpma__native *rpma__peer_native(const struct rpma_peer *peer)
{
	return &peer->native;
}

bool rpma__peer_is_odp_capable(const struct rpma_peer *peer)
{
	return rpma__device_is_odp_capable(peer->odp);
}

bool rpma__peer_pages_messages(const struct rpma_peer *peer, int usage)
{
	uint32_t needed = 0;

	if (usage & RPMA_MR_USAGE_SEND)
		needed |= IBV_ODP_SUPPORT_SEND;
	if (usage & RPMA_MR_USAGE_RECV)
		needed |= IBV_ODP_SUPPORT_RECV;
	return (peer->odp & needed) == needed;
}

int rpma__peer_usage_to_access(const struct rpma_peer *peer, int usage)
{
	const bool is_iwarp = peer->pd->context->device->transport_type == IBV_TRANSPORT_IWARP;
	int access = 0;

	/* a flush is a read, unless both ends do it natively, which cannot be known here */
	if (usage & (RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
			    RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT))
		access |= IBV_ACCESS_REMOTE_READ;
	if (usage & RPMA_MR_USAGE_READ_DST)
		access |= IBV_ACCESS_LOCAL_WRITE;
	/* on iWARP the answer to a read is written by the peer */
	if ((usage & RPMA_MR_USAGE_READ_DST) && is_iwarp)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (usage & RPMA_MR_USAGE_WRITE_DST)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (usage & (RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_RECV))
		access |= IBV_ACCESS_LOCAL_WRITE;
	return access;
}

/* what a queue pair can do without */
struct qp_wishes {
	uint32_t inline_size;
	uint64_t send_ops;
};

static int create_qp(struct rpma_peer *peer, struct rdma_cm_id *id, const struct rpma_conn_cfg *cfg,
	struct ibv_cq *send_cq, struct ibv_cq *recv_cq, const struct qp_wishes *wishes)
{
	const struct rpma_srq *srq = rpma__conn_cfg_srq(cfg);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.srq = srq ? rpma__srq_get_ibv_srq(srq) : NULL,
		.cap = {
			.max_send_wr = rpma__conn_cfg_sq_size(cfg),
			.max_recv_wr = rpma__conn_cfg_rq_size(cfg),
			.max_send_sge = MAX_SGE,
			.max_recv_sge = MAX_SGE,
			.max_inline_data = wishes->inline_size,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 0,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = peer->pd,
	};
	int ret;

	if (wishes->send_ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = wishes->send_ops;
	}
	rpma__lock();
	ret = rdma_create_qp_ex(id, &attr);
	rpma__unlock();
	return ret;
}

int rpma__peer_create_qp(struct rpma_peer *peer, struct rdma_cm_id *id,
	const struct rpma_conn_cfg *cfg, struct ibv_cq *send_cq, struct ibv_cq *recv_cq)
{
	struct qp_wishes wishes = {
		.inline_size = INLINE_SIZE_BYTES,
		.send_ops = rpma__native_send_ops(&peer->native),
	};
	int ret = create_qp(peer, id, cfg, send_cq, recv_cq, &wishes);

	/* the operations are the emulated ones then */
	if (ret && wishes.send_ops && errno == EOPNOTSUPP) {
		wishes.send_ops = 0;
		ret = create_qp(peer, id, cfg, send_cq, recv_cq, &wishes);
	}
	/* a device without inline data refuses as it refuses any bad value: try without */
	if (ret && errno == EINVAL) {
		wishes.inline_size = 0;
		ret = create_qp(peer, id, cfg, send_cq, recv_cq, &wishes);
	}
	if (!ret)
		return 0;

	RPMA_LOG_PROVIDER("rdma_create_qp_ex(max_send_wr=%u, max_recv_wr=%u)",
		rpma__conn_cfg_sq_size(cfg), rpma__conn_cfg_rq_size(cfg));
	return RPMA_E_PROVIDER;
}

static int alloc_pd(struct ibv_context *ibv_ctx, struct ibv_pd **pd_ptr)
{
	errno = 0;
	*pd_ptr = ibv_alloc_pd(ibv_ctx);
	if (*pd_ptr)
		return 0;
	if (errno == ENOMEM)
		return RPMA_E_NOMEM;
	if (errno == 0)
		return RPMA_E_UNKNOWN;

	RPMA_LOG_PROVIDER("ibv_alloc_pd()");
	return RPMA_E_PROVIDER;
}

int rpma_peer_new(struct ibv_context *ibv_ctx, struct rpma_peer **peer_ptr)
{
	struct ibv_device_attr_ex attr;
	struct rpma_peer *peer;
	struct ibv_pd *pd;
	int ret;

	if (!ibv_ctx || !peer_ptr)
		return RPMA_E_INVAL;

	ret = rpma__device_query(ibv_ctx, &attr);
	if (ret)
		return ret;
	ret = alloc_pd(ibv_ctx, &pd);
	if (ret)
		return ret;
	peer = malloc(sizeof(*peer));
	if (!peer) {
		RPMA__UNDO(ibv_dealloc_pd(pd));
		return RPMA_E_NOMEM;
	}

	peer->pd = pd;
	peer->odp = rpma__device_odp(&attr);
	peer->native = rpma__native_of(&attr);
	*peer_ptr = peer;
	return 0;
}

int rpma_peer_delete(struct rpma_peer **peer_ptr)
{
	int ret;

	if (!peer_ptr)
		return RPMA_E_INVAL;
	if (!*peer_ptr)
		return 0;

	ret = ibv_dealloc_pd((*peer_ptr)->pd);
	if (ret) {
		rpma__err_set_errno(ret);
		RPMA_LOG_PROVIDER("ibv_dealloc_pd()");
		ret = RPMA_E_PROVIDER;
	}
	RPMA__UNDO(free(*peer_ptr));
	*peer_ptr = NULL;
	return ret;
}
