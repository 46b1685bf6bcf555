/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* any.c - one future for the first of many to succeed: who wins, and what becomes of the others */

#include "inputs.h"

static void resolve(unsigned i, int status)
{
	assert_int_equal(rpma_uv_resolve(inputs[i], status, 100 + i), 0);
}

static rpma_uv_future_t *any_of(rpma_uv_any_t *any, unsigned n, unsigned flags)
{
	return rpma_uv_any(&rig.reactor, any, inputs, n, flags);
}

/* the first success ends it, whatever has failed before; the others run on */
static void any__first_success(void **state)
{
	struct rig_done done;
	rpma_uv_any_t any;

	(void)state;
	inputs_new(false);
	memset(&any, 0xa5, sizeof(any));
	rig_watch(any_of(&any, N, 0), &done);
	resolve(0, UV_EIO);
	resolve(3, UV_EPERM);
	rig_settle();
	assert_int_equal(done.times, 0);
	resolve(2, 0);
	assert_int_equal(done.times, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 102);
	assert_int_equal(any.winner, 2);
	assert_int_equal(any.failed, 2);
	assert_int_equal(any.total, N);
	assert_int_equal(inputs[1]->status, RPMA_UV_PENDING);
	resolve(1, 0);
	resolve(4, UV_EIO);
	rig_settle();
	assert_done(done, 0);
}

/* all fail: the last failure */
static void any__last_failure(void **state)
{
	static const unsigned order[N] = { 3, 0, 4, 2, 1 };
	struct rig_done done;
	rpma_uv_any_t any;

	(void)state;
	for (unsigned from_slab = 0; from_slab < 2; from_slab++) {
		inputs_new(from_slab);
		rig_watch(any_of(&any, N, RPMA_UV_ANY_CANCEL), &done);
		for (unsigned i = 0; i < N; i++) {
			assert_int_equal(done.times, 0);
			resolve(order[i], i == N - 1 ? UV_EPERM : UV_EIO);
			rig_settle();
		}
		assert_done(done, UV_EPERM);
		assert_int_equal(any.failed, N);
		assert_int_equal(any.winner, N);
		assert_int_equal(done.result, 0);
	}
	rig_slab_is(64);
}

/* of none: EINVAL, in the next turn and not at once; the same for flags that nobody knows */
static void any__refused(void **state)
{
	struct rig_done none, flags;
	rpma_uv_any_t any;

	(void)state;
	inputs_new(false);
	rig_watch(rpma_uv_any(&rig.reactor, NULL, NULL, 0, 0), &none);
	rig_watch(any_of(&any, N, 2), &flags);
	assert_int_equal(none.times + flags.times, 0);
	RIG_UNTIL(none.times > 0 && flags.times > 0);
	assert_done(none, UV_EINVAL);
	assert_done(flags, UV_EINVAL);
	/* and no input was taken */
	rig_watch(any_of(&any, N, 0), &none);
	resolve(4, 0);
	RIG_UNTIL(none.times > 0);
	assert_done(none, 0);
}

static bool other_closed;

static void on_closed(void *data)
{
	(void)data;
	other_closed = true;
}

/* an input of another reactor on the same loop: EINVAL, and none is taken */
static void any__of_two_reactors(void **state)
{
	rpma_uv_reactor_t other;
	struct rig_done done;
	rpma_uv_op_t op;

	(void)state;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &other, NULL), 0);
	inputs_new(false);
	inputs[1] = rpma_uv_promise(&other, &op);
	inputs[2] = NULL;
	rig_watch(any_of(NULL, N, 0), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EINVAL);
	inputs[1] = NULL;
	rig_watch(any_of(NULL, N, 0), &done);
	resolve(0, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	rpma_uv_reactor_close(&other, on_closed, NULL);
	RIG_UNTIL(other_closed);
	assert_int_equal(op.future.status, UV_ECANCELED);
}

/* inputs that are NULL count as failed with ENOMEM */
static void any__null_inputs(void **state)
{
	struct rig_done done;
	rpma_uv_any_t any;

	(void)state;
	memset(inputs, 0, sizeof(inputs));
	rig_watch(any_of(&any, N, 0), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ENOMEM);
	assert_int_equal(any.failed, N);

	inputs_new(false);
	inputs[0] = inputs[2] = NULL;
	rig_watch(any_of(&any, N, 0), &done);
	resolve(1, UV_EIO);
	rig_settle();
	assert_int_equal(done.times, 0);
	resolve(3, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(any.failed, 3);
	assert_int_equal(any.winner, 3);
}

/* the same one twice, or one that has a parent: EBUSY, and none is taken */
static void any__input_taken(void **state)
{
	struct rig_done done, first;

	(void)state;
	inputs_new(false);
	inputs[4] = inputs[0];
	rig_watch(any_of(NULL, N, 0), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EBUSY);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, inputs, 1), &first);
	rig_watch(any_of(NULL, 3, 0), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EBUSY);
	rig_watch(rpma_uv_any(&rig.reactor, NULL, &inputs[1], 2, 0), &done);
	resolve(0, 0);
	resolve(1, 0);
	RIG_UNTIL(done.times > 0 && first.times > 0);
	assert_done(done, 0);
	assert_done(first, 0);
}

/* inputs that are done count at once: of successes the first in the array, and nothing waits */
static void any__inputs_done_before(void **state)
{
	struct rig_done done, loser;
	rpma_uv_any_t any;

	(void)state;
	for (unsigned from_slab = 0; from_slab < 2; from_slab++) {
		inputs_new(from_slab);
		resolve(3, 0);
		resolve(1, 0);
		resolve(0, UV_EIO);
		resolve(4, UV_EIO);
		rig_settle();
		rig_watch(any_of(&any, N, 0), &done);
		assert_int_equal(done.times, 0);
		RIG_UNTIL(done.times > 0);
		assert_done(done, 0);
		assert_int_equal(any.winner, 1);
		assert_int_equal(any.failed, 2);
		assert_int_equal(done.result, 101);
		/* the one that runs is loose: it may get a callback, and frees itself */
		rig_watch(inputs[2], &loser);
		resolve(2, UV_EPERM);
		RIG_UNTIL(loser.times > 0);
		assert_done(loser, UV_EPERM);
	}
	/* one is ready, its turn is due */
	inputs_new(true);
	resolve(0, UV_EIO);
	rig_settle();
	resolve(1, 0);
	resolve(2, 0);
	rig_watch(any_of(&any, 3, 0), &done);
	RIG_UNTIL(done.times > 0);
	assert_int_equal(any.winner, 1);
	for (unsigned i = 3; i < N; i++) {
		resolve(i, 0);
		rpma_uv_release(inputs[i]);
	}
	/* every one failed before */
	inputs_new(true);
	for (unsigned i = 0; i < N; i++)
		resolve(i, UV_EIO);
	rig_settle();
	rig_watch(any_of(NULL, N, 0), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_EIO);
	rig_slab_is(64);
}

static unsigned looked;

/* all inputs are readable in the callback, whatever became of them; nothing has taken their place */
static void look(rpma_uv_future_t *f, int status)
{
	const rpma_uv_any_t *any = (const rpma_uv_any_t *)f;

	assert_int_equal(status, 0);
	assert_int_equal(any->winner, 1);
	assert_int_equal(f->result, 101);
	inputs_are_held();
	assert_int_equal(inputs[0]->status, UV_EIO);
	assert_int_equal(inputs[1]->status, 0);
	assert_int_equal(inputs[2]->status, 0); /* a little too late */
	assert_int_equal(inputs[2]->result, 102);
	assert_int_equal(inputs[3]->status, UV_EPERM);
	assert_int_equal(inputs[4]->status, RPMA_UV_PENDING);
	/* of no effect: they go with any, or by themselves */
	for (unsigned i = 0; i < N; i++)
		rpma_uv_release(inputs[i]);
	looked++;
}

/* losers that end in the same phase, before and behind the winner */
static void any__inputs_readable_in_callback(void **state)
{
	(void)state;
	looked = 0;
	for (unsigned round = 1; round <= 100; round++) {
		rpma_uv_any_t any;
		bool is_own = round % 2;

		inputs_new(true);
		rpma_uv_then(any_of(is_own ? NULL : &any, N, 0), look, NULL);
		resolve(0, UV_EIO);
		resolve(1, 0);
		resolve(2, 0);
		resolve(3, UV_EPERM);
		RIG_UNTIL(looked == round);
		resolve(4, UV_EIO); /* and is gone */
		rig_settle();
	}
	rig_slab_is(64);
}

static struct rig_done second_done[3];

static void give_parents(rpma_uv_future_t *f, int status)
{
	(void)f;
	assert_int_equal(status, 0);
	/* done too late, done by failing late, and running */
	rig_watch(rpma_uv_all(&rig.reactor, NULL, &inputs[2], 1), &second_done[0]);
	rig_watch(rpma_uv_any(&rig.reactor, NULL, &inputs[3], 1, 0), &second_done[1]);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, &inputs[4], 1), &second_done[2]);
	/* the winner, and what failed before, are consumed */
	for (unsigned i = 0; i < 2; i++) {
		rpma_uv_future_t *taken = rpma_uv_all(&rig.reactor, NULL, &inputs[i], 1);

		assert_int_equal(rpma_uv_cancel(taken, 0), UV_EALREADY);
		rpma_uv_release(taken);
	}
}

/* losers, and only they, may get a new parent, from the callback on */
static void any__losers_get_a_new_parent(void **state)
{
	(void)state;
	for (unsigned from_slab = 0; from_slab < 2; from_slab++) {
		inputs_new(from_slab);
		rpma_uv_then(any_of(NULL, N, 0), give_parents, NULL);
		resolve(0, UV_EIO);
		resolve(1, 0);
		resolve(2, 0);
		resolve(3, UV_EPERM);
		memset(second_done, 0, sizeof(second_done));
		RIG_UNTIL(second_done[0].times > 0 && second_done[1].times > 0);
		assert_done(second_done[0], 0);
		assert_done(second_done[1], UV_EPERM);
		rig_settle();
		assert_int_equal(second_done[2].times, 0);
		resolve(4, 0);
		RIG_UNTIL(second_done[2].times > 0);
		assert_done(second_done[2], 0);
	}
	rig_slab_is(64);
}

static rpma_uv_future_t *next_of(rpma_uv_future_t *f, void *data)
{
	(void)f;
	return data;
}

static rpma_uv_future_t *chained;

static void chain_them(rpma_uv_future_t *f, int status)
{
	(void)status;
	chained = rpma_uv_chain(inputs[1], next_of, inputs[2]);
	(void)f;
}

/* as steps of a chain, one done and one running; as what is waited for */
static void any__losers_in_chain_and_wait(void **state)
{
	int64_t result = 0;

	(void)state;
	inputs_new(true);
	rpma_uv_then(any_of(NULL, N, 0), chain_them, NULL);
	resolve(0, 0);
	resolve(1, 0);
	chained = NULL;
	RIG_UNTIL(chained != NULL);
	assert_int_equal(rpma_uv_wait(chained, 10, NULL), RPMA_UV_PENDING);
	resolve(2, 0);
	assert_int_equal(rpma_uv_wait(chained, UINT64_MAX, &result), 0);
	assert_int_equal(result, 102);
	assert_int_equal(rpma_uv_wait(inputs[3], 10, NULL), RPMA_UV_PENDING);
	resolve(3, 0);
	assert_int_equal(rpma_uv_wait(inputs[3], 10, &result), 0);
	assert_int_equal(result, 103);
	resolve(4, 0);
	rig_settle();
	rig_slab_is(64);
}

static struct rig_done late[N];

static void then_late(rpma_uv_future_t *f, int status)
{
	(void)f;
	(void)status;
	for (unsigned i = 0; i < N; i++)
		rig_watch(inputs[i], &late[i]);
}

/* callbacks that come late: while any is pending, and in its own callback, for each sort of input */
static void any__inputs_with_late_then(void **state)
{
	struct rig_done done, failed;
	rpma_uv_any_t any;

	(void)state;
	for (unsigned from_slab = 0; from_slab < 2; from_slab++) {
		inputs_new(from_slab);
		rig_watch(any_of(&any, N, 0), &done);
		resolve(0, UV_EIO);
		rig_settle();
		rig_watch(inputs[0], &failed); /* counted already */
		rig_settle();
		assert_done(failed, UV_EIO);
		for (unsigned i = 1; i < N; i++)
			resolve(i, i == 2 ? 0 : UV_EPERM);
		RIG_UNTIL(done.times > 0);
		assert_done(done, 0);
		assert_int_equal(any.winner, 2);
		assert_int_equal(any.failed, 2);

		inputs_new(from_slab);
		memset(late, 0, sizeof(late));
		rpma_uv_then(any_of(NULL, N, 0), then_late, NULL);
		resolve(0, UV_EIO);
		resolve(1, 0);
		resolve(2, 0);
		resolve(3, UV_EIO);
		RIG_UNTIL(late[3].times > 0);
		resolve(4, UV_EPERM);
		rig_settle();
		for (unsigned i = 0; i < N; i++)
			assert_int_equal(late[i].times, 1);
		assert_int_equal(late[4].status, UV_EPERM);
	}
	rig_slab_is(64);
}

/* inputs keep their own callbacks, which run before that of any; losers' too */
static void any__inputs_have_callbacks(void **state)
{
	struct rig_done done, each[N];

	(void)state;
	inputs_new(true);
	for (unsigned i = 0; i < N; i++)
		rig_watch(inputs[i], &each[i]);
	rig_watch(any_of(NULL, N, 0), &done);
	resolve(0, UV_EIO);
	resolve(1, 0);
	resolve(2, 0);
	RIG_UNTIL(done.times > 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(each[i].times, 1);
		assert_true(each[i].at < done.at);
	}
	resolve(3, 0);
	resolve(4, 0);
	rig_settle();
	assert_done(each[3], 0);
	assert_done(each[4], 0);
	rig_slab_is(64);
}

/* with RPMA_UV_ANY_CANCEL what still runs is cancelled; what is posted runs on */
static void any__cancels_losers(void **state)
{
	struct rig_done done, loser;
	struct rig_op read;
	struct rig_conn c;
	rpma_uv_any_t any;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	rig_settle();
	for (unsigned done_before = 0; done_before < 2; done_before++) {
		inputs_new(false);
		for (unsigned i = 0; i < 3; i += 2) {
			resolve(i, 0);
			rig_settle();
		}
		inputs[0] = &read.op.future;
		inputs[2] = rpma_uv_conn_end(c.conn, NULL); /* of the slab */
		rig_watch(inputs[3], &loser);
		if (done_before) {
			resolve(1, 0);
			rig_settle();
		}
		rig_watch(any_of(&any, N, RPMA_UV_ANY_CANCEL), &done);
		if (!done_before)
			resolve(1, 0);
		RIG_UNTIL(done.times > 0);
		assert_done(done, 0);
		assert_int_equal(any.winner, 1);
		rig_settle();
		assert_done(loser, UV_ECANCELED);
		assert_int_equal(read.done.times, 0);
	}
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	assert_done(read.done, 0);
	rig_slab_is(64);
}

/* one loser's cancel ends its neighbours, which are losers as well */
static void any__cancel_ends_neighbours(void **state)
{
	struct rig_done done, recv[3];
	struct rig_conn c;

	(void)state;
	for (unsigned from_slab = 0; from_slab < 2; from_slab++) {
		double_auto_bits(0);
		rig_conn_new(&c, NULL);
		inputs[0] = rpma_uv_connect(
			c.conn, from_slab ? NULL : &ops[0], UNIT_ADDR, UNIT_PORT, NULL);
		for (unsigned i = 1; i < 4; i++) {
			inputs[i] =
				rpma_uv_recv(c.conn, from_slab ? NULL : &ops[i], rig_local(0), 8);
			rig_watch(inputs[i], &recv[i - 1]);
		}
		inputs[4] = rpma_uv_promise(&rig.reactor, from_slab ? NULL : &ops[4]);
		rig_watch(any_of(NULL, N, RPMA_UV_ANY_CANCEL), &done);
		resolve(4, 0);
		RIG_UNTIL(done.times > 0);
		assert_done(done, 0);
		rig_settle();
		for (unsigned i = 0; i < 3; i++)
			assert_done(recv[i], UV_ECANCELED);
		rig_conn_gone(&c);
	}
	rig_slab_is(64);
}

/* to stop waiting: any of the operation and a sleep */
static void any__op_or_sleep(void **state)
{
	rpma_uv_future_t *f[2];
	rpma_uv_op_t sleep;
	struct rig_done done;
	struct rig_op read;
	struct rig_conn c;
	rpma_uv_any_t any;

	(void)state;
	rig_conn_ready(&c, NULL);
	rig_read(&c, &read, 8);
	f[0] = &read.op.future;
	f[1] = rpma_uv_sleep(&rig.reactor, &sleep, 100);
	rig_watch(rpma_uv_any(&rig.reactor, &any, f, 2, RPMA_UV_ANY_CANCEL), &done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(any.winner, 1);
	assert_int_equal(read.op.future.status, RPMA_UV_PENDING);
	/* the op goes on, and may be waited for with another sleep: this time it wins */
	f[1] = rpma_uv_sleep(&rig.reactor, &sleep, 100);
	rig_watch(rpma_uv_any(&rig.reactor, &any, f, 2, RPMA_UV_ANY_CANCEL), &done);
	rig_settle();
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(done.times > 0);
	assert_int_equal(any.winner, 0);
	assert_int_equal(done.result, 8);
	rig_settle();
	assert_int_equal(sleep.future.status, UV_ECANCELED);
	assert_int_equal(rig_stats().holds, 0);
}

/* waited for, looked at and released, released while it runs: nothing is lost */
static void any__given_back(void **state)
{
	rpma_uv_future_t *f;

	(void)state;
	for (unsigned round = 0; round < 100; round++) {
		inputs_new(true);
		f = any_of(NULL, N, RPMA_UV_ANY_CANCEL);
		resolve(2, 0);
		assert_int_equal(rpma_uv_wait(f, UINT64_MAX, NULL), 0);

		inputs_new(true);
		f = any_of(NULL, N, RPMA_UV_ANY_CANCEL);
		resolve(2, 0);
		RIG_UNTIL(f->status == 0);
		assert_int_equal(inputs[2]->result, 102);
		rpma_uv_release(f);

		inputs_new(true);
		f = any_of(NULL, N, RPMA_UV_ANY_CANCEL);
		rpma_uv_release(f);
		resolve(2, 0);
		rig_settle();
	}
	assert_int_equal(rig_stats().slab_used, 0);
	rig_slab_is(64);
}

/* any of any, all of any, any of all */
static void any__nested(void **state)
{
	rpma_uv_future_t *inner[2];
	struct rig_done done;

	(void)state;
	inputs_new(true);
	inner[0] = rpma_uv_any(&rig.reactor, NULL, inputs, 2, 0);
	inner[1] = rpma_uv_all(&rig.reactor, NULL, &inputs[2], 3);
	rig_watch(rpma_uv_any(&rig.reactor, NULL, inner, 2, 0), &done);
	for (unsigned i = 2; i < N; i++)
		resolve(i, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 3);
	resolve(0, 0);
	resolve(1, 0);
	rig_settle();
	rig_slab_is(64);
}

static rpma_uv_future_t *any_of_itself(rpma_uv_future_t *f)
{
	return rpma_uv_any(&rig.reactor, NULL, &f, 1, 0);
}

static void any__made_in_callback(void **state)
{
	(void)state;
	inputs_make_in_callback(any_of_itself);
}

/* the slab cannot grow: NULL, and no input is taken */
static void any__out_of_memory(void **state)
{
	struct rig_done done;

	(void)state;
	inputs_new(false);
	unit_alloc_fail(1);
	assert_null(any_of(NULL, N, 0));
	rig_watch(any_of(NULL, N, 0), &done);
	resolve(0, 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(any__first_success),
		RIG_TEST(any__last_failure),
		RIG_TEST(any__refused),
		RIG_TEST(any__of_two_reactors),
		RIG_TEST(any__null_inputs),
		RIG_TEST(any__input_taken),
		RIG_TEST(any__inputs_done_before),
		RIG_TEST(any__inputs_readable_in_callback),
		RIG_TEST(any__losers_get_a_new_parent),
		RIG_TEST(any__losers_in_chain_and_wait),
		RIG_TEST(any__inputs_with_late_then),
		RIG_TEST(any__inputs_have_callbacks),
		RIG_TEST(any__cancels_losers),
		RIG_TEST(any__cancel_ends_neighbours),
		RIG_TEST(any__op_or_sleep),
		RIG_TEST(any__given_back),
		RIG_TEST(any__nested),
		RIG_TEST(any__made_in_callback),
		RIG_TEST(any__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
