/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * failures.c - the first failure ends a transfer, and is told with its place
 *
 * Proven: at each stage and at many points: nothing new is issued, everything out is waited for,
 *         the
 * buffers are back (pulls_teardown() counts), stage, offset, status and detail are those of the
 * first failure, and what was written before a READ failed is synced once more. A second pull with
 * the same transfer works.
 */

#include "pulls.h"

#define CHUNKS 60
#define LEN    (CHUNKS * CHUNK)

static rpma_uv_transfer_opts_t opts;
static unsigned chunks_seen, refuse_at;
static int refuse_with;

static int on_chunk(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	assert_ptr_equal(t, transfer);
	assert_ptr_equal(data, &opts);
	assert_true(turn_is_pattern(base, len, offset));
	return ++chunks_seen == refuse_at ? refuse_with : 0;
}

static void arrange(enum rpma_uv_durability durability)
{
	file_open(false);
	opts = (rpma_uv_transfer_opts_t){ .durability = durability,
		.group_bytes = 10 * CHUNK,
		.on_chunk = on_chunk,
		.data = &opts };
	chunks_seen = refuse_at = 0;
	refuse_with = UV_EPROTO;
	transfer_make(opts);
}

static void again(void **state)
{
	pulls_teardown(state);
	pulls_setup(state);
}

/* what was written without a gap is safe when the storage is not to blame */
static void check_rest(bool is_synced)
{
	rpma_uv_transfer_error_t error = error_now();

	assert_int_equal(error.watermark, stat_now().watermark);
	assert_true(error.watermark <= ring_double_durable());
	if (is_synced)
		assert_int_equal(error.watermark, ring_double_durable());
	assert_int_equal(stat_now().reads_in_flight, 0);
	assert_int_equal(stat_now().writes_in_flight, 0);
}

static void failures__read(void **state)
{
	for (unsigned k = 1; k <= CHUNKS; k += 7) {
		arrange(RPMA_UV_DURABILITY_GROUP);
		wire.seed = k;
		wire.fail_at = k;
		wire.fail_status = UV_ETIMEDOUT;
		wire.fail_detail = 0x1234;
		pull_start(LEN);
		assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ETIMEDOUT);
		assert_int_equal(error_now().stage, RPMA_UV_STAGE_READ);
		assert_int_equal(error_now().offset, (k - 1) * CHUNK);
		assert_int_equal(error_now().status, UV_ETIMEDOUT);
		assert_int_equal(error_now().detail, 0x1234);
		assert_int_equal(pull_op.future.detail, 0x1234);
		check_rest(true);
		again(state);
	}
}

/* as it is told to people */
static void failures__text(void **state)
{
	(void)state;
	arrange(RPMA_UV_DURABILITY_GROUP);
	wire.fail_at = 31;
	wire.fail_status = UV_ETIMEDOUT;
	pull_start(LEN);
	pull_finish(RPMA_UV_DURABILITY_GROUP);
	assert_int_equal(rpma_uv_transfer_delete(&transfer), 0);
	assert_non_null(strstr(rpma_uv_strerror(&pull_op.future), "pull: read at offset 122880, "));
	assert_non_null(strstr(
		rpma_uv_strerror(&pull_op.future), " bytes are durable: connection timed out"));
	/* where nobody asked for durability */
	arrange(RPMA_UV_DURABILITY_NONE);
	refuse_at = 3;
	pull_start(LEN);
	pull_finish(RPMA_UV_DURABILITY_NONE);
	assert_string_equal(rpma_uv_strerror(&pull_op.future),
		"pull: chunk refused at offset 8192, 8192 bytes are written: protocol error");
}

static void failures__chunk(void **state)
{
	for (unsigned k = 1; k <= CHUNKS; k += 11) {
		arrange(RPMA_UV_DURABILITY_GROUP);
		refuse_at = k;
		pull_start(LEN);
		assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_EPROTO);
		assert_int_equal(error_now().stage, RPMA_UV_STAGE_CHUNK);
		assert_int_equal(error_now().offset, (k - 1) * CHUNK);
		assert_int_equal(chunks_seen, k);
		check_rest(true);
		again(state);
	}
}

/* what is no error code is one all the same */
static void failures__chunk_without_a_code(void **state)
{
	(void)state;
	arrange(RPMA_UV_DURABILITY_GROUP);
	refuse_at = 2;
	refuse_with = 1;
	pull_start(LEN);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_EINVAL);
	assert_int_equal(error_now().stage, RPMA_UV_STAGE_CHUNK);
	assert_int_equal(error_now().offset, CHUNK);
}

/* the file does not take it: no further sync, since it would cover the failure */
static void failures__write(void **state)
{
	for (unsigned k = 1; k <= CHUNKS; k += 7) {
		unsigned syncs;

		arrange(RPMA_UV_DURABILITY_GROUP);
		ring_double_rule(RPMA_UV__IO_WRITE, k, -ENOSPC);
		pull_start(LEN);
		while (stat_now().writes_in_flight == 0 || !error_now().status) {
			syncs = ring_double_count(RPMA_UV__IO_FDATASYNC);
			if (pull_done)
				break;
			uv_run(&turn.loop, UV_RUN_ONCE);
			check_promises(RPMA_UV_DURABILITY_GROUP);
		}
		assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ENOSPC);
		assert_int_equal(error_now().stage, RPMA_UV_STAGE_WRITE);
		assert_int_equal(error_now().offset % CHUNK, 0);
		assert_int_equal(error_now().offset, (k - 1) * CHUNK);
		assert_true(ring_double_count(RPMA_UV__IO_FDATASYNC) <= syncs + 1);
		check_rest(false);
		again(state);
	}
}

static void failures__sync(void **state)
{
	for (unsigned k = 1; k <= 3; k++) {
		arrange(RPMA_UV_DURABILITY_GROUP);
		ring_double_rule(RPMA_UV__IO_FDATASYNC, k, -EIO);
		pull_start(LEN);
		assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_EIO);
		assert_int_equal(error_now().stage, RPMA_UV_STAGE_SYNC);
		assert_int_equal(error_now().offset, stat_now().watermark);
		assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), k);
		assert_int_equal(stat_now().syncs, k - 1);
		check_rest(false);
		again(state);
	}
}

/* all is written, and the one sync at the end fails: that is no success */
static void failures__final_sync(void **state)
{
	(void)state;
	arrange(RPMA_UV_DURABILITY_FINAL);
	ring_double_rule(RPMA_UV__IO_FDATASYNC, 1, -EIO);
	pull_start(LEN);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_FINAL), UV_EIO);
	assert_int_equal(stat_now().written, LEN);
	assert_int_equal(stat_now().watermark, 0);
	assert_int_equal(stat_now().durable, 0);
}

/* of two failures the first counts; what is out then is waited for */
static void failures__first_counts(void **state)
{
	(void)state;
	arrange(RPMA_UV_DURABILITY_GROUP);
	wire.hold = true;
	pull_start(LEN);
	assert_int_equal(wire.pending, BUFFERS);
	wire_complete(3, UV_EACCES, 7);
	settle();
	assert_int_equal(pull_done, 0);
	assert_int_equal(wire.pending, BUFFERS - 1);
	wire_complete(0, UV_ECANCELED, 8);
	wire_complete(0, 0, 0);
	settle();
	assert_int_equal(pull_done, 0);
	wire_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_EACCES);
	assert_int_equal(error_now().offset, 3 * CHUNK);
	assert_int_equal(error_now().detail, 7);
	/* a READ that came in after the failure is not written any more */
	assert_int_equal(stat_now().written, 0);
}

/* the last sync fails as well: the first failure is told all the same */
static void failures__last_sync_too(void **state)
{
	(void)state;
	arrange(RPMA_UV_DURABILITY_FINAL);
	wire.fail_at = 40;
	wire.fail_status = UV_ETIMEDOUT;
	ring_double_rule(RPMA_UV__IO_FDATASYNC, 1, -EIO);
	pull_start(LEN);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_FINAL), UV_ETIMEDOUT);
	assert_int_equal(error_now().stage, RPMA_UV_STAGE_READ);
	assert_int_equal(error_now().watermark, 0);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 1);
}

/* after a failure the same transfer starts afresh */
static void failures__then_again(void **state)
{
	(void)state;
	arrange(RPMA_UV_DURABILITY_GROUP);
	wire.fail_at = 20;
	wire.fail_status = UV_ETIMEDOUT;
	pull_start(LEN);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ETIMEDOUT);
	pull_start(LEN);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), 0);
	assert_int_equal(error_now().status, 0);
	assert_int_equal(error_now().stage, RPMA_UV_STAGE_NONE);
	assert_int_equal(error_now().watermark, LEN);
	assert_true(turn_is_pattern(ring_double_data(), LEN, 0));
}

/* random failures on top of a random order: many short stories with a true end each */
static void failures__random(void **state)
{
	for (unsigned seed = 1; seed < 80; seed++) {
		unsigned dice = seed;
		enum rpma_uv_durability durability = roll(&dice, 4);

		arrange(durability);
		wire.seed = seed;
		ring_double_seed(seed);
		wire.fail_status = UV_ETIMEDOUT;
		if (roll(&dice, 3) == 0)
			wire.fail_at = 1 + roll(&dice, CHUNKS);
		if (roll(&dice, 3) == 0)
			refuse_at = 1 + roll(&dice, CHUNKS);
		if (roll(&dice, 3) == 0)
			ring_double_rule(RPMA_UV__IO_WRITE, 1 + roll(&dice, CHUNKS), -EIO);
		if (roll(&dice, 3) == 0)
			ring_double_rule(RPMA_UV__IO_WRITE, 1 + roll(&dice, CHUNKS), 512);
		if (roll(&dice, 3) == 0)
			ring_double_rule(RPMA_UV__IO_FDATASYNC, 1 + roll(&dice, 4), -EIO);
		pull_start(LEN);
		pull_finish(durability);
		if (pull_status == 0)
			assert_true(turn_is_pattern(ring_double_data(), LEN, 0));
		assert_true(turn_is_pattern(ring_double_data(), stat_now().watermark, 0));
		ring_double_seed(0);
		again(state);
	}
}

UNIT_MAIN(PULLS_TEST(failures__read), PULLS_TEST(failures__text), PULLS_TEST(failures__chunk),
	PULLS_TEST(failures__chunk_without_a_code), PULLS_TEST(failures__write),
	PULLS_TEST(failures__sync), PULLS_TEST(failures__final_sync),
	PULLS_TEST(failures__first_counts), PULLS_TEST(failures__last_sync_too),
	PULLS_TEST(failures__then_again), PULLS_TEST(failures__random))
