/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* get_ibv_context_fails.c - every failure has its code and errno, and leaves the output alone */

#include <netdb.h>

#include "unit.h"

static void expect(const char *addr, int type, int expected)
{
	struct ibv_context *ibv_ctx = UNIT_UNTOUCHED;

	assert_int_equal(
		rpma_utils_get_ibv_context(addr, (enum rpma_util_ibv_context_type)type, &ibv_ctx),
		expected);
	assert_ptr_equal(ibv_ctx, UNIT_UNTOUCHED);
}

static void get_ibv_context__null_addr(void **state)
{
	(void)state;
	expect(NULL, RPMA_UTIL_IBV_CONTEXT_LOCAL, RPMA_E_INVAL);
	assert_int_equal(double_calls_total(), 0);
}

static void get_ibv_context__null_output(void **state)
{
	(void)state;
	assert_int_equal(rpma_utils_get_ibv_context(UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL),
		RPMA_E_INVAL);
	assert_int_equal(
		rpma_utils_get_ibv_context(NULL, RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL), RPMA_E_INVAL);
	assert_int_equal(double_calls_total(), 0);
}

static void get_ibv_context__unknown_type(void **state)
{
	(void)state;
	expect(UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_REMOTE + 1, RPMA_E_INVAL);
	expect(UNIT_ADDR, -1, RPMA_E_INVAL);
	assert_int_equal(double_calls_total(), 0);
}

/* a provider's call fails: its errno stays, it is logged once, the calls before it are undone */
static void expect_provider(const char *call, int type, const char *calls)
{
	unit_log_forget();
	double_log_clear();
	double_fail(call, 1, UNIT_ERRNO);

	expect(UNIT_ADDR, type, RPMA_E_PROVIDER);

	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_non_null(strstr(unit_log_text, call));
	assert_non_null(strstr(unit_log_text, strerror(UNIT_ERRNO)));
	assert_string_equal(double_log(), calls);
	assert_true(double_is_clean());
}

static void get_ibv_context__getaddrinfo_fails(void **state)
{
	(void)state;
	expect_provider("rdma_getaddrinfo", RPMA_UTIL_IBV_CONTEXT_LOCAL, "rdma_getaddrinfo");
	assert_non_null(strstr(unit_log_text, UNIT_ADDR));
}

static void get_ibv_context__create_id_fails(void **state)
{
	(void)state;
	expect_provider(
		"rdma_create_id", RPMA_UTIL_IBV_CONTEXT_LOCAL, "rdma_getaddrinfo rdma_create_id");
}

static void get_ibv_context__bind_addr_fails(void **state)
{
	(void)state;
	expect_provider("rdma_bind_addr", RPMA_UTIL_IBV_CONTEXT_LOCAL,
		"rdma_getaddrinfo rdma_create_id rdma_bind_addr rdma_destroy_id");
}

static void get_ibv_context__resolve_addr_fails(void **state)
{
	(void)state;
	expect_provider("rdma_resolve_addr", RPMA_UTIL_IBV_CONTEXT_REMOTE,
		"rdma_getaddrinfo rdma_create_id rdma_resolve_addr rdma_destroy_id");
}

/* errno stays that of the first failure when undoing fails as well */
static void get_ibv_context__undoing_fails(void **state)
{
	(void)state;
	double_fail("rdma_bind_addr", 1, UNIT_ERRNO);
	double_fail("rdma_destroy_id", 1, EBUSY);
	expect(UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_LOCAL, RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
}

/* the resolver's own codes become the errno that is closest to them */
static void get_ibv_context__resolver_codes(void **state)
{
	static const struct {
		int code;
		int err;
	} codes[] = { { EAI_MEMORY, ENOMEM }, { EAI_AGAIN, EAGAIN }, { EAI_FAMILY, EAFNOSUPPORT },
		{ EAI_SERVICE, EINVAL }, { EAI_NONAME, EADDRNOTAVAIL },
		{ EAI_FAIL, EADDRNOTAVAIL } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		double_fail("rdma_getaddrinfo", 1, codes[i].code);
		expect(UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_LOCAL, RPMA_E_PROVIDER);
		assert_errno(codes[i].err);
	}
	/* a name that is none */
	expect("no.such.address", RPMA_UTIL_IBV_CONTEXT_LOCAL, RPMA_E_PROVIDER);
	assert_errno(EADDRNOTAVAIL);
}

/* a wildcard address belongs to no device: an error, not a NULL context */
static void get_ibv_context__wildcard(void **state)
{
	static const char *const addrs[] = { "0.0.0.0", "::" };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		unit_log_forget();
		expect(addrs[i], RPMA_UTIL_IBV_CONTEXT_LOCAL, RPMA_E_PROVIDER);
		assert_errno(ENODEV);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
		assert_non_null(strstr(unit_log_text, addrs[i]));
	}
}

UNIT_MAIN(UNIT_TEST(get_ibv_context__bind_addr_fails), UNIT_TEST(get_ibv_context__create_id_fails),
	UNIT_TEST(get_ibv_context__getaddrinfo_fails), UNIT_TEST(get_ibv_context__null_addr),
	UNIT_TEST(get_ibv_context__null_output), UNIT_TEST(get_ibv_context__resolve_addr_fails),
	UNIT_TEST(get_ibv_context__resolver_codes), UNIT_TEST(get_ibv_context__undoing_fails),
	UNIT_TEST(get_ibv_context__unknown_type), UNIT_TEST(get_ibv_context__wildcard))
