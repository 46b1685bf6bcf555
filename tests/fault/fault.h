/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * fault.h - fails each provider call and each allocation of a scenario in turn
 *
 * A scenario is a function that makes its calls until one fails, and then deletes what it has made.
 * It hands every result to fault_ok() or to a relative, which compare it with what is promised: the
 * output is untouched, errno is the ordered one, an ERROR was logged.
 */

#ifndef RPMA_FAULT_H
#define RPMA_FAULT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "double.h"
#include "librpma.h"

/* what every output holds before the call that writes it */
#define FAULT_UNTOUCHED ((void *)(uintptr_t)0xC0FFEE)

bool fault_ok(int ret); /* true: 0 */
bool fault_made(int ret, void *object_ptr); /* the output is untouched on failure */
bool fault_made_or_null(int ret, void *object_ptr); /* or NULL, where the header says so */
void fault_gone(int ret, void *object_ptr); /* the output is NULL, whatever the result */

/* what fault_made() left untouched: nothing to delete */
void fault_forget_untouched(void *object_ptr);

/*
 * Runs the scenario as often as it has calls and allocations: each of them fails once, and for
 * good, with several values of errno, with the log on and off. After each run nothing is left over. absorbed is the number
 * of provider calls whose single failure the scenario does not notice; with EINVAL some more.
 */
struct fault_plan {
	void (*run)(void *arg); /* the scenario */
	void *arg;
	unsigned absorbed;
	unsigned absorbed_einval;
};

void fault_each(const struct fault_plan *plan);

#endif /* RPMA_FAULT_H */
