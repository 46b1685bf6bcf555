/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* qp.c - queue pairs: what they are, and their states when moved by hand */

#include <errno.h>

#include "pair.h"

static void numbers(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	MUST(p.c.id->qp->qp_num != 0);
	MUST(p.s.id->qp->qp_num != 0);
	MUST(p.c.id->qp->qp_num != p.s.id->qp->qp_num);
	MUST(p.c.id->qp->qp_num < 1 << 24);
	pair_close(&p);
}

static void fields(void)
{
	struct pair p;

	PAIR(&p, .depth = 1, .srq = true);
	struct ibv_qp *qp = p.s.id->qp;
	MUST(qp->context == p.s.id->verbs);
	MUST(qp->pd == p.s.pd);
	MUST(qp->send_cq == p.s.scq);
	MUST(qp->recv_cq == p.s.rcq);
	MUST(qp->srq == p.s.srq);
	MUST(p.c.id->qp->srq == NULL);
	MUST_EQ(qp->qp_type, IBV_QPT_RC);
	pair_close(&p);
}

static void init_attributes(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p;

	PAIR(&p, .sig_all = true);
	MUST_EQ(ibv_query_qp(p.c.id->qp, &attr, IBV_QP_CAP, &init), 0);
	MUST(init.send_cq == p.c.scq);
	MUST(init.recv_cq == p.c.rcq);
	MUST(init.srq == NULL);
	MUST_EQ(init.qp_type, IBV_QPT_RC);
	MUST_EQ(init.sq_sig_all, 1);
	pair_close(&p);
}

static void caps_granted(void)
{
	struct pair p;

	pair_listen(&p, &(struct pair_options){ 0 });
	p.c.id = id_of_device();
	side_open_resources(&p.c, &p.o, false);
	struct ibv_qp_init_attr attr = side_qp_attr(&p.c, &p.o);
	attr.cap = (struct ibv_qp_cap){ 13, 21, 3, 2, 50 };
	struct ibv_qp *qp = ibv_create_qp(p.c.pd, &attr);
	MUST(qp != NULL);
	MUST(attr.cap.max_send_wr >= 13);
	MUST(attr.cap.max_recv_wr >= 21);
	MUST(attr.cap.max_send_sge >= 3);
	MUST(attr.cap.max_recv_sge >= 2);
	MUST(attr.cap.max_inline_data >= 50);
	MUST_EQ(ibv_destroy_qp(qp), 0);
	side_close(&p.c);
}

static void caps_queried(void)
{
	struct pair p;

	PAIR(&p, .cap = { .max_send_wr = 13,
			 .max_recv_wr = 21,
			 .max_send_sge = 3,
			 .max_recv_sge = 2,
			 .max_inline_data = 50 });
	MUST(p.c.cap.max_send_wr >= 13);
	MUST(p.c.cap.max_recv_wr >= 21);
	MUST(p.c.cap.max_send_sge >= 3);
	MUST(p.c.cap.max_recv_sge >= 2);
	MUST(p.c.cap.max_inline_data >= 50);
	pair_close(&p);
}

/* a side whose QP is made by the check: a QP with these caps is refused */
static void cap_refused(struct side *side, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = side->scq, .recv_cq = side->rcq, .cap = cap, .qp_type = IBV_QPT_RC
	};

	errno = 0;
	MUST(ibv_create_qp(side->pd, &attr) == NULL);
	MUST_EQ(errno, EINVAL);
}

static void caps_refused(void)
{
	const struct ibv_qp_cap good = { 4, 4, 1, 1, 0 };
	struct ibv_device_attr device;
	struct ibv_qp_cap cap;
	struct pair p;

	pair_listen(&p, &(struct pair_options){ 0 });
	p.c.id = id_of_device();
	side_open_resources(&p.c, &p.o, false);
	MUST_EQ(ibv_query_device(p.c.id->verbs, &device), 0);
	cap = good;
	cap.max_send_wr = (uint32_t)device.max_qp_wr + 1;
	cap_refused(&p.c, cap);
	cap = good;
	cap.max_recv_wr = (uint32_t)device.max_qp_wr + 1;
	cap_refused(&p.c, cap);
	cap = good;
	cap.max_send_sge = (uint32_t)device.max_sge + 1;
	cap_refused(&p.c, cap);
	cap = good;
	cap.max_recv_sge = (uint32_t)device.max_sge + 1;
	cap_refused(&p.c, cap);
	cap = good;
	cap.max_inline_data = 1 << 20;
	cap_refused(&p.c, cap);
	side_close(&p.c);
}

static void queried_states(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p;

	PAIR(&p, .depth = 1);
	MUST_EQ(ibv_query_qp(p.c.id->qp, &attr, IBV_QP_STATE, &init), 0);
	MUST_EQ(attr.qp_state, IBV_QPS_RTS);
	qp_modify_state(p.c.id->qp, IBV_QPS_ERR);
	MUST_EQ(ibv_query_qp(p.c.id->qp, &attr, IBV_QP_STATE, &init), 0);
	MUST_EQ(attr.qp_state, IBV_QPS_ERR);
	pair_close(&p);
}

static void destroyed_with_work(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	for (uint64_t i = 0; i < 4; i++)
		RECV(&p.c, i, 0, 8);
	for (uint64_t i = 0; i < 4; i++)
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
	rdma_destroy_qp(p.c.id);
	MUST(p.c.id->qp == NULL);
	pair_close(&p);
}

static void many(void)
{
	enum { N = 64 };
	struct ibv_qp *qps[N];
	struct pair p;

	pair_listen(&p, &(struct pair_options){ 0 });
	p.c.id = id_of_device();
	side_open_resources(&p.c, &p.o, false);
	for (int i = 0; i < N; i++) {
		struct ibv_qp_init_attr attr = side_qp_attr(&p.c, &p.o);

		qps[i] = ibv_create_qp(p.c.pd, &attr);
		MUST(qps[i] != NULL);
		for (int j = 0; j < i; j++)
			MUST(qps[i]->qp_num != qps[j]->qp_num);
	}
	for (int i = 0; i < N; i++)
		MUST_EQ(ibv_destroy_qp(qps[i]), 0);
	side_close(&p.c);
}

const struct check qp_checks[] = { { "a QP has a number of its own, of 24 bits", "ibv_create_qp(3)",
					   numbers },
	{ "a QP has the queues, the domain and the SRQ it was given", "ibv_create_qp(3)", fields },
	{ "a query gives back the attributes of its creation", "ibv_query_qp(3)", init_attributes },
	{ "every capacity is at least the one asked for", "ibv_create_qp(3)", caps_granted },
	{ "so is every capacity in a query", "ibv_query_qp(3)", caps_queried, .differs = true },
	{ "more than the device allows is refused: EINVAL", "ibv_create_qp(3), ibv_query_device(3)",
		caps_refused },
	{ "a query gives the state", "ibv_query_qp(3)", queried_states, .differs = true },
	{ "a QP can be destroyed with work outstanding", "ibv_destroy_qp(3)", destroyed_with_work },
	{ "64 QPs have 64 numbers", "ibv_create_qp(3)", many }, { 0 } };
