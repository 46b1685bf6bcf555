/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* cancel.c - operations that are asked to end early */

#include "scripted.h"

static struct scripted s;

static void cancel__write_in_the_ring(void **state)
{
	struct attempt a;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(-1);
	write_start(&s, &a, 0, 4096);
	settle(&s);
	assert_int_equal(rpma_uv_cancel(&a.op.future, 0), 0);
	assert_int_equal(a.done, 0);
	settle(&s);
	assert_int_equal(a.status, UV_ECANCELED);
	assert_int_equal(rpma_uv_cancel(&a.op.future, 0), UV_EALREADY);
	scripted_end(&s);
}

/* not stopped in time: success stays success */
static void cancel__too_late(void **state)
{
	struct attempt a;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(-1);
	write_start(&s, &a, 0, 4096);
	settle(&s);
	ring_double_complete(ring_double_at(0));
	assert_int_equal(rpma_uv_cancel(&a.op.future, 0), 0);
	settle(&s);
	assert_int_equal(a.status, 0);
	scripted_end(&s);
}

/* a part was written: no further request is made for it */
static void cancel__between_pieces(void **state)
{
	struct attempt a;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(-1);
	write_start(&s, &a, 0, 8192);
	settle(&s);
	ring_double_complete_as(ring_double_at(0), 4096);
	assert_int_equal(rpma_uv_cancel(&a.op.future, 0), 0);
	settle(&s);
	assert_int_equal(a.status, UV_ECANCELED);
	assert_int_equal(ring_double_count(RPMA_UV__IO_WRITE), 1);
	scripted_end(&s);
}

/* in a pause between two tries */
static void cancel__while_it_pauses(void **state)
{
	struct attempt a;

	(void)state;
	scripted_start(&s, 0);
	for (unsigned k = 1; k < 12; k++)
		ring_double_rule(RPMA_UV__IO_WRITE, k, -EAGAIN);
	write_start(&s, &a, 0, 4096);
	turn_for(&s.turn, 20);
	assert_int_equal(a.done, 0);
	assert_int_equal(rpma_uv_cancel(&a.op.future, 0), 0);
	settle(&s);
	assert_int_equal(a.status, UV_ECANCELED);
	scripted_end(&s);
}

/* a sync that waits is taken back; one that runs cannot be, and its neighbours need it */
static void cancel__sync(void **state)
{
	struct attempt running, shared, waiting;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(-1);
	sync_start(&s, &running);
	sync_start(&s, &shared);
	settle(&s);
	sync_start(&s, &waiting);
	settle(&s);
	assert_int_equal(rpma_uv_cancel(&running.op.future, 0), UV_EBUSY);
	assert_int_equal(rpma_uv_cancel(&waiting.op.future, 0), 0);
	settle(&s);
	assert_int_equal(waiting.status, UV_ECANCELED);
	ring_double_go();
	settle(&s);
	assert_int_equal(running.status, 0);
	assert_int_equal(running.done, 1);
	assert_int_equal(ring_double_count(RPMA_UV__IO_FDATASYNC), 2);
	scripted_end(&s);
}

/* an opening at each of its steps: nothing stays open, and the pointer is not written */
static void cancel__open(void **state)
{
	rpma_uv_file_t *const none = (rpma_uv_file_t *)&s, *file = none;
	rpma_uv_future_t *f;
	unsigned open_fds;

	(void)state;
	scripted_start(&s, 512);
	open_fds = ring_double_open_fds();
	for (unsigned step = 0; step < 3; step++) {
		ring_double_hold(-1);
		f = rpma_uv_file_open(
			&s.turn.reactor, NULL, "d/x", O_RDWR, 0, RPMA_UV_FILE_DIRECT, &file);
		settle(&s);
		for (unsigned i = 0; i < step; i++) {
			ring_double_complete(ring_double_at(0));
			settle(&s);
		}
		assert_int_equal(rpma_uv_cancel(f, 0), 0);
		ring_double_go();
		assert_int_equal(turn_wait(f), UV_ECANCELED);
		assert_ptr_equal(file, none);
		assert_int_equal(ring_double_open_fds(), open_fds);
	}
	scripted_end(&s);
}

/* the directory of the name is being opened: it is closed again */
static void cancel__open_of_the_directory(void **state)
{
	rpma_uv_file_t *const none = (rpma_uv_file_t *)&s, *file = none;
	rpma_uv_future_t *f;
	unsigned open_fds;

	(void)state;
	ring_double_reset(SCRIPTED_SIZE, 512);
	turn_open(&s.turn, NULL);
	open_fds = ring_double_open_fds();
	for (unsigned is_late = 0; is_late < 2; is_late++) {
		ring_double_hold(RPMA_UV__IO_OPENAT);
		f = rpma_uv_file_open(&s.turn.reactor, NULL, is_late ? "d/y" : "d/x",
			O_CREAT | O_RDWR | O_TRUNC, 0600, 0, &file);
		settle(&s);
		/* when there is a file before */
		while (ring_double_count(RPMA_UV__IO_OPENAT) < 2) {
			ring_double_complete(ring_double_at(0));
			settle(&s);
		}
		if (is_late)
			ring_double_complete(ring_double_at(0));
		assert_int_equal(rpma_uv_cancel(f, 0), 0);
		ring_double_go();
		assert_int_equal(turn_wait(f), UV_ECANCELED);
		assert_ptr_equal(file, none);
		assert_int_equal(ring_double_open_fds(), open_fds);
		ring_double_reset(SCRIPTED_SIZE, 512);
	}
	turn_close(&s.turn);
}

/* what has failed by itself is told as such, however late somebody asks */
static void cancel__open_that_has_failed(void **state)
{
	rpma_uv_file_t *file = NULL;
	rpma_uv_future_t *f;

	(void)state;
	scripted_start(&s, 512);
	ring_double_rule(RPMA_UV__IO_STATX, 1, -EIO);
	ring_double_hold(RPMA_UV__IO_CLOSE);
	f = rpma_uv_file_open(&s.turn.reactor, NULL, "d/x", O_RDWR, 0, RPMA_UV_FILE_DIRECT, &file);
	settle(&s);
	assert_int_equal(ring_double_held(), 1);
	assert_int_equal(rpma_uv_cancel(f, 0), 0);
	ring_double_go();
	assert_int_equal(turn_wait(f), UV_EIO);
	assert_null(file);
	scripted_end(&s);
}

/* an allocation that was interrupted has done nothing: it is not tried again */
static void cancel__allocate(void **state)
{
	static const struct {
		int res, status;
	} cases[] = { { -EINTR, UV_ECANCELED }, { -EAGAIN, UV_ECANCELED }, { -ENOSPC, UV_ENOSPC },
		{ 0, 0 } };
	struct attempt a;

	(void)state;
	scripted_start(&s, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ring_double_hold(RPMA_UV__IO_FALLOCATE);
		memset(&a, 0, sizeof(a));
		rpma_uv_then(rpma_uv_file_allocate(s.file, &a.op, 0, 10000), attempt_done, &a);
		settle(&s);
		ring_double_complete_as(ring_double_at(0), cases[i].res);
		assert_int_equal(rpma_uv_cancel(&a.op.future, 0), 0);
		settle(&s);
		assert_int_equal(a.done, 1);
		assert_int_equal(a.status, cases[i].status);
		assert_int_equal(ring_double_count(RPMA_UV__IO_FALLOCATE), i + 1);
	}
	scripted_end(&s);
}

/* as a write that is refused by the direct descriptor: no second try through the cache */
static void cancel__direct(void **state)
{
	struct attempt a;

	(void)state;
	scripted_start(&s, 512);
	ring_double_hold(RPMA_UV__IO_WRITE);
	write_start(&s, &a, 0, 4096);
	settle(&s);
	ring_double_complete_as(ring_double_at(0), -EINVAL);
	assert_int_equal(rpma_uv_cancel(&a.op.future, 0), 0);
	settle(&s);
	assert_int_equal(a.status, UV_EINVAL);
	assert_string_equal(ring_double_log(), "write*(0,4096)");
	scripted_end(&s);
}

TURN_MAIN(cmocka_unit_test(cancel__write_in_the_ring), cmocka_unit_test(cancel__too_late),
	cmocka_unit_test(cancel__between_pieces), cmocka_unit_test(cancel__while_it_pauses),
	cmocka_unit_test(cancel__sync), cmocka_unit_test(cancel__open),
	cmocka_unit_test(cancel__open_of_the_directory),
	cmocka_unit_test(cancel__open_that_has_failed), cmocka_unit_test(cancel__allocate),
	cmocka_unit_test(cancel__direct))
