/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* init.c - a reactor on a loop: options, refusals, and its storage used again */

#include "rig.h"

static unsigned closed;

static void on_closed(void *data)
{
	(void)data;
	closed++;
}

/* NULL, options too short or out of range: refused, nothing to close */
static void init__refused(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	rpma_uv_reactor_t r = { .data = &opts };

	(void)state;
	assert_int_equal(rpma_uv_reactor_init(NULL, &r, NULL), UV_EINVAL);
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, NULL, NULL), UV_EINVAL);
	opts.size = 0;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &r, &opts), UV_EINVAL);
	opts.size = offsetof(rpma_uv_reactor_opts_t, u_reserved) - 1;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &r, &opts), UV_EINVAL);
	opts = rig_opts();
	opts.ring_entries = 4097;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &r, &opts), UV_EINVAL);
	assert_ptr_equal(r.data, &opts);
}

/* no memory: refused, whichever allocation it is */
static void init__out_of_memory(void **state)
{
	rpma_uv_reactor_t r;
	unsigned k;

	(void)state;
	for (k = 1; k < 10; k++) {
		int ret;

		unit_alloc_fail(k);
		ret = rpma_uv_reactor_init(&rig.loop, &r, NULL);
		if (ret == 0)
			break;
		assert_int_equal(ret, UV_ENOMEM);
	}
	assert_true(k > 2 && k < 10);
	unit_alloc_fail(0);
	rpma_uv_reactor_close(&r, on_closed, NULL);
	closed = 0;
	RIG_UNTIL(closed > 0);
}

static int async_errno;

int __real_uv_async_init(uv_loop_t *loop, uv_async_t *async, uv_async_cb cb);
int __wrap_uv_async_init(uv_loop_t *loop, uv_async_t *async, uv_async_cb cb);

int __wrap_uv_async_init(uv_loop_t *loop, uv_async_t *async, uv_async_cb cb)
{
	return async_errno != 0 ? async_errno : __real_uv_async_init(loop, async, cb);
}

/* no way to wake the loop: refused, and nothing of it is left on the loop */
static void init__no_wake_up(void **state)
{
	rpma_uv_reactor_t r;

	(void)state;
	async_errno = UV_EMFILE;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &r, NULL), UV_EMFILE);
	async_errno = 0;
}

/* options of an older and of a newer caller: what is not known is left out */
static void init__sizes(void **state)
{
	struct {
		rpma_uv_reactor_opts_t opts;
		uint64_t more[4];
	} longer = { .opts = rig_opts(), .more = { 1, 2, 3, 4 } };
	rpma_uv_reactor_opts_t shorter = rig_opts();
	rpma_uv_reactor_t r[2];

	(void)state;
	longer.opts.size = sizeof(longer);
	shorter.size = offsetof(rpma_uv_reactor_opts_t, u_reserved);
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &r[0], &longer.opts), 0);
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &r[1], &shorter), 0);
	closed = 0;
	rpma_uv_reactor_close(&r[0], on_closed, NULL);
	rpma_uv_reactor_close(&r[1], on_closed, NULL);
	RIG_UNTIL(closed == 2);
}

/* a fresh reactor has made nothing: no device, no channel, no ring is needed for promises */
static void init__makes_nothing(void **state)
{
	(void)state;
	double_log_clear();
	rpma_uv_resolve(rpma_uv_promise(&rig.reactor, NULL), 0, 0);
	rig_settle();
	rig_close();
	assert_int_equal(double_calls_total(), 0);
}

static rpma_uv_reactor_t again;
static unsigned rounds;

static void init_again(void *data)
{
	assert_ptr_equal(data, &again);
	if (++rounds == 3)
		return;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &again, NULL), 0);
	rpma_uv_reactor_close(&again, init_again, &again);
}

/* the storage is ours from the close callback on */
static void init__again_in_close_callback(void **state)
{
	(void)state;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &again, NULL), 0);
	rounds = 0;
	rpma_uv_reactor_close(&again, init_again, &again);
	assert_int_equal(rounds, 0);
	RIG_UNTIL(rounds == 3);
}

/* a close callback is not a must */
static void init__close_without_callback(void **state)
{
	rpma_uv_reactor_t r;

	(void)state;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &r, NULL), 0);
	rpma_uv_reactor_close(&r, NULL, NULL);
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	assert_null(r.impl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(init__refused),
		RIG_TEST(init__out_of_memory),
		RIG_TEST(init__no_wake_up),
		RIG_TEST(init__sizes),
		RIG_TEST(init__makes_nothing),
		RIG_TEST(init__again_in_close_callback),
		RIG_TEST(init__close_without_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
