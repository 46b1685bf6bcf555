/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * range.c - ranges that start and end anywhere, ports that carry little, arguments that are wrong
 */

#include "pulls.h"

static int pull_range(uint64_t from, uint64_t len, int64_t off)
{
	const rpma_uv_remote_t src = { remote, from };

	return turn_wait(rpma_uv_pull(transfer, &pull_op, &conn, src, len, file, off));
}

/* wherever it begins, whole pages of the file are written around the cache */
static void range__any_offset(void **state)
{
	static const struct {
		uint64_t from, len;
		int64_t off;
	} cases[] = {
		{ 0, 10 * CHUNK, 0 },
		{ 7, 10 * CHUNK + 3, 0 },
		{ 0, 10 * CHUNK, 100 },
		{ 12345, 10 * CHUNK + 1, 4095 },
		{ 0, 1, 0 },
		{ 5, 1, 8191 },
		{ 0, 4096 - 100, 100 },
		{ 0, 4096 - 99, 100 },
	};

	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ 0 });
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t *data = ring_double_data();

		memset(data, 0xee, 20 * CHUNK);
		assert_int_equal(pull_range(cases[i].from, cases[i].len, cases[i].off), 0);
		assert_int_equal(pull_op.future.result, cases[i].len);
		assert_true(turn_is_pattern(data + cases[i].off, cases[i].len, cases[i].from));
		for (int64_t b = 0; b < cases[i].off; b++)
			assert_int_equal(data[b], 0xee);
		assert_int_equal(data[cases[i].off + (int64_t)cases[i].len], 0xee);
	}
	/* the head as it must be, the rest direct, although the range is at an odd place */
	ring_double_log_clear();
	assert_int_equal(pull_range(0, 3 * CHUNK, 512), 0);
	assert_non_null(strstr(ring_double_log(), "write(512,3584)"));
	assert_non_null(strstr(ring_double_log(), "write*(4096,4096)"));
	assert_non_null(strstr(ring_double_log(), "write*(8192,4096)"));
	assert_non_null(strstr(ring_double_log(), "write(12288,512)"));
}

/* a port whose messages are smaller than a buffer */
static void range__small_messages(void **state)
{
	rpma_uv_pool_t *big = NULL;
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 2, .chunk = 64 << 10 };
	rpma_uv_transfer_t *t = NULL;
	const rpma_uv_remote_t src = { remote, 0 };

	(void)state;
	file_open(false);
	assert_int_equal(turn_wait(rpma_uv_pool_new(&turn.reactor, NULL, peer, &opts, &big)), 0);
	assert_int_equal(rpma_uv_transfer_new(big, NULL, &t), 0);
	wire.max_msg = 10000;
	assert_int_equal(turn_wait(rpma_uv_pull(t, NULL, &conn, src, 300000, file, 0)), 0);
	assert_true(turn_is_pattern(ring_double_data(), 300000, 0));
	assert_int_equal(wire.started, (300000 + 8191) / 8192);
	wire.max_msg = 1000;
	assert_int_equal(turn_wait(rpma_uv_pull(t, NULL, &conn, src, 30000, file, 0)), 0);
	assert_int_equal(rpma_uv_transfer_delete(&t), 0);
}

static void range__nothing(void **state)
{
	(void)state;
	file_open(true);
	transfer_make((rpma_uv_transfer_opts_t){ 0 });
	assert_int_equal(pull_range(0, 0, 0), 0);
	assert_int_equal(pull_op.future.result, 0);
	assert_int_equal(wire.started, 0);
	assert_string_equal(ring_double_log(), "");
}

static void range__refused(void **state)
{
	const rpma_uv_remote_t src = { remote, 0 }, none = { NULL, 0 };

	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ 0 });
	assert_int_equal(pull_range(0, SOURCE_MAX + 1, 0), UV_EINVAL);
	assert_int_equal(pull_range(SOURCE_MAX, 1, 0), UV_EINVAL);
	assert_int_equal(pull_range(UINT64_MAX, 2, 0), UV_EINVAL);
	assert_int_equal(pull_range(0, 1, -1), UV_EINVAL);
	assert_int_equal(pull_range(0, 2, INT64_MAX - 1), UV_EINVAL);
	assert_string_equal(rpma_uv_strerror(&pull_op.future), "pull: invalid argument");
	assert_int_equal(turn_wait(rpma_uv_pull(transfer, NULL, NULL, src, 1, file, 0)), UV_EINVAL);
	assert_int_equal(
		turn_wait(rpma_uv_pull(transfer, NULL, &conn, none, 1, file, 0)), UV_EINVAL);
	assert_int_equal(
		turn_wait(rpma_uv_pull(transfer, NULL, &conn, src, 1, NULL, 0)), UV_EINVAL);
	wire.may_send = UV_ENOTCONN;
	assert_int_equal(pull_range(0, 1, 0), UV_ENOTCONN);
	wire.may_send = 0;
	assert_int_equal(error_now().status, UV_ENOTCONN);
	assert_int_equal(wire.started, 0);
	assert_int_equal(pull_range(0, 1, 0), 0);
}

/* a file that has lost its promise, or is closing, takes no transfer */
static void range__file_refuses(void **state)
{
	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ 0 });
	ring_double_rule(RPMA_UV__IO_FDATASYNC, 1, -EDQUOT);
	assert_int_equal(pull_range(0, 1, 0), -EDQUOT);
	assert_int_equal(pull_range(0, 1, 0), -EDQUOT);
	assert_int_equal(wire.started, 1);
	ring_double_hold(RPMA_UV__IO_CLOSE);
	rpma_uv_file_close(file, NULL, NULL);
	assert_int_equal(pull_range(0, 1, 0), UV_ECANCELED);
	ring_double_go();
}

/* all three have to be of one reactor */
static void range__another_reactor(void **state)
{
	const rpma_uv_remote_t src = { remote, 0 };
	rpma_uv_file_t *its_file = NULL;
	struct turn another;

	(void)state;
	transfer_make((rpma_uv_transfer_opts_t){ 0 });
	turn_open(&another, NULL);
	ring_double_exists(0);
	assert_int_equal(turn_wait(rpma_uv_file_open(
				 &another.reactor, NULL, "d/x", O_RDWR, 0, 0, &its_file)),
		0);
	assert_int_equal(
		turn_wait(rpma_uv_pull(transfer, NULL, &conn, src, 1, its_file, 0)), UV_EINVAL);
	conn.reactor = another.r;
	turn_close(&another);
	file_open(false);
	assert_int_equal(pull_range(0, 1, 0), UV_EINVAL);
	conn.reactor = turn.r;
	assert_int_equal(wire.started, 0);
	assert_int_equal(pull_range(0, 1, 0), 0);
}

/* no room for a future: there is none, and the transfer is as it was */
static void range__no_memory(void **state)
{
	const rpma_uv_remote_t src = { remote, 0 };

	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ 0 });
	unit_alloc_fail(1);
	assert_null(rpma_uv_pull(transfer, NULL, &conn, src, 10, file, 0));
	unit_alloc_fail(1);
	assert_null(rpma_uv_pull(transfer, NULL, &conn, src, 0, file, 0));
	unit_alloc_fail(0);
	assert_int_equal(wire.started, 0);
	assert_null(wire.ends[0]);
	assert_int_equal(pull_range(0, 10, 0), 0);
}

/* smaller pieces than the pool's buffers, as the program says */
static void range__chunk(void **state)
{
	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .chunk = 1024 });
	assert_int_equal(pull_range(0, 10 * 1024 + 1, 100), 0);
	assert_int_equal(wire.started, 11);
	assert_true(turn_is_pattern(ring_double_data() + 100, 10 * 1024 + 1, 0));
}

static void range__busy(void **state)
{
	const rpma_uv_remote_t src = { remote, 0 };

	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ 0 });
	pull_start(10 * CHUNK);
	assert_int_equal(turn_wait(rpma_uv_pull(transfer, NULL, &conn, src, 1, file, 0)), UV_EBUSY);
	assert_int_equal(rpma_uv_transfer_delete(&transfer), pull_done ? 0 : UV_EBUSY);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), 0);
	assert_int_equal(stat_now().total, 10 * CHUNK);
}

static void range__options(void **state)
{
	rpma_uv_transfer_opts_t opts = { .size = sizeof(opts), .chunk = CHUNK + 1 };
	rpma_uv_transfer_t *t = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_uv_transfer_new(pool, &opts, &t), UV_EINVAL);
	opts.chunk = 0;
	opts.durability = (enum rpma_uv_durability)4;
	assert_int_equal(rpma_uv_transfer_new(pool, &opts, &t), UV_EINVAL);
	opts.durability = RPMA_UV_DURABILITY_NONE;
	opts.size = 3;
	assert_int_equal(rpma_uv_transfer_new(pool, &opts, &t), UV_EINVAL);
	assert_int_equal(rpma_uv_transfer_new(NULL, NULL, &t), UV_EINVAL);
	assert_int_equal(rpma_uv_transfer_new(pool, NULL, NULL), UV_EINVAL);
	for (unsigned k = 1; k <= 3; k++) {
		unit_alloc_fail(k);
		assert_int_equal(rpma_uv_transfer_new(pool, NULL, &t), UV_ENOMEM);
		unit_alloc_fail(0);
	}
	assert_ptr_equal(t, UNIT_UNTOUCHED);
	assert_int_equal(rpma_uv_transfer_delete(NULL), UV_EINVAL);
}

UNIT_MAIN(PULLS_TEST(range__any_offset), PULLS_TEST(range__small_messages),
	PULLS_TEST(range__nothing), PULLS_TEST(range__refused), PULLS_TEST(range__file_refuses),
	PULLS_TEST(range__another_reactor), PULLS_TEST(range__no_memory), PULLS_TEST(range__chunk),
	PULLS_TEST(range__busy), PULLS_TEST(range__options))
