/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* inline_data.c - a device without inline data is used without */

#include "unit.h"

static void inline__device_has_none(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_conn_req *req;

	(void)state;
	double_device.max_inline = 7;
	req = unit_req_active(peer, NULL);
	assert_int_equal(double_qp_attr(double_last_id()->qp)->cap.max_inline_data, 0);
	assert_int_equal(double_calls("rdma_create_qp_ex"), 2);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 0);
	assert_int_equal(rpma_conn_req_delete(&req), 0);
	unit_peer_delete(peer);
}

static void expect_failure(struct rpma_peer *peer, int err, unsigned calls)
{
	struct rpma_conn_req *req = UNIT_UNTOUCHED;

	unit_log_forget();
	double_log_clear();
	double_fail_always("rdma_create_qp_ex", err);
	assert_int_equal(
		rpma_conn_req_new(peer, UNIT_ADDR, UNIT_PORT, NULL, &req), RPMA_E_PROVIDER);
	assert_errno(err);
	assert_ptr_equal(req, UNIT_UNTOUCHED);
	assert_int_equal(double_calls("rdma_create_qp_ex"), calls);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

/* tried only when a bad value was the reason, and logged once when that is no help */
static void inline__no_help(void **state)
{
	struct rpma_peer *peer = unit_peer_new();

	(void)state;
	expect_failure(peer, EINVAL, 2);
	expect_failure(peer, ENOMEM, 1);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(inline__device_has_none), UNIT_TEST(inline__no_help))
