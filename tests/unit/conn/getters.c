/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * getters.c - descriptors, numbers and queues of a connection; what the peer declares about itself
 */

#include <fcntl.h>
#include <poll.h>

#include "unit.h"

static void get__event_fd(void **state)
{
	struct pollfd poller = { .events = POLLIN };
	struct unit_conn u;
	int fd = UNIT_UNTOUCHED_INT;

	(void)state;
	unit_conn_new(&u, NULL);
	assert_int_equal(rpma_conn_get_event_fd(NULL, &fd), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_get_event_fd(u.conn, NULL), RPMA_E_INVAL);
	assert_int_equal(fd, UNIT_UNTOUCHED_INT);
	assert_int_equal(rpma_conn_get_event_fd(u.conn, &fd), 0);
	assert_int_equal(fd, u.id->channel->fd);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	poller.fd = fd;
	assert_int_equal(poll(&poller, 1, 0), 0);
	double_push_cm(u.id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	assert_int_equal(poll(&poller, 1, 0), 1);
	unit_conn_delete(&u);
}

static void get__qp_num(void **state)
{
	uint32_t qp_num = UNIT_UNTOUCHED_INT;
	struct unit_conn u;

	(void)state;
	unit_conn_new(&u, NULL);
	assert_int_equal(rpma_conn_get_qp_num(NULL, &qp_num), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_get_qp_num(u.conn, NULL), RPMA_E_INVAL);
	assert_int_equal(qp_num, UNIT_UNTOUCHED_INT);
	assert_int_equal(rpma_conn_get_qp_num(u.conn, &qp_num), 0);
	assert_int_equal(qp_num, u.qp->qp_num);
	unit_conn_delete(&u);
}

static void get__cq_and_rcq(void **state)
{
	struct rpma_cq *cq = UNIT_UNTOUCHED, *rcq = UNIT_UNTOUCHED;
	struct rpma_conn_cfg *cfg = unit_cfg(7, false);
	struct unit_conn u;
	int fd = -1;

	(void)state;
	unit_conn_new(&u, NULL);
	assert_int_equal(rpma_conn_get_cq(NULL, &cq), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_get_cq(u.conn, NULL), RPMA_E_INVAL);
	assert_ptr_equal(cq, UNIT_UNTOUCHED);
	assert_int_equal(rpma_conn_get_rcq(NULL, &rcq), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_get_rcq(u.conn, NULL), RPMA_E_INVAL);
	assert_ptr_equal(rcq, UNIT_UNTOUCHED);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_non_null(cq);
	assert_int_equal(rpma_conn_get_rcq(u.conn, &rcq), 0);
	assert_null(rcq); /* there is none, and that is no failure */
	unit_conn_delete(&u);

	unit_conn_new(&u, cfg);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_conn_get_rcq(u.conn, &rcq), 0);
	assert_int_equal(rpma_cq_get_fd(cq, &fd), 0);
	assert_int_equal(fd, u.qp->send_cq->channel->fd);
	assert_int_equal(rpma_cq_get_fd(rcq, &fd), 0);
	assert_int_equal(fd, u.qp->recv_cq->channel->fd);
	unit_conn_delete(&u);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

static void get__compl_fd(void **state)
{
	struct rpma_conn_cfg *cfg = unit_cfg(7, true);
	struct unit_conn u;
	int fd = UNIT_UNTOUCHED_INT;

	(void)state;
	unit_conn_new(&u, NULL);
	assert_int_equal(rpma_conn_get_compl_fd(NULL, &fd), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_get_compl_fd(u.conn, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_get_compl_fd(u.conn, &fd), RPMA_E_NOT_SHARED_CHNL);
	assert_int_equal(fd, UNIT_UNTOUCHED_INT);
	unit_conn_delete(&u);

	unit_conn_new(&u, cfg);
	assert_int_equal(rpma_conn_get_compl_fd(u.conn, &fd), 0);
	assert_int_equal(fd, u.qp->send_cq->channel->fd);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	unit_conn_delete(&u);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

static void apply_remote_peer_cfg__read_at_once(void **state)
{
	struct rpma_peer_cfg *pcfg = NULL;
	struct unit_conn u;

	(void)state;
	unit_conn_new(&u, NULL);
	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true), 0);
	assert_int_equal(rpma_conn_apply_remote_peer_cfg(NULL, pcfg), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_apply_remote_peer_cfg(u.conn, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_apply_remote_peer_cfg(u.conn, pcfg), 0);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
	unit_conn_delete(&u);
}

UNIT_MAIN(UNIT_TEST(apply_remote_peer_cfg__read_at_once), UNIT_TEST(get__compl_fd),
	UNIT_TEST(get__cq_and_rcq), UNIT_TEST(get__event_fd), UNIT_TEST(get__qp_num))
