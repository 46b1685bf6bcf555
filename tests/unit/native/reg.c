/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * reg.c - regions take native flushes where the memory allows it; where not, flushes to them are
 * emulated
 */

#include "native.h"

#define EMULATED_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static struct rpma_mr_local *other;
static struct rpma_mr_remote *other_remote;

static void reg_other(int usage)
{
	other = unit_mr(u.peer, memory, sizeof(memory), usage);
	other_remote = unit_mr_remote(other);
}

static void dereg_other(void)
{
	assert_int_equal(rpma_mr_remote_delete(&other_remote), 0);
	assert_int_equal(rpma_mr_dereg(&other), 0);
}

/* peers with the emulated form may read, too */
static void reg__access(void **state)
{
	(void)state;
	assert_int_equal(double_last_access(),
		EMULATED_ACCESS | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT);
	reg_other(RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	assert_int_equal(double_last_access(), IBV_ACCESS_REMOTE_READ | IBV_ACCESS_FLUSH_GLOBAL);
	dereg_other();
	reg_other(RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	assert_int_equal(
		double_last_access(), IBV_ACCESS_REMOTE_READ | IBV_ACCESS_FLUSH_PERSISTENT);
	dereg_other();
	reg_other(RPMA_MR_USAGE_READ_SRC);
	assert_int_equal(double_last_access(), IBV_ACCESS_REMOTE_READ);
	dereg_other();
}

/* the persistent bit goes first, then the other; the usage stays what it was, and a flush works */
static void reg__refused(void **state)
{
	static const int errors[] = { EINVAL, EOPNOTSUPP };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		int flush_type = 0;
		uint8_t desc[21];

		double_log_clear();
		double_fail("ibv_reg_mr", 1, errors[i]);
		reg_other(USAGE);
		assert_int_equal(double_calls("ibv_reg_mr"), 2);
		assert_int_equal(double_last_access(), EMULATED_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
		assert_int_equal(rpma_mr_get_descriptor(other, desc), 0);
		assert_int_equal(desc[20] & USAGE, USAGE);
		assert_int_equal(rpma_mr_remote_get_flush_type(other_remote, &flush_type), 0);
		assert_int_equal(flush_type,
			RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
		assert_int_equal(rpma_flush(u.conn, other_remote, 0, 64, RPMA_FLUSH_TYPE_PERSISTENT,
					 ALWAYS, &u),
			0);
		native_expect_wc(IBV_WC_RDMA_READ);
		dereg_other();
	}
}

/* memory that is refused in any form is refused */
static void reg__refused_for_good(void **state)
{
	struct rpma_mr_local *none = UNIT_UNTOUCHED;

	(void)state;
	double_fail_always("ibv_reg_mr", EINVAL);
	double_log_clear();
	assert_int_equal(
		rpma_mr_reg(u.peer, memory, sizeof(memory), USAGE, &none), RPMA_E_PROVIDER);
	assert_errno(EINVAL);
	assert_ptr_equal(none, UNIT_UNTOUCHED);
	assert_int_equal(double_calls("ibv_reg_mr"), 3);
	double_fail_none();
	/* for another reason it is not tried again */
	double_fail("ibv_reg_mr", 1, ENOMEM);
	double_log_clear();
	assert_int_equal(
		rpma_mr_reg(u.peer, memory, sizeof(memory), USAGE, &none), RPMA_E_PROVIDER);
	assert_int_equal(double_calls("ibv_reg_mr"), 1);
	assert_errno(ENOMEM);
}

/* a file system (DAX) needs paging on demand, with the native bits or without */
static void reg__on_demand(void **state)
{
	struct rpma_peer *peer;

	(void)state;
	double_device.has_odp = true;
	peer = unit_peer_new();
	double_log_clear();
	double_fail("ibv_reg_mr", 1, EOPNOTSUPP);
	other = unit_mr(peer, memory, sizeof(memory), RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	assert_int_equal(double_last_access(),
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_FLUSH_PERSISTENT);
	assert_int_equal(double_calls("ibv_reg_mr"), 2);
	assert_int_equal(rpma_mr_dereg(&other), 0);
	unit_peer_delete(peer);
}

UNIT_MAIN(NATIVE_TEST(reg__access), NATIVE_TEST(reg__on_demand), NATIVE_TEST(reg__refused),
	NATIVE_TEST(reg__refused_for_good))
