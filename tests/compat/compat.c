/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* compat.c - the library that the checks run on */

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compat.h"

struct compat_log compat_log;

const char *compat_library(void)
{
	static char path[PATH_MAX];
	Dl_info info;

	/* by name: the program's own view of a function's address may be a stub of its own */
	MUST(dladdr(dlsym(RTLD_DEFAULT, "rpma_err_2str"), &info) != 0);
	MUST(realpath(info.dli_fname, path) != NULL);
	return path;
}

bool compat_on_ours(void)
{
	const char *ours = getenv("RPMA_COMPAT_OURS");
	char path[PATH_MAX];

	if (ours == NULL)
		check_fail(__FILE__, __LINE__, "RPMA_COMPAT_OURS names our library");
	MUST(realpath(ours, path) != NULL);
	return strcmp(path, compat_library()) == 0;
}

void compat_improved(const char *file, int line, int item, bool better, const char *better_text,
	bool original, const char *original_text)
{
	char what[512];

	if (better && !original) {
		check_note("17.%d, improved: %s", item, better_text);
		return;
	}
	if (original && !better && !compat_on_ours()) {
		check_note("17.%d, as the original: %s", item, original_text);
		return;
	}
	snprintf(what, sizeof(what), "17.%d: %s%s", item, better_text,
		original ? "" : ", nor the original's");
	check_fail(file, line, what);
}

void compat_string(const char *file, int line, const char *got, const char *expected)
{
	char what[512];

	if (got != NULL && strcmp(got, expected) == 0)
		return;
	snprintf(what, sizeof(what), "\"%s\", but \"%s\"", expected, got != NULL ? got : "NULL");
	check_fail(file, line, what);
}

static void log_function(enum rpma_log_level level, const char *file_name, const int line_no,
	const char *function_name, const char *message_format, ...)
{
	va_list args;

	MUST(level >= RPMA_LOG_LEVEL_FATAL && level <= RPMA_LOG_LEVEL_DEBUG);
	MUST(line_no > 0);
	compat_log.count[level]++;
	compat_log.level = level;
	snprintf(compat_log.file, sizeof(compat_log.file), "%s", file_name);
	snprintf(compat_log.function, sizeof(compat_log.function), "%s", function_name);
	snprintf(compat_log.format, sizeof(compat_log.format), "%s", message_format);
	va_start(args, message_format);
	vsnprintf(compat_log.message, sizeof(compat_log.message), message_format, args);
	va_end(args);
}

void compat_log_to(enum rpma_log_level threshold)
{
	memset(&compat_log, 0, sizeof(compat_log));
	MUST_EQ(rpma_log_set_function(log_function), 0);
	MUST_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, threshold), 0);
}

const char *compat_addr(void)
{
	return getenv("ADDR"); /* who runs the checks has looked */
}

struct ibv_context *compat_verbs(void)
{
	struct ibv_context *verbs = NULL;

	MUST_EQ(rpma_utils_get_ibv_context(compat_addr(), RPMA_UTIL_IBV_CONTEXT_LOCAL, &verbs), 0);
	MUST(verbs != NULL);
	return verbs;
}

struct rpma_peer *compat_peer(void)
{
	struct rpma_peer *peer = NULL;

	MUST_EQ(rpma_peer_new(compat_verbs(), &peer), 0);
	MUST(peer != NULL);
	return peer;
}

uint8_t *compat_memory(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(at != MAP_FAILED);
	return at;
}

bool compat_crashes(int (*call)(void), int *result)
{
	const struct rlimit no_core = { 0, 0 };
	int *shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	MUST(shared != MAP_FAILED);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		/* a sanitizer would report what is expected here */
		signal(SIGSEGV, SIG_DFL);
		setrlimit(RLIMIT_CORE, &no_core);
		*shared = call();
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	*result = *shared;
	return WIFSIGNALED(status);
}
