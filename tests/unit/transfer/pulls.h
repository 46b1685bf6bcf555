/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pulls.h - transfers from a connection that the test plays
 *
 * READs deliver a pattern that tells its offset. They complete in each turn, in order or, with a
 * seed, some of them in any order; or they are held until the test completes them. At the end of
 * each test every buffer must be back in the pool.
 */

#ifndef RPMA_TEST_PULLS_H
#define RPMA_TEST_PULLS_H

#include <fcntl.h>
#include <sys/uio.h>

#include "reactor/conn.h"
#include "ring_double.h"
#include "turn.h"
#include "unit.h"

#ifndef FILE_MAX
#define FILE_MAX ((size_t)4 << 20)
#endif
#define SOURCE_MAX ((uint64_t)1 << 40)
#define READS_MAX  256
#define CHUNK      ((size_t)4096)
#define BUFFERS    8

struct pulled {
	rpma_uv_op_t *op;
	rpma_uv_local_t dst;
	uint64_t offset;
	size_t len;
};

static struct turn turn;
static rpma_uv_op_t made_op; /* of what the tests need: the reactor has made no room then */
static struct rpma_peer *peer;
static rpma_uv_pool_t *pool;
static rpma_uv_transfer_t *transfer;
static rpma_uv_file_t *file;
static rpma_uv_conn_t conn;
static struct rpma_mr_remote *remote;

/* the connection */
static struct {
	unsigned depth;
	size_t max_msg;
	int may_send;
	bool hold;
	unsigned seed;
	unsigned fail_at; /* the k-th READ from now fails; 0: none */
	int fail_status;
	uint32_t fail_detail;
	struct pulled reads[READS_MAX];
	unsigned pending, peak, started;
	uint64_t bytes;
	rpma_uv_future_t *ends[2]; /* who waits for its end */
	uv_idle_t idle;
	bool is_idle_active;
	unsigned forced; /* reads that were cancelled so */
} wire;

/* the pull under test */
static rpma_uv_op_t pull_op;
static unsigned pull_done;
static int pull_status;

static unsigned roll(unsigned *seed, unsigned n)
{
	return (unsigned)rand_r(seed) % n;
}

static void wire_complete(unsigned i, int status, uint32_t detail)
{
	struct pulled read = wire.reads[i];
	char *base;
	void *ptr;

	assert_true(i < wire.pending);
	memmove(&wire.reads[i], &wire.reads[i + 1], (wire.pending - i - 1) * sizeof(wire.reads[0]));
	wire.pending--;
	if (status == 0) {
		assert_int_equal(rpma_mr_get_ptr(read.dst.mr, &ptr), 0);
		base = (char *)ptr + read.dst.offset;
		turn_pattern(base, read.len, read.offset);
		wire.bytes += read.len;
	}
	rpma_uv__future_finish(&read.op->future, status, (int64_t)read.len, detail);
}

static void wire_idle(uv_idle_t *idle)
{
	unsigned n = wire.seed != 0 ? roll(&wire.seed, 6) : READS_MAX;

	while (!wire.hold && n-- > 0 && wire.pending > 0)
		wire_complete(wire.seed != 0 ? roll(&wire.seed, wire.pending) : 0, 0, 0);
	if (wire.hold || wire.pending == 0)
		uv_idle_stop(idle);
}

static inline void wire_go(void)
{
	wire.hold = false;
	uv_idle_start(&wire.idle, wire_idle);
}

/* a read cannot be recalled; by force all end, and the connection with them */
static int wire_read_cancel(rpma_uv_future_t *f, unsigned how)
{
	assert_true(rpma_uv__future_is_pending(f));
	if (!(how & RPMA_UV_FORCE))
		return UV_EBUSY;
	wire.forced++;
	for (unsigned i = wire.pending; i-- > 0;) {
		if (&wire.reads[i].op->future == f)
			wire_complete(i, UV_ECANCELED, 0);
	}
	wire.may_send = UV_ENOTCONN;
	return 0;
}

static const struct rpma_uv__kind wire_read_kind = { .name = "read", .cancel = wire_read_cancel };
static int wire_end_cancel(rpma_uv_future_t *f, unsigned how);
static const struct rpma_uv__kind wire_end_kind = {
	.name = "connection",
	.cancel = wire_end_cancel,
};

/* forget who waits for the end, and tell them */
static inline void wire_tell_end(unsigned i, int status)
{
	rpma_uv_future_t *f = wire.ends[i];

	wire.ends[i] = NULL;
	if (f != NULL)
		rpma_uv__future_finish(f, status, 0, 0);
}

/* the connection has left READY */
static inline void wire_end(int status)
{
	wire.may_send = UV_ENOTCONN;
	wire_tell_end(0, status);
	wire_tell_end(1, status);
}

static int wire_end_cancel(rpma_uv_future_t *f, unsigned how)
{
	unsigned i = wire.ends[0] == f ? 0 : 1;

	assert_int_equal(how, 0);
	assert_ptr_equal(f, wire.ends[i]);
	wire_tell_end(i, UV_ECANCELED);
	return 0;
}

rpma_uv_future_t *__wrap_rpma_uv_conn_end(rpma_uv_conn_t *c, rpma_uv_op_t *op);
rpma_uv_future_t *__wrap_rpma_uv_read(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t dst,
	rpma_uv_remote_t src, size_t len, unsigned flags);
int __wrap_rpma_uv__conn_may_send(const rpma_uv_conn_t *c);
unsigned __wrap_rpma_uv__conn_read_depth(const rpma_uv_conn_t *c);
size_t __wrap_rpma_uv__conn_max_msg(const rpma_uv_conn_t *c);

rpma_uv_future_t *__wrap_rpma_uv_conn_end(rpma_uv_conn_t *c, rpma_uv_op_t *op)
{
	assert_ptr_equal(c, &conn);
	op = rpma_uv__op_begin(turn.r, op, &wire_end_kind);
	wire.ends[wire.ends[0] != NULL] = &op->future;
	return &op->future;
}

rpma_uv_future_t *__wrap_rpma_uv_read(rpma_uv_conn_t *c, rpma_uv_op_t *op, rpma_uv_local_t dst,
	rpma_uv_remote_t src, size_t len, unsigned flags)
{
	assert_ptr_equal(c, &conn);
	assert_ptr_equal(src.mr, remote);
	assert_int_equal(flags, 0);
	assert_true(wire.max_msg == 0 || len <= wire.max_msg);
	op = rpma_uv__op_begin(turn.r, op, &wire_read_kind);
	wire.started++;
	if (wire.may_send != 0 || (wire.fail_at > 0 && --wire.fail_at == 0)) {
		rpma_uv__future_finish(&op->future,
			wire.may_send != 0 ? wire.may_send : wire.fail_status, 0, wire.fail_detail);
		return &op->future;
	}
	assert_true(wire.pending < READS_MAX);
	wire.reads[wire.pending++] =
		(struct pulled){ .op = op, .dst = dst, .offset = src.offset, .len = len };
	if (wire.pending > wire.peak)
		wire.peak = wire.pending;
	assert_true(wire.pending <= wire.depth);
	if (!wire.hold)
		uv_idle_start(&wire.idle, wire_idle);
	return &op->future;
}

int __wrap_rpma_uv__conn_may_send(const rpma_uv_conn_t *c)
{
	assert_ptr_equal(c, &conn);
	return wire.may_send;
}

unsigned __wrap_rpma_uv__conn_read_depth(const rpma_uv_conn_t *c)
{
	assert_ptr_equal(c, &conn);
	return wire.depth;
}

size_t __wrap_rpma_uv__conn_max_msg(const rpma_uv_conn_t *c)
{
	assert_ptr_equal(c, &conn);
	return wire.max_msg;
}

/* a region of the peer, of which nothing but the size is real */
static inline struct rpma_mr_remote *remote_new(uint64_t size)
{
	uint8_t desc[21] = { 0 };
	struct rpma_mr_remote *mr = NULL;

	memcpy(desc + 8, &size, sizeof(size));
	desc[20] = RPMA_MR_USAGE_READ_SRC;
	assert_int_equal(rpma_mr_remote_from_descriptor(desc, sizeof(desc), &mr), 0);
	return mr;
}

static int pulls_setup(void **state)
{
	const rpma_uv_pool_opts_t opts = { .size = sizeof(opts), .count = BUFFERS, .chunk = CHUNK };

	unit_setup(state);
	peer = unit_peer_new();
	ring_double_reset(FILE_MAX, 512);
	turn_open(&turn, NULL);
	memset(&wire, 0, sizeof(wire));
	memset(&conn, 0, sizeof(conn));
	conn.reactor = turn.r;
	wire.depth = 16;
	uv_idle_init(&turn.loop, &wire.idle);
	remote = remote_new(SOURCE_MAX);
	pool = NULL;
	transfer = NULL;
	file = NULL;
	assert_int_equal(
		turn_wait(rpma_uv_pool_new(&turn.reactor, &made_op, peer, &opts, &pool)), 0);
	return 0;
}

static void buffers_are_back(void)
{
	rpma_uv_buf_t *bufs[BUFFERS];

	for (int i = 0; i < BUFFERS; i++) {
		bufs[i] = rpma_uv_buf_get(pool);
		assert_non_null(bufs[i]);
	}
	for (int i = 0; i < BUFFERS; i++)
		rpma_uv_buf_put(bufs[i]);
}

static int pulls_teardown(void **state)
{
	buffers_are_back();
	assert_int_equal(wire.pending, 0);
	assert_null(wire.ends[0]);
	assert_null(wire.ends[1]);
	assert_int_equal(rpma_uv_transfer_delete(&transfer), 0);
	assert_null(transfer);
	uv_close((uv_handle_t *)&wire.idle, NULL);
	turn_close(&turn);
	assert_int_equal(ring_double_open_fds(), 0);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	unit_peer_delete(peer);
	return unit_teardown(state);
}

#define PULLS_TEST(function) cmocka_unit_test_setup_teardown(function, pulls_setup, pulls_teardown)

/* is_new: made by this opening, so that its directory has to be synced */
static inline void file_open(bool is_new)
{
	if (!is_new)
		ring_double_exists(0);
	assert_int_equal(
		turn_wait(rpma_uv_file_open(&turn.reactor, &made_op, "d/out",
			is_new ? O_CREAT | O_RDWR : O_RDWR, 0600, RPMA_UV_FILE_DIRECT, &file)),
		0);
	ring_double_log_clear();
}

static inline void transfer_make(rpma_uv_transfer_opts_t opts)
{
	opts.size = sizeof(opts);
	assert_int_equal(rpma_uv_transfer_new(pool, &opts, &transfer), 0);
}

static inline rpma_uv_transfer_stat_t stat_now(void)
{
	rpma_uv_transfer_stat_t stat;

	rpma_uv_transfer_stat(transfer, &stat);
	return stat;
}

static inline rpma_uv_transfer_error_t error_now(void)
{
	rpma_uv_transfer_error_t error;

	rpma_uv_transfer_error(transfer, &error);
	return error;
}

/* what must hold at any time, whatever happens: a power cut here would not make a liar of it */
static inline void check_promises(enum rpma_uv_durability durability)
{
	rpma_uv_transfer_stat_t stat = stat_now();

	assert_true(stat.watermark <= stat.written);
	assert_true(stat.written <= stat.read);
	assert_true(stat.read <= stat.total);
	if (durability == RPMA_UV_DURABILITY_NONE)
		return;
	assert_true(stat.watermark <= stat.durable);
	assert_true(stat.watermark <= ring_double_durable());
	if (stat.watermark > 0)
		assert_true(ring_double_has_name());
}

static inline void on_pulled(rpma_uv_future_t *f, int status)
{
	assert_ptr_equal(f, &pull_op.future);
	assert_int_equal(f->result, status < 0 ? 0 : (int64_t)stat_now().total);
	pull_done++;
	pull_status = status;
}

static inline void pull_start(uint64_t len)
{
	const rpma_uv_remote_t src = { remote, 0 };

	pull_done = 0;
	assert_non_null(rpma_uv_then(
		rpma_uv_pull(transfer, &pull_op, &conn, src, len, file, 0), on_pulled, NULL));
	assert_int_equal(pull_done, 0);
}

/* run turns until the pull is done, and check the promises in each */
static inline int pull_finish(enum rpma_uv_durability durability)
{
	for (unsigned turns = 0; !pull_done; turns++) {
		assert_true(turns < 1000000);
		uv_run(&turn.loop, UV_RUN_ONCE);
		check_promises(durability);
	}
	assert_int_equal(pull_done, 1);
	return pull_status;
}

static inline void settle(void)
{
	for (int i = 0; i < 10; i++)
		uv_run(&turn.loop, UV_RUN_NOWAIT);
}

#endif /* RPMA_TEST_PULLS_H */
