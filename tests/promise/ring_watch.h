/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * ring_watch.h - what a reactor asks of its ring, seen and meddled with where it is submitted
 *
 * A program that links ring_watch.c has an io_uring_submit() of its own, which the library uses: it notes
 * each request, what has completed and been taken by then, and passes them on. From that it knows, for
 * the bytes of one file, which are confirmed (a write of them was taken), and which are durable: those
 * that were confirmed when a sync was submitted that has succeeded, or written by a write that was itself
 * durable. One ring and one file at a time.
 */

#ifndef RPMA_PROMISE_RING_WATCH_H
#define RPMA_PROMISE_RING_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_WATCH_BYTES ((size_t)2 << 20)

/* from here on; nothing is known of what was before */
void ring_watch_begin(void);

/* take note of what has completed by now */
void ring_watch_look(void);

/* all of [0, len) */
bool ring_watch_is_confirmed(size_t from, size_t len);
bool ring_watch_is_durable(size_t from, size_t len);
size_t ring_watch_durable(void); /* bytes in all */

/* requests that were submitted */
unsigned ring_watch_writes(void);
unsigned ring_watch_syncs(void); /* of a file's data */
unsigned ring_watch_directory_syncs(void); /* that have succeeded */

/* bytes that were confirmed when the last sync was submitted */
bool ring_watch_last_sync_covers(size_t from, size_t len);

/* meddling: */
void ring_watch_shorten(unsigned one_in); /* that many writes become short ones; 0: none */
unsigned ring_watch_shortened(void); /* so many have */
void ring_watch_fail_write(unsigned k); /* the k-th from now fails with EBADF; 0: none */
void ring_watch_fail_sync(unsigned k); /* likewise */

#endif /* RPMA_PROMISE_RING_WATCH_H */
