/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * control.c - orders from outside of the program, through a FIFO
 *
 * SOFTVERBS_CONTROL names it, with %p for the number of the process; the device makes it, and takes it
 * away at exit. Each line is one command: "faults ORDERS", "withdraw", "release WHAT".
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "fault.h"

#define LINE 1024

static char path[1024];
static int fifo = -1;
static pid_t owner;

static bool obey(char *line)
{
	char *rest = line + strcspn(line, " \t");

	if (*rest != '\0')
		*rest++ = '\0';
	if (strcmp(line, "faults") == 0)
		return softverbs_device_faults(rest) == 0;
	if (strcmp(line, "withdraw") == 0)
		return softverbs_device_faults(NULL) == 0;
	if (strcmp(line, "release") == 0)
		return softverbs_device_release(rest) >= 0;
	return false;
}

static void *listen_to_it(void *arg)
{
	char buf[LINE];
	size_t used = 0;
	ssize_t n;

	/* open for writing as well, so that there is no end when a writer goes */
	while ((n = read(fifo, buf + used, sizeof(buf) - 1 - used)) > 0 || errno == EINTR) {
		char *line = buf;
		char *end;

		used += n > 0 ? (size_t)n : 0;
		buf[used] = '\0';
		while ((end = strchr(line, '\n')) != NULL) {
			*end = '\0';
			if (*line != '\0' && !obey(line))
				fprintf(stderr, "softverbs: %s: cannot understand \"%s\"\n", path,
					line);
			line = end + 1;
		}
		used -= (size_t)(line - buf);
		memmove(buf, line, used);
		if (used == sizeof(buf) - 1)
			used = 0;
	}
	return arg;
}

static bool expand(const char *text)
{
	const char *pid = strstr(text, "%p");
	int n;

	if (pid == NULL)
		n = snprintf(path, sizeof(path), "%s", text);
	else
		n = snprintf(path, sizeof(path), "%.*s%d%s", (int)(pid - text), text, (int)getpid(),
			pid + 2);
	return n > 0 && (size_t)n < sizeof(path);
}

static bool open_fifo(void)
{
	if (mkfifo(path, 0600) != 0)
		return false;
	owner = getpid();
	fifo = open(path, O_RDWR | O_CLOEXEC);
	return fifo >= 0;
}

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("SOFTVERBS_CONTROL");
	pthread_t thread;
	sigset_t all;
	sigset_t old;
	int ret;

	if (text == NULL || *text == '\0')
		return;
	if (!expand(text) || !open_fifo()) {
		fprintf(stderr, "softverbs: SOFTVERBS_CONTROL=%s: %s\n", text, strerror(errno));
		_exit(2);
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&thread, NULL, listen_to_it, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret == 0)
		pthread_detach(thread);
}

/* not by a child of the process that made it */
__attribute__((destructor)) static void remove_fifo(void)
{
	if (owner == getpid())
		unlink(path);
}
