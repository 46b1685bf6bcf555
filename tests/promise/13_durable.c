/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * 13_durable.c - what durable means
 *
 * On real files: what the library asks of the ring is noted where it submits it, some writes are made
 * short there, and some requests made to fail.
 */

#include <fcntl.h>
#include <unistd.h>

#include "promise.h"
#include "ring_watch.h"

#define N     32
#define BLOCK 4096

static struct op ops[N];
static uv_buf_t bufs[N][2]; /* borrowed by their operations */
static uint8_t *bytes; /* N blocks of what is written, page aligned for direct I/O */

/* a file that is there before, so that its directory needs no sync */
static rpma_uv_file_t *old_file(struct world *w, unsigned how)
{
	int fd = open(world_path(w, "durable"), O_CREAT | O_TRUNC | O_RDWR, 0600);

	CHECK(fd >= 0);
	CHECK_OK(close(fd));
	return world_file(w, "durable", O_RDWR, how);
}

static rpma_uv_file_t *new_file(struct world *w, unsigned how)
{
	(void)unlink(world_path(w, "durable"));
	return world_file(w, "durable", O_CREAT | O_RDWR, how);
}

/* blocks in any order, some in two buffers */
static void write_all(struct world *w, rpma_uv_file_t *file)
{
	(void)w;
	if (bytes == NULL)
		bytes = aligned_alloc(BLOCK, (size_t)N * BLOCK);
	CHECK(bytes != NULL);
	for (size_t i = 0; i < (size_t)N * BLOCK; i++)
		bytes[i] = (uint8_t)(i >> 8 ^ i);
	for (unsigned i = 0; i < N; i++) {
		size_t at = (i * 13 % N) * (size_t)BLOCK;
		unsigned n = i % 4 == 0 ? 2 : 1;

		for (unsigned k = 0; k < n; k++)
			bufs[i][k] = uv_buf_init((char *)bytes + at + k * (BLOCK / n), BLOCK / n);
		watch(CALL(rpma_uv_file_write(file, &ops[i].op, bufs[i], n, (int64_t)at, 0)),
			&ops[i].done);
	}
}

static void written_is_right(struct world *w)
{
	uint8_t *back = malloc((size_t)N * BLOCK);
	int fd = open(world_path(w, "durable"), O_RDONLY);

	CHECK(back != NULL);
	CHECK(fd >= 0);
	CHECK_INT(read(fd, back, (size_t)N * BLOCK), (size_t)N * BLOCK);
	CHECK(memcmp(back, bytes, (size_t)N * BLOCK) == 0);
	CHECK_OK(close(fd));
	free(back);
}

static void gone(struct world *w)
{
	ring_watch_begin();
	CHECK_OK(unlink(world_path(w, "durable")));
}

/* ---- a file's own sync ----------------------------------------------------------------------- */

static void confirmed_first(struct world *w)
{
	rpma_uv_file_t *file = old_file(w, 0);
	struct op sync;

	ring_watch_begin();
	write_all(w, file);
	watch(CALL(rpma_uv_file_sync(file, &sync.op)), &sync.done);
	ENDS(w, sync, 0);
	CHECK_INT(ring_watch_syncs(), 1);
	/* all were confirmed when it began, and so it has made them durable */
	CHECK(ring_watch_last_sync_covers(0, (size_t)N * BLOCK));
	CHECK(ring_watch_is_durable(0, (size_t)N * BLOCK));
	for (unsigned i = 0; i < N; i++)
		CHECK_INT(ops[i].done.times, 1);
	written_is_right(w);
	gone(w);
}

static void short_writes(struct world *w)
{
	rpma_uv_file_t *file = old_file(w, 0);
	struct op sync;

	ring_watch_begin();
	ring_watch_shorten(2);
	write_all(w, file);
	watch(CALL(rpma_uv_file_sync(file, &sync.op)), &sync.done);
	ENDS(w, sync, 0);
	CHECK(ring_watch_shortened() > 0);
	CHECK(ring_watch_writes() > N);
	CHECK_INT(ring_watch_syncs(), 1);
	CHECK(ring_watch_last_sync_covers(0, (size_t)N * BLOCK));
	for (unsigned i = 0; i < N; i++) {
		CHECK_INT(ops[i].done.times, 1);
		CHECK_OK(ops[i].done.status);
		CHECK_INT(ops[i].done.result, BLOCK);
	}
	written_is_right(w);
	gone(w);
}

/* one that is called while a sync runs is not covered by that one, and waits for the next */
static void later_writes(struct world *w)
{
	rpma_uv_file_t *file = old_file(w, 0);
	struct op syncs[2];

	ring_watch_begin();
	write_all(w, file);
	watch(CALL(rpma_uv_file_sync(file, &syncs[0].op)), &syncs[0].done);
	UNTIL(w, ring_watch_syncs() == 1 || syncs[0].done.times == 1);
	for (unsigned i = 0; i < N; i++)
		CHECK_INT(ops[i].done.times, 1);
	write_all(w, file);
	watch(CALL(rpma_uv_file_sync(file, &syncs[1].op)), &syncs[1].done);
	ENDS(w, syncs[0], 0);
	ENDS(w, syncs[1], 0);
	CHECK_INT(ring_watch_syncs(), 2);
	CHECK(ring_watch_last_sync_covers(0, (size_t)N * BLOCK));
	gone(w);
}

static void failed_write(struct world *w)
{
	rpma_uv_file_t *file = old_file(w, 0);
	struct op sync;
	unsigned failed = 0;

	ring_watch_begin();
	ring_watch_fail_write(N / 2);
	write_all(w, file);
	watch(CALL(rpma_uv_file_sync(file, &sync.op)), &sync.done);
	ENDS(w, sync, UV_EBADF);
	for (unsigned i = 0; i < N; i++)
		failed += ops[i].done.status == UV_EBADF;
	CHECK_INT(failed, 1);
	/* what it covers is not all there: it does not even begin */
	CHECK_INT(ring_watch_syncs(), 0);
	gone(w);
}

static void failed_sync(struct world *w)
{
	rpma_uv_file_t *file = old_file(w, 0);
	uv_buf_t buf = uv_buf_init("late", 4);
	struct op syncs[3], late;
	unsigned writes;

	ring_watch_begin();
	ring_watch_fail_sync(1);
	write_all(w, file);
	watch(CALL(rpma_uv_file_sync(file, &syncs[0].op)), &syncs[0].done);
	ENDS(w, syncs[0], UV_EBADF);
	writes = ring_watch_writes();
	/* final: the next ones fail with it, and nobody asks the kernel again */
	for (unsigned i = 1; i < 3; i++) {
		watch(CALL(rpma_uv_file_sync(file, &syncs[i].op)), &syncs[i].done);
		watch(CALL(rpma_uv_file_write(file, &late.op, &buf, 1, 0, 0)), &late.done);
		ENDS(w, syncs[i], UV_EBADF);
		ENDS(w, late, UV_EBADF);
	}
	CHECK_INT(ring_watch_syncs(), 1);
	CHECK_INT(ring_watch_writes(), writes);
	CHECK_INT(ring_watch_durable(), 0);
	gone(w);
}

static void directories(struct world *w)
{
	rpma_uv_file_t *file;
	struct op sync;

	ring_watch_begin();
	file = new_file(w, 0);
	for (unsigned i = 0; i < 2; i++) {
		write_all(w, file);
		watch(CALL(rpma_uv_file_sync(file, &sync.op)), &sync.done);
		ENDS(w, sync, 0);
		CHECK_INT(ring_watch_directory_syncs(), 1); /* once */
	}
	gone(w);
	/* nor did we create this one */
	file = old_file(w, 0);
	ring_watch_begin();
	write_all(w, file);
	watch(CALL(rpma_uv_file_sync(file, &sync.op)), &sync.done);
	ENDS(w, sync, 0);
	CHECK_INT(ring_watch_directory_syncs(), 0);
	gone(w);
}

static void durable_write(struct world *w)
{
	rpma_uv_file_t *file = old_file(w, 0);
	static char text[BLOCK - 100];
	uv_buf_t buf = uv_buf_init(text, sizeof(text));
	struct op op;

	ring_watch_begin();
	ring_watch_shorten(2);
	for (unsigned i = 0; i < 8; i++) {
		watch(CALL(rpma_uv_file_write(
			      file, &op.op, &buf, 1, i * BLOCK + i, RPMA_UV_FILE_DSYNC)),
			&op.done);
		ENDS(w, op, 0);
		CHECK(ring_watch_is_durable(i * BLOCK + i, sizeof(text)));
	}
	CHECK(ring_watch_shortened() > 0);
	gone(w);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static struct {
	enum rpma_uv_durability durability;
	bool is_new;
	unsigned reports;
	uint64_t watermark;
	struct op op;
	uint64_t cancel_at; /* bytes written; 0: never */
} pull;

static void check_progress(const rpma_uv_transfer_stat_t *stat)
{
	CHECK(stat->watermark >= pull.watermark);
	CHECK(stat->written <= stat->read);
	pull.watermark = stat->watermark;
	if (pull.durability == RPMA_UV_DURABILITY_NONE) {
		CHECK(ring_watch_is_confirmed(0, stat->watermark));
		return;
	}
	CHECK(stat->watermark <= stat->durable);
	CHECK(ring_watch_is_durable(0, stat->watermark));
	CHECK(stat->durable <= ring_watch_durable());
	/* its name, too */
	if (pull.is_new && stat->watermark > 0)
		CHECK_INT(ring_watch_directory_syncs(), 1);
}

static void on_progress(rpma_uv_transfer_t *t, const rpma_uv_transfer_stat_t *stat, void *data)
{
	(void)t;
	(void)data;
	pull.reports++;
	check_progress(stat);
	if (pull.cancel_at > 0 && stat->written >= pull.cancel_at)
		(void)rpma_uv_cancel(&pull.op.op.future, 0);
}

struct way {
	enum rpma_uv_durability durability;
	bool is_new;
	unsigned how; /* RPMA_UV_FILE_DIRECT or 0 */
	unsigned fail_write, fail_sync;
	uint64_t cancel_at;
	int status; /* that it ends with */
	enum rpma_uv_stage stage;
};

#define LEN (WORLD_MEM / 4 + 1234) /* a tail that is not aligned */

/* what the file vouches for is there */
static void below_watermark_is_right(struct world *w, uint64_t watermark)
{
	uint8_t *back = malloc(LEN);
	int fd = open(world_path(w, "durable"), O_RDONLY);

	CHECK(back != NULL);
	CHECK(fd >= 0);
	CHECK(read(fd, back, LEN) >= (ssize_t)watermark);
	CHECK(memcmp(back, w->there.bytes, watermark) == 0);
	CHECK_OK(close(fd));
	free(back);
}

static void pull_ended(rpma_uv_transfer_t *t, const struct way *way)
{
	rpma_uv_transfer_error_t error;
	rpma_uv_transfer_stat_t stat;

	CHECK(pull.reports > 0);
	rpma_uv_transfer_stat(t, &stat);
	rpma_uv_transfer_error(t, &error);
	check_progress(&stat);
	if (way->status == 0) {
		CHECK_INT(pull.op.done.result, LEN);
		CHECK_INT(stat.watermark, LEN);
		CHECK_INT(stat.written, LEN);
		CHECK(ring_watch_shortened() > 0);
	} else {
		/* one that is cancelled may have come to its end */
		CHECK(stat.watermark < LEN || way->status == UV_ECANCELED);
		CHECK_INT(error.watermark, stat.watermark);
		if (way->stage != RPMA_UV_STAGE_NONE)
			CHECK_INT(error.stage, way->stage);
	}
	if (way->durability == RPMA_UV_DURABILITY_NONE)
		CHECK_INT(ring_watch_syncs(), 0);
	if (way->durability == RPMA_UV_DURABILITY_FINAL && way->status == 0)
		CHECK_INT(ring_watch_syncs(), 1);
}

static void pull_so(struct world *w, const struct way *way)
{
	const rpma_uv_pool_opts_t pool_opts = {
		.size = sizeof(pool_opts), .count = 8, .chunk = 4 * BLOCK
	};
	const rpma_uv_transfer_opts_t opts = { .size = sizeof(opts),
		.durability = way->durability,
		.group_bytes = 16 * BLOCK,
		.on_progress = on_progress };
	struct pair p = world_pair(w, 0, 0);
	rpma_uv_transfer_t *t;
	rpma_uv_pool_t *pool;
	rpma_uv_file_t *file;

	memset(&pull, 0, sizeof(pull));
	pull.durability = way->durability;
	pull.is_new = way->is_new;
	pull.cancel_at = way->cancel_at;
	for (size_t i = 0; i < LEN; i++)
		w->there.bytes[i] = (uint8_t)(i >> 8 ^ i ^ promise_seed);
	AWAIT(w, rpma_uv_pool_new(&w->client, NULL, w->peer, &pool_opts, &pool), 0);
	ring_watch_begin();
	file = way->is_new ? new_file(w, way->how) : old_file(w, way->how);
	ring_watch_shorten(3);
	ring_watch_fail_write(way->fail_write);
	ring_watch_fail_sync(way->fail_sync);
	CHECK_OK(rpma_uv_transfer_new(pool, &opts, &t));
	watch(CALL(rpma_uv_pull(t, &pull.op.op, p.c, remote_of(&w->there, 0), LEN, file, 0)),
		&pull.op.done);
	ENDS(w, pull.op, way->status);
	pull_ended(t, way);
	below_watermark_is_right(w, pull.watermark);
	CHECK_OK(rpma_uv_transfer_delete(&t));
	gone(w);
}

static void pull_group(struct world *w)
{
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_GROUP });
}

static void pull_direct(struct world *w)
{
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_GROUP,
			   .is_new = true,
			   .how = RPMA_UV_FILE_DIRECT });
}

static void pull_new(struct world *w)
{
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_GROUP, .is_new = true });
}

static void pull_dsync(struct world *w)
{
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_DSYNC });
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_DSYNC, .is_new = true });
}

static void pull_final(struct world *w)
{
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_FINAL, .is_new = true });
}

static void pull_none(struct world *w)
{
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_NONE });
}

static void pull_failed_write(struct world *w)
{
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_GROUP,
			   .fail_write = 10,
			   .status = UV_EBADF,
			   .stage = RPMA_UV_STAGE_WRITE });
}

static void pull_failed_sync(struct world *w)
{
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_GROUP,
			   .fail_sync = 2,
			   .status = UV_EBADF,
			   .stage = RPMA_UV_STAGE_SYNC });
}

static void pull_failed_last_sync(struct world *w)
{
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_FINAL,
			   .fail_sync = 1,
			   .status = UV_EBADF,
			   .stage = RPMA_UV_STAGE_SYNC });
}

static void pull_cancelled(struct world *w)
{
	pull_so(w, &(struct way){ .durability = RPMA_UV_DURABILITY_GROUP,
			   .cancel_at = WORLD_MEM / 8,
			   .status = UV_ECANCELED });
}

PROMISE_MAIN("13", { "the sync starts after the last confirmation", confirmed_first },
	{ "short writes are continued, and confirmed before the sync", short_writes },
	{ "what is written while a sync runs waits for the next", later_writes },
	{ "a failed write fails the sync that covers it", failed_write },
	{ "a failed sync is final for the file", failed_sync },
	{ "of a file that we created the directory is synced, once", directories },
	{ "a write with DSYNC is durable when it ends", durable_write },
	{ "pull, GROUP: the watermark never runs ahead of what is durable", pull_group },
	{ "pull, GROUP, past the page cache: neither", pull_direct },
	{ "pull, GROUP, a new file: nor ahead of its name", pull_new },
	{ "pull, DSYNC", pull_dsync },
	{ "pull, FINAL: one sync, and the watermark behind it", pull_final },
	{ "pull, NONE: no sync, and the watermark behind what is confirmed", pull_none },
	{ "pull, a failed write: not ahead", pull_failed_write },
	{ "pull, a failed sync: not ahead, and final", pull_failed_sync },
	{ "pull, the only sync fails: nothing is durable", pull_failed_last_sync },
	{ "pull, cancelled: not ahead", pull_cancelled })
