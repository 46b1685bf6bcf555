/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* cancel.c - asking a request to end early; its true outcome wins, and done() comes once */

#include <sys/eventfd.h>

#include "probe.h"

static struct turn turn;

/* still ours: taken back, and told by the next reaping */
static void cancel__queued(void **state)
{
	struct probe probes[3];

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	for (int i = 0; i < 3; i++)
		probe_null(&turn, &probes[i]);
	rpma_uv__ring_cancel(turn.r, &probes[1].io);
	assert_int_equal(probes[1].done, 0);
	assert_true(rpma_uv__ring_has_queued(turn.r));
	assert_true(rpma_uv__ring_reap(turn.r));
	assert_int_equal(probes[1].done, 1);
	assert_int_equal(probes[1].res, -ECANCELED);
	turn_until(&turn, &probes[2].done);
	assert_int_equal(probes[0].res, -EBADF);
	assert_int_equal(probes[2].res, -EBADF);
	assert_int_equal(turn_stats(&turn).ring_submitted, 2);
	turn_close(&turn);
}

/* with the kernel, and it can be stopped */
static void cancel__submitted(void **state)
{
	struct probe stopped, other;
	uint64_t values[2];
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_read(&turn, &stopped, fd, &values[0]);
	probe_read(&turn, &other, fd, &values[1]);
	turn_for(&turn, 2);
	rpma_uv__ring_cancel(turn.r, &stopped.io);
	rpma_uv__ring_cancel(turn.r, &stopped.io);
	assert_int_equal(stopped.done, 0);
	turn_until(&turn, &stopped.done);
	assert_int_equal(stopped.res, -ECANCELED);
	assert_int_equal(other.done, 0);
	assert_int_equal(eventfd_write(fd, 7), 0);
	turn_until(&turn, &other.done);
	assert_int_equal(other.res, 8);
	assert_int_equal(values[1], 7);
	assert_int_equal(stopped.done, 1);
	turn_close(&turn);
	close(fd);
}

/* with the kernel, and done already, since it was done while submitted: the success counts */
static void cancel__too_late(void **state)
{
	struct probe probe;
	uint64_t one = 1;
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_write(&turn, &probe, fd, &one, sizeof(one), 0);
	rpma_uv__ring_flush(turn.r);
	rpma_uv__ring_cancel(turn.r, &probe.io);
	turn_until(&turn, &probe.done);
	assert_int_equal(probe.res, sizeof(one));
	turn_for(&turn, 2);
	assert_int_equal(probe.done, 1);
	turn_close(&turn);
	close(fd);
}

/* done before the request to cancel it was prepared: nothing is left to be cancelled */
static void cancel__done_before_the_flush(void **state)
{
	struct probe probe, other;
	uint64_t value, nothing;
	int fd = eventfd(0, EFD_CLOEXEC), other_fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_read(&turn, &probe, fd, &value);
	probe_read(&turn, &other, other_fd, &nothing);
	rpma_uv__ring_flush(turn.r);
	assert_int_equal(eventfd_write(fd, 5), 0);
	rpma_uv__ring_cancel(turn.r, &probe.io);
	assert_true(rpma_uv__ring_has_queued(turn.r));
	assert_true(rpma_uv__ring_reap(turn.r));
	assert_int_equal(probe.done, 1);
	assert_int_equal(probe.res, sizeof(value));
	assert_int_equal(value, 5);
	assert_false(rpma_uv__ring_has_queued(turn.r));
	turn_for(&turn, 2);
	assert_int_equal(turn_stats(&turn).ring_submitted, 2);
	/* the next one is */
	rpma_uv__ring_cancel(turn.r, &other.io);
	turn_until(&turn, &other.done);
	assert_int_equal(other.res, -ECANCELED);
	assert_int_equal(turn_stats(&turn).ring_submitted, 3);
	turn_close(&turn);
	close(other_fd);
	close(fd);
}

static struct probe victim;

static void cancel_victim(struct rpma_uv__io *io, int res)
{
	probe_done(io, res);
	rpma_uv__ring_cancel(turn.r, &victim.io);
	assert_int_equal(victim.done, 0);
}

/* from another request's done() */
static void cancel__from_done(void **state)
{
	struct probe first;
	uint64_t value;
	int fd = eventfd(0, EFD_CLOEXEC);

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_read(&turn, &victim, fd, &value);
	probe_null(&turn, &first);
	first.io.done = cancel_victim;
	turn_until(&turn, &victim.done);
	assert_int_equal(victim.res, -ECANCELED);
	turn_close(&turn);
	close(fd);
}

TURN_MAIN(cmocka_unit_test(cancel__queued), cmocka_unit_test(cancel__submitted),
	cmocka_unit_test(cancel__too_late), cmocka_unit_test(cancel__done_before_the_flush),
	cmocka_unit_test(cancel__from_done))
