/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * reads.c - how fast are reads between two processes, beside a plain Unix socket?
 *
 *   softverbs-run softverbs-reads [SIZE [DEPTH [MIB]]]
 *
 * Moves the same bytes twice, in messages of the same size: through a Unix stream socket with the
 * same buffer size, and by RDMA READs from another process. Prints both, the ratio, and the CPU time
 * of each process; and the latency of an 8-byte READ at depth 1, polled. Several rounds, in turn.
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <signal.h>

#include <rdma/rdma_cma.h>

#define BUFFER    (4 << 20)
#define REGION    (64u << 20)
#define PORT      7399
#define ROUNDS    7
#define PINGS     2000
#define MAX_READS 16

#define CHECK(condition)                                                                 \
	do {                                                                             \
		if (!(condition)) {                                                      \
			fprintf(stderr, "reads:%d: not so: %s\n", __LINE__, #condition); \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

static size_t size = 262144;
static unsigned depth = 16;
static uint64_t total = UINT64_C(1024) << 20;

struct region {
	uint64_t addr;
	uint32_t rkey;
};

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double cpu(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static char *memory(void)
{
	char *at = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

/* the child says on fd what CPU time it took since the last time it was asked */
static void child_cpu(int fd)
{
	double now = cpu();

	CHECK(write(fd, &now, sizeof(now)) == sizeof(now));
}

static void socket_child(int fd, int report)
{
	char *from = memory();

	for (uint64_t sent = 0; sent < total; sent += size) {
		size_t at = sent % (REGION - size + 1);

		for (size_t part = 0; part < size;) {
			ssize_t n = write(fd, from + at + part, size - part);

			CHECK(n > 0);
			part += (size_t)n;
		}
	}
	child_cpu(report);
}

static void socket_parent(int fd)
{
	char *to = memory();

	for (uint64_t got = 0; got < total; got += size) {
		for (size_t part = 0; part < size;) {
			ssize_t n = read(fd, to + got % (REGION - size + 1) + part, size - part);

			CHECK(n > 0);
			part += (size_t)n;
		}
	}
	munmap(to, REGION);
}

static struct rdma_cm_event *next_event(struct rdma_event_channel *channel, int type)
{
	struct rdma_cm_event *event;

	CHECK(rdma_get_cm_event(channel, &event) == 0);
	CHECK((int)event->event == type && event->status == 0);
	return event;
}

static struct ibv_cq *make_qp(struct rdma_cm_id *id)
{
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 64, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC };

	CHECK(cq != NULL);
	attr.cap.max_send_wr = 32;
	attr.cap.max_recv_wr = 1;
	attr.cap.max_send_sge = 1;
	attr.cap.max_recv_sge = 1;
	CHECK(rdma_create_qp(id, NULL, &attr) == 0);
	return cq;
}

static void rdma_child(int report, int ready)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct rdma_conn_param param = { .responder_resources = MAX_READS,
		.rnr_retry_count = 7,
		.private_data_len = sizeof(struct region) };
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id;
	struct region region;
	struct ibv_mr *mr;
	char *from = memory();

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(channel != NULL);
	CHECK(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
	CHECK(rdma_bind_addr(listener, (struct sockaddr *)&addr) == 0);
	CHECK(rdma_listen(listener, 1) == 0);
	CHECK(write(ready, "x", 1) == 1);
	event = next_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	make_qp(id);
	mr = ibv_reg_mr(id->qp->pd, from, REGION, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(mr != NULL);
	region = (struct region){ (uintptr_t)from, mr->rkey };
	param.private_data = &region;
	CHECK(rdma_accept(id, &param) == 0);
	rdma_ack_cm_event(event);
	rdma_ack_cm_event(next_event(channel, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(next_event(channel, RDMA_CM_EVENT_DISCONNECTED));
	child_cpu(report);
	rdma_disconnect(id);
}

static struct rdma_cm_id *rdma_reach(
	struct rdma_event_channel *channel, struct region *region, struct ibv_cq **cq)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct rdma_conn_param param = { .initiator_depth = MAX_READS, .retry_count = 7 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
	CHECK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000) == 0);
	rdma_ack_cm_event(next_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	CHECK(rdma_resolve_route(id, 2000) == 0);
	rdma_ack_cm_event(next_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
	*cq = make_qp(id);
	CHECK(rdma_connect(id, &param) == 0);
	event = next_event(channel, RDMA_CM_EVENT_ESTABLISHED);
	memcpy(region, event->param.conn.private_data, sizeof(*region));
	rdma_ack_cm_event(event);
	return id;
}

static void read_one(struct rdma_cm_id *id, struct ibv_mr *mr, const struct region *region,
	size_t at, size_t length)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr + at, (uint32_t)length, mr->lkey };
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1 };

	wr.wr.rdma.remote_addr = region->addr + at;
	wr.wr.rdma.rkey = region->rkey;
	CHECK(ibv_post_send(id->qp, &wr, &bad) == 0);
}

static unsigned poll_some(struct ibv_cq *cq)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(cq, 16, wc);

	CHECK(n >= 0);
	for (int i = 0; i < n; i++)
		CHECK(wc[i].status == IBV_WC_SUCCESS);
	return (unsigned)n;
}

static void rdma_parent(
	struct rdma_cm_id *id, struct ibv_cq *cq, const struct region *region, struct ibv_mr *mr)
{
	uint64_t asked = 0;
	uint64_t done = 0;

	while (done < total) {
		for (; asked < total && asked - done < depth * size; asked += size)
			read_one(id, mr, region, asked % (REGION - size + 1), size);
		done += (uint64_t)poll_some(cq) * size;
	}
}

static void latency(
	struct rdma_cm_id *id, struct ibv_cq *cq, const struct region *region, struct ibv_mr *mr)
{
	double start = seconds();

	for (int i = 0; i < PINGS; i++) {
		read_one(id, mr, region, (size_t)i * 8, 8);
		while (poll_some(cq) == 0)
			;
	}
	printf("8-byte read, depth 1, polled: %.1f us\n", (seconds() - start) / PINGS * 1e6);
}

static double bench_socket(void)
{
	int buffer = BUFFER;
	int report[2];
	int fds[2];
	double start;
	double took;
	double used = cpu();
	double other;
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 && pipe(report) == 0);
	for (int i = 0; i < 2; i++)
		setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	start = seconds();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		socket_child(fds[1], report[1]);
		_exit(0);
	}
	socket_parent(fds[0]);
	took = seconds() - start;
	CHECK(read(report[0], &other, sizeof(other)) == sizeof(other));
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
		close(report[i]);
	}
	printf("unix socket: %.2f GB/s, CPU %.2f s and %.2f s\n", (double)total / took / 1e9,
		cpu() - used, other);
	return (double)total / took / 1e9;
}

static double bench_rdma(void)
{
	struct rdma_event_channel *channel;
	struct region region;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	int report[2];
	int ready[2];
	double start;
	double took;
	double used;
	double other;
	void *to;
	char byte;
	pid_t pid;

	CHECK(pipe(report) == 0 && pipe(ready) == 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		rdma_child(report[1], ready[1]);
		exit(0);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	channel = rdma_create_event_channel();
	CHECK(channel != NULL);
	id = rdma_reach(channel, &region, &cq);
	mr = ibv_reg_mr(id->qp->pd, memory(), REGION, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr != NULL);
	used = cpu();
	start = seconds();
	rdma_parent(id, cq, &region, mr);
	took = seconds() - start;
	used = cpu() - used;
	latency(id, cq, &region, mr);
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	to = mr->addr;
	ibv_dereg_mr(mr);
	munmap(to, REGION);
	ibv_destroy_cq(cq);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	CHECK(read(report[0], &other, sizeof(other)) == sizeof(other));
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(report[i]);
	}
	printf("rdma reads:  %.2f GB/s, CPU %.2f s and %.2f s (its memory and latency included)\n",
		(double)total / took / 1e9, used, other);
	return (double)total / took / 1e9;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	double ratios[ROUNDS];

	if (argc > 1)
		size = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		depth = (unsigned)strtoul(argv[2], NULL, 0);
	if (argc > 3)
		total = strtoull(argv[3], NULL, 0) << 20;
	CHECK(size > 0 && size <= REGION / 2 && depth > 0 && depth <= 32);
	total = (total + size - 1) / size * size;
	for (int i = 0; i < ROUNDS;
		i++) { /* in turn, since other work on the machine comes and goes */
		double plain = bench_socket();

		ratios[i] = bench_rdma() / plain;
		fflush(stdout);
	}
	qsort(ratios, ROUNDS, sizeof(*ratios), compare);
	printf("ratio: median %.2f, from %.2f to %.2f, %zu bytes, depth %u\n", ratios[ROUNDS / 2],
		ratios[0], ratios[ROUNDS - 1], size, depth);
	return 0;
}
