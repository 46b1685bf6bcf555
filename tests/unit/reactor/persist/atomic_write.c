/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* atomic_write.c - eight bytes at once: copied at the call, fenced, aligned */

#include "rig.h"

static struct rig_op ops[4];
static const char word[8] = { 'e', 'i', 'g', 'h', 't', ' ', 'b', 'y' };

static rpma_uv_future_t *start(struct rig_conn *c, struct rig_op *op, rpma_uv_remote_t dst,
	const char *src, unsigned flags)
{
	return rig_watch(rpma_uv_atomic_write(c->conn, &op->op, dst, src, flags), &op->done);
}

/* the bytes are those of the call, whatever becomes of their memory; inline, fenced, signalled */
static void atomic_write__posts(void **state)
{
	const struct double_wr *wr;
	struct rig_conn c;
	char src[8];

	(void)state;
	rig_conn_ready(&c, NULL);
	memcpy(src, word, sizeof(src));
	start(&c, &ops[0], rig_remote(40000), src, 0);
	memset(src, 0, sizeof(src));
	rig_write(&c, &ops[1], 8);
	rig_settle();
	wr = double_pending_send(c.qp, 0);
	assert_int_equal(wr->opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(wr->send_flags, IBV_SEND_INLINE | IBV_SEND_FENCE | IBV_SEND_SIGNALED);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sge[0].length, 8);
	assert_int_equal(wr->remote_addr, (uintptr_t)rig.mem + 40000);
	assert_int_equal(double_pending_send(c.qp, 1)->send_flags, IBV_SEND_SIGNALED);
	double_complete_send(c.qp, 2, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, 0);
	assert_int_equal(ops[0].done.result, 8);
	assert_memory_equal(rig.mem + 40000, word, sizeof(word));
}

/* what is refused, and that nothing is posted then */
static void atomic_write__refused(void **state)
{
	static uint8_t memory[64] __attribute__((aligned(8)));
	const rpma_uv_remote_t nowhere = { NULL, 0 };
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *remote;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	mr = unit_mr(rig.peer, memory + 4, 32, RPMA_MR_USAGE_WRITE_DST);
	remote = unit_mr_remote(mr);
	const struct {
		rpma_uv_remote_t dst;
		const char *src;
		unsigned flags;
	} cases[] = {
		{ nowhere, word, 0 },
		{ rig_remote(0), NULL, 0 },
		{ rig_remote(4), word, 0 },
		{ rig_remote(RIG_MEM_SIZE), word, 0 },
		{ rig_remote(SIZE_MAX - 7), word, 0 },
		{ { remote, 0 }, word, 0 }, /* the region itself is not aligned */
		{ { remote, 4 }, word, 0 },
		{ rig_remote(0), word, 1 },
		{ rig_remote(0), word, RPMA_F_EMULATED | 2 },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(&c, &ops[0], cases[i].dst, cases[i].src, cases[i].flags);
		assert_int_equal(ops[0].done.times, 0);
		rig_settle();
		assert_done(ops[0].done, UV_EINVAL);
	}
	assert_int_equal(double_sends(c.qp), 0);
	/* the last that fits */
	start(&c, &ops[0], rig_remote(RIG_MEM_SIZE - 8), word, RPMA_F_EMULATED);
	rig_settle();
	assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
	rig_settle();
	assert_done(ops[0].done, 0);
	rig_conn_gone(&c);
	rig_conn_new(&c, NULL);
	start(&c, &ops[0], rig_remote(0), word, 0);
	rig_settle();
	assert_done(ops[0].done, UV_ENOTCONN);
	rig_conn_gone(&c);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
}

/* a device that cannot carry data in a work request */
static void atomic_write__not_supported(void **state)
{
	struct rig_conn c;

	(void)state;
	double_device.max_inline = 7;
	rig_conn_ready(&c, NULL);
	start(&c, &ops[0], rig_remote(0), word, 0);
	rig_write(&c, &ops[1], 8);
	rig_settle();
	assert_done(ops[0].done, UV_ENOTSUP);
	assert_int_equal(double_complete_send(c.qp, 2, IBV_WC_SUCCESS), 1);
	rig_settle();
	assert_done(ops[1].done, 0); /* and the connection is as good as before */
	double_device.max_inline = 8;
	rig_conn_gone(&c);
	rig_conn_ready(&c, NULL);
	start(&c, &ops[0], rig_remote(0), word, 0);
	rig_settle();
	assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
	rig_settle();
	assert_done(ops[0].done, 0);
}

/* write, flush, atomic write, flush: in this order, the atomic write behind a fence */
static void atomic_write__after_flush(void **state)
{
	static const enum ibv_wr_opcode expected[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_direct_write(&c, true);
	rig_write(&c, &ops[0], 100);
	rig_watch(rpma_uv_flush(c.conn, &ops[1].op, rig_remote(RIG_MEM_SIZE / 2), 100,
			  RPMA_FLUSH_TYPE_PERSISTENT, 0),
		&ops[1].done);
	start(&c, &ops[2], rig_remote(0), word, 0);
	rig_watch(
		rpma_uv_flush(c.conn, &ops[3].op, rig_remote(0), 8, RPMA_FLUSH_TYPE_PERSISTENT, 0),
		&ops[3].done);
	rig_settle();
	assert_int_equal(double_send_doorbells(c.qp), 1);
	for (unsigned i = 0; i < 4; i++) {
		const struct double_wr *wr = double_pending_send(c.qp, i);

		assert_int_equal(wr->opcode, expected[i]);
		assert_int_equal(!!(wr->send_flags & IBV_SEND_FENCE), i == 2);
	}
	double_complete_send(c.qp, 4, IBV_WC_SUCCESS);
	rig_settle();
	for (unsigned i = 0; i < 4; i++) {
		assert_done(ops[i].done, 0);
		if (i > 0)
			assert_true(ops[i].done.at > ops[i - 1].done.at);
	}
}

/* waiting: taken out; posted: it cannot be recalled */
static void atomic_write__cancel(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 1, 1);
	start(&c, &ops[0], rig_remote(0), word, 0);
	rig_settle();
	start(&c, &ops[1], rig_remote(8), word, 0);
	rig_settle();
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, 0), UV_EBUSY);
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, 0), 0);
	rig_settle();
	assert_done(ops[1].done, UV_ECANCELED);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, 0);
	assert_int_equal(double_sends(c.qp), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(atomic_write__posts),
		RIG_TEST(atomic_write__refused),
		RIG_TEST(atomic_write__not_supported),
		RIG_TEST(atomic_write__after_flush),
		RIG_TEST(atomic_write__cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
