/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * end.h - one end of a connection that is busy until something happens to it
 *
 * Reads, writes and sends go both ways without a pause, each a number of times at once. When the
 * connection ends, for whatever reason, everything that was posted has to come back, and everything
 * that was made has to go. What is not so ends the process.
 */

#ifndef SOFTVERBS_END_H
#define SOFTVERBS_END_H

#include "case.h"

#define EACH      8 /* of reads, writes, sends at a time; twice that of receives */
#define BLOCK     16384
#define END_KINDS 4 /* the fourth: receives */

/* in the private data: where the peer may read and write */
struct place {
	uint64_t addr;
	uint32_t rkey;
};

struct end {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener; /* of a server */
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
	struct place peer;
	int told; /* a pipe: a byte says that the connection stands */
	bool established;
	bool over; /* it has ended, or has never begun */
	bool disconnected; /* and this is how */
	unsigned posted[END_KINDS];
	unsigned done[END_KINDS];
	unsigned flushed;
};

void end_open(struct end *end, int told);
void end_listen(struct end *end); /* the port is that of end->listener */
void end_connect(struct end *end, uint16_t port);

/*
 * Until it is over, or `news` (a pipe) is closed by its writer while there is no connection and none
 * comes.
 */
void end_run(struct end *end, int news);
void end_close(struct end *end); /* all has come back; no descriptor and no thread is left */

#endif
