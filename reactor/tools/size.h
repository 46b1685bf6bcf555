/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * size.h - byte counts for people: "256K" in, "1.5 MiB" out
 */

#ifndef RPMA_TOOLS_SIZE_H
#define RPMA_TOOLS_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* room for any size_format() */
#define SIZE_TEXT 16

/*
 * Decimal digits and at most one of K M G T (either case, powers of 1024), nothing else.
 * 0, UV_EINVAL, or UV_ERANGE above UINT64_MAX; *size_ptr is untouched on failure.
 */
int size_parse(const char *text, uint64_t *size_ptr);

/* three digits or so and a unit; returns text */
const char *size_format(uint64_t size, char text[SIZE_TEXT]);

#endif /* RPMA_TOOLS_SIZE_H */
