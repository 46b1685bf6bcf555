/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* device.c - native operations are asked for where the device has them, and only there */

#include "native.h"

static const struct ibv_qp_init_attr_ex *attr(void)
{
	return double_qp_attr(u.qp);
}

static void device__has_them(void **state)
{
	(void)state;
	assert_int_equal(attr()->comp_mask, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	/* and what may stand in one list with them */
	assert_int_equal(attr()->send_ops_flags,
		(uint64_t)(IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE |
			   IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE |
			   IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
			   IBV_QP_EX_WITH_SEND_WITH_IMM));
}

/* then a plain queue pair, which providers without extended ones can make */
static void device__has_none(void **state)
{
	struct unit_conn plain;

	(void)state;
	double_device.has_native = false;
	unit_conn_new(&plain, NULL);
	assert_int_equal(double_qp_attr(plain.qp)->comp_mask, IBV_QP_INIT_ATTR_PD);
	assert_int_equal(
		rpma_flush(plain.conn, remote, 0, 8, RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS, NULL), 0);
	assert_int_equal(double_last_send(plain.qp)->opcode, IBV_WR_RDMA_READ);
	(void)double_flush(plain.qp);
	unit_conn_delete(&plain);
}

static void device__cannot_be_queried(void **state)
{
	struct rpma_peer *peer = UNIT_UNTOUCHED;

	(void)state;
	double_fail("ibv_query_device_ex", 1, UNIT_ERRNO);
	assert_int_equal(rpma_peer_new(double_ctx(), &peer), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_ptr_equal(peer, UNIT_UNTOUCHED);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

/* the provider has the operations, but no extended queue pair */
static void device__refuses_extended_queue_pair(void **state)
{
	struct unit_conn plain;

	(void)state;
	double_fail("rdma_create_qp_ex", 1, EOPNOTSUPP);
	unit_conn_new(&plain, NULL);
	assert_int_equal(double_qp_attr(plain.qp)->comp_mask, IBV_QP_INIT_ATTR_PD);
	assert_int_equal(double_qp_attr(plain.qp)->cap.max_inline_data, 8);
	unit_conn_delete(&plain);
}

/* told by the environment: regions still take native flushes, connections start none */
static void device__told_not_to(void **state)
{
	struct unit_conn plain;
	struct rpma_mr_local *other;

	(void)state;
	assert_int_equal(setenv("RPMA_NATIVE", "0", 1), 0);
	unit_conn_new(&plain, NULL);
	assert_int_equal(double_qp_attr(plain.qp)->comp_mask, IBV_QP_INIT_ATTR_PD);
	other = unit_mr(plain.peer, memory, 8, RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	assert_int_equal(double_last_access(), IBV_ACCESS_REMOTE_READ | IBV_ACCESS_FLUSH_GLOBAL);
	assert_int_equal(rpma_mr_dereg(&other), 0);
	unit_conn_delete(&plain);

	assert_int_equal(setenv("RPMA_NATIVE", "1", 1), 0);
	unit_conn_new(&plain, NULL);
	assert_true(double_qp_attr(plain.qp)->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	unit_conn_delete(&plain);
}

UNIT_MAIN(NATIVE_TEST(device__cannot_be_queried), NATIVE_TEST(device__has_none),
	NATIVE_TEST(device__has_them), NATIVE_TEST(device__refuses_extended_queue_pair),
	NATIVE_TEST(device__told_not_to))
