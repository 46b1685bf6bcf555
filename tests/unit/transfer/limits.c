/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* limits.c - how much is in flight: the depth, the connection's depth, writes, buffers */

#include "pulls.h"

static void limits__depth(void **state)
{
	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .depth = 3 });
	pull_start(50 * CHUNK);
	assert_int_equal(wire.pending, 3);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), 0);
	assert_int_equal(wire.peak, 3);
	assert_int_equal(stat_now().peak_reads, 3);
}

static void limits__negotiated_depth(void **state)
{
	(void)state;
	file_open(false);
	wire.depth = 2;
	transfer_make((rpma_uv_transfer_opts_t){ 0 });
	pull_start(50 * CHUNK);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), 0);
	assert_int_equal(wire.peak, 2);
	assert_int_equal(stat_now().peak_reads, 2);
}

/* as many buffers as there are, and no more; the second wave comes when they are back */
static void limits__buffers(void **state)
{
	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .depth = 100 });
	wire.hold = true;
	wire.depth = 100;
	pull_start(50 * CHUNK);
	settle();
	assert_int_equal(wire.pending, BUFFERS);
	wire_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), 0);
	assert_int_equal(wire.peak, BUFFERS);
}

static void limits__writes(void **state)
{
	rpma_uv_transfer_stat_t stat;

	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .writes = 2, .depth = 3 });
	ring_double_hold(RPMA_UV__IO_WRITE);
	pull_start(50 * CHUNK);
	settle();
	stat = stat_now();
	assert_int_equal(stat.writes_in_flight, 2);
	assert_int_equal(ring_double_held(), 2);
	/* the others are read already, and wait for their turn */
	assert_int_equal(stat.read, BUFFERS * CHUNK);
	assert_int_equal(stat.reads_in_flight, 0);
	ring_double_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), 0);
	assert_int_equal(stat_now().peak_writes, 2);
}

/* reads go on while a write is out */
static void limits__overlap(void **state)
{
	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .depth = 4 });
	ring_double_hold(RPMA_UV__IO_WRITE);
	wire.hold = true;
	pull_start(50 * CHUNK);
	assert_int_equal(stat_now().peak_overlap, 0);
	wire_complete(0, 0, 0);
	settle();
	assert_int_equal(ring_double_held(), 1);
	assert_int_equal(wire.pending, 4);
	wire_complete(0, 0, 0);
	settle();
	assert_int_equal(stat_now().peak_overlap, 4);
	wire_go();
	ring_double_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), 0);
}

/* a buffer that the program holds is not ours; one that it gives back is */
static void limits__program_holds_all(void **state)
{
	rpma_uv_buf_t *bufs[BUFFERS];

	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ 0 });
	for (int i = 0; i < BUFFERS; i++)
		bufs[i] = rpma_uv_buf_get(pool);
	pull_start(20 * CHUNK);
	settle();
	assert_int_equal(wire.started, 0);
	rpma_uv_buf_put(bufs[0]);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), 0);
	assert_int_equal(wire.peak, 1);
	for (int i = 1; i < BUFFERS; i++)
		rpma_uv_buf_put(bufs[i]);
}

UNIT_MAIN(PULLS_TEST(limits__depth), PULLS_TEST(limits__negotiated_depth),
	PULLS_TEST(limits__buffers), PULLS_TEST(limits__writes), PULLS_TEST(limits__overlap),
	PULLS_TEST(limits__program_holds_all))
