/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* threshold.c - the two thresholds: values at the start, what is accepted, what passes */

#include "unit.h"

static enum rpma_log_level start_main, start_aux;

static enum rpma_log_level get(enum rpma_log_threshold threshold)
{
	enum rpma_log_level level = (enum rpma_log_level)UNIT_UNTOUCHED_INT;

	assert_int_equal(rpma_log_get_threshold(threshold, &level), 0);
	return level;
}

static void threshold__at_the_start(void **state)
{
	(void)state;
#ifdef DEBUG
	assert_int_equal(start_main, RPMA_LOG_LEVEL_DEBUG);
	assert_int_equal(start_aux, RPMA_LOG_LEVEL_WARNING);
#else
	assert_int_equal(start_main, RPMA_LOG_LEVEL_WARNING);
	assert_int_equal(start_aux, RPMA_LOG_DISABLED);
#endif
}

/* every level, for each threshold by itself */
static void threshold__set_and_get(void **state)
{
	int level;

	(void)state;
	for (level = RPMA_LOG_DISABLED; level <= RPMA_LOG_LEVEL_DEBUG; level++) {
		assert_int_equal(
			rpma_log_set_threshold(RPMA_LOG_THRESHOLD, (enum rpma_log_level)level), 0);
		assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX,
					 (enum rpma_log_level)(RPMA_LOG_LEVEL_DEBUG - 1 - level)),
			0);
		assert_int_equal(get(RPMA_LOG_THRESHOLD), level);
		assert_int_equal(get(RPMA_LOG_THRESHOLD_AUX), RPMA_LOG_LEVEL_DEBUG - 1 - level);
	}
}

static void threshold__set_invalid(void **state)
{
	(void)state;
	assert_int_equal(
		rpma_log_set_threshold(RPMA_LOG_THRESHOLD_MAX, RPMA_LOG_LEVEL_INFO), RPMA_E_INVAL);
	assert_int_equal(rpma_log_set_threshold((enum rpma_log_threshold) - 1, RPMA_LOG_LEVEL_INFO),
		RPMA_E_INVAL);
	assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, (enum rpma_log_level) - 2),
		RPMA_E_INVAL);
	assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD,
				 (enum rpma_log_level)(RPMA_LOG_LEVEL_DEBUG + 1)),
		RPMA_E_INVAL);
	assert_int_equal(get(RPMA_LOG_THRESHOLD), RPMA_LOG_LEVEL_DEBUG); /* of the set-up */
}

static void threshold__get_invalid(void **state)
{
	enum rpma_log_level level = (enum rpma_log_level)UNIT_UNTOUCHED_INT;

	(void)state;
	assert_int_equal(rpma_log_get_threshold(RPMA_LOG_THRESHOLD_MAX, &level), RPMA_E_INVAL);
	assert_int_equal(
		rpma_log_get_threshold((enum rpma_log_threshold) - 1, &level), RPMA_E_INVAL);
	assert_int_equal(level, UNIT_UNTOUCHED_INT);
	assert_int_equal(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, NULL), RPMA_E_INVAL);
}

/* a message passes at its own level and above, whatever the auxiliary threshold is */
static void threshold__passes(void **state)
{
	struct ibv_context *ibv_ctx;
	int level;

	(void)state;
	for (level = RPMA_LOG_DISABLED; level <= RPMA_LOG_LEVEL_DEBUG; level++) {
		unit_log_forget();
		assert_int_equal(
			rpma_log_set_threshold(RPMA_LOG_THRESHOLD, (enum rpma_log_level)level), 0);
		double_fail("rdma_create_id", 1, UNIT_ERRNO);
		assert_int_equal(rpma_utils_get_ibv_context(
					 UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_LOCAL, &ibv_ctx),
			RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_int_equal(
			unit_logged(RPMA_LOG_LEVEL_ERROR), level >= RPMA_LOG_LEVEL_ERROR ? 1 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_TEST(threshold__at_the_start),
		UNIT_TEST(threshold__get_invalid),
		UNIT_TEST(threshold__passes),
		UNIT_TEST(threshold__set_and_get),
		UNIT_TEST(threshold__set_invalid),
	};

	/* before a set-up changes them */
	(void)rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &start_main);
	(void)rpma_log_get_threshold(RPMA_LOG_THRESHOLD_AUX, &start_aux);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
