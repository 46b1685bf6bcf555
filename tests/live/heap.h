/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * heap.h - count the heap calls of the whole process, the libraries' included
 *
 * A program that links heap.c has its own malloc, calloc, realloc and free, which everybody in the
 * process uses. A sanitizer has a heap of its own, whose calls cannot be told from ours: then
 * nothing is counted, and HEAP_IS_COUNTED is 0.
 */

#ifndef RPMA_LIVE_HEAP_H
#define RPMA_LIVE_HEAP_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAP_IS_COUNTED 0
#else
#define HEAP_IS_COUNTED 1
#endif

/* so far; frees count as well */
unsigned long heap_calls(void);

#endif /* RPMA_LIVE_HEAP_H */
