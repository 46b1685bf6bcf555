/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* err_2str.c - every result code has its text, and any other number has one too */

#include <limits.h>

#include "unit.h"

static void err_2str__known(void **state)
{
	(void)state;
	assert_string_equal(rpma_err_2str(0), "Success");
	assert_string_equal(rpma_err_2str(RPMA_E_NOSUPP), "Not supported");
	assert_string_equal(rpma_err_2str(RPMA_E_PROVIDER), "Provider error occurred");
	assert_string_equal(rpma_err_2str(RPMA_E_NOMEM), "Out of memory");
	assert_string_equal(rpma_err_2str(RPMA_E_INVAL), "Invalid argument");
	assert_string_equal(rpma_err_2str(RPMA_E_NO_COMPLETION), "No next completion available");
	assert_string_equal(rpma_err_2str(RPMA_E_NO_EVENT), "No next event available");
	assert_string_equal(rpma_err_2str(RPMA_E_AGAIN), "Temporary error, try again");
	assert_string_equal(rpma_err_2str(RPMA_E_SHARED_CHANNEL), "Completion channel is shared");
	assert_string_equal(
		rpma_err_2str(RPMA_E_NOT_SHARED_CHNL), "Completion channel is not shared");
}

static void err_2str__unknown(void **state)
{
	static const int codes[] = { RPMA_E_UNKNOWN, RPMA_E_NOT_SHARED_CHNL - 1, 1, -1, INT_MAX,
		INT_MIN };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		assert_string_equal(rpma_err_2str(codes[i]), "Unknown error");
}

UNIT_MAIN(UNIT_TEST(err_2str__known), UNIT_TEST(err_2str__unknown))
