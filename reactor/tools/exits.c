/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * exits.c - the one line on stderr, and what it says of a status
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

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

/* what libuv has said of a status that it does not know */
static bool is_unknown(const char *text)
{
	static const char unknown[] = "Unknown system error";

	return strncmp(text, unknown, sizeof(unknown) - 1) == 0;
}

const char *reason(int status)
{
	static char text[128];

	(void)uv_strerror_r(status, text, sizeof(text));
	return is_unknown(text) ? strerror(-status) : text;
}

const char *reason_name(int status)
{
	static char text[64];
	const char *name = strerrorname_np(-status);

	(void)uv_err_name_r(status, text, sizeof(text));
	return is_unknown(text) && name ? name : text;
}
