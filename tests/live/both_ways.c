/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * both_ways.c - core and reactor talk to each other and to themselves, four pairs of processes
 *
 * Proven for each pair: private data arrives both ways; receives posted before connect and accept
 * catch the first message; descriptors of a region and of a peer configuration survive the way;
 * reads bring the right bytes, also of length zero and 17 at once; immediate data keeps its value;
 * the end of one side is the end of the other, once; everything closes and nothing is left.
 *
 *   client                         server
 *   recv (ANSWER)                  recv (HELLO), recv (empty with imm)
 *   connect, "client"       --->   accept, descriptors
 *   send HELLO              --->
 *   send empty, imm         --->
 *                           <---   send ANSWER
 *   read ... read           --->
 *   disconnect              --->   learns of it
 */

#include <arpa/inet.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "pair.h"

#define PORT       "7301"
#define REGION     (1 << 20)
#define MESSAGE    64
#define IMM        0x01020304u
#define READS      17
#define READ_BYTES 32768

static const char hello[] = "hello, server";
static const char answer[] = "hello, client";

/* what the server sends along: two descriptors behind each other */
#define MR_DESCRIPTOR   21
#define PCFG_DESCRIPTOR 1

static struct rpma_mr_local *region_of(struct rpma_peer *peer, void **memory_ptr)
{
	struct rpma_mr_local *mr;

	*memory_ptr = live_memory(REGION);
	CHECK_OK(rpma_mr_reg(peer, *memory_ptr, REGION,
		RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_SEND |
			RPMA_MR_USAGE_RECV,
		&mr));
	return mr;
}

static void descriptors_write(
	const struct rpma_mr_local *mr, uint8_t bytes[MR_DESCRIPTOR + PCFG_DESCRIPTOR])
{
	struct rpma_peer_cfg *pcfg;

	CHECK_OK(rpma_mr_get_descriptor(mr, bytes));
	CHECK_OK(rpma_peer_cfg_new(&pcfg));
	CHECK_OK(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true));
	CHECK_OK(rpma_peer_cfg_get_descriptor(pcfg, bytes + MR_DESCRIPTOR));
	CHECK_OK(rpma_peer_cfg_delete(&pcfg));
}

static struct rpma_mr_remote *descriptors_read(
	const struct rpma_conn_private_data *pd, struct rpma_peer_cfg **pcfg_ptr)
{
	struct rpma_mr_remote *remote;
	size_t size;

	CHECK(pd->ptr != NULL);
	CHECK(pd->len >= MR_DESCRIPTOR + PCFG_DESCRIPTOR);
	CHECK_OK(rpma_mr_remote_from_descriptor(pd->ptr, MR_DESCRIPTOR, &remote));
	CHECK_OK(rpma_mr_remote_get_size(remote, &size));
	CHECK_INT(size, REGION);
	CHECK_OK(rpma_peer_cfg_from_descriptor(
		(uint8_t *)pd->ptr + MR_DESCRIPTOR, PCFG_DESCRIPTOR, pcfg_ptr));
	return remote;
}

/* ---- the core -------------------------------------------------------------------------------- */

static int core_server(const char *addr)
{
	struct rpma_conn_private_data pd;
	uint8_t descriptors[MR_DESCRIPTOR + PCFG_DESCRIPTOR];
	struct ibv_context *context;
	struct rpma_mr_local *mr;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	struct rpma_cq *cq;
	struct ibv_wc wc;
	uint32_t qp_num;
	void *memory;

	CHECK_OK(rpma_utils_get_ibv_context(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, &context));
	CHECK_OK(rpma_peer_new(context, &peer));
	mr = region_of(peer, &memory);
	live_pattern(memory, REGION, 1);
	CHECK_OK(rpma_ep_listen(peer, addr, PORT, &ep));
	live_ready();
	CHECK_OK(rpma_ep_next_conn_req(ep, NULL, &req));
	CHECK_OK(rpma_conn_req_get_private_data(req, &pd));
	CHECK(pd.len >= sizeof("client"));
	CHECK(memcmp(pd.ptr, "client", sizeof("client")) == 0);
	CHECK_OK(rpma_conn_req_recv(req, mr, 0, MESSAGE, (void *)1));
	CHECK_OK(rpma_conn_req_recv(req, mr, MESSAGE, MESSAGE, (void *)2));
	descriptors_write(mr, descriptors);
	pd = (struct rpma_conn_private_data){ descriptors, sizeof(descriptors) };
	CHECK_OK(rpma_conn_req_connect(&req, &pd, &conn));
	pair_expect_event(conn, RPMA_CONN_ESTABLISHED);
	CHECK_OK(rpma_ep_shutdown(&ep));
	CHECK_OK(rpma_conn_get_cq(conn, &cq));
	CHECK_OK(rpma_conn_get_qp_num(conn, &qp_num));
	live_completion(cq, IBV_WC_RECV, &wc);
	CHECK_INT(wc.wr_id, 1);
	CHECK_INT(wc.qp_num, qp_num);
	CHECK_INT(wc.byte_len, sizeof(hello));
	CHECK(memcmp(memory, hello, sizeof(hello)) == 0);
	live_completion(cq, IBV_WC_RECV, &wc);
	CHECK_INT(wc.wr_id, 2);
	CHECK(wc.wc_flags & IBV_WC_WITH_IMM);
	CHECK_INT(ntohl(wc.imm_data), IMM);
	live_pattern(memory, REGION, 1); /* the message was in the way */
	memcpy((char *)memory + REGION - MESSAGE, answer, sizeof(answer));
	CHECK_OK(rpma_send(
		conn, mr, REGION - MESSAGE, sizeof(answer), RPMA_F_COMPLETION_ALWAYS, NULL));
	live_completion(cq, IBV_WC_SEND, &wc);
	pair_expect_event(conn, RPMA_CONN_CLOSED);
	CHECK_OK(rpma_conn_disconnect(conn));
	CHECK_OK(rpma_conn_delete(&conn));
	CHECK_OK(rpma_mr_dereg(&mr));
	CHECK_OK(rpma_peer_delete(&peer));
	return 0;
}

static void core_client(const char *addr)
{
	struct rpma_conn_private_data pd = { (void *)"client", sizeof("client") };
	struct rpma_mr_remote *remote;
	struct rpma_peer_cfg *pcfg;
	struct ibv_context *context;
	struct rpma_conn_cfg *cfg;
	struct rpma_mr_local *mr;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_peer *peer;
	struct rpma_cq *cq;
	struct ibv_wc wc;
	void *memory;

	CHECK_OK(rpma_utils_get_ibv_context(addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, &context));
	CHECK_OK(rpma_peer_new(context, &peer));
	mr = region_of(peer, &memory);
	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_sq_size(cfg, READS + 4));
	CHECK_OK(rpma_conn_cfg_set_cq_size(cfg, READS + 8));
	CHECK_OK(rpma_conn_req_new(peer, addr, PORT, cfg, &req));
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
	CHECK_OK(rpma_conn_req_recv(req, mr, REGION - MESSAGE, MESSAGE, (void *)3));
	CHECK_OK(rpma_conn_req_connect(&req, &pd, &conn));
	pair_expect_event(conn, RPMA_CONN_ESTABLISHED);
	CHECK_OK(rpma_conn_get_cq(conn, &cq));
	CHECK_OK(rpma_conn_get_private_data(conn, &pd));
	remote = descriptors_read(&pd, &pcfg);
	CHECK_OK(rpma_conn_apply_remote_peer_cfg(conn, pcfg));
	CHECK_OK(rpma_peer_cfg_delete(&pcfg));
	memcpy(memory, hello, sizeof(hello));
	CHECK_OK(rpma_send(conn, mr, 0, sizeof(hello), RPMA_F_COMPLETION_ALWAYS, NULL));
	live_completion(cq, IBV_WC_SEND, &wc);
	CHECK_OK(rpma_send_with_imm(conn, NULL, 0, 0, RPMA_F_COMPLETION_ON_ERROR, IMM, NULL));
	live_completion(cq, IBV_WC_RECV, &wc);
	CHECK_INT(wc.wr_id, 3);
	CHECK(strcmp((char *)memory + REGION - MESSAGE, answer) == 0);
	for (size_t i = 0; i < READS; i++)
		CHECK_OK(rpma_read(conn, mr, i * READ_BYTES, remote, i * READ_BYTES, READ_BYTES,
			RPMA_F_COMPLETION_ALWAYS, (void *)(100 + i)));
	for (size_t i = 0; i < READS; i++) {
		live_completion(cq, IBV_WC_RDMA_READ, &wc);
		CHECK_INT(wc.wr_id, 100 + i);
	}
	live_pattern_check(memory, READS * READ_BYTES, 1, 0);
	CHECK_OK(rpma_read(conn, NULL, 0, NULL, 0, 0, RPMA_F_COMPLETION_ALWAYS, NULL));
	live_completion(cq, IBV_WC_RDMA_READ, &wc);
	CHECK_OK(rpma_conn_disconnect(conn));
	pair_expect_event(conn, RPMA_CONN_CLOSED);
	CHECK_OK(rpma_conn_delete(&conn));
	CHECK_OK(rpma_mr_remote_delete(&remote));
	CHECK_OK(rpma_mr_dereg(&mr));
	CHECK_OK(rpma_peer_delete(&peer));
}

/* ---- the reactor ----------------------------------------------------------------------------- */

/* the server is written in callbacks, and its loop ends by itself */
struct server {
	struct live_node node;
	struct rpma_mr_local *mr;
	void *memory;
	rpma_uv_ep_t *ep;
	rpma_uv_conn_t *conn;
	rpma_uv_op_t accept, end, recv[2], send;
	int received, ended, closed;
};

static void server_closed(void *data)
{
	((struct server *)data)->closed++;
}

static void server_ended(rpma_uv_future_t *f, int status)
{
	struct server *s = f->data;

	CHECK_INT(status, UV_ECONNRESET);
	s->ended++;
	rpma_uv_conn_close(s->conn, server_closed, s); /* in a callback of its own */
}

static void server_answered(rpma_uv_future_t *f, int status)
{
	CHECK_OK(status);
	CHECK_INT(f->result, sizeof(answer));
}

static void server_received(rpma_uv_future_t *f, int status)
{
	struct server *s = f->data;
	rpma_uv_recv_info_t info;

	CHECK_OK(status);
	CHECK_OK(rpma_uv_recv_info(f, &info));
	CHECK(info.conn == s->conn);
	if (s->received++ == 0) {
		CHECK(f == &s->recv[0].future);
		CHECK_INT(info.len, sizeof(hello));
		CHECK(memcmp(s->memory, hello, sizeof(hello)) == 0);
		return;
	}
	CHECK_INT(info.len, 0);
	CHECK(info.has_imm);
	CHECK_INT(info.imm, IMM);
	live_pattern(s->memory, REGION, 1); /* the message was in the way */
	memcpy((char *)s->memory + REGION - MESSAGE, answer, sizeof(answer));
	rpma_uv_then(rpma_uv_send(s->conn, &s->send, (rpma_uv_local_t){ s->mr, REGION - MESSAGE },
			     sizeof(answer), 0),
		server_answered, s);
}

static void server_accepted(rpma_uv_future_t *f, int status)
{
	struct server *s = f->data;

	CHECK_OK(status);
	CHECK(strncmp(rpma_uv_conn_remote_addr(s->conn), live_addr(), strlen(live_addr())) == 0);
	rpma_uv_ep_close(s->ep, server_closed, s); /* an accepted connection lives on */
}

static void server_requested(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	struct server *s = data;
	uint8_t descriptors[MR_DESCRIPTOR + PCFG_DESCRIPTOR];
	struct rpma_conn_private_data pd;

	CHECK(ep == s->ep);
	CHECK_OK(rpma_uv_conn_req_private_data(req, &pd));
	CHECK(pd.len >= sizeof("client"));
	CHECK(memcmp(pd.ptr, "client", sizeof("client")) == 0);
	CHECK_OK(rpma_uv_conn_new(&s->node.reactor, s->node.peer, NULL, &s->conn));
	for (int i = 0; i < 2; i++)
		rpma_uv_then(rpma_uv_recv(s->conn, &s->recv[i],
				     (rpma_uv_local_t){ s->mr, (size_t)i * MESSAGE }, MESSAGE),
			server_received, s);
	rpma_uv_then(rpma_uv_conn_end(s->conn, &s->end), server_ended, s);
	descriptors_write(s->mr, descriptors);
	pd = (struct rpma_conn_private_data){ descriptors, sizeof(descriptors) };
	rpma_uv_then(rpma_uv_accept(req, &s->accept, s->conn, &pd), server_accepted, s);
}

static int reactor_server(const char *addr)
{
	static struct server s;

	live_node_open(&s.node, addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL);
	s.mr = region_of(s.node.peer, &s.memory);
	live_pattern(s.memory, REGION, 1);
	CHECK_OK(rpma_uv_listen(
		&s.node.reactor, s.node.peer, addr, PORT, 0, server_requested, &s, &s.ep));
	CHECK_INT(rpma_uv_ep_port(s.ep), atoi(PORT));
	live_ready();
	CHECK_OK(uv_run(&s.node.loop, UV_RUN_DEFAULT));
	CHECK_INT(s.received, 2);
	CHECK_INT(s.ended, 1);
	CHECK_INT(s.closed, 2);
	CHECK_OK(rpma_mr_dereg(&s.mr));
	live_node_close(&s.node);
	return 0;
}

/* the client is written in futures */
static void reactor_client(const char *addr)
{
	static struct live_node node;
	static rpma_uv_op_t recv, end, ops[READS];
	static rpma_uv_all_t all;
	struct rpma_conn_private_data pd = { (void *)"client", sizeof("client") };
	rpma_uv_future_t *futures[READS], *answered, *ended;
	struct rpma_mr_remote *remote;
	struct rpma_peer_cfg *pcfg;
	struct rpma_mr_local *mr;
	rpma_uv_conn_t *conn;
	void *memory;

	live_node_open(&node, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, NULL);
	mr = region_of(node.peer, &memory);
	CHECK_OK(rpma_uv_conn_new(&node.reactor, node.peer, NULL, &conn));
	answered = rpma_uv_recv(conn, &recv, (rpma_uv_local_t){ mr, REGION - MESSAGE }, MESSAGE);
	ended = rpma_uv_conn_end(conn, &end);
	AWAIT(rpma_uv_connect(conn, &node.op, addr, PORT, &pd), 0);
	CHECK_OK(rpma_uv_conn_private_data(conn, &pd));
	remote = descriptors_read(&pd, &pcfg);
	CHECK_OK(rpma_uv_conn_apply_remote_peer_cfg(conn, pcfg));
	CHECK_OK(rpma_peer_cfg_delete(&pcfg));
	memcpy(memory, hello, sizeof(hello));
	AWAIT(rpma_uv_send(conn, &node.op, (rpma_uv_local_t){ mr, 0 }, sizeof(hello), 0), 0);
	AWAIT(rpma_uv_send_with_imm(conn, &node.op, (rpma_uv_local_t){ NULL, 0 }, 0, 0, IMM), 0);
	CHECK_INT(AWAIT(answered, 0), sizeof(answer));
	CHECK(strcmp((char *)memory + REGION - MESSAGE, answer) == 0);
	for (size_t i = 0; i < READS; i++)
		futures[i] = rpma_uv_read(conn, &ops[i], (rpma_uv_local_t){ mr, i * READ_BYTES },
			(rpma_uv_remote_t){ remote, i * READ_BYTES }, READ_BYTES, 0);
	CHECK_OK(rpma_mr_remote_delete(&remote)); /* of use during the calls only */
	CHECK_INT(AWAIT(rpma_uv_all(&node.reactor, &all, futures, READS), 0), READS);
	live_pattern_check(memory, READS * READ_BYTES, 1, 0);
	AWAIT(rpma_uv_read(conn, &node.op, (rpma_uv_local_t){ NULL, 0 },
		      (rpma_uv_remote_t){ NULL, 0 }, 0, 0),
		0);
	AWAIT(rpma_uv_disconnect(conn, &node.op), 0);
	AWAIT(ended, 0);
	AWAIT(rpma_uv_disconnect(conn, &node.op), UV_ENOTCONN);
	rpma_uv_conn_close(conn, NULL, NULL);
	CHECK_OK(uv_run(&node.loop, UV_RUN_DEFAULT));
	CHECK_OK(rpma_mr_dereg(&mr));
	live_node_close(&node);
}

static void pair(int number)
{
	int (*const servers[])(const char *) = { core_server, reactor_server };
	void (*const clients[])(const char *) = { core_client, reactor_client };
	const char *addr = live_addr();

	live_fork(servers[number / 2], addr);
	clients[number % 2](addr);
	live_join();
	printf("%s client, %s server: good\n", number % 2 ? "reactor" : "core",
		number / 2 ? "reactor" : "core");
}

/*
 * Each pair in processes of its own: what has used a device must not be forked. An argument chooses one
 * of them.
 */
int main(int argc, char **argv)
{
	int first = argc > 1 ? atoi(argv[1]) : 0;
	int last = argc > 1 ? first : 3;

	(void)live_addr();
	for (int number = first; number <= last; number++) {
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0);
		if (pid == 0) {
			pair(number);
			return 0;
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_INT(status, 0);
	}
	return 0;
}
