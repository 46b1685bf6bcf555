/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* cq.c - completion queues: their size, polling, their end */

#include <errno.h>

#include "pair.h"

#define BATCH 6

static struct ibv_cq *cq_new(struct rdma_cm_id *id, int cqe)
{
	struct ibv_cq *cq = ibv_create_cq(id->verbs, cqe, NULL, NULL, 0);

	MUST(cq != NULL);
	return cq;
}

/* so many WRITEs have completed, numbered from 0, and nobody has polled */
static void complete(struct pair *p, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		POST(&p->c, .opcode = IBV_WR_RDMA_WRITE, .id = i, .len = 8, AT(&p->s, 0));
	POST(&p->c, .opcode = IBV_WR_SEND, .silent = true);
	wc_expect(p->s.rcq, 999, IBV_WC_SUCCESS);
	/* the acknowledgements of all of them come before the answer */
	RECV(&p->c, 998, 0, 8);
	POST(&p->s, .opcode = IBV_WR_SEND, .silent = true);
	wc_expect(p->c.rcq, 998, IBV_WC_SUCCESS);
}

static void fields(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_comp_channel *channel = ibv_create_comp_channel(id->verbs);
	int context;

	MUST(channel != NULL);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 5, &context, channel, 0);
	MUST(cq != NULL);
	MUST(cq->context == id->verbs);
	MUST(cq->channel == channel);
	MUST(cq->cq_context == &context);
	MUST(cq->cqe >= 5);
	MUST_EQ(ibv_destroy_cq(cq), 0);
	MUST_EQ(ibv_destroy_comp_channel(channel), 0);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void size_limits(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_device_attr device;

	MUST_EQ(ibv_query_device(id->verbs, &device), 0);
	MUST(ibv_create_cq(id->verbs, 0, NULL, NULL, 0) == NULL);
	MUST_EQ(errno, EINVAL);
	MUST(ibv_create_cq(id->verbs, device.max_cqe + 1, NULL, NULL, 0) == NULL);
	MUST_EQ(errno, EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void vectors(void)
{
	struct rdma_cm_id *id = id_of_device();

	MUST(id->verbs->num_comp_vectors >= 1);
	MUST(ibv_create_cq(id->verbs, 4, NULL, NULL, id->verbs->num_comp_vectors) == NULL);
	MUST_EQ(errno, EINVAL);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void empty(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_cq *cq = cq_new(id, 4);
	struct ibv_wc wc;

	MUST_EQ(ibv_poll_cq(cq, 1, &wc), 0);
	MUST_EQ(ibv_destroy_cq(cq), 0);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void batches(void)
{
	struct ibv_wc wc[BATCH];
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 999, 0, 8);
	complete(&p, BATCH);
	MUST_EQ(ibv_poll_cq(p.c.scq, 4, wc), 4);
	for (uint64_t i = 0; i < 4; i++)
		MUST_EQ(wc[i].wr_id, i);
	int n = ibv_poll_cq(p.c.scq, BATCH, wc);
	MUST_EQ(n, BATCH - 4);
	for (int i = 0; i < n; i++)
		MUST_EQ(wc[i].wr_id, 4 + i);
	MUST_EQ(ibv_poll_cq(p.c.scq, BATCH, wc), 0);
	pair_close(&p);
}

static void poll_none(void)
{
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 999, 0, 8);
	complete(&p, 1);
	MUST_EQ(ibv_poll_cq(p.c.scq, 0, &wc), 0);
	wc_expect(p.c.scq, 0, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void holds_cqe(void)
{
	struct pair p;

	PAIR(&p, .cqe = 20, .cap = { .max_send_wr = 64 });
	RECV(&p.s, 999, 0, 8);
	MUST(p.c.scq->cqe >= 20);
	uint64_t count = p.c.scq->cqe < 64 ? (uint64_t)p.c.scq->cqe : 63;
	complete(&p, count);
	for (uint64_t i = 0; i < count; i++)
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	wc_none(p.c.scq);
	pair_close(&p);
}

static void busy(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	MUST_EQ(ibv_destroy_cq(p.c.scq), EBUSY);
	MUST_EQ(ibv_destroy_cq(p.c.rcq), EBUSY);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void channel_busy(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_comp_channel *channel = ibv_create_comp_channel(id->verbs);

	MUST(channel != NULL);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 4, NULL, channel, 0);
	MUST(cq != NULL);
	MUST_EQ(ibv_destroy_comp_channel(channel), EBUSY);
	MUST_EQ(ibv_destroy_cq(cq), 0);
	MUST_EQ(ibv_destroy_comp_channel(channel), 0);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void destroyed_unpolled(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 999, 0, 8);
	complete(&p, 3);
	pair_close(&p);
}

static void outlives_qp(void)
{
	struct ibv_wc wc[4];
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 999, 0, 8);
	complete(&p, 3);
	rdma_destroy_qp(p.c.id);
	int n = ibv_poll_cq(p.c.scq, 4, wc);
	MUST(n == 0 || n == 3);
	for (int i = 0; i < n; i++) {
		MUST_EQ(wc[i].wr_id, i);
		MUST_EQ(wc[i].status, IBV_WC_SUCCESS);
	}
	wc_none(p.c.scq);
	pair_close(&p);
}

/* two clients of one listener, whose QPs share the queue of the first */
static void shared_by_qps(void)
{
	struct pair p, q;

	PAIR(&p, .depth = 1);
	q = p;
	q.c.id = id_resolved(q.c.channel, rdma_get_src_port(q.listener));
	struct ibv_qp_init_attr attr = side_qp_attr(&p.c, &p.o);
	MUST_EQ(rdma_create_qp(q.c.id, q.c.pd, &attr), 0);
	pair_request(&q);
	pair_accept(&q);
	pair_established(&q);
	MUST(p.c.id->qp->qp_num != q.c.id->qp->qp_num);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	struct ibv_wc wc = wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST_EQ(wc.qp_num, p.c.id->qp->qp_num);
	POST(&q.c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&q.s, 0));
	wc = wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	MUST_EQ(wc.qp_num, q.c.id->qp->qp_num);
	rdma_destroy_qp(q.c.id);
	MUST_EQ(ibv_destroy_cq(p.c.scq), EBUSY);
	side_close(&q.s);
	MUST_EQ(rdma_destroy_id(q.c.id), 0);
	pair_close(&p);
}

static void sends_and_receives(void)
{
	struct pair p;

	pair_listen(&p, &(struct pair_options){ 0 });
	p.c.id = id_resolved(p.c.channel, rdma_get_src_port(p.listener));
	side_open_resources(&p.c, &p.o, false);
	struct ibv_qp_init_attr attr = side_qp_attr(&p.c, &p.o);
	attr.recv_cq = attr.send_cq;
	MUST_EQ(rdma_create_qp(p.c.id, p.c.pd, &attr), 0);
	RECV(&p.c, 1, 0, 8);
	pair_request(&p);
	RECV(&p.s, 2, 0, 8);
	pair_accept(&p);
	pair_established(&p);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 3, .len = 8);
	struct ibv_wc wc = wc_expect(p.c.scq, 3, IBV_WC_SUCCESS);
	MUST_EQ(wc.opcode, IBV_WC_SEND);
	POST(&p.s, .opcode = IBV_WR_SEND, .id = 4, .len = 8);
	wc = wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST_EQ(wc.opcode, IBV_WC_RECV);
	pair_close(&p);
}

static void resized(void)
{
	struct pair p;

	PAIR(&p, .cqe = 8, .cap = { .max_send_wr = 64 });
	RECV(&p.s, 999, 0, 8);
	complete(&p, 4);
	MUST_EQ(ibv_resize_cq(p.c.scq, 60), 0);
	MUST(p.c.scq->cqe >= 60);
	for (uint64_t i = 0; i < 4; i++)
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	RECV(&p.s, 999, 0, 8);
	complete(&p, 50);
	MUST_EQ(ibv_resize_cq(p.c.scq, 5), EINVAL);
	for (uint64_t i = 0; i < 50; i++)
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	pair_close(&p);
}

const struct check cq_checks[] = {
	{ "a CQ has its context and channel, and at least the size asked for", "ibv_create_cq(3)",
		fields },
	{ "no CQ is empty, or larger than the device allows: EINVAL",
		"ibv_create_cq(3), ibv_query_device(3)", size_limits },
	{ "there is no completion vector beyond the context's: EINVAL", "ibv_create_cq(3)",
		vectors },
	{ "polling an empty CQ finds nothing", "ibv_poll_cq(3)", empty },
	{ "polling takes the oldest completions, as many as fit", "ibv_poll_cq(3)", batches },
	{ "polling for none takes none", "ibv_poll_cq(3)", poll_none },
	{ "a CQ holds as many completions as its size says", "ibv_create_cq(3)", holds_cqe },
	{ "a CQ with a QP is busy, and goes on", "ibv_destroy_cq(3)", busy },
	{ "a channel with a CQ is busy", "ibv_destroy_comp_channel(3)", channel_busy },
	{ "a CQ can go with completions in it", "ibv_destroy_cq(3)", destroyed_unpolled },
	{ "completions stay, or go, when their QP is destroyed", "ibv_destroy_qp(3)", outlives_qp,
		.differs = true },
	{ "of two QPs on one CQ, a completion names its own", "ibv_poll_cq(3)", shared_by_qps },
	{ "one CQ can serve both queues of a QP", "ibv_create_qp(3)", sends_and_receives },
	{ "resizing keeps the completions, and never makes too little room", "ibv_resize_cq(3)",
		resized },
	{ 0 }
};
