/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* new.c - a shared receive queue is made as its configuration says, or not at all */

#include <limits.h>

#include "../../../src/peer.h"
#include "unit.h"

static struct rpma_peer *peer;
static struct rpma_srq_cfg *cfg;

static int setup(void **state)
{
	(void)unit_setup(state);
	peer = unit_peer_new();
	double_log_clear();
	unit_log_forget();
	return rpma_srq_cfg_new(&cfg);
}

static int teardown(void **state)
{
	assert_int_equal(rpma_srq_cfg_delete(&cfg), 0);
	unit_peer_delete(peer);
	return unit_teardown(state);
}

static void expect_srq(uint32_t max_wr)
{
	const struct ibv_srq *ibv_srq = double_last_srq();
	const struct ibv_srq_init_attr *attr;

	assert_non_null(ibv_srq);
	assert_ptr_equal(ibv_srq->pd, rpma__peer_pd(peer));
	attr = double_srq_attr(ibv_srq);
	assert_null(attr->srq_context);
	assert_int_equal(attr->attr.max_wr, max_wr);
	assert_int_equal(attr->attr.max_sge, 1);
	assert_int_equal(attr->attr.srq_limit, 0);
}

/* without a configuration: 20 receives, a completion queue of 20 with its own channel, armed */
static void srq_new__defaults(void **state)
{
	struct rpma_srq *srq = NULL;

	(void)state;
	assert_int_equal(rpma_srq_new(peer, NULL, &srq), 0);
	assert_non_null(srq);
	expect_srq(20);
	assert_int_equal(double_last_cq()->cqe, 20);
	assert_null(double_last_cq()->cq_context);
	assert_non_null(double_last_cq()->channel);
	assert_true(double_cq_is_armed(double_last_cq()));
	assert_string_equal(double_log(), "ibv_create_srq ibv_create_comp_channel ibv_create_cq "
					  "ibv_req_notify_cq");
	assert_int_equal(rpma_srq_delete(&srq), 0);
}

static void srq_new__configured(void **state)
{
	struct rpma_srq *srq = NULL;

	(void)state;
	assert_int_equal(rpma_srq_cfg_set_rq_size(cfg, 3), 0);
	assert_int_equal(rpma_srq_cfg_set_rcq_size(cfg, 7), 0);
	assert_int_equal(rpma_srq_new(peer, cfg, &srq), 0);
	expect_srq(3);
	assert_int_equal(double_last_cq()->cqe, 7);
	assert_int_equal(rpma_srq_delete(&srq), 0);
}

/* connections complete its receives then */
static void srq_new__without_rcq(void **state)
{
	struct rpma_srq *srq = NULL;

	(void)state;
	assert_int_equal(rpma_srq_cfg_set_rcq_size(cfg, 0), 0);
	assert_int_equal(rpma_srq_new(peer, cfg, &srq), 0);
	expect_srq(20);
	assert_int_equal(double_live(DOUBLE_CQ), 0);
	assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 0);
	assert_string_equal(double_log(), "ibv_create_srq");
	assert_int_equal(rpma_srq_delete(&srq), 0);
}

static void srq_new__invalid(void **state)
{
	struct rpma_srq *srq = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_srq_new(NULL, NULL, &srq), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_new(peer, NULL, NULL), RPMA_E_INVAL);
	assert_ptr_equal(srq, UNIT_UNTOUCHED);
	assert_int_equal(double_calls_total(), 0);
}

/* a size that verbs has no int for counts as INT_MAX; the device decides */
static void srq_new__clipped(void **state)
{
	struct rpma_srq *srq = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_srq_cfg_set_rcq_size(cfg, (uint32_t)INT_MAX + 1), 0);
	assert_int_equal(rpma_srq_new(peer, cfg, &srq), RPMA_E_PROVIDER);
	assert_errno(EINVAL);
	assert_non_null(strstr(unit_log_text, "cqe=2147483647"));
	assert_ptr_equal(srq, UNIT_UNTOUCHED);
	assert_int_equal(double_live(DOUBLE_SRQ), 0);
}

/* whatever the device refuses, nothing is left and errno tells why */
static void srq_new__device_refuses(void **state)
{
	static const char *const calls[] = { "ibv_create_srq", "ibv_create_comp_channel",
		"ibv_create_cq", "ibv_req_notify_cq" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct rpma_srq *srq = UNIT_UNTOUCHED;

		unit_log_forget();
		double_fail(calls[i], 1, UNIT_ERRNO);
		assert_int_equal(rpma_srq_new(peer, NULL, &srq), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_ptr_equal(srq, UNIT_UNTOUCHED);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
		assert_non_null(strstr(unit_log_text, calls[i]));
		assert_int_equal(double_live(DOUBLE_SRQ), 0);
		assert_int_equal(double_live(DOUBLE_CQ), 0);
		assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 0);
	}
}

/* the device's word for a size that it does not like */
static void srq_new__no_room(void **state)
{
	struct rpma_srq *srq = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_srq_cfg_set_rq_size(cfg, 0), 0);
	assert_int_equal(rpma_srq_new(peer, cfg, &srq), RPMA_E_PROVIDER);
	assert_errno(EINVAL);
	assert_int_equal(rpma_srq_cfg_set_rq_size(cfg, UINT32_MAX), 0);
	assert_int_equal(rpma_srq_new(peer, cfg, &srq), RPMA_E_PROVIDER);
	assert_errno(EINVAL);
	assert_non_null(strstr(unit_log_text, "max_wr=4294967295"));
	assert_ptr_equal(srq, UNIT_UNTOUCHED);
}

/* unlike other outputs this one becomes NULL when there is no memory */
static void srq_new__no_memory(void **state)
{
	unsigned k;

	(void)state;
	for (k = 1; k <= 2; k++) {
		struct rpma_srq *srq = UNIT_UNTOUCHED;

		unit_alloc_fail(k);
		assert_int_equal(rpma_srq_new(peer, NULL, &srq), RPMA_E_NOMEM);
		assert_null(srq);
		assert_int_equal(unit_allocs(), k);
		assert_int_equal(double_live(DOUBLE_SRQ), 0);
		assert_int_equal(double_live(DOUBLE_CQ), 0);
		assert_int_equal(double_live(DOUBLE_COMP_CHANNEL), 0);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(srq_new__clipped), TEST(srq_new__configured), TEST(srq_new__defaults),
	TEST(srq_new__device_refuses), TEST(srq_new__invalid), TEST(srq_new__no_memory),
	TEST(srq_new__no_room), TEST(srq_new__without_rcq))
