/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* srq.c - shared receive queues */

#include <errno.h>
#include <poll.h>

#include "pair.h"

static void created(void)
{
	struct pair p;

	PAIR(&p, .srq = true, .cap = { .max_recv_wr = 10, .max_recv_sge = 2 });
	struct ibv_srq *srq = p.s.srq;
	MUST(srq->context == p.s.id->verbs);
	MUST(srq->pd == p.s.pd);
	struct ibv_srq_attr attr;
	MUST_EQ(ibv_query_srq(srq, &attr), 0);
	MUST(attr.max_wr >= 10);
	MUST(attr.max_sge >= 2);
	MUST_EQ(attr.srq_limit, 0);
	pair_close(&p);
}

static void limits(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_device_attr device;
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);

	MUST_EQ(ibv_query_device(id->verbs, &device), 0);
	if (device.max_srq == 0)
		SKIP("no shared receive queues");
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = (uint32_t)device.max_srq_wr + 1, .max_sge = 1 },
	};
	MUST(ibv_create_srq(pd, &attr) == NULL);
	MUST_EQ(errno, EINVAL);
	attr.attr.max_wr = 4;
	attr.attr.max_sge = (uint32_t)device.max_srq_sge + 1;
	MUST(ibv_create_srq(pd, &attr) == NULL);
	MUST_EQ(errno, EINVAL);
	MUST_EQ(ibv_dealloc_pd(pd), 0);
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void received(void)
{
	struct pair p;

	PAIR(&p, .srq = true);
	for (uint64_t i = 0; i < 4; i++)
		RECV(&p.s, i, 64 * i, 64);
	for (uint64_t i = 0; i < 4; i++) {
		fill(p.c.buf, 64, (unsigned int)i);
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 64);
		struct ibv_wc wc = wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
		MUST_EQ(wc.qp_num, p.s.id->qp->qp_num);
		MUST(filled(p.s.buf + 64 * i, 64, (unsigned int)i));
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

static void full(void)
{
	struct ibv_srq_attr attr;
	struct pair p;

	PAIR(&p, .srq = true, .cap = { .max_recv_wr = 8 });
	MUST_EQ(ibv_query_srq(p.s.srq, &attr), 0);
	for (uint64_t i = 0; i < attr.max_wr; i++)
		RECV(&p.s, i, 0, 8);
	MUST_EQ(recv_post(&p.s, 99, 0, 8), ENOMEM);
	pair_close(&p);
}

static void reclaimed(void)
{
	struct ibv_srq_attr attr;
	struct pair p;

	PAIR(&p, .srq = true, .cap = { .max_recv_wr = 4 });
	MUST_EQ(ibv_query_srq(p.s.srq, &attr), 0);
	for (uint64_t i = 0; i < attr.max_wr; i++)
		RECV(&p.s, i, 0, 8);
	for (uint64_t i = 0; i < 3 * attr.max_wr; i++) {
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
		wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
		RECV(&p.s, attr.max_wr + i, 0, 8);
	}
	pair_close(&p);
}

/* a second client, whose server QP shares the SRQ and the queues of the first */
static void second_connection(struct pair *p, struct pair *q)
{
	struct rdma_conn_param param = pair_param(p);

	*q = *p;
	pair_resolve(q);
	MUST_EQ(rdma_connect(q->c.id, &param), 0);
	struct rdma_cm_event *event = cm_take(q->s.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	q->s.id = event->id;
	MUST_EQ(rdma_ack_cm_event(event), 0);
	struct ibv_qp_init_attr attr = side_qp_attr(&p->s, &p->o);
	MUST_EQ(rdma_create_qp(q->s.id, p->s.pd, &attr), 0);
	pair_accept(q);
	pair_established(q);
}

/* the second connection goes; what it shares stays */
static void second_close(struct pair *q)
{
	side_close(&q->c);
	rdma_destroy_qp(q->s.id);
	MUST_EQ(rdma_destroy_id(q->s.id), 0);
}

static void shared(void)
{
	struct pair p, q;

	PAIR(&p, .srq = true);
	second_connection(&p, &q);
	for (uint64_t i = 0; i < 4; i++)
		RECV(&p.s, i, 64 * i, 64);
	for (uint64_t i = 0; i < 4; i++) {
		struct pair *from = i % 2 ? &q : &p;

		POST(&from->c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
		struct ibv_wc wc = wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
		MUST_EQ(wc.qp_num, from->s.id->qp->qp_num);
	}
	second_close(&q);
	pair_close(&p);
}

static void survives_a_qp(void)
{
	struct pair p, q;

	PAIR(&p, .srq = true);
	second_connection(&p, &q);
	for (uint64_t i = 0; i < 2; i++)
		RECV(&p.s, i, 64, 64);
	qp_modify_state(q.s.id->qp, IBV_QPS_ERR);
	wc_none(p.s.rcq);
	second_close(&q);
	for (uint64_t i = 0; i < 2; i++) {
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
		wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

static void send_waits(void)
{
	struct pair p;

	PAIR(&p, .srq = true);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	wc_none(p.c.scq);
	RECV(&p.s, 2, 0, 8);
	wc_expect(p.s.rcq, 2, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void busy(void)
{
	struct pair p;

	PAIR(&p, .srq = true);
	MUST_EQ(ibv_destroy_srq(p.s.srq), EBUSY);
	MUST_EQ(ibv_dealloc_pd(p.s.pd), EBUSY);
	RECV(&p.s, 1, 0, 8);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	wc_expect(p.s.rcq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void no_own_queue(void)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	struct pair p;

	PAIR(&p, .srq = true);
	MUST(ibv_post_recv(p.s.id->qp, &wr, &bad) != 0);
	pair_close(&p);
}

static void set_limit(struct pair *p, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	MUST_EQ(ibv_modify_srq(p->s.srq, &attr, IBV_SRQ_LIMIT), 0);
}

/* 6 receives are posted, and a limit of 4 is set */
static void open_with_limit(struct pair *p)
{
	PAIR(p, .srq = true);
	for (uint64_t i = 0; i < 6; i++)
		RECV(&p->s, i, 64 * i, 64);
	set_limit(p, 4);
}

static void message(struct pair *p, uint64_t id)
{
	POST(&p->c, .opcode = IBV_WR_SEND, .id = id, .len = 8);
	wc_expect(p->c.scq, id, IBV_WC_SUCCESS);
	wc_expect(p->s.rcq, id, IBV_WC_SUCCESS);
}

/* no event of this type comes; others are passed over */
static void async_none(struct ibv_context *verbs, enum ibv_event_type type)
{
	struct ibv_async_event event;

	while (readable(verbs->async_fd, QUIET_MS)) {
		MUST_EQ(ibv_get_async_event(verbs, &event), 0);
		MUST(event.event_type != type);
		ibv_ack_async_event(&event);
	}
}

static void limit_queried(void)
{
	struct ibv_srq_attr attr;
	struct pair p;

	open_with_limit(&p);
	MUST_EQ(ibv_query_srq(p.s.srq, &attr), 0);
	MUST_EQ(attr.srq_limit, 4);
	pair_close(&p);
}

static void limit_event(void)
{
	struct pair p;

	open_with_limit(&p);
	message(&p, 0);
	message(&p, 1);
	async_none(p.s.id->verbs, IBV_EVENT_SRQ_LIMIT_REACHED);
	message(&p, 2);
	struct ibv_async_event event = async_take(p.s.id->verbs, IBV_EVENT_SRQ_LIMIT_REACHED);
	MUST(event.element.srq == p.s.srq);
	ibv_ack_async_event(&event);
	pair_close(&p);
}

static void limit_once(void)
{
	struct ibv_srq_attr attr;
	struct pair p;

	open_with_limit(&p);
	for (uint64_t i = 0; i < 3; i++)
		message(&p, i);
	struct ibv_async_event event = async_take(p.s.id->verbs, IBV_EVENT_SRQ_LIMIT_REACHED);
	ibv_ack_async_event(&event);
	MUST_EQ(ibv_query_srq(p.s.srq, &attr), 0);
	MUST_EQ(attr.srq_limit, 0);
	message(&p, 3);
	async_none(p.s.id->verbs, IBV_EVENT_SRQ_LIMIT_REACHED);
	set_limit(&p, 2);
	message(&p, 4);
	event = async_take(p.s.id->verbs, IBV_EVENT_SRQ_LIMIT_REACHED);
	ibv_ack_async_event(&event);
	pair_close(&p);
}

static void limit_too_high(void)
{
	struct ibv_srq_attr attr;
	struct pair p;

	PAIR(&p, .srq = true);
	MUST_EQ(ibv_query_srq(p.s.srq, &attr), 0);
	attr.srq_limit = attr.max_wr + 1;
	MUST_EQ(ibv_modify_srq(p.s.srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	pair_close(&p);
}

static int destroy_srq(void *arg)
{
	return ibv_destroy_srq(arg);
}

static void destroy_waits(void)
{
	struct background b;
	struct pair p;

	open_with_limit(&p);
	for (uint64_t i = 0; i < 3; i++)
		message(&p, i);
	struct ibv_async_event event = async_take(p.s.id->verbs, IBV_EVENT_SRQ_LIMIT_REACHED);
	rdma_destroy_qp(p.s.id);
	background_start(&b, destroy_srq, p.s.srq);
	MUST(background_waits(&b));
	ibv_ack_async_event(&event);
	MUST_EQ(background_join(&b), 0);
}

static void last_wqe(void)
{
	struct ibv_async_event event;
	struct pair p;

	PAIR(&p, .srq = true);
	RECV(&p.s, 1, 0, 8);
	qp_modify_state(p.s.id->qp, IBV_QPS_ERR);
	wc_none(p.s.rcq);
	while (readable(p.s.id->verbs->async_fd, QUIET_MS)) {
		MUST_EQ(ibv_get_async_event(p.s.id->verbs, &event), 0);
		MUST_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
		MUST(event.element.qp == p.s.id->qp);
		ibv_ack_async_event(&event);
	}
	MUST(!readable(p.c.id->verbs->async_fd, 0));
	pair_close(&p);
}

const struct check srq_checks[] = { { "an SRQ has its domain, and at least the size asked for",
					    "ibv_create_srq(3)", created },
	{ "an SRQ larger than the device allows is refused: EINVAL",
		"ibv_create_srq(3), ibv_query_device(3)", limits },
	{ "messages take the receives in order", "ibv_post_srq_recv(3)", received },
	{ "an SRQ takes as many receives as it says, then ENOMEM", "ibv_post_srq_recv(3)", full },
	{ "once a receive has been polled, it takes another", "ibv_post_srq_recv(3)", reclaimed },
	{ "two QPs share the receives; a completion names its QP", "ibv_create_srq(3)", shared },
	{ "a QP that ends leaves the receives to the others", "ibv_create_srq(3), IBTA 10.2.9",
		survives_a_qp },
	{ "a SEND waits for a receive", "ibv_post_srq_recv(3)", send_waits },
	{ "an SRQ with a QP is busy, and so is its domain", "ibv_destroy_srq(3)", busy },
	{ "a QP with an SRQ takes no receives of its own", "ibv_post_recv(3)", no_own_queue,
		.differs = true },
	{ "a query gives the limit", "ibv_query_srq(3), ibv_modify_srq(3)", limit_queried },
	{ "SRQ_LIMIT_REACHED comes when fewer receives are left than the limit",
		"ibv_modify_srq(3), ibv_get_async_event(3)", limit_event },
	{ "it comes once, until the limit is set again", "ibv_modify_srq(3)", limit_once },
	{ "no limit exceeds the size: EINVAL", "ibv_modify_srq(3)", limit_too_high },
	{ "destroying an SRQ waits until its events are acknowledged", "ibv_get_async_event(3)",
		destroy_waits },
	{ "only LAST_WQE_REACHED comes when a QP with an SRQ goes to ERR", "ibv_get_async_event(3)",
		last_wqe, .differs = true },
	{ 0 } };
