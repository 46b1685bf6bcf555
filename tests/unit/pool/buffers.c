/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* buffers.c - taking, giving back, and waiting in order */

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pools.h"

struct waiting {
	rpma_uv_op_t op;
	rpma_uv_buf_t *buf;
	unsigned done;
	int status;
	int64_t result;
	unsigned order;
};

static unsigned order;

static void wait_done(rpma_uv_future_t *f, int status)
{
	struct waiting *w = f->data;

	w->done++;
	w->status = status;
	w->result = f->result;
	w->order = ++order;
}

static void wait_start(rpma_uv_pool_t *pool, struct waiting *w)
{
	memset(w, 0, sizeof(*w));
	assert_non_null(rpma_uv_then(rpma_uv_buf_wait(pool, &w->op, &w->buf), wait_done, w));
	assert_int_equal(w->done, 0);
}

static void settle(void)
{
	for (int i = 0; i < 5; i++)
		uv_run(&turn.loop, UV_RUN_NOWAIT);
}

static void buffers__first_come_first_served(void **state)
{
	rpma_uv_pool_t *pool = pool_now(2, 4096);
	rpma_uv_buf_t *a = rpma_uv_buf_get(pool), *b = rpma_uv_buf_get(pool);
	struct waiting w[3];

	(void)state;
	order = 0;
	for (int i = 0; i < 3; i++)
		wait_start(pool, &w[i]);
	settle();
	assert_int_equal(order, 0);
	rpma_uv_buf_put(b);
	/* it is the waiter's already: nobody who asks now gets it */
	assert_null(rpma_uv_buf_get(pool));
	rpma_uv_buf_put(a);
	assert_int_equal(order, 0);
	settle();
	assert_ptr_equal(w[0].buf, b);
	assert_int_equal(w[0].result, 1);
	assert_ptr_equal(w[1].buf, a);
	assert_int_equal(w[1].result, 0);
	assert_int_equal(w[0].order, 1);
	assert_int_equal(w[1].order, 2);
	assert_int_equal(w[2].done, 0);
	rpma_uv_buf_put(w[0].buf);
	settle();
	assert_ptr_equal(w[2].buf, b);
	rpma_uv_buf_put(a);
	rpma_uv_buf_put(b);
	assert_non_null(rpma_uv_buf_get(pool));
	rpma_uv_buf_put(b);
}

/* one that is free is handed out in the next ready phase */
static void buffers__wait_for_a_free_one(void **state)
{
	rpma_uv_pool_t *pool = pool_now(1, 4096);
	struct waiting w;

	(void)state;
	wait_start(pool, &w);
	settle();
	assert_int_equal(w.status, 0);
	assert_non_null(w.buf);
	assert_null(rpma_uv_buf_get(pool));
	rpma_uv_buf_put(w.buf);
	assert_int_equal(turn_wait(rpma_uv_buf_wait(pool, NULL, NULL)), UV_EINVAL);
}

static void buffers__cancel(void **state)
{
	rpma_uv_pool_t *pool = pool_now(1, 4096);
	rpma_uv_buf_t *buf = rpma_uv_buf_get(pool);
	struct waiting w[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		wait_start(pool, &w[i]);
	assert_int_equal(rpma_uv_cancel(&w[1].op.future, 0), 0);
	assert_int_equal(w[1].done, 0);
	settle();
	assert_int_equal(w[1].status, UV_ECANCELED);
	assert_null(w[1].buf);
	rpma_uv_buf_put(buf);
	/* handed over: too late */
	assert_int_equal(rpma_uv_cancel(&w[0].op.future, 0), UV_EALREADY);
	settle();
	assert_ptr_equal(w[0].buf, buf);
	rpma_uv_buf_put(buf);
	settle();
	assert_ptr_equal(w[2].buf, buf);
	rpma_uv_buf_put(buf);
}

/* those who wait when the pool closes */
static void buffers__close(void **state)
{
	rpma_uv_pool_t *pool = pool_now(1, 4096);
	struct waiting w[2], late;
	unsigned closed = 0;

	(void)state;
	assert_non_null(rpma_uv_buf_get(pool));
	wait_start(pool, &w[0]);
	wait_start(pool, &w[1]);
	rpma_uv_pool_close(pool, turn_count, &closed);
	assert_null(rpma_uv_buf_get(pool));
	wait_start(pool, &late);
	turn_until(&turn, &closed);
	assert_int_equal(w[0].status, UV_ECANCELED);
	assert_int_equal(w[1].status, UV_ECANCELED);
	assert_int_equal(late.status, UV_ECANCELED);
}

/* a program that waits keeps the loop alive, and one that has nothing to wait for does not */
static void buffers__liveness(void **state)
{
	rpma_uv_pool_t *pool = pool_now(1, 4096);
	rpma_uv_buf_t *buf = rpma_uv_buf_get(pool);
	struct waiting w;

	(void)state;
	assert_int_equal(uv_run(&turn.loop, UV_RUN_DEFAULT), 0);
	wait_start(pool, &w);
	assert_int_not_equal(uv_run(&turn.loop, UV_RUN_NOWAIT), 0);
	rpma_uv_buf_put(buf);
	assert_int_equal(uv_run(&turn.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(w.done, 1);
	rpma_uv_buf_put(w.buf);
}

/* however often buffers are taken and given back: the device and the ring hear of them once */
static void buffers__registered_once(void **state)
{
	rpma_uv_pool_t *pool = pool_now(4, 4096);
	unsigned in_ring = ring_double_buffers();
	struct waiting w;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		rpma_uv_buf_t *buf = rpma_uv_buf_get(pool);

		assert_non_null(buf);
		wait_start(pool, &w);
		settle();
		assert_int_equal(w.done, 1);
		rpma_uv_buf_put(w.buf);
		rpma_uv_buf_put(buf);
	}
	assert_int_equal(registered, 1);
	assert_int_equal(deregistered, 0);
	assert_int_equal(ring_double_buffers(), in_ring);
	pool_close_now(pool);
	assert_int_equal(deregistered, 1);
}

/* a child that shared the pages would make the kernel move the parent's away from the device */
static void buffers__not_in_children(void **state)
{
	rpma_uv_pool_t *pool = pool_now(2, 4096);
	rpma_uv_buf_t *buf = rpma_uv_buf_get(pool);
	unsigned char is_resident;
	pid_t child;
	int status;

	(void)state;
	memset(buf->base, 1, buf->size);
	assert_int_equal(mincore(buf->base, buf->size, &is_resident), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(mincore(buf->base, buf->size, &is_resident) == -1 && errno == ENOMEM ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	rpma_uv_buf_put(buf);
}

UNIT_MAIN(POOLS_TEST(buffers__first_come_first_served), POOLS_TEST(buffers__wait_for_a_free_one),
	POOLS_TEST(buffers__cancel), POOLS_TEST(buffers__close), POOLS_TEST(buffers__liveness),
	POOLS_TEST(buffers__registered_once), POOLS_TEST(buffers__not_in_children))
