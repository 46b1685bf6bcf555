/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* get_fd.c - a completion queue's descriptor is readable when a completion came */

#include <fcntl.h>
#include <poll.h>

#include "unit.h"

static void cq_get_fd__readable(void **state)
{
	const struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	struct pollfd poller = { .events = POLLIN };
	struct rpma_cq *cq = NULL;
	struct unit_conn u;

	(void)state;
	unit_conn_new(&u, NULL);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_cq_get_fd(cq, &poller.fd), 0);
	assert_int_equal(poller.fd, u.qp->send_cq->channel->fd);
	assert_int_equal(fcntl(poller.fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(poll(&poller, 1, 0), 0);
	double_push_wc(u.qp->send_cq, &wc); /* it was armed when it was made */
	assert_int_equal(poll(&poller, 1, 0), 1);
	assert_int_equal(rpma_cq_wait(cq), 0);
	assert_int_equal(poll(&poller, 1, 0), 0);
	unit_conn_delete(&u);
}

static void cq_get_fd__shared(void **state)
{
	struct rpma_conn_cfg *cfg = unit_cfg(7, true);
	struct rpma_cq *cq = NULL, *rcq = NULL;
	int fd = -1, rfd = -1, compl_fd = -1;
	struct unit_conn u;

	(void)state;
	unit_conn_new(&u, cfg);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_conn_get_rcq(u.conn, &rcq), 0);
	assert_int_equal(rpma_cq_get_fd(cq, &fd), 0);
	assert_int_equal(rpma_cq_get_fd(rcq, &rfd), 0);
	assert_int_equal(rpma_conn_get_compl_fd(u.conn, &compl_fd), 0);
	assert_int_equal(fd, compl_fd);
	assert_int_equal(rfd, compl_fd);
	unit_conn_delete(&u);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

static void cq_get_fd__null(void **state)
{
	struct rpma_cq *cq = NULL;
	struct unit_conn u;
	int fd = UNIT_UNTOUCHED_INT;

	(void)state;
	unit_conn_new(&u, NULL);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_cq_get_fd(NULL, &fd), RPMA_E_INVAL);
	assert_int_equal(rpma_cq_get_fd(cq, NULL), RPMA_E_INVAL);
	assert_int_equal(fd, UNIT_UNTOUCHED_INT);
	unit_conn_delete(&u);
}

UNIT_MAIN(UNIT_TEST(cq_get_fd__null), UNIT_TEST(cq_get_fd__readable), UNIT_TEST(cq_get_fd__shared))
