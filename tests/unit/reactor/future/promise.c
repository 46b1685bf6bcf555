/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* promise.c - a future that the program completes */

#include "rig.h"

static struct rig_done unseen;

/* resolved once: success with a result, or a failure */
static void promise__resolve(void **state)
{
	rpma_uv_op_t op;
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);

	(void)state;
	assert_int_equal(rpma_uv_resolve(f, 0, INT64_MIN), 0);
	assert_int_equal(rpma_uv_resolve(f, 0, 1), UV_EALREADY);
	assert_int_equal(rig_await(f), 0);
	assert_int_equal(f->result, INT64_MIN);
	assert_int_equal(rpma_uv_resolve(f, 0, 1), UV_EALREADY);
	f = rpma_uv_promise(&rig.reactor, &op);
	assert_int_equal(rpma_uv_resolve(f, UV_EIO, 1), 0);
	assert_int_equal(rig_await(f), UV_EIO);
}

/* a positive status, nothing, and what is no promise */
static void promise__refused(void **state)
{
	rpma_uv_op_t op;
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);
	rpma_uv_future_t *all = rpma_uv_all(&rig.reactor, NULL, &f, 1);

	(void)state;
	assert_int_equal(rpma_uv_resolve(NULL, 0, 0), UV_EINVAL);
	assert_int_equal(rpma_uv_resolve(f, RPMA_UV_PENDING, 0), UV_EINVAL);
	assert_int_equal(rpma_uv_resolve(all, 0, 0), UV_EINVAL);
	assert_int_equal(f->status, RPMA_UV_PENDING);
	assert_int_equal(rpma_uv_resolve(f, 0, 0), 0);
	assert_int_equal(rig_await(all), 0);
}

/* it keeps the loop alive until it is resolved */
static void promise__keeps_loop_alive(void **state)
{
	rpma_uv_op_t op;
	rpma_uv_future_t *f;

	(void)state;
	assert_false(uv_loop_alive(&rig.loop));
	f = rpma_uv_promise(&rig.reactor, &op);
	assert_true(uv_loop_alive(&rig.loop));
	rig_glance();
	assert_true(rig_is_asleep());
	rpma_uv_resolve(f, 0, 0);
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(f->status, 0);
}

/* the reactor closes: unresolved ones are cancelled, resolved ones keep their outcome */
static void promise__reactor_closes(void **state)
{
	rpma_uv_op_t ops[3];
	struct rig_done done[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		rig_watch(rpma_uv_promise(&rig.reactor, &ops[i]), &done[i]);
	rpma_uv_resolve(&ops[1].future, 0, 9);
	rig_close_begin();
	assert_int_equal(done[0].times, 0);
	assert_int_equal(rpma_uv_resolve(&ops[0].future, 0, 0), UV_EALREADY);
	rig_watch(rpma_uv_promise(&rig.reactor, NULL), &unseen); /* refused from now on */
	rig_close();
	assert_done(done[0], UV_ECANCELED);
	assert_done(done[1], 0);
	assert_done(done[2], UV_ECANCELED);
	assert_done(unseen, UV_ECANCELED);
	assert_true(unseen.at < rig.closed_at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(promise__resolve),
		RIG_TEST(promise__refused),
		RIG_TEST(promise__keeps_loop_alive),
		RIG_TEST(promise__reactor_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
