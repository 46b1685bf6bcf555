/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* get_fd.c - the endpoint's descriptor is readable while a request waits */

#include <fcntl.h>
#include <poll.h>

#include "unit.h"

static bool is_readable(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	return poll(&poller, 1, 0) == 1;
}

static void ep_get_fd__readable(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req = NULL;
	struct unit_ep u;
	int fd = -1;

	(void)state;
	unit_ep_listen(&u, peer);
	assert_int_equal(rpma_ep_get_fd(u.ep, &fd), 0);
	assert_int_equal(fd, u.listen_id->channel->fd);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_false(is_readable(fd));
	(void)double_push_request(u.listen_id, NULL, 0);
	assert_true(is_readable(fd));
	assert_int_equal(rpma_ep_next_conn_req(u.ep, NULL, &req), 0);
	assert_false(is_readable(fd));
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0); /* still the caller's choice */
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

static void ep_get_fd__null(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	int fd = UNIT_UNTOUCHED_INT;
	struct unit_ep u;

	(void)state;
	unit_ep_listen(&u, peer);
	assert_int_equal(rpma_ep_get_fd(NULL, &fd), RPMA_E_INVAL);
	assert_int_equal(rpma_ep_get_fd(u.ep, NULL), RPMA_E_INVAL);
	assert_int_equal(fd, UNIT_UNTOUCHED_INT);
	unit_ep_shutdown(&u);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(ep_get_fd__null), UNIT_TEST(ep_get_fd__readable))
