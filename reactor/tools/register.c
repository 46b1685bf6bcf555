/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * register.c - memory that serve makes known to the device
 */

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "exits.h"
#include "register.h"

int register_memory(struct rpma_peer *peer, void *base, size_t size, int usage, const char *what,
	struct rpma_mr_local **mr_ptr)
{
	int ret = rpma_mr_reg(peer, base, size, usage, mr_ptr);
	if (!ret)
		return 0;

	int error = ret == RPMA_E_PROVIDER ? errno : ENOMEM;
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	char hint[96] = "";
	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	if (error == ENOMEM && limit.rlim_cur != RLIM_INFINITY)
		(void)snprintf(hint, sizeof(hint),
			" (the limit of locked memory, ulimit -l, is %llu bytes)",
			(unsigned long long)limit.rlim_cur);
	return fail(EXIT_RESOURCES, "serve: cannot register %zu bytes%s: %s%s", size, what,
		reason(-error), hint);
}
