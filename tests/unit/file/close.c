/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * close.c - a close waits for what runs, closes every descriptor, and keeps the loop alive until it
 * has said so
 */

#include "real.h"

#define COUNT 16
#define SIZE  ((size_t)256 << 10)

static struct turn turn;

static unsigned writes_done;

static void write_done(rpma_uv_future_t *f, int status)
{
	assert_int_equal(status, 0);
	assert_int_equal(f->result, SIZE);
	writes_done++;
}

static void all_written(void *data)
{
	turn_count(data);
	assert_int_equal(writes_done, COUNT);
}

static void close__waits_for_writes(void **state)
{
	static rpma_uv_op_t ops[COUNT];
	static uv_buf_t bufs[COUNT];
	rpma_uv_file_t *file;
	unsigned closed = 0;
	char *memory;

	(void)state;
	turn_open(&turn, NULL);
	assert_int_equal(posix_memalign((void **)&memory, 4096, COUNT * SIZE), 0);
	turn_pattern(memory, COUNT * SIZE, 0);
	file = real_open(&turn, "writes", O_CREAT | O_RDWR, RPMA_UV_FILE_DIRECT);
	for (size_t i = 0; i < COUNT; i++) {
		bufs[i] = uv_buf_init(memory + i * SIZE, SIZE);
		rpma_uv_then(rpma_uv_file_write(file, &ops[i], &bufs[i], 1, (int64_t)(i * SIZE), 0),
			write_done, NULL);
	}
	rpma_uv_file_close(file, all_written, &closed);
	assert_int_equal(writes_done, 0);
	/* the loop runs out of work by itself, and not before */
	assert_int_equal(uv_run(&turn.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(closed, 1);
	free(memory);
	turn_close(&turn);
}

static rpma_uv_file_t *own_file;
static unsigned own_closed;

static void close_own(rpma_uv_future_t *f, int status)
{
	(void)f;
	assert_int_equal(status, 0);
	rpma_uv_file_close(own_file, turn_count, &own_closed);
}

/* from the callback of an operation on the file, and of its opening */
static void close__in_a_callback(void **state)
{
	char byte = 1;
	uv_buf_t buf = uv_buf_init(&byte, 1);

	(void)state;
	turn_open(&turn, NULL);
	own_file = real_open(&turn, "own", O_CREAT | O_RDWR, 0);
	rpma_uv_then(rpma_uv_file_write(own_file, NULL, &buf, 1, 0, 0), close_own, NULL);
	assert_int_equal(uv_run(&turn.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(own_closed, 1);
	rpma_uv_then(
		rpma_uv_file_open(&turn.reactor, NULL, turn_path("own"), O_RDWR, 0, 0, &own_file),
		close_own, NULL);
	assert_int_equal(uv_run(&turn.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(own_closed, 2);
	turn_close(&turn);
}

static void close__many_files(void **state)
{
	static rpma_uv_file_t *files[200];
	unsigned closed = 0;

	(void)state;
	turn_open(&turn, NULL);
	for (int i = 0; i < 200; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		files[i] = real_open(&turn, name, O_CREAT | O_RDWR, RPMA_UV_FILE_DIRECT);
	}
	for (int i = 0; i < 200; i++)
		rpma_uv_file_close(files[i], i % 2 != 0 ? turn_count : NULL, &closed);
	assert_int_equal(uv_run(&turn.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(closed, 100);
	turn_close(&turn);
}

TURN_MAIN(cmocka_unit_test(close__waits_for_writes), cmocka_unit_test(close__in_a_callback),
	cmocka_unit_test(close__many_files))
