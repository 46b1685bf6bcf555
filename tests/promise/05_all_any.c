/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* 05_all_any.c - when one future for many is done, and with what */

#include "promise.h"

#define N   12
#define LEN 64

struct inputs {
	rpma_uv_op_t op[N];
	rpma_uv_future_t *f[N];
};

/* promises of the program, which it ends as it likes */
static void promises(struct world *w, struct inputs *in)
{
	for (unsigned i = 0; i < N; i++)
		in->f[i] = CALL(rpma_uv_promise(&w->client, &in->op[i]));
}

/* any order: the numbers below N, each once */
static void shuffle(unsigned order[N])
{
	for (unsigned i = 0; i < N; i++)
		order[i] = i;
	for (unsigned i = N; i > 1; i--) {
		unsigned j = below(i), kept = order[j];

		order[j] = order[i - 1];
		order[i - 1] = kept;
	}
}

static void all_when_all(struct world *w)
{
	unsigned order[N];
	struct inputs in;
	rpma_uv_all_t all;
	struct done done;

	promises(w, &in);
	shuffle(order);
	watch(CALL(rpma_uv_all(&w->client, &all, in.f, N)), &done);
	for (unsigned i = 0; i < N; i++) {
		world_glance(w);
		CHECK_INT(done.times, 0);
		CHECK_OK(CALL(rpma_uv_resolve(in.f[order[i]], 0, 1)));
	}
	UNTIL(w, done.times == 1);
	CHECK_OK(done.status);
	CHECK_INT(done.result, N);
	CHECK_INT(all.total, N);
	CHECK_INT(all.failed, 0);
}

static void all_first_failure(struct world *w)
{
	unsigned order[N], failed = 0;
	struct inputs in;
	rpma_uv_all_t all;
	struct done done;
	int first = 0;

	promises(w, &in);
	shuffle(order);
	watch(CALL(rpma_uv_all(&w->client, &all, in.f, N)), &done);
	for (unsigned i = 0; i < N; i++) {
		/* one at least, each with a status of its own */
		int status = i == N / 2 || below(3) == 0 ? -1000 - (int)i : 0;

		if (status != 0 && failed++ == 0)
			first = status;
		CHECK_OK(CALL(rpma_uv_resolve(in.f[order[i]], status, 0)));
		if (below(2))
			world_glance(w);
	}
	UNTIL(w, done.times == 1);
	CHECK_INT(done.status, first);
	CHECK_INT(all.failed, failed);
	CHECK_INT(all.total, N);
	for (unsigned i = 0; i < N; i++)
		CHECK(in.f[i]->status <= 0); /* every one of them was waited for */
}

static void any_first_success(struct world *w)
{
	unsigned order[N], winner = below(N - 1);
	struct inputs in;
	rpma_uv_any_t any;
	struct done done;

	promises(w, &in);
	shuffle(order);
	watch(CALL(rpma_uv_any(&w->client, &any, in.f, N, 0)), &done);
	for (unsigned i = 0; i < winner; i++) {
		CHECK_OK(CALL(rpma_uv_resolve(in.f[order[i]], UV_EIO, 0)));
		world_glance(w);
		CHECK_INT(done.times, 0);
	}
	CHECK_OK(CALL(rpma_uv_resolve(in.f[order[winner]], 0, 4711)));
	UNTIL(w, done.times == 1);
	CHECK_OK(done.status);
	CHECK_INT(done.result, 4711);
	CHECK_INT(any.winner, order[winner]);
	CHECK_INT(any.failed, winner);
	/* the others run on */
	for (unsigned i = winner + 1; i < N; i++) {
		CHECK_INT(in.f[order[i]]->status, RPMA_UV_PENDING);
		CHECK_OK(CALL(rpma_uv_resolve(in.f[order[i]], 0, 0)));
	}
	for (unsigned i = 0; i < N; i++)
		UNTIL(w, in.f[i]->status != RPMA_UV_PENDING);
}

static void any_last_failure(struct world *w)
{
	unsigned order[N];
	struct inputs in;
	rpma_uv_any_t any;
	struct done done;

	promises(w, &in);
	shuffle(order);
	watch(CALL(rpma_uv_any(&w->client, &any, in.f, N, 0)), &done);
	for (unsigned i = 0; i < N; i++) {
		world_glance(w);
		CHECK_INT(done.times, 0);
		CHECK_OK(CALL(rpma_uv_resolve(in.f[order[i]], -1000 - (int)i, 0)));
	}
	UNTIL(w, done.times == 1);
	CHECK_INT(done.status, -1000 - (N - 1));
	CHECK_INT(any.failed, N);
	CHECK_INT(any.winner, N);
}

static void done_already(struct world *w)
{
	struct inputs in;
	rpma_uv_all_t all;
	rpma_uv_any_t any;
	struct done done;

	promises(w, &in);
	for (unsigned i = 0; i < N; i++)
		CHECK_OK(CALL(rpma_uv_resolve(in.f[i], i == 3 ? UV_EIO : 0, i)));
	for (unsigned i = 0; i < N; i++)
		UNTIL(w, in.f[i]->status != RPMA_UV_PENDING);
	watch(CALL(rpma_uv_all(&w->client, &all, in.f, N)), &done);
	CHECK_INT(done.times, 0);
	world_glance(w); /* nothing is slept for */
	CHECK_INT(done.times, 1);
	CHECK_INT(done.status, UV_EIO);
	CHECK_INT(all.failed, 1);

	promises(w, &in);
	CHECK_OK(CALL(rpma_uv_resolve(in.f[2], UV_EIO, 0)));
	CHECK_OK(CALL(rpma_uv_resolve(in.f[7], 0, 7)));
	UNTIL(w, in.f[7]->status != RPMA_UV_PENDING);
	watch(CALL(rpma_uv_any(&w->client, &any, in.f, N, RPMA_UV_ANY_CANCEL)), &done);
	CHECK_INT(done.times, 0);
	world_glance(w);
	CHECK_INT(done.times, 1);
	CHECK_INT(any.winner, 7);
	CHECK_INT(done.result, 7);
	for (unsigned i = 0; i < N; i++)
		UNTIL(w, in.f[i]->status != RPMA_UV_PENDING);
}

static void of_none(struct world *w)
{
	rpma_uv_all_t all;
	rpma_uv_any_t any;
	struct done done[2];

	watch(CALL(rpma_uv_all(&w->client, &all, NULL, 0)), &done[0]);
	watch(CALL(rpma_uv_any(&w->client, &any, NULL, 0, 0)), &done[1]);
	CHECK_INT(done[0].times + done[1].times, 0);
	(void)uv_run(&w->loop, UV_RUN_NOWAIT); /* the next ready phase */
	CHECK_INT(done[0].times, 1);
	CHECK_OK(done[0].status);
	CHECK_INT(done[1].times, 1);
	CHECK_INT(done[1].status, UV_EINVAL);
}

/* the same of operations that a device does, some of which fail */
static void of_operations(struct world *w)
{
	struct pair p = world_pair(w, 4, 4);
	rpma_uv_future_t *f[N];
	struct op ops[N], fails;
	struct done done[2];
	rpma_uv_all_t all;
	rpma_uv_any_t any;

	for (unsigned i = 0; i < N; i++) {
		op_read(w, p.c, &ops[i], i * LEN, LEN);
		f[i] = &ops[i].op.future;
	}
	watch(CALL(rpma_uv_all(&w->client, &all, f, N)), &done[0]);
	UNTIL(w, done[0].times == 1);
	CHECK_OK(done[0].status);
	CHECK_INT(done[0].result, N);
	for (unsigned i = 0; i < N; i++) {
		CHECK_INT(ops[i].done.times, 1);
		CHECK(ops[i].done.at < done[0].at); /* an input's own callback comes first */
	}

	/* a range outside of the region, and a read */
	watch(CALL(rpma_uv_read(p.c, &fails.op, local_of(&w->here, 0),
		      remote_of(&w->there, WORLD_MEM), LEN, 0)),
		&fails.done);
	op_read(w, p.c, &ops[0], 0, LEN);
	f[0] = &fails.op.future;
	f[1] = &ops[0].op.future;
	watch(CALL(rpma_uv_any(&w->client, &any, f, 2, 0)), &done[1]);
	UNTIL(w, done[1].times == 1);
	CHECK_OK(done[1].status);
	CHECK_INT(done[1].result, LEN);
	CHECK_INT(any.winner, 1);
	CHECK_INT(fails.done.status, UV_EINVAL);
}

PROMISE_MAIN("05", { "all is done when all inputs are, with their number", all_when_all },
	{ "all: the status is that of the first to fail, with the count", all_first_failure },
	{ "any is done with the first success", any_first_success },
	{ "any: with the last failure when all have failed", any_last_failure },
	{ "inputs that are done already count at once", done_already },
	{ "of none all ends 0 and any UV_EINVAL, both in the next ready phase", of_none },
	{ "of operations of a device too", of_operations })
