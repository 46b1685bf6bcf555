/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* real.c - a pool on the kernel's own ring: its buffers reach a real file, registered or not */

#include <fcntl.h>
#include <sys/resource.h>

#include "turn.h"
#include "unit.h"

static struct turn turn;
static struct rpma_peer *peer;

static void write_from(rpma_uv_pool_t *pool)
{
	rpma_uv_file_t *file = NULL;
	rpma_uv_buf_t *buf = rpma_uv_buf_get(pool);
	char *back = malloc(buf->size);
	uv_buf_t out = uv_buf_init(buf->base, (unsigned)buf->size);
	uv_buf_t in = uv_buf_init(back, (unsigned)buf->size);

	turn_pattern(buf->base, buf->size, 5);
	assert_int_equal(turn_wait(rpma_uv_file_open(&turn.reactor, NULL, turn_path("pool"),
				 O_CREAT | O_RDWR, 0600, RPMA_UV_FILE_DIRECT, &file)),
		0);
	assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, &out, 1, 100, 0)), 0);
	assert_int_equal(turn_wait(rpma_uv_file_read(file, NULL, &in, 1, 100)), 0);
	assert_true(turn_is_pattern(back, buf->size, 5));
	memset(buf->base, 0, buf->size);
	/* direct, as the offset is now one of whole pages; and back into registered memory */
	assert_int_equal(turn_wait(rpma_uv_file_write(file, NULL, &in, 1, 1 << 20, 0)), 0);
	assert_int_equal(turn_wait(rpma_uv_file_read(file, NULL, &out, 1, 1 << 20)), 0);
	assert_true(turn_is_pattern(buf->base, buf->size, 5));
	rpma_uv_buf_put(buf);
	free(back);
}

static void real__pool(void **state)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 5, .chunk = 8 << 20 };
	rpma_uv_pool_t *pool = NULL;

	(void)state;
	peer = unit_peer_new();
	turn_open(&turn, NULL);
	if (rpma_uv__ring_ensure(turn.r)) {
		printf("no io_uring here\n");
		exit(77);
	}
	assert_int_equal(turn_wait(rpma_uv_pool_new(&turn.reactor, NULL, peer, &opts, &pool)), 0);
	write_from(pool);
	turn_close(&turn);
	unit_peer_delete(peer);
}

/* a memlock limit that the ring would exceed: root may lock all the same, so others only */
static void real__little_memlock(void **state)
{
	const struct rlimit limit = { 65536, 65536 };
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = 4, .chunk = 1 << 20 };
	rpma_uv_pool_t *pool = NULL;

	(void)state;
	peer = unit_peer_new();
	turn_open(&turn, NULL);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	assert_int_equal(turn_wait(rpma_uv_pool_new(&turn.reactor, NULL, peer, &opts, &pool)), 0);
	if (geteuid() != 0)
		assert_false(rpma_uv_pool_is_fixed(pool));
	write_from(pool);
	turn_close(&turn);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(real__pool), UNIT_TEST(real__little_memlock))
