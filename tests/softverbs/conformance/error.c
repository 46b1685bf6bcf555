/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* error.c - requests that fail: no receive, no peer, no room, no local memory */

#include <errno.h>
#include <sys/mman.h>

#include "pair.h"

static void rnr_exceeded(void)
{
	struct pair p;

	PAIR(&p, .rnr_retry = 1);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	struct ibv_wc wc = wc_expect(p.c.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	MUST_EQ(wc.qp_num, p.c.id->qp->qp_num);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_ERR);
	pair_close(&p);
}

static void rnr_no_retry(void)
{
	struct pair p;

	PAIR(&p, .rnr_retry = -1);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 1, .len = 8, AT(&p.s, 0));
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	wc_expect(p.c.scq, 2, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

static void rnr_leaves_peer(void)
{
	struct pair p;

	PAIR(&p, .rnr_retry = -1);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	wc_expect(p.c.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_RTS);
	RECV(&p.s, 2, 0, 8);
	wc_none(p.s.rcq);
	pair_close(&p);
}

static void rnr_for_ever(void)
{
	struct pair p;

	PAIR(&p, .rnr_retry = 7);
	fill(p.c.buf, 5000, 1);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 5000);
	MUST(!readable(p.c.channel->fd, 1000));
	wc_none(p.c.scq);
	RECV(&p.s, 2, 0, 5000);
	wc_expect(p.s.rcq, 2, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf, 5000, 1));
	pair_close(&p);
}

static void retry_exceeded(void)
{
	struct pair p;

	PAIR(&p, .retry_count = 1, .ack_timeout = 12);
	qp_modify_state(p.s.id->qp, IBV_QPS_RESET);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 8, AT(&p.s, 0));
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 2, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_RETRY_EXC_ERR);
	wc_expect(p.c.scq, 2, IBV_WC_WR_FLUSH_ERR);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_ERR);
	pair_close(&p);
}

static void peer_qp_gone(void)
{
	struct pair p;

	PAIR(&p, .retry_count = 1, .ack_timeout = 12);
	rdma_destroy_qp(p.s.id);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

static void peer_in_error(void)
{
	struct pair p;

	PAIR(&p, .retry_count = 1, .ack_timeout = 12);
	qp_modify_state(p.s.id->qp, IBV_QPS_ERR);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_RETRY_EXC_ERR);
	MUST(zeroed(p.s.buf, 8));
	pair_close(&p);
}

/* the receive was too short: how either side says so */
static void too_short(struct pair *p, uint64_t recv, uint64_t send)
{
	struct ibv_wc wc = wc_take(p->s.rcq);
	MUST_EQ(wc.wr_id, recv);
	MUST(wc.status == IBV_WC_LOC_LEN_ERR || wc.status == IBV_WC_LOC_QP_OP_ERR);
	wc = wc_take(p->c.scq);
	MUST_EQ(wc.wr_id, send);
	MUST(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_OP_ERR);
}

static void receive_too_short(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	fill(p.c.buf, 64, 1);
	RECV(&p.s, 1, 0, 16);
	RECV(&p.s, 2, 0, 64);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 3, .len = 17);
	too_short(&p, 1, 3);
	wc_expect(p.s.rcq, 2, IBV_WC_WR_FLUSH_ERR);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_ERR);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_ERR);
	MUST(zeroed(p.s.buf + 16, 64));
	pair_close(&p);
}

static void receive_far_too_short(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 1, 0, 100);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 3, .len = 100000);
	too_short(&p, 1, 3);
	MUST(zeroed(p.s.buf + 100, 4096));
	pair_close(&p);
}

static void receive_of_nothing(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 1, 0, 0);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 3, .len = 1);
	too_short(&p, 1, 3);
	pair_close(&p);
}

/* a WRITE of local memory that is not in order: it fails, and so does what is behind */
static void local_error(struct pair *p, size_t at, uint32_t lkey)
{
	POST(&p->c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .at = at, .len = 8, .lkey = lkey,
		AT(&p->s, 0));
	POST(&p->c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&p->s, 4096));
	struct ibv_wc wc = wc_take(p->c.scq);
	MUST_EQ(wc.wr_id, 1);
	MUST(wc.status == IBV_WC_LOC_PROT_ERR || wc.status == IBV_WC_LOC_QP_OP_ERR);
	wc_expect(p->c.scq, 2, IBV_WC_WR_FLUSH_ERR);
	MUST_EQ(qp_state(p->c.id->qp), IBV_QPS_ERR);
	MUST_EQ(qp_state(p->s.id->qp), IBV_QPS_RTS);
	MUST(zeroed(p->s.buf, 8192));
	pair_close(p);
}

static void bad_lkey(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	local_error(&p, 0, p.c.mr->lkey ^ 0x5500);
}

static void lkey_gone(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	struct ibv_mr *mr = ibv_reg_mr(p.c.pd, p.c.buf, 4096, ALL_ACCESS);
	MUST(mr != NULL);
	uint32_t lkey = mr->lkey;
	MUST_EQ(ibv_dereg_mr(mr), 0);
	local_error(&p, 0, lkey);
}

static void beyond_region(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	memset(p.c.buf, 1, BUFFER_SIZE);
	local_error(&p, BUFFER_SIZE - 7, p.c.mr->lkey);
}

static void lkey_of_other_pd(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	struct ibv_pd *pd = ibv_alloc_pd(p.c.id->verbs);
	MUST(pd != NULL);
	struct ibv_mr *mr = ibv_reg_mr(pd, p.c.buf, 4096, ALL_ACCESS);
	MUST(mr != NULL);
	local_error(&p, 0, mr->lkey);
}

static void read_without_local_write(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	struct ibv_mr *mr = ibv_reg_mr(p.c.pd, p.c.buf, 4096, IBV_ACCESS_REMOTE_READ);
	MUST(mr != NULL);
	fill(p.s.buf + 65536, 8, 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 8, .lkey = mr->lkey,
		AT(&p.s, 65536));
	wc_expect(p.c.scq, 1, IBV_WC_LOC_PROT_ERR);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_ERR);
	MUST(zeroed(p.c.buf, 8));
	MUST_EQ(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void receive_bad_lkey(void)
{
	struct ibv_recv_wr *bad;
	struct pair p;

	PAIR(&p, .depth = 1);
	struct ibv_sge sge = { (uintptr_t)p.s.buf, 64, p.s.mr->lkey ^ 0x5500 };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	MUST_EQ(ibv_post_recv(p.s.id->qp, &wr, &bad), 0);
	fill(p.c.buf, 8, 1);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 2, .len = 8);
	struct ibv_wc wc = wc_take(p.s.rcq);
	MUST_EQ(wc.wr_id, 1);
	MUST(wc.status == IBV_WC_LOC_PROT_ERR || wc.status == IBV_WC_LOC_QP_OP_ERR);
	wc_expect(p.c.scq, 2, IBV_WC_REM_OP_ERR);
	MUST(zeroed(p.s.buf, 64));
	pair_close(&p);
}

static void success_before_failure(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	fill(p.c.buf, 64, 2);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, AT(&p.s, 0));
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 2, .at = 512, .len = 64, AT(&p.s, 0));
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 3, .len = 8, .remote = (uintptr_t)p.s.buf,
		.rkey = p.s.mr->rkey ^ 0x5500);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 3, IBV_WC_REM_ACCESS_ERR);
	MUST(filled(p.s.buf, 64, 2));
	MUST(filled(p.c.buf + 512, 64, 2));
	pair_close(&p);
}

const struct check error_checks[] = {
	{ "without a receive, a SEND ends RNR_RETRY_EXC after its retries, the QP in ERR",
		"rdma_connect(3), IBTA 9.9.2", rnr_exceeded },
	{ "with 0 retries at once, and what is behind is flushed", "rdma_connect(3)",
		rnr_no_retry },
	{ "the peer of a QP that gave up stays as it is", "IBTA 9.9.2", rnr_leaves_peer },
	{ "with 7 retries it waits for ever", "rdma_connect(3)", rnr_for_ever },
	{ "when the peer's QP is in RESET, requests end RETRY_EXC, the next flushed",
		"rdma_connect(3), IBTA 9.9.2", retry_exceeded },
	{ "when the peer's QP is destroyed, requests end RETRY_EXC", "IBTA 9.9.2", peer_qp_gone },
	{ "when the peer's QP is in ERR, requests end RETRY_EXC", "IBTA 10.3.1", peer_in_error },
	{ "a receive too short: an error on both sides, both QPs in ERR",
		"ibv_poll_cq(3), IBTA 9.9.3", receive_too_short, .differs = true },
	{ "also when it is a hundred packets too short", "IBTA 9.9.3", receive_far_too_short,
		.differs = true },
	{ "a receive without memory takes no byte", "IBTA 9.9.3", receive_of_nothing,
		.differs = true },
	{ "a wrong lkey: a local error, nothing is sent", "ibv_post_send(3)", bad_lkey,
		.differs = true },
	{ "the lkey of a region that is gone: the same", "ibv_dereg_mr(3)", lkey_gone,
		.differs = true },
	{ "one byte beyond the region: the same", "ibv_reg_mr(3)", beyond_region },
	{ "the lkey of another domain: the same", "ibv_alloc_pd(3)", lkey_of_other_pd,
		.differs = true },
	{ "READ into a region without local write: LOC_PROT", "ibv_reg_mr(3)",
		read_without_local_write },
	{ "a receive with a wrong lkey fails, the sender gets REM_OP", "IBTA 9.9.3",
		receive_bad_lkey, .differs = true },
	{ "what precedes a failure succeeds", "IBTA 10.8.5", success_before_failure }, { 0 }
};
