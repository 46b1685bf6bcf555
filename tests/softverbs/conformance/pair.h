/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pair.h - two ends of a connection, both in this process
 *
 * The steps may be taken one by one: pair_listen, pair_resolve, pair_request, pair_accept,
 * pair_established; pair_open takes them all, pair_open_resolved the first two, pair_open_requested
 * the first three. The client is c, the server s.
 */

#ifndef CONFORMANCE_PAIR_H
#define CONFORMANCE_PAIR_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "bytes.h"
#include "wait.h"

#define BUFFER_SIZE (1 << 20)
#define ALL_ACCESS                                                                   \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | \
		IBV_ACCESS_REMOTE_ATOMIC)

/* what a zero means is in the comment */
struct pair_options {
	struct ibv_qp_cap cap; /* 16 WRs, 2 SGEs, no inline data */
	int cqe; /* 64 */
	int access; /* of the server's region: ALL_ACCESS */
	int depth; /* of reads, both ways: 4 */
	int retry_count; /* 6 */
	int rnr_retry; /* 7: for ever; -1 is none */
	int ack_timeout; /* the device's */
	bool sig_all; /* completions only where asked for */
	bool srq; /* the server has no SRQ */
	uint64_t send_ops; /* the client has no extended QP */
};

struct side {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *buf;
	struct ibv_qp_cap cap; /* as the device has granted it */
};

struct pair {
	struct pair_options o;
	struct rdma_cm_id *listener;
	struct side c;
	struct side s;
};

/* the device's address with a port, in network byte order */
union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_storage storage;
};
union address address_of(const char *text, uint16_t port);
union address address_here(uint16_t port);

struct rdma_event_channel *channel_new(void);
struct rdma_cm_id *id_new(struct rdma_event_channel *channel);

/* an id that listens on the device's address; its port is rdma_get_src_port() */
struct rdma_cm_id *id_listening(struct rdma_event_channel *channel);

/* an id that has found its way to a port of the device's address */
struct rdma_cm_id *id_resolved(struct rdma_event_channel *channel, uint16_t port);

/* an id bound to the device, for its verbs; with a channel of its own */
struct rdma_cm_id *id_of_device(void);

/* protection domain, queues and memory, and a QP on the side's id */
void side_open(struct side *side, const struct pair_options *o, bool is_server);
void side_open_resources(struct side *side, const struct pair_options *o, bool is_server);
struct ibv_qp_init_attr side_qp_attr(const struct side *side, const struct pair_options *o);
void side_close(struct side *side);
enum ibv_qp_state qp_state(struct ibv_qp *qp);
void qp_modify_state(struct ibv_qp *qp, enum ibv_qp_state state);

void pair_listen(struct pair *p, const struct pair_options *o);
void pair_resolve(struct pair *p);
struct rdma_conn_param pair_param(const struct pair *p);
void pair_request(struct pair *p);
void pair_accept(struct pair *p);
void pair_established(struct pair *p);
void pair_open(struct pair *p, const struct pair_options *o);
void pair_open_resolved(struct pair *p);
void pair_open_requested(struct pair *p);
#define PAIR(p, ...) pair_open((p), &(struct pair_options){ __VA_ARGS__ })

void pair_disconnect(struct pair *p);
void pair_close(struct pair *p);

/* one send request; the remote place is in the other side's buffer unless said otherwise */
struct op {
	enum ibv_wr_opcode opcode;
	uint64_t id;
	size_t at; /* in the local buffer */
	size_t len;
	unsigned int flags;
	bool silent; /* no completion when it succeeds */
	uint32_t imm;
	uint64_t remote;
	uint32_t rkey;
	uint64_t compare_add;
	uint64_t swap;
	uint32_t lkey; /* of the side's region, if 0 */
	void *local; /* instead of at */
	struct ibv_sge *sges; /* instead of at and len */
	int num_sge;
};

int op_post(struct side *side, const struct op *op);
#define POST(side, ...) MUST_EQ(op_post((side), &(struct op){ __VA_ARGS__ }), 0)

/* where in the other side's memory, for an op */
#define AT(side, offset) .remote = (uintptr_t)(side)->buf + (offset), .rkey = (side)->mr->rkey

int recv_post(struct side *side, uint64_t id, size_t at, size_t len);
#define RECV(side, id, at, len) MUST_EQ(recv_post((side), (id), (at), (len)), 0)

#endif /* CONFORMANCE_PAIR_H */
