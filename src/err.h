/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * err.h - errno, which tells the caller why a provider failed
 *
 * The promise of librpma.h: after RPMA_E_PROVIDER errno is the error of the call that failed first.
 * Verbs calls report a failure in two ways, and cleaning up may change errno; the helpers here
 * settle both.
 */

#ifndef RPMA_ERR_H
#define RPMA_ERR_H

#include <errno.h>

/* an undoing step of an error path: its result is ignored, errno stays with the first failure */
#define RPMA__UNDO(step)                 \
	do {                             \
		const int cause = errno; \
		(void)(step);            \
		errno = cause;           \
	} while (0)

/* a verbs call returned ret, not 0: its errno value, or -1 with errno already set */
static inline void rpma__err_set_errno(int ret)
{
	if (ret > 0)
		errno = ret;
}

/* a row of steps that all run: the first failure counts */
struct rpma__err_first {
	int ret;
	int cause;
};

static inline void rpma__err_step(struct rpma__err_first *first, int ret)
{
	if (ret && !first->ret) {
		first->ret = ret;
		first->cause = errno;
	}
}

static inline int rpma__err_result(const struct rpma__err_first *first)
{
	if (first->ret)
		errno = first->cause;
	return first->ret;
}

#endif /* RPMA_ERR_H */
