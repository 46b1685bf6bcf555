/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * transfer.h - what the reactor needs of transfers
 *
 * ASSUMPTIONS
 * - a transfer is on reactor->transfers while it runs, that is, until its future is finished
 */

#ifndef RPMA_UV_TRANSFER_H
#define RPMA_UV_TRANSFER_H

struct rpma_uv__reactor;

/* the reactor closes: stop all that run; each leaves its list when it has drained */
void rpma_uv__transfer_cancel_all(struct rpma_uv__reactor *r);

#endif /* RPMA_UV_TRANSFER_H */
