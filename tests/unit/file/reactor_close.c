/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * reactor_close.c - a reactor that closes takes its files along
 *
 * Proven: at every state of a file and its operations each future ends once, before the reactor's
 * close callback; no descriptor stays open; a program that closes the file in the callback of an
 * operation that ended so still gets its close callback.
 */

#include "scripted.h"

static struct scripted s;

static void end(void)
{
	turn_close(&s.turn);
	assert_int_equal(ring_double_open_fds(), 0);
	free(s.memory);
}

static void reactor_close__idle_file(void **state)
{
	(void)state;
	scripted_start(&s, 512);
	end();
}

static void reactor_close__operations_out(void **state)
{
	struct attempt write, paused, sync, waiting;

	(void)state;
	scripted_start(&s, 512);
	ring_double_rule(RPMA_UV__IO_WRITE, 1, -EAGAIN);
	ring_double_rule(RPMA_UV__IO_WRITE, 2, -EAGAIN);
	write_start(&s, &paused, 0, 4096);
	settle(&s);
	ring_double_hold(-1);
	write_start(&s, &write, 4096, 4096);
	sync_start(&s, &sync);
	sync_start(&s, &waiting);
	settle(&s);
	ring_double_hold(-2);
	end();
	assert_int_equal(write.done, 1);
	assert_int_equal(write.status, UV_ECANCELED);
	assert_int_equal(paused.done, 1);
	assert_int_equal(sync.done, 1);
	assert_int_equal(sync.status, UV_ECANCELED);
	assert_int_equal(waiting.done, 1);
}

static void reactor_close__sync_running(void **state)
{
	struct attempt sync;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_FDATASYNC);
	sync_start(&s, &sync);
	settle(&s);
	rpma_uv_reactor_close(&s.turn.reactor, turn_count, &s.turn.closed);
	settle(&s);
	/* one that runs is let finish */
	assert_int_equal(sync.done, 0);
	assert_int_equal(s.turn.closed, 0);
	ring_double_go();
	turn_until(&s.turn, &s.turn.closed);
	assert_int_equal(sync.done, 1);
	assert_int_equal(sync.status, 0);
	assert_int_equal(ring_double_open_fds(), 0);
	assert_int_equal(uv_loop_close(&s.turn.loop), 0);
	free(s.memory);
}

static void reactor_close__opening(void **state)
{
	rpma_uv_file_t *file = NULL;
	struct attempt open;

	(void)state;
	scripted_start(&s, 0);
	memset(&open, 0, sizeof(open));
	ring_double_hold(RPMA_UV__IO_OPENAT);
	rpma_uv_then(rpma_uv_file_open(&s.turn.reactor, &open.op, "x", O_RDWR, 0, 0, &file),
		attempt_done, &open);
	settle(&s);
	ring_double_hold(-2);
	end();
	assert_int_equal(open.done, 1);
	assert_int_equal(open.status, UV_ECANCELED);
	assert_null(file);
}

static void reactor_close__already_closing(void **state)
{
	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_CLOSE);
	rpma_uv_file_close(s.file, turn_count, &s.closed);
	settle(&s);
	assert_int_equal(s.closed, 0);
	ring_double_go();
	end();
	assert_int_equal(s.closed, 1);
}

static void close_too(rpma_uv_future_t *f, int status)
{
	attempt_done(f, status);
	rpma_uv_file_close(s.file, turn_count, &s.closed);
}

static void reactor_close__program_closes_too(void **state)
{
	struct attempt write;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_WRITE);
	memset(&write, 0, sizeof(write));
	write.buf = uv_buf_init(s.memory, 10);
	rpma_uv_then(rpma_uv_file_write(s.file, &write.op, &write.buf, 1, 0, 0), close_too, &write);
	settle(&s);
	end();
	assert_int_equal(write.status, UV_ECANCELED);
	assert_int_equal(s.closed, 1);
}

/* what is called on a file that closes, and on a reactor that does */
static void reactor_close__late_calls(void **state)
{
	struct attempt held, write, read, allocate, sync, open;
	rpma_uv_file_t *file = NULL;
	char bytes[10];

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(RPMA_UV__IO_WRITE);
	write_start(&s, &held, 0, 10);
	settle(&s);
	rpma_uv_file_close(s.file, turn_count, &s.closed);
	write_start(&s, &write, 0, 10);
	memset(&read, 0, sizeof(read));
	read.buf = uv_buf_init(bytes, sizeof(bytes));
	rpma_uv_then(rpma_uv_file_read(s.file, &read.op, &read.buf, 1, 0), attempt_done, &read);
	memset(&allocate, 0, sizeof(allocate));
	rpma_uv_then(rpma_uv_file_allocate(s.file, &allocate.op, 0, 10), attempt_done, &allocate);
	sync_start(&s, &sync);
	settle(&s);
	assert_int_equal(write.status, UV_ECANCELED);
	assert_int_equal(read.status, UV_ECANCELED);
	assert_int_equal(allocate.status, UV_ECANCELED);
	assert_int_equal(sync.status, UV_ECANCELED);
	assert_int_equal(held.done, 0);
	assert_int_equal(s.closed, 0);
	rpma_uv_reactor_close(&s.turn.reactor, turn_count, &s.turn.closed);
	memset(&open, 0, sizeof(open));
	rpma_uv_then(rpma_uv_file_open(&s.turn.reactor, &open.op, "x", O_RDWR, 0, 0, &file),
		attempt_done, &open);
	settle(&s);
	assert_int_equal(open.status, UV_ECANCELED);
	/* the program's own close does not cut what runs short */
	assert_int_equal(held.done, 0);
	ring_double_go();
	turn_until(&s.turn, &s.turn.closed);
	assert_int_equal(held.status, 0);
	assert_int_equal(s.closed, 1);
	assert_int_equal(uv_loop_close(&s.turn.loop), 0);
	free(s.memory);
}

TURN_MAIN(cmocka_unit_test(reactor_close__idle_file),
	cmocka_unit_test(reactor_close__operations_out),
	cmocka_unit_test(reactor_close__sync_running), cmocka_unit_test(reactor_close__opening),
	cmocka_unit_test(reactor_close__already_closing),
	cmocka_unit_test(reactor_close__program_closes_too),
	cmocka_unit_test(reactor_close__late_calls))
