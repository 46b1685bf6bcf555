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

#define WHOLE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

UNIT_MAIN(
	WHOLE_TEST(whole__group), WHOLE_TEST(whole__dsync_at_an_odd_place), WHOLE_TEST(whole__none))
