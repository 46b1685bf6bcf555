/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * turn.h - a loop with a reactor, for tests that watch its turns
 *
 * A test starts with turn_open() and ends with turn_close(), which closes the reactor and the loop
 * and fails when a handle or a descriptor is left over.
 */

#ifndef RPMA_TEST_TURN_H
#define RPMA_TEST_TURN_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "librpma_uv.h"
#include "reactor/reactor.h"
#include "reactor/ring.h"

/* what no test takes as long as */
#define TURN_LONG_MS 20000

struct turn {
	uv_loop_t loop;
	rpma_uv_reactor_t reactor;
	struct rpma_uv__reactor *r;
	unsigned descriptors;
	unsigned closed;
};

void turn_open(struct turn *turn, const rpma_uv_reactor_opts_t *opts);
void turn_close(struct turn *turn);

/* run the loop until the future is done: its status */
int turn_wait(rpma_uv_future_t *f);

/* run the loop until *flag is set; fails when that takes too long */
void turn_until(struct turn *turn, const volatile unsigned *flag);

/* run the loop for so long, whatever it does; how often its poll phase has returned */
unsigned turn_for(struct turn *turn, uint64_t ms);

/* a callback that counts at its data */
void turn_count(void *data);

/* descriptors that the process has open */
unsigned turn_descriptors(void);

rpma_uv_reactor_stats_t turn_stats(const struct turn *turn);

/* a path in a fresh directory of the test's own, which goes at exit; the text is static */
const char *turn_path(const char *name);

/* bytes that tell their offset */
void turn_pattern(void *base, size_t len, uint64_t offset);
bool turn_is_pattern(const void *base, size_t len, uint64_t offset);

#define TURN_MAIN(...)                                             \
	int main(void)                                             \
	{                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ }; \
                                                                   \
		return cmocka_run_group_tests(tests, NULL, NULL);  \
	}

#endif /* RPMA_TEST_TURN_H */
