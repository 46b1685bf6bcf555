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
	assert_int_equal(rpma_uv_cancel(f, 2), UV_EINVAL);
	assert_int_equal(rpma_uv_cancel(f, 1u << 31), UV_EINVAL);
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

static unsigned next_calls;

static rpma_uv_future_t *next_counts(rpma_uv_future_t *f, void *data)
{
	(void)f;
	next_calls++;
	return data;
}

/* chain, when its first step is done and next is still to be called: it is not called any more */
static void cancel__chain_between_steps(void **state)
{
	rpma_uv_op_t op;
	rpma_uv_future_t *first = rpma_uv_promise(&rig.reactor, &op), *chain;
	struct rig_done done;

	(void)state;
	chain = rig_watch(rpma_uv_chain(first, next_counts, NULL), &done);
	next_calls = 0;
	rpma_uv_resolve(first, 0, 0);
	assert_int_equal(rpma_uv_cancel(chain, 0), 0);
	assert_int_equal(rpma_uv_cancel(chain, 0), UV_EALREADY);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ECANCELED);
	assert_int_equal(next_calls, 0);
	assert_int_equal(first->status, 0);

	/* the first has failed: that is the outcome, there is nothing to cancel */
	first = rpma_uv_promise(&rig.reactor, &op);
	chain = rig_watch(rpma_uv_chain(first, next_counts, NULL), &done);
	rpma_uv_resolve(first, UV_EIO, 0);
	assert_int_equal(rpma_uv_cancel(chain, 0), UV_EALREADY);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EIO);
}

static rpma_uv_future_t *last;

static rpma_uv_future_t *next_cancels_and_goes_on(rpma_uv_future_t *f, void *data)
{
	(void)f;
	assert_int_equal(rpma_uv_cancel(*(rpma_uv_future_t **)data, 0), 0);
	assert_int_equal(rpma_uv_cancel(*(rpma_uv_future_t **)data, 0), UV_EALREADY);
	return last;
}

/* chain, while next is being called: what it returns is cancelled; what is posted runs */
static void cancel__chain_within_next(void **state)
{
	rpma_uv_op_t ops[2];
	rpma_uv_future_t *first, *chain;
	struct rig_done done;
	struct rig_op read;
	struct rig_conn c;

	(void)state;
	first = rpma_uv_promise(&rig.reactor, &ops[0]);
	last = rpma_uv_promise(&rig.reactor, &ops[1]);
	chain = rig_watch(rpma_uv_chain(first, next_cancels_and_goes_on, &chain), &done);
	rpma_uv_resolve(first, 0, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ECANCELED);
	assert_int_equal(last->status, UV_ECANCELED);

	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_settle();
	first = rpma_uv_promise(&rig.reactor, &ops[0]);
	last = &read.op.future;
	chain = rig_watch(rpma_uv_chain(first, next_cancels_and_goes_on, &chain), &done);
	rpma_uv_resolve(first, 0, 0);
	rig_settle();
	assert_int_equal(done.times, 0);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
}

/* chain, when its last step is done and has not told: there is nothing left to cancel */
static void cancel__chain_at_its_end(void **state)
{
	rpma_uv_op_t ops[2];
	rpma_uv_future_t *first, *chain;
	struct rig_done done;

	(void)state;
	first = rpma_uv_promise(&rig.reactor, &ops[0]);
	last = rpma_uv_promise(&rig.reactor, &ops[1]);
	chain = rig_watch(rpma_uv_chain(first, next, last), &done);
	rpma_uv_resolve(first, 0, 0);
	rig_settle();
	rpma_uv_resolve(last, 0, 9);
	assert_int_equal(rpma_uv_cancel(chain, RPMA_UV_FORCE), UV_EALREADY);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 9);
}

/* any: passed on; all of its inputs may end of it, or a success may still come */
static void cancel__any(void **state)
{
	rpma_uv_future_t *f[2];
	struct rig_done done;
	struct rig_op read;
	rpma_uv_any_t any;
	rpma_uv_op_t op;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_settle();
	f[0] = &read.op.future;
	f[1] = rpma_uv_promise(&rig.reactor, &op);
	rig_watch(rpma_uv_any(&rig.reactor, &any, f, 2, 0), &done);
	assert_int_equal(rpma_uv_cancel(&any.future, 0), UV_EBUSY);
	rig_settle();
	assert_int_equal(op.future.status, UV_ECANCELED);
	assert_int_equal(done.times, 0);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(any.winner, 0);
	assert_int_equal(any.failed, 1);

	f[0] = rpma_uv_sleep(&rig.reactor, NULL, 100);
	f[1] = rpma_uv_promise(&rig.reactor, NULL);
	rig_watch(rpma_uv_any(&rig.reactor, &any, f, 2, 0), &done);
	assert_int_equal(rpma_uv_cancel(&any.future, 0), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ECANCELED);
	assert_int_equal(any.failed, 2);
	rig_slab_is(64);
}

/* an input that is over, but for the telling, is no refusal */
static void cancel__all_with_one_over(void **state)
{
	rpma_uv_op_t ops[2];
	rpma_uv_future_t *f[2], *first;
	struct rig_done done;
	rpma_uv_all_t all;

	(void)state;
	first = rpma_uv_promise(&rig.reactor, &ops[0]);
	f[0] = rpma_uv_chain(first, next, NULL);
	f[1] = rpma_uv_promise(&rig.reactor, &ops[1]);
	rig_watch(rpma_uv_all(&rig.reactor, &all, f, 2), &done);
	rpma_uv_resolve(first, UV_EIO, 0);
	assert_int_equal(rpma_uv_cancel(&all.future, 0), 0);
	RIG_UNTIL(done.times > 0);
	assert_int_equal(all.failed, 2);
	assert_int_equal(ops[1].future.status, UV_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(cancel__null_and_done),
		RIG_TEST(cancel__all),
		RIG_TEST(cancel__all_with_posted),
		RIG_TEST(cancel__chain),
		RIG_TEST(cancel__chain_between_steps),
		RIG_TEST(cancel__chain_within_next),
		RIG_TEST(cancel__chain_at_its_end),
		RIG_TEST(cancel__any),
		RIG_TEST(cancel__all_with_one_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
