/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * check.h - how a program that needs an RDMA device says what is not so
 *
 * Exit 0 passed, 77 skipped, else failed.
 */

#ifndef RPMA_LIVE_CHECK_H
#define RPMA_LIVE_CHECK_H

#define LIVE_SKIP 77

/* end the process when something is not so; say where */
#define CHECK(what)                                           \
	do {                                                  \
		if (!(what))                                  \
			live_fail(__FILE__, __LINE__, #what); \
	} while (0)

/* end the process when a call does not return this; say what it did */
#define CHECK_INT(call, expected) live_check_int(__FILE__, __LINE__, #call, (call), (expected))
#define CHECK_OK(call)            CHECK_INT(call, 0)

/* what this process is called in its messages */
extern const char *live_who;

_Noreturn void live_fail(const char *file, int line, const char *what);
void live_check_int(
	const char *file, int line, const char *what, long long got, long long expected);

/* the address of the device, or the end of the test as skipped */
const char *live_addr(void);

#endif
