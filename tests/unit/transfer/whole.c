/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * whole.c - a pull with every part of the reactor: connection, queue, pool, ring, disk
 *
 * Only the device is a double; it moves the bytes within the process.
 */

#include <fcntl.h>

#include "turn.h"
#include "unit.h"

#define LEN (((size_t)3 << 20) + 12345)

static struct turn turn;
static struct rpma_peer *peer;
static rpma_uv_conn_t *conn;
static rpma_uv_pool_t *pool;
static rpma_uv_file_t *file;
static rpma_uv_transfer_t *transfer;

static int set_up(void **state)
{
	const rpma_uv_pool_opts_t pool_opts = {
		.size = sizeof(pool_opts),
		.count = 8,
		.chunk = 64 << 10,
	};
	int status;

	unit_setup(state);
	double_auto(true);
	peer = unit_peer_new();
	turn_open(&turn, NULL);
	status = turn_wait(rpma_uv_file_open(&turn.reactor, NULL, turn_path("whole"),
		O_CREAT | O_TRUNC | O_RDWR, 0600, RPMA_UV_FILE_DIRECT, &file));
	if (status == UV_ENOSYS || status == UV_EPERM) {
		printf("no io_uring here\n");
		exit(77);
	}
	assert_int_equal(status, 0);
	assert_int_equal(
		turn_wait(rpma_uv_pool_new(&turn.reactor, NULL, peer, &pool_opts, &pool)), 0);
	assert_int_equal(rpma_uv_conn_new(&turn.reactor, peer, NULL, &conn), 0);
	assert_int_equal(turn_wait(rpma_uv_connect(conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(rpma_uv_transfer_delete(&transfer), 0);
	turn_close(&turn);
	unit_peer_delete(peer);
	return unit_teardown(state);
}

static void pull_and_compare(enum rpma_uv_durability durability, int64_t off)
{
	const rpma_uv_transfer_opts_t opts = {
		.size = sizeof(opts),
		.durability = durability,
		.group_bytes = 1 << 20,
	};
	char *memory = malloc(LEN), *back = malloc(LEN);
	struct rpma_mr_local *mr = unit_mr(peer, memory, LEN, RPMA_MR_USAGE_READ_SRC);
	rpma_uv_remote_t src = { unit_mr_remote(mr), 0 };
	rpma_uv_transfer_stat_t stat;
	struct rpma_mr_remote *remote = (struct rpma_mr_remote *)src.mr;
	int fd = open(turn_path("whole"), O_RDONLY | O_CLOEXEC);

	turn_pattern(memory, LEN, 77);
	assert_int_equal(rpma_uv_transfer_new(pool, &opts, &transfer), 0);
	assert_int_equal(turn_wait(rpma_uv_pull(transfer, NULL, conn, src, LEN, file, off)), 0);
	rpma_uv_transfer_stat(transfer, &stat);
	assert_int_equal(stat.watermark, LEN);
	assert_int_equal(pread(fd, back, LEN, off), LEN);
	assert_true(turn_is_pattern(back, LEN, 77));
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	close(fd);
	free(memory);
	free(back);
}

static void whole__group(void **state)
{
	(void)state;
	pull_and_compare(RPMA_UV_DURABILITY_GROUP, 0);
}

static void whole__dsync_at_an_odd_place(void **state)
{
	(void)state;
	pull_and_compare(RPMA_UV_DURABILITY_DSYNC, 1000);
}

static void whole__none(void **state)
{
	(void)state;
	pull_and_compare(RPMA_UV_DURABILITY_NONE, 4096);
}

enum { CLOSE_CONNECTION, CLOSE_FILE, CLOSE_REACTOR };

static unsigned chunks;

/* in the middle of the pull, from its own callback */
static int on_chunk(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	(void)t;
	(void)base;
	(void)len;
	(void)offset;
	if (++chunks != 20)
		return 0;
	if (*(int *)data == CLOSE_CONNECTION)
		rpma_uv_conn_close(conn, NULL, NULL);
	else if (*(int *)data == CLOSE_FILE)
		rpma_uv_file_close(file, NULL, NULL);
	else
		rpma_uv_reactor_close(&turn.reactor, turn_count, &turn.closed);
	return 0;
}

static unsigned ended;
static int end_status;

static void on_end(rpma_uv_future_t *f, int status)
{
	(void)f;
	ended++;
	end_status = status;
}

static void close_meanwhile(int what)
{
	const rpma_uv_transfer_opts_t opts = {
		.size = sizeof(opts),
		.on_chunk = on_chunk,
		.data = &what,
	};
	char *memory = calloc(1, LEN);
	struct rpma_mr_local *mr = unit_mr(peer, memory, LEN, RPMA_MR_USAGE_READ_SRC);
	struct rpma_mr_remote *remote = unit_mr_remote(mr);
	const rpma_uv_remote_t src = { remote, 0 };

	chunks = ended = 0;
	assert_int_equal(rpma_uv_transfer_new(pool, &opts, &transfer), 0);
	rpma_uv_then(rpma_uv_pull(transfer, NULL, conn, src, LEN, file, 0), on_end, NULL);
	turn_until(&turn, what == CLOSE_REACTOR ? &turn.closed : &ended);
	assert_int_equal(ended, 1);
	assert_int_equal(end_status, UV_ECANCELED);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	free(memory);
}

static void whole__connection_closed(void **state)
{
	(void)state;
	close_meanwhile(CLOSE_CONNECTION);
}

static void whole__file_closed(void **state)
{
	(void)state;
	close_meanwhile(CLOSE_FILE);
}

static void whole__reactor_closed(void **state)
{
	(void)state;
	close_meanwhile(CLOSE_REACTOR);
	assert_int_equal(uv_loop_close(&turn.loop), 0);
	turn_open(&turn, NULL);
}

#define WHOLE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

UNIT_MAIN(WHOLE_TEST(whole__group), WHOLE_TEST(whole__dsync_at_an_odd_place),
	WHOLE_TEST(whole__none), WHOLE_TEST(whole__connection_closed),
	WHOLE_TEST(whole__file_closed), WHOLE_TEST(whole__reactor_closed))
