/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* flush.c - a flush is a small read of the region, where the region and the peer allow one */

#include "rig.h"

#define VISIBILITY RPMA_FLUSH_TYPE_VISIBILITY
#define PERSISTENT RPMA_FLUSH_TYPE_PERSISTENT

static struct rig_op ops[8];

static void start(struct rig_conn *c, struct rig_op *op, rpma_uv_remote_t dst, size_t len,
	enum rpma_flush_type type, unsigned flags)
{
	rig_watch(rpma_uv_flush(c->conn, &op->op, dst, len, type, flags), &op->done);
}

/* wherever the range is, the read is inside of the region, of 8 bytes, signalled */
static void flush__reads_inside(void **state)
{
	static const struct {
		size_t offset, len, expected;
	} cases[] = {
		{ 0, RIG_MEM_SIZE, 0 },
		{ 16, 0, 16 },
		{ RIG_MEM_SIZE - 8, 8, RIG_MEM_SIZE - 8 },
		{ RIG_MEM_SIZE - 1, 1, RIG_MEM_SIZE - 8 },
		{ RIG_MEM_SIZE, 0, RIG_MEM_SIZE - 8 },
	};
	static uint8_t before[RIG_MEM_SIZE];
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	memcpy(before, rig.mem, sizeof(before));
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct double_wr *wr;

		start(&c, &ops[0], rig_remote(cases[i].offset), cases[i].len, VISIBILITY,
			i % 2 ? RPMA_F_EMULATED : 0);
		rig_settle();
		wr = double_pending_send(c.qp, 0);
		assert_int_equal(wr->opcode, IBV_WR_RDMA_READ);
		assert_int_equal(wr->send_flags, IBV_SEND_SIGNALED);
		assert_int_equal(wr->num_sge, 1);
		assert_int_equal(wr->sge[0].length, 8);
		assert_int_equal(wr->remote_addr, (uintptr_t)rig.mem + cases[i].expected);
		assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
		rig_settle();
		assert_done(ops[0].done, 0);
		assert_int_equal(ops[0].done.result, cases[i].len);
	}
	assert_memory_equal(rig.mem, before, sizeof(before));
}

/* a region of less than that, which may be deleted after the call */
static void flush__tiny_region(void **state)
{
	static uint8_t memory[3];
	struct rpma_mr_remote *remote;
	struct rpma_mr_local *mr;
	struct rig_conn c;

	(void)state;
	mr = unit_mr(rig.peer, memory, sizeof(memory), RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	remote = unit_mr_remote(mr);
	rig_conn_ready(&c, NULL);
	start(&c, &ops[0], (rpma_uv_remote_t){ remote, 2 }, 1, VISIBILITY, 0);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	rig_settle();
	assert_int_equal(double_pending_send(c.qp, 0)->sge[0].length, 3);
	assert_int_equal(double_pending_send(c.qp, 0)->remote_addr, (uintptr_t)memory);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, 0);
	rig_conn_gone(&c);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
}

/* types, usages, and what the peer has declared */
static void flush__supported(void **state)
{
	static const int usages[] = { RPMA_MR_USAGE_WRITE_DST, RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY,
		RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT,
		RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT };
	static uint8_t memory[64];

	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		int usage = usages[i / 4];
		bool is_direct = i % 2, is_persistent = i / 2 % 2;
		struct rpma_mr_local *mr = unit_mr(rig.peer, memory, sizeof(memory), usage);
		struct rpma_mr_remote *remote = unit_mr_remote(mr);
		bool is_good = is_persistent
				       ? is_direct && (usage & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)
				       : usage & RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
		struct rig_conn c;

		rig_conn_ready(&c, NULL);
		rig_direct_write(&c, is_direct);
		start(&c, &ops[0], (rpma_uv_remote_t){ remote, 0 }, 8,
			is_persistent ? PERSISTENT : VISIBILITY, 0);
		rig_settle();
		assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), is_good ? 1 : 0);
		rig_settle();
		assert_done(ops[0].done, is_good ? 0 : UV_ENOTSUP);
		rig_conn_gone(&c);
		assert_int_equal(rpma_mr_remote_delete(&remote), 0);
		assert_int_equal(rpma_mr_dereg(&mr), 0);
	}
}

static void flush__refused(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	start(&c, &ops[0], (rpma_uv_remote_t){ NULL, 0 }, 0, VISIBILITY, 0);
	start(&c, &ops[1], rig_remote(0), 8, (enum rpma_flush_type)2, 0);
	start(&c, &ops[2], rig_remote(0), RIG_MEM_SIZE + 1, VISIBILITY, 0);
	start(&c, &ops[3], rig_remote(RIG_MEM_SIZE + 1), 0, VISIBILITY, 0);
	start(&c, &ops[4], rig_remote(1), SIZE_MAX, VISIBILITY, 0);
	start(&c, &ops[5], rig_remote(0), 8, VISIBILITY, 1);
	rig_settle();
	for (unsigned i = 0; i < 6; i++)
		assert_done(ops[i].done, UV_EINVAL);
	assert_int_equal(double_sends(c.qp), 0);
	rig_conn_gone(&c);
	rig_conn_new(&c, NULL);
	start(&c, &ops[0], rig_remote(0), 8, VISIBILITY, 0);
	rig_settle();
	assert_done(ops[0].done, UV_ENOTCONN);
}

/* each needs one of the read depth, and holds back what was called after it */
static void flush__takes_read_depth(void **state)
{
	struct rig_conn c;

	(void)state;
	double_device.max_rd_atomic = 2;
	rig_conn_ready_sizes(&c, 20, 10);
	rig_read(&c, &ops[0], 8);
	for (unsigned i = 1; i < 4; i++)
		start(&c, &ops[i], rig_remote(0), 8, VISIBILITY, 0);
	rig_write(&c, &ops[4], 8);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 2);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 2);
	/* one that waits can be cancelled, and is not missed */
	assert_int_equal(rpma_uv_cancel(&ops[3].op.future, 0), 0);
	rig_settle();
	assert_done(ops[3].done, UV_ECANCELED);
	assert_int_equal(double_pending_sends(c.qp), 3);
	assert_int_equal(rpma_uv_cancel(&ops[2].op.future, 0), UV_EBUSY);
	double_complete_send(c.qp, 3, IBV_WC_SUCCESS);
	rig_settle();
	for (unsigned i = 0; i < 5; i++)
		assert_done(ops[i].done, i == 3 ? UV_ECANCELED : 0);
}

/* the place to read to: made at the first flush, one for all, gone with the queue pair */
static void flush__one_place(void **state)
{
	unsigned regions = double_live(DOUBLE_MR);
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	assert_int_equal(double_live(DOUBLE_MR), regions);
	for (unsigned i = 0; i < 3; i++)
		start(&c, &ops[i], rig_remote(0), 8, VISIBILITY, 0);
	rig_settle();
	assert_int_equal(double_live(DOUBLE_MR), regions + 1);
	assert_int_equal(double_pending_send(c.qp, 0)->sge[0].addr,
		double_pending_send(c.qp, 2)->sge[0].addr);
	/* closed while they are posted: the double tells if it goes too early */
	rig_conn_gone(&c);
	for (unsigned i = 0; i < 3; i++)
		assert_done(ops[i].done, UV_ECANCELED);
	assert_int_equal(double_live(DOUBLE_MR), regions);
}

/* it cannot be made: this flush fails, the next one tries again */
static void flush__no_place(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	double_fail("ibv_reg_mr", 1, ENOSPC);
	start(&c, &ops[0], rig_remote(0), 8, VISIBILITY, 0);
	unit_alloc_fail(1);
	start(&c, &ops[1], rig_remote(0), 8, VISIBILITY, 0);
	unit_alloc_fail(0);
	start(&c, &ops[2], rig_remote(0), 8, VISIBILITY, 0);
	rig_settle();
	assert_done(ops[0].done, UV_ENOSPC);
	assert_done(ops[1].done, UV_ENOMEM);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[2].done, 0);
}

/* a range above 32 bits */
static void flush__large(void **state)
{
	uint8_t descriptor[21] = { 0 };
	struct rpma_mr_remote *remote = NULL;
	uint64_t size = UINT64_C(1) << 40;
	struct rig_conn c;

	(void)state;
	assert_int_equal(rpma_mr_get_descriptor(rig.mr, descriptor), 0);
	memcpy(descriptor + 8, &size, sizeof(size));
	assert_int_equal(
		rpma_mr_remote_from_descriptor(descriptor, sizeof(descriptor), &remote), 0);
	rig_conn_ready(&c, NULL);
	start(&c, &ops[0], (rpma_uv_remote_t){ remote, 8 }, size - 8, VISIBILITY, 0);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, 0);
	assert_int_equal(ops[0].done.result, size - 8);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(flush__reads_inside),
		RIG_TEST(flush__tiny_region),
		RIG_TEST(flush__supported),
		RIG_TEST(flush__refused),
		RIG_TEST(flush__takes_read_depth),
		RIG_TEST(flush__one_place),
		RIG_TEST(flush__no_place),
		RIG_TEST(flush__large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
