/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* extended.c - queue pairs that are posted to by ibv_wr_*() */

#include <arpa/inet.h>
#include <errno.h>

#include "pair.h"

#define OPS                                                                           \
	(IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND | \
		IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static struct ibv_qp_ex *open_extended(struct pair *p)
{
	PAIR(p, .send_ops = OPS, .depth = 4, .cap = { .max_inline_data = 64 });
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(p->c.id->qp);
	MUST(qp != NULL);
	return qp;
}

static void begin(struct ibv_qp_ex *qp, uint64_t id)
{
	qp->wr_id = id;
	qp->wr_flags = IBV_SEND_SIGNALED;
}

static void plain_is_not(void)
{
	struct pair p, q;

	open_extended(&q);
	PAIR(&p, .depth = 1);
	MUST(ibv_qp_to_qp_ex(p.c.id->qp) == NULL);
	pair_close(&p);
	pair_close(&q);
}

static void read_and_write(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_extended(&p);

	fill(p.s.buf, 64, 1);
	ibv_wr_start(qp);
	begin(qp, 1);
	ibv_wr_rdma_read(qp, p.s.mr->rkey, (uintptr_t)p.s.buf);
	ibv_wr_set_sge(qp, p.c.mr->lkey, (uintptr_t)p.c.buf, 64);
	begin(qp, 2);
	ibv_wr_rdma_write(qp, p.s.mr->rkey, (uintptr_t)p.s.buf + 4096);
	ibv_wr_set_sge(qp, p.c.mr->lkey, (uintptr_t)p.c.buf + 4096, 64);
	fill(p.c.buf + 4096, 64, 2);
	MUST_EQ(ibv_wr_complete(qp), 0);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf, 64, 1));
	MUST(filled(p.s.buf + 4096, 64, 2));
	pair_close(&p);
}

static void send_with_immediate(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_extended(&p);

	RECV(&p.s, 5, 0, 64);
	ibv_wr_start(qp);
	begin(qp, 1);
	ibv_wr_send_imm(qp, htonl(77));
	ibv_wr_set_sge(qp, p.c.mr->lkey, (uintptr_t)p.c.buf, 12);
	MUST_EQ(ibv_wr_complete(qp), 0);
	struct ibv_wc wc = wc_expect(p.s.rcq, 5, IBV_WC_SUCCESS);
	MUST_EQ(wc.byte_len, 12);
	MUST_EQ(ntohl(wc.imm_data), 77);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void sge_list(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_extended(&p);
	struct ibv_sge sges[2] = {
		{ (uintptr_t)p.c.buf + 100, 15, p.c.mr->lkey },
		{ (uintptr_t)p.c.buf + 50, 15, p.c.mr->lkey },
	};

	fill(p.c.buf + 100, 15, 3);
	fill(p.c.buf + 50, 15, 4);
	RECV(&p.s, 5, 0, 64);
	ibv_wr_start(qp);
	begin(qp, 1);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, 2, sges);
	MUST_EQ(ibv_wr_complete(qp), 0);
	MUST_EQ(wc_expect(p.s.rcq, 5, IBV_WC_SUCCESS).byte_len, 30);
	MUST(filled(p.s.buf, 15, 3));
	MUST(filled(p.s.buf + 15, 15, 4));
	pair_close(&p);
}

static void inline_data(void)
{
	uint8_t data[40];
	struct pair p;
	struct ibv_qp_ex *qp = open_extended(&p);

	fill(data, sizeof(data), 5);
	ibv_wr_start(qp);
	begin(qp, 1);
	qp->wr_flags |= IBV_SEND_INLINE;
	ibv_wr_rdma_write(qp, p.s.mr->rkey, (uintptr_t)p.s.buf);
	ibv_wr_set_inline_data(qp, data, sizeof(data));
	memset(data, 0, sizeof(data));
	MUST_EQ(ibv_wr_complete(qp), 0);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf, 40, 5));
	pair_close(&p);
}

static void aborted(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_extended(&p);

	fill(p.c.buf, 64, 6);
	ibv_wr_start(qp);
	begin(qp, 1);
	ibv_wr_rdma_write(qp, p.s.mr->rkey, (uintptr_t)p.s.buf);
	ibv_wr_set_sge(qp, p.c.mr->lkey, (uintptr_t)p.c.buf, 64);
	ibv_wr_abort(qp);
	wc_none(p.c.scq);
	MUST(zeroed(p.s.buf, 64));
	ibv_wr_start(qp);
	begin(qp, 2);
	ibv_wr_rdma_write(qp, p.s.mr->rkey, (uintptr_t)p.s.buf + 64);
	ibv_wr_set_sge(qp, p.c.mr->lkey, (uintptr_t)p.c.buf, 64);
	MUST_EQ(ibv_wr_complete(qp), 0);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	MUST(zeroed(p.s.buf, 64));
	MUST(filled(p.s.buf + 64, 64, 6));
	pair_close(&p);
}

static void classic_as_well(void)
{
	struct pair p;

	open_extended(&p);
	fill(p.c.buf, 64, 7);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf, 64, 7));
	pair_close(&p);
}

static void queue_full(void)
{
	struct pair p;
	struct ibv_qp_ex *qp = open_extended(&p);
	uint64_t size = p.c.cap.max_send_wr;

	ibv_wr_start(qp);
	for (uint64_t i = 0; i <= size; i++) {
		begin(qp, i);
		ibv_wr_send(qp);
		ibv_wr_set_sge(qp, p.c.mr->lkey, (uintptr_t)p.c.buf, 8);
	}
	int ret = ibv_wr_complete(qp);
	MUST(ret == ENOMEM || ret == ENOSPC);
	wc_none(p.c.scq);
	pair_close(&p);
}

const struct check extended_checks[] = {
	{ "a QP made without send operations is not an extended one", "ibv_create_qp_ex(3)",
		plain_is_not },
	{ "READ and WRITE of one batch are carried out", "ibv_wr_post(3)", read_and_write },
	{ "SEND with immediate data brings it", "ibv_wr_post(3)", send_with_immediate },
	{ "a list of elements is gathered in order", "ibv_wr_post(3)", sge_list, .differs = true },
	{ "inline data are taken at once", "ibv_wr_post(3)", inline_data, .differs = true },
	{ "an aborted batch leaves no trace", "ibv_wr_post(3)", aborted },
	{ "ibv_post_send() works as before", "ibv_wr_post(3)", classic_as_well },
	{ "a batch beyond the queue's room fails as a whole", "ibv_wr_post(3)", queue_full,
		.differs = true },
	{ 0 }
};
