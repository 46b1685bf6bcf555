/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * register.h - memory that serve makes known to the device
 */

#ifndef RPMA_TOOLS_REGISTER_H
#define RPMA_TOOLS_REGISTER_H

#include <stddef.h>

#include <librpma.h>

/*
 * As rpma_mr_reg(): 0, or the exit status; the reason was printed, with the limit that may be behind
 * it. what follows the number of bytes, such as " for messages".
 */
int register_memory(struct rpma_peer *peer, void *base, size_t size, int usage, const char *what,
	struct rpma_mr_local **mr_ptr);

#endif /* RPMA_TOOLS_REGISTER_H */
