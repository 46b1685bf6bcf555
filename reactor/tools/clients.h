/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * clients.h - those who pull from serve, each one a small object with a life of its own
 *
 * ASSUMPTIONS
 * - reactor, peer, export and its descriptor outlive the clients
 * - nothing that a client does or fails to do touches another one, or the server
 */

#ifndef RPMA_TOOLS_CLIENTS_H
#define RPMA_TOOLS_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <librpma_uv.h>

#include "control.h"
#include "digest.h"
#include "export.h"

struct client;
struct client_room;

struct clients {
	/* given: valid from before clients_init() until after clients_fini() */
	rpma_uv_reactor_t *reactor;
	struct rpma_peer *peer;
	const struct export *export;
	uint8_t descriptor[CONTROL_DESCRIPTOR_MAX];
	uint16_t descriptor_len;
	unsigned max;
	bool verbose;
	/* clients_close() was called, and nobody is left; from the loop, once */
	void (*gone)(struct clients *cl);
	/* private from here on */
	struct rpma_conn_cfg *cfg;
	struct client_room *rooms; /* max of them, registered for messages */
	struct rpma_mr_local *rooms_mr;
	uint32_t *free_rooms; /* a stack of indices: max - count of them */
	unsigned count;
	LIST_HEAD(, client) all;
	struct digests digests;
	bool closing;
};

/* 0, or the exit status; the reason was printed */
int clients_init(struct clients *cl);
void clients_fini(struct clients *cl);

/* the callback of rpma_uv_listen(): data is the clients */
void clients_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data);

/*
 * End them all; gone() may be called from within when there are none. The listener is closed already:
 * nobody comes any more.
 */
void clients_close(struct clients *cl);

#endif /* RPMA_TOOLS_CLIENTS_H */
