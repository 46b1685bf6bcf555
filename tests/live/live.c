/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* live.c - what the live programs share */

#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "live.h"

static pid_t child = -1;
static int ready_fd = -1;

int64_t live_await(const char *file, int line, const char *what, rpma_uv_future_t *f, int expected)
{
	int64_t result = 0;

	live_check_int(file, line, what, rpma_uv_wait(f, UINT64_MAX, &result), expected);
	return result;
}

void live_ready(void)
{
	char byte = 1;

	CHECK(write(ready_fd, &byte, 1) == 1);
}

void live_fork(int (*server)(const char *addr), const char *addr)
{
	int fds[2];
	char byte;

	CHECK(pipe(fds) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		live_who = "server";
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		ready_fd = fds[1];
		exit(server(addr));
	}
	close(fds[1]);
	CHECK(read(fds[0], &byte, 1) == 1); /* end of file: the child has died */
	close(fds[0]);
}

void live_join(void)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 0);
}

void *live_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

/* a mixed counter: no two places look alike */
static uint64_t pattern_at(uint64_t seed, size_t offset)
{
	uint64_t x = seed + offset / 8 * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 27;
}

void live_pattern(void *memory, size_t size, uint64_t seed)
{
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t word = pattern_at(seed, at);

		memcpy((char *)memory + at, &word, 8);
	}
}

void live_pattern_check(const void *memory, size_t size, uint64_t seed, size_t offset)
{
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t word = pattern_at(seed, offset + at);

		if (memcmp((const char *)memory + at, &word, 8) != 0) {
			fprintf(stderr, "wrong bytes at offset %zu\n", offset + at);
			live_fail(__FILE__, __LINE__, "the pattern");
		}
	}
}

void live_node_open(struct live_node *node, const char *addr, enum rpma_util_ibv_context_type type,
	const rpma_uv_reactor_opts_t *opts)
{
	CHECK_OK(uv_loop_init(&node->loop));
	CHECK_OK(rpma_uv_reactor_init(&node->loop, &node->reactor, opts));
	AWAIT(rpma_uv_peer_new(&node->reactor, &node->op, addr, type, &node->peer), 0);
}

void live_node_close(struct live_node *node)
{
	rpma_uv_reactor_close(&node->reactor, NULL, NULL);
	CHECK_OK(uv_run(&node->loop, UV_RUN_DEFAULT));
	CHECK_OK(uv_loop_close(&node->loop));
	CHECK_OK(rpma_peer_delete(&node->peer));
}

void live_any_completion(struct rpma_cq *cq, struct ibv_wc *wc)
{
	int ret;

	while ((ret = rpma_cq_get_wc(cq, 1, wc, NULL)) == RPMA_E_NO_COMPLETION)
		CHECK_OK(rpma_cq_wait(cq));
	CHECK_OK(ret);
	CHECK_INT(wc->status, IBV_WC_SUCCESS);
}

void live_completion(struct rpma_cq *cq, enum ibv_wc_opcode opcode, struct ibv_wc *wc)
{
	live_any_completion(cq, wc);
	CHECK_INT(wc->opcode, opcode);
}

void live_descriptor_of(const struct rpma_mr_local *mr, struct live_descriptor *descriptor)
{
	size_t size;

	CHECK_OK(rpma_mr_get_descriptor_size(mr, &size));
	CHECK(size <= sizeof(descriptor->bytes));
	CHECK_OK(rpma_mr_get_descriptor(mr, descriptor->bytes));
	descriptor->pd.ptr = descriptor->bytes;
	descriptor->pd.len = (uint8_t)size;
}

/* what live_serve() works on; a process serves once */
static struct {
	struct live_node node;
	struct live_descriptor descriptor;
	unsigned left; /* clients to come */
} served;

static void on_served_end(rpma_uv_future_t *f, int status)
{
	(void)status;
	rpma_uv_conn_close(f->data, NULL, NULL);
}

static void on_served_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	rpma_uv_conn_t *conn;

	(void)data;
	CHECK_OK(rpma_uv_conn_new(&served.node.reactor, served.node.peer, NULL, &conn));
	rpma_uv_then(rpma_uv_conn_end(conn, NULL), on_served_end, conn);
	rpma_uv_release(rpma_uv_accept(req, NULL, conn, &served.descriptor.pd));
	if (--served.left == 0)
		rpma_uv_ep_close(ep, NULL, NULL);
}

int live_serve(const char *addr, const struct live_offer *offer)
{
	struct live_node *node = &served.node;
	void *memory = live_memory(offer->size);
	struct rpma_mr_local *mr;
	rpma_uv_ep_t *ep;

	served.left = offer->clients;
	live_node_open(node, addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL);
	live_pattern(memory, offer->size, offer->seed);
	CHECK_OK(rpma_mr_reg(node->peer, memory, offer->size, RPMA_MR_USAGE_READ_SRC, &mr));
	live_descriptor_of(mr, &served.descriptor);
	CHECK_OK(rpma_uv_listen(
		&node->reactor, node->peer, addr, offer->port, 0, on_served_request, NULL, &ep));
	live_ready();
	CHECK_OK(uv_run(&node->loop, UV_RUN_DEFAULT));
	CHECK_OK(rpma_mr_dereg(&mr));
	live_node_close(node);
	return 0;
}

rpma_uv_conn_t *live_connect(
	struct live_node *node, const char *addr, const char *port, struct rpma_mr_remote **remote)
{
	struct rpma_conn_private_data pd;
	rpma_uv_conn_t *conn;

	CHECK_OK(rpma_uv_conn_new(&node->reactor, node->peer, NULL, &conn));
	AWAIT(rpma_uv_connect(conn, &node->op, addr, port, NULL), 0);
	CHECK_OK(rpma_uv_conn_private_data(conn, &pd));
	CHECK_OK(rpma_mr_remote_from_descriptor(pd.ptr, pd.len, remote));
	return conn;
}
