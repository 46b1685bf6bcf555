/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * log.c - logging: thresholds, the program's function, the built-in one
 *
 * The program stands between the library and the C library's syslog: what would be written there is
 * recorded.
 */

#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "compat.h"

/* ---- between the library and syslog ---------------------------------------------------------- */

static struct {
	unsigned int opened; /* calls of openlog, the library's constructor included */
	char identity[64];
	int facility;
	unsigned int count;
	int priority; /* of the last message */
	char text[2048];
} sys;

static void record(int priority, const char *format, va_list args)
{
	sys.count++;
	sys.priority = priority;
	vsnprintf(sys.text, sizeof(sys.text), format, args);
}

void openlog(const char *ident, int option, int facility)
{
	(void)option;
	sys.opened++;
	sys.facility = facility;
	snprintf(sys.identity, sizeof(sys.identity), "%s", ident != NULL ? ident : "");
}

void closelog(void)
{
}

void syslog(int priority, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	record(priority, format, args);
	va_end(args);
}

/* what a fortified library calls instead */
void __syslog_chk(int priority, int flag, const char *format, ...);

void __syslog_chk(int priority, int flag, const char *format, ...)
{
	va_list args;

	(void)flag;
	va_start(args, format);
	record(priority, format, args);
	va_end(args);
}

/* ---- events that are logged ------------------------------------------------------------------ */

static void cause_error(void)
{
	static const uint8_t descriptor[21];
	struct rpma_mr_remote *mr = UNTOUCHED;

	MUST_EQ(rpma_mr_remote_from_descriptor(descriptor, 20, &mr), RPMA_E_INVAL);
}

static void cause_info(void)
{
	struct rpma_peer_cfg *pcfg = NULL;

	MUST_EQ(rpma_peer_cfg_from_descriptor("\1", 1, &pcfg), 0);
	MUST_EQ(rpma_peer_cfg_delete(&pcfg), 0);
}

static void cause_debug(void)
{
	static const uint8_t descriptor[21] = { [20] = 1 };
	struct rpma_mr_remote *mr = NULL;

	MUST_EQ(rpma_mr_remote_from_descriptor(descriptor, sizeof(descriptor), &mr), 0);
	MUST_EQ(rpma_mr_remote_delete(&mr), 0);
}

static void cause_notice(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_ep *ep = NULL;

	MUST_EQ(rpma_ep_listen(peer, compat_addr(), "7342", &ep), 0);
	MUST_EQ(rpma_ep_shutdown(&ep), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

/* ---- thresholds and the program's function --------------------------------------------------- */

static void thresholds_default(void)
{
	enum rpma_log_level level[2];
	/* another build type logs more */
	const bool debug = COMPAT_OURS_IS_DEBUG && compat_on_ours();

	MUST_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &level[0]), 0);
	MUST_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD_AUX, &level[1]), 0);
	MUST_EQ(level[0], debug ? RPMA_LOG_LEVEL_DEBUG : RPMA_LOG_LEVEL_WARNING);
	MUST_EQ(level[1], debug ? RPMA_LOG_LEVEL_WARNING : RPMA_LOG_DISABLED);
}

static void thresholds_set(void)
{
	enum rpma_log_level got;

	for (int level = RPMA_LOG_DISABLED; level <= RPMA_LOG_LEVEL_DEBUG; level++) {
		enum rpma_log_level other = level == RPMA_LOG_DISABLED
						    ? RPMA_LOG_LEVEL_DEBUG
						    : (enum rpma_log_level)(level - 1);

		MUST_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, level), 0);
		MUST_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, other), 0);
		MUST_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &got), 0);
		MUST_EQ(got, level);
		MUST_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD_AUX, &got), 0);
		MUST_EQ(got, other);
	}
}

static void thresholds_invalid(void)
{
	const enum rpma_log_level untouched = (enum rpma_log_level)77;
	enum rpma_log_level before, level = untouched;

	MUST_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &before), 0);
	MUST_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED - 1), RPMA_E_INVAL);
	MUST_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_DEBUG + 1), RPMA_E_INVAL);
	MUST_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_MAX, RPMA_LOG_LEVEL_INFO), RPMA_E_INVAL);
	MUST_EQ(rpma_log_set_threshold((enum rpma_log_threshold) - 1, RPMA_LOG_LEVEL_INFO),
		RPMA_E_INVAL);
	MUST_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD_MAX, &level), RPMA_E_INVAL);
	MUST_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, NULL), RPMA_E_INVAL);
	MUST_EQ(level, untouched);
	MUST_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &level), 0);
	MUST_EQ(level, before);
}

static void function_called(void)
{
	size_t len;

	compat_log_to(RPMA_LOG_LEVEL_ERROR);
	cause_error();
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], 1);
	MUST(strstr(compat_log.file, ".c") != NULL);
	MUST(compat_log.function[0] != '\0');
	len = strlen(compat_log.format);
	MUST(len > 1);
	MUST_EQ(compat_log.format[len - 1], '\n');
	MUST_EQ(sys.count, 0);
}

static void levels(void)
{
	static const struct {
		enum rpma_log_level level;
		void (*cause)(void);
	} causes[] = {
		{ RPMA_LOG_LEVEL_ERROR, cause_error },
		{ RPMA_LOG_LEVEL_NOTICE, cause_notice },
		{ RPMA_LOG_LEVEL_INFO, cause_info },
		{ RPMA_LOG_LEVEL_DEBUG, cause_debug },
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		compat_log_to(causes[i].level);
		causes[i].cause();
		MUST(compat_log.count[causes[i].level] >= 1);
		compat_log_to((enum rpma_log_level)(causes[i].level - 1));
		causes[i].cause();
		MUST_EQ(compat_log.count[causes[i].level], 0);
	}
}

static void disabled(void)
{
	compat_log_to(RPMA_LOG_DISABLED);
	cause_error();
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], 0);
	MUST_EQ(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), 0);
	cause_error();
	MUST_EQ(sys.count, 0);
}

const struct check log_checks[] = {
	{ "the defaults are those of the build type", "11", thresholds_default },
	{ "both thresholds take all levels, apart from each other", NULL, thresholds_set },
	{ "what does not exist is invalid, and changes nothing", NULL, thresholds_invalid },
	{ "the program's function gets level, place, and a format that ends its line", "2.3",
		function_called },
	{ "a message is passed on up to the threshold, and not above", "11", levels },
	{ "a disabled log is silent", NULL, disabled },
	{ NULL },
};

/* ---- the built-in function ------------------------------------------------------------------- */

/* what cause() makes it write on standard error */
static const char *on_stderr(void (*cause)(void))
{
	static char text[4096];
	FILE *file = tmpfile();
	const int saved = dup(STDERR_FILENO);
	ssize_t n;

	MUST(file != NULL);
	MUST(saved >= 0);
	fflush(stderr);
	MUST(dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
	cause();
	fflush(stderr);
	MUST(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
	n = pread(fileno(file), text, sizeof(text) - 1, 0);
	MUST(n >= 0);
	text[n] = '\0';
	fclose(file);
	close(saved);
	return text;
}

static void use_built_in(enum rpma_log_level threshold, enum rpma_log_level aux)
{
	MUST_EQ(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), 0);
	MUST_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, threshold), 0);
	MUST_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, aux), 0);
}

static void stderr_line(void)
{
	regex_t shape;
	const char *line;

	MUST_EQ(regcomp(&shape,
			"^[A-Z][a-z][a-z] [ 0-3][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} "
			"\\[[0-9]+\\] "
			"\\*ERROR\\* [^/ ]+\\.c: [ 0-9]{2}[0-9]+: [a-z_]+: [^\n]+\n$",
			REG_EXTENDED | REG_NOSUB),
		0);
	use_built_in(RPMA_LOG_LEVEL_ERROR, RPMA_LOG_LEVEL_ERROR);
	line = on_stderr(cause_error);
	check_note("%.*s", (int)strcspn(line, "\n"), line);
	MUST_EQ(regexec(&shape, line, 0, NULL, 0), 0);
	regfree(&shape);
}

static void stderr_silent(void)
{
	use_built_in(RPMA_LOG_LEVEL_DEBUG, RPMA_LOG_LEVEL_FATAL);
	MUST_STR(on_stderr(cause_error), "");
	MUST_EQ(sys.count, 1);
}

static void syslog_levels(void)
{
	static const struct {
		void (*cause)(void);
		enum rpma_log_level level;
		int priority;
		const char *name;
	} causes[] = {
		{ cause_error, RPMA_LOG_LEVEL_ERROR, LOG_ERR, "*ERROR* " },
		{ cause_notice, RPMA_LOG_LEVEL_NOTICE, LOG_NOTICE, "*NOTE*  " },
		{ cause_info, RPMA_LOG_LEVEL_INFO, LOG_INFO, "*INFO*  " },
		{ cause_debug, RPMA_LOG_LEVEL_DEBUG, LOG_DEBUG, "*DEBUG* " },
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		use_built_in(causes[i].level, RPMA_LOG_DISABLED);
		sys.count = 0;
		causes[i].cause();
		MUST(sys.count >= 1);
		MUST_EQ(LOG_PRI(sys.priority), causes[i].priority);
		MUST(strstr(sys.text, causes[i].name) != NULL);
		/* the facility of the message, or of all of them */
		MUST_EQ(sys.priority & LOG_FACMASK ? sys.priority & LOG_FACMASK : sys.facility,
			LOG_LOCAL7);
	}
}

static void syslog_identity(void)
{
	use_built_in(RPMA_LOG_LEVEL_ERROR, RPMA_LOG_DISABLED);
	cause_error();
	IMPROVED(17, sys.opened == 0 && strncmp(sys.text, "rpma[", 5) == 0,
		sys.opened == 1 && strcmp(sys.identity, "rpma") == 0);
}

const struct check syslog_checks[] = {
	{ "a line on standard error has time, thread, level, place, message", NULL, stderr_line },
	{ "above the auxiliary threshold there is syslog only", NULL, stderr_silent },
	{ "syslog gets each level under its name and priority, facility LOCAL7", NULL,
		syslog_levels },
	{ "the identity is rpma, and the program's own is left alone", NULL, syslog_identity,
		.differs = true },
	{ NULL },
};
