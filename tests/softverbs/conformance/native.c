/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* native.c - flush and atomic write as operations of the device */

#include <errno.h>
#include <rdma/ib_user_verbs.h>

#include "pair.h"

#define FLUSHABLE (ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL)
#define CAPS                                                                 \
	(IB_UVERBS_DEVICE_FLUSH_GLOBAL | IB_UVERBS_DEVICE_FLUSH_PERSISTENT | \
		IB_UVERBS_DEVICE_ATOMIC_WRITE)

/* a client with both operations, and a server's region with this access */
static struct ibv_qp_ex *open_native(struct pair *p, int access)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_device_attr_ex attr;

	MUST_EQ(ibv_query_device_ex(id->verbs, NULL, &attr), 0);
	if ((attr.device_cap_flags_ex & CAPS) != CAPS)
		SKIP("no native operations");
	PAIR(p, .send_ops = IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE, .depth = 4,
		.access = access);
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(p->c.id->qp);
	MUST(qp != NULL);
	MUST(qp->wr_flush != NULL);
	MUST(qp->wr_atomic_write != NULL);
	return qp;
}

static void flush(struct pair *p, struct ibv_qp_ex *qp, uint64_t id, size_t at, size_t len,
	uint8_t type, uint8_t level)
{
	ibv_wr_start(qp);
	qp->wr_id = id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(qp, p->s.mr->rkey, (uintptr_t)p->s.buf + at, len, type, level);
	MUST_EQ(ibv_wr_complete(qp), 0);
}

static void flushes(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_native(&p, FLUSHABLE);

	fill(p.c.buf, 50000, 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .silent = true, .len = 50000, AT(&p.s, 0));
	flush(&p, qp, 2, 0, 50000, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	struct ibv_wc wc = wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	MUST_EQ(wc.opcode, IBV_WC_FLUSH);
	MUST(filled(p.s.buf, 50000, 1));
	pair_close(&p);
}

static void region_without(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_native(&p, ALL_ACCESS);

	flush(&p, qp, 1, 0, 64, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	wc_expect(p.c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	pair_close(&p);
}

static void only_visible(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_native(&p, FLUSHABLE);

	flush(&p, qp, 1, 0, 64, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE);
	wc_expect(p.c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	pair_close(&p);
}

static void both_at_once(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_native(&p, FLUSHABLE);

	flush(&p, qp, 1, 0, 64, IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE);
	wc_expect(p.c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	pair_close(&p);
}

static void whole_region(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_native(&p, FLUSHABLE);

	flush(&p, qp, 1, 0, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	flush(&p, qp, 2, 2 * BUFFER_SIZE, 64, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void beyond_the_end(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_native(&p, FLUSHABLE);

	flush(&p, qp, 1, BUFFER_SIZE - 64, 64, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	flush(&p, qp, 2, BUFFER_SIZE - 64, 65, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	wc_expect(p.c.scq, 2, IBV_WC_REM_ACCESS_ERR);
	pair_close(&p);
}

static void atomic_write(struct pair *p, struct ibv_qp_ex *qp, uint64_t id, size_t at)
{
	uint64_t word = UINT64_C(0x0102030405060708);

	ibv_wr_start(qp);
	qp->wr_id = id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(qp, p->s.mr->rkey, (uintptr_t)p->s.buf + at, &word);
	word = 0;
	MUST_EQ(ibv_wr_complete(qp), 0);
}

static void writes_atomically(void)
{
	const uint64_t word = UINT64_C(0x0102030405060708);
	struct pair p;
	struct ibv_qp_ex *qp = open_native(&p, FLUSHABLE);

	atomic_write(&p, qp, 1, 64);
	struct ibv_wc wc = wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST_EQ(wc.opcode, IBV_WC_ATOMIC_WRITE);
	MUST(memcmp(p.s.buf + 64, &word, sizeof(word)) == 0);
	MUST(zeroed(p.s.buf, 64));
	MUST(zeroed(p.s.buf + 72, 64));
	pair_close(&p);
}

static void not_aligned(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_native(&p, FLUSHABLE);

	atomic_write(&p, qp, 1, 4);
	MUST(wc_take(p.c.scq).status != IBV_WC_SUCCESS);
	MUST(zeroed(p.s.buf, 64));
	pair_close(&p);
}

static void only_asked_for(void)
{
	struct pair p, q;

	open_native(&q, FLUSHABLE);
	PAIR(&p, .send_ops = IBV_QP_EX_WITH_ATOMIC_WRITE, .depth = 1);
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(p.c.id->qp);
	MUST(qp != NULL);
	MUST(qp->wr_flush == NULL);
	pair_close(&p);
	pair_close(&q);
}

const struct check native_checks[] = {
	{ "a flush comes after the writes before it, and completes as FLUSH",
		"ibv_wr_post(3), IBTA A19", flushes },
	{ "a region without flush access refuses: REM_ACCESS", "ibv_reg_mr(3)", region_without },
	{ "one for visibility refuses a flush to persistence", "ibv_reg_mr(3)", only_visible },
	{ "one for both placements needs both rights", "ibv_reg_mr(3)", both_at_once },
	{ "a flush of a region has no range", "IBTA A19", whole_region },
	{ "a flush of a range ends with the region", "IBTA A19", beyond_the_end },
	{ "an atomic write stores 8 bytes, copied at the call", "ibv_wr_post(3)",
		writes_atomically },
	{ "to an address that is not a multiple of 8 it is refused", "IBTA A19", not_aligned },
	{ "a queue pair has the operations it was made for", "ibv_create_qp_ex(3)",
		only_asked_for },
	{ 0 }
};
