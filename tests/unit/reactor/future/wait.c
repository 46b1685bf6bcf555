/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* wait.c - running the loop until a future is done */

#include "rig.h"

/* the status and the result; a failure leaves the result alone */
static void wait__result(void **state)
{
	rpma_uv_op_t op;
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);
	int64_t result = -7;

	(void)state;
	rpma_uv_resolve(f, 0, 99);
	assert_int_equal(rpma_uv_wait(f, UINT64_MAX, &result), 0);
	assert_int_equal(result, 99);
	f = rpma_uv_promise(&rig.reactor, &op);
	rpma_uv_resolve(f, UV_EIO, 5);
	assert_int_equal(rpma_uv_wait(f, 10, &result), UV_EIO);
	assert_int_equal(result, 99);
	/* done long before, and from the slab */
	f = rpma_uv_promise(&rig.reactor, NULL);
	rpma_uv_resolve(f, 0, 98);
	rig_settle();
	assert_int_equal(rpma_uv_wait(f, UINT64_MAX, &result), 0);
	assert_int_equal(result, 98);
}

/* what comes before the loop polls does not let it sleep, whatever else is pending */
static void wait__others_pending(void **state)
{
	rpma_uv_op_t op, other;
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);

	(void)state;
	(void)rpma_uv_promise(&rig.reactor, &other);
	rpma_uv_resolve(f, 0, 1);
	rig_settle();
	assert_int_equal(rpma_uv_wait(f, UINT64_MAX, NULL), 0); /* done long ago */
	f = rpma_uv_promise(&rig.reactor, &op);
	rpma_uv_resolve(f, UV_EIO, 1);
	assert_int_equal(rpma_uv_wait(f, UINT64_MAX, NULL), UV_EIO); /* ready */
	/* a deadline that has passed when the turn begins */
	assert_int_equal(rpma_uv_wait(&other.future, 0, NULL), RPMA_UV_PENDING);
	rig_close();
}

/*
 * the time runs out: PENDING, and the future is as it was: it can be waited for again, or get a
 * parent
 */
static void wait__timeout(void **state)
{
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, NULL), *all;
	int64_t result = -7;

	(void)state;
	assert_int_equal(rpma_uv_wait(f, 30, &result), RPMA_UV_PENDING);
	assert_int_equal(rpma_uv_wait(f, 1, NULL), RPMA_UV_PENDING);
	assert_int_equal(rpma_uv_wait(f, 0, NULL), RPMA_UV_PENDING);
	assert_int_equal(result, -7);
	assert_int_equal(f->status, RPMA_UV_PENDING);
	all = rpma_uv_all(&rig.reactor, NULL, &f, 1);
	assert_int_equal(rpma_uv_wait(all, 5, NULL), RPMA_UV_PENDING);
	rpma_uv_resolve(f, 0, 1);
	assert_int_equal(rpma_uv_wait(all, 5, &result), 0);
	assert_int_equal(result, 1);
}

static void resolve_it(uv_timer_t *timer)
{
	rpma_uv_resolve(timer->data, 0, 1);
}

/* it ends between two waits, or by another's timer while it is waited for */
static void wait__others_run_meanwhile(void **state)
{
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, NULL);
	static uv_timer_t timer;

	(void)state;
	uv_timer_init(&rig.loop, &timer);
	timer.data = f;
	uv_timer_start(&timer, resolve_it, 50, 0);
	assert_int_equal(rpma_uv_wait(f, 49, NULL), RPMA_UV_PENDING);
	assert_int_equal(rpma_uv_wait(f, 100, NULL), 0);
	uv_close((uv_handle_t *)&timer, NULL);
	(void)rig_turn();
}

static void resolve_in_prepare(uv_prepare_t *prepare)
{
	rpma_uv_resolve(prepare->data, 0, 1);
	uv_prepare_stop(prepare);
}

/* it ends right before the poll, while something else keeps the loop alive */
static void wait__ends_in_prepare(void **state)
{
	rpma_uv_op_t op, other;
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);
	static uv_prepare_t prepare;

	(void)state;
	(void)rpma_uv_promise(&rig.reactor, &other);
	rig_settle();
	uv_prepare_init(&rig.loop, &prepare);
	prepare.data = f;
	uv_prepare_start(&prepare, resolve_in_prepare); /* started last: called first */
	assert_int_equal(rpma_uv_wait(f, UINT64_MAX, NULL), 0);
	uv_close((uv_handle_t *)&prepare, NULL);
	rig_close();
}

static int in_callback_status;

static void wait_in_callback(rpma_uv_future_t *f, int status)
{
	(void)status;
	in_callback_status = rpma_uv_wait(f->data, UINT64_MAX, NULL);
}

/* from a callback, with a parent, with nothing */
static void wait__refused(void **state)
{
	rpma_uv_op_t op, other_op;
	rpma_uv_future_t *other = rpma_uv_promise(&rig.reactor, &other_op);
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);
	struct rig_done done;

	(void)state;
	assert_int_equal(rpma_uv_wait(NULL, UINT64_MAX, NULL), UV_ENOMEM);
	rpma_uv_then(f, wait_in_callback, other);
	rpma_uv_resolve(f, 0, 0);
	rig_settle();
	assert_int_equal(in_callback_status, UV_EBUSY);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, &other, 1), &done);
	assert_int_equal(rpma_uv_wait(other, UINT64_MAX, NULL), UV_EBUSY);
	rpma_uv_resolve(other, 0, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
}

static void wait_in_close(void *data)
{
	in_callback_status = rpma_uv_wait(data, UINT64_MAX, NULL);
}

/* from a callback of another reactor on the same loop, which would run in itself */
static void wait__refused_in_another(void **state)
{
	const rpma_uv_reactor_opts_t opts = rig_opts();
	rpma_uv_op_t op, awaited_op;
	rpma_uv_future_t *awaited = rpma_uv_promise(&rig.reactor, &awaited_op);
	rpma_uv_reactor_t another;

	(void)state;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &another, &opts), 0);
	in_callback_status = 0;
	rpma_uv_then(rpma_uv_sleep(&another, &op, 0), wait_in_callback, awaited);
	RIG_UNTIL(op.future.status == 0);
	assert_int_equal(in_callback_status, UV_EBUSY);
	in_callback_status = 0;
	rpma_uv_reactor_close(&another, wait_in_close, awaited);
	RIG_UNTIL(in_callback_status != 0);
	assert_int_equal(in_callback_status, UV_EBUSY);
	rpma_uv_resolve(awaited, 0, 0);
	assert_int_equal(rpma_uv_wait(awaited, UINT64_MAX, NULL), 0);
}

/* a callback of its own runs too, before wait returns */
static void wait__with_callback(void **state)
{
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, NULL);
	struct rig_done done;

	(void)state;
	rig_watch(f, &done);
	rpma_uv_resolve(f, 0, 3);
	assert_int_equal(rpma_uv_wait(f, 1000, NULL), 0);
	assert_done(done, 0);
}

static void close_reactor(uv_timer_t *timer)
{
	(void)timer;
	rig_close_begin();
}

/* the reactor is closed while one waits, with a bound or without */
static void wait__reactor_closed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rpma_uv_reactor_opts_t opts = rig_opts();
		rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, NULL);
		static uv_timer_t timer;

		uv_timer_init(&rig.loop, &timer);
		uv_timer_start(&timer, close_reactor, 5, 0);
		assert_int_equal(rpma_uv_wait(f, i == 0 ? UINT64_MAX : 1000, NULL), UV_ECANCELED);
		uv_close((uv_handle_t *)&timer, NULL);
		rig_reactor(&opts);
	}
}

/* one that is called while the reactor closes ends at once */
static void wait__after_close_began(void **state)
{
	rpma_uv_op_t op;

	(void)state;
	rig_close_begin();
	assert_int_equal(
		rpma_uv_wait(rpma_uv_promise(&rig.reactor, &op), 1000, NULL), UV_ECANCELED);
	assert_int_equal(op.future.status, UV_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(wait__result),
		RIG_TEST(wait__others_pending),
		RIG_TEST(wait__timeout),
		RIG_TEST(wait__others_run_meanwhile),
		RIG_TEST(wait__ends_in_prepare),
		RIG_TEST(wait__refused),
		RIG_TEST(wait__refused_in_another),
		RIG_TEST(wait__with_callback),
		RIG_TEST(wait__reactor_closed),
		RIG_TEST(wait__after_close_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
