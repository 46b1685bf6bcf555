/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* get_ibv_context.c - an address leads to the device that it belongs to, or is reached from */

#include "unit.h"

static struct ibv_context *get(const char *addr, enum rpma_util_ibv_context_type type)
{
	struct ibv_context *ibv_ctx = NULL;

	assert_int_equal(rpma_utils_get_ibv_context(addr, type, &ibv_ctx), 0);
	return ibv_ctx;
}

/* LOCAL: the address is bound, with hints for a passive side of the TCP port space */
static void get_ibv_context__local(void **state)
{
	(void)state;
	assert_ptr_equal(get(UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_LOCAL), double_ctx());

	assert_string_equal(double_node(), UNIT_ADDR);
	assert_string_equal(double_service(), "");
	assert_int_equal(double_hints()->ai_flags, RAI_PASSIVE);
	assert_int_equal(double_hints()->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(double_hints()->ai_qp_type, IBV_QPT_RC);
	assert_int_equal(double_hints()->ai_family, 0);
	assert_string_equal(
		double_log(), "rdma_getaddrinfo rdma_create_id rdma_bind_addr rdma_destroy_id");
}

/* REMOTE: the address is resolved, which may take a second */
static void get_ibv_context__remote(void **state)
{
	(void)state;
	assert_ptr_equal(get(UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_REMOTE), double_ctx());

	assert_int_equal(double_hints()->ai_flags, 0);
	assert_int_equal(double_hints()->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(double_hints()->ai_qp_type, IBV_QPT_RC);
	assert_string_equal(
		double_log(), "rdma_getaddrinfo rdma_create_id rdma_resolve_addr rdma_destroy_id");
}

static void get_ibv_context__ipv6(void **state)
{
	(void)state;
	assert_ptr_equal(get("2001:db8::1", RPMA_UTIL_IBV_CONTEXT_LOCAL), double_ctx());
	assert_ptr_equal(get("2001:db8::1", RPMA_UTIL_IBV_CONTEXT_REMOTE), double_ctx());
}

static void get_ibv_context__nothing_is_logged(void **state)
{
	(void)state;
	(void)get(UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_LOCAL);
	unit_logged_errors(0);
}

/* the context is found even if the id that found it cannot be destroyed */
static void get_ibv_context__destroying_fails(void **state)
{
	(void)state;
	double_fail("rdma_destroy_id", 1, UNIT_ERRNO);
	assert_ptr_equal(get(UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_LOCAL), double_ctx());
}

UNIT_MAIN(UNIT_TEST(get_ibv_context__destroying_fails), UNIT_TEST(get_ibv_context__ipv6),
	UNIT_TEST(get_ibv_context__local), UNIT_TEST(get_ibv_context__nothing_is_logged),
	UNIT_TEST(get_ibv_context__remote))
