/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * steady.c - 10,000 chunks without a call of the heap
 *
 * Proven: after the first hundred chunks nothing is allocated, with syncs, out-of-order completions
 * and progress; the slab of futures does not grow.
 */

#define FILE_MAX ((size_t)64 << 20)
#include "pulls.h"

#define CHUNKS 10000

static unsigned chunks, allocs_then;
static uint64_t slab_then;

static int on_chunk(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	(void)t;
	(void)base;
	(void)len;
	(void)offset;
	(void)data;
	if (++chunks == 100) {
		unit_alloc_fail(0); /* and count from here */
		allocs_then = unit_allocs();
		slab_then = turn_stats(&turn).slab_objects;
	} else if (chunks == CHUNKS) {
		assert_int_equal(unit_allocs(), allocs_then);
		assert_int_equal(turn_stats(&turn).slab_objects, slab_then);
	}
	return 0;
}

static void on_progress(rpma_uv_transfer_t *t, const rpma_uv_transfer_stat_t *stat, void *data)
{
	(void)t;
	(void)stat;
	(void)data;
}

static void steady__no_heap_calls(void **state)
{
	(void)state;
	file_open(true);
	transfer_make((rpma_uv_transfer_opts_t){
		.on_chunk = on_chunk, .on_progress = on_progress, .group_bytes = 100 * CHUNK });
	wire.seed = 1;
	ring_double_seed(1);
	pull_start(CHUNKS * CHUNK);
	turn_until(&turn, &pull_done);
	assert_int_equal(pull_status, 0);
	assert_int_equal(chunks, CHUNKS);
	assert_true(stat_now().syncs > 10);
	assert_true(turn_is_pattern(ring_double_data(), CHUNKS * CHUNK, 0));
	ring_double_seed(0);
}

UNIT_MAIN(PULLS_TEST(steady__no_heap_calls))
