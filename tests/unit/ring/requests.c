/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* requests.c - every code of request does what its system call does */

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "probe.h"

static struct turn turn;

static int run(struct rpma_uv__io io)
{
	struct probe probe = { .io = io };

	probe.io.done = probe_done;
	rpma_uv__ring_queue(turn.r, &probe.io);
	assert_int_equal(probe.done, 0);
	assert_int_equal(rpma_uv__ring_in_flight(turn.r), 1);
	turn_until(&turn, &probe.done);
	assert_int_equal(probe.done, 1);
	assert_int_equal(rpma_uv__ring_in_flight(turn.r), 0);
	return probe.res;
}

/* a file's life, one request after the other */
static void requests__all_codes(void **state)
{
	char a[4096], b[4096], back[8192];
	const struct iovec out[] = { { a, sizeof(a) }, { b, sizeof(b) } };
	const struct iovec in[] = { { back, 100 }, { back + 100, sizeof(back) - 100 } };
	const char *path = turn_path("codes");
	struct statx st;
	int fd;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	turn_pattern(a, sizeof(a), 0);
	turn_pattern(b, sizeof(b), sizeof(a));

	fd = run((struct rpma_uv__io){ .code = RPMA_UV__IO_OPENAT,
		.fd = AT_FDCWD,
		.path = path,
		.flags = O_CREAT | O_RDWR | O_CLOEXEC,
		.len = 0640 });
	assert_true(fd >= 0);
	assert_int_equal(run((struct rpma_uv__io){
				 .code = RPMA_UV__IO_FALLOCATE, .fd = fd, .off = 0, .len = 10000 }),
		0);
	assert_int_equal(run((struct rpma_uv__io){ .code = RPMA_UV__IO_STATX,
				 .fd = fd,
				 .statx = &st,
				 .flags = STATX_SIZE | STATX_MODE }),
		0);
	assert_int_equal(st.stx_size, 10000);
	assert_int_equal(st.stx_mode & 0777, 0640);
	assert_int_equal(
		run((struct rpma_uv__io){
			.code = RPMA_UV__IO_WRITEV, .fd = fd, .iov = out, .len = 2, .off = 0 }),
		8192);
	assert_int_equal(run((struct rpma_uv__io){ .code = RPMA_UV__IO_WRITE,
				 .fd = fd,
				 .addr = a,
				 .len = 1000,
				 .off = 8192,
				 .flags = RWF_DSYNC,
				 .buf_index = -1 }),
		1000);
	assert_int_equal(run((struct rpma_uv__io){ .code = RPMA_UV__IO_FDATASYNC, .fd = fd }), 0);
	assert_int_equal(run((struct rpma_uv__io){ .code = RPMA_UV__IO_FSYNC, .fd = fd }), 0);
	assert_int_equal(
		run((struct rpma_uv__io){
			.code = RPMA_UV__IO_READV, .fd = fd, .iov = in, .len = 2, .off = 0 }),
		8192);
	assert_true(turn_is_pattern(back, sizeof(back), 0));
	assert_int_equal(run((struct rpma_uv__io){ .code = RPMA_UV__IO_READ,
				 .fd = fd,
				 .addr = back,
				 .len = 5000,
				 .off = 8192,
				 .buf_index = -1 }),
		1808);
	assert_true(turn_is_pattern(back, 1000, 0));
	assert_int_equal(run((struct rpma_uv__io){ .code = RPMA_UV__IO_CLOSE, .fd = fd }), 0);
	assert_int_equal(run((struct rpma_uv__io){ .code = RPMA_UV__IO_CLOSE, .fd = fd }), -EBADF);
	turn_close(&turn);
}

/* what was never used was never made: no descriptor, nothing to close */
static void requests__ring_is_lazy(void **state)
{
	unsigned before;

	(void)state;
	turn_open(&turn, NULL);
	before = turn_descriptors();
	assert_int_equal(turn_stats(&turn).ring_flags, 0);
	turn_for(&turn, 5);
	assert_null(turn.r->ring);
	assert_int_equal(turn_descriptors(), before);
	rpma_uv__ring_flush(turn.r);
	assert_false(rpma_uv__ring_reap(turn.r));
	assert_false(rpma_uv__ring_has_queued(turn.r));
	assert_int_equal(rpma_uv__ring_in_flight(turn.r), 0);
	turn_close(&turn);
}

static void run_elsewhere(void *arg)
{
	unsigned *flag = arg;

	turn_until(&turn, flag);
}

/* made and queued in one thread, before the loop runs in another */
static void requests__made_in_another_thread(void **state)
{
	struct probe probe;
	uv_thread_t thread;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	probe_null(&turn, &probe);

	assert_int_equal(uv_thread_create(&thread, run_elsewhere, &probe.done), 0);
	assert_int_equal(uv_thread_join(&thread), 0);

	assert_int_equal(probe.done, 1);
	assert_int_equal(probe.res, -EBADF);
	turn_close(&turn);
}

/* a hundred requests of one turn are submitted with one system call */
static void requests__one_enter_a_flush(void **state)
{
	struct probe probes[100];
	rpma_uv_reactor_stats_t stats;

	(void)state;
	turn_open(&turn, NULL);
	probe_ring(&turn);
	for (int i = 0; i < 100; i++)
		probe_null(&turn, &probes[i]);
	turn_until(&turn, &probes[99].done);
	stats = turn_stats(&turn);
	assert_int_equal(stats.ring_enters, 1);
	assert_int_equal(stats.ring_submitted, 100);
	assert_int_equal(stats.ring_completions, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(probes[i].done, 1);
	turn_close(&turn);
}

TURN_MAIN(cmocka_unit_test(requests__all_codes), cmocka_unit_test(requests__ring_is_lazy),
	cmocka_unit_test(requests__made_in_another_thread),
	cmocka_unit_test(requests__one_enter_a_flush))
