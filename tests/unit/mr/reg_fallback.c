/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* reg_fallback.c - memory that cannot be pinned is paged on demand; read-only memory is a source */

#include "unit.h"

static uint8_t memory[64];

static struct rpma_peer *odp_peer(void)
{
	double_device.has_odp = true;
	return unit_peer_new();
}

static void expect_failure(struct rpma_peer *peer, int usage, unsigned calls)
{
	struct rpma_mr_local *mr = UNIT_UNTOUCHED;

	unit_log_forget();
	double_log_clear();
	assert_int_equal(rpma_mr_reg(peer, memory, 64, usage, &mr), RPMA_E_PROVIDER);
	assert_ptr_equal(mr, UNIT_UNTOUCHED);
	assert_int_equal(double_calls("ibv_reg_mr"), calls);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	double_fail_none();
}

static void expect_success(struct rpma_peer *peer, int usage, int access)
{
	struct rpma_mr_local *mr;

	unit_log_forget();
	double_log_clear();
	mr = unit_mr(peer, memory, 64, usage);
	assert_int_equal(double_last_access(), access);
	assert_int_equal(double_calls("ibv_reg_mr"), 2);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
}

static void on_demand__device_can(void **state)
{
	struct rpma_peer *peer = odp_peer();

	(void)state;
	double_fail("ibv_reg_mr", 1, EOPNOTSUPP);
	expect_success(peer, RPMA_MR_USAGE_READ_DST, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	unit_peer_delete(peer);
}

/* registered, since it may never be meant for messages; but said */
static void on_demand__without_messages(void **state)
{
	static const struct {
		int usage;
		bool has_messages;
		unsigned warnings;
	} cases[] = { { RPMA_MR_USAGE_SEND, false, 1 }, { RPMA_MR_USAGE_RECV, false, 1 },
		{ RPMA_MR_USAGE_SEND, true, 0 }, { RPMA_MR_USAGE_RECV, true, 0 },
		{ RPMA_MR_USAGE_READ_SRC, false, 0 } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rpma_mr_local *mr;
		struct rpma_peer *peer;

		double_device.odp_has_messages = cases[i].has_messages;
		peer = odp_peer();
		unit_log_forget();
		double_fail("ibv_reg_mr", 1, EOPNOTSUPP);
		mr = unit_mr(peer, memory, 64, cases[i].usage);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_WARNING), cases[i].warnings);
		assert_int_equal(rpma_mr_dereg(&mr), 0);
		unit_peer_delete(peer);
	}
}

static void on_demand__device_cannot(void **state)
{
	struct rpma_peer *peer = unit_peer_new();

	(void)state;
	double_fail("ibv_reg_mr", 1, EOPNOTSUPP);
	expect_failure(peer, RPMA_MR_USAGE_READ_DST, 1);
	assert_errno(EOPNOTSUPP);
	unit_peer_delete(peer);
}

static void on_demand__only_for_its_error(void **state)
{
	struct rpma_peer *peer = odp_peer();

	(void)state;
	double_fail("ibv_reg_mr", 1, UNIT_ERRNO);
	expect_failure(peer, RPMA_MR_USAGE_READ_DST, 1);
	unit_peer_delete(peer);
}

static void on_demand__fails_too(void **state)
{
	struct rpma_peer *peer = odp_peer();

	(void)state;
	double_fail_always("ibv_reg_mr", EOPNOTSUPP);
	expect_failure(peer, RPMA_MR_USAGE_READ_DST, 2);
	assert_errno(EOPNOTSUPP);
	unit_peer_delete(peer);
}

/* a source of writes asks for more than it needs: without it, read-only memory will do */
static void read_only__source(void **state)
{
	struct rpma_peer *peer = unit_peer_new();

	(void)state;
	double_fail("ibv_reg_mr", 1, EFAULT);
	expect_success(peer, RPMA_MR_USAGE_WRITE_SRC, 0);
	double_fail("ibv_reg_mr", 1, EFAULT);
	expect_success(peer, RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_SEND,
		IBV_ACCESS_REMOTE_READ);
	unit_peer_delete(peer);
}

/* what the device writes to cannot be read-only; nor is there less to ask for a plain source */
static void read_only__no_help(void **state)
{
	static const int usages[] = { RPMA_MR_USAGE_READ_DST, RPMA_MR_USAGE_WRITE_DST,
		RPMA_MR_USAGE_RECV, RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_RECV,
		RPMA_MR_USAGE_READ_SRC, RPMA_MR_USAGE_SEND };
	struct rpma_peer *peer = unit_peer_new();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(usages) / sizeof(usages[0]); i++) {
		double_fail("ibv_reg_mr", 1, EFAULT);
		expect_failure(peer, usages[i], 1);
		assert_errno(EFAULT);
	}
	unit_peer_delete(peer);
}

static void read_only__fails_too(void **state)
{
	struct rpma_peer *peer = unit_peer_new();

	(void)state;
	double_fail_always("ibv_reg_mr", EFAULT);
	expect_failure(peer, RPMA_MR_USAGE_WRITE_SRC, 2);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(on_demand__device_can), UNIT_TEST(on_demand__device_cannot),
	UNIT_TEST(on_demand__fails_too), UNIT_TEST(on_demand__only_for_its_error),
	UNIT_TEST(on_demand__without_messages), UNIT_TEST(read_only__fails_too),
	UNIT_TEST(read_only__no_help), UNIT_TEST(read_only__source))
