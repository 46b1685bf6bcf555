/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * device.h - the device, its lock, its contexts
 *
 * LOCKING, for all of softverbs. There is one lock, sv_lock(): every object, list, queue, wire and
 * timer of the device is read and written under it. So:
 *
 *  - an exported function takes the lock once, at its start, and drops it before it returns; the
 *    functions named sv_* and the static ones assume that it is held, unless they say otherwise;
 *  - nothing sleeps under it. A call that has to wait (an event that is not there yet, acks that are
 *    missing) drops the lock around sv_wait() or sv_progress_block(), and looks again afterwards;
 *  - no cancellation point works while it is held: a cancelled thread must not take it to its grave;
 *  - no code of the program is called under it: there are no callbacks into the program at all.
 *
 * FORK: a child gets a device of its own, empty. Each context and each id remembers the generation it
 * was made in; calls on those of the parent fail with ENODEV and touch nothing (fork.c).
 */

#ifndef SOFTVERBS_DEVICE_H
#define SOFTVERBS_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "clock.h"
#include "list.h"
#include "signal_fd.h"

#define SV_EXPORT __attribute__((visibility("default")))

#define SV_NAME          "softverbs0"
#define SV_MAX_SGE       32
#define SV_MAX_WR        16384
#define SV_MAX_CQE       4194303
#define SV_MAX_INLINE    512
#define SV_MAX_RD_ATOMIC 16
#define SV_MAX_MSG       (UINT32_C(1) << 30)

struct sv_context {
	struct list node; /* on sv_device.contexts */
	struct list async; /* struct sv_async, not read yet */
	struct sv_signal signal; /* async_fd */
	struct sv_timer late; /* in a simulation: readable then */
	unsigned generation;
	bool gone; /* DEVICE_FATAL was delivered: everything fails with EIO */
	struct verbs_context verbs;
};

struct sv_device {
	pthread_mutex_t lock;
	pthread_cond_t acked; /* something was acknowledged or answered */
	int cancel_state; /* of the thread that holds the lock */
	unsigned generation; /* counts forks */
	struct list contexts;
	struct list qps;
	struct list links;
	struct list ids;
	struct sv_context *cm; /* the context of librdmacm, made once, never closed */
};

extern struct sv_device sv_device;

void sv_lock(void);
void sv_unlock(void);

/* waits for sv_device.acked; drops the lock meanwhile */
void sv_wait(void);

/* locks; false, unlocked, with errno ENODEV when the context is one of the parent process */
bool sv_enter(struct ibv_context *context);

/* the same for calls that need the hardware: EIO when the device is gone */
bool sv_enter_live(struct ibv_context *context);

struct sv_context *sv_context(struct ibv_context *context);
struct sv_context *sv_context_open(void);
struct sv_context *sv_context_cm(void);

void sv_fill_device_attr(struct ibv_device_attr *attr);
void sv_fill_operations(struct verbs_context *verbs);

#endif
