/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * cancel.c - a transfer that is stopped from outside
 *
 * Proven: by rpma_uv_cancel() at any point; by its connection, whether READs are out or not; by its
 * file; by the reactor. It drains, keeps what is durable, and touches nothing that is gone.
 */

#include "pulls.h"

#define LEN (60 * CHUNK)

static rpma_uv_buf_t *bufs[BUFFERS]; /* that the program has */

static void arrange(void)
{
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .group_bytes = 10 * CHUNK });
}

static void cancel__anywhere(void **state)
{
	for (unsigned turns = 0; turns < 40; turns += 3) {
		arrange();
		wire.seed = turns + 1;
		ring_double_seed(turns + 1);
		pull_start(LEN);
		for (unsigned i = 0; i < turns && !pull_done; i++)
			uv_run(&turn.loop, UV_RUN_NOWAIT);
		if (pull_done) {
			assert_int_equal(rpma_uv_cancel(&pull_op.future, 0), UV_EALREADY);
			assert_int_equal(pull_status, 0);
		} else {
			assert_int_equal(rpma_uv_cancel(&pull_op.future, 0), 0);
			assert_int_equal(rpma_uv_cancel(&pull_op.future, 0), 0);
			assert_int_equal(pull_done, 0);
			assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
			assert_int_equal(error_now().stage, RPMA_UV_STAGE_NONE);
			assert_int_equal(error_now().watermark, ring_double_durable());
			assert_non_null(
				strstr(rpma_uv_strerror(&pull_op.future), "pull: stopped at"));
		}
		ring_double_seed(0);
		pulls_teardown(state);
		pulls_setup(state);
	}
}

/* what is out cannot be recalled: its end is waited for */
static void cancel__drains(void **state)
{
	unsigned started;

	(void)state;
	arrange();
	wire.hold = true;
	pull_start(LEN);
	started = wire.started;
	assert_int_equal(rpma_uv_cancel(&pull_op.future, 0), 0);
	settle();
	assert_int_equal(pull_done, 0);
	assert_int_equal(rpma_uv_transfer_delete(&transfer), UV_EBUSY);
	wire_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
	assert_int_equal(wire.started, started);
}

/* by force, at once or when a soft one has been of no avail: the READs do not hold it up */
static void cancel__forced(void **state)
{
	for (unsigned soft_first = 0; soft_first < 2; soft_first++) {
		unsigned pending;

		arrange();
		wire.hold = true;
		pull_start(LEN);
		settle();
		pending = wire.pending;
		assert_true(pending > 1);
		if (soft_first) {
			assert_int_equal(rpma_uv_cancel(&pull_op.future, 0), 0);
			settle();
			assert_int_equal(pull_done, 0);
		}
		wire.forced = 0;
		assert_int_equal(rpma_uv_cancel(&pull_op.future, RPMA_UV_FORCE), 0);
		assert_int_equal(wire.forced, pending);
		assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
		assert_int_equal(error_now().status, UV_ECANCELED);
		pulls_teardown(state);
		pulls_setup(state);
	}
}

/* some chunks are read and being written when force comes: what is written is kept */
static void cancel__forced_half_way(void **state)
{
	(void)state;
	arrange();
	wire.seed = 7;
	pull_start(LEN);
	for (unsigned i = 0; i < 12; i++)
		uv_run(&turn.loop, UV_RUN_NOWAIT);
	assert_int_equal(pull_done, 0);
	wire.hold = true;
	assert_int_equal(rpma_uv_cancel(&pull_op.future, RPMA_UV_FORCE), 0);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
	assert_int_equal(error_now().watermark, ring_double_durable());
	assert_true(stat_now().written > 0);
}

/* a time-out is a cancel by another name, in the transfer's own account as well */
static void cancel__timed_out(void **state)
{
	(void)state;
	arrange();
	wire.hold = true;
	pull_start(LEN);
	assert_int_equal(rpma_uv_timeout(&pull_op.future, 1, RPMA_UV_FORCE), 0);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ETIMEDOUT);
	assert_int_equal(error_now().status, UV_ETIMEDOUT);
	assert_int_equal(error_now().stage, RPMA_UV_STAGE_NONE);
	assert_non_null(strstr(rpma_uv_strerror(&pull_op.future), "not done within its time-out"));
}

/* while it waits for a buffer and has none */
static void cancel__without_a_buffer(void **state)
{
	(void)state;
	arrange();
	for (int i = 0; i < BUFFERS; i++)
		bufs[i] = rpma_uv_buf_get(pool);
	pull_start(LEN);
	settle();
	assert_int_equal(rpma_uv_cancel(&pull_op.future, 0), 0);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
	for (int i = 0; i < BUFFERS; i++)
		rpma_uv_buf_put(bufs[i]);
}

static unsigned cancel_at;

static int cancel_itself(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	(void)t;
	(void)base;
	(void)len;
	(void)offset;
	(void)data;
	if (cancel_at > 0 && --cancel_at == 0)
		assert_int_equal(rpma_uv_cancel(&pull_op.future, 0), 0);
	return 0;
}

static void cancel__from_on_chunk(void **state)
{
	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .on_chunk = cancel_itself });
	cancel_at = 12;
	pull_start(LEN);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
	assert_true(stat_now().written < 12 * CHUNK);
}

static unsigned deletes;

static int cancel_and_delete(
	rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	(void)t;
	(void)data;
	assert_int_equal(rpma_uv_cancel(&pull_op.future, 0), 0);
	/* nothing is out but what we were called for: still, this is not the end */
	assert_int_equal(rpma_uv_transfer_delete(&transfer), UV_EBUSY);
	assert_true(turn_is_pattern(base, len, offset));
	deletes++;
	return UV_EPROTO;
}

static void cancel_and_delete_too(
	rpma_uv_transfer_t *t, const rpma_uv_transfer_stat_t *stat, void *data)
{
	(void)t;
	(void)stat;
	(void)data;
	(void)rpma_uv_cancel(&pull_op.future, 0);
	assert_int_equal(rpma_uv_transfer_delete(&transfer), UV_EBUSY);
	deletes++;
}

/* in the program's own callbacks the transfer cannot end, and so not be deleted */
static void cancel__and_delete(void **state)
{
	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .on_chunk = cancel_and_delete });
	pull_start(CHUNK);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
	assert_int_equal(error_now().stage, RPMA_UV_STAGE_NONE);
	assert_int_equal(rpma_uv_transfer_delete(&transfer), 0);
	transfer_make((rpma_uv_transfer_opts_t){ .on_progress = cancel_and_delete_too });
	ring_double_hold(RPMA_UV__IO_FDATASYNC);
	pull_start(CHUNK);
	settle();
	ring_double_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
	assert_true(deletes >= 2);
}

/* the connection ends while all that is out are writes; its memory must not be looked at again */
static void cancel__connection_ends(void **state)
{
	(void)state;
	arrange();
	ring_double_hold(RPMA_UV__IO_WRITE);
	pull_start(LEN);
	settle();
	assert_int_equal(wire.pending, 0);
	assert_int_equal(ring_double_held(), BUFFERS);
	wire_end(UV_ECONNRESET);
	settle();
	memset(&conn, 0xa5, sizeof(conn));
	assert_int_equal(pull_done, 0);
	ring_double_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECONNRESET);
	assert_int_equal(error_now().stage, RPMA_UV_STAGE_READ);
	assert_int_equal(error_now().offset, BUFFERS * CHUNK);
	assert_int_equal(error_now().watermark, BUFFERS * CHUNK);
	assert_int_equal(wire.started, BUFFERS);
}

/* it ends with READs out: they tell why */
static void cancel__connection_ends_with_reads_out(void **state)
{
	(void)state;
	arrange();
	wire.hold = true;
	pull_start(LEN);
	wire_end(UV_ETIMEDOUT);
	settle();
	assert_int_equal(pull_done, 0);
	while (wire.pending > 0)
		wire_complete(0, UV_ETIMEDOUT, 12);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ETIMEDOUT);
	assert_int_equal(error_now().detail, 12);
	assert_int_equal(error_now().offset, 0);
}

/* it is not needed any more when all is read */
static void cancel__connection_ends_after_the_last_read(void **state)
{
	(void)state;
	arrange();
	ring_double_hold(RPMA_UV__IO_WRITE);
	pull_start(BUFFERS * CHUNK);
	settle();
	wire_end(UV_ECONNRESET);
	settle();
	ring_double_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), 0);
}

/* the program closes the file: it stays until the transfer has let go of it */
static void cancel__file_closes(void **state)
{
	unsigned closed = 0;

	(void)state;
	arrange();
	wire.hold = true;
	pull_start(LEN);
	rpma_uv_file_close(file, turn_count, &closed);
	settle();
	assert_int_equal(closed, 0);
	wire_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
	assert_int_equal(error_now().stage, RPMA_UV_STAGE_WRITE);
	turn_until(&turn, &closed);
}

static void on_other(rpma_uv_future_t *f, int status)
{
	assert_int_equal(status, UV_ECANCELED);
	(*(unsigned *)f->data)++;
}

/* the reactor that closes has taken all along */
static void after_reactor_close(void **state)
{
	turn_until(&turn, &turn.closed);
	assert_int_equal(pull_done, 1);
	assert_int_equal(pull_status, UV_ECANCELED);
	assert_int_equal(wire.pending, 0);
	assert_int_equal(rpma_uv_transfer_delete(&transfer), 0);
	uv_close((uv_handle_t *)&wire.idle, NULL);
	uv_run(&turn.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&turn.loop), 0);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	unit_peer_delete(peer);
	pulls_setup(state);
}

static void cancel__reactor_closes(void **state)
{
	for (unsigned turns = 0; turns < 30; turns += 5) {
		arrange();
		wire.seed = turns + 1;
		ring_double_seed(turns + 1);
		pull_start(LEN);
		for (unsigned i = 0; i < turns; i++)
			uv_run(&turn.loop, UV_RUN_NOWAIT);
		uv_unref((uv_handle_t *)&wire.idle);
		rpma_uv_reactor_close(&turn.reactor, turn_count, &turn.closed);
		after_reactor_close(state);
	}
}

/* nothing is begun while another drains */
static void cancel__reactor_was_closed(void **state)
{
	const rpma_uv_remote_t src = { remote, 0 };
	rpma_uv_transfer_t *other = NULL;
	unsigned started, other_done = 0;
	rpma_uv_op_t other_op;

	arrange();
	assert_int_equal(rpma_uv_transfer_new(pool, NULL, &other), 0);
	wire.hold = true;
	pull_start(BUFFERS / 2 * CHUNK);
	started = wire.started;
	uv_unref((uv_handle_t *)&wire.idle);
	rpma_uv_reactor_close(&turn.reactor, turn_count, &turn.closed);
	rpma_uv_then(rpma_uv_pull(other, &other_op, &conn, src, 1, file, 0), on_other, &other_done);
	assert_int_equal(wire.started, started);
	settle();
	assert_int_equal(other_done, 1);
	assert_int_equal(pull_done, 0);
	wire_go();
	turn_until(&turn, &turn.closed);
	assert_int_equal(rpma_uv_transfer_delete(&other), 0);
	after_reactor_close(state);
}

/* chunks are read and wait to be written: their buffers are let go */
static void cancel__filled(void **state)
{
	(void)state;
	file_open(false);
	transfer_make((rpma_uv_transfer_opts_t){ .writes = 1 });
	ring_double_hold(RPMA_UV__IO_WRITE);
	pull_start(LEN);
	settle();
	assert_int_equal(stat_now().read, BUFFERS * CHUNK);
	assert_int_equal(stat_now().writes_in_flight, 1);
	assert_int_equal(rpma_uv_cancel(&pull_op.future, 0), 0);
	for (int i = 0; i < BUFFERS - 1; i++)
		bufs[i] = rpma_uv_buf_get(pool);
	for (int i = 0; i < BUFFERS - 1; i++) {
		assert_non_null(bufs[i]);
		rpma_uv_buf_put(bufs[i]);
	}
	settle();
	assert_int_equal(pull_done, 0);
	ring_double_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
	assert_int_equal(stat_now().written, CHUNK);
	assert_int_equal(error_now().watermark, CHUNK);
}

/* we disconnect in good order: that is no end of a transfer */
static void cancel__disconnected(void **state)
{
	(void)state;
	arrange();
	ring_double_hold(RPMA_UV__IO_WRITE);
	pull_start(LEN);
	settle();
	wire_end(0);
	settle();
	ring_double_go();
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECANCELED);
	assert_int_equal(error_now().stage, RPMA_UV_STAGE_READ);
}

/* the buffer that it waits for comes when there is nobody to read from: it goes to who wants it */
static void cancel__connection_ends_before_a_buffer_comes(void **state)
{
	(void)state;
	arrange();
	for (int i = 0; i < BUFFERS - 1; i++)
		bufs[i] = rpma_uv_buf_get(pool);
	wire.hold = true;
	pull_start(LEN);
	assert_int_equal(wire.pending, 1);
	wire_end(UV_ECONNRESET);
	settle();
	memset(&conn, 0xa5, sizeof(conn));
	assert_int_equal(pull_done, 0);
	rpma_uv_buf_put(bufs[0]);
	bufs[0] = rpma_uv_buf_get(pool);
	assert_non_null(bufs[0]);
	assert_int_equal(wire.started, 1);
	wire_complete(0, UV_ECONNRESET, 0);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ECONNRESET);
	for (int i = 0; i < BUFFERS - 1; i++)
		rpma_uv_buf_put(bufs[i]);
}

/* the program closes the file, and a READ fails: what was written is not synced any more */
static void cancel__file_closes_before_a_read_fails(void **state)
{
	unsigned closed = 0;

	(void)state;
	arrange();
	wire.hold = true;
	pull_start(LEN);
	wire_complete(0, 0, 0);
	wire_complete(0, 0, 0);
	settle();
	assert_int_equal(stat_now().written, 2 * CHUNK);
	rpma_uv_file_close(file, turn_count, &closed);
	while (wire.pending > 0)
		wire_complete(0, UV_ETIMEDOUT, 0);
	assert_int_equal(pull_finish(RPMA_UV_DURABILITY_GROUP), UV_ETIMEDOUT);
	assert_int_equal(error_now().watermark, 0);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 0);
	turn_until(&turn, &closed);
}

UNIT_MAIN(PULLS_TEST(cancel__anywhere), PULLS_TEST(cancel__drains), PULLS_TEST(cancel__forced),
	PULLS_TEST(cancel__forced_half_way), PULLS_TEST(cancel__timed_out),
	PULLS_TEST(cancel__without_a_buffer), PULLS_TEST(cancel__from_on_chunk),
	PULLS_TEST(cancel__and_delete), PULLS_TEST(cancel__connection_ends),
	PULLS_TEST(cancel__connection_ends_with_reads_out),
	PULLS_TEST(cancel__connection_ends_after_the_last_read), PULLS_TEST(cancel__file_closes),
	PULLS_TEST(cancel__reactor_closes), PULLS_TEST(cancel__reactor_was_closed),
	PULLS_TEST(cancel__filled), PULLS_TEST(cancel__disconnected),
	PULLS_TEST(cancel__connection_ends_before_a_buffer_comes),
	PULLS_TEST(cancel__file_closes_before_a_read_fails))
