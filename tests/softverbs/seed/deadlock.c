/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * deadlock.c - a program that waits for what cannot come
 *
 * Proven: whether it sleeps in a loop or in the device, the simulation says so, shows what there is,
 *         and aborts.
 */

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <uv.h>

#include "check.h"

static struct rdma_event_channel *channel_with_id(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	CHECK(channel != NULL);
	CHECK_OK(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	return channel;
}

static void in_the_device(void)
{
	struct rdma_cm_event *event;

	(void)rdma_get_cm_event(channel_with_id(), &event);
}

static void never(uv_async_t *async)
{
	(void)async;
}

static void in_the_loop(void)
{
	uv_async_t async;

	(void)channel_with_id();
	CHECK_OK(uv_async_init(uv_default_loop(), &async, never));
	(void)uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

/* what the child has to say in the end */
static void child(void (*run)(void), char *said, size_t size)
{
	size_t used = 0;
	ssize_t n;
	int status;
	int fds[2];
	pid_t pid;

	CHECK_OK(pipe(fds));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		run();
		_exit(0);
	}
	close(fds[1]);
	while ((n = read(fds[0], said + used, size - 1 - used)) > 0)
		used += (size_t)n;
	said[used] = '\0';
	close(fds[0]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_INT(WTERMSIG(status), SIGABRT);
}

static void expect(void (*run)(void), const char *why)
{
	char said[8192];

	child(run, said, sizeof(said));
	fputs(said, stdout);
	CHECK(strstr(said, "softverbs: deadlock in the world of seed ") != NULL);
	CHECK(strstr(said, why) != NULL);
	CHECK(strstr(said, "id 1 is in state 0") != NULL);
}

int main(void)
{
	expect(in_the_loop, "the program sleeps without a time-out");
	expect(in_the_device, "a call waits for an event");
	return 0;
}
