/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* flush.c - where the device flushes by itself, rpma_flush asks it to, unless it must not */

#include "native.h"

static int flush(size_t offset, size_t len, enum rpma_flush_type type, int flags)
{
	return rpma_flush(u.conn, remote, offset, len, type, flags, &u);
}

static void flush__posts(void **state)
{
	const struct double_wr *wr;

	(void)state;
	assert_int_equal(flush(16, 24, RPMA_FLUSH_TYPE_PERSISTENT, ALWAYS), 0);
	wr = double_last_send(u.qp);
	assert_int_equal(wr->opcode, IBV_WR_FLUSH);
	assert_int_equal(wr->send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(wr->remote_addr, (uintptr_t)memory + 16);
	assert_int_equal(wr->rkey, double_last_mr()->rkey);
	assert_int_equal(wr->flush_len, 24);
	assert_int_equal(wr->flush_type, IBV_FLUSH_PERSISTENT);
	assert_int_equal(wr->flush_level, IBV_FLUSH_RANGE);
	native_expect_wc(IBV_WC_FLUSH);
	assert_int_equal(flush(0, 64, RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ON_ERROR), 0);
	assert_int_equal(double_last_send(u.qp)->flush_type, IBV_FLUSH_GLOBAL);
	assert_int_equal(double_last_send(u.qp)->send_flags, 0);
}

/* what does not fit into 32 bits is the whole region */
static void flush__large(void **state)
{
	const size_t size = ((size_t)1 << 32) + 64;
	uint8_t desc[21];
	struct rpma_mr_remote *large = NULL;

	(void)state;
	assert_int_equal(rpma_mr_get_descriptor(mr, desc), 0);
	memcpy(desc + 8, &size, sizeof(size));
	assert_int_equal(rpma_mr_remote_from_descriptor(desc, sizeof(desc), &large), 0);
	assert_int_equal(
		rpma_flush(u.conn, large, 0, size, RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS, &u), 0);
	assert_int_equal(double_last_send(u.qp)->flush_level, IBV_FLUSH_MR);
	assert_int_equal(rpma_mr_remote_delete(&large), 0);
}

static void flush__told_not_to(void **state)
{
	(void)state;
	assert_int_equal(flush(0, 64, RPMA_FLUSH_TYPE_PERSISTENT, ALWAYS | RPMA_F_EMULATED), 0);
	assert_int_equal(double_last_send(u.qp)->opcode, IBV_WR_RDMA_READ);
	native_expect_wc(IBV_WC_RDMA_READ);
}

/* the rules are those of the emulated form */
static void flush__refused(void **state)
{
	struct rpma_peer_cfg *pcfg = NULL;

	(void)state;
	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_conn_apply_remote_peer_cfg(u.conn, pcfg), 0);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
	assert_int_equal(flush(0, 64, RPMA_FLUSH_TYPE_PERSISTENT, ALWAYS), RPMA_E_NOSUPP);
	assert_int_equal(flush(0, 65, RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS), RPMA_E_INVAL);
	unit_log_forget();
	double_fail("ibv_wr_complete", 1, UNIT_ERRNO);
	assert_int_equal(flush(0, 64, RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_int_equal(double_sends(u.qp), 0);
}

UNIT_MAIN(NATIVE_TEST(flush__large), NATIVE_TEST(flush__posts), NATIVE_TEST(flush__refused),
	NATIVE_TEST(flush__told_not_to))
