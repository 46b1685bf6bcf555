/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* durability.c - which syncs there are, and what they make of the watermark */

#include "pulls.h"

static void run(enum rpma_uv_durability durability, uint64_t chunks, bool is_new)
{
	file_open(is_new);
	transfer_make(
		(rpma_uv_transfer_opts_t){ .durability = durability, .group_bytes = 10 * CHUNK });
	pull_start(chunks * CHUNK);
	assert_int_equal(pull_finish(durability), 0);
}

static void durability__none(void **state)
{
	(void)state;
	run(RPMA_UV_DURABILITY_NONE, 100, true);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 0);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FSYNC), 0);
	assert_int_equal(stat_now().syncs, 0);
	assert_int_equal(stat_now().durable, 0);
	assert_int_equal(stat_now().watermark, 100 * CHUNK);
}

static void durability__final(void **state)
{
	(void)state;
	run(RPMA_UV_DURABILITY_FINAL, 100, true);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 1);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FSYNC), 1);
	assert_int_equal(stat_now().syncs, 1);
}

static void durability__dsync(void **state)
{
	(void)state;
	run(RPMA_UV_DURABILITY_DSYNC, 100, false);
	assert_true(ring_double_last(RPMA_UV__IO_WRITE)->flags & RWF_DSYNC);
	assert_int_equal(stat_now().syncs, 1);
}

/* of a new file the directory comes first: before, no byte of it is safe */
static void durability__dsync_of_a_new_file(void **state)
{
	(void)state;
	file_open(true);
	transfer_make((rpma_uv_transfer_opts_t){ .durability = RPMA_UV_DURABILITY_DSYNC });
	ring_double_hold(RPMA_UV__IO_FSYNC);
	pull_start(20 * CHUNK);
	settle();
	settle();
	assert_int_equal(stat_now().written, 20 * CHUNK);
	assert_int_equal(stat_now().watermark, 0);
	assert_int_equal(stat_now().durable, 0);
	ring_double_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_DSYNC), 0);
	assert_int_equal(stat_now().watermark, 20 * CHUNK);
}

static void durability__group(void **state)
{
	(void)state;
	run(RPMA_UV_DURABILITY_GROUP, 100, true);
	/* a sync may come a little later than after each ten chunks, and take more along */
	assert_true(stat_now().syncs >= 3);
	assert_true(stat_now().syncs <= 11);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), stat_now().syncs);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FSYNC), 1);
}

/* a group's sync does not stop the work, and does not cover what comes after its call */
static void durability__group_overlaps(void **state)
{
	rpma_uv_transfer_stat_t stat;
	uint64_t at;

	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .group_bytes = 10 * CHUNK });
	ring_double_hold(RPMA_UV__IO_FDATASYNC);
	pull_start(100 * CHUNK);
	while (ring_double_held() == 0)
		uv_run(&turn.loop, UV_RUN_ONCE);
	at = ring_double_count(RPMA_UV__IO_WRITE);
	for (int i = 0; i < 200; i++)
		uv_run(&turn.loop, UV_RUN_NOWAIT);
	stat = stat_now();
	assert_int_equal(stat.written, 100 * CHUNK);
	assert_int_equal(stat.watermark, 0);
	assert_int_equal(ring_double_held(), 1);
	ring_double_complete(ring_double_at(0));
	settle();
	assert_true(stat_now().watermark >= 10 * CHUNK);
	assert_true(stat_now().watermark <= at * CHUNK);
	ring_double_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), 0);
	assert_int_equal(stat_now().watermark, 100 * CHUNK);
}

/* a group that ends with the range needs no sync behind its own */
static void durability__group_once(void **state)
{
	(void)state;
	run(RPMA_UV_DURABILITY_GROUP, 5, false);
	assert_int_equal(stat_now().syncs, 1);
}

UNIT_MAIN(PULLS_TEST(durability__none), PULLS_TEST(durability__final),
	PULLS_TEST(durability__dsync), PULLS_TEST(durability__dsync_of_a_new_file),
	PULLS_TEST(durability__group), PULLS_TEST(durability__group_overlaps),
	PULLS_TEST(durability__group_once))
