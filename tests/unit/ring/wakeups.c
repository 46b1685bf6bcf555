/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * wakeups.c - the loop sleeps while there is nothing to do, and wakes once for what completes
 *
 * Proven: no turn in an idle stretch with requests out; one wake-up, none of them empty, for each
 * direct write at depth 1 (reading the eventfd before reaping would make it two).
 */

#include <fcntl.h>
#include <sys/eventfd.h>

#include "probe.h"

#define COUNT 400

static struct turn turn;

static void wakeups__none_when_idle(void **state)
{
	struct probe first, waiting;
	uint64_t value, before;
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_null(&turn, &first);
	probe_read(&turn, &waiting, fd, &value);
	turn_for(&turn, 10);
	assert_int_equal(first.done, 1);
	before = turn_stats(&turn).ring_wakeups;
	/* the guard's own expiry is the one turn, and its start may be another */
	assert_true(turn_for(&turn, 300) <= 2);
	assert_int_equal(turn_stats(&turn).ring_wakeups, before);
	assert_int_equal(waiting.done, 0);
	turn_close(&turn);
	close(fd);
}

static struct probe write_probe;
static unsigned left, is_over;

static void write_again(struct rpma_uv__io *io, int res)
{
	assert_int_equal(res, 4096);
	if (--left > 0)
		rpma_uv__ring_queue(turn.r, io);
	else
		is_over = 1;
}

static void wakeups__one_a_write(void **state)
{
	void *block;
	int fd = open(turn_path("wakeups"), O_CREAT | O_RDWR | O_CLOEXEC | O_DIRECT, 0600);

	(void)state;
	if (fd < 0) {
		printf("no direct I/O in the test's directory\n");
		skip();
	}
	turn_open(&turn, NULL);
	probe_ring(&turn);
	assert_int_equal(posix_memalign(&block, 4096, 4096), 0);
	memset(block, 1, 4096);
	left = COUNT;
	probe_write(&turn, &write_probe, fd, block, 4096, 0);
	write_probe.io.done = write_again;
	turn_until(&turn, &is_over);
	/* fewer when the write was over before the loop slept */
	assert_true(turn_stats(&turn).ring_wakeups <= COUNT + COUNT / 20);
	assert_int_equal(turn_stats(&turn).ring_completions, COUNT);
	turn_close(&turn);
	free(block);
	close(fd);
}

TURN_MAIN(cmocka_unit_test(wakeups__none_when_idle), cmocka_unit_test(wakeups__one_a_write))
