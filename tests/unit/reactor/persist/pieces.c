/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* pieces.c - persist: so many writes and one flush, one doorbell, one future */

#include "rig.h"

#define PERSISTENT RPMA_FLUSH_TYPE_PERSISTENT
#define HALF       (RIG_MEM_SIZE / 2)
#define MANY       20

static struct rig_op ops[4];
static rpma_uv_piece_t pieces[MANY];

static void ready(struct rig_conn *c, uint32_t sq_size)
{
	rig_conn_ready_sizes(c, sq_size, 10);
	rig_direct_write(c, true);
}

/* n pieces of len bytes each, from the lower to the upper half, 1000 bytes apart, the last first */
static void pieces_fill(unsigned n, size_t len)
{
	for (unsigned i = 0; i < n; i++)
		pieces[i] = (rpma_uv_piece_t){
			.local = rig_local((n - 1 - i) * 1000),
			.remote = rig_remote(HALF + 16 + (n - 1 - i) * 1000),
			.len = len,
		};
}

static void start(struct rig_conn *c, struct rig_op *op, unsigned n)
{
	rig_watch(rpma_uv_persist(c->conn, &op->op, pieces, n, PERSISTENT, 0), &op->done);
}

static void assert_moved(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_memory_equal(rig.mem + pieces[i].remote.offset,
			rig.mem + pieces[i].local.offset, pieces[i].len);
}

/* the writes in their order, then a flush where they begin; only it is signalled */
static void pieces__one_doorbell(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c, 100);
	pieces_fill(5, 100);
	start(&c, &ops[0], 5);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 6);
	assert_int_equal(double_send_doorbells(c.qp), 1);
	for (unsigned i = 0; i < 6; i++) {
		const struct double_wr *wr = double_pending_send(c.qp, i);

		assert_int_equal(wr->opcode, i < 5 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ);
		assert_int_equal(wr->send_flags, i < 5 ? 0 : IBV_SEND_SIGNALED);
		assert_int_equal(wr->remote_addr,
			(uintptr_t)rig.mem + (i < 5 ? pieces[i].remote.offset : HALF + 16));
		assert_int_equal(wr->sge[0].length, i < 5 ? 100 : 8);
	}
	assert_int_equal(double_complete_send(c.qp, 5, IBV_WC_SUCCESS), 5);
	rig_settle();
	assert_int_equal(ops[0].done.times, 0); /* not before the flush */
	assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
	rig_settle();
	assert_done(ops[0].done, 0);
	assert_int_equal(ops[0].done.result, 500);
	assert_int_equal(rig_stats().completions, 1);
	assert_moved(5);
}

/* what is refused; nothing is posted then */
static void pieces__refused(void **state)
{
	const rpma_uv_piece_t good = { rig_local(0), rig_remote(HALF), 8 };
	struct rpma_mr_remote *other = unit_mr_remote(rig.mr);
	rpma_uv_piece_t bad[8];
	struct rig_conn c;
	struct rig_op *op = &ops[0];

	(void)state;
	ready(&c, 100);
	for (unsigned i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].local.mr = NULL;
	bad[1].remote.mr = NULL;
	bad[2].len = 0;
	bad[3].remote.mr = other;
	bad[4].local.offset = RIG_MEM_SIZE - 7;
	bad[5].remote.offset = RIG_MEM_SIZE - 7;
	bad[6].len = SIZE_MAX;
	bad[7].remote.offset = SIZE_MAX;
	for (unsigned i = 0; i < 8; i++) {
		pieces[0] = good;
		pieces[1] = bad[i];
		pieces[2] = good;
		start(&c, op, 3);
		rig_settle();
		assert_done(op->done, UV_EINVAL);
	}
	pieces[1] = good;
	start(&c, op, 0);
	rig_settle();
	assert_done(op->done, UV_EINVAL);
	rig_watch(rpma_uv_persist(c.conn, &op->op, NULL, 1, PERSISTENT, 0), &op->done);
	rig_settle();
	assert_done(op->done, UV_EINVAL);
	rig_watch(rpma_uv_persist(c.conn, &op->op, pieces, 3, PERSISTENT, 1), &op->done);
	rig_settle();
	assert_done(op->done, UV_EINVAL);
	rig_watch(
		rpma_uv_persist(c.conn, &op->op, pieces, 3, (enum rpma_flush_type)7, 0), &op->done);
	rig_settle();
	assert_done(op->done, UV_EINVAL);
	rig_direct_write(&c, false);
	start(&c, op, 3);
	rig_settle();
	assert_done(op->done, UV_ENOTSUP);
	assert_int_equal(double_sends(c.qp), 0);
	rig_conn_gone(&c);
	rig_conn_new(&c, NULL);
	rig_direct_write(&c, true);
	start(&c, op, 3);
	rig_settle();
	assert_done(op->done, UV_ENOTCONN);
	assert_int_equal(rpma_mr_remote_delete(&other), 0);
}

/* more bytes in all than a result can tell; the device does not look at how large a region claims to be */
static void pieces__too_many_bytes(void **state)
{
	const size_t size = (size_t)1 << 62;
	struct rpma_mr_local *mr = unit_mr(rig.peer, rig.mem, size,
		RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	struct rpma_mr_remote *remote = unit_mr_remote(mr);
	struct rig_conn c;

	(void)state;
	ready(&c, 2);
	for (unsigned i = 0; i < 2; i++)
		pieces[i] = (rpma_uv_piece_t){ { mr, 0 }, { remote, 0 }, size };
	start(&c, &ops[0], 2);
	pieces[1].len = size - 1;
	rig_settle();
	assert_done(ops[0].done, UV_EINVAL);
	start(&c, &ops[0], 2);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 2);
	rig_conn_gone(&c);
	assert_done(ops[0].done, UV_ECANCELED);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
}

/* more than the send queue holds, and pieces above the port's limit: in waves, the flush last */
static void pieces__waves(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 7, 100 };

	(void)state;
	double_device.max_msg_size = 300;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned parts = 0;
		struct rig_conn c;

		ready(&c, sizes[i]);
		pieces_fill(5, 1000); /* four parts each */
		memset(rig.mem + HALF, 0, HALF);
		start(&c, &ops[0], 5);
		rig_write(&c, &ops[1], 8);
		rig_settle();
		while (ops[1].done.times == 0) {
			const struct double_wr *wr = double_pending_send(c.qp, 0);

			assert_in_range(double_pending_sends(c.qp), 1, sizes[i]);
			assert_int_equal(
				wr->opcode, parts == 20 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE);
			assert_int_equal(ops[0].done.times, parts > 20);
			parts += double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
			rig_settle();
		}
		assert_int_equal(parts, 22);
		assert_done(ops[0].done, 0);
		assert_int_equal(ops[0].done.result, 5000);
		assert_memory_equal(rig.mem + HALF + 16 + 8, rig.mem + 8, 5000 - 8);
		rig_conn_gone(&c);
	}
}

/* without a read credit the writes go, the flush waits for it */
static void pieces__flush_waits_for_credit(void **state)
{
	struct rig_conn c;

	(void)state;
	double_device.max_rd_atomic = 1;
	ready(&c, 100);
	pieces_fill(3, 8);
	rig_read(&c, &ops[0], 8);
	start(&c, &ops[1], 3);
	rig_write(&c, &ops[2], 8);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 4);
	double_complete_send(c.qp, 4, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, 0);
	assert_int_equal(ops[1].done.times, 0);
	assert_int_equal(double_pending_sends(c.qp), 2);
	double_complete_send(c.qp, 2, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[1].done, 0);
	assert_done(ops[2].done, 0);
}

/* the k-th work request fails: the whole does, with its status, once */
static void pieces__kth_fails(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= 5; k++) {
		struct rig_conn c;

		ready(&c, 100);
		pieces_fill(4, 8);
		start(&c, &ops[0], 4);
		rig_write(&c, &ops[1], 8);
		rig_settle();
		assert_int_equal(double_complete_send(c.qp, k - 1, IBV_WC_SUCCESS), k - 1);
		assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_REM_OP_ERR), 1);
		rig_settle();
		assert_done(ops[0].done, UV_EREMOTEIO);
		assert_int_equal(ops[0].done.result, 0);
		assert_int_equal(ops[0].done.detail & 0xff, IBV_WC_REM_OP_ERR);
		assert_done(ops[1].done, UV_EREMOTEIO);
		rig_conn_gone(&c);
	}
}

/* cancelled at each stage: waiting; writes posted, the flush not; all posted */
static void pieces__cancel(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c, 3);
	pieces_fill(4, 8);
	start(&c, &ops[0], 4);
	start(&c, &ops[1], 4);
	rig_settle();
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, 0), 0);
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, 0), 0);
	rig_settle();
	assert_done(ops[1].done, UV_ECANCELED);
	assert_int_equal(ops[0].done.times, 0);
	double_complete_send(c.qp, 3, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, UV_ECANCELED);
	assert_int_equal(double_sends(c.qp), 3); /* no flush */
	pieces_fill(2, 8);
	start(&c, &ops[2], 2);
	rig_settle();
	assert_int_equal(rpma_uv_cancel(&ops[2].op.future, 0), UV_EBUSY);
	double_complete_send(c.qp, 3, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[2].done, 0);
}

/* what it began goes out with one doorbell, even while others have work */
static void pieces__one_doorbell_beside_others(void **state)
{
	static struct rig_op others[100];
	struct rig_conn c, other;

	(void)state;
	ready(&c, 100);
	ready(&other, 200);
	for (unsigned i = 0; i < MANY; i++)
		pieces[i] = (rpma_uv_piece_t){ rig_local(0), rig_remote(HALF), HALF };
	for (unsigned i = 0; i < 100; i++)
		rig_write(&other, &others[i], 16384);
	start(&c, &ops[0], MANY);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), MANY + 1);
	assert_int_equal(double_send_doorbells(c.qp), 1);
	assert_true(double_send_doorbells(other.qp) > 1);
	double_complete_send(c.qp, MANY + 1, IBV_WC_SUCCESS);
	double_complete_send(other.qp, 100, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, 0);
	assert_int_equal(ops[0].done.result, MANY * HALF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(pieces__one_doorbell),
		RIG_TEST(pieces__refused),
		RIG_TEST(pieces__too_many_bytes),
		RIG_TEST(pieces__waves),
		RIG_TEST(pieces__flush_waits_for_credit),
		RIG_TEST(pieces__kth_fails),
		RIG_TEST(pieces__cancel),
		RIG_TEST(pieces__one_doorbell_beside_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
