/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * 09_steady_state.c - what an operation costs once a program runs: no heap, few doorbells
 *
 * Heap calls of the whole process are counted, the device's and the libraries' below us included.
 */

#include <fcntl.h>
#include <unistd.h>

#include "heap.h"
#include "promise.h"

#define LEN   64
#define WARM  200
#define N     400
#define DEPTH 8

/* ---- heap ------------------------------------------------------------------------------------ */

/* one operation of a kind, several at a time, again from its callback */
static struct {
	struct world *w;
	struct pair p;
	rpma_uv_conn_t *shared_c, *shared_s;
	rpma_uv_srq_t *srq;
	rpma_uv_file_t *file;
	rpma_uv_pool_t *pool;
	void (*start)(unsigned slot);
	rpma_uv_op_t ops[DEPTH];
	rpma_uv_all_t alls[DEPTH];
	rpma_uv_any_t anys[DEPTH];
	rpma_uv_buf_t *bufs[DEPTH];
	rpma_uv_work_t works[DEPTH];
	unsigned begun, ended;
	bool from_slab;
	unsigned long calls_warm;
} run;

static rpma_uv_op_t *room(unsigned slot)
{
	return run.from_slab ? NULL : &run.ops[slot];
}

static void ended(unsigned slot)
{
	if (++run.ended == WARM)
		run.calls_warm = heap_calls();
	if (run.begun < WARM + N) {
		run.begun++;
		run.start(slot);
	}
}

static void on_ended(rpma_uv_future_t *f, int status)
{
	CHECK_OK(status);
	ended((unsigned)(uintptr_t)f->data);
}

static void again(rpma_uv_future_t *f, unsigned slot)
{
	CHECK(rpma_uv_then(f, on_ended, (void *)(uintptr_t)slot) == f);
}

static void start_read(unsigned slot)
{
	again(rpma_uv_read(run.p.c, room(slot), local_of(&run.w->here, slot * LEN),
		      remote_of(&run.w->there, 0), LEN, 0),
		slot);
}

static void start_write(unsigned slot)
{
	again(rpma_uv_write(run.p.c, room(slot), remote_of(&run.w->there, slot * LEN),
		      local_of(&run.w->here, 0), LEN, 0),
		slot);
}

static void start_atomic_write(unsigned slot)
{
	static const char word[RPMA_ATOMIC_WRITE_ALIGNMENT] = "eight b";

	again(rpma_uv_atomic_write(
		      run.p.c, room(slot), remote_of(&run.w->there, slot * LEN), word, 0),
		slot);
}

static void start_flush(unsigned slot)
{
	again(rpma_uv_flush(run.p.c, room(slot), remote_of(&run.w->there, 0), LEN,
		      RPMA_FLUSH_TYPE_VISIBILITY, 0),
		slot);
}

static void start_persist(unsigned slot)
{
	static rpma_uv_piece_t pieces[DEPTH][2];

	for (unsigned i = 0; i < 2; i++)
		pieces[slot][i] = (rpma_uv_piece_t){ local_of(&run.w->here, i * LEN),
			remote_of(&run.w->there, i * LEN), LEN };
	again(rpma_uv_persist(run.p.c, room(slot), pieces[slot], 2, RPMA_FLUSH_TYPE_VISIBILITY, 0),
		slot);
}

static void start_message(unsigned slot)
{
	again(rpma_uv_recv(run.p.s, room(slot), local_of(&run.w->there, slot * LEN), LEN), slot);
	rpma_uv_release(rpma_uv_send(run.p.c, NULL, local_of(&run.w->here, 0), LEN, 0));
}

static void start_shared(unsigned slot)
{
	again(rpma_uv_srq_recv(run.srq, room(slot), local_of(&run.w->here, slot * LEN), LEN), slot);
	rpma_uv_release(rpma_uv_send(run.shared_s, NULL, local_of(&run.w->there, 0), LEN, 0));
}

static char file_bytes[DEPTH][LEN];

static uv_buf_t *buffer(unsigned slot)
{
	static uv_buf_t bufs[DEPTH];

	bufs[slot] = uv_buf_init(file_bytes[slot], LEN);
	return &bufs[slot];
}

static void start_file_write(unsigned slot)
{
	again(rpma_uv_file_write(run.file, room(slot), buffer(slot), 1, slot * LEN, 0), slot);
}

static void start_file_read(unsigned slot)
{
	again(rpma_uv_file_read(run.file, room(slot), buffer(slot), 1, slot * LEN), slot);
}

static void start_file_sync(unsigned slot)
{
	again(rpma_uv_file_sync(run.file, room(slot)), slot);
}

static void start_buf_wait(unsigned slot)
{
	if (run.bufs[slot] != NULL)
		rpma_uv_buf_put(run.bufs[slot]);
	again(rpma_uv_buf_wait(run.pool, room(slot), &run.bufs[slot]), slot);
}

static void start_sleep(unsigned slot)
{
	again(rpma_uv_sleep(&run.w->client, room(slot), 0), slot);
}

static void start_promise(unsigned slot)
{
	rpma_uv_future_t *f = rpma_uv_promise(&run.w->client, room(slot));

	again(f, slot);
	CHECK_OK(rpma_uv_resolve(f, 0, 0));
}

static void start_all(unsigned slot)
{
	rpma_uv_future_t *f[2];

	for (unsigned i = 0; i < 2; i++)
		f[i] = rpma_uv_read(run.p.c, NULL, local_of(&run.w->here, slot * LEN),
			remote_of(&run.w->there, 0), LEN, 0);
	again(rpma_uv_all(&run.w->client, run.from_slab ? NULL : &run.alls[slot], f, 2), slot);
}

static void start_any(unsigned slot)
{
	rpma_uv_future_t *f[2];

	f[0] = rpma_uv_read(run.p.c, NULL, local_of(&run.w->here, slot * LEN),
		remote_of(&run.w->there, 0), LEN, 0);
	f[1] = rpma_uv_sleep(&run.w->client, NULL, 1000000);
	again(rpma_uv_any(&run.w->client, run.from_slab ? NULL : &run.anys[slot], f, 2,
		      RPMA_UV_ANY_CANCEL),
		slot);
}

static rpma_uv_future_t *next(rpma_uv_future_t *done, void *data)
{
	(void)data;
	return rpma_uv_sleep(done->reactor, NULL, 0);
}

static void start_chain(unsigned slot)
{
	again(rpma_uv_chain(rpma_uv_sleep(&run.w->client, room(slot), 0), next, NULL), slot);
}

/* a time-out that is set and goes, as most do */
static void start_timeout(unsigned slot)
{
	rpma_uv_future_t *f = rpma_uv_read(run.p.c, room(slot), local_of(&run.w->here, slot * LEN),
		remote_of(&run.w->there, 0), LEN, 0);

	CHECK_OK(rpma_uv_timeout(f, 1000000, 0));
	again(f, slot);
}

static void on_work(rpma_uv_work_t *work)
{
	ended((unsigned)(uintptr_t)work->data);
}

static void start_work(unsigned slot)
{
	run.works[slot].data = (void *)(uintptr_t)slot;
	CHECK_OK(rpma_uv_reactor_post(&run.w->client, &run.works[slot], on_work));
}

static const struct {
	const char *name;
	void (*start)(unsigned slot);
} kinds[] = {
	{ "read", start_read },
	{ "write", start_write },
	{ "atomic_write", start_atomic_write },
	{ "flush", start_flush },
	{ "persist", start_persist },
	{ "send and recv", start_message },
	{ "srq_recv", start_shared },
	{ "file_write", start_file_write },
	{ "file_read", start_file_read },
	{ "file_sync", start_file_sync },
	{ "buf_wait", start_buf_wait },
	{ "sleep", start_sleep },
	{ "promise", start_promise },
	{ "all", start_all },
	{ "any", start_any },
	{ "chain", start_chain },
	{ "timeout", start_timeout },
	{ "reactor_post", start_work },
};

static void (*find_kind(const char *name))(unsigned slot)
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].start;
	}
	live_fail(__FILE__, __LINE__, name);
}

static void run_set(struct world *w)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = DEPTH, .chunk = 4096 };

	memset(&run, 0, sizeof(run));
	run.w = w;
	run.p = world_pair(w, 2 * DEPTH, 2 * DEPTH);
	run.shared_c = world_conn(w, &w->client, 0, 0);
	run.shared_s = world_conn(w, &w->server, 2 * DEPTH, 0);
	CHECK_OK(rpma_uv_srq_new(&w->client, w->peer, 2 * DEPTH, &run.srq));
	CHECK_OK(rpma_uv_conn_set_srq(run.shared_c, run.srq));
	world_join(w, run.shared_c, run.shared_s);
	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &opts, &run.pool), 0);
	run.file = world_file(w, "steady", O_CREAT | O_RDWR, 0);
	CHECK_OK(unlink(world_path(w, "steady")));
}

static void no_heap(struct world *w)
{
	for (unsigned k = 0; k < 2; k++) {
		run_set(w);
		run.from_slab = k > 0;
		run.start = find_kind(promise_now->subject);
		for (run.begun = 0; run.begun < DEPTH;)
			run.start(run.begun++);
		rpma_uv_reactor_ref(&w->client);
		UNTIL(w, run.ended == WARM + N);
		rpma_uv_reactor_unref(&w->client);
		CHECK_INT(heap_calls() - run.calls_warm, 0);
		CHECK_OK(uv_run(&w->loop, UV_RUN_DEFAULT)); /* what lost a race, too */
	}
}

/* ---- a transfer ------------------------------------------------------------------------------ */

static unsigned long transfer_calls;
static unsigned chunks;

static int on_chunk(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	(void)t;
	(void)base;
	(void)len;
	(void)offset;
	(void)data;
	if (++chunks == 64)
		transfer_calls = heap_calls();
	return 0;
}

static void transfers(struct world *w)
{
	const rpma_uv_transfer_opts_t opts = {
		.size = sizeof(opts), .chunk = 4096, .group_bytes = 65536, .on_chunk = on_chunk
	};
	rpma_uv_transfer_t *t;
	struct op op;

	run_set(w);
	chunks = 0;
	CHECK_OK(rpma_uv_transfer_new(run.pool, &opts, &t));
	watch(rpma_uv_pull(t, &op.op, run.p.c, remote_of(&w->there, 0), WORLD_MEM, run.file, 0),
		&op.done);
	ENDS(w, op, 0);
	CHECK_INT(heap_calls() - transfer_calls, 0);
	CHECK_INT(chunks, WORLD_MEM / 4096);
	CHECK_OK(rpma_uv_transfer_delete(&t));
}

/* ---- doorbells ------------------------------------------------------------------------------- */

#define CONNS 3
#define EACH  24

static void one_doorbell(struct world *w)
{
	static struct op ops[CONNS][EACH];
	rpma_uv_reactor_stats_t before, after;
	struct pair p[CONNS];

	for (unsigned k = 0; k < CONNS; k++)
		p[k] = world_pair(w, EACH, EACH);
	world_glance(w);
	before = stats_of(&w->client);
	for (unsigned i = 0; i < EACH; i++) {
		for (unsigned k = 0; k < CONNS; k++)
			op_write(w, p[k].c, &ops[k][i], i * LEN, LEN);
	}
	(void)uv_run(&w->loop, UV_RUN_NOWAIT);
	after = stats_of(&w->client);
	CHECK_INT(after.work_requests - before.work_requests, CONNS * EACH);
	CHECK_INT(after.doorbells - before.doorbells, CONNS);
	for (unsigned i = 0; i < EACH; i++) {
		for (unsigned k = 0; k < CONNS; k++)
			ENDS(w, ops[k][i], 0);
	}

	/* receives likewise */
	before = stats_of(&w->client);
	for (unsigned i = 0; i < EACH; i++) {
		for (unsigned k = 0; k < CONNS; k++)
			op_recv(p[k].c, &ops[k][i], &w->here, i * LEN, LEN);
	}
	(void)uv_run(&w->loop, UV_RUN_NOWAIT);
	after = stats_of(&w->client);
	CHECK_INT(after.work_requests - before.work_requests, CONNS * EACH);
	CHECK_INT(after.doorbells - before.doorbells, CONNS);
	for (unsigned k = 0; k < CONNS; k++)
		world_conn_close(w, p[k].c);
	for (unsigned i = 0; i < EACH; i++) {
		for (unsigned k = 0; k < CONNS; k++)
			CHECK_INT(ops[k][i].done.status, UV_ECANCELED);
	}
}

static void one_enter(struct world *w)
{
	static struct op ops[EACH];
	rpma_uv_reactor_stats_t before, after;

	run_set(w);
	world_glance(w);
	before = stats_of(&w->client);
	for (unsigned i = 0; i < EACH; i++) {
		watch(CALL(rpma_uv_file_write(run.file, &ops[i].op, buffer(0), 1, i * LEN, 0)),
			&ops[i].done);
	}
	(void)uv_run(&w->loop, UV_RUN_NOWAIT);
	after = stats_of(&w->client);
	CHECK_INT(after.ring_submitted - before.ring_submitted, EACH);
	CHECK_INT(after.ring_enters - before.ring_enters, 1);
	for (unsigned i = 0; i < EACH; i++)
		ENDS(w, ops[i], 0);
}

/* a program that calls more in each callback, and in callbacks of its own before and after */
static struct {
	uv_prepare_t prepare;
	uv_check_t check;
	uint64_t flushes, enters;
	uint64_t most_flushes, most_enters;
	unsigned turns;
} turns;

static void begin_turn(uv_prepare_t *prepare)
{
	rpma_uv_reactor_stats_t stats = stats_of(&run.w->client);

	(void)prepare;
	if (stats.flushes - turns.flushes > turns.most_flushes)
		turns.most_flushes = stats.flushes - turns.flushes;
	if (stats.ring_enters - turns.enters > turns.most_enters)
		turns.most_enters = stats.ring_enters - turns.enters;
	turns.flushes = stats.flushes;
	turns.enters = stats.ring_enters;
	turns.turns++;
}

static void start_both(unsigned slot)
{
	if (slot % 2 == 0)
		again(rpma_uv_file_write(run.file, room(slot), buffer(slot), 1, slot * LEN, 0),
			slot);
	else
		start_read(slot);
}

static void three_flushes(struct world *w)
{
	run_set(w);
	memset(&turns, 0, sizeof(turns));
	/* begun before its prepare handle, so it runs behind it: what a turn has done is seen in the next */
	CHECK_OK(uv_prepare_init(&w->loop, &turns.prepare));
	CHECK_OK(uv_prepare_start(&turns.prepare, begin_turn));
	uv_unref((uv_handle_t *)&turns.prepare);
	begin_turn(&turns.prepare);
	turns.most_flushes = turns.most_enters = 0;
	run.start = start_both;
	for (run.begun = 0; run.begun < DEPTH;)
		run.start(run.begun++);
	UNTIL(w, run.ended == WARM + N);
	CHECK(turns.turns > 1);
	CHECK(turns.most_flushes >= 1);
	CHECK(turns.most_flushes <= 3);
	CHECK(turns.most_enters >= 1);
	CHECK(turns.most_enters <= 3);
	uv_close((uv_handle_t *)&turns.prepare, NULL);
	world_glance(w);
}

int main(int argc, char *argv[])
{
	static struct promise_check checks[64];
	/* in the simulation the device's own calls would count */
	const unsigned wires = HEAP_IS_COUNTED ? ON_REAL_TIME : ON_NONE;
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		checks[n++] = (struct promise_check){ "no heap call an operation", no_heap, wires,
			kinds[i].name };
	checks[n++] = (struct promise_check){ "no heap call a chunk, nor a sync", transfers, wires,
		"pull" };
	checks[n++] = (struct promise_check){ "one doorbell a connection and flush", one_doorbell };
	checks[n++] = (struct promise_check){ "one io_uring_enter a flush", one_enter };
	checks[n++] = (struct promise_check){ "three flushes a turn at most", three_flushes };
	return promise_main(argc, argv, "09", checks, n);
}
