/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * cm.h - one RDMA event channel a reactor
 *
 * ASSUMPTIONS
 * - the context of every id made here, or received with a request, is a struct rpma_uv__cm_id
 * - every event is copied and acknowledged before its handler runs, so that the handler may destroy
 *   the id: nothing of it is unacknowledged (rdma_destroy_id(3) would wait for that)
 */

#ifndef RPMA_UV_CM_H
#define RPMA_UV_CM_H

#include <stdint.h>
#include <sys/socket.h>

#include <rdma/rdma_cma.h>

struct rpma_uv__reactor;

struct rpma_uv__cm_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id; /* of a connection request: the new one, without a context yet */
	const void *private_data; /* good during the handler only; NULL if none */
	uint8_t private_data_len;
};

struct rpma_uv__cm_id {
	struct rdma_cm_id *id; /* NULL: none */
	void (*event)(struct rpma_uv__cm_id *cm_id, const struct rpma_uv__cm_event *event);
};

/* make the channel at its first use: 0 or UV_E* (UV_ENODEV: no RDMA connection manager here) */
int rpma_uv__cm_ensure(struct rpma_uv__reactor *r);

/* a new id on the channel, which is made first if need be; on failure cm_id->id stays NULL */
int rpma_uv__cm_id_create(struct rpma_uv__reactor *r, struct rpma_uv__cm_id *cm_id);

/* take over an id that came with a request */
void rpma_uv__cm_id_adopt(struct rpma_uv__cm_id *cm_id, struct rdma_cm_id *id);

/* destroy the id, if there is one */
void rpma_uv__cm_id_destroy(struct rpma_uv__cm_id *cm_id);

/* let go of the channel and close its handle (counted in handles_open); no-op without one */
void rpma_uv__cm_close(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_CM_H */
