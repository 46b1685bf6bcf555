/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* promise.c - a world with both ends of connections in it, and the checks that run in worlds */

#include <sys/mman.h>
#include <unistd.h>

#include "promise.h"
#include "../softverbs/softverbs.h"
#include "../softverbs/softverbs_seed.h"

#define SEED_FIRST 1
#define SEED_COUNT 12

/* a few turns post what was called, and notice what has completed meanwhile */
#define GLANCE_TURNS 4

const struct promise_check *promise_now;
enum wires promise_wire;
uint64_t promise_seed;
unsigned promise_inside;

static uint64_t random_state;
static unsigned done_count;

unsigned below(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

/* ---- memory ---------------------------------------------------------------------------------- */

void memory_new(struct world *w, struct memory *m, size_t size)
{
	uint8_t descriptor[64];
	size_t len;

	m->size = size;
	m->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(m->bytes != MAP_FAILED);
	CHECK_OK(rpma_mr_reg(w->peer, m->bytes, size,
		RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC |
			RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV |
			RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY,
		&m->mr));
	CHECK_OK(rpma_mr_get_descriptor_size(m->mr, &len));
	CHECK(len <= sizeof(descriptor));
	CHECK_OK(rpma_mr_get_descriptor(m->mr, descriptor));
	CHECK_OK(rpma_mr_remote_from_descriptor(descriptor, len, &m->remote));
}

void memory_delete(struct memory *m)
{
	if (m->bytes == NULL)
		return;
	CHECK_OK(rpma_mr_remote_delete(&m->remote));
	CHECK_OK(rpma_mr_dereg(&m->mr));
	CHECK_OK(munmap(m->bytes, m->size));
	m->bytes = NULL;
}

/* ---- the world ------------------------------------------------------------------------------- */

const char *world_addr(void)
{
	const char *addr = getenv("ADDR");

	return addr != NULL ? addr : "127.0.0.1";
}

const char *world_path(const struct world *w, const char *name)
{
	static char path[4096];
	const char *directory = getenv("NVME");

	(void)w;
	if (directory == NULL)
		directory = getenv("TMP");
	if (directory == NULL)
		directory = "/tmp";
	snprintf(path, sizeof(path), "%s/promise-%d-%s", directory, (int)getpid(), name);
	return path;
}

static void world_open(struct world *w)
{
	CHECK_OK(uv_loop_init(&w->loop));
	CHECK_OK(rpma_uv_reactor_init(&w->loop, &w->client, &w->opts));
	CHECK_OK(rpma_uv_reactor_init(&w->loop, &w->server, &w->opts));
	CHECK_OK(rpma_uv_wait(rpma_uv_peer_new(&w->client, NULL, world_addr(),
				      RPMA_UTIL_IBV_CONTEXT_LOCAL, &w->peer),
		UINT64_MAX, NULL));
	memory_new(w, &w->here, WORLD_MEM);
	memory_new(w, &w->there, WORLD_MEM);
}

static void world_close(struct world *w)
{
	/* a request that nobody has answered is rejected with its listener */
	if (!w->client_is_closing)
		rpma_uv_reactor_close(&w->client, NULL, NULL);
	if (!w->server_is_closing)
		rpma_uv_reactor_close(&w->server, NULL, NULL);
	CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT));
	CHECK_OK(uv_loop_close(&w->loop));
	memory_delete(&w->here);
	memory_delete(&w->there);
	CHECK_OK(rpma_peer_delete(&w->peer));
}

void world_reopen(struct world *w, const rpma_uv_reactor_opts_t *opts)
{
	world_close(w);
	memset(w, 0, sizeof(*w));
	w->opts = *opts;
	world_open(w);
}

rpma_uv_reactor_stats_t stats_of(const rpma_uv_reactor_t *r)
{
	rpma_uv_reactor_stats_t stats;

	rpma_uv_reactor_stats(r, &stats);
	return stats;
}

bool world_turn(struct world *w)
{
	return uv_run(&w->loop, UV_RUN_ONCE) != 0;
}

void world_glance(struct world *w)
{
	for (unsigned i = 0; i < GLANCE_TURNS; i++)
		(void)uv_run(&w->loop, UV_RUN_NOWAIT);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void on_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	struct world *w = data;

	CHECK_INT(promise_inside, 0);
	(void)ep;
	if (w->accepting == NULL) {
		CHECK(w->kept_count < sizeof(w->kept) / sizeof(w->kept[0]));
		w->kept[w->kept_count++] = req;
		return;
	}
	rpma_uv_release(rpma_uv_accept(req, NULL, w->accepting, NULL));
	w->accepting = NULL;
}

void world_listen(struct world *w)
{
	if (w->ep != NULL)
		return;
	CHECK_OK(rpma_uv_listen(&w->server, w->peer, world_addr(), "0", 0, on_request, w, &w->ep));
	rpma_uv_ep_unref(w->ep);
	snprintf(w->port, sizeof(w->port), "%u", rpma_uv_ep_port(w->ep));
}

rpma_uv_conn_t *world_conn(
	struct world *w, rpma_uv_reactor_t *reactor, uint32_t sq_size, uint32_t rq_size)
{
	struct rpma_conn_cfg *cfg;
	rpma_uv_conn_t *conn;

	CHECK_OK(rpma_conn_cfg_new(&cfg));
	if (sq_size > 0)
		CHECK_OK(rpma_conn_cfg_set_sq_size(cfg, sq_size));
	if (rq_size > 0)
		CHECK_OK(rpma_conn_cfg_set_rq_size(cfg, rq_size));
	CHECK_OK(rpma_uv_conn_new(reactor, w->peer, cfg, &conn));
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
	return conn;
}

void world_join(struct world *w, rpma_uv_conn_t *client, rpma_uv_conn_t *server)
{
	uint64_t ready = stats_of(&w->server).conns_ready;
	struct op op;

	world_listen(w);
	w->accepting = server;
	watch(rpma_uv_connect(client, &op.op, world_addr(), w->port, NULL), &op.done);
	UNTIL(w, op.done.times == 1);
	CHECK_OK(op.done.status);
	/* its word that we are connected may come later than ours */
	UNTIL(w, stats_of(&w->server).conns_ready > ready);
}

struct pair world_pair(struct world *w, uint32_t sq_size, uint32_t rq_size)
{
	struct pair p = {
		.c = world_conn(w, &w->client, sq_size, rq_size),
		.s = world_conn(w, &w->server, sq_size, rq_size),
	};

	world_join(w, p.c, p.s);
	return p;
}

static void on_closed(void *data)
{
	bool *closed = data;

	CHECK_INT(promise_inside, 0);
	CHECK(!*closed);
	*closed = true;
}

void world_conn_close(struct world *w, rpma_uv_conn_t *c)
{
	bool closed = false;

	CALL_VOID(rpma_uv_conn_close(c, on_closed, &closed));
	UNTIL(w, closed);
}

/* ---- futures --------------------------------------------------------------------------------- */

void on_done(rpma_uv_future_t *f, int status)
{
	struct done *d = f->data;

	if (promise_inside != 0)
		live_fail(__FILE__, __LINE__, "a callback runs in a phase of the loop");
	CHECK_INT(f->status, status);
	CHECK(status <= 0);
	d->times++;
	CHECK_INT(d->times, 1);
	d->status = status;
	d->result = f->result;
	d->detail = f->detail;
	d->at = ++done_count;
}

rpma_uv_future_t *watch(rpma_uv_future_t *f, struct done *d)
{
	CHECK(f != NULL);
	memset(d, 0, sizeof(*d));
	CHECK(rpma_uv_then(f, on_done, d) == f);
	CHECK_INT(d->times, 0);
	return f;
}

void op_read(struct world *w, rpma_uv_conn_t *c, struct op *op, size_t offset, size_t len)
{
	watch(CALL(rpma_uv_read(c, &op->op, local_of(&w->here, offset),
		      remote_of(&w->there, offset), len, 0)),
		&op->done);
}

void op_write(struct world *w, rpma_uv_conn_t *c, struct op *op, size_t offset, size_t len)
{
	watch(CALL(rpma_uv_write(c, &op->op, remote_of(&w->there, offset),
		      local_of(&w->here, offset), len, 0)),
		&op->done);
}

void op_send(rpma_uv_conn_t *c, struct op *op, const struct memory *m, size_t offset, size_t len)
{
	watch(CALL(rpma_uv_send(c, &op->op, local_of(m, offset), len, 0)), &op->done);
}

void op_recv(rpma_uv_conn_t *c, struct op *op, const struct memory *m, size_t offset, size_t len)
{
	watch(CALL(rpma_uv_recv(c, &op->op, local_of(m, offset), len)), &op->done);
}

int64_t await_at(const char *file, int line, const char *what, struct world *w, rpma_uv_future_t *f,
	int expected)
{
	struct done done;

	watch(f, &done);
	UNTIL(w, done.times == 1);
	live_check_int(file, line, what, done.status, expected);
	return done.result;
}

rpma_uv_file_t *world_file(struct world *w, const char *name, int oflags, unsigned how)
{
	rpma_uv_file_t *file = NULL;

	AWAIT(w, rpma_uv_file_open(&w->client, NULL, world_path(w, name), oflags, 0600, how, &file),
		0);
	CHECK(file != NULL);
	return file;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static enum wires wire_here(void)
{
	if (softverbs_seed_symbol("softverbs_seed_restart_world") != NULL &&
		getenv("SOFTVERBS_WIRE") != NULL && strcmp(getenv("SOFTVERBS_WIRE"), "seed") == 0)
		return ON_SEEDS;
	if (softverbs_is_here())
		return ON_SOCKETS;
	(void)live_addr(); /* skipped without a device */
	return ON_KERNEL;
}

static void run_world(const struct promise_check *check, uint64_t seed)
{
	static struct world w;
	int reports = softverbs_reports();

	memset(&w, 0, sizeof(w));
	promise_seed = seed;
	random_state = seed;
	done_count = 0;
	w.opts.size = sizeof(w.opts);
	/* every other world does not spin */
	w.opts.spin_us = seed % 2 == 0 ? 0 : -1;
	world_open(&w);
	check->run(&w);
	CHECK_INT(promise_inside, 0);
	world_close(&w);
	/* misuse that the device has seen */
	CHECK_INT(softverbs_reports(), reports);
	if (softverbs_is_here())
		CHECK_OK(softverbs_faults(NULL));
}

static bool run_check(const struct promise_check *check, const char *name)
{
	static char who[256];
	unsigned long long first = SEED_FIRST, count = SEED_COUNT;

	promise_now = check;
	if (check->wires != 0 && !(check->wires & promise_wire)) {
		printf("--     %s: cannot be seen on this device\n", name);
		return false;
	}
	if (promise_wire != ON_SEEDS) {
		snprintf(who, sizeof(who), "not ok %s\n", name);
		live_who = who;
		run_world(check, 0);
		printf("ok     %s\n", name);
		return true;
	}
	if (getenv("PROMISE_SEEDS") != NULL)
		CHECK_INT(sscanf(getenv("PROMISE_SEEDS"), "%llu %llu", &first, &count), 2);
	for (uint64_t seed = first; seed < first + count; seed++) {
		snprintf(who, sizeof(who), "not ok %s, seed %" PRIu64 "\n", name, seed);
		live_who = who;
		CHECK_OK(softverbs_seed_restart(seed));
		run_world(check, seed);
	}
	CHECK_OK(softverbs_seed_restart(0));
	printf("ok     %s, %llu seeds\n", name, count);
	return true;
}

int promise_main(int argc, char *argv[], const char *number, const struct promise_check checks[],
	unsigned count)
{
	unsigned ran = 0;
	char name[192];

	/* what was proven before the process is killed shall be seen */
	setvbuf(stdout, NULL, _IOLBF, 0);
	promise_wire = wire_here();
	for (unsigned i = 0; i < count; i++) {
		const char *subject = checks[i].subject;

		snprintf(name, sizeof(name), "%s %s%s%s", number, subject != NULL ? subject : "",
			subject != NULL ? ": " : "", checks[i].says);
		if (argc < 2 || strstr(name, argv[1]) != NULL)
			ran += run_check(&checks[i], name);
	}
	return ran > 0 ? 0 : LIVE_SKIP;
}
