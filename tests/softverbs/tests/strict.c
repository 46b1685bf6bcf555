/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* strict.c - each kind of misuse is reported where it happens; what is in order is not */

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "case.h"

/* all kinds of work, both ways, and a clean end */
static void in_order(void)
{
	struct pair p;

	PAIR(&p, .cap = { .max_inline_data = 16 });
	fill(p.c.buf, 4096, 1);
	cq_arm(p.s.rcq, 0);
	RECV(&p.s, 1, 8192, 4096);
	RECV(&p.s, 2, 8192, 4096); /* the same memory twice is odd, but not wrong */
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 3, .len = 4096);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 4, .len = 4096);
	cq_event(p.s.completions, p.s.rcq);
	wc_expect(p.s.rcq, 1, IBV_WC_SUCCESS);
	wc_expect(p.s.rcq, 2, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 3, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 4, IBV_WC_SUCCESS);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 5, .len = 4096, AT(&p.s, 8192));
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 6, .len = 4096, AT(&p.s, 8192));
	wc_expect(p.c.scq, 5, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 6, IBV_WC_SUCCESS);
	uint64_t here = 7;
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 7, .len = 8, .local = &here,
		.flags = IBV_SEND_INLINE, AT(&p.s, 0));
	here = 8;
	POST(&p.c, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = 8, .len = 8, AT(&p.s, 0),
		.compare_add = 1);
	wc_expect(p.c.scq, 7, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 8, IBV_WC_SUCCESS);
	RECV(&p.s, 9, 0, 64);
	pair_disconnect(&p);
	wc_expect(p.s.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
	MUST_EQ(softverbs_reports(), 0);
}

static void too_many_acks(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	ibv_ack_cq_events(p.c.scq, 1);
	MUST_EQ(softverbs_reports(), 1);
	pair_close(&p);
}

static int destroy_cq(void *arg)
{
	return ibv_destroy_cq(arg);
}

static void too_few_acks(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_comp_channel *channel = ibv_create_comp_channel(id->verbs);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 1, NULL, channel, 0);
	struct background b;
	struct ibv_cq *got;
	void *context;

	softverbs_faults("cq_event:spurious");
	cq_arm(cq, 0);
	MUST_EQ(ibv_get_cq_event(channel, &got, &context), 0);
	background_start(&b, destroy_cq, cq);
	UNTIL(softverbs_reports() == 1);
	ibv_ack_cq_events(cq, 1);
	MUST_EQ(background_join(&b), 0);
	MUST_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_destroy_event_channel(id->channel);
	exit(EXIT_SUCCESS); /* the id is what is left; its report is another case's business */
}

static void event_acked_twice(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);
	union address there = address_here(htons(1));
	struct rdma_cm_event *event;

	MUST_EQ(rdma_resolve_addr(id, NULL, &there.any, 1000), 0);
	event = cm_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_EQ(rdma_ack_cm_event(event), -1);
	MUST_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/* the ids end with it: the peer is told, and nothing comes for them any more */
static void channel_in_use(void)
{
	struct rdma_event_channel *channel;
	struct pair p;

	pair_open_requested(&p);
	channel = p.listener->channel;
	rdma_destroy_event_channel(channel);
	MUST_ERRNO(rdma_listen(p.listener, 1), ENODEV);
	cm_expect(p.c.channel, RDMA_CM_EVENT_REJECTED);
	exit(EXIT_SUCCESS);
}

static void queue_pair_after_destroy(void)
{
	struct ibv_recv_wr wr = { 0 };
	struct ibv_recv_wr *bad;
	struct ibv_qp *qp;
	struct pair p;

	PAIR(&p, .depth = 4);
	qp = p.c.id->qp;
	rdma_destroy_qp(p.c.id);
	MUST_EQ(ibv_post_recv(qp, &wr, &bad), EINVAL);
	pair_close(&p);
}

static void queue_after_destroy(void)
{
	struct ibv_wc wc;
	struct ibv_cq *cq;
	struct pair p;

	PAIR(&p, .depth = 4);
	cq = p.c.scq;
	pair_close(&p);
	MUST_EQ(ibv_poll_cq(cq, 1, &wc), -1);
}

static void id_after_destroy(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);

	MUST_EQ(rdma_destroy_id(id), 0);
	MUST_ERRNO(rdma_disconnect(id), EINVAL);
	rdma_destroy_event_channel(channel);
}

static void region_after_dereg(void)
{
	static uint8_t memory[64];
	struct pair p;

	PAIR(&p, .depth = 4);
	struct ibv_mr *mr = ibv_reg_mr(p.c.pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	MUST_EQ(ibv_dereg_mr(mr), EINVAL);
	pair_close(&p);
}

static void send_unregistered(void)
{
	static uint8_t elsewhere[64];
	struct pair p;

	PAIR(&p, .depth = 4);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, .local = elsewhere,
		AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_LOC_PROT_ERR);
	pair_close(&p);
}

static void recv_unregistered(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	RECV(&p.s, 1, BUFFER_SIZE - 8, 16);
	pair_close(&p);
}

static void send_touched(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	softverbs_faults("withhold=peer");
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, AT(&p.s, 0));
	p.c.buf[63] = 1;
	softverbs_release("peer");
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void recv_touched(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	RECV(&p.s, 1, 0, 64);
	p.s.buf[10] = 1;
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 2, .len = 64);
	wc_expect(p.s.rcq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void read_touched(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	softverbs_faults("withhold=peer");
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 64, AT(&p.s, 0));
	p.c.buf[0] = 1;
	softverbs_release("peer");
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void region_in_use(void)
{
	static uint8_t memory[64];
	struct ibv_recv_wr *bad;
	struct pair p;

	PAIR(&p, .depth = 4);
	struct ibv_mr *mr = ibv_reg_mr(p.s.pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)memory, sizeof(memory), mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	MUST_EQ(ibv_post_recv(p.s.id->qp, &wr, &bad), 0);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void destroy_in_use(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	MUST_EQ(ibv_dealloc_pd(p.c.pd), EBUSY);
	pair_close(&p);
}

static struct ibv_pd *left; /* no leak to the sanitizers */

static void left_at_exit(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *verbs = ibv_open_device(devices[0]);

	MUST(verbs != NULL);
	ibv_free_device_list(devices);
	left = ibv_alloc_pd(verbs);
	MUST(left != NULL);
	MUST_EQ(ibv_close_device(verbs), 0);
}

const struct test_case cases[] = {
	{ "in_order", in_order, .says = "" },
	{ "too_many_acks", too_many_acks, .says = "ibv_ack_cq_events: 1 acknowledged, 0 fetched" },
	{ "too_few_acks", too_few_acks, .says = "waits for events to be acknowledged" },
	{ "event_acked_twice", event_acked_twice,
		.says = "rdma_ack_cm_event on an event that has gone at softverbs_strict" },
	{ "channel_in_use", channel_in_use, .says = "rdma_destroy_event_channel with 2 ids on it" },
	{ "queue_pair_after_destroy", queue_pair_after_destroy,
		.says = "ibv_post_recv on a queue pair that has gone at softverbs_strict" },
	{ "queue_after_destroy", queue_after_destroy,
		.says = "ibv_poll_cq on a completion queue that has gone at softverbs_strict" },
	{ "id_after_destroy", id_after_destroy,
		.says = "rdma_disconnect on an id that has gone at softverbs_strict" },
	{ "region_after_dereg", region_after_dereg,
		.says = "ibv_dereg_mr on a memory region that has gone at softverbs_strict" },
	{ "send_unregistered", send_unregistered,
		.says = "send posted with memory that is not registered for it: 64 bytes at" },
	{ "recv_unregistered", recv_unregistered,
		.says = "receive posted with memory that is not registered for it: 16 bytes at" },
	{ "send_touched", send_touched,
		.says = "the buffer of send 0x1, posted here, was touched while the device" },
	{ "recv_touched", recv_touched,
		.says = "the buffer of receive 0x1, posted here, was touched while the device" },
	{ "read_touched", read_touched,
		.says = "the buffer of read 0x1, posted here, was touched while the device" },
	{ "region_in_use", region_in_use,
		.says = "ibv_dereg_mr of a region that receive 0x1 uses" },
	{ "destroy_in_use", destroy_in_use, .says = "ibv_dealloc_pd with 2 objects left in it" },
	{ "left_at_exit", left_at_exit, .says = "the protection domain made here is left at exit" },
	{ NULL, NULL },
};
