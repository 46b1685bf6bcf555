/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* set_function.c - the program's own log function: its arguments, its thread, its freedom */

#include <pthread.h>

#include "unit.h"

static struct {
	unsigned count;
	enum rpma_log_level level;
	const char *file_name;
	int line_no;
	const char *function_name;
	const char *format;
	pthread_t thread;
} seen;

static void remember(enum rpma_log_level level, const char *file_name, const int line_no,
	const char *function_name, const char *message_format, ...)
{
	seen.count++;
	seen.level = level;
	seen.file_name = file_name;
	seen.line_no = line_no;
	seen.function_name = function_name;
	seen.format = message_format;
	seen.thread = pthread_self();
	errno = EXFULL;
}

static void provoke(void)
{
	struct ibv_context *ibv_ctx;

	double_fail("rdma_create_id", 1, UNIT_ERRNO);
	assert_int_equal(
		rpma_utils_get_ibv_context(UNIT_ADDR, RPMA_UTIL_IBV_CONTEXT_LOCAL, &ibv_ctx),
		RPMA_E_PROVIDER);
}

static void set_function__arguments(void **state)
{
	(void)state;
	assert_int_equal(rpma_log_set_function(remember), 0);
	seen.count = 0;

	provoke();

	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.level, RPMA_LOG_LEVEL_ERROR);
	assert_string_equal(seen.file_name, "src/id.c");
	assert_true(seen.line_no > 0);
	assert_string_equal(seen.function_name, "rpma__id_new");
	assert_true(seen.format[strlen(seen.format) - 1] == '\n');
	assert_true(pthread_equal(seen.thread, pthread_self()));
	assert_errno(UNIT_ERRNO); /* although the function changed it */
}

static struct rpma_peer *peer;

static void call_back(enum rpma_log_level level, const char *file_name, const int line_no,
	const char *function_name, const char *message_format, ...)
{
	static bool is_inside;
	struct rpma_ep *ep = NULL;

	(void)level, (void)file_name, (void)line_no, (void)function_name, (void)message_format;
	if (is_inside)
		return;
	is_inside = true;
	assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_DISABLED), 0);
	assert_int_equal(rpma_ep_listen(peer, UNIT_ADDR, UNIT_PORT, &ep), 0);
	assert_int_equal(rpma_ep_shutdown(&ep), 0);
	is_inside = false;
}

/* no lock is held: the function may call the library, and would dead-lock otherwise */
static void set_function__calls_back(void **state)
{
	(void)state;
	peer = unit_peer_new();
	assert_int_equal(rpma_log_set_function(call_back), 0);
	provoke();
	assert_int_equal(double_calls("rdma_listen"), 1);
	unit_peer_delete(peer);
}

/* set again, the other function is called; the default one takes over with NULL */
static void set_function__replaced(void **state)
{
	(void)state;
	assert_int_equal(rpma_log_set_function(remember), 0);
	seen.count = 0;
	assert_int_equal(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), 0);
	assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED), 0);
	provoke();
	assert_int_equal(seen.count, 0);
}

UNIT_MAIN(UNIT_TEST(set_function__arguments), UNIT_TEST(set_function__calls_back),
	UNIT_TEST(set_function__replaced))
