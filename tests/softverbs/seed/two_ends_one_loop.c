/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * two_ends_one_loop.c - both ends of some connections on one loop, as the seed has it
 *
 * Proven: in each world all connections come up, what is read and received is right, what is closed
 *         early ends once, and nothing is left over.
 *
 *     two_ends_one_loop               the world of SOFTVERBS_SEED
 *     two_ends_one_loop FIRST COUNT   COUNT worlds in one process, from FIRST on, and their rate
 *     two_ends_one_loop -2 FIRST COUNT   each of them twice: the second time everything is the same
 */

#include <string.h>
#include <time.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <librpma_uv.h>

#include "../softverbs_seed.h"
#include "check.h"

#define ADDR  "127.0.0.1"
#define CONNS 4
#define READS 6
#define SIZE  65536
#define HELLO "hello, other end"

struct end {
	rpma_uv_conn_t *conn;
	uint8_t *mem;
	struct rpma_mr_local *mr;
	unsigned ops; /* under way */
	unsigned early; /* closed when so many are left */
	bool closing;
	bool closed;
};

static struct {
	uv_loop_t loop;
	rpma_uv_reactor_t client;
	rpma_uv_reactor_t server;
	struct rpma_peer *peer;
	rpma_uv_ep_t *ep;
	uint8_t served[SIZE];
	struct rpma_mr_local *served_mr;
	struct rpma_mr_remote *remote;
	struct end ends[2 * CONNS]; /* clients first */
	unsigned accepted;
	unsigned closed;
	unsigned received;
	bool worked;
	uv_work_t work;
	uint64_t random; /* of the program itself */
} w;

/* any numbers will do, but not the simulation's: that would shift them */
static unsigned below(unsigned n)
{
	w.random = w.random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(w.random >> 33) % n;
}

static void end_close(struct end *e);

static void on_op(rpma_uv_future_t *f, int status)
{
	struct end *e = f->data;

	CHECK(status == 0 || (e->closing && status == UV_ECANCELED) || e >= w.ends + CONNS);
	CHECK(e->ops > 0);
	e->ops--;
	if (e->ops <= e->early && e < w.ends + CONNS)
		end_close(e);
}

static void all_closed(void *data)
{
	CHECK(data == NULL);
}

static void on_closed(void *data)
{
	struct end *e = data;

	CHECK(!e->closed);
	CHECK_INT(e->ops, 0);
	e->closed = true;
	if (++w.closed < 2 * CONNS)
		return;
	rpma_uv_ep_close(w.ep, NULL, NULL);
	rpma_uv_reactor_close(&w.server, all_closed, NULL);
	rpma_uv_reactor_close(&w.client, all_closed, NULL);
}

static void end_close(struct end *e)
{
	if (e->closing)
		return;
	e->closing = true;
	rpma_uv_conn_close(e->conn, on_closed, e);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void on_message(rpma_uv_future_t *f, int status)
{
	struct end *e = f->data;

	if (status == 0) {
		CHECK_INT(f->result, sizeof(HELLO));
		CHECK(memcmp(e->mem, HELLO, sizeof(HELLO)) == 0);
		w.received++;
	}
	on_op(f, status);
}

static void on_end(rpma_uv_future_t *f, int status)
{
	(void)status;
	end_close(f->data);
}

static void end_init(struct end *e, rpma_uv_reactor_t *reactor, int usage)
{
	CHECK_OK(rpma_uv_conn_new(reactor, w.peer, NULL, &e->conn));
	e->mem = calloc(1, SIZE);
	CHECK(e->mem != NULL);
	CHECK_OK(rpma_mr_reg(w.peer, e->mem, SIZE, usage, &e->mr));
}

static void on_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	struct end *e = &w.ends[CONNS + w.accepted];

	(void)ep;
	(void)data;
	CHECK(w.accepted++ < CONNS);
	end_init(e, &w.server, RPMA_MR_USAGE_RECV);
	e->ops = 1;
	rpma_uv_then(
		rpma_uv_recv(e->conn, NULL, (rpma_uv_local_t){ e->mr, 0 }, SIZE), on_message, e);
	rpma_uv_then(rpma_uv_conn_end(e->conn, NULL), on_end, e);
	rpma_uv_release(rpma_uv_accept(req, NULL, e->conn, NULL));
}

/* ---- the client ------------------------------------------------------------------------------ */

static void on_read(rpma_uv_future_t *f, int status)
{
	struct end *e = f->data;

	if (status == 0)
		CHECK(memcmp(e->mem, w.served, (size_t)f->result) == 0);
	on_op(f, status);
}

static void on_connected(rpma_uv_future_t *f, int status)
{
	struct end *e = f->data;

	CHECK_OK(status);
	memcpy(e->mem + SIZE - sizeof(HELLO), HELLO, sizeof(HELLO));
	e->ops = 1 + READS;
	e->early = below(2) ? below(READS) : 0;
	rpma_uv_then(rpma_uv_send(e->conn, NULL, (rpma_uv_local_t){ e->mr, SIZE - sizeof(HELLO) },
			     sizeof(HELLO), 0),
		on_op, e);
	for (unsigned i = 0; i < READS; i++) {
		size_t len = 1 + below(SIZE / 2);

		rpma_uv_then(rpma_uv_read(e->conn, NULL, (rpma_uv_local_t){ e->mr, 0 },
				     (rpma_uv_remote_t){ w.remote, 0 }, len, 0),
			on_read, e);
	}
}

static void on_work(uv_work_t *work)
{
	CHECK(work == &w.work);
}

static void after_work(uv_work_t *work, int status)
{
	CHECK(work == &w.work);
	CHECK_OK(status);
	w.worked = true;
}

static void connect_all(void)
{
	char port[8];

	snprintf(port, sizeof(port), "%u", rpma_uv_ep_port(w.ep));
	for (unsigned i = 0; i < CONNS; i++) {
		struct end *e = &w.ends[i];

		end_init(e, &w.client, RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_SEND);
		rpma_uv_then(rpma_uv_connect(e->conn, NULL, ADDR, port, NULL), on_connected, e);
	}
}

static void on_peer(rpma_uv_future_t *f, int status)
{
	char descriptor[256];
	size_t size;

	(void)f;
	CHECK_OK(status);
	CHECK_OK(rpma_mr_reg(w.peer, w.served, SIZE, RPMA_MR_USAGE_READ_SRC, &w.served_mr));
	CHECK_OK(rpma_mr_get_descriptor_size(w.served_mr, &size));
	CHECK_OK(rpma_mr_get_descriptor(w.served_mr, descriptor));
	CHECK_OK(rpma_mr_remote_from_descriptor(descriptor, size, &w.remote));
	CHECK_OK(rpma_uv_listen(&w.server, w.peer, ADDR, "0", 0, on_request, NULL, &w.ep));
	CHECK_OK(uv_queue_work(&w.loop, &w.work, on_work, after_work));
	connect_all();
}

/* ---- a world --------------------------------------------------------------------------------- */

static void run_world(uint64_t seed)
{
	rpma_uv_reactor_opts_t asleep = { .size = sizeof(asleep), .spin_us = -1 };

	check_seed = seed;
	memset(&w, 0, sizeof(w));
	w.random = seed;
	for (size_t i = 0; i < SIZE; i++)
		w.served[i] = (uint8_t)(i * 31 >> 3);
	CHECK_OK(uv_loop_init(&w.loop));
	CHECK_OK(rpma_uv_reactor_init(&w.loop, &w.client, NULL));
	CHECK_OK(rpma_uv_reactor_init(&w.loop, &w.server, &asleep));
	rpma_uv_then(rpma_uv_peer_new(
			     &w.client, NULL, "localhost", RPMA_UTIL_IBV_CONTEXT_REMOTE, &w.peer),
		on_peer, NULL);
	CHECK_OK(uv_run(&w.loop, UV_RUN_DEFAULT));
	CHECK_OK(uv_loop_close(&w.loop));
	CHECK_INT(w.closed, 2 * CONNS);
	CHECK(w.worked);
	for (unsigned i = 0; i < 2 * CONNS; i++) {
		CHECK_OK(rpma_mr_dereg(&w.ends[i].mr));
		free(w.ends[i].mem);
	}
	CHECK_OK(rpma_mr_remote_delete(&w.remote));
	CHECK_OK(rpma_mr_dereg(&w.served_mr));
	CHECK_OK(rpma_peer_delete(&w.peer));
}

static uint64_t real_ns(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts); /* the call itself tells virtual time */
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t run_seed(uint64_t seed)
{
	CHECK_OK(softverbs_seed_restart(seed));
	run_world(seed);
	return softverbs_seed_digest();
}

static void run_many(uint64_t first, uint64_t count, bool twice)
{
	uint64_t from = real_ns();
	uint64_t steps = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t digest = run_seed(first + i);

		steps += softverbs_seed_steps();
		if (twice)
			CHECK(run_seed(first + i) == digest);
	}
	CHECK_OK(softverbs_seed_restart(0));
	printf("%" PRIu64 " seeds%s, %.0f worlds and %.0f steps a second\n", count,
		twice ? " twice" : "",
		(double)count * (twice ? 2 : 1) * 1e9 / (double)(real_ns() - from),
		(double)steps * (twice ? 2 : 1) * 1e9 / (double)(real_ns() - from));
}

int main(int argc, char *argv[])
{
	const char *seed = getenv("SOFTVERBS_SEED");

	if (softverbs_seed_symbol("softverbs_seed_restart_world") == NULL) {
		fputs("this is for softverbs-run with SOFTVERBS_WIRE=seed\n", stderr);
		return 77;
	}
	if (argc == 3)
		run_many(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0), false);
	else if (argc == 4)
		run_many(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0), true);
	else
		run_world(seed != NULL ? strtoull(seed, NULL, 0) : 0);
	return 0;
}
