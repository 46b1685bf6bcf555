/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* describe.c - one line for people says what failed, where, and why; also when the file is gone */

#include "scripted.h"

static struct scripted s;

static void describe__write(void **state)
{
	struct attempt a;

	(void)state;
	scripted_start(&s, 0);
	ring_double_hold(-1);
	write_start(&s, &a, 65536, 8192);
	settle(&s);
	assert_string_equal(rpma_uv_strerror(&a.op.future),
		"file write at offset 65536 of d/copy.img.part: not done yet");
	ring_double_complete_as(ring_double_at(0), 4096);
	settle(&s);
	ring_double_complete_as(ring_double_at(0), -ENOSPC);
	settle(&s);
	ring_double_go();
	rpma_uv_file_close(s.file, turn_count, &s.closed);
	turn_until(&s.turn, &s.closed);
	/* the file's memory is freed by now; the offset is that of the bytes that were not taken */
	assert_string_equal(rpma_uv_strerror(&a.op.future),
		"file write at offset 69632 of d/copy.img.part: no space left on device");
	turn_close(&s.turn);
	free(s.memory);
}

static void describe__sync_and_success(void **state)
{
	struct attempt a;

	(void)state;
	scripted_start(&s, 0);
	write_start(&s, &a, 0, 10);
	settle(&s);
	assert_string_equal(rpma_uv_strerror(&a.op.future), "file write: success");
	ring_double_rule(RPMA_UV__IO_FDATASYNC, 1, -EIO);
	sync_start(&s, &a);
	settle(&s);
	assert_string_equal(
		rpma_uv_strerror(&a.op.future), "file sync of d/copy.img.part: i/o error");
	scripted_end(&s);
}

static void describe__open(void **state)
{
	static char path[1000];
	rpma_uv_file_t *file;
	rpma_uv_op_t op;

	(void)state;
	scripted_start(&s, 0);
	ring_double_rule(RPMA_UV__IO_OPENAT, 1, -EACCES);
	assert_int_equal(turn_wait(rpma_uv_file_open(
				 &s.turn.reactor, &op, "some/name", O_RDWR, 0, 0, &file)),
		UV_EACCES);
	assert_string_equal(
		rpma_uv_strerror(&op.future), "file open of some/name: permission denied");
	/* of a long path the end tells more than the beginning */
	memset(path, 'x', sizeof(path) - 1);
	memcpy(path + sizeof(path) - 6, "/last", 5);
	ring_double_rule(RPMA_UV__IO_OPENAT, 1, -ENOENT);
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&s.turn.reactor, &op, path, O_RDWR, 0, 0, &file)),
		UV_ENOENT);
	assert_non_null(strstr(rpma_uv_strerror(&op.future), "file open of ...xxx"));
	assert_non_null(
		strstr(rpma_uv_strerror(&op.future), "xxx/last: no such file or directory"));
	/* arguments that are refused */
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&s.turn.reactor, &op, "name", O_APPEND, 0, 0, &file)),
		UV_EINVAL);
	assert_string_equal(rpma_uv_strerror(&op.future), "file open of name: invalid argument");
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&s.turn.reactor, &op, NULL, O_RDWR, 0, 0, &file)),
		UV_EINVAL);
	scripted_end(&s);
}

/* a kernel without io_uring */
static void describe__no_ring(void **state)
{
	rpma_uv_file_t *file = NULL;
	rpma_uv_op_t op;

	(void)state;
	scripted_start(&s, 0);
	ring_double_missing(UV_ENOSYS);
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&s.turn.reactor, &op, "a", O_RDWR, 0, 0, &file)),
		UV_ENOSYS);
	assert_null(file);
	assert_string_equal(
		rpma_uv_strerror(&op.future), "file open of a: function not implemented");
	ring_double_missing(0);
	scripted_end(&s);
}

TURN_MAIN(cmocka_unit_test(describe__write), cmocka_unit_test(describe__sync_and_success),
	cmocka_unit_test(describe__open), cmocka_unit_test(describe__no_ring))
