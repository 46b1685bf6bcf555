/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* buffers.c - memory that is registered with the ring once and used many times */

#include <fcntl.h>
#include <sys/mman.h>

#include "probe.h"

#define SIZE ((size_t)64 << 10)

static struct turn turn;
static char *memory;

static int set_up(void **state)
{
	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	memory = mmap(NULL, 4 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	turn_pattern(memory, 4 * SIZE, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	turn_close(&turn);
	munmap(memory, 4 * SIZE);
	return 0;
}

static int write_fixed(int fd, int index, char *base, size_t len, uint64_t off)
{
	struct probe probe;

	probe_write(&turn, &probe, fd, base, len, off);
	probe.io.buf_index = (int16_t)index;
	turn_until(&turn, &probe.done);
	return probe.res;
}

/* any part of a registered range can be written and read; what lies outside cannot */
static void buffers__write_and_read(void **state)
{
	int fd = open(turn_path("fixed"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	struct probe probe;
	int index = -1;

	(void)state;
	assert_int_equal(rpma_uv__ring_buffer_add(turn.r, memory, 2 * SIZE, &index), 0);
	assert_true(index >= 0);
	assert_int_equal(write_fixed(fd, index, memory, 2 * SIZE, 0), 2 * SIZE);
	assert_int_equal(write_fixed(fd, index, memory + 100, 1000, 2 * SIZE), 1000);
	assert_int_equal(write_fixed(fd, index, memory + 2 * SIZE - 10, 20, 0), -EFAULT);
	assert_int_equal(write_fixed(fd, index, memory + 3 * SIZE, 20, 0), -EFAULT);
	memset(memory, 0, SIZE);
	probe_read(&turn, &probe, fd, (uint64_t *)memory);
	probe.io.buf_index = (int16_t)index;
	probe.io.len = SIZE;
	turn_until(&turn, &probe.done);
	assert_int_equal(probe.res, SIZE);
	assert_true(turn_is_pattern(memory, SIZE, 0));
	rpma_uv__ring_buffer_remove(turn.r, index);
	assert_int_equal(write_fixed(fd, index, memory, SIZE, 0), -EFAULT);
	close(fd);
}

/* places are used again, and the table has an end */
static void buffers__places(void **state)
{
	static int indexes[2000];
	int count = 0, index, ret;

	(void)state;
	while ((ret = rpma_uv__ring_buffer_add(turn.r, memory, 4096, &indexes[count])) == 0)
		count++;
	assert_int_equal(ret, UV_ENOBUFS);
	assert_int_equal(count, 1024);
	rpma_uv__ring_buffer_remove(turn.r, indexes[500]);
	assert_int_equal(rpma_uv__ring_buffer_add(turn.r, memory + SIZE, SIZE, &index), 0);
	assert_int_equal(index, indexes[500]);
	for (int i = 0; i < count; i++)
		rpma_uv__ring_buffer_remove(turn.r, indexes[i]);
}

/* memory that cannot be pinned is refused, and takes no place */
static void buffers__refused(void **state)
{
	int index = -7, good;

	(void)state;
	munmap(memory + SIZE, SIZE);
	assert_int_equal(rpma_uv__ring_buffer_add(turn.r, memory, 3 * SIZE, &index), UV_EFAULT);
	assert_int_equal(index, -7);
	assert_int_equal(rpma_uv__ring_buffer_add(turn.r, memory, SIZE, &good), 0);
	assert_int_equal(good, 0);
	rpma_uv__ring_buffer_remove(turn.r, good);
}

TURN_MAIN(cmocka_unit_test_setup_teardown(buffers__write_and_read, set_up, tear_down),
	cmocka_unit_test_setup_teardown(buffers__places, set_up, tear_down),
	cmocka_unit_test_setup_teardown(buffers__refused, set_up, tear_down))
