/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * ring_double.h - a stand-in for reactor/ring.c, and for the files behind it
 *
 * It defines the functions of reactor/ring.h and is linked instead of ring.c. Its one file lives in
 * memory and knows which of its bytes would survive a power cut: those whose write was confirmed
 * when a sync was submitted that has returned 0. Paths ending in "/" or named "." are directories.
 *
 * Requests complete by themselves in each turn, in order or, with a seed, some of them in any
 * order; or they are held until the test completes them. Rules change the result of the k-th
 * request of a code.
 */

#ifndef RPMA_RING_DOUBLE_H
#define RPMA_RING_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reactor/ring.h"

/* forget everything; size: what the file may grow to; dio_align: 0 for no direct I/O */
void ring_double_reset(size_t size, unsigned dio_align);

/* hold what is submitted from now on (only those of one code, or -1: all); or let all go again */
void ring_double_hold(int code);
void ring_double_go(void);

/* some in each turn, in any order; 0: all, in order */
void ring_double_seed(unsigned seed);

/*
 * the k-th request of the code from now on (1: the next) ends with res; more than one rule may
 * stand
 */
void ring_double_rule(int code, unsigned k, int res);

/* held requests, the oldest first */
unsigned ring_double_held(void);
struct rpma_uv__io *ring_double_at(unsigned i);

/* complete a held request as the file system would, or with res */
void ring_double_complete(struct rpma_uv__io *io);
void ring_double_complete_as(struct rpma_uv__io *io, int res);

/* requests of a code that were submitted; and the last of them, as it was submitted */
unsigned ring_double_count(int code);
const struct rpma_uv__io *ring_double_last(int code);

/*
 * what was submitted, as text: "openat write(0,4096) fdatasync"; an asterisk: the direct descriptor
 */
const char *ring_double_log(void);
void ring_double_log_clear(void);

/* what a file says of its direct I/O, which an alignment of 0 says there is none of */
void ring_double_dio_told(unsigned mem_align, unsigned offset_align);

/* descriptors that are open */
unsigned ring_double_open_fds(void);

/* the name is taken, so that O_EXCL fails; and its file has so many bytes */
void ring_double_exists(size_t size);

/* the file's bytes and length; the bytes in [0, result) would survive a power cut */
uint8_t *ring_double_data(void);
size_t ring_double_size(void);
size_t ring_double_durable(void);
/* a power cut would not take the file's name */
bool ring_double_has_name(void);

/* what registered buffers there are; and how many may be added before the memlock limit */
unsigned ring_double_buffers(void);
void ring_double_buffers_max(unsigned count);

/* rpma_uv__ring_ensure() fails with this */
void ring_double_missing(int status);

#endif /* RPMA_RING_DOUBLE_H */
