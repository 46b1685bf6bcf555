/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* flush.c - rpma_flush reads a little of the region, where it may */

#include "regions.h"

#define ALWAYS     RPMA_F_COMPLETION_ALWAYS
#define VISIBILITY RPMA_FLUSH_TYPE_VISIBILITY
#define PERSISTENT RPMA_FLUSH_TYPE_PERSISTENT

static int flush(size_t offset, size_t len, enum rpma_flush_type type)
{
	return rpma_flush(u.conn, remote, offset, len, type, ALWAYS, &u);
}

static void declare_direct_write(bool supported)
{
	struct rpma_peer_cfg *pcfg = NULL;

	assert_int_equal(rpma_peer_cfg_new(&pcfg), 0);
	assert_int_equal(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, supported), 0);
	assert_int_equal(rpma_conn_apply_remote_peer_cfg(u.conn, pcfg), 0);
	assert_int_equal(rpma_peer_cfg_delete(&pcfg), 0);
}

static void flush__posts(void **state)
{
	const struct double_wr *wr;

	(void)state;
	assert_int_equal(flush(16, 32, VISIBILITY), 0);
	wr = double_last_send(u.qp);
	assert_int_equal(wr->opcode, IBV_WR_RDMA_READ);
	assert_int_equal(wr->wr_id, (uintptr_t)&u);
	assert_int_equal(wr->send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sge[0].length, 8);
	assert_int_equal(wr->remote_addr, (uintptr_t)memory + 16);
	assert_int_equal(wr->rkey, double_last_mr()->rkey);
	assert_int_equal(rpma_flush(u.conn, remote, 0, 8, VISIBILITY,
				 RPMA_F_COMPLETION_ON_ERROR | RPMA_F_EMULATED, NULL),
		0);
	assert_int_equal(double_last_send(u.qp)->send_flags, 0);
}

static void flush__completes(void **state)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(flush(0, REGION_SIZE, VISIBILITY), 0);
	assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_SUCCESS), 1);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc.byte_len, 8);
	assert_int_equal(wc.wr_id, (uintptr_t)&u);
}

/* the last bytes of a region, and a region of less than is read: never beyond it */
static void flush__end_of_region(void **state)
{
	static const size_t sizes[] = { 1, 7, 8, 9 };
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;
	size_t i, offset;

	(void)state;
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct rpma_mr_local *small = unit_mr(u.peer, memory, sizes[i], REGION_USAGE);
		struct rpma_mr_remote *small_remote = unit_mr_remote(small);

		for (offset = 0; offset <= sizes[i]; offset++) {
			assert_int_equal(rpma_flush(u.conn, small_remote, offset, sizes[i] - offset,
						 VISIBILITY, ALWAYS, NULL),
				0);
			assert_int_equal(
				double_last_send(u.qp)->sge[0].length, sizes[i] < 8 ? sizes[i] : 8);
			/* the double refuses what is out of bounds */
			assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_SUCCESS), 1);
			assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
		}
		assert_int_equal(rpma_mr_remote_delete(&small_remote), 0);
		assert_int_equal(rpma_mr_dereg(&small), 0);
	}
}

static void flush__invalid(void **state)
{
	(void)state;
	assert_int_equal(rpma_flush(NULL, remote, 0, 8, VISIBILITY, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_flush(u.conn, NULL, 0, 8, VISIBILITY, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_flush(u.conn, remote, 0, 8, VISIBILITY, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(flush(0, 8, (enum rpma_flush_type)2), RPMA_E_INVAL);
	assert_int_equal(flush(0, REGION_SIZE + 1, VISIBILITY), RPMA_E_INVAL);
	assert_int_equal(flush(REGION_SIZE, 1, VISIBILITY), RPMA_E_INVAL);
	assert_int_equal(flush(SIZE_MAX, 1, VISIBILITY), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

/* to persistence only where the peer has declared that it gets there */
static void flush__direct_write(void **state)
{
	(void)state;
	assert_int_equal(flush(0, 8, PERSISTENT), RPMA_E_NOSUPP);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	declare_direct_write(true);
	assert_int_equal(flush(0, 8, PERSISTENT), 0);
	declare_direct_write(false);
	assert_int_equal(flush(0, 8, PERSISTENT), RPMA_E_NOSUPP);
	assert_int_equal(double_sends(u.qp), 1);
}

/* the region's usage has to name the type */
static void flush__usage(void **state)
{
	static const struct {
		int usage;
		enum rpma_flush_type type;
		int expected;
	} cases[] = { { RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, VISIBILITY, 0 },
		{ RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, PERSISTENT, RPMA_E_NOSUPP },
		{ RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, VISIBILITY, RPMA_E_NOSUPP },
		{ RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, PERSISTENT, 0 },
		{ RPMA_MR_USAGE_WRITE_DST, VISIBILITY, RPMA_E_NOSUPP } };
	size_t i;

	(void)state;
	declare_direct_write(true);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rpma_mr_local *other = unit_mr(u.peer, memory, 8, cases[i].usage);
		struct rpma_mr_remote *other_remote = unit_mr_remote(other);

		unit_log_forget();
		assert_int_equal(
			rpma_flush(u.conn, other_remote, 0, 8, cases[i].type, ALWAYS, NULL),
			cases[i].expected);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), cases[i].expected != 0);
		(void)double_complete_send(u.qp, 1, IBV_WC_SUCCESS);
		assert_int_equal(rpma_mr_remote_delete(&other_remote), 0);
		assert_int_equal(rpma_mr_dereg(&other), 0);
	}
	assert_int_equal(u.qp->state, IBV_QPS_RTS);
}

static void flush__device_refuses(void **state)
{
	(void)state;
	double_fail("ibv_post_send", 1, UNIT_ERRNO);
	assert_int_equal(flush(0, 8, VISIBILITY), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
}

UNIT_MAIN(REGIONS_TEST(flush__completes), REGIONS_TEST(flush__device_refuses),
	REGIONS_TEST(flush__direct_write), REGIONS_TEST(flush__end_of_region),
	REGIONS_TEST(flush__invalid), REGIONS_TEST(flush__posts), REGIONS_TEST(flush__usage))
