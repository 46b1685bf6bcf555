/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * window.c - one chunk that does not get done bounds how far the others go ahead
 *
 * Proven: with the first write held, issuing stops at 64 chunks for each buffer; nothing is lost,
 * and the watermark jumps when the write is done.
 */

#define FILE_MAX ((size_t)16 << 20)
#include "pulls.h"

#define WINDOW (64 * BUFFERS)

static void window__stops_and_goes_on(void **state)
{
	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .durability = RPMA_UV_DURABILITY_NONE });
	ring_double_hold(RPMA_UV__IO_WRITE);
	pull_start(3 * WINDOW * CHUNK);
	while (ring_double_held() == 0)
		uv_run(&turn.loop, UV_RUN_ONCE);
	ring_double_hold(-2);
	/* all held ones but the first go on */
	while (ring_double_held() > 1)
		ring_double_complete(ring_double_at(1));
	assert_int_equal(ring_double_at(0)->off, 0);
	for (int i = 0; i < 3000; i++)
		uv_run(&turn.loop, UV_RUN_NOWAIT);
	assert_int_equal(wire.started, WINDOW);
	assert_int_equal(stat_now().written, (WINDOW - 1) * CHUNK);
	assert_int_equal(stat_now().watermark, 0);
	ring_double_complete(ring_double_at(0));
	uv_run(&turn.loop, UV_RUN_ONCE);
	settle();
	assert_true(stat_now().watermark >= WINDOW * CHUNK);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_NONE), 0);
	assert_true(turn_is_pattern(ring_double_data(), 3 * WINDOW * CHUNK, 0));
}

UNIT_MAIN(PULLS_TEST(window__stops_and_goes_on))
