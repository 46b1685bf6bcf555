/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * exits.c - the one line on stderr
 */

#include <stdarg.h>
#include <stdio.h>

#include "exits.h"

int fail(enum exit_code code, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* names come from the command line and may hold anything: it stays one line */
	for (char *c = line; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == '\x7f')
			*c = '?';
	}
	(void)fprintf(stderr, "rpma: %s\n", line);
	return (int)code;
}
