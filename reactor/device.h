/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * device.h - asynchronous events of a device, whose descriptor all reactors of the process share
 *
 * ASSUMPTIONS
 * - a watch is one reactor's share in one device; it is used by that reactor's thread only
 * - an object is told to its watch right after the verbs object was made, and forgotten right
 *   before that is destroyed
 * - handlers run on the reactor's thread, from the loop's poll
 */

#ifndef RPMA_UV_DEVICE_H
#define RPMA_UV_DEVICE_H

#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

struct rpma_uv__device;
struct rpma_uv__watch;

/* embedded in what owns a queue pair, a completion queue or a shared receive queue */
struct rpma_uv__watched {
	void (*event)(struct rpma_uv__watched *object, enum ibv_event_type type);
	/* private from here on */
	const void *address; /* of the verbs object; NULL: not watched */
	struct rpma_uv__watch *watch;
	uint32_t events; /* that have come and are not handled: 1 << type */
	LIST_ENTRY(rpma_uv__watched) link; /* by address */
	TAILQ_ENTRY(rpma_uv__watched) told_link; /* of the watch, while there are events */
};

/*
 * begin to watch the device for its reactor: 0, or UV_E* (UV_EEXIST: the program itself watches the
 * descriptor, on this loop). device->watch stays NULL where the options say so.
 */
int rpma_uv__watch_start(struct rpma_uv__device *device);

/* nothing is watched any more: let go, and close the handles (counted in handles_open) */
void rpma_uv__watch_stop(struct rpma_uv__device *device);

/* no-op on a device without a watch */
void rpma_uv__watched_add(struct rpma_uv__device *device, struct rpma_uv__watched *object,
	const void *address, void (*event)(struct rpma_uv__watched *, enum ibv_event_type));

/* its event() is not called any more; no-op on one that is not watched */
void rpma_uv__watched_remove(struct rpma_uv__watched *object);

#endif /* RPMA_UV_DEVICE_H */
