/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* get_rcq.c - the completion queue of a shared receive queue, which may be none */

#include "unit.h"

static void srq_get_rcq__own(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_srq *srq = unit_srq(peer, 3, 7);
	struct rpma_cq *rcq = NULL;
	int fd = -1;

	(void)state;
	assert_int_equal(rpma_srq_get_rcq(srq, &rcq), 0);
	assert_non_null(rcq);
	assert_int_equal(rpma_cq_get_fd(rcq, &fd), 0);
	assert_int_equal(fd, double_last_cq()->channel->fd);
	assert_int_equal(rpma_srq_delete(&srq), 0);
	unit_peer_delete(peer);
}

/* its channel is not shared: it is waited for by itself */
static void srq_get_rcq__waits(void **state)
{
	const struct ibv_wc wc = { .status = IBV_WC_SUCCESS, .wr_id = 7 };
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_srq *srq = unit_srq(peer, 3, 7);
	struct rpma_cq *rcq = NULL;
	struct ibv_wc got;

	(void)state;
	assert_int_equal(rpma_srq_get_rcq(srq, &rcq), 0);
	double_push_wc(double_last_cq(), &wc);
	assert_int_equal(rpma_cq_wait(rcq), 0);
	assert_int_equal(rpma_cq_get_wc(rcq, 1, &got, NULL), 0);
	assert_int_equal(got.wr_id, 7);
	assert_true(double_cq_is_armed(double_last_cq()));
	assert_int_equal(rpma_srq_delete(&srq), 0);
	unit_peer_delete(peer);
}

static void srq_get_rcq__none(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_srq *srq = unit_srq(peer, 3, 0);
	struct rpma_cq *rcq = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_srq_get_rcq(srq, &rcq), 0);
	assert_null(rcq);
	assert_int_equal(rpma_srq_delete(&srq), 0);
	unit_peer_delete(peer);
}

static void srq_get_rcq__invalid(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_srq *srq = unit_srq(peer, 3, 7);
	struct rpma_cq *rcq = UNIT_UNTOUCHED;

	(void)state;
	assert_int_equal(rpma_srq_get_rcq(NULL, &rcq), RPMA_E_INVAL);
	assert_int_equal(rpma_srq_get_rcq(srq, NULL), RPMA_E_INVAL);
	assert_ptr_equal(rcq, UNIT_UNTOUCHED);
	assert_int_equal(rpma_srq_delete(&srq), 0);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(srq_get_rcq__invalid), UNIT_TEST(srq_get_rcq__none),
	UNIT_TEST(srq_get_rcq__own), UNIT_TEST(srq_get_rcq__waits))
