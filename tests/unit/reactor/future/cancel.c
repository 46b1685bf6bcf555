/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* cancel.c - asking a future to end early: each sort of future and each state */

#include "rig.h"

/* nothing; done; twice */
static void cancel__null_and_done(void **state)
{
	rpma_uv_op_t op;
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);

	(void)state;
	assert_int_equal(rpma_uv_cancel(NULL, 0), UV_EINVAL);
	assert_int_equal(rpma_uv_cancel(f, 0), 0);
	assert_int_equal(f->status, RPMA_UV_PENDING); /* not within the call */
	assert_int_equal(rpma_uv_cancel(f, 0), UV_EALREADY);
	assert_int_equal(rig_await(f), UV_ECANCELED);
	assert_int_equal(rpma_uv_cancel(f, 0), UV_EALREADY);
}

/* all: passed on to those that still run */
static void cancel__all(void **state)
{
	rpma_uv_op_t ops[3];
	rpma_uv_future_t *f[3];
	struct rig_done done;
	rpma_uv_all_t all;

	(void)state;
	for (int i = 0; i < 3; i++)
		f[i] = rpma_uv_promise(&rig.reactor, &ops[i]);
	rig_watch(rpma_uv_all(&rig.reactor, &all, f, 3), &done);
	rpma_uv_resolve(f[1], 0, 0);
	assert_int_equal(rpma_uv_cancel(&all.future, 0), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ECANCELED);
	assert_int_equal(all.failed, 2);
	assert_int_equal(f[1]->status, 0);
	assert_int_equal(rpma_uv_cancel(&all.future, 0), UV_EALREADY);
}

/* all with one that cannot be recalled: EBUSY, the others are cancelled all the same */
static void cancel__all_with_posted(void **state)
{
	struct rig_op read;
	rpma_uv_op_t op;
	struct rig_conn c;
	rpma_uv_future_t *f[2];
	struct rig_done done;
	rpma_uv_all_t all;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_settle();
	f[0] = &read.op.future;
	f[1] = rpma_uv_promise(&rig.reactor, &op);
	rig_watch(rpma_uv_all(&rig.reactor, &all, f, 2), &done);
	assert_int_equal(rpma_uv_cancel(&all.future, 0), UV_EBUSY);
	rig_settle();
	assert_int_equal(op.future.status, UV_ECANCELED);
	assert_int_equal(done.times, 0);
	assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ECANCELED);
	assert_int_equal(all.failed, 1);
	assert_done(read.done, 0);
}

static rpma_uv_future_t *next(rpma_uv_future_t *f, void *data)
{
	(void)f;
	return data;
}

static int cancel_status;

static rpma_uv_future_t *next_cancels(rpma_uv_future_t *f, void *data)
{
	(void)f;
	cancel_status = rpma_uv_cancel(*(rpma_uv_future_t **)data, 0);
	return NULL;
}

/* chain: passed on to the step that is waited for */
static void cancel__chain(void **state)
{
	rpma_uv_op_t ops[2];
	rpma_uv_future_t *first, *second, *chain;

	(void)state;
	first = rpma_uv_promise(&rig.reactor, &ops[0]);
	chain = rpma_uv_chain(first, next, NULL);
	assert_int_equal(rpma_uv_cancel(chain, 0), 0);
	assert_int_equal(rpma_uv_cancel(chain, 0), UV_EALREADY);
	assert_int_equal(rig_await(chain), UV_ECANCELED);

	first = rpma_uv_promise(&rig.reactor, &ops[0]);
	second = rpma_uv_promise(&rig.reactor, &ops[1]);
	chain = rpma_uv_chain(first, next, second);
	rpma_uv_resolve(first, 0, 0);
	rig_settle();
	assert_int_equal(rpma_uv_cancel(chain, 0), 0);
	assert_int_equal(rig_await(chain), UV_ECANCELED);
	assert_int_equal(second->status, UV_ECANCELED);

	/* in next itself there is no step to cancel, and none comes */
	first = rpma_uv_promise(&rig.reactor, &ops[0]);
	chain = rpma_uv_chain(first, next_cancels, &chain);
	rpma_uv_resolve(first, 0, 0);
	assert_int_equal(rig_await(chain), UV_ENOMEM);
	assert_int_equal(cancel_status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(cancel__null_and_done),
		RIG_TEST(cancel__all),
		RIG_TEST(cancel__all_with_posted),
		RIG_TEST(cancel__chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
