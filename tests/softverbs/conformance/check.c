/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * check.c - runs the checks, each in its own process, and reports them as TAP does
 *
 *	PROGRAM [--list] [--only PATTERN]
 *
 * PATTERN is looked for in `area: fact [page]`, as fnmatch(3) does with a `*` at either end. The
 * numbers are those of the whole list whatever is chosen. ADDR is the device's address. What is
 * checked is the program's: check_areas.
 */

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define EXIT_SKIP     77
#define LIMIT_SECONDS 60

enum outcome { PASSED, FAILED, SKIPPED, OUTCOMES };

static int report_fd = -1;

_Noreturn void check_fail(const char *file, int line, const char *what)
{
	const char *name = strrchr(file, '/');

	dprintf(report_fd, "%s:%d: not so: %s (errno %d)\n", name ? name + 1 : file, line, what,
		errno);
	_exit(EXIT_FAILURE);
}

void check_equal(const char *file, int line, const char *what, long long got, long long expected)
{
	const char *name = strrchr(file, '/');

	if (got == expected)
		return;
	dprintf(report_fd, "%s:%d: %s is %lld, not %lld (errno %d)\n", name ? name + 1 : file, line,
		what, got, expected, errno);
	_exit(EXIT_FAILURE);
}

void check_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vdprintf(report_fd, format, args);
	va_end(args);
	dprintf(report_fd, "\n");
}

_Noreturn void check_skip(const char *reason)
{
	dprintf(report_fd, "%s\n", reason);
	_exit(EXIT_SKIP);
}

static enum outcome outcome_of(int status, char *message, size_t size)
{
	if (WIFSIGNALED(status)) {
		size_t used = strlen(message);

		snprintf(message + used, size - used, "%s\n",
			WTERMSIG(status) == SIGALRM ? "took too long"
						    : strsignal(WTERMSIG(status)));
		return FAILED;
	}
	if (WEXITSTATUS(status) == EXIT_SKIP)
		return SKIPPED;
	return WEXITSTATUS(status) == 0 ? PASSED : FAILED;
}

/* run one check in a child; what it had to say is in message */
static enum outcome run(const struct check *check, char *message, size_t size)
{
	int fds[2];
	int status;
	ssize_t n;

	fflush(NULL);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		abort();
	pid_t pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		report_fd = fds[1];
		alarm(LIMIT_SECONDS);
		check->run();
		exit(EXIT_SUCCESS);
	}
	close(fds[1]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	n = read(fds[0], message, size - 1);
	message[n > 0 ? n : 0] = '\0';
	close(fds[0]);
	return outcome_of(status, message, size);
}

static void print_message(char *message)
{
	for (char *line = strtok(message, "\n"); line != NULL; line = strtok(NULL, "\n"))
		printf("#   %s\n", line);
}

static enum outcome run_and_print(int number, const char *title, const struct check *check)
{
	char message[4096];
	enum outcome outcome = run(check, message, sizeof(message));

	printf("%sok %d - %s", outcome == FAILED ? "not " : "", number, title);
	if (outcome == SKIPPED) {
		printf(" # skip %s", message);
	} else {
		printf("%s\n", check->differs ? " # differs" : "");
		print_message(message);
	}
	fflush(stdout);
	return outcome;
}

static void title_of(char *title, size_t size, const struct area *area, const struct check *check)
{
	if (check->page != NULL)
		snprintf(title, size, "%s: %s [%s]", area->name, check->fact, check->page);
	else
		snprintf(title, size, "%s: %s", area->name, check->fact);
}

static int run_all(bool list, const char *pattern)
{
	char title[512];
	int counts[OUTCOMES] = { 0 };
	int number = 0;

	for (const struct area *area = check_areas; area->name != NULL; area++) {
		for (const struct check *check = area->checks; check->fact != NULL; check++) {
			number++;
			title_of(title, sizeof(title), area, check);
			if (fnmatch(pattern, title, 0) != 0)
				continue;
			if (list)
				printf("%d - %s\n", number, title);
			else
				counts[run_and_print(number, title, check)]++;
		}
	}
	if (list)
		return EXIT_SUCCESS;
	printf("1..%d\n", number);
	printf("%d passed, %d failed, %d skipped\n", counts[PASSED], counts[FAILED],
		counts[SKIPPED]);
	return counts[FAILED] > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	char pattern[256] = "*";
	bool list = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--list") == 0) {
			list = true;
		} else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
			snprintf(pattern, sizeof(pattern), "*%s*", argv[++i]);
		} else {
			fprintf(stderr, "usage: %s [--list] [--only PATTERN]\n", argv[0]);
			return 2;
		}
	}
	if (!list && getenv("ADDR") == NULL) {
		printf("1..0 # skip no ADDR: no RDMA device\n");
		return EXIT_SKIP;
	}
	return run_all(list, pattern);
}
