/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * peer.h - looking for the device behind an address
 *
 * ASSUMPTIONS
 * - a look-up is on reactor->lookups while it runs, and lives in the room of its operation
 */

#ifndef RPMA_UV_PEER_H
#define RPMA_UV_PEER_H

struct rpma_uv__reactor;

/* end every look-up that runs: the reactor closes */
void rpma_uv__lookups_cancel(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_PEER_H */
