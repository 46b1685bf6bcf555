/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* read.c - rpma_read posts one READ of what it is told to, or nothing at all */

#include "regions.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS

static int read_any(struct rpma_mr_local *dst, size_t dst_offset, const struct rpma_mr_remote *src,
	size_t src_offset, size_t len)
{
	return rpma_read(u.conn, dst, dst_offset, src, src_offset, len, ALWAYS, &u);
}

static void read__posts(void **state)
{
	const struct double_wr *wr;

	(void)state;
	assert_int_equal(read_any(mr, 8, remote, 32, 16), 0);
	wr = double_last_send(u.qp);
	assert_non_null(wr);
	assert_int_equal(wr->opcode, IBV_WR_RDMA_READ);
	assert_int_equal(wr->wr_id, (uintptr_t)&u);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sge[0].addr, (uintptr_t)memory + 8);
	assert_int_equal(wr->sge[0].length, 16);
	assert_int_equal(wr->sge[0].lkey, double_last_mr()->lkey);
	assert_int_equal(wr->remote_addr, (uintptr_t)memory + 32);
	assert_int_equal(wr->rkey, double_last_mr()->rkey);
	assert_int_equal(double_sends(u.qp), 1);
	assert_int_equal(double_send_doorbells(u.qp), 1);
}

/* the bytes come, and the completion says so */
static void read__completes(void **state)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;

	(void)state;
	memcpy(memory + 32, "remote", 7);
	assert_int_equal(read_any(mr, 0, remote, 32, 7), 0);
	assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_SUCCESS), 1);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc.byte_len, 7);
	assert_int_equal(wc.wr_id, (uintptr_t)&u);
	assert_int_equal(wc.qp_num, u.qp->qp_num);
	assert_string_equal(memory, "remote");
}

/* two NULL regions and three zeros: a read of no bytes */
static void read__zero_bytes(void **state)
{
	const struct double_wr *wr;

	(void)state;
	assert_int_equal(read_any(NULL, 0, NULL, 0, 0), 0);
	wr = double_last_send(u.qp);
	assert_int_equal(wr->opcode, IBV_WR_RDMA_READ);
	assert_int_equal(wr->wr_id, (uintptr_t)&u);
	assert_int_equal(wr->num_sge, 0);
	assert_int_equal(wr->remote_addr, 0);
	assert_int_equal(wr->rkey, 0);
}

static void read__zero_bytes_with_a_number(void **state)
{
	(void)state;
	assert_int_equal(read_any(NULL, 1, NULL, 0, 0), RPMA_E_INVAL);
	assert_int_equal(read_any(NULL, 0, NULL, 1, 0), RPMA_E_INVAL);
	assert_int_equal(read_any(NULL, 0, NULL, 0, 1), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

/* no bytes of regions are posted as such, at their very end too */
static void read__zero_bytes_of_regions(void **state)
{
	(void)state;
	assert_int_equal(read_any(mr, REGION_SIZE, remote, REGION_SIZE, 0), 0);
	assert_int_equal(double_last_send(u.qp)->num_sge, 1);
	assert_int_equal(double_last_send(u.qp)->sge[0].length, 0);
}

static void read__null_conn(void **state)
{
	(void)state;
	assert_int_equal(rpma_read(NULL, mr, 0, remote, 0, 8, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_read(NULL, NULL, 0, NULL, 0, 0, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_read(NULL, NULL, 0, NULL, 0, 0, 0, NULL), RPMA_E_INVAL);
}

static void read__no_flags(void **state)
{
	(void)state;
	assert_int_equal(rpma_read(u.conn, mr, 0, remote, 0, 8, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_read(u.conn, NULL, 0, NULL, 0, 0, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

/* one region of the two, with numbers or without */
static void read__half_a_pair(void **state)
{
	(void)state;
	assert_int_equal(read_any(NULL, 0, remote, 0, 8), RPMA_E_INVAL);
	assert_int_equal(read_any(NULL, 0, remote, 0, 0), RPMA_E_INVAL);
	assert_int_equal(read_any(mr, 0, NULL, 0, 8), RPMA_E_INVAL);
	assert_int_equal(read_any(mr, 0, NULL, 0, 0), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

/* bit 1 asks for a completion of a success, whatever the other bits are */
static void read__flags(void **state)
{
	static const struct {
		int flags;
		unsigned send_flags;
	} cases[] = { { RPMA_F_COMPLETION_ON_ERROR, 0 },
		{ RPMA_F_COMPLETION_ALWAYS, IBV_SEND_SIGNALED }, { 2, IBV_SEND_SIGNALED },
		{ 4, 0 } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(rpma_read(u.conn, mr, 0, remote, 32, 8, cases[i].flags, NULL), 0);
		assert_int_equal(double_last_send(u.qp)->send_flags, cases[i].send_flags);
	}
}

/* a failure completes, signalled or not */
static void read__completion_on_error(void **state)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(
		rpma_read(u.conn, mr, 0, remote, 32, 8, RPMA_F_COMPLETION_ON_ERROR, NULL), 0);
	assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_SUCCESS), 1);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), RPMA_E_NO_COMPLETION);
	assert_int_equal(
		rpma_read(u.conn, mr, 0, remote, 32, 8, RPMA_F_COMPLETION_ON_ERROR, &u), 0);
	assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_REM_ACCESS_ERR), 1);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.wr_id, (uintptr_t)&u);
}

/* what reaches beyond either region, or above 32 bits, is not posted */
static void read__outside(void **state)
{
	(void)state;
	assert_int_equal(read_any(mr, 1, remote, 0, REGION_SIZE), RPMA_E_INVAL);
	assert_int_equal(read_any(mr, 0, remote, 1, REGION_SIZE), RPMA_E_INVAL);
	assert_int_equal(read_any(mr, SIZE_MAX, remote, 0, 1), RPMA_E_INVAL);
	assert_int_equal(read_any(mr, 0, remote, SIZE_MAX, 1), RPMA_E_INVAL);
	assert_int_equal(read_any(mr, 0, remote, 0, SIZE_MAX), RPMA_E_INVAL);
	assert_int_equal(read_any(mr, 0, remote, 0, ((size_t)1 << 32) + 5), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

static void read__device_refuses(void **state)
{
	(void)state;
	double_fail("ibv_post_send", 1, UNIT_ERRNO);
	assert_int_equal(read_any(mr, 0, remote, 32, 8), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	assert_int_equal(double_sends(u.qp), 0);
	assert_int_equal(read_any(mr, 0, remote, 32, 8), 0);
}

static void read__queue_full(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 10; i++)
		assert_int_equal(read_any(mr, 0, remote, 32, 8), 0);
	assert_int_equal(read_any(mr, 0, remote, 32, 8), RPMA_E_PROVIDER);
	assert_errno(ENOMEM);
	assert_int_equal(double_sends(u.qp), 10);
}

/* the remote region may go as soon as the call has returned */
static void read__remote_region_deleted(void **state)
{
	struct rpma_mr_remote *other = unit_mr_remote(mr);

	(void)state;
	memcpy(memory + 32, "remote", 7);
	assert_int_equal(read_any(mr, 0, other, 32, 7), 0);
	assert_int_equal(rpma_mr_remote_delete(&other), 0);
	assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_SUCCESS), 1);
	assert_string_equal(memory, "remote");
}

UNIT_MAIN(REGIONS_TEST(read__completes), REGIONS_TEST(read__completion_on_error),
	REGIONS_TEST(read__device_refuses), REGIONS_TEST(read__flags),
	REGIONS_TEST(read__half_a_pair), REGIONS_TEST(read__no_flags),
	REGIONS_TEST(read__null_conn), REGIONS_TEST(read__outside), REGIONS_TEST(read__posts),
	REGIONS_TEST(read__queue_full), REGIONS_TEST(read__remote_region_deleted),
	REGIONS_TEST(read__zero_bytes), REGIONS_TEST(read__zero_bytes_of_regions),
	REGIONS_TEST(read__zero_bytes_with_a_number))
