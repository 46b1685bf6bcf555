/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * ladder.c - a kernel that lacks something is asked for less
 *
 * Proven: each refused set of flags leads to the next, down to none, and each of them works; errors
 * that have nothing to do with flags are passed on; too little memory makes the ring smaller.
 */

#include <liburing.h>
#include <sys/eventfd.h>

#include "probe.h"

int __real_io_uring_queue_init_params(
	unsigned entries, struct io_uring *ring, struct io_uring_params *params);
int __wrap_io_uring_queue_init_params(
	unsigned entries, struct io_uring *ring, struct io_uring_params *params);

static struct turn turn;
static unsigned refused; /* flags that this kernel does not know */
static unsigned entries_max;
static int error;
static unsigned calls;

int __wrap_io_uring_queue_init_params(
	unsigned entries, struct io_uring *ring, struct io_uring_params *params)
{
	calls++;
	if (error)
		return error;
	if (params->flags & refused)
		return -EINVAL;
	if (entries_max != 0 && entries > entries_max)
		return -ENOMEM;
	return __real_io_uring_queue_init_params(entries, ring, params);
}

static int set_up(void **state)
{
	(void)state;
	refused = entries_max = calls = 0;
	error = 0;
	return 0;
}

/* inline completions and ones that come later, on whatever ring there is */
static void works(unsigned must_have, unsigned must_lack)
{
	struct probe first, second, waiting;
	uint64_t value;
	int fd = eventfd(0, EFD_CLOEXEC);

	turn_open(&turn, NULL);
	probe_ring(&turn);
	assert_true((turn_stats(&turn).ring_flags & must_have) == must_have);
	assert_false(turn_stats(&turn).ring_flags & must_lack);
	probe_null(&turn, &first);
	probe_read(&turn, &waiting, fd, &value);
	turn_until(&turn, &first.done);
	turn_for(&turn, 10);
	assert_int_equal(waiting.done, 0);
	assert_int_equal(eventfd_write(fd, 3), 0);
	turn_until(&turn, &waiting.done);
	probe_null(&turn, &second);
	turn_until(&turn, &second.done);
	assert_int_equal(value, 3);
	turn_close(&turn);
	close(fd);
}

static void ladder__deferred(void **state)
{
	(void)state;
	works(IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_TASKRUN_FLAG,
		0);
	assert_int_equal(calls, 1);
}

static void ladder__cooperative(void **state)
{
	(void)state;
	refused = IORING_SETUP_DEFER_TASKRUN;
	works(IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, IORING_SETUP_DEFER_TASKRUN);
	assert_int_equal(calls, 2);
}

static void ladder__plain(void **state)
{
	(void)state;
	refused = ~0u;
	works(0, IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
	assert_int_equal(calls, 3);
}

static void ladder__little_memory(void **state)
{
	(void)state;
	entries_max = 64;
	works(IORING_SETUP_DEFER_TASKRUN, 0);
	assert_int_equal(calls, 3);
}

/* nothing is left over, and a later attempt may succeed */
static void refused_with(int err, unsigned attempts)
{
	turn_open(&turn, NULL);
	error = err;
	calls = 0;
	assert_int_equal(rpma_uv__ring_ensure(turn.r), err);
	assert_int_equal(calls, attempts);
	assert_null(turn.r->ring);
	error = 0;
	assert_int_equal(rpma_uv__ring_ensure(turn.r), 0);
	turn_close(&turn);
}

static void ladder__refused(void **state)
{
	(void)state;
	refused_with(-EPERM, 1);
	refused_with(-ENOSYS, 1);
	refused_with(-EMFILE, 1);
	refused_with(-ENOMEM, 5); /* 256, 128, 64, 32, 16 entries */
	refused_with(-EINVAL, 3);
}

TURN_MAIN(cmocka_unit_test_setup(ladder__deferred, set_up),
	cmocka_unit_test_setup(ladder__cooperative, set_up),
	cmocka_unit_test_setup(ladder__plain, set_up),
	cmocka_unit_test_setup(ladder__little_memory, set_up),
	cmocka_unit_test_setup(ladder__refused, set_up))
