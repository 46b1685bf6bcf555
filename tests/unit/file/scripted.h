/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* scripted.h - a file on a ring that does what the test orders */

#ifndef RPMA_TEST_SCRIPTED_H
#define RPMA_TEST_SCRIPTED_H

#include <fcntl.h>

#include "ring_double.h"
#include "turn.h"

#define SCRIPTED_SIZE ((size_t)1 << 20)

struct scripted {
	struct turn turn;
	rpma_uv_file_t *file;
	unsigned closed;
	char *memory; /* page aligned, a pattern */
};

/* size: of a file that is there before, or -1 */
static inline void scripted_open(struct scripted *s, unsigned dio_align, int oflags, long size)
{
	unsigned flags = dio_align > 0 ? RPMA_UV_FILE_DIRECT : 0;

	ring_double_reset(SCRIPTED_SIZE, dio_align);
	if (size >= 0)
		ring_double_exists((size_t)size);
	turn_open(&s->turn, NULL);
	s->closed = 0;
	assert_int_equal(posix_memalign((void **)&s->memory, 4096, SCRIPTED_SIZE), 0);
	turn_pattern(s->memory, SCRIPTED_SIZE, 0);
	assert_int_equal(turn_wait(rpma_uv_file_open(&s->turn.reactor, NULL, "d/copy.img.part",
				 oflags, 0600, flags, &s->file)),
		0);
	assert_int_equal(rpma_uv_file_is_direct(s->file), dio_align > 0);
}

/* one that is there, for writing */
static inline void scripted_start(struct scripted *s, unsigned dio_align)
{
	scripted_open(s, dio_align, O_RDWR, 0);
	ring_double_log_clear();
}

static inline void scripted_end(struct scripted *s)
{
	ring_double_go();
	rpma_uv_file_close(s->file, turn_count, &s->closed);
	turn_until(&s->turn, &s->closed);
	assert_int_equal(s->closed, 1);
	assert_int_equal(ring_double_open_fds(), 0);
	turn_close(&s->turn);
	free(s->memory);
}

/* an operation, and what became of it */
struct attempt {
	rpma_uv_op_t op;
	uv_buf_t buf;
	unsigned done;
	int status;
	unsigned order;
};

static unsigned attempts_done;

static void attempt_done(rpma_uv_future_t *f, int status)
{
	struct attempt *a = f->data;

	a->done++;
	a->status = status;
	a->order = ++attempts_done;
}

static inline void write_start(struct scripted *s, struct attempt *a, size_t off, size_t len)
{
	memset(a, 0, sizeof(*a));
	a->buf = uv_buf_init(s->memory + off, (unsigned)len);
	assert_non_null(rpma_uv_then(
		rpma_uv_file_write(s->file, &a->op, &a->buf, 1, (int64_t)off, 0), attempt_done, a));
}

static inline void sync_start(struct scripted *s, struct attempt *a)
{
	memset(a, 0, sizeof(*a));
	assert_non_null(rpma_uv_then(rpma_uv_file_sync(s->file, &a->op), attempt_done, a));
}

/* a few turns of the loop, enough for everything that waits for nothing */
static inline void settle(struct scripted *s)
{
	for (int i = 0; i < 10; i++)
		uv_run(&s->turn.loop, UV_RUN_NOWAIT);
}

static inline int write_now(struct scripted *s, size_t off, size_t len)
{
	struct attempt a;

	write_start(s, &a, off, len);
	turn_until(&s->turn, &a.done);
	return a.status;
}

static inline int sync_now(struct scripted *s)
{
	struct attempt a;

	sync_start(s, &a);
	turn_until(&s->turn, &a.done);
	return a.status;
}

#endif /* RPMA_TEST_SCRIPTED_H */
