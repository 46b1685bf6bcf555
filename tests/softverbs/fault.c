/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* fault.c - no orders, no faults; misuse is told to stderr when SOFTVERBS_STRICT is set */

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fault.h"

bool sv_faults_on;

int sv_fault_ask(enum sv_fault_point point, void *object)
{
	(void)point;
	(void)object;
	return 0;
}

void sv_misuse(const void *site, const char *format, ...)
{
	const char *strict = getenv("SOFTVERBS_STRICT");
	Dl_info info = { 0 };
	char text[256];
	va_list args;

	if (strict == NULL || *strict == '\0' || *strict == '0')
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (dladdr(site, &info) == 0 || info.dli_fname == NULL)
		info.dli_fname = "?";
	fprintf(stderr, "softverbs: %s, at %s(%s) %p\n", text, info.dli_fname,
		info.dli_sname != NULL ? info.dli_sname : "?", site);
	if (*strict == 'a')
		abort();
}
