/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * transfer.c - pull: remote memory into a local file
 *
 *   buffer --read_start()--> READ out --> on_chunk --> filled --write_start()--> write --> buffer
 *
 *           pull()            all written, and synced as asked
 *   IDLE ----------> RUNNING ---------------------------------> ENDING ----> IDLE, future finished
 *                      |                                          ^
 *                      | fail(), cancel: the first counts         | nothing is out, and what was
 *                      v                                          | written is synced if it can be
 *                   DRAINING -------------------------------------+
 *
 *   RUNNING   chunks are issued in order and complete in any. `prefix` is the first that is not
 *             written; a bit for each chunk in the window behind it tells which are.
 *   DRAINING  nothing is issued, but for one last sync: what has been written for sure is then a
 *             place to resume from.
 *   ENDING    nothing is out; the connection is let go of, and the progress is told once more.
 *
 * The watermark moves when a sync returns: to where the prefix was when that sync was called.
 * A chunk covers whole pages of the file wherever the range starts, so that its write can be
 * direct: the first chunk is shorter by `pad`, and its bytes lie that far into their buffer.
 */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "conn.h"
#include "deadline.h"
#include "file.h"
#include "future.h"
#include "pool.h"
#include "reactor.h"
#include "transfer.h"

#define DEPTH_DEFAULT 16
#define GROUP_DEFAULT ((uint64_t)16 << 20)

#define PAGE 4096

/* chunks between the first not written and the last issued, for each buffer of the pool */
#define WINDOW_PER_BUFFER 64
#define WORD              64

enum state { IDLE, RUNNING, DRAINING, ENDING };

/* one chunk on its way, and the buffer that it is in */
struct slot {
	rpma_uv_op_t op; /* first of its read, then of its write */
	rpma_uv_transfer_t *transfer;
	rpma_uv_buf_t *buf;
	uint64_t chunk;
	uint64_t at; /* from the start of the range */
	uv_buf_t part;
	bool is_reading;
	STAILQ_ENTRY(slot) link;
};

STAILQ_HEAD(slots, slot);

/* what is told about a failed transfer, in the room of its operation: numbers only */
struct RPMA_UV__ROOM failure {
	bool is_told;
	bool is_durable;
	uint8_t stage;
	uint64_t offset;
	uint64_t watermark;
	rpma_uv_transfer_t *transfer; /* while it runs */
};

struct rpma_uv_transfer {
	struct rpma_uv__reactor *reactor;
	rpma_uv_pool_t *pool;
	rpma_uv_transfer_opts_t opts; /* with the defaults filled in */
	struct slot *slots; /* as many as the pool has buffers */
	uint64_t *bits; /* chunk in the window: written */
	uint64_t window; /* chunks */
	enum state state;

	/* the range; valid from pull() on */
	TAILQ_ENTRY(rpma_uv_transfer) link;
	rpma_uv_op_t *op;
	rpma_uv_conn_t *conn; /* NULL once it has ended */
	rpma_uv_remote_t src;
	rpma_uv_file_t *file;
	int64_t off;
	size_t chunk, pad;
	uint64_t chunk_count;

	/* RUNNING, DRAINING: where it is */
	uint64_t next; /* chunk to issue */
	uint64_t prefix; /* chunk: all before it are written */
	struct slots free;
	struct slots filled; /* read, and waiting to be written */
	struct rpma_uv__buf_waiter waiter;
	bool is_waiting;

	/* the connection's end, which tells that it must not be touched any more */
	rpma_uv_op_t conn_op;
	bool is_watching;
	int conn_status;

	/* one sync at a time, and what it will make durable */
	rpma_uv_op_t sync_op;
	bool is_syncing;
	bool is_last_sync; /* called when nothing more was to be written */
	uint64_t sync_prefix, sync_written;
	bool had_last_sync;

	/* the program has the floor: it may do anything, and the transfer is not over before */
	bool in_program;

	struct rpma_uv__deadline progress;
	rpma_uv_transfer_stat_t stat;
	rpma_uv_transfer_error_t error;
};

static void transfer_check(const rpma_uv_transfer_t *t)
{
	assert(t->prefix <= t->next);
	assert(t->next <= t->chunk_count);
	assert(t->next - t->prefix <= t->window);
	assert(t->stat.watermark <= t->stat.written);
	assert(t->stat.written <= t->stat.read);
	assert(t->state == RUNNING || STAILQ_EMPTY(&t->filled));
	(void)t;
}

static void transfer_set_state(rpma_uv_transfer_t *t, enum state state)
{
	assert(state == IDLE || state > t->state);
	t->state = state;
	transfer_check(t);
}

/* ---- the range ------------------------------------------------------------------------------- */

/*
 * where a chunk starts, in bytes from the start of the range; of the one behind the last: its end
 */
static uint64_t chunk_start(const rpma_uv_transfer_t *t, uint64_t chunk)
{
	uint64_t start = chunk == 0 ? 0 : chunk * t->chunk - t->pad;

	return start < t->stat.total ? start : t->stat.total;
}

static void mark_written(rpma_uv_transfer_t *t, uint64_t chunk)
{
	uint64_t bit = chunk % t->window;

	assert(chunk >= t->prefix);
	t->bits[bit / WORD] |= UINT64_C(1) << bit % WORD;
	for (;;) {
		bit = t->prefix % t->window;
		if (!(t->bits[bit / WORD] & UINT64_C(1) << bit % WORD))
			return;
		t->bits[bit / WORD] &= ~(UINT64_C(1) << bit % WORD);
		t->prefix++;
	}
}

static bool is_all_written(const rpma_uv_transfer_t *t)
{
	return t->prefix == t->chunk_count;
}

/* durability that comes without a sync, or that nobody asked for */
static void account_written(rpma_uv_transfer_t *t)
{
	enum rpma_uv_durability durability = t->opts.durability;

	if (durability == RPMA_UV_DURABILITY_NONE) {
		t->stat.watermark = chunk_start(t, t->prefix);
	} else if (durability == RPMA_UV_DURABILITY_DSYNC && !rpma_uv__file_is_unnamed(t->file)) {
		/* bytes of a file that a crash could leave without a name are not durable */
		t->stat.watermark = chunk_start(t, t->prefix);
		t->stat.durable = t->stat.written;
	}
}

static void account_synced(rpma_uv_transfer_t *t)
{
	t->stat.syncs++;
	t->had_last_sync = t->is_last_sync;
	if (t->opts.durability == RPMA_UV_DURABILITY_DSYNC) {
		account_written(t);
		return;
	}
	assert(t->sync_prefix >= t->stat.watermark);
	t->stat.watermark = t->sync_prefix;
	t->stat.durable = t->sync_written;
}

/* a sample at each start of a read or write */
static void account_start(rpma_uv_transfer_t *t)
{
	rpma_uv_transfer_stat_t *s = &t->stat;

	if (s->reads_in_flight > s->peak_reads)
		s->peak_reads = s->reads_in_flight;
	if (s->writes_in_flight > s->peak_writes)
		s->peak_writes = s->writes_in_flight;
	if (s->writes_in_flight > 0 && s->reads_in_flight > s->peak_overlap)
		s->peak_overlap = s->reads_in_flight;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void slot_release(struct slot *slot)
{
	rpma_uv_transfer_t *t = slot->transfer;
	rpma_uv_buf_t *buf = slot->buf;

	slot->buf = NULL;
	STAILQ_INSERT_HEAD(&t->free, slot, link);
	rpma_uv_buf_put(buf);
}

/* the first failure counts: nothing is issued from here on */
static void fail(rpma_uv_transfer_t *t, enum rpma_uv_stage stage, uint64_t offset, int status,
	uint32_t detail)
{
	struct slots filled = STAILQ_HEAD_INITIALIZER(filled);
	struct slot *slot;

	assert(status < 0);
	if (t->state != RUNNING)
		return;
	t->error.stage = stage;
	t->error.status = status;
	t->error.detail = detail;
	t->error.offset = offset;
	STAILQ_CONCAT(&filled, &t->filled);
	transfer_set_state(t, DRAINING);
	if (t->is_waiting)
		rpma_uv__buf_wait_cancel(t->pool, &t->waiter);
	t->is_waiting = false;
	while ((slot = STAILQ_FIRST(&filled)) != NULL) {
		STAILQ_REMOVE_HEAD(&filled, link);
		slot_release(slot);
	}
}

static void complete(rpma_uv_transfer_t *t)
{
	struct rpma_uv__reactor *r = t->reactor;
	struct failure *failure = rpma_uv__room(struct failure, t->op);
	rpma_uv_op_t *op = t->op;
	int status = t->error.status;

	transfer_set_state(t, IDLE);
	t->error.watermark = t->stat.watermark;
	*failure = (struct failure){
		.is_told = status < 0,
		.is_durable = t->opts.durability != RPMA_UV_DURABILITY_NONE,
		.stage = (uint8_t)t->error.stage,
		.offset = t->error.offset,
		.watermark = t->error.watermark,
	};
	t->op = NULL;
	TAILQ_REMOVE(&r->transfers, t, link);
	rpma_uv__file_drop(t->file);
	rpma_uv__future_finish(
		&op->future, status, status < 0 ? 0 : (int64_t)t->stat.total, t->error.detail);
	rpma_uv__reactor_child_gone(r);
}

/* leave when nothing refers to the transfer any more */
static void leave_if_unused(rpma_uv_transfer_t *t)
{
	assert(!t->in_program);
	if (!t->is_watching && !rpma_uv__deadline_is_set(&t->progress))
		complete(t);
}

static void end(rpma_uv_transfer_t *t)
{
	transfer_set_state(t, ENDING);
	/* it may have ended by itself just now; its callback comes either way */
	if (t->is_watching)
		(void)rpma_uv_cancel(&t->conn_op.future, 0);
	leave_if_unused(t);
}

static void pump(rpma_uv_transfer_t *t);

/* ---- progress -------------------------------------------------------------------------------- */

/* told from a later check phase, and so at most once in each turn */
static void progress_made(rpma_uv_transfer_t *t)
{
	if (t->opts.on_progress != NULL && !rpma_uv__deadline_is_set(&t->progress))
		rpma_uv__deadline_set(t->reactor, &t->progress, 0);
}

static void progress_expired(struct rpma_uv__deadline *d)
{
	rpma_uv_transfer_t *t = rpma_uv__container_of(d, rpma_uv_transfer_t, progress);
	rpma_uv_transfer_stat_t stat = t->stat;

	t->in_program = true;
	RPMA_UV__CALLBACK(t->opts.on_progress(t, &stat, t->opts.data));
	t->in_program = false;
	if (t->state == ENDING)
		leave_if_unused(t);
	else
		pump(t);
}

/* ---- syncs ----------------------------------------------------------------------------------- */

static void sync_done(rpma_uv_future_t *f, int status)
{
	rpma_uv_transfer_t *t = f->data;

	t->is_syncing = false;
	if (status < 0)
		fail(t, RPMA_UV_STAGE_SYNC, t->stat.watermark, status, f->detail);
	else
		account_synced(t);
	progress_made(t);
	pump(t);
}

static bool is_quiet(const rpma_uv_transfer_t *t)
{
	return t->stat.reads_in_flight == 0 && t->stat.writes_in_flight == 0 && !t->is_syncing &&
	       !t->in_program;
}

/*
 * a failure that leaves the storage as good as it was: what was written can still be made durable
 */
static bool is_sync_worth_it(const rpma_uv_transfer_t *t)
{
	return is_quiet(t) && !t->had_last_sync && t->error.stage != RPMA_UV_STAGE_WRITE &&
	       t->error.stage != RPMA_UV_STAGE_SYNC &&
	       (t->opts.durability == RPMA_UV_DURABILITY_GROUP ||
		       t->opts.durability == RPMA_UV_DURABILITY_FINAL) &&
	       chunk_start(t, t->prefix) > t->stat.watermark;
}

static bool is_sync_due(const rpma_uv_transfer_t *t)
{
	uint64_t prefix = chunk_start(t, t->prefix);

	if (t->is_syncing || t->opts.durability == RPMA_UV_DURABILITY_NONE)
		return false;
	if (t->state == DRAINING)
		return is_sync_worth_it(t);
	if (is_all_written(t))
		return !t->had_last_sync;
	if (t->opts.durability == RPMA_UV_DURABILITY_DSYNC)
		return rpma_uv__file_is_unnamed(t->file);
	return t->opts.durability == RPMA_UV_DURABILITY_GROUP &&
	       prefix - t->stat.watermark >= t->opts.group_bytes;
}

static void sync_start(rpma_uv_transfer_t *t)
{
	t->is_syncing = true;
	t->is_last_sync = t->state == DRAINING || is_all_written(t);
	/* one that is not worth it twice is not tried twice either */
	t->had_last_sync = t->state == DRAINING;
	t->sync_prefix = chunk_start(t, t->prefix);
	t->sync_written = t->stat.written;
	rpma_uv_then(rpma_uv_file_sync(t->file, &t->sync_op), sync_done, t);
}

/* ---- writes ---------------------------------------------------------------------------------- */

static void write_done(rpma_uv_future_t *f, int status)
{
	struct slot *slot = f->data;
	rpma_uv_transfer_t *t = slot->transfer;

	t->stat.writes_in_flight--;
	if (status < 0) {
		fail(t, RPMA_UV_STAGE_WRITE, slot->at, status, f->detail);
	} else {
		t->stat.written += slot->part.len;
		mark_written(t, slot->chunk);
		account_written(t);
		progress_made(t);
	}
	slot_release(slot);
	pump(t);
}

static void write_start(rpma_uv_transfer_t *t)
{
	struct slot *slot = STAILQ_FIRST(&t->filled);
	unsigned flags = 0;

	if (t->opts.durability == RPMA_UV_DURABILITY_DSYNC)
		flags = RPMA_UV_FILE_DSYNC;
	STAILQ_REMOVE_HEAD(&t->filled, link);
	t->stat.writes_in_flight++;
	account_start(t);
	rpma_uv_then(rpma_uv_file_write(
			     t->file, &slot->op, &slot->part, 1, t->off + (int64_t)slot->at, flags),
		write_done, slot);
}

/* ---- reads ----------------------------------------------------------------------------------- */

/* ask the program for its word on a chunk */
static void chunk_offer(rpma_uv_transfer_t *t, const struct slot *slot)
{
	int ret;

	if (t->opts.on_chunk == NULL)
		return;
	t->in_program = true;
	RPMA_UV__CALLBACK(
		ret = t->opts.on_chunk(t, slot->part.base, slot->part.len, slot->at, t->opts.data));
	t->in_program = false;
	if (ret != 0)
		fail(t, RPMA_UV_STAGE_CHUNK, slot->at, ret < 0 ? ret : UV_EINVAL, 0);
}

static void read_done(rpma_uv_future_t *f, int status)
{
	struct slot *slot = f->data;
	rpma_uv_transfer_t *t = slot->transfer;

	slot->is_reading = false;
	t->stat.reads_in_flight--;
	if (status < 0) {
		fail(t, RPMA_UV_STAGE_READ, slot->at, status, f->detail);
	} else {
		t->stat.read += slot->part.len;
		if (t->state == RUNNING)
			chunk_offer(t, slot);
	}
	/* not only here may the transfer have failed: on_chunk may have cancelled it */
	if (t->state == RUNNING)
		STAILQ_INSERT_TAIL(&t->filled, slot, link);
	else
		slot_release(slot);
	pump(t);
}

static void read_start(rpma_uv_transfer_t *t, rpma_uv_buf_t *buf)
{
	struct slot *slot = STAILQ_FIRST(&t->free);
	uint64_t chunk = t->next++;
	size_t skip = chunk == 0 ? t->pad : 0;
	rpma_uv_local_t to = { buf->local.mr, buf->local.offset + skip };
	rpma_uv_remote_t from = t->src;

	STAILQ_REMOVE_HEAD(&t->free, link);
	slot->buf = buf;
	slot->chunk = chunk;
	slot->at = chunk_start(t, chunk);
	slot->part.base = (char *)buf->base + skip;
	slot->part.len = (size_t)(chunk_start(t, chunk + 1) - slot->at);
	from.offset += slot->at;
	slot->is_reading = true;
	t->stat.reads_in_flight++;
	account_start(t);
	rpma_uv_then(
		rpma_uv_read(t->conn, &slot->op, to, from, slot->part.len, 0), read_done, slot);
}

static bool may_read(const rpma_uv_transfer_t *t)
{
	if (t->state != RUNNING || t->conn == NULL || t->next == t->chunk_count)
		return false;
	return t->stat.reads_in_flight < t->opts.depth &&
	       t->stat.reads_in_flight < rpma_uv__conn_read_depth(t->conn) &&
	       t->next - t->prefix < t->window;
}

static void waiter_got(struct rpma_uv__buf_waiter *waiter, rpma_uv_buf_t *buf)
{
	rpma_uv_transfer_t *t = rpma_uv__container_of(waiter, rpma_uv_transfer_t, waiter);

	t->is_waiting = false;
	if (!may_read(t)) {
		rpma_uv_buf_put(buf);
		return;
	}
	read_start(t, buf);
	pump(t);
}

static void reads_start(rpma_uv_transfer_t *t)
{
	rpma_uv_buf_t *buf;

	while (!t->is_waiting && may_read(t)) {
		buf = rpma_uv_buf_get(t->pool);
		if (buf != NULL) {
			read_start(t, buf);
		} else {
			t->is_waiting = true;
			rpma_uv__buf_wait(t->pool, &t->waiter);
		}
	}
}

/* ---- the pump: after each event, start what can be started ----------------------------------- */

/* reads that were out when the connection ended have told why; else the connection tells */
static void fail_if_unconnected(rpma_uv_transfer_t *t)
{
	if (t->conn == NULL && t->next < t->chunk_count && t->stat.reads_in_flight == 0)
		fail(t, RPMA_UV_STAGE_READ, chunk_start(t, t->next), t->conn_status, 0);
}

/* what is due was started before this is asked: the last sync, too */
static bool is_done(const rpma_uv_transfer_t *t)
{
	if (!is_quiet(t))
		return false;
	return t->state == DRAINING || is_all_written(t);
}

static void pump(rpma_uv_transfer_t *t)
{
	assert(t->state != IDLE);
	if (t->state == ENDING)
		return;
	fail_if_unconnected(t);
	reads_start(t);
	while (!STAILQ_EMPTY(&t->filled) && t->stat.writes_in_flight < t->opts.writes)
		write_start(t);
	if (is_sync_due(t))
		sync_start(t);
	transfer_check(t);
	if (is_done(t))
		end(t);
}

static void conn_ended(rpma_uv_future_t *f, int status)
{
	rpma_uv_transfer_t *t = f->data;

	t->is_watching = false;
	t->conn = NULL;
	t->conn_status = status < 0 ? status : UV_ECANCELED;
	if (t->state == ENDING)
		leave_if_unused(t);
	else
		pump(t);
}

/* ---- pull ------------------------------------------------------------------------------------ */

static void pull_describe(const rpma_uv_future_t *f, char *text, size_t size)
{
	static const char *const stages[] = {
		[RPMA_UV_STAGE_NONE] = "stopped",
		[RPMA_UV_STAGE_READ] = "read",
		[RPMA_UV_STAGE_CHUNK] = "chunk refused",
		[RPMA_UV_STAGE_WRITE] = "write",
		[RPMA_UV_STAGE_SYNC] = "sync",
	};
	const struct failure *failure = rpma_uv__room(struct failure, rpma_uv__op_of(f));

	if (!failure->is_told)
		return;
	snprintf(text, size, ": %s at offset %llu, %llu bytes are %s", stages[failure->stage],
		(unsigned long long)failure->offset, (unsigned long long)failure->watermark,
		failure->is_durable ? "durable" : "written");
}

static void cancel(rpma_uv_transfer_t *t, unsigned how)
{
	fail(t, RPMA_UV_STAGE_NONE, chunk_start(t, t->prefix), rpma_uv__cancel_status(how), 0);
	/* draining does not wait for the peer then; writes are as good as their file's */
	for (unsigned i = 0; i < rpma_uv__pool_count(t->pool) && (how & RPMA_UV_FORCE); i++) {
		if (t->slots[i].is_reading)
			(void)rpma_uv__future_cancel(&t->slots[i].op.future, how);
	}
	pump(t);
}

static int pull_cancel(rpma_uv_future_t *f, unsigned how)
{
	cancel(rpma_uv__room(struct failure, rpma_uv__op_of(f))->transfer, how);
	return 0;
}

static const struct rpma_uv__kind pull_kind = {
	.name = "pull",
	.cancel = pull_cancel,
	.describe = pull_describe,
};

static int pull_check(const rpma_uv_transfer_t *t, const rpma_uv_conn_t *c, rpma_uv_remote_t src,
	uint64_t len, const rpma_uv_file_t *dst, int64_t off)
{
	size_t size = 0;
	int status;

	if (c == NULL || dst == NULL || src.mr == NULL || off < 0)
		return UV_EINVAL;
	(void)rpma_mr_remote_get_size(src.mr, &size);
	if (len > size || src.offset > size - len)
		return UV_EINVAL;
	if (len > (uint64_t)(INT64_MAX - off))
		return UV_EINVAL;
	if (rpma_uv__file_reactor(dst) != t->reactor || c->reactor != t->reactor)
		return UV_EINVAL;
	if (t->reactor->closing)
		return UV_ECANCELED;
	status = rpma_uv__conn_may_send(c);
	return status ? status : rpma_uv__file_status(dst);
}

/* cut the range into chunks; the port may carry less at once than a buffer holds */
static void range_init(rpma_uv_transfer_t *t, uint64_t len, int64_t off)
{
	size_t max = rpma_uv__conn_max_msg(t->conn);

	t->chunk = t->opts.chunk;
	if (max > 0 && max < t->chunk)
		t->chunk = max > PAGE ? max - max % PAGE : max;
	t->pad = t->chunk % PAGE == 0 ? (size_t)(off % PAGE) : 0;
	t->chunk_count = (len + t->pad + t->chunk - 1) / t->chunk;
	t->off = off;
	t->stat.total = len;
}

static void run_init(rpma_uv_transfer_t *t)
{
	t->stat = (rpma_uv_transfer_stat_t){ 0 };
	t->error = (rpma_uv_transfer_error_t){ 0 };
	t->next = t->prefix = 0;
	t->had_last_sync = false;
	memset(t->bits, 0, t->window / WORD * sizeof(t->bits[0]));
	STAILQ_INIT(&t->filled);
	STAILQ_INIT(&t->free);
	for (unsigned i = 0; i < rpma_uv__pool_count(t->pool); i++)
		STAILQ_INSERT_TAIL(&t->free, &t->slots[i], link);
}

rpma_uv_future_t *rpma_uv_pull(rpma_uv_transfer_t *t, rpma_uv_op_t *op, rpma_uv_conn_t *c,
	rpma_uv_remote_t src, uint64_t len, rpma_uv_file_t *dst, int64_t off)
{
	int status;

	if (t->state != IDLE)
		return rpma_uv__op_fail(t->reactor, op, &pull_kind, UV_EBUSY);
	run_init(t);
	status = pull_check(t, c, src, len, dst, off);
	t->error.status = status;
	if (status || len == 0)
		return rpma_uv__op_fail(t->reactor, op, &pull_kind, status);
	op = rpma_uv__op_begin(t->reactor, op, &pull_kind);
	if (op == NULL)
		return NULL;
	*rpma_uv__room(struct failure, op) = (struct failure){ .transfer = t };
	t->op = op;
	t->conn = c;
	t->src = src;
	t->file = dst;
	range_init(t, len, off);
	rpma_uv__file_hold(dst);
	TAILQ_INSERT_TAIL(&t->reactor->transfers, t, link);
	transfer_set_state(t, RUNNING);
	t->is_watching = true;
	rpma_uv_then(rpma_uv_conn_end(c, &t->conn_op), conn_ended, t);
	pump(t);
	return &op->future;
}

/* ---- new, delete, questions ------------------------------------------------------------------ */

static int opts_take(rpma_uv_transfer_opts_t *opts, const rpma_uv_transfer_opts_t *from,
	const rpma_uv_pool_t *pool)
{
	*opts = (rpma_uv_transfer_opts_t){ .size = sizeof(*opts) };
	if (from != NULL) {
		if (from->size < offsetof(rpma_uv_transfer_opts_t, u_reserved))
			return UV_EINVAL;
		memcpy(opts, from, from->size < sizeof(*opts) ? from->size : sizeof(*opts));
	}
	if (opts->chunk > rpma_uv__pool_chunk(pool) ||
		(unsigned)opts->durability > RPMA_UV_DURABILITY_FINAL)
		return UV_EINVAL;
	if (opts->chunk == 0)
		opts->chunk = rpma_uv__pool_chunk(pool);
	if (opts->depth == 0)
		opts->depth = DEPTH_DEFAULT;
	if (opts->writes == 0)
		opts->writes = rpma_uv__pool_count(pool);
	if (opts->group_bytes == 0)
		opts->group_bytes = GROUP_DEFAULT;
	return 0;
}

int rpma_uv_transfer_new(
	rpma_uv_pool_t *pool, const rpma_uv_transfer_opts_t *opts, rpma_uv_transfer_t **t_ptr)
{
	rpma_uv_transfer_t *t;
	unsigned count;
	int ret = UV_ENOMEM;

	if (pool == NULL || t_ptr == NULL)
		return UV_EINVAL;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return UV_ENOMEM;
	ret = opts_take(&t->opts, opts, pool);
	if (ret)
		goto err_free;
	ret = UV_ENOMEM;
	count = rpma_uv__pool_count(pool);
	t->window = (uint64_t)count * WINDOW_PER_BUFFER;
	t->slots = calloc(count, sizeof(t->slots[0]));
	t->bits = calloc(t->window / WORD, sizeof(t->bits[0]));
	if (t->slots == NULL || t->bits == NULL)
		goto err_arrays_free;
	for (unsigned i = 0; i < count; i++)
		t->slots[i].transfer = t;
	t->pool = pool;
	t->reactor = rpma_uv__pool_reactor(pool);
	t->waiter.got = waiter_got;
	rpma_uv__deadline_init(&t->progress, progress_expired);
	STAILQ_INIT(&t->filled);
	*t_ptr = t;
	return 0;

err_arrays_free:
	free(t->bits);
	free(t->slots);
err_free:
	free(t);
	return ret;
}

int rpma_uv_transfer_delete(rpma_uv_transfer_t **t_ptr)
{
	rpma_uv_transfer_t *t;

	if (t_ptr == NULL)
		return UV_EINVAL;
	t = *t_ptr;
	if (t == NULL)
		return 0;
	if (t->state != IDLE)
		return UV_EBUSY;
	free(t->bits);
	free(t->slots);
	free(t);
	*t_ptr = NULL;
	return 0;
}

void rpma_uv_transfer_stat(const rpma_uv_transfer_t *t, rpma_uv_transfer_stat_t *stat)
{
	*stat = t->stat;
}

void rpma_uv_transfer_error(const rpma_uv_transfer_t *t, rpma_uv_transfer_error_t *error)
{
	*error = t->error;
	error->watermark = t->stat.watermark;
}

void rpma_uv__transfer_cancel_all(struct rpma_uv__reactor *r)
{
	rpma_uv_transfer_t *t, *next;

	for (t = TAILQ_FIRST(&r->transfers); t != NULL; t = next) {
		next = TAILQ_NEXT(t, link);
		cancel(t, 0);
	}
}
