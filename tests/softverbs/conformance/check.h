/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * check.h - one fact about an RDMA device or a library, and how it is reported
 *
 * Every check is a function that runs in a process of its own, forked before anything has touched
 * the device. It returns when its fact is so; MUST() and SKIP() end the process otherwise. A check
 * that hangs is killed and has failed.
 */

#ifndef CONFORMANCE_CHECK_H
#define CONFORMANCE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct check {
	const char *fact; /* what is so; NULL ends an area */
	const char *page; /* where it is written; NULL: the area's name has it */
	void (*run)(void);
	bool differs; /* the page says otherwise: README.md has the reason */
};

struct area {
	const char *name;
	const struct check *checks;
};

/* what the program checks; without a name: the end */
extern const struct area check_areas[];

/* end the check as failed when something is not so; say where */
#define MUST(what)                                             \
	do {                                                   \
		if (!(what))                                   \
			check_fail(__FILE__, __LINE__, #what); \
	} while (0)

/* end the check as failed when a value is not this one; say what it is */
#define MUST_EQ(got, expected) \
	check_equal(__FILE__, __LINE__, #got, (long long)(got), (long long)(expected))

/* a call that returns -1 and leaves this in errno */
#define MUST_ERRNO(call, expected)        \
	do {                              \
		MUST_EQ((call), -1);      \
		MUST_EQ(errno, expected); \
	} while (0)

_Noreturn void check_fail(const char *file, int line, const char *what);
void check_equal(const char *file, int line, const char *what, long long got, long long expected);

/* what a check has seen, for who reads the report; a line without its end */
__attribute__((format(printf, 1, 2))) void check_note(const char *format, ...);

/* end the check as skipped: this device or machine has not what it needs */
_Noreturn void check_skip(const char *reason);
#define SKIP(reason) check_skip(reason)

#endif /* CONFORMANCE_CHECK_H */
