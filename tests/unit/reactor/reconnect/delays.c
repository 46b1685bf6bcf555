/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * delays.c - attempts to reconnect: how far apart they are, and that there is one at a time
 *
 * A peer that is down refuses every attempt; the test's clock tells when each was made.
 */

#include "rig.h"

#define MOST 64

static uint64_t made_at[MOST]; /* of uv_now(), by attempt */
static unsigned made;
static unsigned most_at_once;

static int note(rpma_uv_conn_t *c, void *data)
{
	assert_ptr_equal(data, &made);
	assert_non_null(c);
	assert_true(made < MOST);
	made_at[made++] = uv_now(&rig.loop);
	if (rig_stats().conns > most_at_once)
		most_at_once = (unsigned)rig_stats().conns;
	return 0;
}

static rpma_uv_reconnect_opts_t opts_of(uint64_t seed, unsigned attempts)
{
	made = 0;
	most_at_once = 0;
	return (rpma_uv_reconnect_opts_t){
		.size = sizeof(rpma_uv_reconnect_opts_t),
		.initial_ms = 100,
		.max_ms = 2000,
		.factor = 3,
		.attempts = attempts,
		.seed = seed,
		.on_conn = note,
		.data = &made,
	};
}

/* from the failure of one to the next: what an attempt takes is the same each time */
static int try(const rpma_uv_reconnect_opts_t *opts, rpma_uv_conn_t **conn)
{
	return rig_await(rpma_uv_reconnect(
		&rig.reactor, NULL, rig.peer, NULL, UNIT_ADDR, UNIT_PORT, NULL, opts, conn));
}

/* at once refused: the time between two attempts is the delay and nothing else */
static uint64_t delay(unsigned i)
{
	return made_at[i] - made_at[i - 1];
}

/* each delay is in its range, none is beyond the cap, and the whole range is used */
static void delays__ranges(void **state)
{
	bool near_cap = false, below_before = false;
	rpma_uv_conn_t *conn;

	(void)state;
	double_fail_always("rdma_connect", ECONNREFUSED);
	for (uint64_t seed = 1; seed <= 20; seed++) {
		rpma_uv_reconnect_opts_t opts = opts_of(seed, 20);
		uint64_t start = uv_now(&rig.loop), before = 100;

		assert_int_equal(try(&opts, &conn), UV_ECONNREFUSED);
		assert_int_equal(made, 20);
		assert_true(made_at[0] - start <= 101);
		for (unsigned i = 1; i < made; i++) {
			/* a timer may be a millisecond late */
			assert_true(delay(i) >= 100);
			assert_true(delay(i) <= 3 * before + 1);
			assert_true(delay(i) <= 2001);
			near_cap |= delay(i) > 1500;
			below_before |= delay(i) < before;
			before = delay(i);
		}
	}
	assert_true(near_cap); /* it grows */
	assert_true(below_before); /* and is random all the way */
	assert_int_equal(most_at_once, 1);
}

/* the same seed, the same delays; another seed, others: clients do not come back together */
static void delays__seeds(void **state)
{
	uint64_t first[MOST], different = 0;
	rpma_uv_conn_t *conn;

	(void)state;
	double_fail_always("rdma_connect", ECONNREFUSED);
	for (unsigned run = 0; run < 4; run++) {
		rpma_uv_reconnect_opts_t opts = opts_of(run < 2 ? 7 : 6 + run, 10);
		uint64_t start = uv_now(&rig.loop);

		assert_int_equal(try(&opts, &conn), UV_ECONNREFUSED);
		for (unsigned i = 0; i < made; i++) {
			uint64_t at = made_at[i] - start;

			if (run == 0)
				first[i] = at;
			else if (run == 1)
				assert_int_equal(at, first[i]);
			else
				different += at != first[i];
		}
	}
	assert_true(different >= 18);
	/* without a seed nobody knows: two of them are hardly ever the same */
	different = 0;
	for (unsigned run = 0; run < 2; run++) {
		rpma_uv_reconnect_opts_t opts = opts_of(0, 10);
		uint64_t start = uv_now(&rig.loop);

		assert_int_equal(try(&opts, &conn), UV_ECONNREFUSED);
		for (unsigned i = 0; i < made; i++) {
			if (run == 0)
				first[i] = made_at[i] - start;
			else
				different += made_at[i] - start != first[i];
		}
	}
	assert_true(different > 0);
}

/* a thousand clients whose server went: no millisecond sees more than a few of them */
static void delays__no_storm(void **state)
{
	static unsigned in_slot[400];
	rpma_uv_conn_t *conn;

	(void)state;
	memset(in_slot, 0, sizeof(in_slot));
	double_fail_always("rdma_connect", ECONNREFUSED);
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		rpma_uv_reconnect_opts_t opts = opts_of(seed, 2);
		uint64_t start = uv_now(&rig.loop);

		assert_int_equal(try(&opts, &conn), UV_ECONNREFUSED);
		for (unsigned i = 0; i < 2; i++) {
			assert_true(made_at[i] - start < 410);
			in_slot[(made_at[i] - start) * 399 / 410]++;
		}
	}
	for (unsigned i = 0; i < 400; i++)
		assert_true(in_slot[i] < 40);
}

/* it works at the third attempt: the connection is there, the result says how many it took */
static void delays__until_it_works(void **state)
{
	rpma_uv_reconnect_opts_t opts = opts_of(3, 0);
	rpma_uv_conn_t *conn = UNIT_UNTOUCHED;
	struct rig_done done;

	(void)state;
	double_fail_always("rdma_connect", ECONNREFUSED);
	rig_watch(rpma_uv_reconnect(&rig.reactor, NULL, rig.peer, NULL, UNIT_ADDR, UNIT_PORT, NULL,
			  &opts, &conn),
		&done);
	assert_int_equal(made, 0); /* not in the call */
	RIG_UNTIL(made == 2);
	rig_settle();
	assert_ptr_equal(conn, UNIT_UNTOUCHED);
	double_fail_none();
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 3);
	assert_int_equal(rig_stats().conns_ready, 1);
	assert_int_equal(rig_stats().conns, 1);
	assert_string_equal(rpma_uv_conn_remote_addr(conn), "192.0.2.1:7204");
	assert_int_equal(most_at_once, 1);
	/* and it is over: nothing comes later */
	assert_false(uv_loop_alive(&rig.loop));
}

/* an attempt that fails late is closed before the next: the device's part of it is gone by then */
static void delays__one_at_a_time(void **state)
{
	rpma_uv_reconnect_opts_t opts = opts_of(5, 3);
	rpma_uv_conn_t *conn;

	(void)state;
	/* nobody answers: each attempt lasts until its time is over */
	double_auto_bits(DOUBLE_AUTO_FLUSH);
	opts.initial_ms = 1;
	opts.max_ms = 1;
	assert_int_equal(try(&opts, &conn), UV_ETIMEDOUT);
	assert_int_equal(made, 3);
	for (unsigned i = 1; i < 3; i++)
		assert_true(delay(i) >= RPMA_DEFAULT_TIMEOUT_MS + 1);
	assert_int_equal(most_at_once, 1);
	assert_int_equal(double_live(DOUBLE_ID), 0);
}

static struct rig_op recvs[3];

static int post_and_note(rpma_uv_conn_t *c, void *data)
{
	struct rig_conn posting = { .conn = c };

	rig_recv(&posting, &recvs[made], 8);
	return note(c, data);
}

/* one whose device holds on to what was posted is waited for, however short the delay */
static void delays__after_the_close(void **state)
{
	rpma_uv_reconnect_opts_t opts = opts_of(5, 3);
	rpma_uv_conn_t *conn;

	(void)state;
	double_auto_bits(DOUBLE_AUTO_CM); /* nothing is flushed */
	double_fail_always("rdma_connect", ECONNREFUSED);
	opts.initial_ms = 1;
	opts.max_ms = 1;
	opts.on_conn = post_and_note;
	assert_int_equal(try(&opts, &conn), UV_ECONNREFUSED);
	assert_int_equal(made, 3);
	for (unsigned i = 1; i < 3; i++)
		assert_true(delay(i) >= RPMA_UV_DRAIN_TIMEOUT + 1);
	assert_int_equal(most_at_once, 1);
	for (unsigned i = 0; i < 3; i++)
		assert_done(recvs[i].done, UV_ECONNREFUSED);
}

/* no bound at all, and delays as long as there are numbers: nothing overflows */
static void delays__extremes(void **state)
{
	rpma_uv_reconnect_opts_t opts = opts_of(1, 3);
	rpma_uv_conn_t *conn;
	struct rig_done done;
	rpma_uv_future_t *f;

	(void)state;
	double_fail_always("rdma_connect", ECONNREFUSED);
	opts.initial_ms = UINT64_C(1) << 32;
	opts.max_ms = UINT64_C(1) << 36;
	opts.factor = UINT32_MAX;
	assert_int_equal(try(&opts, &conn), UV_ECONNREFUSED);
	assert_int_equal(made, 3);
	assert_true(delay(2) >= UINT64_C(1) << 32);
	opts = opts_of(1, 3);
	opts.initial_ms = UINT64_MAX;
	opts.max_ms = UINT64_MAX;
	f = rig_watch(rpma_uv_reconnect(&rig.reactor, NULL, rig.peer, NULL, UNIT_ADDR, UNIT_PORT,
			      NULL, &opts, &conn),
		&done);
	rig_advance(UINT64_C(1) << 40);
	rig_settle();
	assert_int_equal(made, 0);
	assert_int_equal(rpma_uv_cancel(f, 0), 0);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(delays__ranges),
		RIG_TEST(delays__seeds),
		RIG_TEST(delays__no_storm),
		RIG_TEST(delays__until_it_works),
		RIG_TEST(delays__one_at_a_time),
		RIG_TEST(delays__after_the_close),
		RIG_TEST(delays__extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
