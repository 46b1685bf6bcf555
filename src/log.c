/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * log.c - thresholds, the log function, and the built-in one
 *
 * Everything here is process-wide and atomic; no lock is taken. syslog(3) is called with our
 * facility in the priority and our name in the text, instead of openlog(3), which would rename the
 * whole program.
 */

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

#define MESSAGE_SIZE   1024
#define PREFIX_SIZE    256
#define TIMESTAMP_SIZE 64

static const struct {
	const char *name;
	int priority;
} levels[] = {
	[RPMA_LOG_LEVEL_FATAL] = { "*FATAL* ", LOG_CRIT },
	[RPMA_LOG_LEVEL_ERROR] = { "*ERROR* ", LOG_ERR },
	[RPMA_LOG_LEVEL_WARNING] = { "*WARN*  ", LOG_WARNING },
	[RPMA_LOG_LEVEL_NOTICE] = { "*NOTE*  ", LOG_NOTICE },
	[RPMA_LOG_LEVEL_INFO] = { "*INFO*  ", LOG_INFO },
	[RPMA_LOG_LEVEL_DEBUG] = { "*DEBUG* ", LOG_DEBUG },
};

static void timestamp(char *text, size_t size)
{
	struct timespec now;
	struct tm local;
	size_t len;

	if (clock_gettime(CLOCK_REALTIME, &now) || !localtime_r(&now.tv_sec, &local))
		goto failed;
	len = strftime(text, size, "%b %d %H:%M:%S", &local);
	if (!len || snprintf(text + len, size - len, ".%06ld ", now.tv_nsec / 1000) < 0)
		goto failed;
	return;

failed:
	(void)strcpy(text, "[time error] ");
}

static void prefix(char *text, size_t size, const char *file, int line, const char *function)
{
	const char *slash;

	assert(file);
	slash = strrchr(file, '/');
	if (snprintf(text, size, "%s: %3d: %s: ", slash ? slash + 1 : file, line, function) < 0)
		(void)strcpy(text, "[file info error]: ");
}

static void log_default(enum rpma_log_level level, const char *file_name, const int line_no,
	const char *function_name, const char *message_format, ...)
{
	char message[MESSAGE_SIZE], where[PREFIX_SIZE], when[TIMESTAMP_SIZE];
	va_list args;
	int len;

	assert(level > RPMA_LOG_DISABLED);
	assert(level <= RPMA_LOG_LEVEL_DEBUG);
	va_start(args, message_format);
	len = vsnprintf(message, sizeof(message), message_format, args);
	va_end(args);
	if (len < 0)
		return;

	prefix(where, sizeof(where), file_name, line_no, function_name);
	if (level <= atomic_load(&rpma__log_thresholds[RPMA_LOG_THRESHOLD_AUX])) {
		timestamp(when, sizeof(when));
		(void)fprintf(stderr, "%s[%ld] %s%s%s", when, syscall(SYS_gettid),
			levels[level].name, where, message);
	}
	syslog(LOG_LOCAL7 | levels[level].priority, "rpma[%ld]: %s%s%s", (long)getpid(),
		levels[level].name, where, message);
}

_Atomic(rpma_log_function *) rpma__log_function = log_default;

_Atomic(enum rpma_log_level) rpma__log_thresholds[RPMA_LOG_THRESHOLD_MAX] = {
#ifdef DEBUG
	[RPMA_LOG_THRESHOLD] = RPMA_LOG_LEVEL_DEBUG,
	[RPMA_LOG_THRESHOLD_AUX] = RPMA_LOG_LEVEL_WARNING,
#else
	[RPMA_LOG_THRESHOLD] = RPMA_LOG_LEVEL_WARNING,
	[RPMA_LOG_THRESHOLD_AUX] = RPMA_LOG_DISABLED,
#endif
};

static bool is_threshold(enum rpma_log_threshold threshold)
{
	return threshold == RPMA_LOG_THRESHOLD || threshold == RPMA_LOG_THRESHOLD_AUX;
}

int rpma_log_set_threshold(enum rpma_log_threshold threshold, enum rpma_log_level level)
{
	if (!is_threshold(threshold) || level < RPMA_LOG_DISABLED || level > RPMA_LOG_LEVEL_DEBUG)
		return RPMA_E_INVAL;

	atomic_store(&rpma__log_thresholds[threshold], level);
	return 0;
}

int rpma_log_get_threshold(enum rpma_log_threshold threshold, enum rpma_log_level *level)
{
	if (!is_threshold(threshold) || !level)
		return RPMA_E_INVAL;

	*level = atomic_load(&rpma__log_thresholds[threshold]);
	return 0;
}

int rpma_log_set_function(rpma_log_function *log_function)
{
	atomic_store(&rpma__log_function, log_function ? log_function : log_default);
	return 0;
}
