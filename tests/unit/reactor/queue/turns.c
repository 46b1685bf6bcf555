/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * turns.c - connections take turns: one with a long queue leaves room to one with a short one
 *
 * The device of these tests does what it is given at once, in the order in which it is given: who
 * posts more has more of the wire.
 */

#include "rig.h"

#define GREEDY 10000
#define SMALL  4096
#define LARGE  32768
#define HALF   (RIG_MEM_SIZE / 2)

static struct rig_op greedy_ops[GREEDY];

/* another one, which has `window` operations in flight and starts one for each that is done */
static struct {
	struct rig_conn conn;
	rpma_uv_op_t ops[512];
	size_t len;
	uint64_t bytes;
	bool is_over;
} other;

static void other_start(rpma_uv_op_t *op);

static void other_done(rpma_uv_future_t *f, int status)
{
	assert_int_equal(status, 0);
	other.bytes += (uint64_t)f->result;
	if (!other.is_over)
		other_start((rpma_uv_op_t *)f);
}

static void other_start(rpma_uv_op_t *op)
{
	rpma_uv_then(
		rpma_uv_write(other.conn.conn, op, rig_remote(HALF), rig_local(0), other.len, 0),
		other_done, NULL);
}

static uint64_t greedy_bytes(void)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < GREEDY; i++)
		bytes += (uint64_t)greedy_ops[i].done.result;
	return bytes;
}

static unsigned greedy_done(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GREEDY; i++)
		n += greedy_ops[i].done.times;
	return n;
}

/* the share, in per cent, that the greedy one had of the bytes when half of its work was done */
static unsigned greedy_share(size_t greedy_len, size_t other_len, unsigned window)
{
	struct rig_conn greedy;
	uint64_t bytes;

	memset(&other, 0, sizeof(other));
	other.len = other_len;
	rig_conn_ready_sizes(&greedy, 1000, 10);
	rig_conn_ready_sizes(&other.conn, 1000, 10);
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH | DOUBLE_AUTO_DATA);
	for (unsigned i = 0; i < GREEDY; i++)
		rig_write(&greedy, &greedy_ops[i], greedy_len);
	for (unsigned i = 0; i < window; i++)
		other_start(&other.ops[i]);
	while (greedy_done() < GREEDY / 2)
		assert_true(rig_turn());
	bytes = greedy_bytes();
	other.is_over = true;
	rig_settle();
	assert_int_equal(greedy_done(), GREEDY);
	rig_conn_gone(&greedy);
	rig_conn_gone(&other.conn);
	return (unsigned)(bytes * 100 / (bytes + other.bytes));
}

/* equal operations, one with 10,000 of them waiting */
static void turns__long_queue(void **state)
{
	(void)state;
	assert_in_range(greedy_share(SMALL, SMALL, 512), 40, 60);
	assert_in_range(greedy_share(8, 8, 512), 40, 60);
}

/* long operations beside short ones: equal in bytes */
static void turns__long_operations(void **state)
{
	(void)state;
	assert_in_range(greedy_share(LARGE, SMALL, 512), 40, 60);
	assert_in_range(greedy_share(LARGE, LARGE, 512), 40, 60);
}

/* the first of another comes behind one list of the greedy one, not behind all of its queue */
static void turns__not_behind_the_whole_queue(void **state)
{
	static struct rig_op op;
	struct rig_conn greedy, quiet;

	(void)state;
	rig_conn_ready_sizes(&greedy, 1000, 10);
	rig_conn_ready_sizes(&quiet, 1000, 10);
	for (unsigned i = 0; i < GREEDY; i++)
		rig_write(&greedy, &greedy_ops[i], LARGE);
	rig_write(&quiet, &op, 8);
	rig_glance();
	assert_int_equal(double_pending_sends(quiet.qp), 1);
	assert_in_range(double_pending_sends(greedy.qp), 1, 3 * 256 * 1024 / LARGE);
	rig_close();
	assert_done(op.done, UV_ECANCELED);
}

/* what it did not use while it was alone is of no use to it when it is not */
static void turns__alone_before(void **state)
{
	static struct rig_op op;
	struct rig_conn greedy, quiet;

	(void)state;
	rig_conn_ready_sizes(&greedy, 1000, 10);
	rig_conn_ready_sizes(&quiet, 1000, 10);
	rig_write(&greedy, &greedy_ops[0], 8);
	rig_settle();
	rig_write(&quiet, &op, 8);
	for (unsigned i = 1; i < 1000; i++)
		rig_write(&greedy, &greedy_ops[i], LARGE);
	rig_glance();
	assert_in_range(double_pending_sends(greedy.qp), 2, 1 + 3 * 256 * 1024 / LARGE);
	rig_close();
}

/* alone, it has the list to itself; and each flush is one doorbell a connection */
static void turns__alone(void **state)
{
	struct rig_conn greedy, idle;

	(void)state;
	rig_conn_ready_sizes(&greedy, 1000, 10);
	rig_conn_ready_sizes(&idle, 1000, 10);
	for (unsigned i = 0; i < 128; i++)
		rig_write(&greedy, &greedy_ops[i], LARGE);
	rig_settle();
	assert_int_equal(double_pending_sends(greedy.qp), 128);
	assert_int_equal(double_send_doorbells(greedy.qp), 1);
	rig_close();
}

/* a region that claims more than there is: for work requests that are never carried out */
static struct rpma_mr_local *huge_mr;
static struct rpma_mr_remote *huge_remote;

static void huge_write(struct rig_conn *c, struct rig_op *op, size_t len)
{
	rig_watch(rpma_uv_write(c->conn, &op->op, (rpma_uv_remote_t){ huge_remote, 0 },
			  (rpma_uv_local_t){ huge_mr, 0 }, len, 0),
		&op->done);
}

/*
 * An operation above the budget is posted at once, and paid for by what is behind it, which waits
 * while the other goes on: for so many flushes as the first one was too long, and 64 at most. How
 * many there were, is counted by the other's doorbells.
 */
static void turns__debt(void **state)
{
	static const struct {
		size_t len;
		unsigned at_least, at_most;
	} cases[] = { { 8, 1, 3 }, { 2 << 20, 7, 12 }, { 1 << 30, 60, 70 } };
	static struct rig_op large, small;

	(void)state;
	huge_mr = unit_mr(rig.peer, rig.mem, 1 << 30, RPMA_MR_USAGE_WRITE_SRC);
	huge_remote = unit_mr_remote(huge_mr);
	for (unsigned i = 0; i < 3; i++) {
		unsigned turns = 0;
		struct rig_conn one, two;

		rig_conn_ready_sizes(&one, 100, 10);
		rig_conn_ready_sizes(&two, 1000, 10);
		huge_write(&one, &large, cases[i].len);
		rig_write(&one, &small, 8);
		for (unsigned k = 0; k < 1000; k++)
			huge_write(&two, &greedy_ops[k], 1 << 18);
		rig_glance();
		assert_in_range(double_pending_sends(one.qp), 1, 2);
		while (double_pending_sends(one.qp) < 2) {
			assert_true(turns++ < 200);
			rig_glance();
		}
		assert_in_range(double_send_doorbells(two.qp), cases[i].at_least, cases[i].at_most);
		rig_conn_gone(&one);
		rig_conn_gone(&two);
	}
	assert_int_equal(rpma_mr_remote_delete(&huge_remote), 0);
	assert_int_equal(rpma_mr_dereg(&huge_mr), 0);
}

/* a debt is among those that have work: one that has had none for a while starts afresh */
static void turns__debt_is_forgotten(void **state)
{
	static rpma_uv_piece_t pieces[100];
	static struct rig_op op;
	struct rig_conn one, two;

	(void)state;
	rig_conn_ready_sizes(&one, 200, 10);
	rig_conn_ready_sizes(&two, 10, 10);
	for (unsigned i = 0; i < 100; i++)
		pieces[i] = (rpma_uv_piece_t){ rig_local(0), rig_remote(HALF), LARGE };
	rig_write(&two, &greedy_ops[0], 8);
	rig_watch(rpma_uv_persist(one.conn, &op.op, pieces, 100, RPMA_FLUSH_TYPE_VISIBILITY, 0),
		&op.done);
	rig_settle();
	assert_int_equal(double_complete_send(one.qp, 101, IBV_WC_SUCCESS), 101);
	rig_settle();
	assert_done(op.done, 0);
	rig_write(&one, &op, 8);
	rig_glance();
	assert_int_equal(double_pending_sends(one.qp), 1);
	rig_close();
}

static uv_prepare_t observer;
static unsigned observed; /* of the other, when the greedy one had posted again */

static void complete_all(struct ibv_cq *cq, void *arg)
{
	struct rig_conn *greedy = arg;

	(void)cq;
	double_on_arm(NULL, NULL);
	double_complete_send(greedy->qp, 4, IBV_WC_SUCCESS);
	double_complete_send(other.conn.qp, 4, IBV_WC_SUCCESS);
}

static void observe(uv_prepare_t *prepare)
{
	struct rig_conn *greedy = prepare->data;

	if (greedy != NULL && double_sends(greedy->qp) == 8 && observed == 0)
		observed = (unsigned)double_sends(other.conn.qp);
}

/*
 * Completions that are found when the queue is armed and looked at again: what their callbacks start
 * goes out with what waited already, not a flush later.
 */
static void turns__found_by_looking_again(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();
	struct rig_conn greedy;

	(void)state;
	/* those that were started earlier run later: after the reactor has prepared */
	memset(&observer, 0, sizeof(observer));
	uv_prepare_init(&rig.loop, &observer);
	uv_prepare_start(&observer, observe);
	uv_unref((uv_handle_t *)&observer);
	rig_reactor(&opts);
	memset(&other, 0, sizeof(other));
	observed = 0;
	other.len = 8;
	rig_conn_ready_sizes(&greedy, 4, 10);
	rig_conn_ready_sizes(&other.conn, 4, 10);
	observer.data = &greedy;
	for (unsigned i = 0; i < 100; i++)
		rig_write(&greedy, &greedy_ops[i], 8);
	for (unsigned i = 0; i < 4; i++)
		other_start(&other.ops[i]);
	rig_settle();
	assert_int_equal(double_sends(greedy.qp), 4);
	assert_int_equal(double_sends(other.conn.qp), 4);
	double_on_arm(complete_all, &greedy);
	double_spurious_event(greedy.qp->send_cq);
	rig_settle();
	assert_int_equal(observed, 8);
	other.is_over = true;
	uv_close((uv_handle_t *)&observer, NULL);
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH | DOUBLE_AUTO_DATA);
	double_complete_send(greedy.qp, 4, IBV_WC_SUCCESS);
	double_complete_send(other.conn.qp, 4, IBV_WC_SUCCESS);
	rig_settle();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(turns__long_queue),
		RIG_TEST(turns__long_operations),
		RIG_TEST(turns__not_behind_the_whole_queue),
		RIG_TEST(turns__alone_before),
		RIG_TEST(turns__alone),
		RIG_TEST(turns__found_by_looking_again),
		RIG_TEST(turns__debt),
		RIG_TEST(turns__debt_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
