/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* exits.c: a status in words, whoever knows it */

#include <errno.h>
#include <uv.h>

#include "exits.h"
#include "test.h"

static void reason__of_libuv(void **state)
{
	(void)state;
	assert_string_equal(reason(UV_ENOSPC), "no space left on device");
	assert_string_equal(reason_name(UV_ENOSPC), "ENOSPC");
	assert_string_equal(reason(UV_EAI_NONAME), uv_strerror(UV_EAI_NONAME));
	assert_string_equal(reason_name(UV_EAI_NONAME), "EAI_NONAME");
	assert_string_equal(reason_name(UV_EOF), "EOF");
}

static void reason__of_the_system_alone(void **state)
{
	(void)state;
	assert_string_equal(reason(-EDQUOT), strerror(EDQUOT));
	assert_string_equal(reason_name(-EDQUOT), "EDQUOT");
}

static void reason__of_nobody(void **state)
{
	(void)state;
	assert_non_null(strstr(reason(-4000), "4000"));
	assert_non_null(strstr(reason_name(-4000), "-4000"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reason__of_libuv),
		cmocka_unit_test(reason__of_the_system_alone),
		cmocka_unit_test(reason__of_nobody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
