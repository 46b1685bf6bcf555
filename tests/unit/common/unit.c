/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* unit.c - what the unit tests share */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "unit.h"

#define LOG_TEXT_SIZE  1024
#define SIGNAL_SOON_US 20000

enum rpma_log_level unit_log_level;
char unit_log_text[LOG_TEXT_SIZE];

static unsigned logged[RPMA_LOG_LEVEL_DEBUG + 1];

/*
 * the linker sends every malloc and calloc of the program here, those of the double excepted below
 */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static unsigned alloc_fail_at;
static unsigned alloc_count;

static bool alloc_fails(void)
{
	if (double_is_inside())
		return false;
	return __atomic_add_fetch(&alloc_count, 1, __ATOMIC_SEQ_CST) == alloc_fail_at;
}

void *__wrap_malloc(size_t size)
{
	void *ptr = alloc_fails() ? NULL : __real_malloc(size);

	/* what is not written before it is read shall be noticed */
	if (ptr)
		memset(ptr, 0xa5, size);
	return ptr;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return alloc_fails() ? NULL : __real_calloc(count, size);
}

void unit_alloc_fail(unsigned k)
{
	alloc_count = 0;
	alloc_fail_at = k;
}

unsigned unit_allocs(void)
{
	return alloc_count;
}

static void __attribute__((format(printf, 5, 6)))
log_keep(enum rpma_log_level level, const char *file_name, const int line_no,
	const char *function_name, const char *message_format, ...)
{
	va_list args;

	assert_non_null(file_name);
	assert_true(line_no > 0);
	assert_non_null(function_name);
	assert_true(message_format[strlen(message_format) - 1] == '\n');
	va_start(args, message_format);
	(void)vsnprintf(unit_log_text, sizeof(unit_log_text), message_format, args);
	va_end(args);
	unit_log_level = level;
	__atomic_add_fetch(&logged[level], 1, __ATOMIC_SEQ_CST);
	errno = EXFULL; /* librpma has to keep its own errno */
}

unsigned unit_logged(enum rpma_log_level level)
{
	return logged[level];
}

void unit_logged_errors(unsigned count)
{
	int level;

	for (level = RPMA_LOG_LEVEL_FATAL; level <= RPMA_LOG_LEVEL_DEBUG; level++)
		assert_int_equal(unit_logged((enum rpma_log_level)level),
			level == RPMA_LOG_LEVEL_ERROR ? count : 0);
}

void unit_log_forget(void)
{
	memset(logged, 0, sizeof(logged));
	unit_log_level = RPMA_LOG_DISABLED;
	unit_log_text[0] = '\0';
}

int unit_setup(void **state)
{
	(void)state;
	double_reset();
	unit_alloc_fail(0);
	unit_log_forget();
	assert_int_equal(rpma_log_set_function(log_keep), 0);
	assert_int_equal(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_DEBUG), 0);
	return 0;
}

int unit_teardown(void **state)
{
	(void)state;
	double_assert_clean();
	return 0;
}

struct rpma_peer *unit_peer_new(void)
{
	struct rpma_peer *peer = NULL;

	assert_int_equal(rpma_peer_new(double_ctx(), &peer), 0);
	return peer;
}

void unit_peer_delete(struct rpma_peer *peer)
{
	assert_int_equal(rpma_peer_delete(&peer), 0);
	assert_null(peer);
}

struct rpma_conn_req *unit_req_active(struct rpma_peer *peer, const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req = NULL;

	assert_int_equal(rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, cfg, &req), 0);
	return req;
}

void unit_ep_listen(struct unit_ep *u, struct rpma_peer *peer)
{
	u->ep = NULL;
	u->id = NULL;
	assert_int_equal(rpma_ep_listen(peer, UNIT_ADDR, UNIT_PORT, &u->ep), 0);
	u->listen_id = double_last_id();
}

struct rpma_conn_req *unit_req_passive(struct unit_ep *u, const struct rpma_conn_cfg *cfg)
{
	struct rpma_conn_req *req = NULL;

	u->id = double_push_request(u->listen_id, NULL, 0);
	assert_int_equal(rpma_ep_next_conn_req(u->ep, cfg, &req), 0);
	return req;
}

void unit_ep_shutdown(struct unit_ep *u)
{
	assert_int_equal(rpma_ep_shutdown(&u->ep), 0);
}

void unit_conn_new(struct unit_conn *u, const struct rpma_conn_cfg *cfg)
{
	unit_conn_new_on(u, unit_peer_new(), cfg);
}

void unit_conn_new_on(struct unit_conn *u, struct rpma_peer *peer, const struct rpma_conn_cfg *cfg)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct rpma_conn_req *req;

	u->peer = peer;
	req = unit_req_active(u->peer, cfg);
	u->id = double_last_id();
	u->qp = u->id->qp;
	assert_int_equal(rpma_conn_req_connect(&req, NULL, &u->conn), 0);
	double_push_cm(u->id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	assert_int_equal(rpma_conn_next_event(u->conn, &event), 0);
	assert_int_equal(event, RPMA_CONN_ESTABLISHED);
	unit_log_forget();
	double_log_clear();
}

void unit_conn_delete(struct unit_conn *u)
{
	assert_int_equal(rpma_conn_delete(&u->conn), 0);
	unit_peer_delete(u->peer);
}

struct rpma_conn_cfg *unit_cfg(uint32_t rcq_size, bool is_shared)
{
	struct rpma_conn_cfg *cfg = NULL;

	assert_int_equal(rpma_conn_cfg_new(&cfg), 0);
	assert_int_equal(rpma_conn_cfg_set_rcq_size(cfg, rcq_size), 0);
	assert_int_equal(rpma_conn_cfg_set_compl_channel(cfg, is_shared), 0);
	return cfg;
}

struct rpma_srq *unit_srq(struct rpma_peer *peer, uint32_t rq_size, uint32_t rcq_size)
{
	struct rpma_srq_cfg *cfg = NULL;
	struct rpma_srq *srq = NULL;

	assert_int_equal(rpma_srq_cfg_new(&cfg), 0);
	assert_int_equal(rpma_srq_cfg_set_rq_size(cfg, rq_size), 0);
	assert_int_equal(rpma_srq_cfg_set_rcq_size(cfg, rcq_size), 0);
	assert_int_equal(rpma_srq_new(peer, cfg, &srq), 0);
	assert_int_equal(rpma_srq_cfg_delete(&cfg), 0);
	return srq;
}

struct rpma_mr_local *unit_mr(struct rpma_peer *peer, void *ptr, size_t size, int usage)
{
	struct rpma_mr_local *mr = NULL;

	assert_int_equal(rpma_mr_reg(peer, ptr, size, usage, &mr), 0);
	return mr;
}

struct rpma_mr_remote *unit_mr_remote(const struct rpma_mr_local *mr)
{
	struct rpma_mr_remote *remote = NULL;
	uint8_t desc[32];
	size_t size = 0;

	assert_int_equal(rpma_mr_get_descriptor_size(mr, &size), 0);
	assert_int_equal(rpma_mr_get_descriptor(mr, desc), 0);
	assert_int_equal(rpma_mr_remote_from_descriptor(desc, size, &remote), 0);
	return remote;
}

void unit_nonblock(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static void on_signal(int number)
{
	(void)number;
}

void unit_signal_soon(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	const struct itimerval soon = { .it_value = { .tv_usec = SIGNAL_SOON_US } };

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
}

void unit_no_event_by_errno(void (*expect)(int expected, unsigned errors))
{
	static const int silent[] = { ENODATA, EAGAIN, EWOULDBLOCK, EINTR };
	size_t i;

	for (i = 0; i < sizeof(silent) / sizeof(silent[0]); i++) {
		double_fail("rdma_get_cm_event", 1, silent[i]);
		expect(RPMA_E_NO_EVENT, 0);
	}
	double_fail("rdma_get_cm_event", 1, UNIT_ERRNO);
	expect(RPMA_E_PROVIDER, 1);
	assert_errno(UNIT_ERRNO);
}
