/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * case.h - tests of what softverbs does on demand: faults, strict mode
 *
 * Each program has a list of cases, and runs each of them in a process of its own, or the one that is
 * named on its command line in this one. Both ends of a connection are in the same process: the pairs
 * and the waits are those of the conformance program.
 */

#ifndef SOFTVERBS_CASE_H
#define SOFTVERBS_CASE_H

#include "../conformance/pair.h"
#include "../softverbs.h"

struct test_case {
	const char *name;
	void (*run)(void);
	const char *says; /* on stderr: this, and where; "": nothing; NULL: anything */
	bool alone; /* needs an environment of its own: only when it is named */
};

extern const struct test_case cases[]; /* ends with a NULL */

void faults(const char *orders); /* softverbs_faults(), which must understand them */

/* until it is so; a case that waits too long has failed */
#define UNTIL(what)                                                    \
	do {                                                           \
		int64_t deadline_ = case_now_ms() + WAIT_MS;           \
		while (!(what)) {                                      \
			if (case_now_ms() > deadline_)                 \
				check_fail(__FILE__, __LINE__, #what); \
			case_pause();                                  \
		}                                                      \
	} while (0)

int64_t case_now_ms(void);
void case_pause(void); /* a moment for others */

/* whatever comes next, acknowledged; its status */
int cm_any(struct rdma_event_channel *channel, enum rdma_cm_event_type *type);

#endif
