/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * lock.h - one lock for the provider's calls that may race
 *
 * Older librdmacm and libibverbs are not safe when ids, queue pairs and shared receive queues are
 * created, ended and destroyed by several threads. Such calls are made under this lock,
 * process-wide, so that our callers need none.
 *
 * ASSUMPTIONS
 * - It is held for one short command at a time. Never while waiting for a peer, a resolver or an
 *   event: name, address and route resolution and rdma_get_cm_event run without it.
 * - Memory registration runs without it as well. Verbs promises that it may run on several threads,
 *   and pinning a large region takes so long that others must not wait for it.
 * - It is not taken twice by one thread.
 * - rdma_destroy_id waits until the id's events are acknowledged. Nobody who holds such an event
 *   waits for this lock: an event is acknowledged in the call that fetched it, and an object is not
 *   deleted while it is in use.
 */

#ifndef RPMA_LOCK_H
#define RPMA_LOCK_H

void rpma__lock(void);
void rpma__unlock(void);

#endif /* RPMA_LOCK_H */
