/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* no_event.c - an endpoint at which nothing waits says so, and logs nothing */

#include "unit.h"

static struct rpma_peer *peer;
static struct unit_ep u;

static int setup(void **state)
{
	(void)unit_setup(state);
	peer = unit_peer_new();
	unit_ep_listen(&u, peer);
	unit_log_forget();
	return 0;
}

static int teardown(void **state)
{
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
	return unit_teardown(state);
}

static void expect(int expected, unsigned errors)
{
	struct rpma_conn_req *req = UNIT_UNTOUCHED;

	unit_log_forget();
	assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, &req), expected);
	assert_ptr_equal(req, UNIT_UNTOUCHED);
	unit_logged_errors(errors);
}

static void no_event__non_blocking(void **state)
{
	struct rpma_conn_req *req;
	int fd = -1;

	(void)state;
	assert_int_equal(rpma_ep_get_fd(u.ep, &fd), 0);
	unit_nonblock(fd);
	expect(RPMA_E_NO_EVENT, 0);
	req = unit_req_passive(&u, NULL);
	expect(RPMA_E_NO_EVENT, 0);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
}

/* a signal handler ends the wait */
static void no_event__signal(void **state)
{
	(void)state;
	unit_signal_soon();
	expect(RPMA_E_NO_EVENT, 0);
}

static void no_event__by_errno(void **state)
{
	(void)state;
	unit_no_event_by_errno(expect);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

UNIT_MAIN(TEST(no_event__by_errno), TEST(no_event__non_blocking), TEST(no_event__signal))
