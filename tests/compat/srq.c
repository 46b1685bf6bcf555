/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* srq.c - shared receive queues, alone and under connections */

#include "ends.h"

#define IMM 0x0A0B0C0Du

static struct rpma_srq *srq_of(struct rpma_peer *peer, uint32_t rq_size, uint32_t rcq_size)
{
	struct rpma_srq_cfg *cfg = NULL;
	struct rpma_srq *srq = NULL;

	MUST_EQ(rpma_srq_cfg_new(&cfg), 0);
	MUST_EQ(rpma_srq_cfg_set_rq_size(cfg, rq_size), 0);
	MUST_EQ(rpma_srq_cfg_set_rcq_size(cfg, rcq_size), 0);
	MUST_EQ(rpma_srq_new(peer, cfg, &srq), 0);
	MUST_EQ(rpma_srq_cfg_delete(&cfg), 0); /* of use during the call only */
	return srq;
}

static void srq_default(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_srq *srq = NULL;
	struct rpma_cq *rcq = NULL;
	int fd = -1;

	MUST_EQ(rpma_srq_new(peer, NULL, &srq), 0);
	MUST_EQ(rpma_srq_get_rcq(srq, &rcq), 0);
	MUST(rcq != NULL);
	MUST_EQ(rpma_cq_get_fd(rcq, &fd), 0);
	MUST(fd >= 0);
	MUST_EQ(rpma_srq_delete(&srq), 0);
	MUST(srq == NULL);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void srq_without_rcq(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_srq *srq = srq_of(peer, 4, 0);
	struct rpma_cq *rcq = UNTOUCHED;

	MUST_EQ(rpma_srq_get_rcq(srq, &rcq), 0);
	MUST(rcq == NULL);
	MUST_EQ(rpma_srq_delete(&srq), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void srq_null(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_srq *srq = UNTOUCHED, *none = NULL;
	struct rpma_cq *rcq = UNTOUCHED;

	MUST_EQ(rpma_srq_new(NULL, NULL, &srq), RPMA_E_INVAL);
	MUST(srq == UNTOUCHED);
	MUST_EQ(rpma_srq_new(peer, NULL, NULL), RPMA_E_INVAL);
	srq = srq_of(peer, 4, 4);
	MUST_EQ(rpma_srq_get_rcq(NULL, &rcq), RPMA_E_INVAL);
	MUST(rcq == UNTOUCHED);
	MUST_EQ(rpma_srq_get_rcq(srq, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_delete(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_delete(&none), 0);
	MUST_EQ(rpma_srq_delete(&srq), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void srq_too_large(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_srq *srq = UNTOUCHED;
	struct rpma_srq_cfg *cfg = NULL;

	MUST_EQ(rpma_srq_cfg_new(&cfg), 0);
	MUST_EQ(rpma_srq_cfg_set_rq_size(cfg, UINT32_MAX), 0);
	MUST_EQ(rpma_srq_new(peer, cfg, &srq), RPMA_E_PROVIDER);
	/* a CQ of more than INT_MAX is asked for as INT_MAX: no device has it either */
	MUST_EQ(rpma_srq_cfg_set_rq_size(cfg, 4), 0);
	MUST_EQ(rpma_srq_cfg_set_rcq_size(cfg, UINT32_MAX), 0);
	MUST_EQ(rpma_srq_new(peer, cfg, &srq), RPMA_E_PROVIDER);
	MUST(srq == UNTOUCHED);
	MUST_EQ(rpma_srq_cfg_delete(&cfg), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0); /* what was made on the way is gone */
}

static void srq_recv(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_srq *srq = srq_of(peer, 4, 4);
	struct rpma_mr_local *mr = NULL;

	MUST_EQ(rpma_mr_reg(peer, compat_memory(4096), 4096, RPMA_MR_USAGE_RECV, &mr), 0);
	MUST_EQ(rpma_srq_recv(NULL, mr, 0, 64, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_recv(srq, NULL, 1, 0, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_recv(srq, NULL, 0, 1, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_recv(srq, mr, 0, 64, NULL), 0);
	MUST_EQ(rpma_srq_recv(srq, NULL, 0, 0, NULL), 0);
	MUST_EQ(rpma_srq_delete(&srq), 0);
	MUST_EQ(rpma_mr_dereg(&mr), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

static void srq_full(void)
{
	struct rpma_peer *peer = compat_peer();
	struct rpma_srq *srq = srq_of(peer, 10, 0);
	int count = 0, ret;

	/* a provider may round up */
	while ((ret = rpma_srq_recv(srq, NULL, 0, 0, CONTEXT(count))) == 0)
		MUST(count++ < 1000);
	check_note("%d receives fit", count);
	MUST_EQ(ret, RPMA_E_PROVIDER);
	MUST(count >= 10);
	MUST_EQ(rpma_srq_delete(&srq), 0);
	MUST_EQ(rpma_peer_delete(&peer), 0);
}

const struct check srq_checks[] = {
	{ "one of the defaults has a completion queue of its own", NULL, srq_default },
	{ "one without has none, and that is no error", NULL, srq_without_rcq },
	{ "NULL is invalid, a NULL object can be deleted", NULL, srq_null },
	{ "sizes beyond the device are the provider's error, the output untouched", NULL,
		srq_too_large },
	{ "receives go into it, with and without bytes", NULL, srq_recv },
	{ "it takes as many as it was made for, and an end", NULL, srq_full },
	{ NULL },
};

/* ---- under connections ----------------------------------------------------------------------- */

/* a connection whose server receives from an SRQ */
static void connect_on(struct ends *e, uint32_t srq_rcq_size, struct cfg_values values)
{
	struct rpma_conn_cfg *cfg;

	ends_open(e);
	values.srq = e->srq = srq_of(e->peer, 16, srq_rcq_size);
	cfg = cfg_of(values);
	ends_request(e, NULL);
	ends_call(e, NULL);
	ends_take(e, cfg);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
	ends_accept(e, NULL);
	ends_established(e);
}
#define CONNECT_ON(e, srq_rcq_size, ...) \
	connect_on((e), (srq_rcq_size), (struct cfg_values){ __VA_ARGS__ })

/* the SRQ's receives complete there, with the connection's number */
static void received_at(struct ends *e, struct rpma_cq *cq)
{
	struct ibv_wc wc;

	MUST_EQ(rpma_srq_recv(e->srq, e->s.mr, 0, 64, CONTEXT(1)), 0);
	MUST_EQ(rpma_srq_recv(e->srq, e->s.mr, 64, 64, CONTEXT(2)), 0);
	fill(e->c.buf, 50, 1);
	MUST_EQ(rpma_send(e->c.conn, e->c.mr, 0, 50, RPMA_F_COMPLETION_ALWAYS, NULL), 0);
	wc = completion_expect(cq, 1);
	MUST_EQ(wc.opcode, IBV_WC_RECV);
	MUST_EQ(wc.byte_len, 50);
	MUST_EQ(wc.qp_num, e->s.qp_num);
	MUST(filled(e->s.buf, 50, 1));
	completion_expect(e->c.cq, 0);
	/* a write with immediate data takes one, too */
	MUST_EQ(rpma_write_with_imm(e->c.conn, e->c.theirs, 1000, e->c.mr, 0, 50,
			RPMA_F_COMPLETION_ALWAYS, IMM, NULL),
		0);
	wc = completion_expect(cq, 2);
	MUST_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	MUST_EQ(wc.qp_num, e->s.qp_num);
	MUST(filled(e->s.buf + 1000, 50, 1));
	completion_expect(e->c.cq, 0);
}

static void at_srq(void)
{
	struct rpma_cq *cq = NULL;
	struct ends e;

	CONNECT_ON(&e, 16, .rcq_size = 0);
	MUST_EQ(rpma_srq_get_rcq(e.srq, &cq), 0);
	received_at(&e, cq);
	ends_close(&e);
}

static void at_srq_rather(void)
{
	struct rpma_cq *cq = NULL;
	struct ends e;

	/* what the connection's own configuration says does not count then */
	CONNECT_ON(&e, 16, .rcq_size = 16);
	MUST(e.s.rcq == NULL);
	MUST_EQ(rpma_srq_get_rcq(e.srq, &cq), 0);
	received_at(&e, cq);
	ends_close(&e);
}

static void at_rcq(void)
{
	struct ends e;

	CONNECT_ON(&e, 0, .rcq_size = 16);
	MUST(e.s.rcq != NULL);
	received_at(&e, e.s.rcq);
	ends_close(&e);
}

static void at_cq(void)
{
	struct ends e;

	CONNECT_ON(&e, 0, .cq_size = 16);
	MUST(e.s.rcq == NULL);
	received_at(&e, e.s.cq);
	ends_close(&e);
}

static void at_shared(void)
{
	struct rpma_cq *cq = NULL;
	struct ends e;
	bool is_rcq = false;

	CONNECT_ON(&e, 0, .rcq_size = 16, .shared = true);
	MUST_EQ(rpma_srq_recv(e.srq, e.s.mr, 0, 64, CONTEXT(7)), 0);
	MUST_EQ(rpma_send(e.c.conn, e.c.mr, 0, 64, RPMA_F_COMPLETION_ON_ERROR, NULL), 0);
	MUST_EQ(rpma_conn_wait(e.s.conn, 0, &cq, &is_rcq), 0);
	MUST(cq == e.s.rcq && is_rcq);
	completion_expect(cq, 7);
	ends_close(&e);
}

/* two clients, one SRQ: the number tells whose message it is */
static void two_clients(void)
{
	struct rpma_conn_cfg *cfg;
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;
	struct ends e;
	struct end second[2] = { 0 };

	CONNECT_ON(&e, 16, .rcq_size = 0);
	cfg = CFG(.srq = e.srq);
	MUST_EQ(rpma_srq_get_rcq(e.srq, &cq), 0);
	MUST_EQ(rpma_conn_req_new(e.peer, compat_addr(), ENDS_PORT, NULL, &second[0].req), 0);
	MUST_EQ(rpma_conn_req_connect(&second[0].req, NULL, &second[0].conn), 0);
	ends_await_request(&e);
	MUST_EQ(rpma_ep_next_conn_req(e.ep, cfg, &second[1].req), 0);
	MUST_EQ(rpma_conn_req_connect(&second[1].req, NULL, &second[1].conn), 0);
	event_expect(second[0].conn, RPMA_CONN_ESTABLISHED);
	event_expect(second[1].conn, RPMA_CONN_ESTABLISHED);
	MUST_EQ(rpma_conn_get_qp_num(second[1].conn, &second[1].qp_num), 0);
	MUST(second[1].qp_num != e.s.qp_num);
	for (uint64_t i = 0; i < 4; i++)
		MUST_EQ(rpma_srq_recv(e.srq, e.s.mr, 64 * i, 64, CONTEXT(i)), 0);
	for (uint64_t i = 0; i < 4; i++) {
		struct rpma_conn *conn = i % 2 ? second[0].conn : e.c.conn;

		MUST_EQ(rpma_send(conn, e.c.mr, 0, 10 + i, RPMA_F_COMPLETION_ON_ERROR, NULL), 0);
		wc = completion_expect(cq, i);
		MUST_EQ(wc.byte_len, 10 + i);
		MUST_EQ(wc.qp_num, i % 2 ? second[1].qp_num : e.s.qp_num);
	}
	MUST_EQ(rpma_conn_delete(&second[0].conn), 0);
	MUST_EQ(rpma_conn_delete(&second[1].conn), 0);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
	ends_close(&e);
}

static void conflict(void)
{
	struct rpma_conn_req *req = UNTOUCHED;
	struct rpma_conn_cfg *cfg;
	struct ends e;

	ends_open(&e);
	e.srq = srq_of(e.peer, 16, 16);
	cfg = CFG(.shared = true, .srq = e.srq);
	compat_log_to(RPMA_LOG_LEVEL_ERROR);
	MUST_EQ(rpma_conn_req_new(e.peer, compat_addr(), ENDS_PORT, cfg, &req), RPMA_E_INVAL);
	MUST(req == UNTOUCHED);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], 1);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
	ends_close(&e);
}

/* a request that cannot be built: what becomes of the client? */
static void conflict_passive(void)
{
	struct rpma_conn_req *req = UNTOUCHED;
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct rpma_conn_cfg *cfg;
	struct ends e;
	int fd;

	ends_open(&e);
	e.srq = srq_of(e.peer, 16, 16);
	cfg = CFG(.shared = true, .srq = e.srq);
	ends_request(&e, NULL);
	ends_call(&e, NULL);
	ends_await_request(&e);
	MUST_EQ(rpma_ep_next_conn_req(e.ep, cfg, &req), RPMA_E_INVAL);
	MUST(req == UNTOUCHED);
	MUST_EQ(rpma_conn_get_event_fd(e.c.conn, &fd), 0);
	if (readable(fd, compat_on_ours() ? WAIT_MS : QUIET_MS))
		MUST_EQ(rpma_conn_next_event(e.c.conn, &event), 0);
	IMPROVED(2, event == RPMA_CONN_REJECTED, event == RPMA_CONN_UNDEFINED);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
	ends_close(&e);
}

const struct check arrangement_checks[] = {
	{ "an SRQ with a completion queue receives there", NULL, at_srq },
	{ "and there only, whatever the connection is made with", "6.11", at_srq_rather },
	{ "an SRQ without receives at the connection's queue for receives", NULL, at_rcq },
	{ "or, if it has none, at the main one", NULL, at_cq },
	{ "a shared channel goes with it", "6.11", at_shared },
	{ "two connections on one SRQ, told apart by the number", "15", two_clients },
	{ "a shared channel and an SRQ with a completion queue exclude each other", NULL,
		conflict },
	{ "on the server's side too, and the client hears of it", "6.9", conflict_passive,
		.differs = true },
	{ NULL },
};
