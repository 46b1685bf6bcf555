/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* heap.c - count the heap calls of the whole process */

#include <stdlib.h>

#include "heap.h"

static unsigned long calls;

unsigned long heap_calls(void)
{
	return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

#if HEAP_IS_COUNTED

/* without it the libraries would go on calling libc's */
#define FOR_ALL __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void __libc_free(void *ptr);

static void count(void)
{
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}

FOR_ALL void *malloc(size_t size)
{
	count();
	return __libc_malloc(size);
}

FOR_ALL void *calloc(size_t n, size_t size)
{
	count();
	return __libc_calloc(n, size);
}

FOR_ALL void *realloc(void *ptr, size_t size)
{
	count();
	return __libc_realloc(ptr, size);
}

FOR_ALL void free(void *ptr)
{
	if (ptr)
		count();
	__libc_free(ptr);
}

#endif
