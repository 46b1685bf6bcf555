/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * compat.h - the library that the checks run on
 *
 * The program is built with the original's header and linked with the original; which library it
 * runs on is decided when it is loaded. What it may ask is what both promise, and a deliberate
 * improvement over the original, of which a check says which side of it it saw.
 */

#ifndef COMPAT_COMPAT_H
#define COMPAT_COMPAT_H

#include <librpma.h>

#include "bytes.h"
#include "check.h"
#include "wait.h"

/* the file that the library was loaded from */
const char *compat_library(void);

/* is it the file that RPMA_COMPAT_OURS names? */
bool compat_on_ours(void);

/*
 * Item of section 17 of the specification: one of the two is so. Both ways are noted; on our library
 * it must be the better one.
 */
#define IMPROVED(item, better, original) \
	compat_improved(__FILE__, __LINE__, (item), (better), #better, (original), #original)

void compat_improved(const char *file, int line, int item, bool better, const char *better_text,
	bool original, const char *original_text);

#define MUST_STR(got, expected) compat_string(__FILE__, __LINE__, (got), (expected))

void compat_string(const char *file, int line, const char *got, const char *expected);

/* a pointer that a failing call must leave alone */
#define UNTOUCHED ((void *)0xC0FFEE)

/* what the library logs, from now on, up to this level; before that, nothing is counted */
struct compat_log {
	unsigned int count[RPMA_LOG_LEVEL_DEBUG + 1];
	enum rpma_log_level level; /* of the last message */
	char file[128], function[128], format[512], message[512];
};

extern struct compat_log compat_log;
void compat_log_to(enum rpma_log_level threshold);

/* the address of the device */
const char *compat_addr(void);

/* its context, as the library finds it; and a peer on it */
struct ibv_context *compat_verbs(void);
struct rpma_peer *compat_peer(void);

/* zeroed, at the beginning of a page */
uint8_t *compat_memory(size_t size);

/* does a call of this end its process by a signal? run before anything has touched the device */
bool compat_crashes(int (*call)(void), int *result);

#endif /* COMPAT_COMPAT_H */
