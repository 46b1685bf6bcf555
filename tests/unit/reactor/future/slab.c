/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* slab.c - room for futures: released, consumed, grown once and never again */

#include "rig.h"

/* as many as are pending at once, and no more, over many cycles of every way to consume one */
static void slab__high_water_mark(void **state)
{
	rpma_uv_future_t *f[10];
	unsigned allocs = 0;

	(void)state;
	for (unsigned cycle = 0; cycle < 10000; cycle++) {
		struct rig_done done;

		for (unsigned i = 0; i < 10; i++)
			f[i] = rpma_uv_promise(&rig.reactor, NULL);
		for (unsigned i = 0; i < 10; i++)
			assert_int_equal(rpma_uv_resolve(f[i], 0, i), 0);
		rpma_uv_release(f[0]); /* before it is done */
		rig_watch(f[1], &done); /* by its callback */
		rpma_uv_release(rpma_uv_all(&rig.reactor, NULL, &f[2], 3)); /* by a parent */
		assert_int_equal(rpma_uv_wait(f[5], UINT64_MAX, NULL), 0);
		rig_glance();
		assert_done(done, 0);
		for (unsigned i = 6; i < 10; i++) {
			assert_int_equal(f[i]->result, i);
			rpma_uv_release(f[i]); /* after it was looked at */
		}
		if (cycle == 0)
			allocs = unit_allocs();
	}
	assert_int_equal(unit_allocs(), allocs);
	rig_slab_is(64);
}

/* it grows by what is needed at once */
static void slab__grows(void **state)
{
	rpma_uv_future_t *f[130];

	(void)state;
	assert_int_equal(rig_stats().slab_objects, 0);
	for (unsigned i = 0; i < 130; i++)
		f[i] = rpma_uv_promise(&rig.reactor, NULL);
	assert_int_equal(rig_stats().slab_objects, 192);
	assert_int_equal(rig_stats().futures_pending, 130);
	for (unsigned i = 0; i < 130; i++)
		rpma_uv_release(f[i]);
	rig_close(); /* those that nobody resolved are cancelled */
}

/* no room: NULL, and the next one succeeds */
static void slab__out_of_memory(void **state)
{
	(void)state;
	unit_alloc_fail(1);
	assert_null(rpma_uv_promise(&rig.reactor, NULL));
	assert_int_equal(rig_stats().futures_pending, 0);
	assert_false(uv_loop_alive(&rig.loop));
	assert_non_null(rpma_uv_promise(&rig.reactor, NULL));
}

/* while the reactor closes there is nothing to refuse a call with but NULL */
static void slab__out_of_memory_when_refused(void **state)
{
	(void)state;
	rig_close_begin();
	unit_alloc_fail(1);
	assert_null(rpma_uv_promise(&rig.reactor, NULL));
}

/* release of what is not the slab's, has a callback or a parent, or is nothing: no effect */
static void release__ignored(void **state)
{
	rpma_uv_op_t op;
	rpma_uv_future_t *embedded = rpma_uv_promise(&rig.reactor, &op);
	rpma_uv_future_t *called = rpma_uv_promise(&rig.reactor, NULL);
	rpma_uv_future_t *child = rpma_uv_promise(&rig.reactor, NULL), *all;
	struct rig_done done;

	(void)state;
	rpma_uv_release(NULL);
	rpma_uv_release(embedded);
	rig_watch(called, &done);
	rpma_uv_release(called);
	all = rpma_uv_all(&rig.reactor, NULL, &child, 1);
	rpma_uv_release(child);
	rpma_uv_resolve(embedded, 0, 1);
	rpma_uv_resolve(called, 0, 2);
	rpma_uv_resolve(child, 0, 3);
	RIG_UNTIL(all->status == 0);
	assert_int_equal(embedded->result, 1);
	assert_int_equal(child->result, 3);
	assert_done(done, 0);
	rpma_uv_release(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(slab__high_water_mark),
		RIG_TEST(slab__grows),
		RIG_TEST(slab__out_of_memory),
		RIG_TEST(slab__out_of_memory_when_refused),
		RIG_TEST(release__ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
