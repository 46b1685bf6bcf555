/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* unref.c - futures that the loop does not wait for */

#include "rig.h"

static void expect_end(void)
{
	assert_int_equal(rig_stats().holds, 0);
	assert_false(uv_loop_alive(&rig.loop));
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
}

/* it keeps the loop no more, and is done all the same if the loop runs for another reason */
static void unref__pending(void **state)
{
	struct rig_done done;
	rpma_uv_op_t op;

	(void)state;
	rig_watch(rpma_uv_promise(&rig.reactor, &op), &done);
	assert_int_equal(rig_stats().holds, 1);
	rpma_uv_unref(&op.future);
	rpma_uv_unref(&op.future); /* once is enough */
	rpma_uv_unref(NULL);
	expect_end();
	assert_int_equal(rig_stats().futures_pending, 1);
	assert_int_equal(rpma_uv_resolve(&op.future, 0, 7), 0);
	expect_end();
	rig_settle();
	assert_done(done, 0);
	assert_int_equal(done.result, 7);
}

/* ready: its callback is due, and nobody waits for that; done: no effect, nor on what comes late */
static void unref__ready_and_done(void **state)
{
	struct rig_done done;
	rpma_uv_op_t op;

	(void)state;
	rig_watch(rpma_uv_promise(&rig.reactor, &op), &done);
	rpma_uv_resolve(&op.future, 0, 0);
	rpma_uv_unref(&op.future);
	expect_end();
	rig_settle();
	assert_done(done, 0);
	rpma_uv_unref(&op.future);
	expect_end();

	rpma_uv_resolve(rpma_uv_promise(&rig.reactor, &op), 0, 0);
	rig_settle();
	rpma_uv_unref(&op.future);
	rig_watch(&op.future, &done);
	expect_end();
	rig_settle();
	assert_done(done, 0);
	expect_end();
}

/* what a server has: receives and the wait for the end of its connections */
static void unref__receive_and_end(void **state)
{
	struct rig_done end;
	struct rig_op recv;
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_recv(&c, &recv, 8);
	rpma_uv_unref(&recv.op.future);
	rig_watch(rpma_uv_conn_end(c.conn, NULL), &end);
	rpma_uv_unref(rpma_uv_conn_end(c.conn, NULL));
	assert_true(uv_loop_alive(&rig.loop));
	rig_conn_close(&c);
	/* a close is work */
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(c.closed, 1);
	assert_done(recv.done, UV_ECANCELED);
	assert_done(end, UV_ECANCELED);
	expect_end();
}

static rpma_uv_future_t *step(rpma_uv_future_t *f, void *data)
{
	(void)f;
	return data;
}

/* chain: the step that is waited for, and the steps to come */
static void unref__chain(void **state)
{
	rpma_uv_op_t ops[2];
	struct rig_done done;
	rpma_uv_future_t *chain;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		(void)rpma_uv_promise(&rig.reactor, &ops[i]);
	chain = rig_watch(rpma_uv_chain(&ops[0].future, step, &ops[1].future), &done);
	assert_int_equal(rig_stats().holds, 3);
	rpma_uv_unref(chain);
	assert_int_equal(rig_stats().holds, 1);
	rpma_uv_resolve(&ops[0].future, 0, 0);
	rig_settle();
	expect_end();
	rpma_uv_resolve(&ops[1].future, 0, 0);
	rig_settle();
	assert_done(done, 0);
	expect_end();
}

static rpma_uv_future_t *unref_chain(rpma_uv_future_t *f, void *data)
{
	rpma_uv_unref(*(rpma_uv_future_t **)data); /* in next there is no step */
	return rpma_uv_sleep(f->reactor, NULL, 10);
}

static void unref__chain_within_next(void **state)
{
	rpma_uv_future_t *chain, *first = rpma_uv_promise(&rig.reactor, NULL);
	struct rig_done done;

	(void)state;
	chain = rig_watch(rpma_uv_chain(first, unref_chain, &chain), &done);
	rpma_uv_resolve(first, 0, 0);
	rig_settle();
	expect_end();
	rig_advance(10);
	rig_settle();
	assert_done(done, 0);
	expect_end();
}

/* all and any: the inputs that run; those that were cut loose stay so */
static void unref__all_and_any(void **state)
{
	rpma_uv_op_t ops[4];
	rpma_uv_future_t *f[4], *all, *any;
	struct rig_done done[2];

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		f[i] = rpma_uv_promise(&rig.reactor, &ops[i]);
	rpma_uv_resolve(f[0], 0, 0);
	all = rig_watch(rpma_uv_all(&rig.reactor, NULL, f, 2), &done[0]);
	any = rig_watch(rpma_uv_any(&rig.reactor, NULL, &f[2], 2, 0), &done[1]);
	rpma_uv_unref(all);
	rpma_uv_unref(any);
	rig_settle();
	expect_end();
	rpma_uv_resolve(f[1], 0, 0);
	rpma_uv_resolve(f[2], 0, 0);
	rig_settle();
	assert_done(done[0], 0);
	assert_done(done[1], 0);
	expect_end();
	rpma_uv_resolve(f[3], 0, 0);
	rig_settle();
	expect_end();
}

/* waiting turns the loop even if nothing else keeps it alive */
static void unref__waited_for(void **state)
{
	rpma_uv_future_t *f = rpma_uv_sleep(&rig.reactor, NULL, 50);

	(void)state;
	rpma_uv_unref(f);
	assert_int_equal(rpma_uv_wait(f, 10, NULL), RPMA_UV_PENDING);
	expect_end();
	assert_int_equal(rpma_uv_wait(f, UINT64_MAX, NULL), 0);
	expect_end();
	rig_slab_is(64);
}

static void on_closed(void *data)
{
	++*(unsigned *)data;
}

static void count_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	(void)ep;
	++*(unsigned *)data;
	rpma_uv_release(rpma_uv_reject(req, NULL, NULL));
}

/* a listener: it serves as long as the loop runs, a request is work, and so is its close */
static void unref__listener(void **state)
{
	unsigned requests = 0, closed = 0;
	rpma_uv_ep_t *ep;

	(void)state;
	double_auto_bits(0);
	for (unsigned unrefs = 0; unrefs < 3; unrefs++) {
		assert_int_equal(rpma_uv_listen(&rig.reactor, rig.peer, UNIT_ADDR, UNIT_PORT, 0,
					 count_request, &requests, &ep),
			0);
		for (unsigned i = 0; i < unrefs; i++)
			rpma_uv_ep_unref(ep);
		assert_int_equal(uv_loop_alive(&rig.loop) != 0, unrefs == 0);
		assert_int_equal(rig_stats().holds, unrefs == 0);
		(void)double_push_request(double_last_id(), NULL, 0);
		rig_settle();
		assert_int_equal(requests, unrefs + 1);
		rpma_uv_ep_close(ep, on_closed, &closed);
		assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
		assert_int_equal(closed, unrefs + 1);
		expect_end();
	}
}

/* a reactor that is ref'd keeps its loop, until it is unref'd, or closed */
static void unref__reactor(void **state)
{
	(void)state;
	rpma_uv_reactor_unref(&rig.reactor);
	expect_end();
	rpma_uv_reactor_ref(&rig.reactor);
	rpma_uv_reactor_ref(&rig.reactor); /* no count: as libuv has it */
	assert_int_equal(rig_stats().holds, 1);
	assert_true(uv_loop_alive(&rig.loop));
	rig_settle();
	assert_true(rig_is_asleep());
	rpma_uv_reactor_unref(&rig.reactor);
	expect_end();
	/* work counts either way */
	rpma_uv_release(rpma_uv_sleep(&rig.reactor, NULL, 10));
	rpma_uv_reactor_unref(&rig.reactor);
	assert_true(uv_loop_alive(&rig.loop));
	assert_int_equal(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	rpma_uv_reactor_ref(&rig.reactor);
	rig_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(unref__pending),
		RIG_TEST(unref__ready_and_done),
		RIG_TEST(unref__receive_and_end),
		RIG_TEST(unref__chain),
		RIG_TEST(unref__chain_within_next),
		RIG_TEST(unref__all_and_any),
		RIG_TEST(unref__waited_for),
		RIG_TEST(unref__listener),
		RIG_TEST(unref__reactor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
