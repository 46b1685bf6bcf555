/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* both_ends.c - two ends connect, talk, read and part, while anything may fail */

#include <fcntl.h>

#include "fault.h"

#define ADDR       "192.0.2.1"
#define PORT       "7204"
#define SIZE       64
#define ALWAYS     RPMA_F_COMPLETION_ALWAYS
#define ON_ERROR   RPMA_F_COMPLETION_ON_ERROR
#define PERSISTENT RPMA_FLUSH_TYPE_PERSISTENT
#define VISIBILITY RPMA_FLUSH_TYPE_VISIBILITY

struct end {
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_mr_local *mr;
	uint8_t bytes[SIZE];
};

struct world {
	bool is_shared; /* one completion channel for both queues */
	bool is_rejected; /* the server does not want the client */
	bool has_srq; /* one shared receive queue for both ends */
	uint32_t srq_rcq_size; /* 0: its receives complete with the connections */
	uint32_t rcq_size; /* of a connection; 0: its receives complete with all the rest */
	struct ibv_context *ibv_ctx;
	struct rpma_peer *peer;
	struct rpma_conn_cfg *cfg;
	struct rpma_srq_cfg *srq_cfg;
	struct rpma_srq *srq;
	struct rpma_ep *ep;
	struct rpma_mr_remote *remote;
	struct end client;
	struct end server;
};

/* what fails to come must not be waited for */
static void never_wait(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static bool make_srq(struct world *w)
{
	struct rpma_cq *rcq;
	int fd;

	if (!w->has_srq)
		return true;
	if (!fault_made_or_null(rpma_srq_cfg_new(&w->srq_cfg), &w->srq_cfg) ||
		!fault_ok(rpma_srq_cfg_set_rcq_size(w->srq_cfg, w->srq_rcq_size)) ||
		!fault_made_or_null(rpma_srq_new(w->peer, w->srq_cfg, &w->srq), &w->srq) ||
		!fault_ok(rpma_conn_cfg_set_srq(w->cfg, w->srq)))
		return false;
	assert_int_equal(rpma_srq_get_rcq(w->srq, &rcq), 0);
	if (rcq) {
		assert_int_equal(rpma_cq_get_fd(rcq, &fd), 0);
		never_wait(fd);
	}
	return true;
}

static bool make_config(struct world *w)
{
	return fault_made_or_null(rpma_conn_cfg_new(&w->cfg), &w->cfg) &&
	       fault_ok(rpma_conn_cfg_set_rcq_size(w->cfg, w->rcq_size)) &&
	       fault_ok(rpma_conn_cfg_set_compl_channel(w->cfg, w->is_shared)) && make_srq(w);
}

static bool prepare(struct world *w)
{
	const int usage = RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_RECV |
			  RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
			  RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
	int fd;

	if (!fault_made(rpma_utils_get_ibv_context(ADDR, RPMA_UTIL_IBV_CONTEXT_LOCAL, &w->ibv_ctx),
		    &w->ibv_ctx) ||
		!fault_made(rpma_peer_new(w->ibv_ctx, &w->peer), &w->peer) || !make_config(w) ||
		!fault_made(rpma_mr_reg(w->peer, w->client.bytes, SIZE, usage, &w->client.mr),
			&w->client.mr) ||
		!fault_made(rpma_mr_reg(w->peer, w->server.bytes, SIZE, usage, &w->server.mr),
			&w->server.mr) ||
		!fault_made(rpma_ep_listen(w->peer, ADDR, PORT, &w->ep), &w->ep))
		return false;
	assert_int_equal(rpma_ep_get_fd(w->ep, &fd), 0);
	never_wait(fd);
	return true;
}

/* the request is used up, whatever the result */
static bool start(struct end *end)
{
	struct rpma_cq *cq, *rcq;
	int fd;
	const bool is_started =
		fault_made(rpma_conn_req_connect(&end->req, NULL, &end->conn), &end->conn);

	assert_null(end->req);
	if (!is_started)
		return false;
	assert_int_equal(rpma_conn_get_event_fd(end->conn, &fd), 0);
	never_wait(fd);
	assert_int_equal(rpma_conn_get_cq(end->conn, &cq), 0);
	assert_int_equal(rpma_cq_get_fd(cq, &fd), 0);
	never_wait(fd);
	assert_int_equal(rpma_conn_get_rcq(end->conn, &rcq), 0);
	if (rcq) {
		assert_int_equal(rpma_cq_get_fd(rcq, &fd), 0);
		never_wait(fd);
	}
	return true;
}

static bool comes(struct end *end, enum rpma_conn_event expected)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	const int ret = rpma_conn_next_event(end->conn, &event);

	assert_int_equal(event, ret ? RPMA_CONN_UNDEFINED : expected);
	return fault_ok(ret);
}

/* before there is a connection, and after */
static bool post_early(struct world *w)
{
	return fault_ok(w->has_srq ? rpma_srq_recv(w->srq, w->server.mr, 0, SIZE, w)
				   : rpma_conn_req_recv(w->server.req, w->server.mr, 0, SIZE, w));
}

static bool post_empty(struct world *w)
{
	return fault_ok(w->has_srq ? rpma_srq_recv(w->srq, NULL, 0, 0, w)
				   : rpma_recv(w->client.conn, NULL, 0, 0, w));
}

static bool connect_both(struct world *w)
{
	if (!fault_made(rpma_conn_req_new(w->peer, ADDR, PORT, w->cfg, &w->client.req),
		    &w->client.req) ||
		!start(&w->client) ||
		!fault_made_or_null(
			rpma_ep_next_conn_req(w->ep, w->cfg, &w->server.req), &w->server.req))
		return false;
	if (w->is_rejected) {
		fault_gone(rpma_conn_req_delete(&w->server.req), &w->server.req);
		return comes(&w->client, RPMA_CONN_REJECTED);
	}
	return post_early(w) && start(&w->server) && comes(&w->server, RPMA_CONN_ESTABLISHED) &&
	       comes(&w->client, RPMA_CONN_ESTABLISHED);
}

static struct rpma_cq *cq_of(struct world *w, struct end *end, bool is_recv)
{
	struct rpma_cq *cq = NULL;

	if (is_recv && w->has_srq)
		assert_int_equal(rpma_srq_get_rcq(w->srq, &cq), 0);
	if (is_recv && !cq)
		assert_int_equal(rpma_conn_get_rcq(end->conn, &cq), 0);
	if (!cq)
		assert_int_equal(rpma_conn_get_cq(end->conn, &cq), 0);
	return cq;
}

static bool completes(struct world *w, struct end *end, bool is_recv)
{
	struct rpma_cq *cq = FAULT_UNTOUCHED;
	struct ibv_wc wc;

	if (w->is_shared) {
		if (!fault_made_or_null(rpma_conn_wait(end->conn, 0, &cq, NULL), &cq))
			return false;
	} else {
		cq = cq_of(w, end, is_recv);
		if (!fault_ok(rpma_cq_wait(cq)))
			return false;
	}
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	return true;
}

static bool talk(struct world *w)
{
	uint8_t desc[32];
	size_t size;

	if (!fault_ok(rpma_send(w->client.conn, w->client.mr, 0, 8, ALWAYS, w)) ||
		!completes(w, &w->client, false) || !completes(w, &w->server, true))
		return false;
	assert_int_equal(rpma_mr_get_descriptor_size(w->client.mr, &size), 0);
	assert_int_equal(rpma_mr_get_descriptor(w->client.mr, desc), 0);
	return fault_made(rpma_mr_remote_from_descriptor(desc, size, &w->remote), &w->remote) &&
	       fault_ok(rpma_read(w->server.conn, w->server.mr, 8, w->remote, 8, 8, ALWAYS, w)) &&
	       completes(w, &w->server, false) &&
	       fault_ok(rpma_send_with_imm(w->server.conn, NULL, 0, 0, 1, 7, w)) && post_empty(w) &&
	       completes(w, &w->client, true);
}

/* only the last one tells */
static bool change(struct world *w)
{
	struct rpma_conn *const conn = w->server.conn;
	const struct rpma_mr_local *const mr = w->server.mr;
	struct rpma_peer_cfg *pcfg = FAULT_UNTOUCHED;
	/* a queue pair that was refused at first does without inline data, so without this one */
	const bool is_atomic = double_calls("rdma_create_qp_ex") == 2;
	bool is_declared;

	if (!fault_made(rpma_peer_cfg_new(&pcfg), &pcfg))
		return false;
	is_declared = fault_ok(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true)) &&
		      fault_ok(rpma_conn_apply_remote_peer_cfg(conn, pcfg));
	fault_gone(rpma_peer_cfg_delete(&pcfg), &pcfg);
	return is_declared && fault_ok(rpma_write(conn, w->remote, 16, mr, 16, 8, ON_ERROR, w)) &&
	       fault_ok(rpma_flush(conn, w->remote, 16, 8, PERSISTENT, ON_ERROR, w)) &&
	       (!is_atomic ||
		       fault_ok(rpma_atomic_write(conn, w->remote, 24, "8 bytes", ON_ERROR, w))) &&
	       fault_ok(rpma_flush(conn, w->remote, 24, 8, VISIBILITY, ALWAYS, w)) &&
	       completes(w, &w->server, false) && post_empty(w) &&
	       fault_ok(rpma_write_with_imm(conn, w->remote, 32, mr, 32, 8, ON_ERROR, 7, w)) &&
	       completes(w, &w->client, true);
}

static void part(struct world *w)
{
	if (fault_ok(rpma_conn_disconnect(w->client.conn)) && comes(&w->server, RPMA_CONN_CLOSED))
		(void)comes(&w->client, RPMA_CONN_CLOSED);
}

static void delete_end(struct end *end)
{
	fault_forget_untouched(&end->req);
	fault_forget_untouched(&end->conn);
	fault_gone(rpma_conn_req_delete(&end->req), &end->req);
	fault_gone(rpma_conn_delete(&end->conn), &end->conn);
}

/* no receive may use it any more */
static void delete_memory(struct end *end)
{
	fault_forget_untouched(&end->mr);
	fault_gone(rpma_mr_dereg(&end->mr), &end->mr);
}

static void delete_all(struct world *w)
{
	fault_forget_untouched(&w->remote);
	fault_forget_untouched(&w->ep);
	fault_forget_untouched(&w->cfg);
	fault_forget_untouched(&w->srq_cfg);
	fault_forget_untouched(&w->srq);
	fault_forget_untouched(&w->peer);
	fault_gone(rpma_mr_remote_delete(&w->remote), &w->remote);
	fault_gone(rpma_ep_shutdown(&w->ep), &w->ep);
	delete_end(&w->client);
	delete_end(&w->server);
	fault_gone(rpma_srq_delete(&w->srq), &w->srq);
	delete_memory(&w->client);
	delete_memory(&w->server);
	fault_gone(rpma_srq_cfg_delete(&w->srq_cfg), &w->srq_cfg);
	fault_gone(rpma_conn_cfg_delete(&w->cfg), &w->cfg);
	fault_gone(rpma_peer_delete(&w->peer), &w->peer);
}

static void run(void *arg)
{
	struct world *w = arg;
	const struct end untouched = {
		.req = FAULT_UNTOUCHED, .conn = FAULT_UNTOUCHED, .mr = FAULT_UNTOUCHED
	};

	w->ibv_ctx = FAULT_UNTOUCHED;
	w->peer = FAULT_UNTOUCHED;
	w->cfg = FAULT_UNTOUCHED;
	w->srq_cfg = FAULT_UNTOUCHED;
	w->srq = FAULT_UNTOUCHED;
	w->ep = FAULT_UNTOUCHED;
	w->remote = FAULT_UNTOUCHED;
	w->client = w->server = untouched;
	double_auto(true);
	if (prepare(w) && connect_both(w) && !w->is_rejected && talk(w) && change(w))
		part(w);
	delete_all(w);
}

/* finding the device drops an id in vain; a queue pair is tried again without inline data */
static void expect(struct world *w)
{
	const struct fault_plan plan = {
		.run = run,
		.arg = w,
		.absorbed = 1,
		.absorbed_einval = 2,
	};

	fault_each(&plan);
}

static void both_ends__own_channels(void **state)
{
	struct world w = { .rcq_size = 7 };

	(void)state;
	expect(&w);
}

static void both_ends__shared_channel(void **state)
{
	struct world w = { .is_shared = true, .rcq_size = 7 };

	(void)state;
	expect(&w);
}

static void both_ends__rejected(void **state)
{
	struct world w = { .is_rejected = true, .rcq_size = 7 };

	(void)state;
	expect(&w);
}

static void both_ends__srq_own_rcq(void **state)
{
	struct world w = { .has_srq = true, .srq_rcq_size = 7 };

	(void)state;
	expect(&w);
}

static void both_ends__srq_conn_rcq(void **state)
{
	struct world w = { .has_srq = true, .rcq_size = 7, .is_shared = true };

	(void)state;
	expect(&w);
}

static void both_ends__srq_main_cq(void **state)
{
	struct world w = { .has_srq = true };

	(void)state;
	expect(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends__own_channels),
		cmocka_unit_test(both_ends__rejected),
		cmocka_unit_test(both_ends__shared_channel),
		cmocka_unit_test(both_ends__srq_conn_rcq),
		cmocka_unit_test(both_ends__srq_main_cq),
		cmocka_unit_test(both_ends__srq_own_rcq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
