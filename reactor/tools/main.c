/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * main.c - rpma: move bytes between the memory of one host and the files of another
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <librpma.h>

#include "commands.h"
#include "exits.h"

static const struct {
	const char *name;
	const char *full; /* what getopt_long() puts before its messages */
	int (*run)(int argc, char *argv[]);
} commands[] = {
	{ "pull", "rpma pull", pull_main },
	{ "serve", "rpma serve", serve_main },
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static const char help[] =
	"Usage: rpma serve --file FILE --listen ADDRESS:PORT   export a file over RDMA\n"
	"       rpma pull HOST:PORT FILE                       fetch it into a durable local file\n"
	"\n"
	"'rpma COMMAND --help' lists the options of a command.\n"
	"\n" EXIT_HELP;

/* argc is at least 2 */
static int run(int argc, char *argv[])
{
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		(void)fputs(help, stdout);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(argv[1], commands[i].name) == 0) {
			argv[1] = (char *)commands[i].full;
			return commands[i].run(argc - 1, argv + 1);
		}
	}
	return fail(EXIT_USAGE, "there is no command '%s'; 'rpma --help' lists them", argv[1]);
}

int main(int argc, char *argv[])
{
	/* this program tells what went wrong, once; the log of librpma still goes to syslog */
	(void)rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_DISABLED);

	/* a reader that has gone is an error of the write; it does not end a server, or a report */
	(void)signal(SIGPIPE, SIG_IGN);

	if (argc < 2)
		return fail(EXIT_USAGE, "no command; 'rpma --help' lists them");
	int code = run(argc, argv);
	/* what was to be read on stdout has to arrive, too */
	if ((fflush(stdout) || ferror(stdout)) && code == EXIT_DONE)
		code = fail(EXIT_STORAGE, "cannot write to standard output");
	return code;
}
