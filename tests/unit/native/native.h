/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* native.h - a connection over a device with native operations, and a region it may flush to */

#ifndef RPMA_UNIT_NATIVE_H
#define RPMA_UNIT_NATIVE_H

#include <stdlib.h>

#include "unit.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS
#define USAGE                                                            \
	(RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | \
		RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)

static struct unit_conn u;
static _Alignas(8) uint8_t memory[64];
static struct rpma_mr_local *mr;
static struct rpma_mr_remote *remote;

static inline void native_open(void)
{
	struct rpma_peer_cfg *pcfg = NULL;

	double_device.has_native = true;
	unit_conn_new(&u, NULL);
	mr = unit_mr(u.peer, memory, sizeof(memory), USAGE);
	remote = unit_mr_remote(mr);
	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true), 0);
	assert_int_equal(rpma_conn_apply_remote_peer_cfg(u.conn, pcfg), 0);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
	unit_log_forget();
	double_log_clear();
}

static inline void native_close(void)
{
	(void)double_flush(u.qp);
	assert_int_equal(rpma_mr_remote_delete(&remote), 0);
	assert_int_equal(rpma_mr_dereg(&mr), 0);
	unit_conn_delete(&u);
}

static inline int native_setup(void **state)
{
	(void)unit_setup(state);
	assert_int_equal(unsetenv("RPMA_NATIVE"), 0);
	native_open();
	return 0;
}

static inline int native_teardown(void **state)
{
	native_close();
	assert_int_equal(unsetenv("RPMA_NATIVE"), 0);
	return unit_teardown(state);
}

static inline void native_expect_wc(enum ibv_wc_opcode opcode)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;

	assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_SUCCESS), 1);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.wr_id, (uintptr_t)&u);
}

#define NATIVE_TEST(function) \
	cmocka_unit_test_setup_teardown(function, native_setup, native_teardown)

#endif /* RPMA_UNIT_NATIVE_H */
