/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * shared.c - several transfers on one pool
 *
 * Proven: buffers go round, so that two that want all of them come along at the same pace; one that
 * ends or is cancelled leaves its share to the other.
 */

#include "pulls.h"

#define LEN (400 * CHUNK)

static rpma_uv_transfer_t *other;
static rpma_uv_file_t *other_file;
static rpma_uv_op_t other_op;
static unsigned other_done;

static void on_other(rpma_uv_future_t *f, int status)
{
	(void)f;
	(void)status;
	other_done++;
}

/* the wire's reads are told apart by nothing: both files get the same bytes at the same offsets */
static void arrange(void)
{
	const rpma_uv_transfer_opts_t opts = {
		.size = sizeof(opts),
		.durability = RPMA_UV_DURABILITY_NONE,
		.depth = BUFFERS,
	};

	wire.depth = 64;
	file_open(false);
	assert_int_equal(turn_wait(rpma_uv_file_open(&turn.reactor, NULL, "d/other", O_RDWR, 0600,
				 RPMA_UV_FILE_DIRECT, &other_file)),
		0);
	assert_int_equal(rpma_uv_transfer_new(pool, &opts, &transfer), 0);
	assert_int_equal(rpma_uv_transfer_new(pool, &opts, &other), 0);
	other_done = 0;
}

static void other_start(void)
{
	const rpma_uv_remote_t src = { remote, 0 };

	rpma_uv_then(
		rpma_uv_pull(other, &other_op, &conn, src, LEN, other_file, 0), on_other, NULL);
}

static uint64_t other_written(void)
{
	rpma_uv_transfer_stat_t stat;

	rpma_uv_transfer_stat(other, &stat);
	return stat.written;
}

static void shared__same_pace(void **state)
{
	uint64_t a, b;

	(void)state;
	arrange();
	pull_start(LEN);
	other_start();
	while (stat_now().written < LEN / 2)
		uv_run(&turn.loop, UV_RUN_ONCE);
	a = stat_now().written;
	b = other_written();
	/* the second began with nothing; it has been served for all but the beginning */
	assert_true(b >= a * 3 / 4);
	while (!pull_done || !other_done)
		uv_run(&turn.loop, UV_RUN_ONCE);
	assert_int_equal(pull_status, 0);
	assert_int_equal(other_written(), LEN);
	assert_int_equal(rpma_uv_transfer_delete(&other), 0);
}

static void shared__one_is_cancelled(void **state)
{
	(void)state;
	arrange();
	pull_start(LEN);
	other_start();
	for (int i = 0; i < 10; i++)
		uv_run(&turn.loop, UV_RUN_ONCE);
	assert_int_equal(rpma_uv_cancel(&pull_op.future, 0), 0);
	while (!pull_done || !other_done)
		uv_run(&turn.loop, UV_RUN_ONCE);
	assert_int_equal(pull_status, UV_ECANCELED);
	assert_int_equal(other_op.future.status, 0);
	assert_int_equal(rpma_uv_transfer_delete(&other), 0);
}

UNIT_MAIN(PULLS_TEST(shared__same_pace), PULLS_TEST(shared__one_is_cancelled))
