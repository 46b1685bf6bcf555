/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* steady.c - in the steady state an operation allocates nothing and shares its doorbell */

#include "rig.h"

#define OPS    30
#define ROUNDS 500

static unsigned done_count;

static void count_done(rpma_uv_future_t *f, int status)
{
	(void)f;
	assert_int_equal(status, 0);
	done_count++;
}

/* reads, writes, messages both ways, all and chain, all of the slab: the heap is not touched any more */
static rpma_uv_future_t *next(rpma_uv_future_t *f, void *data)
{
	(void)f;
	return rpma_uv_read(
		((struct rig_conn *)data)->conn, NULL, rig_local(0), rig_remote(64), 8, 0);
}

static void a_round(struct rig_conn *c)
{
	rpma_uv_future_t *f[OPS];

	for (unsigned i = 0; i < OPS; i++) {
		if (i % 6 == 0)
			f[i] = rpma_uv_write(c->conn, NULL, rig_remote(64), rig_local(0), 8, 0);
		else if (i % 3 == 0)
			f[i] = rpma_uv_read(c->conn, NULL, rig_local(0), rig_remote(64), 8, 0);
		else if (i % 3 == 1)
			f[i] = rpma_uv_send(c->conn, NULL, rig_local(0), 8, 0);
		else
			f[i] = rpma_uv_recv(c->conn, NULL, rig_local(0), 8);
	}
	rpma_uv_then(rpma_uv_all(&rig.reactor, NULL, f, OPS), count_done, NULL);
	rpma_uv_then(rpma_uv_chain(rpma_uv_send(c->conn, NULL, rig_local(0), 8, 0), next, c),
		count_done, NULL);
	for (unsigned done = done_count, turns = 0; done_count < done + 2; turns++) {
		assert_true(turns < RIG_TURNS);
		rig_glance();
		(void)double_complete_send(c->qp, OPS, IBV_WC_SUCCESS);
		while (double_pending_recvs(c->qp) > 0)
			assert_true(double_deliver(c->qp, "x", 1, NULL));
	}
}

static void steady__no_allocation(void **state)
{
	unsigned allocs;
	uint64_t objects, doorbells, turns;
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 100, 100);
	a_round(&c);
	allocs = unit_allocs();
	objects = rig_stats().slab_objects;
	doorbells = rig_stats().doorbells;
	turns = rig.polls;
	for (unsigned round = 0; round < ROUNDS; round++)
		a_round(&c);
	assert_int_equal(unit_allocs(), allocs);
	assert_int_equal(rig_stats().slab_objects, objects);
	/* a list of sends and one of receives for each flush, of which a turn has three at most */
	assert_true(rig_stats().doorbells - doorbells <= 2 * 3 * (rig.polls - turns));
	assert_true(rig_stats().doorbells - doorbells < ROUNDS * OPS / 4);
	assert_int_equal(rig_stats().futures_pending, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(steady__no_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
