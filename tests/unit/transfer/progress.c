/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* progress.c - what the program is told meanwhile: each chunk once, progress once a turn */

#include "pulls.h"

#define CHUNKS 100

static unsigned chunks[CHUNKS], calls, calls_this_turn;
static rpma_uv_transfer_stat_t last;

static int on_chunk(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	assert_ptr_equal(t, transfer);
	assert_ptr_equal(data, chunks);
	assert_int_equal(offset % CHUNK, 0);
	assert_true(turn_is_pattern(base, len, offset));
	chunks[offset / CHUNK]++;
	/* what it makes of the bytes is what is written */
	memset(base, (int)(offset / CHUNK), len);
	return 0;
}

static void on_progress(rpma_uv_transfer_t *t, const rpma_uv_transfer_stat_t *stat, void *data)
{
	assert_ptr_equal(t, transfer);
	assert_ptr_equal(data, chunks);
	assert_int_equal(pull_done, 0);
	assert_int_equal(++calls_this_turn, 1);
	assert_true(stat->written >= last.written);
	assert_true(stat->watermark >= last.watermark);
	last = *stat;
	calls++;
}

static void progress__told(void **state)
{
	(void)state;
	file_open(false);
	memset(chunks, 0, sizeof(chunks));
	memset(&last, 0, sizeof(last));
	calls = 0;
	transfer_make((rpma_uv_transfer_opts_t){ .on_chunk = on_chunk,
		.on_progress = on_progress,
		.data = chunks,
		.group_bytes = 10 * CHUNK });
	wire.seed = 5;
	ring_double_seed(5);
	pull_start(CHUNKS * CHUNK);
	while (!pull_done) {
		calls_this_turn = 0;
		uv_run(&turn.loop, UV_RUN_ONCE);
	}
	assert_int_equal(pull_status, 0);
	assert_true(calls > 5);
	/* the last word comes before the end */
	assert_int_equal(last.written, CHUNKS * CHUNK);
	assert_int_equal(last.watermark, CHUNKS * CHUNK);
	for (unsigned i = 0; i < CHUNKS; i++) {
		assert_int_equal(chunks[i], 1);
		assert_int_equal(ring_double_data()[i * CHUNK], i);
		assert_int_equal(ring_double_data()[(i + 1) * CHUNK - 1], i);
	}
	ring_double_seed(0);
}

static unsigned told_after_cancel;

static void cancel_it(rpma_uv_transfer_t *t, const rpma_uv_transfer_stat_t *stat, void *data)
{
	(void)t;
	(void)stat;
	(void)data;
	(void)rpma_uv_cancel(&pull_op.future, 0);
	told_after_cancel++;
}

static void progress__cancels(void **state)
{
	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .on_progress = cancel_it });
	pull_start(CHUNKS * CHUNK);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
	assert_true(told_after_cancel > 0);
	assert_true(stat_now().written < CHUNKS * CHUNK);
}

UNIT_MAIN(PULLS_TEST(progress__told), PULLS_TEST(progress__cancels))
