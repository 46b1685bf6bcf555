/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* default_function.c - the built-in log function: what goes to stderr and what to syslog */

#include <regex.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "../../../src/log.h"
#include "unit.h"

#define TEXT_SIZE 4096

static struct {
	unsigned count;
	int priority;
	char text[TEXT_SIZE];
	unsigned opened;
	unsigned closed;
} sys;

/* the linker sends the library's calls here */
void __wrap_syslog(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));
void __wrap_openlog(const char *ident, int option, int facility);
void __wrap_closelog(void);
int __wrap_vsnprintf(char *text, size_t size, const char *format, va_list args);
int __wrap_snprintf(char *text, size_t size, const char *format, ...);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_vsnprintf(char *text, size_t size, const char *format, va_list args);
int __real_clock_gettime(clockid_t clock, struct timespec *now);

static unsigned snprintf_fail_at, snprintf_count;
static bool message_fails, clock_fails;

void __wrap_syslog(int priority, const char *format, ...)
{
	va_list args;

	sys.count++;
	sys.priority = priority;
	va_start(args, format);
	(void)__real_vsnprintf(sys.text, sizeof(sys.text), format, args);
	va_end(args);
}

void __wrap_openlog(const char *ident, int option, int facility)
{
	(void)ident, (void)option, (void)facility;
	sys.opened++;
}

void __wrap_closelog(void)
{
	sys.closed++;
}

int __wrap_vsnprintf(char *text, size_t size, const char *format, va_list args)
{
	return message_fails ? -1 : __real_vsnprintf(text, size, format, args);
}

int __wrap_snprintf(char *text, size_t size, const char *format, ...)
{
	va_list args;
	int ret;

	if (++snprintf_count == snprintf_fail_at)
		return -1;
	va_start(args, format);
	ret = __real_vsnprintf(text, size, format, args);
	va_end(args);
	return ret;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	return clock_fails ? -1 : __real_clock_gettime(clock, now);
}

static int setup(void **state)
{
	(void)unit_setup(state);
	memset(&sys, 0, sizeof(sys));
	snprintf_fail_at = snprintf_count = 0;
	message_fails = clock_fails = false;
	assert_int_equal(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), 0);
	assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_DISABLED), 0);
	return 0;
}

/* stderr goes to a file for the time of one call */
static char err_text[TEXT_SIZE];
static FILE *err_file;
static int err_saved;

static void err_catch(void)
{
	err_file = tmpfile();
	assert_non_null(err_file);
	fflush(stderr);
	err_saved = dup(STDERR_FILENO);
	assert_true(dup2(fileno(err_file), STDERR_FILENO) >= 0);
}

static void err_release(void)
{
	size_t len;

	fflush(stderr);
	assert_true(dup2(err_saved, STDERR_FILENO) >= 0);
	close(err_saved);
	rewind(err_file);
	len = fread(err_text, 1, sizeof(err_text) - 1, err_file);
	err_text[len] = '\0';
	fclose(err_file);
}

#define CATCH(statement)       \
	do {                   \
		err_catch();   \
		statement;     \
		err_release(); \
	} while (0)

static void matches(const char *text, const char *pattern)
{
	regex_t regex;
	const int flags = REG_EXTENDED | REG_NOSUB;

	assert_int_equal(regcomp(&regex, pattern, flags), 0);
	if (regexec(&regex, text, 0, NULL, 0))
		fail_msg("\"%s\" does not match %s", text, pattern);
	regfree(&regex);
}

/* every level has its name, and its priority with the facility */
static void default_function__levels(void **state)
{
	static const struct {
		const char *name;
		int priority;
	} levels[] = { { "*FATAL* ", LOG_CRIT }, { "*ERROR* ", LOG_ERR },
		{ "*WARN*  ", LOG_WARNING }, { "*NOTE*  ", LOG_NOTICE }, { "*INFO*  ", LOG_INFO },
		{ "*DEBUG* ", LOG_DEBUG } };
	char start[64];
	int level;

	(void)state;
	for (level = RPMA_LOG_LEVEL_FATAL; level <= RPMA_LOG_LEVEL_DEBUG; level++) {
		CATCH(RPMA__LOG(level, "message %d", 7));
		assert_string_equal(err_text, "");
		assert_int_equal(sys.count, level + 1);
		assert_int_equal(sys.priority, LOG_LOCAL7 | levels[level].priority);
		(void)sprintf(start, "rpma[%ld]: %s", (long)getpid(), levels[level].name);
		assert_memory_equal(sys.text, start, strlen(start));
		matches(sys.text,
			"default_function.c: +[0-9]+: default_function__levels: message 7\n$");
	}
}

/* up to the auxiliary threshold a message goes to stderr too, with time and thread */
static void default_function__stderr(void **state)
{
	(void)state;
	assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_NOTICE), 0);

	CATCH(RPMA_LOG_NOTICE("to both"));

	matches(err_text,
		"^[A-Z][a-z]{2} [0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} \\[[0-9]+\\] "
		"\\*NOTE\\*  default_function\\.c: [ 0-9]{3}: default_function__stderr: to "
		"both\n$");
	assert_int_equal(sys.count, 1);

	CATCH(RPMA_LOG_INFO("to syslog only"));

	assert_string_equal(err_text, "");
	assert_int_equal(sys.count, 2);
}

/* the program's syslog settings are its own */
static void default_function__leaves_syslog_alone(void **state)
{
	(void)state;
	CATCH(RPMA_LOG_ERROR("message"));
	assert_int_equal(sys.opened, 0);
	assert_int_equal(sys.closed, 0);
}

/* a long message is cut to a buffer of 1024 bytes */
static void default_function__cut(void **state)
{
	char longer[2000];
	const char *text;

	(void)state;
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	CATCH(RPMA_LOG_ERROR("%s", longer));
	text = strchr(sys.text, 'x');
	assert_non_null(text);
	assert_int_equal(strlen(text), 1023);
}

/* what cannot be formatted is dropped, or replaced */
static void default_function__formatting_fails(void **state)
{
	(void)state;
	assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_DEBUG), 0);

	message_fails = true;
	CATCH(RPMA_LOG_ERROR("dropped"));
	assert_string_equal(err_text, "");
	assert_int_equal(sys.count, 0);
	message_fails = false;

	snprintf_fail_at = snprintf_count + 1;
	CATCH(RPMA_LOG_ERROR("where?"));
	matches(sys.text, "\\*ERROR\\* \\[file info error\\]: where\\?\n$");
	matches(err_text, "\\*ERROR\\* \\[file info error\\]: where\\?\n$");

	clock_fails = true;
	CATCH(RPMA_LOG_ERROR("when?"));
	clock_fails = false;
	matches(err_text, "^\\[time error\\] \\[[0-9]+\\] \\*ERROR\\* .*: when\\?\n$");
	snprintf_fail_at = snprintf_count + 2; /* the second one is about the time */
	CATCH(RPMA_LOG_ERROR("when?"));
	matches(err_text, "^\\[time error\\] \\[[0-9]+\\] \\*ERROR\\* .*: when\\?\n$");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, unit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(default_function__cut),
		TEST(default_function__formatting_fails),
		TEST(default_function__leaves_syslog_alone),
		TEST(default_function__levels),
		TEST(default_function__stderr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
