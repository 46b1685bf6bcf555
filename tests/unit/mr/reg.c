/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* reg.c - registering memory: arguments, failures, access flags of every usage */

#include "unit.h"

static uint8_t memory[64];

static int reg_unusable(struct rpma_peer *peer, void *ptr, size_t size, int usage)
{
	struct rpma_mr_local *mr = UNIT_UNTOUCHED;
	const int ret = rpma_mr_reg(peer, ptr, size, usage, &mr);

	assert_ptr_equal(mr, UNIT_UNTOUCHED);
	return ret;
}

static void mr_reg__range(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_mr_local *mr = unit_mr(peer, memory + 1, 63, RPMA_MR_USAGE_RECV);

	(void)state;
	assert_ptr_equal(double_last_mr()->addr, memory + 1);
	assert_int_equal(double_last_mr()->length, 63);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(peer);
}

static void mr_reg__invalid(void **state)
{
	struct rpma_peer *peer = unit_peer_new();

	(void)state;
	assert_int_equal(reg_unusable(NULL, memory, 64, RPMA_MR_USAGE_RECV), RPMA_E_INVAL);
	assert_int_equal(reg_unusable(peer, NULL, 64, RPMA_MR_USAGE_RECV), RPMA_E_INVAL);
	assert_int_equal(reg_unusable(peer, memory, 0, RPMA_MR_USAGE_RECV), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_reg(peer, memory, 64, RPMA_MR_USAGE_RECV, NULL), RPMA_E_INVAL);
	assert_int_equal(reg_unusable(peer, memory, 64, 0), RPMA_E_INVAL);
	assert_int_equal(reg_unusable(peer, memory, 64, RPMA_MR_USAGE_RECV | 1 << 8), RPMA_E_INVAL);
	assert_int_equal(reg_unusable(peer, memory, 64, -1), RPMA_E_INVAL);
	assert_int_equal(double_calls("ibv_reg_mr"), 0);
	unit_peer_delete(peer);
}

static void mr_reg__fails(void **state)
{
	struct rpma_peer *peer = unit_peer_new();

	(void)state;
	unit_alloc_fail(1);
	assert_int_equal(reg_unusable(peer, memory, 64, RPMA_MR_USAGE_RECV), RPMA_E_NOMEM);
	assert_int_equal(double_calls("ibv_reg_mr"), 0);

	double_fail("ibv_reg_mr", 1, UNIT_ERRNO);
	assert_int_equal(reg_unusable(peer, memory, 64, RPMA_MR_USAGE_RECV), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(double_calls("ibv_reg_mr"), 1);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_non_null(strstr(unit_log_text, "length=64"));
	unit_peer_delete(peer);
}

#define FLUSH_VISIBILITY RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY
#define FLUSH_PERSISTENT RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT

static const struct {
	int usage;
	int access;
} rules[] = {
	{ RPMA_MR_USAGE_READ_SRC, IBV_ACCESS_REMOTE_READ },
	{ RPMA_MR_USAGE_READ_DST, IBV_ACCESS_LOCAL_WRITE },
	{ RPMA_MR_USAGE_WRITE_SRC, IBV_ACCESS_LOCAL_WRITE },
	{ RPMA_MR_USAGE_WRITE_DST, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE },
	{ FLUSH_VISIBILITY, IBV_ACCESS_REMOTE_READ },
	{ FLUSH_PERSISTENT, IBV_ACCESS_REMOTE_READ },
	{ RPMA_MR_USAGE_SEND, 0 },
	{ RPMA_MR_USAGE_RECV, IBV_ACCESS_LOCAL_WRITE },
};

static int access_of(struct rpma_peer *peer, int usage)
{
	struct rpma_mr_local *mr = unit_mr(peer, memory, sizeof(memory), usage);
	const int access = double_last_access();

	assert_int_equal(rpma_mr_dereg(&mr), 0);
	return access;
}

/* all 255 combinations: the access is the sum of what each bit asks for */
static void mr_reg__access(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	int usage, expected;
	size_t i;

	(void)state;
	for (usage = 1; usage <= 0xff; usage++) {
		expected = 0;
		for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
			expected |= usage & rules[i].usage ? rules[i].access : 0;
		assert_int_equal(access_of(peer, usage), expected);
	}
	unit_peer_delete(peer);
}

/* on iWARP the answer to a read is a write of the peer */
static void mr_reg__access_on_iwarp(void **state)
{
	struct rpma_peer *peer;

	(void)state;
	double_device.transport = IBV_TRANSPORT_IWARP;
	peer = unit_peer_new();
	assert_int_equal(access_of(peer, RPMA_MR_USAGE_READ_DST),
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(access_of(peer, RPMA_MR_USAGE_READ_SRC), IBV_ACCESS_REMOTE_READ);
	assert_int_equal(access_of(peer, RPMA_MR_USAGE_RECV), IBV_ACCESS_LOCAL_WRITE);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(mr_reg__access), UNIT_TEST(mr_reg__access_on_iwarp), UNIT_TEST(mr_reg__fails),
	UNIT_TEST(mr_reg__invalid), UNIT_TEST(mr_reg__range))
