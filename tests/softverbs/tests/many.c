/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * many.c - a thousand connections from one process to another, all open at the same time
 *
 * Each of them carries a message there and back. SOFTVERBS_CONNECTIONS is their number; a descriptor
 * is needed for each of them at both ends.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.h"

#define CONNECTIONS 1000
#define SPARE       64 /* descriptors for all else */
#define AT_A_TIME   64 /* that are being connected */
#define SIZE        64

struct node {
	struct rdma_event_channel *channel;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf; /* SIZE bytes for each connection to receive into, and as many to send from */
	struct rdma_cm_id **ids;
	int count; /* of ids */
	int established;
	int disconnected;
};

static int connections(void)
{
	const char *text = getenv("SOFTVERBS_CONNECTIONS");

	return text != NULL ? atoi(text) : CONNECTIONS;
}

static void need_descriptors(rlim_t needed)
{
	struct rlimit limit;

	MUST_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < needed) {
		printf("the hard limit of open files is %llu, and %llu are needed\n",
			(unsigned long long)limit.rlim_max, (unsigned long long)needed);
		check_skip("not enough open files");
	}
	if (limit.rlim_cur >= needed)
		return;
	limit.rlim_cur = needed;
	MUST_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void node_open(struct node *node, struct ibv_context *verbs, int n)
{
	size_t size = (size_t)n * SIZE * 2;

	node->pd = ibv_alloc_pd(verbs);
	MUST(node->pd != NULL);
	node->cq = ibv_create_cq(verbs, 2 * n, NULL, NULL, 0);
	MUST(node->cq != NULL);
	node->buf = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(node->buf != MAP_FAILED);
	node->mr = ibv_reg_mr(
		node->pd, node->buf, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	MUST(node->mr != NULL);
	node->ids = calloc((size_t)n, sizeof(*node->ids));
	MUST(node->ids != NULL);
}

static void node_close(struct node *node)
{
	for (int i = 0; i < node->count; i++) {
		rdma_destroy_qp(node->ids[i]);
		MUST_EQ(rdma_destroy_id(node->ids[i]), 0);
	}
	free(node->ids);
	MUST_EQ(ibv_destroy_cq(node->cq), 0);
	MUST_EQ(ibv_dereg_mr(node->mr), 0);
	MUST_EQ(ibv_dealloc_pd(node->pd), 0);
	rdma_destroy_event_channel(node->channel);
}

/* the id of a connection with a queue pair, and one receive posted; its number is its context */
static void add(struct node *node, struct rdma_cm_id *id)
{
	int i = node->count++;
	struct ibv_qp_init_attr attr = { .send_cq = node->cq,
		.recv_cq = node->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { 2, 2, 1, 1, 0 } };
	struct ibv_sge sge = { (uintptr_t)node->buf + (size_t)i * SIZE, SIZE, node->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	node->ids[i] = id;
	id->context = (void *)(intptr_t)i;
	MUST_EQ(rdma_create_qp(id, node->pd, &attr), 0);
	MUST_EQ(ibv_post_recv(id->qp, &wr, &bad), 0);
}

static uint8_t *to_send(struct node *node, int i)
{
	return node->buf + (size_t)(connections() + i) * SIZE;
}

static void send_one(struct node *node, int i)
{
	struct ibv_sge sge = { (uintptr_t)to_send(node, i), SIZE, node->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = (uint64_t)i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	MUST_EQ(ibv_post_send(node->ids[i]->qp, &wr, &bad), 0);
}

static void on_event(struct node *node)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7, .retry_count = 7 };
	struct rdma_cm_event *event;

	MUST(readable(node->channel->fd, WAIT_MS));
	MUST_EQ(rdma_get_cm_event(node->channel, &event), 0);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (node->pd == NULL)
			node_open(node, event->id->verbs, connections());
		MUST_EQ(rdma_resolve_route(event->id, 2000), 0);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		add(node, event->id);
		MUST_EQ(rdma_connect(event->id, &param), 0);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		add(node, event->id);
		MUST_EQ(rdma_accept(event->id, &param), 0);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		node->established++;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		node->disconnected++;
		rdma_disconnect(event->id);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		check_fail(__FILE__, __LINE__, rdma_event_str(event->event));
	}
	MUST_EQ(rdma_ack_cm_event(event), 0);
}

static struct ibv_wc take(struct node *node, int events_too)
{
	int64_t deadline = case_now_ms() + WAIT_MS;
	struct ibv_wc wc;

	while (ibv_poll_cq(node->cq, 1, &wc) == 0) {
		MUST(case_now_ms() < deadline);
		if (events_too && readable(node->channel->fd, 0))
			on_event(node);
	}
	MUST_EQ(wc.status, IBV_WC_SUCCESS);
	return wc;
}

/* every message is sent back as it came */
static int serve(int port_fd, int n)
{
	struct node node = { .channel = channel_new() };
	struct rdma_cm_id *listener = id_listening(node.channel);
	uint16_t port = rdma_get_src_port(listener);

	node_open(&node, listener->verbs, n);
	MUST_EQ(write(port_fd, &port, sizeof(port)), sizeof(port));
	for (int received = 0, sent = 0; received < n || sent < n;) {
		struct ibv_wc wc = take(&node, true);

		if (wc.opcode == IBV_WC_RECV) {
			received++;
			memcpy(to_send(&node, (int)wc.wr_id), node.buf + wc.wr_id * SIZE, SIZE);
			send_one(&node, (int)wc.wr_id);
		} else {
			sent++;
		}
	}
	MUST_EQ(node.count, n);
	while (node.disconnected < n)
		on_event(&node);
	MUST_EQ(rdma_destroy_id(listener), 0);
	node_close(&node);
	return EXIT_SUCCESS;
}

static void connect_all(struct node *node, uint16_t port, int n)
{
	union address there = address_here(port);

	for (int begun = 0; node->established < n;) {
		if (begun < n && begun - node->established < AT_A_TIME) {
			struct rdma_cm_id *id = id_new(node->channel);

			MUST_EQ(rdma_resolve_addr(id, NULL, &there.any, 2000), 0);
			begun++;
		} else {
			on_event(node);
		}
	}
}

/* what was sent comes back */
static void exchange_all(struct node *node, int n)
{
	for (int i = 0; i < n; i++) {
		fill(to_send(node, i), SIZE, (unsigned)i);
		send_one(node, i);
	}
	for (int sent = 0, received = 0; sent < n || received < n;) {
		struct ibv_wc wc = take(node, false);

		if (wc.opcode == IBV_WC_RECV)
			received++;
		else
			sent++;
		if (wc.opcode == IBV_WC_RECV)
			MUST(filled(node->buf + wc.wr_id * SIZE, SIZE, (unsigned)wc.wr_id));
	}
}

static void many(void)
{
	int n = connections();
	int64_t started = case_now_ms();
	struct node node = { 0 };
	int64_t connected;
	uint16_t port;
	int fds[2];
	int status;
	pid_t pid;

	need_descriptors((rlim_t)n + SPARE);
	MUST_EQ(pipe(fds), 0);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0)
		exit(serve(fds[1], n));
	MUST(readable(fds[0], WAIT_MS));
	MUST_EQ(read(fds[0], &port, sizeof(port)), sizeof(port));
	node.channel = channel_new();
	connect_all(&node, port, n);
	connected = case_now_ms();
	exchange_all(&node, n);
	for (int i = 0; i < n; i++)
		MUST_EQ(rdma_disconnect(node.ids[i]), 0);
	while (node.disconnected < n)
		on_event(&node);
	node_close(&node);
	MUST_EQ(waitpid(pid, &status, 0), pid);
	MUST_EQ(status, 0);
	printf("%d connections: made in %lld ms, used and ended in %lld ms\n", n,
		(long long)(connected - started), (long long)(case_now_ms() - connected));
}

const struct test_case cases[] = {
	{ "many", many, .alone = true },
	{ NULL, NULL },
};
