/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * refused.c - each step of making a ring, and of using it first, is refused in turn
 *
 * Proven: the error is passed on, nothing is left over (turn_close() counts descriptors and
 * handles), and a later attempt succeeds; what can be done without is done without.
 */

#include <liburing.h>
#include <sys/eventfd.h>

#include "probe.h"
#include "unit.h"

int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);
int __real_io_uring_register_eventfd(struct io_uring *ring, int fd);
int __wrap_io_uring_register_eventfd(struct io_uring *ring, int fd);
int __real_uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int fd);
int __wrap_uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int fd);
int __real_io_uring_register(unsigned fd, unsigned opcode, const void *arg, unsigned n);
int __wrap_io_uring_register(unsigned fd, unsigned opcode, const void *arg, unsigned n);
int __real_io_uring_register_buffers_sparse(struct io_uring *ring, unsigned n);
int __wrap_io_uring_register_buffers_sparse(struct io_uring *ring, unsigned n);

enum step { NOTHING, EVENTFD, REGISTER_EVENTFD, POLL, ENABLE, SPARSE };

static struct turn turn;
static enum step refused;
static unsigned calls; /* of what is refused */

static bool is_refused(enum step step)
{
	calls += step == refused;
	return step == refused;
}

int __wrap_eventfd(unsigned value, int flags)
{
	if (!is_refused(EVENTFD))
		return __real_eventfd(value, flags);
	errno = EMFILE;
	return -1;
}

int __wrap_io_uring_register_eventfd(struct io_uring *ring, int fd)
{
	return is_refused(REGISTER_EVENTFD) ? -ENOMEM : __real_io_uring_register_eventfd(ring, fd);
}

int __wrap_uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int fd)
{
	return is_refused(POLL) ? UV_ENOSPC : __real_uv_poll_init(loop, poll, fd);
}

int __wrap_io_uring_register(unsigned fd, unsigned opcode, const void *arg, unsigned n)
{
	return is_refused(ENABLE) ? -EBADFD : __real_io_uring_register(fd, opcode, arg, n);
}

int __wrap_io_uring_register_buffers_sparse(struct io_uring *ring, unsigned n)
{
	return is_refused(SPARSE) ? -EINVAL : __real_io_uring_register_buffers_sparse(ring, n);
}

static int set_up(void **state)
{
	(void)state;
	refused = NOTHING;
	calls = 0;
	turn_open(&turn, NULL);
	probe_ring(&turn); /* else the test is skipped */
	turn_close(&turn);
	turn_open(&turn, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	turn_close(&turn);
	return 0;
}

static void works(void)
{
	struct probe probe;

	assert_int_equal(rpma_uv__ring_ensure(turn.r), 0);
	probe_null(&turn, &probe);
	turn_until(&turn, &probe.done);
	assert_int_equal(probe.res, -EBADF);
}

static void refused__making(void **state)
{
	static const struct {
		enum step step;
		int status;
	} cases[] = { { EVENTFD, UV_EMFILE }, { REGISTER_EVENTFD, UV_ENOMEM },
		{ POLL, UV_ENOSPC } };
	unsigned descriptors = turn_descriptors();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		refused = cases[i].step;
		calls = 0;
		assert_int_equal(rpma_uv__ring_ensure(turn.r), cases[i].status);
		assert_int_equal(calls, 1);
		assert_null(turn.r->ring);
		assert_int_equal(turn_descriptors(), descriptors);
	}
	refused = NOTHING;
	works();
}

static void refused__memory(void **state)
{
	(void)state;
	unit_alloc_fail(1);
	assert_int_equal(rpma_uv__ring_ensure(turn.r), UV_ENOMEM);
	unit_alloc_fail(0);
	assert_null(turn.r->ring);
	works();
}

/* the ring is bound to the loop's thread with its first flush: what waits is not lost */
static void refused__binding(void **state)
{
	struct probe probe;

	(void)state;
	assert_int_equal(rpma_uv__ring_ensure(turn.r), 0);
	if (!(turn_stats(&turn).ring_flags & IORING_SETUP_R_DISABLED)) {
		printf("this kernel binds no ring to a thread\n");
		skip();
	}
	probe_null(&turn, &probe);
	refused = ENABLE;
	turn_until(&turn, &calls);
	assert_int_equal(probe.done, 0);
	assert_int_equal(turn_stats(&turn).ring_enters, 0);
	refused = NOTHING;
	turn_until(&turn, &probe.done);
	assert_int_equal(probe.res, -EBADF);
}

/* a kernel without sparse tables: there are no registered buffers, that is all */
static void refused__buffers(void **state)
{
	static char memory[4096];
	int index = -7;

	(void)state;
	assert_int_equal(rpma_uv__ring_ensure(turn.r), 0);
	refused = SPARSE;
	assert_int_equal(
		rpma_uv__ring_buffer_add(turn.r, memory, sizeof(memory), &index), UV_EINVAL);
	assert_int_equal(index, -7);
	works();
	refused = NOTHING;
	assert_int_equal(rpma_uv__ring_buffer_add(turn.r, memory, sizeof(memory), &index), 0);
	rpma_uv__ring_buffer_remove(turn.r, index);
}

static int ensured;

static void ensure_late(struct rpma_uv__io *io, int res)
{
	probe_done(io, res);
	ensured = rpma_uv__ring_ensure(turn.r);
}

/* while it closes nothing new is begun */
static void refused__closing(void **state)
{
	struct probe probe;
	uint64_t value;
	int fd = __real_eventfd(0, EFD_CLOEXEC);

	(void)state;
	refused = NOTHING;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_read(&turn, &probe, fd, &value);
	probe.io.done = ensure_late;
	turn_for(&turn, 2);
	ensured = 0;
	turn_close(&turn);
	assert_int_equal(probe.done, 1);
	assert_int_equal(ensured, UV_ECANCELED);
	close(fd);
}

#define REFUSED_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

TURN_MAIN(REFUSED_TEST(refused__making), REFUSED_TEST(refused__memory),
	REFUSED_TEST(refused__binding), REFUSED_TEST(refused__buffers),
	cmocka_unit_test(refused__closing))
