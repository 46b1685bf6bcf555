/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* connect.c - endpoints, requests, and connections until they are established */

#include "pair.h"
#include "threads.h"

#define ROUNDS 5

static struct rpma_ep *shared_ep;

static void listen_shared(void)
{
	CHECK_OK(rpma_ep_listen(
		threads_world.peer, threads_world.addr, threads_port(THREADS).text, &shared_ep));
}

static void shutdown_shared(void)
{
	CHECK_OK(rpma_ep_shutdown(&shared_ep));
}

static void ep(unsigned thread)
{
	const struct threads_port port = threads_port(thread);
	struct rpma_ep *own;
	int first, fd;

	CHECK_OK(rpma_ep_get_fd(shared_ep, &first));
	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_ep_listen(threads_world.peer, threads_world.addr, port.text, &own));
		CHECK_OK(rpma_ep_get_fd(shared_ep, &fd));
		CHECK_INT(fd, first);
		CHECK_OK(rpma_ep_get_fd(own, &fd));
		CHECK(fd != first);
		CHECK_OK(rpma_ep_shutdown(&own));
	}
}

/* requests of our own; nobody listens */
static void conn_req(unsigned thread)
{
	const struct threads_port port = threads_port(thread);
	struct rpma_conn_private_data pdata;
	struct rpma_conn_cfg *cfg;
	struct rpma_conn_req *req;

	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_rcq_size(cfg, thread));
	CHECK_OK(rpma_conn_cfg_set_compl_channel(cfg, thread & 2));
	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_conn_req_new(threads_world.peer, threads_world.addr, port.text,
			i & 1 ? cfg : NULL, &req));
		CHECK_OK(rpma_conn_req_get_private_data(req, &pdata));
		CHECK(pdata.ptr == NULL);
		CHECK_OK(rpma_conn_req_delete(&req));
		CHECK(req == NULL);
	}
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
}

/* requests that come to the shared endpoint: each thread makes one, and fetches any one of them */

static bool fetched[THREADS]; /* by the number that came with it: each by one thread */

static void forget_fetched(void)
{
	memset(fetched, 0, sizeof(fetched));
	listen_shared();
}

static struct rpma_conn *request(unsigned thread)
{
	uint8_t number = (uint8_t)thread + 1;
	struct rpma_conn_private_data pdata = { &number, sizeof(number) };
	struct rpma_conn_req *req;
	struct rpma_conn *conn;

	CHECK_OK(rpma_conn_req_new(
		threads_world.peer, threads_world.addr, threads_port(THREADS).text, NULL, &req));
	CHECK_OK(rpma_conn_req_connect(&req, &pdata, &conn));
	CHECK(req == NULL);
	return conn;
}

static struct rpma_conn_req *fetch(uint8_t *number)
{
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req;

	CHECK_OK(rpma_ep_next_conn_req(shared_ep, NULL, &req));
	CHECK_OK(rpma_conn_req_get_private_data(req, &pdata));
	CHECK(pdata.ptr != NULL && pdata.len >= 1);
	*number = *(uint8_t *)pdata.ptr;
	CHECK(*number >= 1 && *number <= THREADS);
	CHECK(!fetched[*number - 1]);
	fetched[*number - 1] = true;
	return req;
}

static void all_fetched(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(fetched[i]);
	shutdown_shared();
}

static void reject(unsigned thread)
{
	struct rpma_conn *conn = request(thread);
	struct rpma_conn_req *req;
	uint8_t number;

	req = fetch(&number);
	CHECK_OK(rpma_conn_req_delete(&req));
	pair_expect_event(conn, RPMA_CONN_REJECTED);
	CHECK_OK(rpma_conn_delete(&conn));
}

/* the answer carries the number back, and the first message is there before the connection is */
static void accept(unsigned thread)
{
	struct rpma_conn *active = request(thread), *passive;
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req;
	struct region region;
	struct ibv_wc wc;
	uint8_t number;

	region_new(&region, threads_world.peer, 2);
	req = fetch(&number);
	CHECK_OK(rpma_conn_req_recv(req, region.local, 0, 1, &region));
	pdata.ptr = &number;
	pdata.len = sizeof(number);
	CHECK_OK(rpma_conn_req_connect(&req, &pdata, &passive));
	pair_expect_event(active, RPMA_CONN_ESTABLISHED);
	CHECK_OK(rpma_conn_get_private_data(active, &pdata));
	CHECK(pdata.ptr != NULL && pdata.len >= 1);
	CHECK_INT(*(uint8_t *)pdata.ptr, thread + 1);
	pair_expect_event(passive, RPMA_CONN_ESTABLISHED);
	CHECK_OK(rpma_conn_get_private_data(passive, &pdata));
	CHECK_INT(*(uint8_t *)pdata.ptr, number);

	/* the peer's end is any thread's */
	region.bytes[1] = (char)(thread + 1);
	CHECK_OK(rpma_send(active, region.local, 1, 1, RPMA_F_COMPLETION_ALWAYS, &wc));
	pair_next_wc(active, false, &wc);
	CHECK_INT(wc.opcode, IBV_WC_SEND);
	CHECK(wc.wr_id == (uintptr_t)&wc);
	pair_next_wc(passive, true, &wc);
	CHECK_INT(wc.opcode, IBV_WC_RECV);
	CHECK(wc.wr_id == (uintptr_t)&region);
	CHECK_INT(region.bytes[0], number);

	threads_meet(); /* nobody needs anybody any more */
	CHECK_OK(rpma_conn_disconnect(active));
	CHECK_OK(rpma_conn_disconnect(passive));
	pair_expect_event(active, RPMA_CONN_CLOSED);
	pair_expect_event(passive, RPMA_CONN_CLOSED);
	CHECK_OK(rpma_conn_delete(&active));
	CHECK_OK(rpma_conn_delete(&passive));
	region_delete(&region);
}

/* one connection that all threads look at */

static struct pair pair;
static struct rpma_conn_cfg *shared_channel;

static void pair_set_up(void)
{
	listen_shared();
	CHECK_OK(rpma_conn_cfg_new(&shared_channel));
	CHECK_OK(rpma_conn_cfg_set_rcq_size(shared_channel, 1));
	CHECK_OK(rpma_conn_cfg_set_compl_channel(shared_channel, true));
	pair_connect(&pair, threads_world.peer, shared_ep, threads_world.addr,
		threads_port(THREADS).text, shared_channel, NULL);
}

struct looks {
	struct rpma_conn_private_data pdata;
	uint32_t qp_num;
	struct rpma_cq *cq, *rcq;
	int event_fd, compl_fd, cq_fd;
};

static struct looks look(void)
{
	struct looks l;

	CHECK_OK(rpma_conn_get_event_fd(pair.active, &l.event_fd));
	CHECK_OK(rpma_conn_get_private_data(pair.active, &l.pdata));
	CHECK_OK(rpma_conn_get_qp_num(pair.active, &l.qp_num));
	CHECK_OK(rpma_conn_get_cq(pair.active, &l.cq));
	CHECK_OK(rpma_conn_get_rcq(pair.active, &l.rcq));
	CHECK(l.rcq != NULL);
	CHECK_OK(rpma_conn_get_compl_fd(pair.active, &l.compl_fd));
	CHECK_OK(rpma_cq_get_fd(l.cq, &l.cq_fd));
	CHECK_INT(l.cq_fd, l.compl_fd);
	return l;
}

static void conn_shared(unsigned thread)
{
	const struct looks first = look();
	struct rpma_peer_cfg *pcfg;
	struct looks again;
	int ret;

	CHECK_OK(rpma_peer_cfg_new(&pcfg));
	CHECK_OK(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, thread & 1));
	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_conn_apply_remote_peer_cfg(pair.active, pcfg));
		again = look();
		CHECK(again.event_fd == first.event_fd && again.compl_fd == first.compl_fd);
		CHECK(again.pdata.ptr == first.pdata.ptr && again.pdata.len == first.pdata.len);
		CHECK(strcmp(again.pdata.ptr, "hello") == 0);
		CHECK(again.qp_num == first.qp_num);
		CHECK(again.cq == first.cq && again.rcq == first.rcq);
	}
	CHECK_OK(rpma_peer_cfg_delete(&pcfg));

	/* the first call counts; a device may refuse the others */
	ret = rpma_conn_disconnect(thread & 1 ? pair.active : pair.passive);
	CHECK(ret == 0 || ret == RPMA_E_PROVIDER);
}

static void pair_tear_down(void)
{
	pair_expect_event(pair.active, RPMA_CONN_CLOSED);
	pair_expect_event(pair.passive, RPMA_CONN_CLOSED);
	pair_delete(&pair);
	CHECK_OK(rpma_conn_cfg_delete(&shared_channel));
	shutdown_shared();
}

const struct threads_case threads_connect[] = {
	{ "ep", listen_shared, ep, shutdown_shared },
	{ "conn_req", NULL, conn_req, NULL },
	{ "next_conn_req", forget_fetched, reject, all_fetched },
	{ "connect", forget_fetched, accept, all_fetched },
	{ "conn_shared", pair_set_up, conn_shared, pair_tear_down },
	{ NULL },
};
