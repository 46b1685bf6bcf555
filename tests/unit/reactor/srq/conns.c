/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* conns.c - connections on a shared receive queue: how they join, what is reserved, how they end */

#include "rig.h"

static rpma_uv_srq_t *srq;
static struct rig_op recvs[8];

static void make(uint32_t size)
{
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, size, &srq), 0);
}

static void recv_at(unsigned i)
{
	rig_watch(rpma_uv_srq_recv(srq, &recvs[i].op, rig_local(0), 8), &recvs[i].done);
}

static void connect_it(struct rig_conn *c)
{
	assert_int_equal(rig_await(rpma_uv_connect(c->conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
	c->id = double_last_id();
	c->qp = c->id->qp;
}

static void ready(struct rig_conn *c)
{
	rig_conn_new(c, NULL);
	assert_int_equal(rpma_uv_conn_set_srq(c->conn, srq), 0);
	connect_it(c);
}

/* only a NEW connection of the same reactor and peer that has no receives; then it can have none */
static void conns__join(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rpma_peer *peer = rig.peer;
	struct rig_conn c, other;
	static struct rig_op recv;
	rpma_uv_srq_t *foreign;

	(void)state;
	(void)opts;
	make(4);
	rig_conn_new(&c, NULL);
	assert_int_equal(rpma_uv_conn_set_srq(NULL, srq), UV_EINVAL);
	assert_int_equal(rpma_uv_conn_set_srq(c.conn, NULL), UV_EINVAL);
	rig.peer = unit_peer_new();
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, 4, &foreign), 0);
	assert_int_equal(rpma_uv_conn_set_srq(c.conn, foreign), UV_EINVAL);
	rig_recv(&c, &recv, 8);
	assert_int_equal(rpma_uv_conn_set_srq(c.conn, srq), UV_EINVAL);
	assert_int_equal(rpma_uv_cancel(&recv.op.future, 0), 0);
	assert_int_equal(rpma_uv_conn_set_srq(c.conn, srq), 0);
	assert_int_equal(rpma_uv_conn_set_srq(c.conn, srq), UV_EINVAL);
	assert_int_equal(rig_await(rpma_uv_recv(c.conn, NULL, rig_local(0), 8)), UV_EINVAL);
	connect_it(&c);
	assert_int_equal(rpma_uv_conn_set_srq(c.conn, srq), UV_EINVAL);
	assert_ptr_equal(double_qp_attr(c.qp)->srq, c.qp->srq);
	assert_non_null(c.qp->srq);
	rig_conn_close(&c);
	assert_int_equal(rpma_uv_conn_set_srq(c.conn, srq), UV_ECANCELED);
	RIG_UNTIL(c.closed > 0);
	rpma_uv_srq_close(foreign, NULL, NULL);
	rig_settle();
	unit_peer_delete(rig.peer);
	rig.peer = peer;
	rig_conn_new(&other, NULL);
	rpma_uv_srq_close(srq, NULL, NULL);
	assert_int_equal(rpma_uv_conn_set_srq(other.conn, srq), UV_ECANCELED);
	rig_settle();
}

static bool is_other_closed;

static void on_other_closed(void *data)
{
	*(bool *)data = true;
}

/* a connection of another reactor */
static void conns__of_another_reactor(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	rpma_uv_reactor_t other;
	struct rig_conn c;

	(void)state;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &other, &opts), 0);
	assert_int_equal(rpma_uv_srq_new(&other, rig.peer, 4, &srq), 0);
	rig_conn_new(&c, NULL);
	assert_int_equal(rpma_uv_conn_set_srq(c.conn, srq), UV_EINVAL);
	is_other_closed = false;
	rpma_uv_reactor_close(&other, on_other_closed, &is_other_closed);
	RIG_UNTIL(is_other_closed);
}

/* its size is reserved once, however many connections there are, and theirs without receives */
static void conns__reservation(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rpma_conn_cfg *cfg = rig_cfg(10, 50, 0);
	struct rig_conn c[5];

	(void)state;
	opts.cq_entries = 100;
	rig_reactor(&opts);
	make(50);
	/* 50 + 5 * 10: one queue is enough; each comes with 50 receives and gives them back */
	for (unsigned i = 0; i < 5; i++) {
		rig_conn_new(&c[i], cfg);
		assert_int_equal(rpma_uv_conn_set_srq(c[i].conn, srq), 0);
	}
	assert_int_equal(rig_stats().cq_count, 2); /* the fifth came when 50 were not left */
	for (unsigned i = 0; i < 5; i++)
		connect_it(&c[i]);
	/* wherever the sends complete, the receives do where the queue's place is */
	for (unsigned i = 0; i < 5; i++)
		assert_ptr_equal(c[i].qp->recv_cq, c[0].qp->recv_cq);
	for (unsigned i = 0; i < 5; i++)
		rig_conn_gone(&c[i]);
	rpma_uv_srq_close(srq, NULL, NULL);
	rig_settle();
	/* all of it is free again */
	assert_int_equal(rpma_conn_cfg_set_sq_size(cfg, 100), 0);
	assert_int_equal(rpma_conn_cfg_set_rq_size(cfg, 0), 0);
	rig_conn_new(&c[0], cfg);
	rig_conn_new(&c[1], cfg);
	assert_int_equal(rig_stats().cq_count, 2);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

/* an end waits for the word that the queue pair has taken its last, and what it took is taken */
static void conns__last_is_awaited(void **state)
{
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	make(4);
	ready(&c);
	recv_at(0);
	recv_at(1);
	rig_settle();
	double_auto_bits(DOUBLE_AUTO_CM); /* the peer answers, the device says nothing */
	rig_watch(rpma_uv_disconnect(c.conn, NULL), &done);
	rig_settle();
	assert_int_equal(done.times, 0);
	assert_int_equal(double_live(DOUBLE_QP), 1);
	/* one that it had taken before completes yet */
	double_qp_state(c.qp, IBV_QPS_RTS);
	assert_true(double_deliver(c.qp, "last", 5, NULL));
	double_push_async(IBV_EVENT_QP_LAST_WQE_REACHED, c.qp);
	rig_settle();
	assert_done(done, 0);
	assert_done(recvs[0].done, 0);
	assert_int_equal(double_live(DOUBLE_QP), 0);
	/* the other one stays for whoever comes next */
	assert_int_equal(recvs[1].done.times, 0);
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
	rig_conn_gone(&c);
	ready(&c);
	assert_true(double_deliver(c.qp, "x", 1, NULL));
	rig_settle();
	assert_done(recvs[1].done, 0);
}

/* a device that never says so: the deadline */
static void conns__last_never_comes(void **state)
{
	struct rig_done done;
	struct rig_conn c;
	uint64_t start;

	(void)state;
	make(4);
	ready(&c);
	recv_at(0);
	rig_settle();
	double_auto_bits(DOUBLE_AUTO_CM);
	start = uv_now(&rig.loop);
	rig_watch(rpma_uv_disconnect(c.conn, NULL), &done);
	rig_settle();
	assert_int_equal(done.times, 0);
	RIG_UNTIL(done.times > 0); /* the clock jumps */
	assert_true(uv_now(&rig.loop) - start >= RPMA_UV_DRAIN_TIMEOUT);
	assert_int_equal(recvs[0].done.times, 0);
	assert_int_equal(double_live(DOUBLE_QP), 0);
}

/* one that never could take any ends at once */
static void conns__never_connected(void **state)
{
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	make(4);
	double_auto_bits(0);
	for (unsigned steps = 0; steps < 3; steps++) {
		rig_conn_new(&c, NULL);
		assert_int_equal(rpma_uv_conn_set_srq(c.conn, srq), 0);
		rig_watch(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL), &done);
		c.id = double_last_id();
		if (steps > 0)
			rig_cm(&c, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
		if (steps > 1)
			rig_cm(&c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
		rig_settle();
		rig_conn_close(&c);
		rig_settle();
		assert_int_equal(c.closed, 1);
		assert_done(done, UV_ECANCELED);
	}
	/* nor one that was not even connected */
	rig_conn_new(&c, NULL);
	assert_int_equal(rpma_uv_conn_set_srq(c.conn, srq), 0);
	rig_conn_close(&c);
	rig_settle();
	assert_int_equal(c.closed, 1);
	assert_int_equal(double_live(DOUBLE_QP), 0);
}

static rpma_uv_conn_req_t *request;

static void on_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	(void)ep;
	(void)data;
	request = req;
}

/* accepted: a message may be faster than the event, and stands for it, which may never come */
static void conns__accepted(void **state)
{
	struct rig_done done;
	struct rig_conn c;
	rpma_uv_ep_t *ep;

	(void)state;
	make(4);
	recv_at(0);
	double_auto_bits(0);
	assert_int_equal(rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0, on_request,
				 NULL, &ep),
		0);
	request = NULL;
	c.id = double_push_request(double_last_id(), "x", 1);
	RIG_UNTIL(request != NULL);
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, rig.peer, NULL, &c.conn), 0);
	assert_int_equal(rpma_uv_conn_set_srq(c.conn, srq), 0);
	rig_watch(rpma_uv_accept(request, NULL, c.conn, NULL), &done);
	c.qp = c.id->qp;
	assert_true(double_deliver(c.qp, "early", 6, NULL));
	rig_settle();
	assert_done(recvs[0].done, 0);
	assert_done(done, 0);
	assert_true(done.at < recvs[0].done.at);
	c.closed = 0;
	rig_conn_close(&c);
	rig_settle();
	assert_int_equal(c.closed, 0);
	rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
	double_push_async(IBV_EVENT_QP_LAST_WQE_REACHED, c.qp);
	rig_settle();
	assert_int_equal(c.closed, 1);
	rpma_uv_ep_close(ep, NULL, NULL);
	rig_settle();
}

static struct ibv_qp *late_qp;

/* after the loop's poll and before the reactor's look: the event is not read yet */
static void deliver_late(uv_check_t *check)
{
	assert_int_equal(uv_check_stop(check), 0);
	double_qp_state(late_qp, IBV_QPS_RTS);
	assert_true(double_deliver(late_qp, "x", 1, NULL));
	assert_true(double_deliver(late_qp, "y", 1, NULL));
}

/* completions that were there when the queue pair went are its own, whatever number comes next */
static void conns__completions_outlive_the_queue_pair(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	rpma_uv_recv_info_t info;
	struct rig_conn c;
	uv_check_t check;

	(void)state;
	/* arrange: a queue for the receives alone; an end that waits until its time is over */
	opts.cq_entries = 10;
	rig_reactor(&opts);
	make(10);
	ready(&c);
	assert_ptr_not_equal(c.qp->send_cq, c.qp->recv_cq);
	recv_at(0);
	recv_at(1);
	rig_settle();
	double_auto_bits(0);
	rig_conn_close(&c);
	rig_settle();

	/* run: the last check that is started is the first to be run */
	late_qp = c.qp;
	assert_int_equal(uv_check_init(&rig.loop, &check), 0);
	assert_int_equal(uv_check_start(&check, deliver_late), 0);
	rig_advance(RPMA_UV_DRAIN_TIMEOUT);
	RIG_UNTIL(c.closed > 0);

	/* verify */
	for (unsigned i = 0; i < 2; i++) {
		assert_done(recvs[i].done, 0);
		assert_int_equal(rpma_uv_recv_info(&recvs[i].op.future, &info), 0);
		assert_ptr_equal(info.conn, c.conn);
		assert_true(recvs[i].done.at < c.closed_at);
	}
	uv_close((uv_handle_t *)&check, NULL);
	rig_settle();
}

/* a number that no queue pair of ours has: the receive is done all the same */
static void conns__unknown_number(void **state)
{
	rpma_uv_recv_info_t info;
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV, .byte_len = 3 };
	struct rig_conn c;

	(void)state;
	make(4);
	ready(&c);
	for (unsigned i = 0; i < 2; i++) {
		recv_at(i);
		rig_settle();
		wc.wr_id = double_srq_last_recv(double_last_srq())->wr_id;
		wc.qp_num = c.qp->qp_num + 1024; /* the same bucket */
		wc.status = i == 0 ? IBV_WC_SUCCESS : IBV_WC_GENERAL_ERR;
		double_push_wc(c.qp->recv_cq, &wc);
		rig_settle();
		assert_done(recvs[i].done, i == 0 ? 0 : UV_EIO);
	}
	assert_int_equal(rpma_uv_recv_info(&recvs[0].op.future, &info), 0);
	assert_null(info.conn);
	assert_int_equal(rig_stats().conns_ready, 1);
	/* the double has them still: it is not told what was made up */
	rig_conn_gone(&c);
	rpma_uv_srq_close(srq, NULL, NULL);
	rig_settle();
}

/* a queue that fails ends its connections, those on the same completion queue do not matter */
static void conns__queue_fails(void **state)
{
	struct rig_done end, other_end;
	struct rig_conn c, other;

	(void)state;
	make(4);
	ready(&c);
	rig_conn_ready(&other, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	rig_watch(rpma_uv_conn_end(other.conn, NULL), &other_end);
	recv_at(0);
	rig_settle();
	double_push_async(IBV_EVENT_SRQ_ERR, double_last_srq());
	double_push_async(IBV_EVENT_SRQ_LIMIT_REACHED, double_last_srq());
	rig_settle();
	assert_done(end, UV_EIO);
	assert_int_equal(other_end.times, 0);
	assert_int_equal(recvs[0].done.times, 0);
	rig_conn_gone(&c);
	rig_conn_gone(&other);
}

/* the completion queue of the receives fails: that is the connections' end as well */
static void conns__completion_queue_fails(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	opts.cq_entries = 10;
	rig_reactor(&opts);
	make(10);
	ready(&c);
	assert_ptr_not_equal(c.qp->send_cq, c.qp->recv_cq);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	double_push_async(IBV_EVENT_CQ_ERR, c.qp->recv_cq);
	rig_settle();
	assert_done(end, UV_EIO);
	rig_conn_gone(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(conns__join),
		RIG_TEST(conns__of_another_reactor),
		RIG_TEST(conns__reservation),
		RIG_TEST(conns__last_is_awaited),
		RIG_TEST(conns__last_never_comes),
		RIG_TEST(conns__never_connected),
		RIG_TEST(conns__accepted),
		RIG_TEST(conns__completions_outlive_the_queue_pair),
		RIG_TEST(conns__unknown_number),
		RIG_TEST(conns__queue_fails),
		RIG_TEST(conns__completion_queue_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
