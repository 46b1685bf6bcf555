/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * unit.h - what the unit tests share
 *
 * A test starts with a fresh double and ends, in its teardown, with double_assert_clean(): whatever
 * it made has to be gone. Log messages are formatted and kept, not printed.
 */

#ifndef RPMA_UNIT_H
#define RPMA_UNIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "double.h"
#include "librpma.h"

int unit_setup(void **state);
int unit_teardown(void **state);

#define UNIT_TEST(function) cmocka_unit_test_setup_teardown(function, unit_setup, unit_teardown)
#define UNIT_MAIN(...)                                             \
	int main(void)                                             \
	{                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ }; \
                                                                   \
		return cmocka_run_group_tests(tests, NULL, NULL);  \
	}

/* an errno that nothing here uses by itself: failures that a test orders carry it */
#define UNIT_ERRNO ENOTRECOVERABLE

/* an address that is never dereferenced, to see that an output stays untouched */
#define UNIT_UNTOUCHED ((void *)(uintptr_t)0xC0FFEE)

/* a value that is never produced, likewise */
#define UNIT_UNTOUCHED_INT 0x7e57

#define UNIT_ADDR "192.0.2.1"
#define UNIT_PORT "7204"

#define assert_errno(expected) assert_int_equal(errno, expected)

/* allocations of librpma */

void unit_alloc_fail(unsigned k); /* the k-th from now fails; 0: none */
unsigned unit_allocs(void); /* how many there were since the last unit_alloc_fail() */

/* log */

extern enum rpma_log_level unit_log_level; /* of the last message; RPMA_LOG_DISABLED: none yet */
extern char unit_log_text[];
unsigned unit_logged(
	enum rpma_log_level level); /* messages of a level since the start of the test */
void unit_log_forget(void);
void unit_logged_errors(unsigned count); /* that many, and nothing of another level */

/* objects */

struct rpma_peer *unit_peer_new(void);
void unit_peer_delete(struct rpma_peer *peer);

/* a request of our own, a listening endpoint's request */
struct rpma_conn_req *unit_req_active(struct rpma_peer *peer, const struct rpma_conn_cfg *cfg);

struct unit_ep {
	struct rpma_ep *ep;
	struct rdma_cm_id *listen_id;
	struct rdma_cm_id *id; /* of the last request */
};

void unit_ep_listen(struct unit_ep *u, struct rpma_peer *peer);
struct rpma_conn_req *unit_req_passive(struct unit_ep *u, const struct rpma_conn_cfg *cfg);
void unit_ep_shutdown(struct unit_ep *u);

/* an established connection of the active side */
struct unit_conn {
	struct rpma_peer *peer;
	struct rpma_conn *conn;
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
};

void unit_conn_new(struct unit_conn *u, const struct rpma_conn_cfg *cfg);
void unit_conn_new_on(struct unit_conn *u, struct rpma_peer *peer, const struct rpma_conn_cfg *cfg);
void unit_conn_delete(struct unit_conn *u); /* and the peer */

/* a configuration with a receive completion queue of rcq_size, and a shared channel or not */
struct rpma_conn_cfg *unit_cfg(uint32_t rcq_size, bool is_shared);

/* a shared receive queue of rq_size, with a completion queue of rcq_size */
struct rpma_srq *unit_srq(struct rpma_peer *peer, uint32_t rq_size, uint32_t rcq_size);

/* a region in both forms: rpma_mr_dereg and rpma_mr_remote_delete are the test's to call */
struct rpma_mr_local *unit_mr(struct rpma_peer *peer, void *ptr, size_t size, int usage);
struct rpma_mr_remote *unit_mr_remote(const struct rpma_mr_local *mr);

void unit_nonblock(int fd);

/* a signal in 20 ms, whose handler does nothing and does not restart calls */
void unit_signal_soon(void);

/*
 * what the next event is taken for when there is none to take, errno by errno; expect() takes it and
 * compares the result, and how many errors were logged
 */
void unit_no_event_by_errno(void (*expect)(int expected, unsigned errors));

#endif /* RPMA_UNIT_H */
