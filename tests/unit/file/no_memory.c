/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * no_memory.c - calls that find no memory do nothing
 *
 * Proven: without room for a future there is none, and nothing was begun; with room for one and
 * none for the file, the future tells.
 */

#include "scripted.h"
#include "unit.h"

static struct scripted s;
static rpma_uv_op_t op; /* of the file's opening, so that the reactor has made no room yet */
static char bytes[100];

static void begin(void)
{
	ring_double_reset(SCRIPTED_SIZE, 0);
	ring_double_exists(0);
	turn_open(&s.turn, NULL);
	s.closed = 0;
	s.memory = NULL;
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&s.turn.reactor, &op, "x", O_RDWR, 0, 0, &s.file)), 0);
	ring_double_log_clear();
}

static void no_memory__for_a_future(void **state)
{
	rpma_uv_file_t *const none = (rpma_uv_file_t *)&s, *file = none;
	uv_buf_t buf = uv_buf_init(bytes, sizeof(bytes));

	(void)state;
	begin();
	unit_alloc_fail(1);
	assert_null(rpma_uv_file_write(s.file, NULL, &buf, 1, 0, 0));
	unit_alloc_fail(1);
	assert_null(rpma_uv_file_write(s.file, NULL, &buf, 1, -1, 0));
	unit_alloc_fail(1);
	assert_null(rpma_uv_file_read(s.file, NULL, &buf, 1, 0));
	unit_alloc_fail(1);
	assert_null(rpma_uv_file_allocate(s.file, NULL, 0, 100));
	unit_alloc_fail(1);
	assert_null(rpma_uv_file_sync(s.file, NULL));
	/* the second is that of the future */
	unit_alloc_fail(2);
	assert_null(rpma_uv_file_open(&s.turn.reactor, NULL, "y", O_RDWR, 0, 0, &file));
	/* refused, but nothing can tell so */
	unit_alloc_fail(1);
	assert_null(rpma_uv_file_open(&s.turn.reactor, NULL, "y", O_APPEND, 0, 0, &file));
	unit_alloc_fail(0);
	settle(&s);
	assert_string_equal(ring_double_log(), "");
	assert_ptr_equal(file, none);
	assert_int_equal(write_now(&s, 0, 0), 0);
	assert_int_equal(sync_now(&s), 0);
	scripted_end(&s);
}

static void no_memory__for_a_file(void **state)
{
	rpma_uv_file_t *const none = (rpma_uv_file_t *)&s, *file = none;
	rpma_uv_op_t another;

	(void)state;
	begin();
	unit_alloc_fail(1);
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&s.turn.reactor, &another, "y", O_RDWR, 0, 0, &file)),
		UV_ENOMEM);
	assert_string_equal(rpma_uv_strerror(&another.future), "file open of y: not enough memory");
	assert_string_equal(ring_double_log(), "");
	assert_ptr_equal(file, none);
	scripted_end(&s);
}

TURN_MAIN(cmocka_unit_test(no_memory__for_a_future), cmocka_unit_test(no_memory__for_a_file))
