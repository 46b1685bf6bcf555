/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* then.c - a future's one callback: when, how often, and what it sees */

#include "rig.h"

static void never(rpma_uv_future_t *f, int status)
{
	(void)f;
	(void)status;
	fail();
}

/* registered before: runs in a later phase, once, with the outcome */
static void then__before_done(void **state)
{
	rpma_uv_op_t op;
	struct rig_done done;
	rpma_uv_future_t *f;

	(void)state;
	/* arrange */
	memset(&op, 0xa5, sizeof(op)); /* storage need not be initialised */
	f = rpma_uv_promise(&rig.reactor, &op);
	assert_ptr_equal(f, &op.future);
	assert_ptr_equal(f->reactor, &rig.reactor);
	assert_int_equal(f->status, RPMA_UV_PENDING);
	assert_ptr_equal(rig_watch(f, &done), f);
	assert_ptr_equal(f->data, &done);

	/* run */
	rig_settle();
	assert_int_equal(done.times, 0);
	assert_int_equal(rpma_uv_resolve(f, 0, 42), 0);

	/* verify: not within the call, and not visible before its phase */
	assert_int_equal(done.times, 0);
	assert_int_equal(f->status, RPMA_UV_PENDING);
	RIG_UNTIL(done.times > 0);
	assert_int_equal(done.result, 42);
	assert_int_equal(f->status, 0);
	rig_close();
	assert_done(done, 0);
}

/* registered after: runs in the next turn, with the same outcome */
static void then__after_done(void **state)
{
	struct rig_done done;
	rpma_uv_op_t op;
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);

	(void)state;
	/* arrange */
	assert_int_equal(rpma_uv_resolve(f, UV_EIO, 0), 0);
	RIG_UNTIL(f->status != RPMA_UV_PENDING);
	assert_int_equal(rig_stats().futures_pending, 0);
	assert_false(uv_loop_alive(&rig.loop));

	/* run */
	rig_watch(f, &done);

	/* verify */
	assert_int_equal(done.times, 0);
	assert_true(uv_loop_alive(&rig.loop));
	RIG_UNTIL(done.times > 0);
	rig_close();
	assert_done(done, UV_EIO);
}

/* the same for one of the slab, which nobody has consumed until then */
static void then__after_done_from_slab(void **state)
{
	struct rig_done done;
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, NULL);
	uint64_t objects = rig_stats().slab_objects;

	(void)state;
	assert_int_equal(rpma_uv_resolve(f, 0, 7), 0);
	RIG_UNTIL(f->status == 0);
	rig_watch(f, &done);
	RIG_UNTIL(done.times > 0);
	assert_int_equal(done.result, 7);

	/* it has gone back to the slab: its place is the next one's */
	assert_ptr_equal(rpma_uv_promise(&rig.reactor, NULL), f);
	assert_int_equal(rig_stats().slab_objects, objects);
}

/* a second callback, none, and no future: nothing is registered */
static void then__refused(void **state)
{
	rpma_uv_op_t op;
	struct rig_done done;
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);

	(void)state;
	assert_null(rpma_uv_then(NULL, never, NULL));
	assert_null(rpma_uv_then(f, NULL, NULL));
	rig_watch(f, &done);
	assert_null(rpma_uv_then(f, never, NULL));
	assert_ptr_equal(f->data, &done);
	assert_int_equal(rpma_uv_resolve(f, 0, 0), 0);
	assert_null(rpma_uv_then(f, never, NULL));
	RIG_UNTIL(done.times > 0);
	assert_null(rpma_uv_then(f, never, NULL));
	rig_settle();
	assert_done(done, 0);
}

static rpma_uv_op_t again_op;
static unsigned again_left;

static void again(rpma_uv_future_t *f, int status)
{
	assert_int_equal(status, 0);
	assert_ptr_equal(f, &again_op.future);
	if (--again_left == 0)
		return;
	/* the storage is ours again in the callback */
	f = rpma_uv_promise(&rig.reactor, &again_op);
	assert_ptr_equal(rpma_uv_then(f, again, NULL), f);
	assert_int_equal(rpma_uv_resolve(f, 0, 0), 0);
}

/* storage is reused in the callback; what becomes ready there waits for a later phase */
static void then__reuse_in_callback(void **state)
{
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &again_op);

	(void)state;
	again_left = 5;
	rpma_uv_then(f, again, NULL);
	assert_int_equal(rpma_uv_resolve(f, 0, 0), 0);
	rig_glance();
	assert_true(again_left >= 2); /* two phases a turn */
	RIG_UNTIL(again_left == 0);
	assert_int_equal(rig_stats().callbacks, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(then__before_done),
		RIG_TEST(then__after_done),
		RIG_TEST(then__after_done_from_slab),
		RIG_TEST(then__refused),
		RIG_TEST(then__reuse_in_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
