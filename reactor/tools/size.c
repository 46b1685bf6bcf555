/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * size.c - byte counts for people
 */

#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "size.h"

static const char suffixes[] = "KMGT";

int size_parse(const char *text, uint64_t *size_ptr)
{
	/* strtoull() would let spaces and signs pass, and "-1" become a huge number */
	if (*text < '0' || *text > '9')
		return UV_EINVAL;

	uint64_t size = 0;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (__builtin_mul_overflow(size, 10, &size) ||
			__builtin_add_overflow(size, (uint64_t)(*text - '0'), &size))
			return UV_ERANGE;
	}

	if (*text) {
		char upper = *text >= 'a' ? (char)(*text - 'a' + 'A') : *text;
		const char *suffix = strchr(suffixes, upper);
		if (!suffix || text[1])
			return UV_EINVAL;
		uint64_t unit = UINT64_C(1) << (10 * (suffix - suffixes + 1));
		if (__builtin_mul_overflow(size, unit, &size))
			return UV_ERANGE;
	}

	*size_ptr = size;
	return 0;
}

const char *size_format(uint64_t size, char text[SIZE_TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)size;
	unsigned unit = 0;

	/* 1023.95 would be printed as 1024.0 */
	while (value >= 1023.95) {
		value /= 1024;
		unit++;
	}
	(void)snprintf(text, SIZE_TEXT, "%.*f %s", unit ? 1 : 0, value, units[unit]);
	return text;
}
