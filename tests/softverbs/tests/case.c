/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* case.c - runs cases, and reaches the device behind them */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "case.h"

#define EXIT_SKIP     77
#define LIMIT_SECONDS 25

_Noreturn void check_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", file, line, what, errno);
	_exit(EXIT_FAILURE);
}

void check_equal(const char *file, int line, const char *what, long long got, long long expected)
{
	if (got == expected)
		return;
	fprintf(stderr, "%s:%d: %s is %lld, not %lld (errno %d)\n", file, line, what, got, expected,
		errno);
	_exit(EXIT_FAILURE);
}

_Noreturn void check_skip(const char *reason)
{
	printf("skipped: %s\n", reason);
	exit(EXIT_SKIP);
}

void faults(const char *orders)
{
	if (softverbs_faults(orders) != 0)
		check_fail(orders != NULL ? orders : "", 0, "the device understands this");
}

int64_t case_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void case_pause(void)
{
	poll(NULL, 0, 1);
}

int cm_any(struct rdma_event_channel *channel, enum rdma_cm_event_type *type)
{
	struct rdma_cm_event *event;
	int status;

	if (!readable(channel->fd, WAIT_MS))
		check_fail(__FILE__, __LINE__, "an event comes");
	MUST_EQ(rdma_get_cm_event(channel, &event), 0);
	*type = event->event;
	status = event->status;
	MUST_EQ(rdma_ack_cm_event(event), 0);
	return status;
}

static int outcome(const struct test_case *c, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return EXIT_SUCCESS;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP)
		return EXIT_SKIP;
	if (WIFSIGNALED(status))
		printf("FAILED: %s: %s\n", c->name, strsignal(WTERMSIG(status)));
	else
		printf("FAILED: %s\n", c->name);
	return EXIT_FAILURE;
}

/* in the child */
static _Noreturn void run(const struct test_case *c, int errors)
{
	alarm(LIMIT_SECONDS);
	if (c->says != NULL)
		dup2(errors, STDERR_FILENO);
	c->run();
	exit(EXIT_SUCCESS);
}

/* in a report: the text, and the program as the place where it happened */
static bool says(const char *errors, const char *text)
{
	const char *line = strstr(errors, text);
	const char *site = strstr(errors, "softverbs: softverbs_");

	if (*text == '\0')
		return *errors == '\0';
	return line != NULL && site != NULL && site < line;
}

static bool said(const struct test_case *c, FILE *errors)
{
	char text[8192];
	size_t n;

	rewind(errors);
	n = fread(text, 1, sizeof(text) - 1, errors);
	text[n] = '\0';
	if (says(text, c->says))
		return true;
	printf("FAILED: %s does not say: %s\nbut:\n%s", c->name, c->says, text);
	return false;
}

/* in a child: the device has not been touched in this process, and is not */
static int run_apart(const struct test_case *c)
{
	FILE *errors = tmpfile();
	int status;
	int result;
	pid_t pid;

	fflush(stdout);
	pid = errors != NULL ? fork() : -1;
	if (pid == 0)
		run(c, fileno(errors));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return EXIT_FAILURE;
	result = outcome(c, status);
	if (c->says != NULL && !said(c, errors))
		result = EXIT_FAILURE;
	fclose(errors);
	return result;
}

static int run_all(void)
{
	int failed = 0;
	int n = 0;

	for (const struct test_case *c = cases; c->name != NULL; c++) {
		if (c->alone)
			continue;
		switch (run_apart(c)) {
		case EXIT_SUCCESS:
			n++;
			break;
		case EXIT_SKIP:
			break;
		default:
			failed++;
		}
	}
	printf("%d passed, %d failed\n", n, failed);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	if (!softverbs_is_here())
		check_skip("not on softverbs");
	if (argc == 1)
		return run_all();
	for (const struct test_case *c = cases; c->name != NULL; c++) {
		if (argc != 2 || strcmp(argv[1], c->name) != 0)
			continue;
		c->run();
		return EXIT_SUCCESS;
	}
	fprintf(stderr, "usage: %s [CASE]\n", argv[0]);
	return 2;
}
