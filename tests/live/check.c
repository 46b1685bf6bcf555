/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* check.c - how a program that needs an RDMA device says what is not so */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "librpma.h"

/* negative codes below this are librpma's, those above are errno values */
#define LAST_ERRNO -5000

const char *live_who = "client";

_Noreturn void live_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s %s:%d: not so: %s (errno: %s)\n", live_who, file, line, what,
		strerror(errno));
	fflush(NULL);
	_exit(1);
}

void live_check_int(const char *file, int line, const char *what, long long got, long long expected)
{
	const int cause = errno;

	if (got == expected)
		return;
	fprintf(stderr, "%s %s:%d: %s is %lld (%s), not %lld (errno: %s)\n", live_who, file, line,
		what, got,
		got < 0 && got > LAST_ERRNO ? strerror((int)-got) : rpma_err_2str((int)got),
		expected, strerror(cause));
	_exit(1);
}

const char *live_addr(void)
{
	const char *addr = getenv("ADDR");

	if (addr == NULL) {
		printf("no ADDR: no RDMA device\n");
		exit(LIVE_SKIP);
	}
	return addr;
}
