/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* ends.c - two ends of a connection in one process, by the library's calls */

#include <sched.h>
#include <string.h>

#include "ends.h"

struct rpma_mr_remote *ends_remote(const struct rpma_mr_local *mr)
{
	struct rpma_mr_remote *remote = NULL;
	uint8_t descriptor[64];
	size_t size;

	MUST_EQ(rpma_mr_get_descriptor_size(mr, &size), 0);
	MUST(size <= sizeof(descriptor));
	MUST_EQ(rpma_mr_get_descriptor(mr, descriptor), 0);
	MUST_EQ(rpma_mr_remote_from_descriptor(descriptor, size, &remote), 0);
	return remote;
}

static void open_end(struct end *end, struct rpma_peer *peer)
{
	end->buf = compat_memory(ENDS_SIZE);
	MUST_EQ(rpma_mr_reg(peer, end->buf, ENDS_SIZE, ENDS_USAGE, &end->mr), 0);
}

void ends_open(struct ends *e)
{
	memset(e, 0, sizeof(*e));
	e->peer = compat_peer();
	open_end(&e->c, e->peer);
	open_end(&e->s, e->peer);
	e->c.theirs = ends_remote(e->s.mr);
	e->s.theirs = ends_remote(e->c.mr);
	MUST_EQ(rpma_ep_listen(e->peer, compat_addr(), ENDS_PORT, &e->ep), 0);
}

void ends_request(struct ends *e, const struct rpma_conn_cfg *cfg)
{
	MUST_EQ(rpma_conn_req_new(e->peer, compat_addr(), ENDS_PORT, cfg, &e->c.req), 0);
}

void ends_call(struct ends *e, const struct rpma_conn_private_data *pdata)
{
	MUST_EQ(rpma_conn_req_connect(&e->c.req, pdata, &e->c.conn), 0);
	MUST(e->c.req == NULL);
}

void ends_await_request(struct ends *e)
{
	int fd;

	MUST_EQ(rpma_ep_get_fd(e->ep, &fd), 0);
	if (!readable(fd, WAIT_MS))
		check_fail(__FILE__, __LINE__, "a connection request comes");
}

void ends_take(struct ends *e, const struct rpma_conn_cfg *cfg)
{
	ends_await_request(e);
	MUST_EQ(rpma_ep_next_conn_req(e->ep, cfg, &e->s.req), 0);
}

void ends_accept(struct ends *e, const struct rpma_conn_private_data *pdata)
{
	MUST_EQ(rpma_conn_req_connect(&e->s.req, pdata, &e->s.conn), 0);
	MUST(e->s.req == NULL);
}

static void established(struct end *end)
{
	event_expect(end->conn, RPMA_CONN_ESTABLISHED);
	MUST_EQ(rpma_conn_get_cq(end->conn, &end->cq), 0);
	MUST_EQ(rpma_conn_get_rcq(end->conn, &end->rcq), 0);
	MUST_EQ(rpma_conn_get_qp_num(end->conn, &end->qp_num), 0);
}

void ends_established(struct ends *e)
{
	established(&e->c); /* this is what establishes the server's side */
	established(&e->s);
}

void ends_connect(
	struct ends *e, const struct rpma_conn_cfg *client, const struct rpma_conn_cfg *server)
{
	ends_open(e);
	ends_request(e, client);
	ends_call(e, NULL);
	ends_take(e, server);
	ends_accept(e, NULL);
	ends_established(e);
}

static void close_end(struct end *end)
{
	MUST_EQ(rpma_conn_req_delete(&end->req), 0);
	MUST_EQ(rpma_conn_delete(&end->conn), 0);
	MUST_EQ(rpma_mr_remote_delete(&end->theirs), 0);
	MUST_EQ(rpma_mr_dereg(&end->mr), 0);
}

void ends_close(struct ends *e)
{
	close_end(&e->s); /* first: a request whose client has gone cannot be rejected */
	close_end(&e->c);
	MUST_EQ(rpma_srq_delete(&e->srq), 0);
	MUST_EQ(rpma_ep_shutdown(&e->ep), 0);
	MUST_EQ(rpma_peer_delete(&e->peer), 0);
}

void event_expect(struct rpma_conn *conn, enum rpma_conn_event expected)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	int fd;

	MUST_EQ(rpma_conn_get_event_fd(conn, &fd), 0);
	if (!readable(fd, WAIT_MS))
		check_fail(__FILE__, __LINE__, rpma_utils_conn_event_2str(expected));
	MUST_EQ(rpma_conn_next_event(conn, &event), 0);
	MUST_EQ(event, expected);
}

void event_none(struct rpma_conn *conn)
{
	int fd;

	MUST_EQ(rpma_conn_get_event_fd(conn, &fd), 0);
	MUST(!readable(fd, QUIET_MS));
}

struct ibv_wc completion_take(struct rpma_cq *cq)
{
	const int64_t deadline = now_ms() + WAIT_MS;
	struct ibv_wc wc;
	int ret;

	while ((ret = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION) {
		if (now_ms() > deadline)
			check_fail(__FILE__, __LINE__, "a completion comes");
		sched_yield();
	}
	MUST_EQ(ret, 0);
	return wc;
}

struct ibv_wc completion_expect(struct rpma_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc = completion_take(cq);

	if (wc.status != IBV_WC_SUCCESS)
		check_fail(__FILE__, __LINE__, ibv_wc_status_str(wc.status));
	MUST_EQ(wc.wr_id, wr_id);
	return wc;
}

void completion_none(struct rpma_cq *cq)
{
	const int64_t deadline = now_ms() + QUIET_MS;
	struct ibv_wc wc;

	do {
		MUST_EQ(rpma_cq_get_wc(cq, 1, &wc, NULL), RPMA_E_NO_COMPLETION);
		sched_yield();
	} while (now_ms() < deadline);
}

struct rpma_conn_cfg *cfg_of(struct cfg_values values)
{
	struct rpma_conn_cfg *cfg = NULL;

	MUST_EQ(rpma_conn_cfg_new(&cfg), 0);
	if (values.cq_size)
		MUST_EQ(rpma_conn_cfg_set_cq_size(cfg, values.cq_size), 0);
	if (values.rcq_size)
		MUST_EQ(rpma_conn_cfg_set_rcq_size(cfg, values.rcq_size), 0);
	if (values.sq_size)
		MUST_EQ(rpma_conn_cfg_set_sq_size(cfg, values.sq_size), 0);
	if (values.rq_size)
		MUST_EQ(rpma_conn_cfg_set_rq_size(cfg, values.rq_size), 0);
	if (values.shared)
		MUST_EQ(rpma_conn_cfg_set_compl_channel(cfg, true), 0);
	if (values.srq)
		MUST_EQ(rpma_conn_cfg_set_srq(cfg, values.srq), 0);
	return cfg;
}
