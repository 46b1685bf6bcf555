/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* atomic_write.c - rpma_atomic_write posts 8 bytes, inline, behind the reads before it */

#include "regions.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS

static const char word[8] = "8 bytes";

static int write_word(size_t offset)
{
	return rpma_atomic_write(u.conn, remote, offset, word, ALWAYS, &u);
}

static void atomic_write__posts(void **state)
{
	const struct double_wr *wr;

	(void)state;
	assert_int_equal(write_word(32), 0);
	wr = double_last_send(u.qp);
	assert_int_equal(wr->opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(wr->wr_id, (uintptr_t)&u);
	assert_int_equal(wr->send_flags, IBV_SEND_INLINE | IBV_SEND_FENCE | IBV_SEND_SIGNALED);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sge[0].length, 8);
	assert_int_equal(wr->remote_addr, (uintptr_t)memory + 32);
	assert_int_equal(wr->rkey, double_last_mr()->rkey);
	assert_int_equal(rpma_atomic_write(u.conn, remote, 32, word,
				 RPMA_F_COMPLETION_ON_ERROR | RPMA_F_EMULATED, NULL),
		0);
	assert_int_equal(double_last_send(u.qp)->send_flags, IBV_SEND_INLINE | IBV_SEND_FENCE);
}

/* the source may change as soon as the call has returned */
static void atomic_write__source_is_copied(void **state)
{
	char source[8] = "8 bytes";

	(void)state;
	assert_int_equal(rpma_atomic_write(u.conn, remote, 40, source, ALWAYS, NULL), 0);
	memset(source, 0, sizeof(source));
	assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_SUCCESS), 1);
	assert_memory_equal(memory + 40, word, 8);
}

static void atomic_write__invalid(void **state)
{
	(void)state;
	assert_int_equal(rpma_atomic_write(NULL, remote, 0, word, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_atomic_write(u.conn, NULL, 0, word, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_atomic_write(u.conn, remote, 0, NULL, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_atomic_write(u.conn, remote, 0, word, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(write_word(4), RPMA_E_INVAL);
	assert_int_equal(write_word(REGION_SIZE), RPMA_E_INVAL);
	assert_int_equal(write_word(SIZE_MAX - 7), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

/* an aligned offset of a region that is not: the remote address counts, too */
static void atomic_write__address_not_aligned(void **state)
{
	struct rpma_mr_local *odd = unit_mr(u.peer, memory + 4, 32, REGION_USAGE);
	struct rpma_mr_remote *odd_remote = unit_mr_remote(odd);

	(void)state;
	assert_int_equal((uintptr_t)memory % 8, 0);
	assert_int_equal(
		rpma_atomic_write(u.conn, odd_remote, 8, word, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(
		rpma_atomic_write(u.conn, odd_remote, 4, word, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
	assert_int_equal(rpma_mr_remote_delete(&odd_remote), 0);
	assert_int_equal(rpma_mr_dereg(&odd), 0);
}

static void atomic_write__device_refuses(void **state)
{
	(void)state;
	double_fail("ibv_post_send", 1, UNIT_ERRNO);
	assert_int_equal(write_word(0), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

UNIT_MAIN(REGIONS_TEST(atomic_write__address_not_aligned),
	REGIONS_TEST(atomic_write__device_refuses), REGIONS_TEST(atomic_write__invalid),
	REGIONS_TEST(atomic_write__posts), REGIONS_TEST(atomic_write__source_is_copied))
