/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* chain.c - one operation after another: what is passed on, skipped, refused and cancelled */

#include "rig.h"

static rpma_uv_op_t first_op, second_op;
static rpma_uv_future_t *first, *second; /* promises */
static unsigned next_calls;

static void promises_new(void)
{
	first = rpma_uv_promise(&rig.reactor, &first_op);
	second = rpma_uv_promise(&rig.reactor, &second_op);
	next_calls = 0;
}

static rpma_uv_future_t *next_given(rpma_uv_future_t *f, void *data)
{
	assert_int_equal(f->status, 0);
	assert_int_equal(f->result, 5);
	next_calls++;
	return data;
}

static rpma_uv_future_t *next_never(rpma_uv_future_t *f, void *data)
{
	(void)f;
	(void)data;
	fail();
	return NULL;
}

/* success: next is called in a phase, and the chain ends as its future does */
static void chain__success(void **state)
{
	struct rig_done done;

	(void)state;
	promises_new();
	rig_watch(rpma_uv_chain(first, next_given, second), &done);
	rpma_uv_resolve(first, 0, 5);
	assert_int_equal(next_calls, 0);
	RIG_UNTIL(next_calls == 1);
	rig_settle();
	assert_int_equal(done.times, 0);
	rpma_uv_resolve(second, 0, 6);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 6);
	assert_int_equal(next_calls, 1);
}

/* the second step's failure is the chain's */
static void chain__second_fails(void **state)
{
	struct rig_done done;

	(void)state;
	promises_new();
	rig_watch(rpma_uv_chain(first, next_given, second), &done);
	rpma_uv_resolve(first, 0, 5);
	rpma_uv_resolve(second, UV_EIO, 6); /* done before next returns it */
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EIO);
}

/* an error skips next */
static void chain__error_skips_next(void **state)
{
	struct rig_done done;

	(void)state;
	promises_new();
	rig_watch(rpma_uv_chain(first, next_never, NULL), &done);
	rpma_uv_resolve(first, UV_EPERM, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EPERM);
}

/* next returning NULL ends the chain with ENOMEM */
static void chain__next_returns_null(void **state)
{
	struct rig_done done;

	(void)state;
	promises_new();
	rig_watch(rpma_uv_chain(first, next_given, NULL), &done);
	rpma_uv_resolve(first, 0, 5);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ENOMEM);
}

/* next returning a future that has a parent ends the chain with EBUSY, and leaves that one alone */
static void chain__next_returns_taken(void **state)
{
	struct rig_done done, all_done;
	rpma_uv_all_t all;

	(void)state;
	promises_new();
	rig_watch(rpma_uv_all(&rig.reactor, &all, &second, 1), &all_done);
	rig_watch(rpma_uv_chain(first, next_given, second), &done);
	rpma_uv_resolve(first, 0, 5);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EBUSY);
	rpma_uv_resolve(second, 0, 1);
	RIG_UNTIL(all_done.times > 0);
	assert_done(all_done, 0);
}

/* the first future has a parent already: the chain itself ends EBUSY */
static void chain__first_taken(void **state)
{
	struct rig_done done, other;

	(void)state;
	promises_new();
	rig_watch(rpma_uv_chain(first, next_given, second), &other);
	rig_watch(rpma_uv_chain(first, next_never, NULL), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EBUSY);
	rpma_uv_resolve(first, 0, 5);
	rpma_uv_resolve(second, 0, 1);
	RIG_UNTIL(other.times > 0);
	assert_done(other, 0);
}

/* no future: no chain; no next: the chain fails and the future is free */
static void chain__null(void **state)
{
	struct rig_done done;

	(void)state;
	promises_new();
	assert_null(rpma_uv_chain(NULL, next_never, NULL));
	rig_watch(rpma_uv_chain(first, NULL, NULL), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EINVAL);
	assert_int_equal(first->status, RPMA_UV_PENDING);
	rpma_uv_resolve(first, 0, 0);
	rpma_uv_resolve(second, 0, 0);
	assert_int_equal(rpma_uv_wait(first, UINT64_MAX, NULL), 0);
}

/* the slab cannot grow: NULL, and the future is as it was */
static void chain__out_of_memory(void **state)
{
	(void)state;
	promises_new();
	unit_alloc_fail(1);
	assert_null(rpma_uv_chain(first, next_never, NULL));
	rpma_uv_resolve(first, 0, 3);
	assert_int_equal(rpma_uv_wait(first, UINT64_MAX, NULL), 0);
}

static rpma_uv_future_t *next_resolved(rpma_uv_future_t *f, void *data)
{
	rpma_uv_future_t *promise = rpma_uv_promise(f->reactor, NULL);

	(void)data;
	next_calls++;
	assert_int_equal(rpma_uv_resolve(promise, 0, f->result + 1), 0);
	return promise;
}

/* a chain on a chain on a chain; a resolved promise ends a step with a value; all from the slab */
static void chain__of_chain(void **state)
{
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, NULL);
	rpma_uv_future_t *start = f;
	int64_t result = 0;

	(void)state;
	next_calls = 0;
	for (int i = 0; i < 3; i++)
		f = rpma_uv_chain(f, next_resolved, NULL);
	rpma_uv_resolve(start, 0, 10);
	assert_int_equal(rpma_uv_wait(f, UINT64_MAX, &result), 0);
	assert_int_equal(result, 13);
	assert_int_equal(next_calls, 3);
	rig_slab_is(64);
}

static rpma_uv_future_t *next_done(rpma_uv_future_t *f, void *data)
{
	(void)f;
	assert_int_equal(((rpma_uv_future_t *)data)->status, 0);
	return data;
}

/* next returns a future that was done long before */
static void chain__next_returns_done(void **state)
{
	struct rig_done done;

	(void)state;
	promises_new();
	rpma_uv_resolve(second, 0, 8);
	RIG_UNTIL(second->status == 0);
	rig_watch(rpma_uv_chain(first, next_done, second), &done);
	rpma_uv_resolve(first, 0, 5);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 8);
}

/* a chain on a future that is done already */
static void chain__first_done(void **state)
{
	struct rig_done done;

	(void)state;
	promises_new();
	rpma_uv_resolve(first, 0, 5);
	RIG_UNTIL(first->status == 0);
	rig_watch(rpma_uv_chain(first, next_given, second), &done);
	assert_int_equal(next_calls, 0);
	rpma_uv_resolve(second, 0, 2);
	RIG_UNTIL(done.times > 0);
	assert_int_equal(done.result, 2);
}

/* the future's own callback runs before next does */
static struct rig_done seen;

static rpma_uv_future_t *next_after_callback(rpma_uv_future_t *f, void *data)
{
	(void)f;
	assert_int_equal(seen.times, 1);
	return data;
}

static void chain__callback_first(void **state)
{
	struct rig_done done;

	(void)state;
	promises_new();
	rig_watch(rpma_uv_chain(first, next_after_callback, second), &done);
	rig_watch(first, &seen);
	rpma_uv_resolve(first, 0, 5);
	rpma_uv_resolve(second, 0, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(seen, 0);
}

static rpma_uv_future_t *in_callback;

static void chain_it(rpma_uv_future_t *f, int status)
{
	(void)status;
	in_callback = rig_watch(rpma_uv_chain(f, next_given, second), f->data);
}

/* a parent that is attached in the future's own callback learns in the next turn */
static void chain__made_in_callback(void **state)
{
	struct rig_done done;
	rpma_uv_future_t *f;

	(void)state;
	promises_new();
	f = rpma_uv_promise(&rig.reactor, NULL); /* of the slab: it may not be freed too early */
	in_callback = NULL;
	rpma_uv_then(f, chain_it, &done);
	rpma_uv_resolve(f, 0, 5);
	rpma_uv_resolve(second, 0, 1);
	RIG_UNTIL(in_callback != NULL && done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 1);
	rig_slab_is(64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(chain__success),
		RIG_TEST(chain__second_fails),
		RIG_TEST(chain__error_skips_next),
		RIG_TEST(chain__next_returns_null),
		RIG_TEST(chain__next_returns_taken),
		RIG_TEST(chain__first_taken),
		RIG_TEST(chain__null),
		RIG_TEST(chain__out_of_memory),
		RIG_TEST(chain__of_chain),
		RIG_TEST(chain__next_returns_done),
		RIG_TEST(chain__first_done),
		RIG_TEST(chain__callback_first),
		RIG_TEST(chain__made_in_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
