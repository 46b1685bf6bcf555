/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* access.c - remote access that is refused, on either side */

#include <errno.h>

#include "pair.h"

#define READ_ONLY  (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)
#define WRITE_ONLY (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

/* the client's operation is refused; it has left the server's memory as it was */
static void refused(struct pair *p, enum ibv_wr_opcode opcode, uint64_t remote, uint32_t rkey)
{
	fill(p->s.buf, BUFFER_SIZE, 7);
	POST(&p->c, .opcode = opcode, .id = 1, .len = 64, .remote = remote, .rkey = rkey);
	POST(&p->c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&p->s, 128));
	wc_expect(p->c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	wc_expect(p->c.scq, 2, IBV_WC_WR_FLUSH_ERR);
	MUST_EQ(qp_state(p->c.id->qp), IBV_QPS_ERR);
	MUST(filled(p->s.buf, BUFFER_SIZE, 7));
	MUST(zeroed(p->c.buf, 64));
	pair_close(p);
}

static void read_bad_rkey(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	refused(&p, IBV_WR_RDMA_READ, (uintptr_t)p.s.buf, p.s.mr->rkey ^ 0x5500);
}

static void write_bad_rkey(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	refused(&p, IBV_WR_RDMA_WRITE, (uintptr_t)p.s.buf, p.s.mr->rkey ^ 0x5500);
}

static void read_beyond_end(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	refused(&p, IBV_WR_RDMA_READ, (uintptr_t)p.s.buf + BUFFER_SIZE - 63, p.s.mr->rkey);
}

static void write_beyond_end(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	refused(&p, IBV_WR_RDMA_WRITE, (uintptr_t)p.s.buf + BUFFER_SIZE - 63, p.s.mr->rkey);
}

static void before_start(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	refused(&p, IBV_WR_RDMA_READ, (uintptr_t)p.s.buf - 1, p.s.mr->rkey);
}

static void address_wraps(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	refused(&p, IBV_WR_RDMA_WRITE, UINT64_MAX - 15, p.s.mr->rkey);
}

static void edges_allowed(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 64, AT(&p.s, BUFFER_SIZE - 64));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = BUFFER_SIZE, AT(&p.s, 0));
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void not_readable(void)
{
	struct pair p;

	PAIR(&p, .access = WRITE_ONLY);
	refused(&p, IBV_WR_RDMA_READ, (uintptr_t)p.s.buf, p.s.mr->rkey);
}

static void not_writable(void)
{
	struct pair p;

	PAIR(&p, .access = READ_ONLY);
	refused(&p, IBV_WR_RDMA_WRITE, (uintptr_t)p.s.buf, p.s.mr->rkey);
}

static void not_remote(void)
{
	struct pair p;

	PAIR(&p, .access = IBV_ACCESS_LOCAL_WRITE);
	refused(&p, IBV_WR_RDMA_READ, (uintptr_t)p.s.buf, p.s.mr->rkey);
}

static void allowed_is_allowed(void)
{
	struct pair p;

	PAIR(&p, .access = READ_ONLY);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 64, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
	PAIR(&p, .access = WRITE_ONLY);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void deregistered(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	struct ibv_mr *mr = ibv_reg_mr(p.s.pd, p.s.buf, 4096, ALL_ACCESS);
	MUST(mr != NULL);
	uint32_t rkey = mr->rkey;
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 9, .len = 8, .remote = (uintptr_t)p.s.buf,
		.rkey = rkey);
	wc_expect(p.c.scq, 9, IBV_WC_SUCCESS);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	refused(&p, IBV_WR_RDMA_READ, (uintptr_t)p.s.buf, rkey);
}

static void other_domain(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	struct ibv_pd *pd = ibv_alloc_pd(p.s.id->verbs);
	MUST(pd != NULL);
	struct ibv_mr *mr = ibv_reg_mr(pd, p.s.buf, 4096, ALL_ACCESS);
	MUST(mr != NULL);
	uint32_t rkey = mr->rkey;
	refused(&p, IBV_WR_RDMA_READ, (uintptr_t)p.s.buf, rkey);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	MUST_EQ(ibv_dealloc_pd(pd), 0);
}

static void responder_ends_too(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	for (uint64_t i = 0; i < 3; i++)
		RECV(&p.s, i, 0, 8);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 8, .remote = (uintptr_t)p.s.buf,
		.rkey = p.s.mr->rkey ^ 0x5500);
	wc_expect(p.c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	for (uint64_t i = 0; i < 3; i++)
		wc_expect(p.s.rcq, i, IBV_WC_WR_FLUSH_ERR);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_ERR);
	pair_close(&p);
}

static void connection_stays(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 8, .remote = (uintptr_t)p.s.buf,
		.rkey = p.s.mr->rkey ^ 0x5500);
	wc_expect(p.c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	MUST(!readable(p.s.channel->fd, 0));
	pair_disconnect(&p);
	pair_close(&p);
}

static void big_write_refused(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	fill(p.c.buf, 100000, 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 100000,
		AT(&p.s, BUFFER_SIZE - 99999));
	wc_expect(p.c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	MUST(zeroed(p.s.buf, BUFFER_SIZE));
	pair_close(&p);
}

static void other_qps_go_on(void)
{
	struct pair p, q;

	PAIR(&p, .depth = 1);
	q = p;
	pair_resolve(&q);
	pair_request(&q);
	pair_accept(&q);
	pair_established(&q);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 8, .remote = (uintptr_t)p.s.buf,
		.rkey = p.s.mr->rkey ^ 0x5500);
	wc_expect(p.c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	POST(&q.c, .opcode = IBV_WR_RDMA_READ, .id = 2, .len = 8, AT(&q.s, 0));
	wc_expect(q.c.scq, 2, IBV_WC_SUCCESS);
	side_close(&q.c);
	side_close(&q.s);
	pair_close(&p);
}

const struct check access_checks[] = {
	{ "READ with a wrong rkey: REM_ACCESS, the rest flushed, the QP in ERR", "ibv_post_send(3)",
		read_bad_rkey },
	{ "WRITE with a wrong rkey: the same, nothing is written", "ibv_post_send(3)",
		write_bad_rkey },
	{ "READ one byte beyond the region: the same", "ibv_reg_mr(3)", read_beyond_end },
	{ "WRITE one byte beyond the region: the same", "ibv_reg_mr(3)", write_beyond_end },
	{ "READ one byte before the region: the same", "ibv_reg_mr(3)", before_start },
	{ "a range that wraps at the end of addresses: the same", "ibv_reg_mr(3)", address_wraps },
	{ "the first and the last byte belong to the region", "ibv_reg_mr(3)", edges_allowed },
	{ "READ needs remote read access", "ibv_reg_mr(3)", not_readable },
	{ "WRITE needs remote write access", "ibv_reg_mr(3)", not_writable },
	{ "a local region cannot be reached", "ibv_reg_mr(3)", not_remote },
	{ "each access alone is enough for its operation", "ibv_reg_mr(3)", allowed_is_allowed },
	{ "the rkey of a region that is gone opens nothing", "ibv_dereg_mr(3)", deregistered },
	{ "the rkey of another domain's region opens nothing", "ibv_alloc_pd(3)", other_domain },
	{ "the refusing QP goes to ERR as well, and flushes its receives", "IBTA 9.9.3",
		responder_ends_too },
	{ "neither side hears of it by its event channel", "rdma_get_cm_event(3)",
		connection_stays },
	{ "WRITE of many packets is refused as a whole", "IBTA 9.7.4", big_write_refused },
	{ "another connection of the two goes on", "ibv_post_send(3)", other_qps_go_on }, { 0 }
};
