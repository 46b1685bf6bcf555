/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* stop.c - operations that are cancelled, released or closed over */

#include "rig.h"

static struct rig_op ops[4];

/* waiting: taken out, ECANCELED; posted: EBUSY, it cannot be recalled */
static void stop__cancel(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 2, 1);
	rig_read(&c, &ops[0], 8);
	rig_send(&c, &ops[1], 8);
	rig_settle();
	rig_send(&c, &ops[2], 8);
	rig_read(&c, &ops[3], 8);
	rig_settle(); /* two are posted, two wait */
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, 0), UV_EBUSY);
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, 0), UV_EBUSY);
	assert_int_equal(rpma_uv_cancel(&ops[2].op.future, 0), 0);
	assert_int_equal(ops[2].done.times, 0);
	assert_int_equal(rpma_uv_cancel(&ops[2].op.future, 0), UV_EALREADY);
	rig_settle();
	assert_done(ops[2].done, UV_ECANCELED);
	double_complete_send(c.qp, 2, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[0].done, 0);
	assert_done(ops[1].done, 0);
	assert_int_equal(double_pending_sends(c.qp), 1);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(ops[3].done, 0);
	assert_int_equal(double_sends(c.qp), 3); /* what was cancelled never went out */
}

/* before the first flush everything waits */
static void stop__cancel_before_flush(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_settle();
	rig_read(&c, &ops[0], 8);
	rig_recv(&c, &ops[1], 8);
	assert_int_equal(rpma_uv_cancel(&ops[0].op.future, 0), 0);
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, 0), 0);
	rig_settle();
	assert_done(ops[0].done, UV_ECANCELED);
	assert_done(ops[1].done, UV_ECANCELED);
	assert_int_equal(double_sends(c.qp), 0);
	/* a receive that is posted cannot be recalled either */
	rig_recv(&c, &ops[1], 8);
	rig_settle();
	assert_int_equal(rpma_uv_cancel(&ops[1].op.future, 0), UV_EBUSY);
	rig_close();
}

/* released while posted: its record lives until the completion, then its room is used again */
static void stop__released_while_posted(void **state)
{
	rpma_uv_future_t *f;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_slab_is(64);
	f = rpma_uv_read(c.conn, NULL, rig_local(0), rig_remote(40000), 64, 0);
	rpma_uv_release(f);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 1);
	/* its room is not given away meanwhile */
	for (unsigned i = 0; i < 63; i++) {
		rpma_uv_future_t *other = rpma_uv_promise(&rig.reactor, NULL);

		assert_ptr_not_equal(other, f);
		rpma_uv_resolve(other, 0, 0);
		rpma_uv_release(other);
	}
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_memory_equal(rig.mem, rig.mem + 40000, 64);
	rig_slab_is(64);

	/* and by a wait that gave up */
	f = rpma_uv_read(c.conn, NULL, rig_local(0), rig_remote(40000), 64, 0);
	assert_int_equal(rpma_uv_wait(f, 10, NULL), RPMA_UV_PENDING);
	rpma_uv_release(f);
	rig_conn_gone(&c); /* flushed */
	rig_slab_is(64);
}

/* a wait that gives up leaves the operation to the device */
static void stop__wait_gives_up(void **state)
{
	rpma_uv_future_t *f;
	struct rig_conn c;
	int64_t result = 0;

	(void)state;
	rig_conn_ready(&c, NULL);
	f = rpma_uv_read(c.conn, &ops[0].op, rig_local(0), rig_remote(40000), 64, 0);
	assert_int_equal(rpma_uv_wait(f, 100, NULL), RPMA_UV_PENDING);
	assert_int_equal(f->status, RPMA_UV_PENDING);
	assert_int_equal(rpma_uv_cancel(f, 0), UV_EBUSY);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	assert_int_equal(rpma_uv_wait(f, 100, &result), 0);
	assert_int_equal(result, 64);
	assert_memory_equal(rig.mem, rig.mem + 40000, 64);
}

/* closed over: what waits ends without having been posted */
static void stop__closed_over(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 2, 1);
	for (unsigned i = 0; i < 4; i++)
		rig_send(&c, &ops[i], 8);
	rig_conn_gone(&c);
	for (unsigned i = 0; i < 4; i++)
		assert_done(ops[i].done, UV_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(stop__cancel),
		RIG_TEST(stop__cancel_before_flush),
		RIG_TEST(stop__released_while_posted),
		RIG_TEST(stop__wait_gives_up),
		RIG_TEST(stop__closed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
