/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* advise.c - advice about a region reaches the device, whose answer is told apart */

#include "../../../src/peer.h"
#include "unit.h"

#define SIZE     64
#define PREFETCH 1 /* for writing; IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE where verbs.h has it */
#define FLUSH    1

#ifdef IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
_Static_assert(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE == PREFETCH, "as programs pass it");
_Static_assert(IBV_ADVISE_MR_FLAG_FLUSH == FLUSH, "as programs pass it");
#endif

static struct rpma_peer *peer;
static struct rpma_mr_local *mr;
static uint8_t memory[SIZE];

static int setup(void **state)
{
	(void)unit_setup(state);
	peer = unit_peer_new();
	mr = unit_mr(peer, memory, SIZE, RPMA_MR_USAGE_WRITE_DST);
	unit_log_forget();
	double_log_clear();
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_peer_delete(peer);
	return unit_teardown(state);
}

static void mr_advise__passes_on(void **state)
{
	const struct double_advice *given = double_last_advice();

	(void)state;
	assert_int_equal(rpma_mr_advise(mr, 16, 48, PREFETCH, FLUSH), 0);
	assert_ptr_equal(given->pd, rpma__peer_pd(peer));
	assert_int_equal(given->advice, PREFETCH);
	assert_int_equal(given->flags, FLUSH);
	assert_int_equal(given->num_sge, 1);
	assert_int_equal(given->sge.addr, (uintptr_t)memory + 16);
	assert_int_equal(given->sge.length, 48);
	assert_int_equal(given->sge.lkey, double_last_mr()->lkey);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 0);
}

/* what the device makes of unknown numbers is its business */
static void mr_advise__any_number(void **state)
{
	(void)state;
	assert_int_equal(rpma_mr_advise(mr, 0, SIZE, 77, UINT32_MAX), 0);
	assert_int_equal(double_last_advice()->advice, 77);
	assert_int_equal(double_last_advice()->flags, UINT32_MAX);
}

static void mr_advise__invalid(void **state)
{
	(void)state;
	assert_int_equal(rpma_mr_advise(NULL, 0, SIZE, PREFETCH, FLUSH), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_advise(NULL, 0, 0, PREFETCH, 0), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_advise(mr, 1, SIZE, PREFETCH, FLUSH), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_advise(mr, SIZE + 1, 0, PREFETCH, FLUSH), RPMA_E_INVAL);
	assert_int_equal(rpma_mr_advise(mr, SIZE_MAX, 2, PREFETCH, FLUSH), RPMA_E_INVAL);
	assert_int_equal(
		rpma_mr_advise(mr, 0, ((size_t)1 << 32) + 5, PREFETCH, FLUSH), RPMA_E_INVAL);
	assert_int_equal(double_calls("ibv_advise_mr"), 0);
}

static void mr_advise__answers(void **state)
{
	static const struct {
		int err;
		int ret;
	} answers[] = {
		{ EOPNOTSUPP, RPMA_E_NOSUPP },
		{ ENOTSUP, RPMA_E_NOSUPP },
		{ EFAULT, RPMA_E_INVAL },
		{ EINVAL, RPMA_E_INVAL },
		{ EPERM, RPMA_E_PROVIDER },
		{ ENOSYS, RPMA_E_PROVIDER },
		{ ENOENT, RPMA_E_PROVIDER },
		{ ENOMEM, RPMA_E_PROVIDER },
		{ UNIT_ERRNO, RPMA_E_PROVIDER },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		unit_log_forget();
		double_fail("ibv_advise_mr", 1, answers[i].err);
		assert_int_equal(rpma_mr_advise(mr, 0, SIZE, PREFETCH, FLUSH), answers[i].ret);
		assert_errno(answers[i].err);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
		assert_non_null(strstr(unit_log_text, "ibv_advise_mr(advice=1, flags=0x1)"));
	}
}

static void mr_advise__device_cannot(void **state)
{
	(void)state;
	double_device.takes_advice = false;
	assert_int_equal(rpma_mr_advise(mr, 0, SIZE, PREFETCH, FLUSH), RPMA_E_NOSUPP);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(mr_advise__answers), TEST(mr_advise__any_number), TEST(mr_advise__device_cannot),
	TEST(mr_advise__invalid), TEST(mr_advise__passes_on))
