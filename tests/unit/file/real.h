/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* real.h - a file on a real disk, through the kernel's io_uring */

#ifndef RPMA_TEST_REAL_H
#define RPMA_TEST_REAL_H

#include <fcntl.h>
#include <sys/stat.h>

#include "turn.h"

/* open a file of the test's directory; on a machine without io_uring the test is skipped */
static inline rpma_uv_file_t *real_open(
	struct turn *turn, const char *name, int oflags, unsigned flags)
{
	rpma_uv_file_t *file = NULL;
	int status = turn_wait(rpma_uv_file_open(
		&turn->reactor, NULL, turn_path(name), oflags, 0600, flags, &file));

	if (status == UV_ENOSYS || status == UV_EPERM) {
		printf("no io_uring here: %s\n", uv_strerror(status));
		exit(77);
	}
	assert_int_equal(status, 0);
	assert_non_null(file);
	return file;
}

static inline void real_close(struct turn *turn, rpma_uv_file_t *file)
{
	unsigned closed = 0;

	rpma_uv_file_close(file, turn_count, &closed);
	assert_int_equal(closed, 0);
	turn_until(turn, &closed);
	assert_int_equal(closed, 1);
}

#endif /* RPMA_TEST_REAL_H */
