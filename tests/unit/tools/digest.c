/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * digest.c: who asks for the same range shares a job, whoever leaves is told nothing, and a job that
 * nobody wants any more stops, whether it runs or not
 *
 * The export is the test's own: each piece waits until it is let go.
 */

#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "digest.h"
#include "test.h"

#define PIECE ((size_t)256 * 1024)

static uv_loop_t loop;
static struct digests digests;
static sem_t asked; /* for a piece */
static sem_t let_go; /* a piece */
static atomic_uint pieces;

/* stands for that of export.c; on the pool */
int export_piece(
	const struct export *e, uint64_t offset, size_t len, void *scratch, const void **piece_ptr)
{
	(void)e;
	atomic_fetch_add(&pieces, 1);
	sem_post(&asked);
	sem_wait(&let_go);
	memset(scratch, (int)(offset / PIECE), len);
	*piece_ptr = scratch;
	return 0;
}

struct waiting {
	struct digest_waiter waiter;
	unsigned told;
	int status;
	uint8_t sha256[SHA256_BYTES];
};

static void on_told(struct digest_waiter *w, int status, const uint8_t sha256[SHA256_BYTES])
{
	struct waiting *waiting = (struct waiting *)w;

	waiting->told++;
	waiting->status = status;
	memcpy(waiting->sha256, sha256, SHA256_BYTES);
}

static void want(struct waiting *w, uint64_t offset, uint64_t length)
{
	memset(w, 0, sizeof(*w));
	w->waiter.told = on_told;
	assert_int_equal(digest_want(&digests, &w->waiter, offset, length), 0);
}

static void let_pieces_go(unsigned count)
{
	while (count-- > 0)
		sem_post(&let_go);
}

static int set_up(void **state)
{
	(void)state;
	atomic_store(&pieces, 0);
	assert_int_equal(sem_init(&asked, 0, 0), 0);
	assert_int_equal(sem_init(&let_go, 0, 0), 0);
	assert_int_equal(uv_loop_init(&loop), 0);
	digests_init(&digests, &loop, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	assert_true(LIST_EMPTY(&digests.jobs));
	assert_int_equal(uv_loop_close(&loop), 0);
	sem_destroy(&asked);
	sem_destroy(&let_go);
	return 0;
}

static void want__same_range_is_computed_once(void **state)
{
	(void)state;
	struct waiting one, two;

	want(&one, 0, 2 * PIECE + 1);
	want(&two, 0, 2 * PIECE + 1);
	let_pieces_go(3);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(atomic_load(&pieces), 3);
	assert_int_equal(one.told, 1);
	assert_int_equal(two.told, 1);
	assert_int_equal(one.status, 0);
	assert_memory_equal(one.sha256, two.sha256, SHA256_BYTES);
}

/* neither another offset, nor another length, nor the same once more is taken from elsewhere */
static void want__other_ranges_are_computed(void **state)
{
	(void)state;
	struct waiting one, offset, length, again;

	want(&one, 0, PIECE);
	want(&offset, 1, PIECE);
	want(&length, 0, PIECE - 1);
	let_pieces_go(3);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(atomic_load(&pieces), 3);
	assert_memory_equal(one.sha256, offset.sha256, SHA256_BYTES);
	assert_memory_not_equal(one.sha256, length.sha256, SHA256_BYTES);

	want(&again, 0, PIECE);
	let_pieces_go(1);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(again.told, 1);
	assert_int_equal(atomic_load(&pieces), 4);
}

static void leave__others_wait_on(void **state)
{
	(void)state;
	struct waiting one, two, three;

	want(&one, 0, PIECE);
	want(&two, 0, PIECE);
	want(&three, 0, PIECE);
	digest_leave(&one.waiter);
	digest_leave(&one.waiter); /* waits for nothing: fine */
	digest_leave(&three.waiter);
	let_pieces_go(1);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(one.told, 0);
	assert_int_equal(three.told, 0);
	assert_int_equal(two.told, 1);
	assert_int_equal(two.status, 0);
}

/* it stops before its next piece, and who comes meanwhile does not join what is given up */
static void leave__running_job_stops(void **state)
{
	(void)state;
	struct waiting one, two;

	want(&one, 0, 3 * PIECE);
	sem_wait(&asked);
	digest_leave(&one.waiter);
	let_pieces_go(1);
	while (!LIST_EMPTY(&digests.jobs))
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(one.told, 0);
	assert_int_equal(atomic_load(&pieces), 1);

	want(&one, 0, PIECE);
	sem_wait(&asked);
	digest_leave(&one.waiter);
	want(&two, 0, PIECE);
	let_pieces_go(2);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(one.told, 0);
	assert_int_equal(two.told, 1);
	assert_int_equal(two.status, 0);
}

/* the pool has one thread, which is busy: the second job never runs */
static void leave__queued_job_never_runs(void **state)
{
	(void)state;
	struct waiting one, two;

	want(&one, 0, PIECE);
	sem_wait(&asked);
	want(&two, PIECE, PIECE);
	digest_leave(&two.waiter);
	let_pieces_go(1);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(one.told, 1);
	assert_int_equal(two.told, 0);
	assert_int_equal(atomic_load(&pieces), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			want__same_range_is_computed_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(want__other_ranges_are_computed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(leave__others_wait_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(leave__running_job_stops, set_up, tear_down),
		cmocka_unit_test_setup_teardown(leave__queued_job_never_runs, set_up, tear_down),
	};

	if (setenv("UV_THREADPOOL_SIZE", "1", 1))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
