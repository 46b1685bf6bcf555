/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * srq.c - several connections draw their receives from one shared receive queue
 *
 * Proven, for each place where receives can complete: every message is taken once and whole; the
 * completion's qp_num is that of the connection it came over; receives are nobody's before they are
 * taken; a connection that ends leaves them to the others; deleting gives everything back.
 *
 *   client: connections 0..2            server: one queue of three receives
 *   connect, "i am 0" ...        --->   accept each, learn which is which
 *   one message at a time        --->
 *                                <---   echo it, post the receive again
 *   messages of all at once      --->
 *                                <---   echoes
 *   0 disconnects                --->   learns of it, deletes it
 *   messages of the others       --->
 *                                <---   echoes
 */

#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "pair.h"

#define PORT    "7302"
#define CONNS   3
#define RECVS   CONNS /* all may have a message on the way, and none has to wait for a receive */
#define MESSAGE 256
#define ROUNDS  8 /* of each phase */

/* where receives complete */
static const struct arrangement {
	const char *name;
	uint32_t srq_rcq_size;
	uint32_t rcq_size;
	bool is_shared; /* one completion channel for both queues of a connection */
} arrangements[] = {
	{ "the queue's own completion queue", 20, 0, false },
	{ "the connection's receive completion queue", 0, 20, false },
	{ "the main completion queue", 0, 0, false },
	{ "the connection's, of a shared channel", 0, 20, true },
};

#define ARRANGEMENTS (sizeof(arrangements) / sizeof(arrangements[0]))

static const struct arrangement *arrangement;

/* in every phase each connection has so many messages; the first phase has them one by one */
enum phase { ONE_BY_ONE, AT_ONCE, WITHOUT_THE_FIRST, PHASES };

static int first_of(enum phase phase)
{
	return phase == WITHOUT_THE_FIRST ? 1 : 0;
}

/* both sides go through the connections in this order, another one each round */
static int turn(int first, int round, int k)
{
	return first + (round + k) % (CONNS - first);
}

static uint64_t seed_of(int conn, enum phase phase, int round)
{
	return (uint64_t)(conn + 1) << 32 | (uint64_t)phase << 16 | (uint64_t)round;
}

static struct rpma_mr_local *region_of(struct rpma_peer *peer, void *memory, size_t size)
{
	struct rpma_mr_local *mr;

	CHECK_OK(rpma_mr_reg(peer, memory, size, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV, &mr));
	return mr;
}

/* ---- the server ------------------------------------------------------------------------------ */

struct server_conn {
	struct rpma_conn *conn;
	uint32_t qp_num;
	int wait_flags; /* of the next rpma_conn_wait */
	bool is_sending; /* the echo before this one may not be completed yet */
};

struct server {
	struct rpma_peer *peer;
	struct rpma_srq *srq;
	struct rpma_mr_local *mr;
	char *memory; /* RECVS to receive in, CONNS to send from */
	struct server_conn conns[CONNS]; /* by the number that the client gives them */
	unsigned slots_seen[CONNS]; /* which receives its messages landed in, as bits */
};

static void post_recv(struct server *s, size_t slot)
{
	CHECK_OK(rpma_srq_recv(s->srq, s->mr, slot * MESSAGE, MESSAGE, (void *)slot));
}

static bool poll_either(const struct server_conn *c, struct ibv_wc *wc)
{
	struct rpma_cq *cqs[2];
	int ret;

	CHECK_OK(rpma_conn_get_rcq(c->conn, &cqs[0]));
	CHECK_OK(rpma_conn_get_cq(c->conn, &cqs[1]));
	for (int i = 0; i < 2; i++) {
		ret = rpma_cq_get_wc(cqs[i], 1, wc, NULL);
		if (ret == 0)
			return true;
		CHECK_INT(ret, RPMA_E_NO_COMPLETION);
	}
	return false;
}

/* the next completion of either queue of a shared channel; every other arming is put off */
static void next_of_channel(struct server_conn *c, struct ibv_wc *wc)
{
	struct rpma_cq *cq;

	while (!poll_either(c, wc)) {
		c->wait_flags ^= RPMA_CONN_WAIT_ARM_LATER;
		CHECK_OK(rpma_conn_wait(c->conn, c->wait_flags, &cq, NULL));
	}
	CHECK_INT(wc->status, IBV_WC_SUCCESS);
}

/* the next completion in which a receive of this connection may come; others as well */
static void next_completion(struct server *s, struct server_conn *c, struct ibv_wc *wc)
{
	struct rpma_cq *cq;

	if (arrangement->is_shared) {
		next_of_channel(c, wc);
		return;
	}
	CHECK_OK(rpma_srq_get_rcq(s->srq, &cq));
	CHECK((cq != NULL) == (arrangement->srq_rcq_size != 0));
	if (!cq)
		CHECK_OK(rpma_conn_get_rcq(c->conn, &cq));
	if (!cq)
		CHECK_OK(rpma_conn_get_cq(c->conn, &cq));
	live_any_completion(cq, wc);
}

/* until the room to send from is free: no receive can come meanwhile, the client waits for us */
static void finish_echo(struct server_conn *c)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;

	if (c->is_sending && arrangement->is_shared) {
		next_of_channel(c, &wc);
		CHECK_INT(wc.opcode, IBV_WC_SEND);
	} else if (c->is_sending) {
		CHECK_OK(rpma_conn_get_cq(c->conn, &cq));
		live_completion(cq, IBV_WC_SEND, &wc);
	}
	c->is_sending = false;
}

static int who_is(const struct server *s, uint32_t qp_num)
{
	int i;

	for (i = 0; i < CONNS && s->conns[i].qp_num != qp_num; i++)
		;
	CHECK(i < CONNS);
	return i;
}

/* one message is received and goes back to where it came from */
static void echo(struct server *s, enum phase phase, int round, int expected)
{
	struct server_conn *c = &s->conns[expected];
	struct ibv_wc wc;
	char *to;
	int who;

	next_completion(s, c, &wc);
	if (wc.opcode == IBV_WC_SEND) {
		CHECK(c->is_sending);
		c->is_sending = false;
		next_completion(s, c, &wc);
	}
	CHECK_INT(wc.opcode, IBV_WC_RECV);
	CHECK_INT(wc.byte_len, MESSAGE);
	CHECK(wc.wr_id < RECVS);
	who = who_is(s, wc.qp_num);
	/* only the queue's own completion queue has completions of all */
	CHECK(who == expected || (arrangement->srq_rcq_size && phase != ONE_BY_ONE));
	live_pattern_check(s->memory + wc.wr_id * MESSAGE, MESSAGE, seed_of(who, phase, round), 0);
	s->slots_seen[who] |= 1u << wc.wr_id;
	c = &s->conns[who];
	finish_echo(c);
	to = s->memory + (size_t)(RECVS + who) * MESSAGE;
	memcpy(to, s->memory + wc.wr_id * MESSAGE, MESSAGE);
	post_recv(s, wc.wr_id);
	CHECK_OK(rpma_send(
		c->conn, s->mr, (size_t)(to - s->memory), MESSAGE, RPMA_F_COMPLETION_ALWAYS, NULL));
	c->is_sending = true;
}

static void echo_all(struct server *s, enum phase phase)
{
	const int first = first_of(phase);

	for (int round = 0; round < ROUNDS; round++) {
		for (int k = 0; k < CONNS - first; k++)
			echo(s, phase, round, turn(first, round, k));
	}
}

static void accept_one(struct server *s, struct rpma_ep *ep, const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_private_data pd;
	struct rpma_conn_req *req;
	struct server_conn *c;
	struct rpma_cq *rcq;
	uint8_t number;

	CHECK_OK(rpma_ep_next_conn_req(ep, cfg, &req));
	CHECK_OK(rpma_conn_req_get_private_data(req, &pd));
	CHECK(pd.len >= 1);
	number = *(uint8_t *)pd.ptr;
	CHECK(number < CONNS);
	c = &s->conns[number];
	CHECK(c->conn == NULL);
	CHECK_OK(rpma_conn_req_connect(&req, NULL, &c->conn));
	pair_expect_event(c->conn, RPMA_CONN_ESTABLISHED);
	CHECK_OK(rpma_conn_get_qp_num(c->conn, &c->qp_num));
	CHECK_OK(rpma_conn_get_rcq(c->conn, &rcq));
	CHECK((rcq != NULL) == (arrangement->rcq_size != 0));
}

/* the acknowledgement of its last echo may not have come: the client had no need to wait */
static void end_one(struct server_conn *c)
{
	pair_expect_event(c->conn, RPMA_CONN_CLOSED);
	CHECK_OK(rpma_conn_disconnect(c->conn));
	CHECK_OK(rpma_conn_delete(&c->conn));
	c->qp_num = 0;
}

static struct rpma_srq *srq_of(struct rpma_peer *peer)
{
	struct rpma_srq_cfg *cfg;
	struct rpma_srq *srq;

	CHECK_OK(rpma_srq_cfg_new(&cfg));
	CHECK_OK(rpma_srq_cfg_set_rq_size(cfg, RECVS));
	CHECK_OK(rpma_srq_cfg_set_rcq_size(cfg, arrangement->srq_rcq_size));
	CHECK_OK(rpma_srq_new(peer, cfg, &srq));
	CHECK_OK(rpma_srq_cfg_delete(&cfg));
	return srq;
}

static struct rpma_conn_cfg *cfg_of(struct rpma_srq *srq)
{
	struct rpma_conn_cfg *cfg;

	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_srq(cfg, srq));
	CHECK_OK(rpma_conn_cfg_set_rcq_size(cfg, arrangement->rcq_size));
	CHECK_OK(rpma_conn_cfg_set_compl_channel(cfg, arrangement->is_shared));
	return cfg;
}

static int server(const char *addr)
{
	static struct server s;
	struct ibv_context *context;
	struct rpma_conn_cfg *cfg;
	struct rpma_ep *ep;
	unsigned seen_by_all = (1u << RECVS) - 1;

	CHECK_OK(rpma_utils_get_ibv_context(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, &context));
	CHECK_OK(rpma_peer_new(context, &s.peer));
	s.memory = live_memory((RECVS + CONNS) * MESSAGE);
	s.mr = region_of(s.peer, s.memory, (RECVS + CONNS) * MESSAGE);
	s.srq = srq_of(s.peer);
	for (size_t slot = 0; slot < RECVS; slot++) /* before there is a connection */
		post_recv(&s, slot);
	cfg = cfg_of(s.srq);
	CHECK_OK(rpma_ep_listen(s.peer, addr, PORT, &ep));
	live_ready();
	for (int i = 0; i < CONNS; i++)
		accept_one(&s, ep, cfg);
	CHECK_OK(rpma_ep_shutdown(&ep));
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
	echo_all(&s, ONE_BY_ONE);
	for (int i = 0; i < CONNS; i++) /* no receive was anybody's own */
		CHECK_INT(s.slots_seen[i], seen_by_all);
	echo_all(&s, AT_ONCE);
	end_one(&s.conns[0]);
	echo_all(&s, WITHOUT_THE_FIRST);
	for (int i = 1; i < CONNS; i++)
		end_one(&s.conns[i]);
	CHECK_OK(rpma_srq_delete(&s.srq)); /* with all its receives */
	CHECK_OK(rpma_mr_dereg(&s.mr));
	CHECK_OK(rpma_peer_delete(&s.peer));
	return 0;
}

/* ---- the client ------------------------------------------------------------------------------ */

struct client_conn {
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	struct rpma_cq *rcq;
};

struct client {
	struct rpma_peer *peer;
	struct rpma_mr_local *mr;
	char *memory; /* for each connection: MESSAGE to send from, MESSAGE for the echo */
	struct client_conn conns[CONNS];
};

static void connect_one(struct client *cl, const char *addr, uint8_t number)
{
	struct rpma_conn_private_data pd = { &number, 1 };
	struct client_conn *c = &cl->conns[number];
	struct rpma_conn_cfg *cfg;
	struct rpma_conn_req *req;

	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_rcq_size(cfg, 4));
	CHECK_OK(rpma_conn_req_new(cl->peer, addr, PORT, cfg, &req));
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
	CHECK_OK(rpma_conn_req_connect(&req, &pd, &c->conn));
	pair_expect_event(c->conn, RPMA_CONN_ESTABLISHED);
	CHECK_OK(rpma_conn_get_cq(c->conn, &c->cq));
	CHECK_OK(rpma_conn_get_rcq(c->conn, &c->rcq));
}

static void ask(struct client *cl, int number, enum phase phase, int round)
{
	const size_t offset = (size_t)number * 2 * MESSAGE;
	struct client_conn *c = &cl->conns[number];

	live_pattern(cl->memory + offset, MESSAGE, seed_of(number, phase, round));
	memset(cl->memory + offset + MESSAGE, 0, MESSAGE);
	CHECK_OK(rpma_recv(c->conn, cl->mr, offset + MESSAGE, MESSAGE, NULL));
	CHECK_OK(rpma_send(c->conn, cl->mr, offset, MESSAGE, RPMA_F_COMPLETION_ALWAYS, NULL));
}

static void answered(struct client *cl, int number, enum phase phase, int round)
{
	const size_t offset = (size_t)number * 2 * MESSAGE;
	struct client_conn *c = &cl->conns[number];
	struct ibv_wc wc;

	live_completion(c->cq, IBV_WC_SEND, &wc);
	live_completion(c->rcq, IBV_WC_RECV, &wc);
	CHECK_INT(wc.byte_len, MESSAGE);
	live_pattern_check(
		cl->memory + offset + MESSAGE, MESSAGE, seed_of(number, phase, round), 0);
}

static void ask_all(struct client *cl, enum phase phase)
{
	const int first = first_of(phase);
	int k;

	for (int round = 0; round < ROUNDS; round++) {
		for (k = 0; k < CONNS - first; k++) {
			ask(cl, turn(first, round, k), phase, round);
			if (phase == ONE_BY_ONE)
				answered(cl, turn(first, round, k), phase, round);
		}
		for (k = 0; k < CONNS - first && phase != ONE_BY_ONE; k++)
			answered(cl, turn(first, round, k), phase, round);
	}
}

static void disconnect_one(struct client_conn *c)
{
	CHECK_OK(rpma_conn_disconnect(c->conn));
	pair_expect_event(c->conn, RPMA_CONN_CLOSED);
	CHECK_OK(rpma_conn_delete(&c->conn));
}

static void client(const char *addr)
{
	static struct client cl;
	struct ibv_context *context;

	CHECK_OK(rpma_utils_get_ibv_context(addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, &context));
	CHECK_OK(rpma_peer_new(context, &cl.peer));
	cl.memory = live_memory(CONNS * 2 * MESSAGE);
	cl.mr = region_of(cl.peer, cl.memory, CONNS * 2 * MESSAGE);
	for (uint8_t i = 0; i < CONNS; i++)
		connect_one(&cl, addr, i);
	ask_all(&cl, ONE_BY_ONE);
	ask_all(&cl, AT_ONCE);
	disconnect_one(&cl.conns[0]);
	ask_all(&cl, WITHOUT_THE_FIRST);
	for (int i = 1; i < CONNS; i++)
		disconnect_one(&cl.conns[i]);
	CHECK_OK(rpma_mr_dereg(&cl.mr));
	CHECK_OK(rpma_peer_delete(&cl.peer));
}

/* each arrangement in processes of its own: what has used a device must not be forked */
int main(void)
{
	const char *addr = live_addr();

	for (size_t i = 0; i < ARRANGEMENTS; i++) {
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0);
		if (pid == 0) {
			arrangement = &arrangements[i];
			live_fork(server, addr);
			client(addr);
			live_join();
			printf("in %s: good\n", arrangement->name);
			return 0;
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_INT(status, 0);
	}
	return 0;
}
