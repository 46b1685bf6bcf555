/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * threads.h - many threads in the library at once
 *
 * A case is one piece of work that THREADS threads do at the same time. What they share is static
 * in the case's file: set_up() and tear_down() make and end it on the main thread. run() starts on
 * all threads together.
 *
 * Where threads tell each other something they use a mutex, not an atomic: helgrind(1) takes only
 * the former for an order of events.
 */

#ifndef RPMA_THREADS_H
#define RPMA_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "librpma.h"

#define THREADS 8

struct threads_case {
	const char *name; /* NULL ends a group */
	void (*set_up)(void); /* may be NULL, as may tear_down */
	void (*run)(unsigned thread);
	void (*tear_down)(void);
};

extern const struct threads_case threads_objects[], threads_log[]; /* without a device */
extern const struct threads_case threads_device[], threads_connect[], threads_data[];

/* the device of all cases, and a peer on it that they share */
struct threads_world {
	const char *addr;
	struct ibv_context *ibv_ctx;
	struct rpma_peer *peer;
};

extern struct threads_world threads_world;

/* a port as text: one for each thread, and one (THREADS) that they share */
struct threads_port {
	char text[8];
};

struct threads_port threads_port(unsigned thread);

/* all threads come here before any goes on */
void threads_meet(void);

#endif
