/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * wire.h - what wire_client and wire_server have agreed on
 *
 * Two programs that use everything which travels: each is built once, and runs on either library.
 *
 *   client, on each of its connections               server
 *   connect, greeting                        --->    accept, greeting; receives from one SRQ
 *   READ            read the source
 *   WRITE           write, flush; message    --->    looks at its memory, answers
 *   COMMIT          16 times write, flush, atomic write, flush; message
 *                                            --->    looks at its memory, answers
 *   IMM             write with immediate data, and one of no bytes
 *                                            --->    looks at its memory, answers
 *   EMPTY           read, write, send, send with immediate data, each of no bytes
 *                                            --->    answers
 *   REVERSE         message                  --->    reads the client's source, writes it back
 *                                            <---    elsewhere, flush, atomic write; answers
 *   END             disconnect               --->    CLOSED, and disconnects
 *   or, on odd ones, message                 --->    disconnects
 *
 * A greeting is private data: the descriptors of a region and of a peer configuration. A message is
 * sent with its step as immediate data, an answer likewise.
 */

#ifndef COMPAT_WIRE_H
#define COMPAT_WIRE_H

#include "ends.h"

enum wire_step { WIRE_READ, WIRE_WRITE, WIRE_COMMIT, WIRE_IMM, WIRE_EMPTY, WIRE_REVERSE, WIRE_END };

#define WIRE_CONNS_MAX 16
#define WIRE_ROUNDS    16

/* of each connection, in both regions */
#define WIRE_AREA        (128u << 10)
#define WIRE_WORD        0 /* eight bytes, for atomic writes */
#define WIRE_BULK        4096 /* for writes */
#define WIRE_BULK_SIZE   (60u << 10)
#define WIRE_SOURCE      (64u << 10) /* for reads of the other side */
#define WIRE_SOURCE_SIZE (32u << 10)
#define WIRE_DATA        (96u << 10) /* for writes with immediate data */
#define WIRE_DATA_SIZE   5000
#define WIRE_MESSAGES    (120u << 10) /* for messages, here and there */
#define WIRE_MESSAGE     64

/* what the bytes are */
#define WIRE_SEED(index, step) ((unsigned int)((index)*16 + (step)))

struct wire_greeting {
	char magic[4];
	uint8_t index; /* of the connection */
	uint8_t mr_size;
	uint8_t pcfg_size;
	uint8_t descriptors[24]; /* what programs have room for */
};

/* what one side has of the other */
struct wire_other {
	struct rpma_mr_remote *mr;
	struct rpma_peer_cfg *pcfg;
	bool persistent; /* its region can be flushed to persistence */
};

/* one end of a connection; area: its part of both regions */
struct wire_conn {
	unsigned int index;
	size_t area;
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	uint32_t qp_num;
	struct wire_other other;
};

/* memory of a program, registered: RPMA_WIRE_FILE if that is set, anonymous otherwise */
struct wire_region {
	struct rpma_peer *peer;
	struct rpma_mr_local *mr;
	uint8_t *memory;
};

/* what has been seen of what the library may choose, and how much was done */
struct wire_seen {
	int flush_opcode, atomic_opcode;
	uint64_t bytes_read, bytes_written;
	unsigned int reads, writes, flushes, atomic_writes, messages;
};

/* the arguments PORT CONNECTIONS; the role is for messages */
void wire_init(int argc, char **argv, const char *role);
extern const char *wire_port;
extern unsigned int wire_conns;
extern struct wire_seen wire_seen;

void wire_open(struct wire_region *region);
void wire_close(struct wire_region *region);

void wire_greet(struct wire_greeting *greeting, const struct wire_region *region,
	unsigned int index, bool direct_write);
unsigned int wire_greeted(
	const struct rpma_conn_private_data *pdata, struct wire_other *other, bool direct_write);

/* once the connection is established */
void wire_start(struct wire_conn *c);
void wire_end(struct wire_conn *c);

/* flush of a kind that the other side supports, signalled, completed; or not signalled */
void wire_flush(struct wire_conn *c, size_t offset, size_t len, bool signalled);
void wire_atomic_write(struct wire_conn *c, uint64_t word, bool signalled);

/* completions come in the order of the calls, as long as there is one on the way */
struct ibv_wc wire_done(struct wire_conn *c, uint64_t wr_id);

/* waits for a completion by the queue's channel, as a program does that does not poll */
struct ibv_wc wire_next(struct rpma_cq *cq);

/* the last line */
void wire_report(void);

#endif /* COMPAT_WIRE_H */
