/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* bytes.c - contents of memory, to be made and recognized */

#include "bytes.h"

static uint8_t pattern(size_t i, unsigned int seed)
{
	return (uint8_t)((i * 31 + i / 256 * 7 + seed * 101 + 1) & 0xff);
}

void fill(uint8_t *at, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		at[i] = pattern(i, seed);
}

bool filled(const uint8_t *at, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] != pattern(i, seed))
			return false;
	return true;
}

bool zeroed(const void *at, size_t len)
{
	const uint8_t *bytes = at;

	for (size_t i = 0; i < len; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}
