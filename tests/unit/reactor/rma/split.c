/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * split.c - reads and writes above the port's message limit: several work requests, one future
 */

#include <arpa/inet.h>
#include <sys/mman.h>

#include "rig.h"

#define LIMIT 1024

static struct rig_op ops[8];

static void ready(struct rig_conn *c, uint32_t sq_size)
{
	double_device.max_msg_size = LIMIT;
	rig_conn_ready_sizes(c, sq_size, 10);
}

/* the i-th that is pending is this part of a transfer at the rig's usual places */
static void assert_part(
	struct rig_conn *c, unsigned i, enum ibv_wr_opcode opcode, size_t at, uint32_t len)
{
	const struct double_wr *wr = double_pending_send(c->qp, i);

	assert_non_null(wr);
	assert_int_equal(wr->opcode, opcode);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sge[0].addr, (uintptr_t)rig.mem + at);
	assert_int_equal(wr->sge[0].length, len);
	assert_int_equal(wr->remote_addr, (uintptr_t)rig.mem + RIG_MEM_SIZE / 2 + at);
}

/* lengths around multiples of the limit; every byte moves, the result is the whole */
static void split__lengths(void **state)
{
	static const size_t lengths[] = { 1, LIMIT - 1, LIMIT, LIMIT + 1, 2 * LIMIT, 2 * LIMIT + 7,
		5 * LIMIT - 1 };
	static uint8_t before[RIG_MEM_SIZE];

	(void)state;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]) * 2; i++) {
		bool is_read = i % 2;
		size_t len = lengths[i / 2];
		unsigned parts = (unsigned)((len + LIMIT - 1) / LIMIT);
		struct rig_conn c;

		for (size_t k = 0; k < RIG_MEM_SIZE; k++)
			rig.mem[k] = (uint8_t)(k * 7 + k / 256);
		memcpy(before, rig.mem, sizeof(before));
		ready(&c, 20);
		is_read ? rig_read(&c, &ops[0], len) : rig_write(&c, &ops[0], len);
		rig_settle();
		assert_int_equal(double_pending_sends(c.qp), parts);
		for (unsigned k = 0; k < parts; k++) {
			size_t at = (size_t)k * LIMIT;

			assert_part(&c, k, is_read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, at,
				(uint32_t)(len - at < LIMIT ? len - at : LIMIT));
		}
		for (unsigned k = 0; k < parts; k++) {
			assert_int_equal(ops[0].done.times, 0);
			assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
			rig_settle();
		}
		assert_done(ops[0].done, 0);
		assert_int_equal(ops[0].done.result, len);
		memcpy(before + (is_read ? 0 : RIG_MEM_SIZE / 2),
			before + (is_read ? RIG_MEM_SIZE / 2 : 0), len);
		assert_memory_equal(rig.mem, before, sizeof(before));
		rig_conn_gone(&c);
	}
}

/* one read of 17 parts at a depth of 16: it starts, and runs in two waves */
static void split__two_waves(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c, 100);
	rig_read(&c, &ops[0], 17 * LIMIT);
	rig_write(&c, &ops[1], 8);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 16);
	assert_int_equal(double_complete_send(c.qp, 16, IBV_WC_SUCCESS), 16);
	rig_settle();
	assert_int_equal(ops[0].done.times, 0);
	/* the last part has its credit, and what was called later goes behind it */
	assert_int_equal(double_pending_sends(c.qp), 2);
	assert_part(&c, 0, IBV_WR_RDMA_READ, 16 * LIMIT, LIMIT);
	assert_int_equal(double_complete_send(c.qp, 2, IBV_WC_SUCCESS), 2);
	rig_settle();
	assert_done(ops[0].done, 0);
	assert_int_equal(ops[0].done.result, 17 * LIMIT);
	assert_done(ops[1].done, 0);
	assert_true(ops[0].done.at < ops[1].done.at);
}

/* more parts than the send queue holds: in waves, whatever its length */
static void split__short_queue(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 5, 16 };

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]) * 2; i++) {
		uint32_t size = sizes[i / 2];
		unsigned parts = 0;
		struct rig_conn c;

		ready(&c, size);
		i % 2 ? rig_read(&c, &ops[0], 17 * LIMIT) : rig_write(&c, &ops[0], 17 * LIMIT);
		rig_settle();
		while (ops[0].done.times == 0) {
			assert_in_range(double_pending_sends(c.qp), 1, size);
			parts += double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
			rig_settle();
		}
		assert_int_equal(parts, 17);
		assert_done(ops[0].done, 0);
		assert_int_equal(ops[0].done.result, 17 * LIMIT);
		assert_memory_equal(rig.mem, rig.mem + RIG_MEM_SIZE / 2, 17 * LIMIT);
		rig_conn_gone(&c);
	}
}

/* which parts are signalled: every read, for its credit; of a long write, the last */
static void split__signals(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c, 100);
	rig_write(&c, &ops[0], 16384); /* 0 .. 15 */
	rig_read(&c, &ops[1], 3 * LIMIT); /* 16 .. 18 */
	rig_write(&c, &ops[2], 3 * LIMIT); /* 19 .. 21, short: nothing */
	rig_write(&c, &ops[3], 8); /* 22, the last of the list */
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 23);
	assert_int_equal(double_send_doorbells(c.qp), 1);
	for (unsigned i = 0; i < 23; i++) {
		bool is_signalled = double_pending_send(c.qp, i)->send_flags & IBV_SEND_SIGNALED;

		assert_int_equal(is_signalled, (i >= 15 && i <= 18) || i == 22);
	}
	double_complete_send(c.qp, 23, IBV_WC_SUCCESS);
	rig_settle();
	for (unsigned i = 0; i < 4; i++)
		assert_done(ops[i].done, 0);
}

/* the word goes with the last part, and with it only */
static void split__imm(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c, 100);
	rig_watch(rpma_uv_write_with_imm(c.conn, &ops[0].op, rig_remote(RIG_MEM_SIZE / 2),
			  rig_local(0), 2 * LIMIT + 1, 0, 0x01020304),
		&ops[0].done);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 3);
	assert_part(&c, 0, IBV_WR_RDMA_WRITE, 0, LIMIT);
	assert_part(&c, 1, IBV_WR_RDMA_WRITE, LIMIT, LIMIT);
	assert_part(&c, 2, IBV_WR_RDMA_WRITE_WITH_IMM, 2 * LIMIT, 1);
	assert_int_equal(double_pending_send(c.qp, 2)->imm, htonl(0x01020304));
	double_complete_send(c.qp, 3, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, 0);
	assert_int_equal(ops[0].done.result, 2 * LIMIT + 1);
}

/* the k-th of six parts fails, of which four are posted: its status is that of the whole */
static void split__part_fails(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= 4; k++) {
		uint64_t posted = rig_stats().work_requests;
		struct rig_done end;
		struct rig_conn c;

		ready(&c, 4);
		rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
		rig_write(&c, &ops[0], 6 * LIMIT);
		rig_write(&c, &ops[1], 8);
		rig_settle();
		assert_int_equal(double_pending_sends(c.qp), 4);
		/* nobody has looked meanwhile, or somebody has */
		double_auto_bits(DOUBLE_AUTO_CM);
		assert_int_equal(double_complete_send(c.qp, k - 1, IBV_WC_SUCCESS), k - 1);
		assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_REM_ACCESS_ERR), 1);
		rig_settle();
		/* done only when the last part has come back */
		assert_int_equal(ops[0].done.times, k == 4);
		assert_done(ops[1].done, UV_EACCES);
		assert_done(end, UV_EACCES);
		if (k < 4)
			double_flush(c.qp);
		rig_settle();
		assert_done(ops[0].done, UV_EACCES);
		assert_int_equal(ops[0].done.result, 0);
		assert_int_equal(ops[0].done.detail & 0xff, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(rig_stats().work_requests, posted + 4);
		double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
		rig_conn_gone(&c);
	}
}

/* the k-th part is refused where it is posted: no more of it, and what is behind it goes on */
static void split__part_refused(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= 4; k++) {
		struct rig_conn c;

		ready(&c, 100);
		rig_read(&c, &ops[0], 4 * LIMIT);
		rig_read(&c, &ops[1], 8);
		double_refuse_wr(k, ENOMEM);
		rig_settle();
		assert_int_equal(ops[0].done.times, k == 1);
		assert_int_equal(double_pending_sends(c.qp), k); /* k - 1, and the other */
		double_complete_send(c.qp, k, IBV_WC_SUCCESS);
		rig_settle();
		assert_done(ops[0].done, UV_ENOMEM);
		assert_done(ops[1].done, 0);
		/* credits were counted right: a whole depth fits */
		rig_read(&c, &ops[2], 20 * LIMIT);
		rig_settle();
		assert_int_equal(double_pending_sends(c.qp), 16);
		rig_conn_gone(&c);
		assert_done(ops[2].done, UV_ECANCELED);
	}
}

/* waiting: taken out; partly posted: no more is posted, done when that has come back */
static void split__cancel(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c, 4);
	rig_write(&c, &ops[0], 6 * LIMIT);
	rig_write(&c, &ops[1], 6 * LIMIT);
	rig_write(&c, &ops[2], 2 * LIMIT);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 4);
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, 0), 0);
	rig_settle();
	assert_done(ops[1].done, UV_ECANCELED);
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, 0), 0);
	rig_settle();
	assert_int_equal(ops[0].done.times, 0);
	assert_int_equal(
		rpma_uv_cancel(&ops[0].op.future, 0), UV_EBUSY); /* only the device has it */
	double_complete_send(c.qp, 3, IBV_WC_SUCCESS);
	rig_settle();
	assert_int_equal(ops[0].done.times, 0);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, UV_ECANCELED);
	assert_int_equal(ops[0].done.result, 0);
	/* the one behind it is served */
	assert_int_equal(rpma_uv_cancel(&ops[2].op.future, 0), UV_EBUSY);
	double_complete_send(c.qp, 2, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[2].done, 0);
	assert_int_equal(double_sends(c.qp), 6);
}

/* closed over: half posted; the half that is flushed is waited for */
static void split__closed_over(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c, 4);
	rig_read(&c, &ops[0], 6 * LIMIT);
	rig_settle();
	double_auto_bits(DOUBLE_AUTO_CM);
	rig_conn_close(&c);
	rig_settle();
	assert_int_equal(ops[0].done.times, 0);
	double_flush(c.qp);
	RIG_UNTIL(c.closed > 0);
	assert_done(ops[0].done, UV_ECANCELED);
	assert_true(ops[0].done.at < c.closed_at);
}

/* a queue pair that never flushes: the deadline, then the whole ends */
static void split__never_flushed(void **state)
{
	struct rig_conn c;

	(void)state;
	ready(&c, 4);
	rig_write(&c, &ops[0], 6 * LIMIT);
	rig_write(&c, &ops[1], 8);
	rig_settle();
	double_auto_bits(DOUBLE_AUTO_CM);
	rig_conn_gone(&c);
	for (unsigned i = 0; i < 2; i++)
		assert_done(ops[i].done, UV_ECANCELED);
}

/* longer than 32 bits can tell, at a port without a limit worth the name */
static void split__above_32_bits(void **state)
{
	static const uint32_t limits[] = { 0, UINT32_MAX, UINT32_C(1) << 31 };
	const size_t size = ((size_t)5 << 30) + 9;
	struct rpma_mr_remote *remote;
	struct rpma_mr_local *mr;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	mr = unit_mr(rig.peer, memory, size, RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST);
	remote = unit_mr_remote(mr);
	for (unsigned i = 0; i < 3; i++) {
		struct rig_conn c;

		double_device.max_msg_size = limits[i];
		rig_conn_ready_sizes(&c, 10, 10);
		rig_watch(rpma_uv_write(c.conn, &ops[0].op, (rpma_uv_remote_t){ remote, 1 },
				  (rpma_uv_local_t){ mr, 1 }, size - 1, 0),
			&ops[0].done);
		rig_watch(rpma_uv_write(c.conn, &ops[1].op, (rpma_uv_remote_t){ remote, 1 },
				  (rpma_uv_local_t){ mr, 1 }, size, 0),
			&ops[1].done);
		rig_settle();
		assert_done(ops[1].done, UV_EINVAL);
		assert_int_equal(double_pending_sends(c.qp), 3);
		for (unsigned k = 0; k < 3; k++) {
			const struct double_wr *wr = double_pending_send(c.qp, k);
			size_t at = ((size_t)k << 31) + 1;

			assert_int_equal(wr->sge[0].addr, (uintptr_t)memory + at);
			assert_int_equal(wr->remote_addr, (uintptr_t)memory + at);
			assert_int_equal(
				wr->sge[0].length, k < 2 ? UINT32_C(1) << 31 : (1 << 30) + 8);
		}
		rig_conn_gone(&c);
		assert_done(ops[0].done, UV_ECANCELED);
	}
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	assert_int_equal(munmap(memory, size), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(split__lengths),
		RIG_TEST(split__two_waves),
		RIG_TEST(split__short_queue),
		RIG_TEST(split__signals),
		RIG_TEST(split__imm),
		RIG_TEST(split__part_fails),
		RIG_TEST(split__part_refused),
		RIG_TEST(split__cancel),
		RIG_TEST(split__closed_over),
		RIG_TEST(split__never_flushed),
		RIG_TEST(split__above_32_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
