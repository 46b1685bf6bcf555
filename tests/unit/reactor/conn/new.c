/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* new.c - a connection in the state NEW, and what can be asked of one */

#include "rig.h"

/* NULL, no send queue, sizes beyond reason; outputs untouched, nothing left */
static void new__refused(void **state)
{
	rpma_uv_conn_t *conn = UNIT_UNTOUCHED;
	struct rpma_conn_cfg *cfg = rig_cfg(10, 10, 0);

	(void)state;
	assert_int_equal(rpma_uv_conn_new(NULL, rig.peer, NULL, &conn), UV_EINVAL);
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, NULL, NULL, &conn), UV_EINVAL);
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, rig.peer, NULL, NULL), UV_EINVAL);
	assert_int_equal(rpma_conn_cfg_set_sq_size(cfg, 0), 0);
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, rig.peer, cfg, &conn), UV_EINVAL);
	assert_int_equal(rpma_conn_cfg_set_sq_size(cfg, UINT32_MAX), 0);
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, rig.peer, cfg, &conn), UV_EINVAL);
	assert_int_equal(rpma_conn_cfg_set_sq_size(cfg, 10), 0);
	assert_int_equal(rpma_conn_cfg_set_rq_size(cfg, UINT32_MAX), 0);
	assert_int_equal(rpma_uv_conn_new(&rig.reactor, rig.peer, cfg, &conn), UV_EINVAL);
	assert_ptr_equal(conn, UNIT_UNTOUCHED);
	assert_int_equal(rig_stats().conns, 0);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

/* the queue pair is made as cfg says, which is copied; its completion queues are the reactor's */
static void new__configuration(void **state)
{
	struct rpma_conn_cfg *cfg = rig_cfg(12, 34, 777);
	const struct ibv_qp_init_attr_ex *attr;
	struct rig_conn c;

	(void)state;
	assert_int_equal(rpma_conn_cfg_set_cq_size(cfg, 1), 0);
	assert_int_equal(rpma_conn_cfg_set_rcq_size(cfg, 1), 0);
	assert_int_equal(rpma_conn_cfg_set_compl_channel(cfg, true), 0);
	rig_conn_new(&c, cfg);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	assert_int_equal(rig_stats().conns, 1);
	assert_int_equal(rig_await(rpma_uv_connect(c.conn, NULL, UNIT_ADDR, UNIT_PORT, NULL)), 0);
	c.id = double_last_id();
	attr = double_qp_attr(c.id->qp);
	assert_int_equal(attr->cap.max_send_wr, 12);
	assert_int_equal(attr->cap.max_recv_wr, 34);
	assert_ptr_equal(attr->send_cq, attr->recv_cq);
	assert_int_equal(attr->send_cq->cqe, 4096);
	assert_int_equal(double_timeout_ms(c.id), 777);
	assert_int_equal(double_live(DOUBLE_CQ), 1);
}

/* what the peer said, before and after; its address; its configuration */
static void new__questions(void **state)
{
	struct rpma_conn_private_data pd = { UNIT_UNTOUCHED, 1 };
	struct rpma_peer_cfg *pcfg = NULL;
	struct rig_conn c;

	(void)state;
	rig_conn_new(&c, NULL);
	assert_int_equal(rpma_uv_conn_private_data(NULL, &pd), UV_EINVAL);
	assert_int_equal(rpma_uv_conn_private_data(c.conn, NULL), UV_EINVAL);
	assert_int_equal(rpma_uv_conn_private_data(c.conn, &pd), 0);
	assert_null(pd.ptr);
	assert_int_equal(pd.len, 0);
	assert_string_equal(rpma_uv_conn_remote_addr(c.conn), "");
	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true), 0);
	assert_int_equal(rpma_uv_conn_apply_remote_peer_cfg(NULL, pcfg), UV_EINVAL);
	assert_int_equal(rpma_uv_conn_apply_remote_peer_cfg(c.conn, NULL), UV_EINVAL);
	assert_int_equal(rpma_uv_conn_apply_remote_peer_cfg(c.conn, pcfg), 0);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
}

/* the peer's address, numeric with its port, in both families */
static void new__remote_address(void **state)
{
	struct rig_conn c;

	(void)state;
	rig_conn_ready(&c, NULL);
	assert_string_equal(rpma_uv_conn_remote_addr(c.conn), "192.0.2.1:7204");
	rig_conn_new(&c, NULL);
	assert_int_equal(rig_await(rpma_uv_connect(c.conn, NULL, "2001:db8::1", "80", NULL)), 0);
	assert_string_equal(rpma_uv_conn_remote_addr(c.conn), "[2001:db8::1]:80");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(new__refused),
		RIG_TEST(new__configuration),
		RIG_TEST(new__questions),
		RIG_TEST(new__remote_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
