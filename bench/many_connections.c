/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * many_connections.c - what a connection costs when there are many, beside a few
 *
 *     many_connections [COUNT]        10000
 *
 * Both ends are in this one thread, on two reactors of one loop, over the in-process wire of the
 * software device: so no socket stands for a connection, and whatever grows with their number is
 * ours or the device's. Connects COUNT, reads on each, closes all; then the same with FEW, as often
 * as makes as many operations. Prints processor time, that of both ends and the device, and leaves
 * callgrind(1) a dump a phase, named "PHASE.many OPERATIONS" and "PHASE.few OPERATIONS".
 */

#include <dirent.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "live.h"

#define PORT  "7334"
#define FEW   10
#define READS 5
#define LEN   64

static struct live_node client;
static rpma_uv_reactor_t server;
static struct live_descriptor descriptor;
static struct rpma_mr_local *local, *offered;
static struct rpma_conn_cfg *cfg;

struct end {
	rpma_uv_conn_t *conn;
	rpma_uv_op_t op;
};

enum phase { CONNECT, READ, CLOSE, PHASES };

static const char *const phase_names[] = { "connect", "read", "close" };

/* processor seconds of all phases, and how many connections took part in them */
struct cost {
	const char *whose;
	double seconds[PHASES];
	unsigned long conns;
};

static unsigned long accepted, left; /* of the server's ends */

static double processor_s(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* several stretches make a phase of the few, each with a dump of its own */
static double phase_begin(void)
{
	CALLGRIND_TOGGLE_COLLECT;
	return processor_s();
}

static void phase_end(enum phase phase, struct cost *cost, double start)
{
	cost->seconds[phase] += processor_s() - start;
	CALLGRIND_TOGGLE_COLLECT;
	if (cost->whose != NULL) {
		char dump[64];

		snprintf(dump, sizeof(dump), "%s.%s", phase_names[phase], cost->whose);
		CALLGRIND_DUMP_STATS_AT(dump);
	}
	CALLGRIND_ZERO_STATS;
}

static size_t resident_kib(void)
{
	unsigned long pages;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file != NULL);
	CHECK(fscanf(file, "%*u %lu", &pages) == 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

static unsigned descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	CHECK(dir != NULL);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

static void on_closed(void *data)
{
	(void)data;
	left++;
}

static void on_end(rpma_uv_future_t *f, int status)
{
	(void)status;
	rpma_uv_conn_close(f->data, on_closed, NULL);
}

static void on_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	rpma_uv_conn_t *conn;

	(void)ep;
	(void)data;
	CHECK_OK(rpma_uv_conn_new(&server, client.peer, cfg, &conn));
	rpma_uv_then(rpma_uv_conn_end(conn, NULL), on_end, conn);
	rpma_uv_release(rpma_uv_accept(req, NULL, conn, &descriptor.pd));
	accepted++;
}

static void on_done(rpma_uv_future_t *f, int status)
{
	CHECK_OK(status);
	++*(unsigned long *)f->data;
}

static void run_until(const unsigned long *count, unsigned long target)
{
	while (*count < target)
		uv_run(&client.loop, UV_RUN_ONCE);
}

/* all at once, one phase after the other */
static void measure(struct end *ends, unsigned n, struct cost *cost, bool is_told)
{
	const size_t before_kib = resident_kib();
	const unsigned before_fds = descriptors();
	unsigned long connected = 0, read = 0, closed = 0;
	struct rpma_conn_private_data pd;
	struct rpma_mr_remote *remote;
	double start;

	accepted = left = 0;
	start = phase_begin();
	for (unsigned i = 0; i < n; i++) {
		CHECK_OK(rpma_uv_conn_new(&client.reactor, client.peer, cfg, &ends[i].conn));
		rpma_uv_then(rpma_uv_connect(ends[i].conn, &ends[i].op, "127.0.0.1", PORT, NULL),
			on_done, &connected);
	}
	run_until(&connected, n);
	phase_end(CONNECT, cost, start);
	CHECK_INT(accepted, n);
	if (is_told) {
		printf("connections                          %u, one thread for both ends\n", n);
		printf("memory of a connection, both ends    %.1f KiB, the device's included\n",
			(double)(resident_kib() - before_kib) / n);
		CHECK_INT(descriptors(), before_fds);
		printf("descriptors of a connection          0\n");
	}
	CHECK_OK(rpma_uv_conn_private_data(ends[0].conn, &pd));
	CHECK_OK(rpma_mr_remote_from_descriptor(pd.ptr, pd.len, &remote));

	start = phase_begin();
	for (unsigned round = 1; round <= READS; round++) {
		for (unsigned i = 0; i < n; i++)
			rpma_uv_then(rpma_uv_read(ends[i].conn, &ends[i].op,
					     (rpma_uv_local_t){ local, 0 },
					     (rpma_uv_remote_t){ remote, 0 }, LEN, 0),
				on_done, &read);
		run_until(&read, (unsigned long)n * round);
	}
	phase_end(READ, cost, start);
	CHECK_OK(rpma_mr_remote_delete(&remote));

	start = phase_begin();
	for (unsigned i = 0; i < n; i++)
		rpma_uv_conn_close(ends[i].conn, on_closed, NULL);
	closed = 2UL * n;
	run_until(&left, closed);
	phase_end(CLOSE, cost, start);
	cost->conns += n;
}

static void compare(const struct cost *many, const struct cost *few)
{
	for (unsigned i = 0; i < PHASES; i++) {
		const double each = 1e6 / (double)many->conns / (i == READ ? READS : 1);

		printf("%-10s %8.2f us among many  %8.2f us among %u\n", phase_names[i],
			many->seconds[i] * each, few->seconds[i] * each, FEW);
	}
}

int main(int argc, char **argv)
{
	const unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
	static uint8_t memory[LEN], source[LEN];
	struct cost warm = { 0 }, many = { .whose = "many" }, few = { .whose = "few" };
	struct end *ends = calloc(n, sizeof(*ends));
	rpma_uv_ep_t *ep;

	CHECK(ends != NULL);
	CALLGRIND_START_INSTRUMENTATION;
	live_node_open(&client, "127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL);
	CHECK_OK(rpma_uv_reactor_init(&client.loop, &server, NULL));
	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_sq_size(cfg, 4));
	CHECK_OK(rpma_conn_cfg_set_rq_size(cfg, 1));
	CHECK_OK(rpma_mr_reg(client.peer, memory, LEN, RPMA_MR_USAGE_READ_DST, &local));
	CHECK_OK(rpma_mr_reg(client.peer, source, LEN, RPMA_MR_USAGE_READ_SRC, &offered));
	live_descriptor_of(offered, &descriptor);
	CHECK_OK(rpma_uv_listen(&server, client.peer, "127.0.0.1", PORT, 0, on_request, NULL, &ep));

	measure(ends, FEW, &warm, false); /* what comes first is made once */
	measure(ends, n, &many, true);
	while (few.conns < n)
		measure(ends, FEW, &few, false);
	compare(&many, &few);

	rpma_uv_reactor_close(&server, NULL, NULL);
	rpma_uv_reactor_close(&client.reactor, NULL, NULL);
	CHECK_OK(uv_run(&client.loop, UV_RUN_DEFAULT));
	CHECK_OK(rpma_mr_dereg(&local));
	CHECK_OK(rpma_mr_dereg(&offered));
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
	CHECK_OK(uv_loop_close(&client.loop));
	CHECK_OK(rpma_peer_delete(&client.peer));
	free(ends);
	return 0;
}
