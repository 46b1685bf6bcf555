/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* rig.c - what the tests of the reactor share */

#include <dirent.h>
#include <stdio.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"

/* the most that a loop sleeps in reality before its test has failed */
#define SLEEP_MS 20000

#define START_S 1000000

struct rig rig;

static unsigned count;
static uint64_t now_ms;

/* ---- time: libuv's calls of these come here -------------------------------------------------- */

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int clock_gettime(clockid_t clock, struct timespec *time);
EXPORTED int epoll_ctl(int fd, int op, int watched, struct epoll_event *event);
EXPORTED int epoll_wait(int fd, struct epoll_event *events, int most, int timeout);
EXPORTED int epoll_pwait(
	int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask);

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock == CLOCK_REALTIME)
		return (int)syscall(SYS_clock_gettime, clock, time);
	time->tv_sec = START_S + (time_t)(now_ms / 1000);
	time->tv_nsec = (long)(now_ms % 1000) * 1000000;
	return 0;
}

int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask)
{
	int jump = timeout > 0 && !rig.is_patient ? timeout : 0;
	int n;

	if (timeout == 0)
		rig.polls++;
	else
		rig.sleeps++;
	if (jump > 0)
		timeout = 0;
	else if (timeout != 0)
		timeout = SLEEP_MS;
	/* it is another thread that a loop which does not sleep waits for: let it run */
	if (rig.is_patient && timeout == 0)
		sched_yield();
	n = (int)syscall(SYS_epoll_pwait, fd, events, most, timeout, mask, 8);
	if (n == 0 && timeout == SLEEP_MS) {
		fputs("rig: the loop sleeps for ever\n", stderr);
		abort();
	}
	/* nothing comes before the timer: then it is its time */
	if (n == 0)
		now_ms += (uint64_t)jump;
	return n;
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	return epoll_pwait(fd, events, most, timeout, NULL);
}

int epoll_ctl(int fd, int op, int watched, struct epoll_event *event)
{
	if (op == EPOLL_CTL_ADD && rig.watch_errno != 0) {
		errno = rig.watch_errno;
		rig.watch_errno = 0;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, fd, op, watched, event);
}

void rig_advance(uint64_t ms)
{
	now_ms += ms;
}

/* ---- running --------------------------------------------------------------------------------- */

unsigned rig_count(void)
{
	return ++count;
}

bool rig_turn(void)
{
	return uv_run(&rig.loop, UV_RUN_ONCE) != 0;
}

void rig_glance(void)
{
	(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
}

bool rig_is_asleep(void)
{
	struct epoll_event event;

	assert_true(uv_loop_alive(&rig.loop));
	/* what the loop would sleep for, and what would wake it at once */
	return uv_backend_timeout(&rig.loop) != 0 &&
	       syscall(SYS_epoll_pwait, uv_backend_fd(&rig.loop), &event, 1, 0, NULL, 8) == 0;
}

void rig_settle(void)
{
	bool was_kept = uv_has_ref((uv_handle_t *)&rig.anchor);
	unsigned turns = 0, asleep = 0;

	uv_ref((uv_handle_t *)&rig.anchor);
	/* twice: the loop prepares its sleep at the beginning of a turn */
	while (asleep < 2) {
		assert_true(turns++ < RIG_TURNS);
		rig_glance();
		asleep = rig_is_asleep() ? asleep + 1 : 0;
	}
	if (!was_kept)
		uv_unref((uv_handle_t *)&rig.anchor);
}

rpma_uv_reactor_stats_t rig_stats(void)
{
	rpma_uv_reactor_stats_t stats;

	rpma_uv_reactor_stats(&rig.reactor, &stats);
	return stats;
}

static struct verbs_context another_device = { .context.async_fd = -1 };

struct ibv_context *rig_another_device(void)
{
	if (another_device.context.async_fd >= 0)
		return &another_device.context;
	another_device = *verbs_get_ctx(double_ctx());
	another_device.context.async_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(another_device.context.async_fd >= 0);
	return &another_device.context;
}

static void another_device_forget(void)
{
	if (another_device.context.async_fd >= 0)
		close(another_device.context.async_fd);
	another_device.context.async_fd = -1;
}

/* ---- set-up and the end ---------------------------------------------------------------------- */

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

rpma_uv_reactor_opts_t rig_opts(void)
{
	return (rpma_uv_reactor_opts_t){ .size = sizeof(rpma_uv_reactor_opts_t), .spin_us = -1 };
}

static void reactor_closed(void *data)
{
	assert_ptr_equal(data, &rig);
	assert_false(rig.is_closed);
	rig.is_closed = true;
	rig.closed_at = rig_count();
}

void rig_close_begin(void)
{
	rig.is_closing = true;
	rpma_uv_reactor_close(&rig.reactor, reactor_closed, &rig);
}

void rig_close(void)
{
	if (!rig.is_closing)
		rig_close_begin();
	RIG_UNTIL(rig.is_closed);
	/* what libuv still does for nobody, such as looking up a name */
	rig.is_patient = true;
	while (rig_turn())
		;
	rig.is_patient = false;
}

static void never(uv_async_t *async)
{
	(void)async;
	fail();
}

static void reactor_init(const rpma_uv_reactor_opts_t *opts)
{
	rig.is_closing = false;
	rig.is_closed = false;
	rig.reactor.data = &rig;
	assert_int_equal(rpma_uv_reactor_init(&rig.loop, &rig.reactor, opts), 0);
	assert_ptr_equal(rig.reactor.data, &rig);
}

void rig_reactor(const rpma_uv_reactor_opts_t *opts)
{
	rig_close();
	reactor_init(opts);
}

static void warm_up(void)
{
	uv_loop_t loop;

	/* descriptors that the double and libuv keep for ever */
	(void)double_ctx();
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
}

int rig_setup(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	(void)unit_setup(state);
	warm_up();
	memset(&rig, 0, sizeof(rig));
	count = 0;
	rig.fds = count_fds();
	assert_int_equal(uv_loop_init(&rig.loop), 0);
	assert_int_equal(uv_async_init(&rig.loop, &rig.anchor, never), 0);
	uv_unref((uv_handle_t *)&rig.anchor);
	reactor_init(&opts);
	rig.peer = unit_peer_new();
	rig.mr = unit_mr(rig.peer, rig.mem, sizeof(rig.mem),
		RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC |
			RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV |
			RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	rig.remote = unit_mr_remote(rig.mr);
	for (size_t i = 0; i < sizeof(rig.mem); i++)
		rig.mem[i] = (uint8_t)(i * 7);
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
	double_log_clear();
	return 0;
}

int rig_teardown(void **state)
{
	unit_alloc_fail(0);
	double_fail_none();
	uv_unref((uv_handle_t *)&rig.anchor); /* a test that failed may have left it */
	if (!rig.is_closed)
		rig_close();
	uv_close((uv_handle_t *)&rig.anchor, NULL);
	(void)rig_turn();
	assert_int_equal(uv_loop_close(&rig.loop), 0);
	assert_int_equal(rpma_mr_remote_delete(&rig.remote), 0);
	assert_int_equal(rpma_mr_dereg(&rig.mr), 0);
	unit_peer_delete(rig.peer);
	(void)unit_teardown(state);
	another_device_forget();
	double_reset(); /* also what a destruction that was to fail has kept */
	assert_int_equal(count_fds(), rig.fds);
	return 0;
}

/* ---- futures --------------------------------------------------------------------------------- */

void rig_on_done(rpma_uv_future_t *f, int status)
{
	struct rig_done *done = f->data;

	assert_int_equal(f->status, status);
	done->times++;
	done->status = status;
	done->result = f->result;
	done->detail = f->detail;
	done->at = rig_count();
}

rpma_uv_future_t *rig_watch(rpma_uv_future_t *f, struct rig_done *done)
{
	memset(done, 0, sizeof(*done));
	assert_non_null(f);
	assert_ptr_equal(rpma_uv_then(f, rig_on_done, done), f);
	return f;
}

void rig_slab_is(unsigned objects)
{
	rpma_uv_future_t *f[1024];

	assert_true(objects <= 1024);
	assert_int_equal(rig_stats().slab_objects, objects);
	for (unsigned i = 0; i < objects; i++) {
		f[i] = rpma_uv_promise(&rig.reactor, NULL);
		for (unsigned k = 0; k < i; k++)
			assert_ptr_not_equal(f[i], f[k]);
	}
	assert_int_equal(rig_stats().slab_objects, objects);
	for (unsigned i = 0; i < objects; i++) {
		assert_int_equal(rpma_uv_resolve(f[i], 0, 0), 0);
		rpma_uv_release(f[i]);
	}
	rig_settle();
}

int rig_await(rpma_uv_future_t *f)
{
	struct rig_done done;

	rig_watch(f, &done);
	RIG_UNTIL(done.times > 0);
	assert_int_equal(done.times, 1);
	return done.status;
}

/* ---- connections ----------------------------------------------------------------------------- */

struct rpma_conn_cfg *rig_cfg(uint32_t sq_size, uint32_t rq_size, int timeout_ms)
{
	struct rpma_conn_cfg *cfg = NULL;

	assert_int_equal(rpma_conn_cfg_new(&cfg), 0);
	if (sq_size > 0)
		assert_int_equal(rpma_conn_cfg_set_sq_size(cfg, sq_size), 0);
	if (rq_size > 0)
		assert_int_equal(rpma_conn_cfg_set_rq_size(cfg, rq_size), 0);
	if (timeout_ms > 0)
		assert_int_equal(rpma_conn_cfg_set_timeout(cfg, timeout_ms), 0);
	return cfg;
}

void rig_conn_new(struct rig_conn *c, const struct rpma_conn_cfg *cfg)
{
	memset(c, 0, sizeof(*c));
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, rig.peer, cfg, &c->conn), 0);
}

void rig_conn_ready(struct rig_conn *c, const struct rpma_conn_cfg *cfg)
{
	rig_conn_new(c, cfg);
	assert_int_equal(rig_await(rpma_uv_connect(c->conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
	c->id = double_last_id();
	c->qp = c->id->qp;
	assert_non_null(c->qp);
}

void rig_direct_write(struct rig_conn *c, bool is_declared)
{
	struct rpma_peer_cfg *pcfg = NULL;

	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, is_declared), 0);
	assert_int_equal(rpma_uv_conn_apply_remote_peer_cfg(c->conn, pcfg), 0);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
}

void rig_conn_ready_sizes(struct rig_conn *c, uint32_t sq_size, uint32_t rq_size)
{
	struct rpma_conn_cfg *cfg = rig_cfg(sq_size, rq_size, 0);

	rig_conn_ready(c, cfg);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

void rig_cm(struct rig_conn *c, enum rdma_cm_event_type type, int status)
{
	double_push_cm(c->id, type, status, NULL, 0);
}

void rig_on_conn_closed(void *data)
{
	struct rig_conn *c = data;

	c->closed++;
	c->closed_at = rig_count();
}

void rig_conn_close(struct rig_conn *c)
{
	rpma_uv_conn_close(c->conn, rig_on_conn_closed, c);
}

void rig_conn_gone(struct rig_conn *c)
{
	rig_conn_close(c);
	RIG_UNTIL(c->closed > 0);
}

void rig_read(struct rig_conn *c, struct rig_op *op, size_t len)
{
	rig_watch(
		rpma_uv_read(c->conn, &op->op, rig_local(0), rig_remote(RIG_MEM_SIZE / 2), len, 0),
		&op->done);
}

void rig_write(struct rig_conn *c, struct rig_op *op, size_t len)
{
	rig_watch(
		rpma_uv_write(c->conn, &op->op, rig_remote(RIG_MEM_SIZE / 2), rig_local(0), len, 0),
		&op->done);
}

void rig_send(struct rig_conn *c, struct rig_op *op, size_t len)
{
	rig_watch(rpma_uv_send(c->conn, &op->op, rig_local(0), len, 0), &op->done);
}

void rig_recv(struct rig_conn *c, struct rig_op *op, size_t len)
{
	rig_watch(rpma_uv_recv(c->conn, &op->op, rig_local(0), len), &op->done);
}
