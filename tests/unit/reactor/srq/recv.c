/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* recv.c - receives that connections share: posting, arrival, cancel, failures */

#include "rig.h"

#define SIZE 4
#define N    10

static rpma_uv_srq_t *srq;
static struct rig_op recvs[N];

static void make(uint32_t size)
{
	assert_int_equal(rpma_uv_srq_new(&rig.reactor, rig.peer, size, &srq), 0);
}

static void recv_at(unsigned i, size_t len)
{
	rig_watch(rpma_uv_srq_recv(srq, &recvs[i].op, rig_local(64 * i), len), &recvs[i].done);
}

/* a READY connection that draws from the queue */
static void ready(struct rig_conn *c)
{
	rig_conn_new(c, NULL);
	assert_int_equal(rpma_uv_conn_set_srq(c->conn, srq), 0);
	assert_int_equal(rig_await(rpma_uv_connect(c->conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
	c->id = double_last_id();
	c->qp = c->id->qp;
}

static rpma_uv_recv_info_t info_of(unsigned i)
{
	rpma_uv_recv_info_t info;

	assert_int_equal(rpma_uv_recv_info(&recvs[i].op.future, &info), 0);
	return info;
}

/* what waits is posted as far as there is room, with one doorbell, before any connection is there */
static void recv__posted(void **state)
{
	(void)state;
	make(SIZE);
	for (unsigned i = 0; i < N; i++)
		recv_at(i, 8);
	assert_int_equal(double_srq_pending_recvs(double_last_srq()), 0);
	rig_settle();
	assert_int_equal(double_srq_pending_recvs(double_last_srq()), SIZE);
	assert_int_equal(double_calls("ibv_post_srq_recv"), 1);
	assert_int_equal(double_srq_attr(double_last_srq())->attr.max_wr, SIZE);
	assert_int_equal(rig_stats().work_requests, SIZE);
}

/* messages of several connections, each with its sender; the next that waits take their place */
static void recv__from_many(void **state)
{
	const uint32_t imm = htonl(77);
	struct rig_conn a, b;
	rpma_uv_recv_info_t info;

	(void)state;
	make(SIZE);
	ready(&a);
	ready(&b);
	for (unsigned i = 0; i < N; i++)
		recv_at(i, 8);
	rig_settle();
	assert_true(double_deliver(b.qp, "bee", 4, &imm));
	assert_true(double_deliver(a.qp, "a", 2, NULL));
	rig_settle();
	assert_done(recvs[0].done, 0);
	assert_int_equal(recvs[0].done.result, 4);
	assert_string_equal((char *)rig.mem, "bee");
	info = info_of(0);
	assert_ptr_equal(info.conn, b.conn);
	assert_int_equal(info.len, 4);
	assert_true(info.has_imm);
	assert_int_equal(info.imm, 77);
	assert_false(info.is_write);
	assert_done(recvs[1].done, 0);
	info = info_of(1);
	assert_ptr_equal(info.conn, a.conn);
	assert_int_equal(info.len, 2);
	assert_false(info.has_imm);
	assert_string_equal((char *)rig.mem + 64, "a");
	assert_int_equal(double_srq_pending_recvs(double_last_srq()), SIZE);
	for (unsigned i = 2; i < N; i++) {
		assert_true(double_deliver(i % 2 ? a.qp : b.qp, "x", 1, NULL));
		rig_settle();
		assert_done(recvs[i].done, 0);
		assert_ptr_equal(info_of(i).conn, i % 2 ? a.conn : b.conn);
	}
	assert_false(double_deliver(a.qp, "x", 1, NULL));
	assert_int_equal(rig_stats().futures_pending, 0);
}

/* more than fit into one list */
static void recv__many_lists(void **state)
{
	static struct rig_op many[300];

	(void)state;
	make(300);
	for (unsigned i = 0; i < 300; i++)
		rig_watch(rpma_uv_srq_recv(srq, &many[i].op, rig_local(0), 8), &many[i].done);
	rig_settle();
	assert_int_equal(double_srq_pending_recvs(double_last_srq()), 300);
	assert_int_equal(double_calls("ibv_post_srq_recv"), 3);
	rig_close();
	for (unsigned i = 0; i < 300; i++)
		assert_done(many[i].done, UV_ECANCELED);
}

/* an empty message, from a slab future */
static void recv__empty(void **state)
{
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	make(SIZE);
	ready(&c);
	rig_watch(rpma_uv_srq_recv(srq, NULL, (rpma_uv_local_t){ NULL, 0 }, 0), &done);
	rig_settle();
	assert_true(double_deliver(c.qp, "", 0, NULL));
	rig_settle();
	assert_done(done, 0);
	assert_int_equal(done.result, 0);
}

static rpma_uv_future_t *recv_from(const struct rpma_mr_local *mr, size_t offset, size_t len)
{
	return rpma_uv_srq_recv(srq, NULL, (rpma_uv_local_t){ mr, offset }, len);
}

/* arguments; the bound; no room for the future */
static void recv__refused(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	rpma_uv_recv_info_t info;

	(void)state;
	opts.queue_bound = 2;
	rig_reactor(&opts);
	make(1);
	unit_alloc_fail(1);
	assert_null(recv_from(rig.mr, 0, 8));
	assert_int_equal(rig_await(recv_from(NULL, 0, 8)), UV_EINVAL);
	assert_int_equal(rig_await(recv_from(NULL, 8, 0)), UV_EINVAL);
	assert_int_equal(rig_await(recv_from(rig.mr, RIG_MEM_SIZE, 1)), UV_EINVAL);
	for (unsigned i = 0; i < 4; i++)
		recv_at(i, 8);
	rig_settle();
	assert_done(recvs[2].done, UV_EAGAIN);
	assert_done(recvs[3].done, UV_EAGAIN);
	assert_int_equal(rpma_uv_recv_info(&recvs[3].op.future, &info), UV_EINVAL);
	/* one is posted and waits no more: there is room for one again */
	recv_at(2, 8);
	rig_settle();
	assert_int_equal(recvs[2].done.times, 0);
}

/* one that waits is cancelled, a posted one cannot be */
static void recv__cancelled(void **state)
{
	(void)state;
	make(1);
	recv_at(0, 8);
	recv_at(1, 8);
	recv_at(2, 8);
	rig_settle();
	assert_int_equal(rpma_uv_cancel(&recvs[0].op.future, 0), UV_EBUSY);
	assert_int_equal(rpma_uv_cancel(&recvs[0].op.future, RPMA_UV_FORCE), UV_EBUSY);
	assert_int_equal(rpma_uv_cancel(&recvs[1].op.future, 0), 0);
	rig_settle();
	assert_int_equal(recvs[0].done.times, 0);
	assert_done(recvs[1].done, UV_ECANCELED);
	assert_int_equal(recvs[2].done.times, 0);
	rig_close();
	assert_done(recvs[0].done, UV_ECANCELED);
	assert_done(recvs[2].done, UV_ECANCELED);
}

/* the device refuses the k-th of a list: that one ends, those behind it go on */
static void recv__kth_refused(void **state)
{
	(void)state;
	make(N);
	for (unsigned k = 1; k <= 3; k++) {
		struct rig_conn c;

		ready(&c);
		for (unsigned i = 0; i < 3; i++)
			recv_at(i, 8);
		double_refuse_wr(k, ENOMEM);
		rig_settle();
		assert_int_equal(double_srq_pending_recvs(double_last_srq()), 2);
		for (unsigned i = 1; i < 3; i++)
			assert_true(double_deliver(c.qp, "x", 1, NULL));
		rig_settle();
		for (unsigned i = 0; i < 3; i++)
			assert_done(recvs[i].done, i + 1 == k ? UV_ENOMEM : 0);
		rig_conn_gone(&c);
	}
}

/* a message that is too long ends its receive and its connection; the others' go on */
static void recv__too_long(void **state)
{
	rpma_uv_recv_info_t info;
	struct rig_conn a, b;
	struct rig_done end;

	(void)state;
	make(SIZE);
	ready(&a);
	ready(&b);
	rig_watch(rpma_uv_conn_end(a.conn, NULL), &end);
	for (unsigned i = 0; i < 2; i++)
		recv_at(i, 8);
	rig_settle();
	assert_int_equal(double_complete_recv(a.qp, 1, IBV_WC_LOC_LEN_ERR), 1);
	rig_settle();
	assert_done(recvs[0].done, UV_EMSGSIZE);
	assert_int_equal(recvs[0].done.detail & 0xff, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(rpma_uv_recv_info(&recvs[0].op.future, &info), UV_EINVAL);
	assert_done(end, UV_EMSGSIZE);
	assert_int_equal(rig_stats().conns_ready, 1);
	assert_int_equal(recvs[1].done.times, 0);
	assert_true(double_deliver(b.qp, "x", 1, NULL));
	rig_settle();
	assert_done(recvs[1].done, 0);
}

/* one that its queue pair had taken when that broke: flushed, for the connection's reason */
static void recv__flushed(void **state)
{
	static const int reasons[][2] = { { 0, UV_EIO }, { 1, UV_ECONNRESET },
		{ 2, UV_ECANCELED } };

	(void)state;
	make(SIZE);
	for (unsigned i = 0; i < 3; i++) {
		struct rig_done end;
		struct rig_conn c;

		ready(&c);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
		recv_at(0, 8);
		rig_settle();
		double_auto_bits(DOUBLE_AUTO_CM);
		if (reasons[i][0] == 1)
			rig_cm(&c, RDMA_CM_EVENT_DISCONNECTED, 0);
		else if (reasons[i][0] == 2)
			rpma_uv_release(rpma_uv_disconnect(c.conn, NULL));
		rig_settle();
		double_qp_state(c.qp, IBV_QPS_RTS);
		assert_int_equal(double_complete_recv(c.qp, 1, IBV_WC_WR_FLUSH_ERR), 1);
		rig_settle();
		assert_done(recvs[0].done, reasons[i][1]);
		assert_int_equal(recvs[0].done.detail & 0xff, IBV_WC_WR_FLUSH_ERR);
		assert_done(end, reasons[i][0] == 2 ? 0 : reasons[i][1]);
		double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
		double_push_async(IBV_EVENT_QP_LAST_WQE_REACHED, c.qp);
		rig_conn_gone(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(recv__posted),
		RIG_TEST(recv__from_many),
		RIG_TEST(recv__many_lists),
		RIG_TEST(recv__empty),
		RIG_TEST(recv__refused),
		RIG_TEST(recv__cancelled),
		RIG_TEST(recv__kth_refused),
		RIG_TEST(recv__too_long),
		RIG_TEST(recv__flushed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
