/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* fault_work.c - faults of work requests, completions and their events */

#include <errno.h>

#include "case.h"

static void post_send_fails(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("post_send:fail@2=EINVAL");
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	MUST_EQ(op_post(&p.c,
			&(struct op){
				.opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&p.s, 0) }),
		EINVAL);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 3, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 3, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void post_recv_fails(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("post_recv:fail@1");
	MUST_EQ(recv_post(&p.s, 1, 0, 8), ENOMEM);
	RECV(&p.s, 2, 0, 8);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 3, .len = 8);
	wc_expect(p.s.rcq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* the k-th of each kind that is made, and not the others */
static void creation_fails(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);
	static uint8_t memory[64];
	struct ibv_mr *mr;
	struct ibv_cq *cq;

	faults("reg_mr:fail@2=EAGAIN; create_cq:fail@1; create_qp:fail@1=EMFILE");
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	MUST(mr != NULL);
	MUST(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE) == NULL);
	MUST_EQ(errno, EAGAIN);
	MUST(ibv_create_cq(id->verbs, 1, NULL, NULL, 0) == NULL);
	MUST_EQ(errno, ENOMEM);
	cq = ibv_create_cq(id->verbs, 1, NULL, NULL, 0);
	MUST(cq != NULL);
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC };
	MUST_ERRNO(rdma_create_qp(id, pd, &attr), EMFILE);
	MUST_EQ(rdma_create_qp(id, pd, &attr), 0);
	rdma_destroy_qp(id);
	MUST_EQ(ibv_destroy_cq(cq), 0);
	MUST_EQ(ibv_dereg_mr(mr), 0);
	MUST_EQ(ibv_dealloc_pd(pd), 0);
}

static void retry_exceeded(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("wr:RETRY_EXC_ERR@2");
	for (uint64_t i = 1; i <= 3; i++)
		op_post(&p.c,
			&(struct op){
				.opcode = IBV_WR_RDMA_WRITE, .id = i, .len = 8, AT(&p.s, 0) });
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 2, IBV_WC_RETRY_EXC_ERR);
	wc_expect(p.c.scq, 3, IBV_WC_WR_FLUSH_ERR);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_ERR);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_RTS);
	pair_close(&p);
}

static void rem_access(void)
{
	struct ibv_async_event event;
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("request:REM_ACCESS_ERR@2");
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 2, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 2, IBV_WC_REM_ACCESS_ERR);
	MUST_EQ(qp_state(p.s.id->qp), IBV_QPS_ERR);
	event = async_take(p.s.id->verbs, IBV_EVENT_QP_ACCESS_ERR);
	ibv_ack_async_event(&event);
	pair_close(&p);
}

/* there is a receive, but the device says no, twice */
static void rnr_recovers(void)
{
	struct pair p;

	PAIR(&p, .rnr_retry = 7);
	faults("request:rnr@1;request:rnr@2");
	fill(p.c.buf, 100, 1);
	RECV(&p.s, 1, 0, 100);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 2, .len = 100);
	wc_expect(p.s.rcq, 1, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf, 100, 1));
	pair_close(&p);
}

static void rnr_exceeded(void)
{
	struct pair p;

	PAIR(&p, .rnr_retry = 1);
	faults("request:rnr");
	RECV(&p.s, 1, 0, 8);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 2, .len = 8);
	wc_expect(p.c.scq, 2, IBV_WC_RNR_RETRY_EXC_ERR);
	wc_none(p.s.rcq);
	pair_close(&p);
}

static void poll_in_batches(void)
{
	struct ibv_wc wc[8];
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("poll:batch=2");
	for (uint64_t i = 1; i <= 5; i++)
		POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = i, .len = 8, AT(&p.s, 8 * i),
			.silent = i < 4);
	wc_expect(p.c.scq, 4, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 5, IBV_WC_SUCCESS);
	qp_modify_state(p.c.id->qp, IBV_QPS_ERR);
	for (uint64_t i = 6; i <= 10; i++)
		POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = i, .len = 8, AT(&p.s, 0));
	MUST_EQ(ibv_poll_cq(p.c.scq, 8, wc), 2);
	MUST_EQ(ibv_poll_cq(p.c.scq, 8, wc), 2);
	MUST_EQ(ibv_poll_cq(p.c.scq, 8, wc), 1);
	MUST_EQ(ibv_poll_cq(p.c.scq, 8, wc), 0);
	pair_close(&p);
}

static void spurious_event(void)
{
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("cq_event:spurious@1");
	cq_arm(p.c.scq, 0);
	cq_event(p.c.completions, p.c.scq);
	MUST_EQ(ibv_poll_cq(p.c.scq, 1, &wc), 0);
	/* it is still armed */
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	cq_event(p.c.completions, p.c.scq);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void event_lost(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("cq_event:drop@1");
	cq_arm(p.c.scq, 0);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(!readable(p.c.completions->fd, QUIET_MS));
	cq_arm(p.c.scq, 0);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&p.s, 0));
	cq_event(p.c.completions, p.c.scq);
	pair_close(&p);
}

static void event_doubled(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("cq_event:double@1");
	cq_arm(p.c.scq, 0);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	cq_event(p.c.completions, p.c.scq);
	cq_event(p.c.completions, p.c.scq);
	MUST(!readable(p.c.completions->fd, 0));
	pair_close(&p);
}

/* who arms after an empty poll and goes to sleep, sleeps for ever; who polls again does not */
static void between_poll_and_arm(void)
{
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p, .depth = 4);
	RECV(&p.s, 3, 0, 8);
	RECV(&p.c, 4, 64, 8);
	/* the server's receive, then this send; its confirmation came before the server's answer */
	faults("complete:before_arm@2");
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	wc_expect(p.s.rcq, 3, IBV_WC_SUCCESS);
	POST(&p.s, .opcode = IBV_WR_SEND, .id = 5, .len = 8, .at = 64);
	wc_expect(p.c.rcq, 4, IBV_WC_SUCCESS);
	MUST_EQ(ibv_poll_cq(p.c.scq, 1, &wc), 0);
	cq_arm(p.c.scq, 0);
	MUST(!readable(p.c.completions->fd, QUIET_MS));
	MUST_EQ(ibv_poll_cq(p.c.scq, 1, &wc), 1);
	MUST_EQ(wc.wr_id, 1);
	/* armed it is, and the next one is told */
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&p.s, 0));
	cq_event(p.c.completions, p.c.scq);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* a queue pair that is destroyed has nothing on its way any more */
static void before_destroy(void)
{
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p, .depth = 4);
	RECV(&p.c, 1, 0, 8);
	faults("complete:before_arm");
	pair_disconnect(&p);
	MUST_EQ(ibv_poll_cq(p.c.rcq, 1, &wc), 0);
	rdma_destroy_qp(p.c.id);
	MUST_EQ(ibv_poll_cq(p.c.rcq, 1, &wc), 1);
	MUST_EQ(wc.wr_id, 1);
	pair_close(&p);
}

static void cq_overrun(void)
{
	struct ibv_async_event event;
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("complete:overrun@2");
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&p.s, 0));
	event = async_take(p.c.id->verbs, IBV_EVENT_CQ_ERR);
	MUST(event.element.cq == p.c.scq);
	ibv_ack_async_event(&event);
	MUST_EQ(ibv_poll_cq(p.c.scq, 1, &wc), -1);
	MUST_EQ(qp_state(p.c.id->qp), IBV_QPS_ERR);
	pair_close(&p);
}

static uint64_t first_bytes(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* what a read is to fill is not to be looked at before it has completed */
static void payload_changes(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("payload:changes; withhold=peer");
	fill(p.s.buf, 4096, 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 4096, AT(&p.s, 0));
	UNTIL(softverbs_withheld("peer") > 0);
	MUST(first_bytes(p.c.buf) != 0);
	MUST(first_bytes(p.c.buf) != first_bytes(p.s.buf));
	wc_none(p.c.scq);
	softverbs_release("peer");
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf, 4096, 1));
	pair_close(&p);
}

const struct test_case cases[] = {
	{ "post_send_fails", post_send_fails },
	{ "post_recv_fails", post_recv_fails },
	{ "creation_fails", creation_fails },
	{ "retry_exceeded", retry_exceeded },
	{ "rem_access", rem_access },
	{ "rnr_recovers", rnr_recovers },
	{ "rnr_exceeded", rnr_exceeded },
	{ "poll_in_batches", poll_in_batches },
	{ "spurious_event", spurious_event },
	{ "event_lost", event_lost },
	{ "event_doubled", event_doubled },
	{ "between_poll_and_arm", between_poll_and_arm },
	{ "before_destroy", before_destroy },
	{ "cq_overrun", cq_overrun },
	{ "payload_changes", payload_changes },
	{ NULL, NULL },
};
