/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * ends.h - two ends of a connection in one process, by the library's calls
 *
 *   ends_open            peer, a region for each end, an endpoint that listens
 *   ends_request         c.req
 *   ends_call            c.req becomes c.conn; the request is on its way
 *   ends_take            s.req
 *   ends_accept          s.req becomes s.conn
 *   ends_established     both have heard ESTABLISHED
 *   ends_close           all of it, in whatever state it is
 *
 * The client is c, the server s. ends_connect() takes all steps.
 */

#ifndef COMPAT_ENDS_H
#define COMPAT_ENDS_H

#include "compat.h"

#define ENDS_PORT "7341"
#define ENDS_SIZE 65536

#define ENDS_USAGE                                                                   \
	(RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC | \
		RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |      \
		RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV)

struct end {
	uint8_t *buf; /* ENDS_SIZE bytes */
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *theirs; /* the other end's region */
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_cq *cq; /* the main one */
	struct rpma_cq *rcq; /* NULL, or the one for receives */
	uint32_t qp_num;
};

struct ends {
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	struct rpma_srq *srq; /* NULL, or the check's; ends after the connections */
	struct end c, s;
};

void ends_open(struct ends *e);
void ends_request(struct ends *e, const struct rpma_conn_cfg *cfg);
void ends_call(struct ends *e, const struct rpma_conn_private_data *pdata);
void ends_take(struct ends *e, const struct rpma_conn_cfg *cfg);
void ends_accept(struct ends *e, const struct rpma_conn_private_data *pdata);
void ends_established(struct ends *e);
void ends_close(struct ends *e);

void ends_connect(
	struct ends *e, const struct rpma_conn_cfg *client, const struct rpma_conn_cfg *server);

/* the other end's view of a region */
struct rpma_mr_remote *ends_remote(const struct rpma_mr_local *mr);

/* a request is there to be taken */
void ends_await_request(struct ends *e);

/* the next event of a connection is this one; no event is there */
void event_expect(struct rpma_conn *conn, enum rpma_conn_event expected);
void event_none(struct rpma_conn *conn);

/* the next completion; with this wr_id, and a success; none comes */
struct ibv_wc completion_take(struct rpma_cq *cq);
struct ibv_wc completion_expect(struct rpma_cq *cq, uint64_t wr_id);
void completion_none(struct rpma_cq *cq);

/* an operation's context that comes back as this wr_id */
#define CONTEXT(wr_id) ((void *)(uintptr_t)(wr_id))

/* conn_cfg with these values */
struct cfg_values {
	uint32_t cq_size, rcq_size, sq_size, rq_size; /* 0: not set */
	bool shared;
	struct rpma_srq *srq;
};

struct rpma_conn_cfg *cfg_of(struct cfg_values values);
#define CFG(...) cfg_of((struct cfg_values){ __VA_ARGS__ })

#endif /* COMPAT_ENDS_H */
