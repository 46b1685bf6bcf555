/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * log.c - messages from all threads, while thresholds and the log function change
 *
 * Every message is about a descriptor that is too short: an ERROR. It meets our function, or the
 * built-in one, which writes it to stderr as well.
 */

#include <pthread.h>
#include <stdarg.h>

#include "threads.h"

#define ROUNDS 20

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned messages;

static void count(enum rpma_log_level level, const char *file_name, const int line_no,
	const char *function_name, const char *message_format, ...)
{
	char text[256];
	va_list args;

	CHECK_INT(level, RPMA_LOG_LEVEL_ERROR);
	CHECK(strcmp(file_name, "src/mr.c") == 0 || strchr(file_name, '/'));
	CHECK(line_no > 0);
	CHECK(strcmp(function_name, "rpma_mr_remote_from_descriptor") == 0);
	va_start(args, message_format);
	CHECK(vsnprintf(text, sizeof(text), message_format, args) > 0);
	va_end(args);
	CHECK(text[strlen(text) - 1] == '\n');

	pthread_mutex_lock(&lock);
	messages++;
	pthread_mutex_unlock(&lock);
}

static void provoke(void)
{
	const uint8_t too_short = 0;
	struct rpma_mr_remote *mr = NULL;

	CHECK_INT(rpma_mr_remote_from_descriptor(&too_short, 1, &mr), RPMA_E_INVAL);
	CHECK(mr == NULL);
}

static void set_up(void)
{
	messages = 0;
	CHECK_OK(rpma_log_set_function(count));
}

static void own_function(unsigned thread)
{
	(void)thread;
	for (unsigned i = 0; i < ROUNDS; i++)
		provoke();
}

static void tear_down(void)
{
	CHECK_INT(messages, THREADS * ROUNDS);
	CHECK_OK(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION));
}

/* thresholds go up and down, but an ERROR always passes */
static void all_change(unsigned thread)
{
	enum rpma_log_level level;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const bool high = (i + thread) & 1;

		CHECK_OK(rpma_log_set_function(high ? count : RPMA_LOG_USE_DEFAULT_FUNCTION));
		CHECK_OK(rpma_log_set_threshold(
			RPMA_LOG_THRESHOLD, high ? RPMA_LOG_LEVEL_WARNING : RPMA_LOG_LEVEL_ERROR));
		CHECK_OK(rpma_log_set_threshold(
			RPMA_LOG_THRESHOLD_AUX, high ? RPMA_LOG_DISABLED : RPMA_LOG_LEVEL_ERROR));
		provoke();
		CHECK_OK(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &level));
		CHECK(level == RPMA_LOG_LEVEL_ERROR || level == RPMA_LOG_LEVEL_WARNING);
		CHECK_OK(rpma_log_get_threshold(RPMA_LOG_THRESHOLD_AUX, &level));
		CHECK(level == RPMA_LOG_LEVEL_ERROR || level == RPMA_LOG_DISABLED);
	}
}

static void all_back(void)
{
	CHECK_OK(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION));
	CHECK_OK(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_WARNING));
	CHECK_OK(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_WARNING));
}

const struct threads_case threads_log[] = {
	{ "log_own_function", set_up, own_function, tear_down },
	{ "log_all_change", NULL, all_change, all_back },
	{ NULL },
};
