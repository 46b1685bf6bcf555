/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * close.c - a ring that is closed has let go of everything
 *
 * Proven: whatever is out when the reactor closes has its done() called once, and no byte of its
 * memory is read by the kernel after that; the eventfd outlives its poll handle and is then closed
 * (turn_close() counts descriptors).
 */

#include <fcntl.h>
#include <sys/eventfd.h>

#include "probe.h"

#define COUNT 64
#define SIZE  ((size_t)1 << 20)

static struct turn turn;

static void close__waiting_reads(void **state)
{
	struct probe reads[COUNT], queued;
	uint64_t values[COUNT];
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	for (int i = 0; i < COUNT; i++)
		probe_read(&turn, &reads[i], fd, &values[i]);
	turn_for(&turn, 2);
	probe_null(&turn, &queued);
	assert_int_equal(probes_done, 0);
	turn_close(&turn);
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(reads[i].done, 1);
		assert_int_equal(reads[i].res, -ECANCELED);
	}
	assert_int_equal(queued.done, 1);
	assert_int_equal(queued.res, -ECANCELED);
	close(fd);
}

static char *blocks;

static void poison(struct rpma_uv__io *io, int res)
{
	probe_done(io, res);
	memset(io->addr, 'B', SIZE);
}

/* direct writes, which read the program's memory until they are done */
static void close__writes_in_flight(void **state)
{
	struct probe probes[COUNT];
	const char *path = turn_path("blocks");
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_DIRECT, 0600);

	(void)state;
	if (fd < 0) {
		printf("no direct I/O in the test's directory\n");
		skip();
	}
	turn_open(&turn, NULL);
	probe_ring(&turn);
	assert_int_equal(posix_memalign((void **)&blocks, 4096, COUNT * SIZE), 0);
	memset(blocks, 'A', COUNT * SIZE);
	for (int i = 0; i < COUNT; i++) {
		probe_write(&turn, &probes[i], fd, blocks + i * SIZE, SIZE, i * SIZE);
		probes[i].io.done = poison;
	}
	rpma_uv__ring_flush(turn.r);
	turn_close(&turn);
	/* nothing of what was written after done() may have reached the file */
	memset(blocks, 0, COUNT * SIZE);
	assert_true(pread(fd, blocks, COUNT * SIZE, 0) >= 0);
	assert_null(memchr(blocks, 'B', COUNT * SIZE));
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(probes[i].done, 1);
		if (probes[i].res == (int)SIZE)
			assert_int_equal(blocks[i * SIZE], 'A');
		else
			assert_int_equal(probes[i].res, -ECANCELED);
	}
	free(blocks);
	close(fd);
}

/* a ring that was made and never used */
static void close__unused(void **state)
{
	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	turn_close(&turn);
}

int __real_close(int fd);
int __wrap_close(int fd);

static void must_not_watch(uv_handle_t *handle, void *arg)
{
	uv_os_fd_t fd;

	if (handle->type == UV_POLL && uv_fileno(handle, &fd) == 0)
		assert_int_not_equal(fd, *(const int *)arg);
}

static bool is_walking;
static unsigned walks;

int __wrap_close(int fd)
{
	if (is_walking) {
		walks++;
		uv_walk(&turn.loop, must_not_watch, &fd);
	}
	return __real_close(fd);
}

/* no poll handle is left of a descriptor that is closed: epoll would go on watching it */
static void close__descriptor_after_its_handle(void **state)
{
	struct probe probe;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_null(&turn, &probe);
	turn_until(&turn, &probe.done);
	walks = 0;
	is_walking = true;
	rpma_uv_reactor_close(&turn.reactor, turn_count, &turn.closed);
	turn_until(&turn, &turn.closed);
	is_walking = false;
	assert_true(walks > 0);
	assert_int_equal(uv_loop_close(&turn.loop), 0);
}

/* the loop's time while a handle closes is not spent on its descriptor */
static void close__no_busy_loop(void **state)
{
	struct probe probe;
	unsigned turns = 0;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_null(&turn, &probe);
	turn_until(&turn, &probe.done);
	rpma_uv_reactor_close(&turn.reactor, turn_count, &turn.closed);
	while (!turn.closed && turns < 1000) {
		uv_run(&turn.loop, UV_RUN_NOWAIT);
		turns++;
	}
	assert_int_equal(turn.closed, 1);
	assert_true(turns < 10);
	assert_int_equal(uv_loop_close(&turn.loop), 0);
	assert_int_equal(turn_descriptors(), turn.descriptors);
}

TURN_MAIN(cmocka_unit_test(close__waiting_reads), cmocka_unit_test(close__writes_in_flight),
	cmocka_unit_test(close__unused), cmocka_unit_test(close__descriptor_after_its_handle),
	cmocka_unit_test(close__no_busy_loop))
