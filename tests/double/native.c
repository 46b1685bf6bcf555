/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * native.c - flush and atomic write as operations of the device, where the headers have them
 *
 * One work request between ibv_wr_start and ibv_wr_complete; only the two operations.
 */

#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "state.h"

#define NATIVE_OPS ((uint64_t)(IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE))

uint64_t double__native_caps(void)
{
	if (!double_device.has_native)
		return 0;
	return IB_UVERBS_DEVICE_FLUSH_GLOBAL | IB_UVERBS_DEVICE_FLUSH_PERSISTENT |
	       IB_UVERBS_DEVICE_ATOMIC_WRITE;
}

static void wr_start(struct ibv_qp_ex *native)
{
	struct qp *qp = OF(qp, native, native);

	double__lock();
	memset(&qp->native_wr, 0, sizeof(qp->native_wr));
	qp->native_ret = EINVAL; /* nothing in it */
}

/* NULL: a second one */
static struct double_wr *begin(struct ibv_qp_ex *native, enum ibv_wr_opcode opcode)
{
	struct qp *qp = OF(qp, native, native);

	if (qp->native_ret != EINVAL) {
		double__problem("more than one native work request at once");
		return NULL;
	}
	qp->native_ret = 0;
	qp->native_wr.opcode = opcode;
	qp->native_wr.wr_id = native->wr_id;
	qp->native_wr.send_flags = native->wr_flags;
	return &qp->native_wr;
}

static void wr_flush(struct ibv_qp_ex *native, uint32_t rkey, uint64_t remote_addr, size_t len,
	uint8_t type, uint8_t level)
{
	struct double_wr *wr = begin(native, IBV_WR_FLUSH);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	wr->flush_len = len;
	wr->flush_type = type;
	wr->flush_level = level;
}

static void wr_atomic_write(
	struct ibv_qp_ex *native, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr)
{
	struct qp *qp = OF(qp, native, native);
	struct double_wr *wr = begin(native, IBV_WR_ATOMIC_WRITE);

	if (!wr)
		return;
	memcpy(&qp->native_word, atomic_wr, sizeof(qp->native_word));
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	wr->num_sge = 1;
	wr->sge[0].addr = (uintptr_t)&qp->native_word;
	wr->sge[0].length = sizeof(qp->native_word);
	wr->send_flags |= IBV_SEND_INLINE;
}

static int wr_complete(struct ibv_qp_ex *native)
{
	struct qp *qp = OF(qp, native, native);
	int ret = qp->native_ret;

	/* the lock is held since wr_start */
	if (double__enter("ibv_wr_complete")) {
		ret = double__errno();
		double__leave();
		return ret;
	}
	qp->native_wr.doorbell = ++qp->sq.doorbells;
	if (!ret)
		ret = double__add_send(qp, &qp->native_wr);
	double__run(qp);
	double__leave();
	double__leave();
	return ret;
}

void double__native_new(struct qp *qp)
{
	const uint64_t asked =
		qp->attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? qp->attr.send_ops_flags : 0;

	if (!(asked & NATIVE_OPS))
		return;
	qp->native = (struct ibv_qp_ex){
		.wr_start = wr_start,
		.wr_complete = wr_complete,
		.wr_flush = asked & IBV_QP_EX_WITH_FLUSH ? wr_flush : NULL,
		.wr_atomic_write = asked & IBV_QP_EX_WITH_ATOMIC_WRITE ? wr_atomic_write : NULL,
	};
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv_qp)
{
	struct qp *qp = OF(qp, qp, ibv_qp);

	return qp->native.wr_start ? &qp->native : NULL;
}
