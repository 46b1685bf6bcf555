/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * credits.c - what fits is posted at once, what does not waits in order: slots, read depth, signals
 */

#include <stdio.h>

#include "rig.h"

#define MANY 200

static struct rig_op ops[MANY];

static unsigned count_done(unsigned n)
{
	unsigned done = 0;

	for (unsigned i = 0; i < n; i++) {
		assert_true(ops[i].done.times <= 1);
		done += ops[i].done.times;
	}
	return done;
}

/* one read of 17 pieces at a depth of 16: two waves, and one that waits for them all */
static void credits__two_waves_of_reads(void **state)
{
	rpma_uv_future_t *f[17];
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 100, 10);
	for (unsigned i = 0; i < 17; i++)
		f[i] = rpma_uv_read(
			c.conn, NULL, rig_local(i * 64), rig_remote(32768 + i * 64), 64, 0);
	rig_watch(rpma_uv_all(&rig.reactor, NULL, f, 17), &done);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 16);
	assert_int_equal(double_complete_send(c.qp, 16, IBV_WC_SUCCESS), 16);
	rig_settle();
	assert_int_equal(done.times, 0);
	assert_int_equal(double_pending_sends(c.qp), 1);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	RIG_UNTIL(done.times > 0);
	assert_done(done, 0);
	assert_int_equal(done.result, 17);
	assert_memory_equal(rig.mem, rig.mem + 32768, 17 * 64);
}

/* many small sends and writes on a short queue: the library asks for completions in time, all end */
static void credits__unsignalled_sends(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 7, 16, 150 };

	(void)state;
	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		unsigned rounds = 0;
		struct rig_conn c;

		rig_conn_ready_sizes(&c, sizes[s], 10);
		for (unsigned i = 0; i < MANY; i++)
			i % 3 ? rig_write(&c, &ops[i], 8) : rig_send(&c, &ops[i], 8);
		rig_settle();
		while (count_done(MANY) < MANY) {
			assert_true(rounds++ < 2 * MANY);
			assert_true(double_pending_sends(c.qp) <= sizes[s]);
			assert_int_not_equal(double_pending_sends(c.qp), 0);
			/* one completion at a time is enough to go on */
			while (double_cq_count(c.qp->send_cq) == 0)
				assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
			rig_settle();
		}
		for (unsigned i = 0; i < MANY; i++) {
			assert_done(ops[i].done, 0);
			assert_int_equal(ops[i].done.result, 8);
			if (i > 0)
				assert_true(ops[i].done.at > ops[i - 1].done.at);
		}
		/* and not one for each */
		if (sizes[s] > 8)
			assert_true(rig_stats().completions < rig_stats().work_requests);
		rig_conn_gone(&c);
	}
}

/* which are signalled: reads, large ones, one in a quarter of the queue, the last of a list */
static void credits__signals(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 20, 10);
	/* 0..4 small: the 5th is a quarter; 5 read; 6 small; 7 large; 8 just below; 9 the last */
	for (unsigned i = 0; i < 5; i++)
		rig_send(&c, &ops[i], 8);
	rig_read(&c, &ops[5], 8);
	rig_send(&c, &ops[6], 8);
	rig_send(&c, &ops[7], 16384);
	rig_send(&c, &ops[8], 16383);
	rig_send(&c, &ops[9], 8);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 10);
	for (unsigned i = 0; i < 10; i++) {
		bool is_signalled = double_pending_send(c.qp, i)->send_flags & IBV_SEND_SIGNALED;

		assert_int_equal(is_signalled, i == 4 || i == 5 || i == 7 || i == 9);
	}
	/* a completion stands for all before it */
	assert_int_equal(double_complete_send(c.qp, 5, IBV_WC_SUCCESS), 5);
	assert_int_equal(double_cq_count(c.qp->send_cq), 1);
	rig_settle();
	assert_int_equal(count_done(10), 5);
	assert_int_equal(double_complete_send(c.qp, 5, IBV_WC_SUCCESS), 5);
	rig_settle();
	assert_int_equal(count_done(10), 10);
}

/* a read that waits for a credit holds back the sends that were called after it */
static void credits__one_line(void **state)
{
	struct rig_conn c;

	(void)state;
	double_device.max_rd_atomic = 2;
	rig_conn_ready_sizes(&c, 20, 10);
	for (unsigned i = 0; i < 3; i++)
		rig_read(&c, &ops[i], 8);
	rig_send(&c, &ops[3], 8);
	rig_send(&c, &ops[4], 8);
	rig_settle();
	assert_int_equal(double_pending_sends(c.qp), 2);
	double_complete_send(c.qp, 1, IBV_WC_SUCCESS);
	rig_settle();
	/* the third read has its credit, and what stood behind it goes with it */
	assert_int_equal(double_pending_sends(c.qp), 4);
	assert_int_equal(double_pending_send(c.qp, 1)->opcode, IBV_WR_RDMA_READ);
	assert_int_equal(double_pending_send(c.qp, 2)->opcode, IBV_WR_SEND);
	double_complete_send(c.qp, 4, IBV_WC_SUCCESS);
	rig_settle();
	for (unsigned i = 0; i < 5; i++) {
		assert_done(ops[i].done, 0);
		if (i > 0)
			assert_true(ops[i].done.at > ops[i - 1].done.at);
	}
}

/* one doorbell for each flush, whatever its length; one more where a list is full */
static void credits__doorbells(void **state)
{
	rpma_uv_reactor_stats_t before, after;
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 300, 300);
	rig_settle();
	before = rig_stats();
	for (unsigned i = 0; i < 100; i++)
		rig_send(&c, &ops[i], 8);
	assert_int_equal(rig_stats().doorbells, before.doorbells); /* not within the calls */
	rig_settle();
	after = rig_stats();
	assert_int_equal(after.doorbells, before.doorbells + 1);
	assert_int_equal(after.work_requests, before.work_requests + 100);
	assert_int_equal(double_send_doorbells(c.qp), 1);
	double_complete_send(c.qp, 100, IBV_WC_SUCCESS);
	rig_settle();

	/* 200: a list of 128 and one of 72 */
	for (unsigned i = 0; i < MANY; i++)
		rig_send(&c, &ops[i], 8);
	rig_settle();
	assert_int_equal(double_send_doorbells(c.qp), 3);
	assert_int_equal(double_pending_send(c.qp, 127)->doorbell, 2);
	assert_int_equal(double_pending_send(c.qp, 128)->doorbell, 3);
	double_complete_send(c.qp, MANY, IBV_WC_SUCCESS);
	rig_settle();
	assert_int_equal(count_done(MANY), MANY);

	/* receives likewise */
	for (unsigned i = 0; i < MANY; i++)
		rig_recv(&c, &ops[i], 8);
	rig_settle();
	assert_int_equal(double_recv_doorbells(c.qp), 2);
	assert_int_equal(double_pending_recvs(c.qp), MANY);
	rig_close();
}

/* receives beyond the queue wait, and are posted as room comes, in order */
static void credits__receives(void **state)
{
	struct rig_conn c;
	char word[16];

	(void)state;
	rig_conn_ready_sizes(&c, 10, 3);
	for (unsigned i = 0; i < 10; i++)
		rig_recv(&c, &ops[i], 16);
	for (unsigned i = 0; i < 10; i++) {
		rig_settle();
		assert_int_equal(double_pending_recvs(c.qp), i < 8 ? 3 : 10 - i);
		snprintf(word, sizeof(word), "%u", i);
		assert_true(double_deliver(c.qp, word, (uint32_t)i + 1, NULL));
		RIG_UNTIL(ops[i].done.times > 0);
		assert_int_equal(ops[i].done.result, i + 1);
	}
}

/* beyond the bound an operation is refused, with EAGAIN, and it works again when there is room */
static void credits__bound(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn c;

	(void)state;
	opts.queue_bound = 5;
	rig_reactor(&opts);
	rig_conn_ready_sizes(&c, 2, 2);
	for (unsigned i = 0; i < 2; i++)
		rig_send(&c, &ops[i], 8);
	rig_settle(); /* posted: these do not count */
	for (unsigned i = 2; i < 6; i++)
		rig_send(&c, &ops[i], 8);
	rig_recv(&c, &ops[6], 8);
	rig_recv(&c, &ops[7], 8); /* the sixth that waits */
	rig_settle();
	assert_done(ops[7].done, UV_EAGAIN);
	assert_int_equal(count_done(8), 1);
	rig_recv(&c, &ops[7], 8); /* one was posted meanwhile */
	rig_settle();
	assert_int_equal(ops[7].done.times, 0);
	assert_int_equal(double_pending_recvs(c.qp), 2);
	rig_close();
	for (unsigned i = 0; i < 8; i++)
		assert_done(ops[i].done, UV_ECANCELED);
}

/* a read depth above the send queue, and a queue of one */
static void credits__queue_of_one(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready_sizes(&c, 1, 1);
	for (unsigned i = 0; i < 4; i++)
		i % 2 ? rig_send(&c, &ops[i], 8) : rig_read(&c, &ops[i], 8);
	for (unsigned i = 0; i < 4; i++) {
		rig_settle();
		assert_int_equal(double_pending_sends(c.qp), 1);
		assert_int_equal(double_complete_send(c.qp, 1, IBV_WC_SUCCESS), 1);
		rig_settle();
		assert_int_equal(count_done(4), i + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(credits__two_waves_of_reads),
		RIG_TEST(credits__unsignalled_sends),
		RIG_TEST(credits__signals),
		RIG_TEST(credits__one_line),
		RIG_TEST(credits__doorbells),
		RIG_TEST(credits__receives),
		RIG_TEST(credits__bound),
		RIG_TEST(credits__queue_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
