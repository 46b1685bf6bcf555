/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * export.h - the bytes that serve hands out: a file, or memory filled by a pattern
 *
 * ASSUMPTIONS
 * - opened before the loop runs and closed after it: these calls may wait for a disk
 * - export_piece() may run on any thread meanwhile
 */

#ifndef RPMA_TOOLS_EXPORT_H
#define RPMA_TOOLS_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "control.h"

struct export
{
	int fd; /* -1: memory */
	void *base;
	uint64_t size;
	uint8_t identity[CONTROL_IDENTITY_BYTES];
};

/* the exit status to end with, 0 on success; the reason was printed */
int export_file(struct export *e, const char *path);
int export_memory(struct export *e, uint64_t size, uint64_t seed);
void export_close(struct export *e);

/*
 * len bytes from offset on, as they are now: in *piece_ptr, which may be scratch (of len bytes). 0,
 * or UV_E*. A file is read, not looked up in the mapping: when somebody has cut it short, that is
 * an error here, and would be the end of the program there.
 */
int export_piece(
	const struct export *e, uint64_t offset, size_t len, void *scratch, const void **piece_ptr);

#endif /* RPMA_TOOLS_EXPORT_H */
