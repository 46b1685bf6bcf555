/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* data.c - operations: on a connection for each thread, on one for all, on one receive queue */

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>

#include "pair.h"
#include "threads.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS

#define ROUNDS 8
#define LEN    256

/* bytes that tell a thread and a round from all others */
static void fill(char *bytes, unsigned thread, unsigned round)
{
	memset(bytes, (int)(1 + thread * ROUNDS + round), LEN);
}

static bool is_filled(const char *bytes, unsigned thread, unsigned round)
{
	char expected[LEN];

	fill(expected, thread, round);
	return memcmp(bytes, expected, LEN) == 0;
}

/* a connection for each thread */

struct own {
	unsigned thread;
	struct pair pair;
	struct region here; /* the active end's: out to send from, in to receive in */
	struct region there; /* the passive end's */
};

static void expect_wc(
	struct rpma_conn *conn, bool is_recv, const void *op_context, struct ibv_wc *wc)
{
	uint32_t qp_num;

	pair_next_wc(conn, is_recv, wc);
	CHECK(wc->wr_id == (uintptr_t)op_context);
	CHECK_OK(rpma_conn_get_qp_num(conn, &qp_num));
	CHECK_INT(wc->qp_num, qp_num);
}

static void read_write(const struct own *own, unsigned round)
{
	struct rpma_conn *conn = own->pair.active;
	struct ibv_wc wc;

	fill(own->there.bytes, own->thread, round);
	CHECK_OK(rpma_read(conn, own->here.local, 0, own->there.remote, 0, LEN, ALWAYS, &wc));
	expect_wc(conn, false, &wc, &wc);
	CHECK_INT(wc.opcode, IBV_WC_RDMA_READ);
	CHECK(is_filled(own->here.bytes, own->thread, round));

	/* what was read goes back to another place; its completion is the flush's */
	CHECK_OK(rpma_write(conn, own->there.remote, LEN, own->here.local, 0, LEN,
		RPMA_F_COMPLETION_ON_ERROR, NULL));
	CHECK_OK(rpma_flush(
		conn, own->there.remote, LEN, LEN, RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS, own));
	expect_wc(conn, false, own, &wc);
	CHECK(is_filled(own->there.bytes + LEN, own->thread, round));
}

static void write_word(const struct own *own, unsigned round)
{
	struct rpma_conn *conn = own->pair.active;
	const uint64_t word = UINT64_C(0x0102030405060708) * (own->thread + round + 1);
	char bytes[RPMA_ATOMIC_WRITE_ALIGNMENT];
	struct ibv_wc wc;

	memcpy(bytes, &word, sizeof(bytes));
	CHECK_OK(rpma_atomic_write(conn, own->there.remote, 2 * LEN, bytes, ALWAYS, bytes));
	expect_wc(conn, false, bytes, &wc);
	/* a completion does not say that the peer has it; what was read after it does */
	CHECK_OK(rpma_read(conn, own->here.local, LEN, own->there.remote, 2 * LEN, sizeof(bytes),
		ALWAYS, NULL));
	expect_wc(conn, false, NULL, &wc);
	CHECK(memcmp(own->here.bytes + LEN, bytes, sizeof(bytes)) == 0);
}

static void expect_message(const struct own *own, const void *op_context, enum ibv_wc_opcode opcode,
	const uint32_t *imm)
{
	struct rpma_conn *conn = own->pair.passive;
	struct ibv_wc wc;

	expect_wc(conn, true, op_context, &wc);
	CHECK_INT(wc.opcode, opcode);
	CHECK_INT(!!(wc.wc_flags & IBV_WC_WITH_IMM), imm != NULL);
	if (imm)
		CHECK_INT(ntohl(wc.imm_data), *imm);
}

static void messages(const struct own *own, unsigned round)
{
	struct rpma_conn *conn = own->pair.active;
	const uint32_t imm = 0x01020304 * (own->thread + round + 1);
	struct ibv_wc wc;

	fill(own->here.bytes, own->thread, round);
	for (unsigned i = 0; i < 3; i++)
		CHECK_OK(rpma_recv(own->pair.passive, own->there.local, (3 + i) * LEN, LEN,
			own->there.bytes + i));

	CHECK_OK(rpma_send(conn, own->here.local, 0, LEN, ALWAYS, &imm));
	expect_wc(conn, false, &imm, &wc);
	CHECK_INT(wc.opcode, IBV_WC_SEND);
	expect_message(own, own->there.bytes, IBV_WC_RECV, NULL);
	CHECK(is_filled(own->there.bytes + 3 * LEN, own->thread, round));

	CHECK_OK(rpma_send_with_imm(conn, own->here.local, 0, LEN, ALWAYS, imm, &wc));
	expect_wc(conn, false, &wc, &wc);
	CHECK_INT(wc.opcode, IBV_WC_SEND);
	expect_message(own, own->there.bytes + 1, IBV_WC_RECV, &imm);
	CHECK(is_filled(own->there.bytes + 4 * LEN, own->thread, round));

	CHECK_OK(rpma_write_with_imm(
		conn, own->there.remote, 6 * LEN, own->here.local, 0, LEN, ALWAYS, imm, own));
	expect_wc(conn, false, own, &wc);
	CHECK_INT(wc.opcode, IBV_WC_RDMA_WRITE);
	expect_message(own, own->there.bytes + 2, IBV_WC_RECV_RDMA_WITH_IMM, &imm);
	CHECK(is_filled(own->there.bytes + 6 * LEN, own->thread, round));
}

/* from the endpoint to the end */
static void whole_life(struct rpma_peer *peer, unsigned thread, const struct rpma_conn_cfg *cfg)
{
	const struct threads_port port = threads_port(thread);
	struct own own = { .thread = thread };
	struct rpma_ep *ep;

	CHECK_OK(rpma_ep_listen(peer, threads_world.addr, port.text, &ep));
	region_new(&own.here, peer, 2 * LEN);
	region_new(&own.there, peer, 7 * LEN);
	pair_connect(&own.pair, peer, ep, threads_world.addr, port.text, cfg, cfg);
	CHECK_OK(rpma_ep_shutdown(&ep));

	for (unsigned round = 0; round < ROUNDS; round++) {
		read_write(&own, round);
		write_word(&own, round);
		messages(&own, round);
	}

	pair_part(&own.pair);
	region_delete(&own.here);
	region_delete(&own.there);
}

/* every other thread waits with rpma_conn_wait */
static void own_connection(unsigned thread)
{
	struct rpma_conn_cfg *cfg;

	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_compl_channel(cfg, thread & 1));
	CHECK_OK(rpma_conn_cfg_set_rcq_size(cfg, thread & 2 ? 3 : 0));
	whole_life(threads_world.peer, thread, cfg);
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
}

/* nothing in common but the device, as in a program that does a job in each thread */
static void own_peer(unsigned thread)
{
	struct ibv_context *ibv_ctx;
	struct rpma_peer *peer;

	CHECK_OK(rpma_utils_get_ibv_context(
		threads_world.addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, &ibv_ctx));
	CHECK_OK(rpma_peer_new(ibv_ctx, &peer));
	whole_life(peer, thread, NULL);
	CHECK_OK(rpma_peer_delete(&peer));
}

/*
 * Many threads, one completion queue: whoever polls marks what it finds as done. Nobody sleeps,
 * since another thread may have taken the completion that one would wait for.
 */

struct token {
	enum ibv_wc_opcode opcode; /* expected */
	bool is_done;
};

static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;

static void mark_done(const struct ibv_wc *wc)
{
	struct token *token = (void *)(uintptr_t)wc->wr_id;

	CHECK_INT(wc->status, IBV_WC_SUCCESS);
	pthread_mutex_lock(&done_lock);
	CHECK(!token->is_done);
	CHECK_INT(wc->opcode, token->opcode);
	token->is_done = true;
	pthread_mutex_unlock(&done_lock);
}

static bool is_done(const struct token *token)
{
	bool done;

	pthread_mutex_lock(&done_lock);
	done = token->is_done;
	pthread_mutex_unlock(&done_lock);
	return done;
}

static void prepare(struct token *token, enum ibv_wc_opcode opcode)
{
	pthread_mutex_lock(&done_lock);
	token->opcode = opcode;
	token->is_done = false;
	pthread_mutex_unlock(&done_lock);
}

/* not blocking: fetches a notification, or none; a NULL conn's channels are not shared */
static void look_for_notification(struct rpma_conn *conn, struct rpma_cq *cq, unsigned look)
{
	struct rpma_cq *notified;
	bool is_rcq;
	int ret;

	if (conn)
		ret = rpma_conn_wait(
			conn, look & 1 ? RPMA_CONN_WAIT_ARM_LATER : 0, &notified, &is_rcq);
	else
		ret = rpma_cq_wait(cq);
	CHECK(ret == 0 || ret == RPMA_E_NO_COMPLETION);
}

static void poll_until_done(struct rpma_conn *conn, struct rpma_cq *cq, const struct token *token)
{
	struct ibv_wc wc[2];
	int count, ret;

	for (unsigned look = 0; !is_done(token); look++) {
		ret = rpma_cq_get_wc(cq, 2, wc, &count);
		if (ret == RPMA_E_NO_COMPLETION) {
			look_for_notification(conn, cq, look);
			continue;
		}
		CHECK_OK(ret);
		for (int i = 0; i < count; i++)
			mark_done(&wc[i]);
	}
}

/* each thread's message of each round comes once, in whoever's receive */

static bool has_arrived[THREADS * ROUNDS];

static void arrived(const char *bytes)
{
	const unsigned number = (unsigned char)bytes[0] - 1u;

	CHECK(number < THREADS * ROUNDS);
	CHECK(is_filled(bytes, number / ROUNDS, number % ROUNDS));
	pthread_mutex_lock(&done_lock);
	CHECK(!has_arrived[number]);
	has_arrived[number] = true;
	pthread_mutex_unlock(&done_lock);
}

static void all_arrived(void)
{
	for (unsigned i = 0; i < THREADS * ROUNDS; i++)
		CHECK(has_arrived[i]);
	memset(has_arrived, 0, sizeof(has_arrived));
}

static void unblock(const struct rpma_cq *cq)
{
	int fd;

	CHECK_OK(rpma_cq_get_fd(cq, &fd));
	CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

/* one connection for all threads */

static struct {
	struct rpma_ep *ep;
	struct pair pair;
	struct rpma_cq *cq, *rcq;
	struct region here, there; /* a piece for each thread */
	bool is_channel_shared;
} one;

static void one_new(bool is_channel_shared)
{
	const struct threads_port port = threads_port(THREADS);
	struct rpma_conn_cfg *cfg;

	one.is_channel_shared = is_channel_shared;
	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_sq_size(cfg, 2 * THREADS));
	CHECK_OK(rpma_conn_cfg_set_rq_size(cfg, THREADS));
	CHECK_OK(rpma_conn_cfg_set_cq_size(cfg, 2 * THREADS));
	CHECK_OK(rpma_conn_cfg_set_rcq_size(cfg, THREADS));
	CHECK_OK(rpma_conn_cfg_set_compl_channel(cfg, is_channel_shared));
	CHECK_OK(rpma_ep_listen(threads_world.peer, threads_world.addr, port.text, &one.ep));
	pair_connect(
		&one.pair, threads_world.peer, one.ep, threads_world.addr, port.text, cfg, cfg);
	CHECK_OK(rpma_conn_get_cq(one.pair.active, &one.cq));
	CHECK_OK(rpma_conn_get_rcq(one.pair.passive, &one.rcq));
	unblock(one.cq);
	unblock(one.rcq);
	region_new(&one.here, threads_world.peer, THREADS * LEN);
	region_new(&one.there, threads_world.peer, 2 * THREADS * LEN);
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
}

static void one_set_up(void)
{
	one_new(false);
}

static void one_set_up_channel(void)
{
	one_new(true);
}

static void one_await_sent(const struct token *token)
{
	poll_until_done(one.is_channel_shared ? one.pair.active : NULL, one.cq, token);
}

static void one_await_received(const struct token *token)
{
	poll_until_done(one.is_channel_shared ? one.pair.passive : NULL, one.rcq, token);
}

static void one_connection(unsigned thread)
{
	const size_t at = thread * LEN, at_recv = (THREADS + thread) * LEN;
	struct rpma_conn *conn = one.pair.active;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct token token, received;

		prepare(&token, IBV_WC_RDMA_WRITE);
		fill(one.here.bytes + at, thread, round);
		CHECK_OK(rpma_write(
			conn, one.there.remote, at, one.here.local, at, LEN, ALWAYS, &token));
		one_await_sent(&token);
		memset(one.here.bytes + at, 0, LEN);
		prepare(&token, IBV_WC_RDMA_READ);
		CHECK_OK(rpma_read(
			conn, one.here.local, at, one.there.remote, at, LEN, ALWAYS, &token));
		one_await_sent(&token);
		CHECK(is_filled(one.here.bytes + at, thread, round));

		/* a message of any thread comes in the receive of any */
		prepare(&received, IBV_WC_RECV);
		CHECK_OK(rpma_recv(one.pair.passive, one.there.local, at_recv, LEN, &received));
		prepare(&token, IBV_WC_SEND);
		CHECK_OK(rpma_send(conn, one.here.local, at, LEN, ALWAYS, &token));
		one_await_sent(&token);
		one_await_received(&received);
		arrived(one.there.bytes + at_recv);
	}
}

static void one_tear_down(void)
{
	all_arrived();
	pair_part(&one.pair);
	CHECK_OK(rpma_ep_shutdown(&one.ep));
	region_delete(&one.here);
	region_delete(&one.there);
}

/* one receive queue for the connections of all threads */

static struct {
	struct rpma_srq *srq;
	struct rpma_cq *rcq;
	struct rpma_conn_cfg *cfg;
	struct region there;
} shared;

static void srq_set_up(void)
{
	struct rpma_srq_cfg *cfg;
	struct rpma_srq *srq;

	CHECK_OK(rpma_srq_cfg_new(&cfg));
	CHECK_OK(rpma_srq_cfg_set_rq_size(cfg, THREADS));
	CHECK_OK(rpma_srq_cfg_set_rcq_size(cfg, THREADS));
	CHECK_OK(rpma_srq_new(threads_world.peer, cfg, &shared.srq));
	CHECK_OK(rpma_srq_cfg_delete(&cfg));
	CHECK_OK(rpma_srq_get_rcq(shared.srq, &shared.rcq));
	unblock(shared.rcq);
	CHECK_OK(rpma_conn_cfg_new(&shared.cfg));
	CHECK_OK(rpma_conn_cfg_set_srq(shared.cfg, shared.srq));
	CHECK_OK(rpma_conn_cfg_get_srq(shared.cfg, &srq));
	CHECK(srq == shared.srq);
	region_new(&shared.there, threads_world.peer, THREADS * LEN);
}

static void one_srq(unsigned thread)
{
	const struct threads_port port = threads_port(thread);
	const size_t at = thread * LEN;
	struct region here;
	struct rpma_ep *ep;
	struct pair pair;
	struct ibv_wc wc;

	CHECK_OK(rpma_ep_listen(threads_world.peer, threads_world.addr, port.text, &ep));
	pair_connect(
		&pair, threads_world.peer, ep, threads_world.addr, port.text, NULL, shared.cfg);
	CHECK_OK(rpma_ep_shutdown(&ep));
	region_new(&here, threads_world.peer, LEN);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct token received;

		prepare(&received, IBV_WC_RECV);
		CHECK_OK(rpma_srq_recv(shared.srq, shared.there.local, at, LEN, &received));
		fill(here.bytes, thread, round);
		CHECK_OK(rpma_send(pair.active, here.local, 0, LEN, ALWAYS, &here));
		expect_wc(pair.active, false, &here, &wc);
		poll_until_done(NULL, shared.rcq, &received);
		arrived(shared.there.bytes + at);
	}
	pair_part(&pair);
	region_delete(&here);
}

static void srq_tear_down(void)
{
	all_arrived();
	CHECK_OK(rpma_srq_delete(&shared.srq));
	CHECK_OK(rpma_conn_cfg_delete(&shared.cfg));
	region_delete(&shared.there);
}

const struct threads_case threads_data[] = {
	{ "own_connection", NULL, own_connection, NULL },
	{ "one_connection", one_set_up, one_connection, one_tear_down },
	{ "one_channel", one_set_up_channel, one_connection, one_tear_down },
	{ "one_srq", srq_set_up, one_srq, srq_tear_down },
	{ "own_peer", NULL, own_peer, NULL },
	{ NULL },
};
