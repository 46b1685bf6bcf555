/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* timeout.c - a cancel by another name: when, what it ends, and what it leaves alone */

#include "rig.h"

static rpma_uv_op_t op;

/* nothing, done, ready, flags that nobody knows: refused */
static void timeout__refused(void **state)
{
	rpma_uv_future_t *f = rpma_uv_promise(&rig.reactor, &op);

	(void)state;
	assert_int_equal(rpma_uv_timeout(NULL, 1, 0), UV_EINVAL);
	assert_int_equal(rpma_uv_timeout(f, 1, 2), UV_EINVAL);
	assert_int_equal(rpma_uv_timeout(f, 1, 1u << 31), UV_EINVAL);
	rpma_uv_resolve(f, 0, 0);
	assert_int_equal(rpma_uv_timeout(f, 1, 0), UV_EALREADY);
	rig_settle();
	assert_int_equal(rpma_uv_timeout(f, 1, 0), UV_EALREADY);
	assert_int_equal(rig_stats().timeouts, 0);
}

/* what is not done in time ends ETIMEDOUT, and not before */
static void timeout__ends(void **state)
{
	struct rig_done done;

	(void)state;
	rig_watch(rpma_uv_promise(&rig.reactor, &op), &done);
	assert_int_equal(rpma_uv_timeout(&op.future, 100, 0), 0);
	rig_advance(99);
	rig_settle();
	assert_int_equal(done.times, 0);
	rig_advance(1);
	rig_settle();
	assert_done(done, UV_ETIMEDOUT);
	assert_int_equal(rig_stats().timeouts, 1);
	assert_int_equal(rig_stats().timeouts_refused, 0);
}

/* 0 is the next turn, and not at once */
static void timeout__of_nothing(void **state)
{
	struct rig_done done;

	(void)state;
	rig_watch(rpma_uv_promise(&rig.reactor, &op), &done);
	assert_int_equal(rpma_uv_timeout(&op.future, 0, 0), 0);
	assert_int_equal(done.times, 0);
	assert_int_equal(op.future.status, RPMA_UV_PENDING);
	rig_glance();
	rig_glance();
	assert_done(done, UV_ETIMEDOUT);
}

/* a second one replaces the first: sooner, later, softer */
static void timeout__replaced(void **state)
{
	struct rig_done done;
	struct rig_op read;
	struct rig_conn c;

	(void)state;
	rig_watch(rpma_uv_promise(&rig.reactor, &op), &done);
	assert_int_equal(rpma_uv_timeout(&op.future, 100, 0), 0);
	assert_int_equal(rpma_uv_timeout(&op.future, 300, 0), 0);
	rig_advance(299);
	rig_settle();
	assert_int_equal(done.times, 0);
	assert_int_equal(rpma_uv_timeout(&op.future, 10, 0), 0);
	rig_advance(10);
	rig_settle();
	assert_done(done, UV_ETIMEDOUT);
	assert_int_equal(rig_stats().timeouts, 1);

	/* what was to be forced is not any more */
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	assert_int_equal(rpma_uv_timeout(&read.op.future, 10, RPMA_UV_FORCE), 0);
	assert_int_equal(rpma_uv_timeout(&read.op.future, 10, 0), 0);
	rig_settle();
	rig_advance(10);
	rig_settle();
	assert_int_equal(rig_stats().timeouts_refused, 1);
	assert_int_equal(rig_stats().cancels_forced, 0);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(read.done.times > 0);
	assert_done(read.done, 0);
}

/* it goes when the future ends: nothing is left that would wake the loop, or look at the storage */
static void timeout__goes_with_the_future(void **state)
{
	struct rig_done done;

	(void)state;
	rig_watch(rpma_uv_promise(&rig.reactor, &op), &done);
	assert_int_equal(rpma_uv_timeout(&op.future, 100, RPMA_UV_FORCE), 0);
	rpma_uv_resolve(&op.future, 0, 7);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	/* its storage is used again, by one that has none */
	memset(&op, 0xa5, sizeof(op));
	rig_watch(rpma_uv_promise(&rig.reactor, &op), &done);
	rig_advance(1000);
	rig_settle();
	assert_int_equal(done.times, 0);
	assert_int_equal(rig_stats().timeouts, 0);
	rig_close();
	assert_done(done, UV_ECANCELED);
}

/* what has completed by then has come in time, whatever the clock says */
static void timeout__completion_wins(void **state)
{
	struct rig_op read;
	struct rig_conn c;

	(void)state;
	for (unsigned forced = 0; forced < 2; forced++) {
		rig_conn_ready(&c, NULL);
		rig_read(&c, &read, 8);
		assert_int_equal(
			rpma_uv_timeout(&read.op.future, 50, forced ? RPMA_UV_FORCE : 0), 0);
		rig_settle();
		double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
		rig_advance(500);
		rig_settle();
		assert_done(read.done, 0);
		assert_int_equal(rig_stats().timeouts, 0);
		rig_conn_gone(&c);
	}
}

/* posted: a soft one changes nothing and is counted; another may follow */
static void timeout__posted(void **state)
{
	struct rig_op read;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_settle();
	for (unsigned i = 1; i <= 2; i++) {
		assert_int_equal(rpma_uv_timeout(&read.op.future, 10, 0), 0);
		rig_advance(10);
		rig_settle();
		assert_int_equal(read.done.times, 0);
		assert_int_equal(rig_stats().timeouts, i);
		assert_int_equal(rig_stats().timeouts_refused, i);
	}
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(read.done.times > 0);
	assert_done(read.done, 0);
	assert_string_equal(rpma_uv_strerror(&read.op.future), "read: success");
}

/* posted and forced: ETIMEDOUT, its neighbours and the connection ECONNABORTED */
static void timeout__forced(void **state)
{
	struct rig_op read, neighbour;
	struct rig_done end;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	rig_read(&c, &read, 8);
	rig_read(&c, &neighbour, 8);
	assert_int_equal(rpma_uv_timeout(&read.op.future, 10, RPMA_UV_FORCE), 0);
	RIG_UNTIL(read.done.times > 0 && neighbour.done.times > 0 && end.times > 0);
	assert_done(read.done, UV_ETIMEDOUT);
	assert_done(neighbour.done, UV_ECONNABORTED);
	assert_done(end, UV_ECONNABORTED);
	assert_int_equal(rig_stats().timeouts_refused, 0);
	assert_int_equal(rig_stats().cancels_forced, 1);
}

/* queued: taken out */
static void timeout__queued(void **state)
{
	struct rig_op send[3];
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 1, 1);
	for (unsigned i = 0; i < 3; i++)
		rig_send(&c, &send[i], 8);
	assert_int_equal(rpma_uv_timeout(&send[1].op.future, 10, RPMA_UV_FORCE), 0);
	RIG_UNTIL(send[1].done.times > 0);
	assert_done(send[1].done, UV_ETIMEDOUT);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(send[2].done.times > 0);
	assert_done(send[0].done, 0);
	assert_done(send[2].done, 0);
	assert_int_equal(double_sends(c.qp), 2);
}

/* a connect is abandoned, and that is why the connection has ended */
static void timeout__connect(void **state)
{
	struct rig_done done, end;
	struct rig_conn c;

	(void)state;
	double_auto_bits(0);
	rig_conn_new(&c, NULL);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	rig_watch(rpma_uv_connect(c.conn, &op, UNIT_ADDR, UNIT_PORT, NULL), &done);
	assert_int_equal(rpma_uv_timeout(&op.future, 10, 0), 0);
	RIG_UNTIL(done.times > 0 && end.times > 0);
	assert_done(done, UV_ETIMEDOUT);
	assert_done(end, UV_ETIMEDOUT);
}

/* who asks first gives it its name, and a refused one asks for nothing */
static void timeout__and_cancel(void **state)
{
	rpma_uv_future_t *read;
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	read = rig_watch(rpma_uv_read(c.conn, &op, rig_local(0), rig_remote(8), 8, 0), &done);
	rig_settle();
	assert_int_equal(rpma_uv_timeout(read, 0, 0), 0);
	rig_settle();
	assert_int_equal(rig_stats().timeouts_refused, 1);
	assert_int_equal(rpma_uv_cancel(read, RPMA_UV_FORCE), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ECANCELED);
	rig_conn_gone(&c);

	double_auto_bits(DOUBLE_AUTO_CM); /* it does not come back at once */
	rig_conn_ready(&c, NULL);
	read = rig_watch(rpma_uv_read(c.conn, &op, rig_local(0), rig_remote(8), 8, 0), &done);
	assert_int_equal(rpma_uv_timeout(read, 10, RPMA_UV_FORCE), 0);
	rig_advance(10);
	rig_settle();
	assert_int_equal(rpma_uv_cancel(read, RPMA_UV_FORCE), 0);
	rig_settle();
	assert_int_equal(done.times, 0);
	double_flush(c.qp);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ETIMEDOUT);
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
}

static rpma_uv_future_t *never(rpma_uv_future_t *f, void *data)
{
	(void)f;
	(void)data;
	fail();
	return NULL;
}

/* all, any and chain: passed on, and they and what they waited for end ETIMEDOUT */
static void timeout__passed_on(void **state)
{
	rpma_uv_future_t *f[4], *parents[3];
	struct rig_done inputs[4], done[3];
	rpma_uv_op_t ops[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		f[i] = rpma_uv_promise(&rig.reactor, &ops[i]);
		rig_watch(f[i], &inputs[i]);
	}
	parents[0] = rpma_uv_all(&rig.reactor, NULL, &f[0], 1);
	parents[1] = rpma_uv_any(&rig.reactor, NULL, &f[1], 2, 0);
	parents[2] = rpma_uv_chain(f[3], never, NULL);
	for (unsigned i = 0; i < 3; i++) {
		rig_watch(parents[i], &done[i]);
		assert_int_equal(rpma_uv_timeout(parents[i], 10, 0), 0);
	}
	rig_advance(10);
	rig_settle();
	for (unsigned i = 0; i < 3; i++)
		assert_done(done[i], UV_ETIMEDOUT);
	for (unsigned i = 0; i < 4; i++)
		assert_done(inputs[i], UV_ETIMEDOUT);
	assert_int_equal(rig_stats().timeouts, 3);
	rig_slab_is(64);
}

/* an input that was cancelled for another reason keeps its name, and so does the parent */
static void timeout__other_reason(void **state)
{
	rpma_uv_future_t *f[2];
	struct rig_done done;
	rpma_uv_op_t ops[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		f[i] = rpma_uv_promise(&rig.reactor, &ops[i]);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, f, 2), &done);
	rpma_uv_cancel(f[0], 0);
	rig_settle();
	f[0] = rpma_uv_all(&rig.reactor, NULL, &f[0], 1); /* EBUSY: taken */
	rpma_uv_release(f[0]);
	assert_int_equal(rpma_uv_timeout(f[1], 0, 0), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ECANCELED);
	assert_int_equal(f[1]->status, UV_ETIMEDOUT);
}

static unsigned steps;

static rpma_uv_future_t *step(rpma_uv_future_t *f, void *data)
{
	steps++;
	(void)f;
	return data;
}

/* a chain whose first step ends in the very phase in which its time is over does not go on */
static void timeout__between_steps(void **state)
{
	rpma_uv_op_t first;
	struct rig_done done;
	rpma_uv_future_t *chain;

	(void)state;
	chain = rpma_uv_chain(rpma_uv_sleep(&rig.reactor, &first, 9), step, NULL);
	rig_watch(chain, &done);
	assert_int_equal(rpma_uv_timeout(chain, 10, 0), 0);
	rig_settle();
	steps = 0;
	rig_advance(10); /* past both */
	RIG_UNTIL(done.times > 0);
	assert_int_equal(first.future.status, 0);
	assert_int_equal(steps, 0);
	assert_done(done, UV_ETIMEDOUT);
	assert_int_equal(rig_stats().timeouts_refused, 0);
}

/* of a sleep, of a time-out of its parent, and both at once */
static void timeout__of_sleep(void **state)
{
	struct rig_done done;
	rpma_uv_future_t *f;

	(void)state;
	f = rig_watch(rpma_uv_sleep(&rig.reactor, NULL, 100), &done);
	assert_int_equal(rpma_uv_timeout(f, 10, 0), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ETIMEDOUT);
	f = rig_watch(rpma_uv_sleep(&rig.reactor, NULL, 10), &done);
	assert_int_equal(rpma_uv_timeout(f, 100, 0), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	rig_slab_is(64);
}

/* it keeps nothing alive by itself, and goes with the reactor */
static void timeout__closed_over(void **state)
{
	struct rig_done done;

	(void)state;
	rig_watch(rpma_uv_promise(&rig.reactor, &op), &done);
	assert_int_equal(rpma_uv_timeout(&op.future, 1000, 0), 0);
	rpma_uv_unref(&op.future);
	assert_false(uv_loop_alive(&rig.loop));
	rig_close();
	assert_done(done, UV_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(timeout__refused),
		RIG_TEST(timeout__ends),
		RIG_TEST(timeout__of_nothing),
		RIG_TEST(timeout__replaced),
		RIG_TEST(timeout__goes_with_the_future),
		RIG_TEST(timeout__completion_wins),
		RIG_TEST(timeout__posted),
		RIG_TEST(timeout__forced),
		RIG_TEST(timeout__queued),
		RIG_TEST(timeout__connect),
		RIG_TEST(timeout__and_cancel),
		RIG_TEST(timeout__passed_on),
		RIG_TEST(timeout__other_reason),
		RIG_TEST(timeout__between_steps),
		RIG_TEST(timeout__of_sleep),
		RIG_TEST(timeout__closed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
