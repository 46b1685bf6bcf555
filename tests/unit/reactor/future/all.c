/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* all.c - one future for many: what counts, what is kept, what is refused */

#include "inputs.h"

static void inputs_resolve(int status)
{
	for (unsigned i = 0; i < N; i++) {
		if (inputs[i] != NULL)
			(void)rpma_uv_resolve(inputs[i], status, (int64_t)i);
	}
}

/* done when the last is done; the result is how many succeeded */
static void all__success(void **state)
{
	struct rig_done done;
	rpma_uv_all_t all;

	(void)state;
	inputs_new(false);
	memset(&all, 0xa5, sizeof(all));
	rig_watch(rpma_uv_all(&rig.reactor, &all, inputs, N), &done);
	for (unsigned i = 0; i < N; i++) {
		rig_settle();
		assert_int_equal(done.times, 0);
		rpma_uv_resolve(inputs[i], 0, 0);
	}
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, N);
	assert_int_equal(all.total, N);
	assert_int_equal(all.failed, 0);
}

/* the status of the first to fail in time, not in the array; the count of all that failed */
static void all__first_failure(void **state)
{
	struct rig_done done;
	rpma_uv_all_t all;

	(void)state;
	inputs_new(false);
	rig_watch(rpma_uv_all(&rig.reactor, &all, inputs, N), &done);
	rpma_uv_resolve(inputs[3], UV_EIO, 0);
	rig_settle();
	assert_int_equal(done.times, 0);
	rpma_uv_resolve(inputs[1], UV_EPERM, 0);
	inputs_resolve(0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EIO);
	assert_int_equal(all.failed, 2);
	assert_int_equal(done.result, N - 2);
}

/* of none: 0, in the next turn and not at once */
static void all__of_none(void **state)
{
	struct rig_done done;

	(void)state;
	rig_watch(rpma_uv_all(&rig.reactor, NULL, NULL, 0), &done);
	assert_int_equal(done.times, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 0);
}

/* inputs that are NULL count as failed with ENOMEM */
static void all__null_inputs(void **state)
{
	rpma_uv_future_t *const none[] = { NULL, NULL };
	struct rig_done done, some;
	rpma_uv_all_t all, all_some;

	(void)state;
	rig_watch(rpma_uv_all(&rig.reactor, &all, none, 2), &done);
	inputs_new(false);
	inputs[2] = NULL;
	rig_watch(rpma_uv_all(&rig.reactor, &all_some, inputs, N), &some);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ENOMEM);
	assert_int_equal(all.failed, 2);
	assert_int_equal(done.result, 0);
	inputs_resolve(0);
	RIG_UNTIL(some.times > 0);
	assert_done(some, UV_ENOMEM);
	assert_int_equal(all_some.failed, 1);
}

/* the same one twice: EBUSY, and none is taken: each may get a parent after that */
static void all__duplicates(void **state)
{
	struct rig_done done, again;

	(void)state;
	inputs_new(false);
	inputs[4] = inputs[0];
	inputs[2] = NULL;
	rig_watch(rpma_uv_all(&rig.reactor, NULL, inputs, N), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EBUSY);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, inputs, 2), &again);
	inputs_resolve(0);
	rpma_uv_resolve(&ops[4].future, 0, 0);
	RIG_UNTIL(again.times > 0);
	assert_done(again, 0);
}

/* one that has a parent: EBUSY, and the others are not taken */
static void all__input_taken(void **state)
{
	struct rig_done first, second, third;

	(void)state;
	inputs_new(false);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, &inputs[4], 1), &first);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, inputs, N), &second);
	RIG_UNTIL(second.times > 0);
	assert_done(second, UV_EBUSY);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, inputs, N - 1), &third);
	inputs_resolve(0);
	RIG_UNTIL(first.times > 0 && third.times > 0);
	assert_done(first, 0);
	assert_done(third, 0);
}

/* inputs that are done already count at once, a failure too, from the slab or not */
static void all__inputs_done_before(void **state)
{
	struct rig_done done;
	rpma_uv_all_t all;

	(void)state;
	for (unsigned from_slab = 0; from_slab < 2; from_slab++) {
		inputs_new(from_slab);
		rpma_uv_resolve(inputs[1], UV_EIO, 0);
		rpma_uv_resolve(inputs[2], 0, 0);
		rig_settle();
		inputs_resolve(0);
		rig_watch(rpma_uv_all(&rig.reactor, &all, inputs, N), &done);
		assert_int_equal(done.times, 0);
		RIG_UNTIL(done.times > 0);
		assert_done(done, UV_EIO);
		assert_int_equal(all.failed, 1);
	}
	/* and all of them at once */
	inputs_new(true);
	inputs_resolve(0);
	rig_settle();
	rig_watch(rpma_uv_all(&rig.reactor, NULL, inputs, N), &done);
	RIG_UNTIL(done.times > 0);
	assert_int_equal(done.result, N);
}

static unsigned read_in_callback;

static void read_inputs(rpma_uv_future_t *f, int status)
{
	/* inputs were of the slab: they are still there, and nothing else has taken their place */
	assert_int_equal(status, 0);
	(void)f;
	inputs_are_held();
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(inputs[i]->status, 0);
		assert_int_equal(inputs[i]->result, i);
	}
	read_in_callback++;
}

/* slab inputs stay readable until the callback of all has returned, and are given back then */
static void all__inputs_readable_in_callback(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 100; round++) {
		rpma_uv_future_t *f;

		inputs_new(true);
		f = rpma_uv_all(&rig.reactor, NULL, inputs, N);
		rpma_uv_then(f, read_inputs, NULL);
		inputs_resolve(0);
		RIG_UNTIL(read_in_callback == round);
		rig_settle();
	}
	rig_slab_is(64);
}

/* the same when it is waited for, looked at and released, or released while it runs */
static void all__inputs_given_back(void **state)
{
	rpma_uv_future_t *f;
	rpma_uv_all_t all;

	(void)state;
	for (unsigned round = 0; round < 100; round++) {
		inputs_new(true);
		f = rpma_uv_all(&rig.reactor, round % 2 ? &all : NULL, inputs, N);
		inputs_resolve(0);
		assert_int_equal(rpma_uv_wait(f, UINT64_MAX, NULL), 0);

		inputs_new(true);
		f = rpma_uv_all(&rig.reactor, NULL, inputs, N);
		inputs_resolve(UV_EIO);
		RIG_UNTIL(f->status == UV_EIO);
		assert_int_equal(inputs[N - 1]->result, N - 1);
		rpma_uv_release(f);

		inputs_new(true);
		f = rpma_uv_all(&rig.reactor, NULL, inputs, N);
		rpma_uv_release(f);
		inputs_resolve(0);
		rig_settle();
	}
	rig_slab_is(64);
}

static struct rig_done late_done;

static void then_late(rpma_uv_future_t *f, int status)
{
	(void)f;
	(void)status;
	/* inputs[0] is readable, so it may get its callback */
	rig_watch(inputs[0], &late_done);
}

/* an input gets its callback late: after it was counted, after all is ready, in all's callback */
static void all__input_with_late_then(void **state)
{
	struct rig_done done, late, ready;
	rpma_uv_all_t all;

	(void)state;
	for (unsigned from_slab = 0; from_slab < 2; from_slab++) {
		/* counted at once, all still pending */
		inputs_new(from_slab);
		rpma_uv_resolve(inputs[0], UV_EIO, 7);
		rig_settle();
		rig_watch(rpma_uv_all(&rig.reactor, &all, inputs, N), &done);
		rig_watch(inputs[0], &late);
		rig_settle();
		assert_done(late, UV_EIO);
		/* counted in a phase, all still pending */
		rpma_uv_resolve(inputs[1], 0, 0);
		rig_settle();
		rig_watch(inputs[1], &ready);
		inputs_resolve(0);
		RIG_UNTIL(done.times > 0);
		assert_done(ready, 0);
		assert_done(done, UV_EIO);
		assert_int_equal(all.failed, 1);
		assert_int_equal(done.result, N - 1);
	}
	/* all is ready when the callback comes */
	inputs_new(true);
	inputs_resolve(0);
	rig_settle();
	rig_watch(rpma_uv_all(&rig.reactor, &all, inputs, N), &done);
	rig_watch(inputs[2], &late);
	RIG_UNTIL(done.times > 0 && late.times > 0);
	/* in the callback of all itself */
	inputs_new(true);
	rpma_uv_then(rpma_uv_all(&rig.reactor, NULL, inputs, N), then_late, NULL);
	inputs_resolve(0);
	memset(&late_done, 0, sizeof(late_done));
	RIG_UNTIL(late_done.times > 0);
	assert_done(late_done, 0);
	rig_settle();
	/* nothing was lost or freed twice on the way */
	rig_slab_is(64);
}

/* inputs keep their own callbacks, which run before that of all */
static void all__inputs_have_callbacks(void **state)
{
	struct rig_done done, each[N];

	(void)state;
	inputs_new(true);
	for (unsigned i = 0; i < N; i++)
		rig_watch(inputs[i], &each[i]);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, inputs, N), &done);
	inputs_resolve(0);
	RIG_UNTIL(done.times > 0);
	for (unsigned i = 0; i < N; i++) {
		assert_done(each[i], 0);
		assert_true(each[i].at < done.at);
	}
}

static rpma_uv_future_t *all_of_itself(rpma_uv_future_t *f)
{
	return rpma_uv_all(&rig.reactor, NULL, &f, 1);
}

static void all__made_in_callback(void **state)
{
	(void)state;
	inputs_make_in_callback(all_of_itself);
}

/* all of all */
static void all__nested(void **state)
{
	rpma_uv_future_t *inner[2];
	struct rig_done done;

	(void)state;
	inputs_new(true);
	inner[0] = rpma_uv_all(&rig.reactor, NULL, inputs, 2);
	inner[1] = rpma_uv_all(&rig.reactor, NULL, &inputs[2], N - 2);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, inner, 2), &done);
	inputs_resolve(0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 2);
	rig_settle();
	rig_slab_is(64);
}

/* the slab cannot grow: NULL, and no input is taken */
static void all__out_of_memory(void **state)
{
	struct rig_done done;

	(void)state;
	inputs_new(false);
	unit_alloc_fail(1);
	assert_null(rpma_uv_all(&rig.reactor, NULL, inputs, N));
	rig_watch(rpma_uv_all(&rig.reactor, NULL, inputs, N), &done);
	inputs_resolve(0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
}

static bool other_closed;

static void on_closed(void *data)
{
	(void)data;
	other_closed = true;
}

/* an input of another reactor on the same loop: EINVAL, and none is taken */
static void all__of_two_reactors(void **state)
{
	rpma_uv_future_t *f[2];
	rpma_uv_reactor_t other;
	struct rig_done done;

	(void)state;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &other, NULL), 0);
	f[0] = rpma_uv_promise(&rig.reactor, &ops[0]);
	f[1] = rpma_uv_promise(&other, &ops[1]);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, f, 2), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EINVAL);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, f, 1), &done);
	assert_int_equal(rpma_uv_resolve(f[0], 0, 0), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	rpma_uv_reactor_close(&other, on_closed, NULL);
	RIG_UNTIL(other_closed);
	assert_int_equal(ops[1].future.status, UV_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(all__success),
		RIG_TEST(all__of_two_reactors),
		RIG_TEST(all__first_failure),
		RIG_TEST(all__of_none),
		RIG_TEST(all__null_inputs),
		RIG_TEST(all__duplicates),
		RIG_TEST(all__input_taken),
		RIG_TEST(all__inputs_done_before),
		RIG_TEST(all__inputs_readable_in_callback),
		RIG_TEST(all__inputs_given_back),
		RIG_TEST(all__input_with_late_then),
		RIG_TEST(all__inputs_have_callbacks),
		RIG_TEST(all__made_in_callback),
		RIG_TEST(all__nested),
		RIG_TEST(all__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
