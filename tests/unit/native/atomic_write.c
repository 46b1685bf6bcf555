/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* atomic_write.c - where the device writes atomically by itself, rpma_atomic_write asks it to */

#include "native.h"

static const char word[8] = "8 bytes";

/* behind the reads before it all the same: one of them may be an emulated flush */
static void atomic_write__posts(void **state)
{
	const struct double_wr *wr;

	(void)state;
	assert_int_equal(rpma_atomic_write(u.conn, remote, 8, word, ALWAYS, &u), 0);
	wr = double_last_send(u.qp);
	assert_int_equal(wr->opcode, IBV_WR_ATOMIC_WRITE);
	assert_true(wr->send_flags & IBV_SEND_FENCE);
	assert_true(wr->send_flags & IBV_SEND_SIGNALED);
	assert_int_equal(wr->remote_addr, (uintptr_t)memory + 8);
	native_expect_wc(IBV_WC_ATOMIC_WRITE);
	assert_memory_equal(memory + 8, word, 8);
}

static void atomic_write__told_not_to(void **state)
{
	(void)state;
	assert_int_equal(
		rpma_atomic_write(u.conn, remote, 8, word, ALWAYS | RPMA_F_EMULATED, &u), 0);
	native_expect_wc(IBV_WC_RDMA_WRITE);
}

static void atomic_write__device_refuses(void **state)
{
	(void)state;
	double_fail("ibv_wr_complete", 1, UNIT_ERRNO);
	assert_int_equal(rpma_atomic_write(u.conn, remote, 8, word, ALWAYS, &u), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

UNIT_MAIN(NATIVE_TEST(atomic_write__device_refuses), NATIVE_TEST(atomic_write__posts),
	NATIVE_TEST(atomic_write__told_not_to))
