/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* size.c: what is a size and what is not, up to the last byte that 64 bits can count */

#include <uv.h>

#include "size.h"
#include "test.h"

static void parse__sizes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t size;
	} good[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "007", 7 },
		{ "4096", 4096 },
		{ "1K", 1024 },
		{ "256k", 262144 },
		{ "3M", 3145728 },
		{ "2g", UINT64_C(2) << 30 },
		{ "5T", UINT64_C(5) << 40 },
		{ "18446744073709551615", UINT64_MAX },
		{ "16777215T", UINT64_C(16777215) << 40 },
	};

	for (size_t i = 0; i < COUNT(good); i++) {
		uint64_t size = 42;
		assert_int_equal(size_parse(good[i].text, &size), 0);
		assert_int_equal(size, good[i].size);
	}
}

static void parse__not_sizes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int error;
	} bad[] = {
		{ "", UV_EINVAL },
		{ " 1", UV_EINVAL },
		{ "1 ", UV_EINVAL },
		{ "-1", UV_EINVAL },
		{ "+1", UV_EINVAL },
		{ "K", UV_EINVAL },
		{ "1X", UV_EINVAL },
		{ "1KB", UV_EINVAL },
		{ "1K1", UV_EINVAL },
		{ "0x10", UV_EINVAL },
		{ "1.5G", UV_EINVAL },
		{ "1\xce\xba", UV_EINVAL },
		{ "18446744073709551616", UV_ERANGE },
		{ "99999999999999999999999", UV_ERANGE },
		{ "16777216T", UV_ERANGE },
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		uint64_t size = 42;
		assert_int_equal(size_parse(bad[i].text, &size), bad[i].error);
		assert_int_equal(size, 42);
	}
}

static void format__sizes(void **state)
{
	(void)state;
	static const struct {
		uint64_t size;
		const char *text;
	} all[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ 1048575, "1.0 MiB" },
		{ UINT64_C(3) << 30, "3.0 GiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};

	for (size_t i = 0; i < COUNT(all); i++) {
		char text[SIZE_TEXT];
		assert_string_equal(size_format(all[i].size, text), all[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__sizes),
		cmocka_unit_test(parse__not_sizes),
		cmocka_unit_test(format__sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
