/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* check.h - the end of a test that finds something amiss; it says in which world */

#ifndef SOFTVERBS_SEED_CHECK_H
#define SOFTVERBS_SEED_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* of the world that runs: one for all files of a program */
__attribute__((weak)) uint64_t check_seed;

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: in the world of seed %" PRIu64 ": %s\n", __FILE__, \
				__LINE__, check_seed, #what);                                      \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define CHECK_INT(call, expected)                                                                  \
	do {                                                                                       \
		long long got_ = (call);                                                           \
		long long expected_ = (expected);                                                  \
		if (got_ != expected_) {                                                           \
			fprintf(stderr,                                                            \
				"%s:%d: in the world of seed %" PRIu64 ": %s is %lld, not %lld\n", \
				__FILE__, __LINE__, check_seed, #call, got_, expected_);           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define CHECK_OK(call) CHECK_INT(call, 0)

#endif
