/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* send_with_imm.c - rpma_send_with_imm posts one message with a number, or nothing at all */

#include <arpa/inet.h>

#include "regions.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS
#define IMM    0x11223344

static int send_any(const struct rpma_mr_local *src, size_t offset, size_t len)
{
	return rpma_send_with_imm(u.conn, src, offset, len, ALWAYS, IMM, &u);
}

static void send_with_imm__posts(void **state)
{
	const struct double_wr *wr;

	(void)state;
	assert_int_equal(send_any(mr, 8, 16), 0);
	wr = double_last_send(u.qp);
	assert_int_equal(wr->opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(wr->wr_id, (uintptr_t)&u);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sge[0].addr, (uintptr_t)memory + 8);
	assert_int_equal(wr->sge[0].length, 16);
	assert_int_equal(wr->sge[0].lkey, double_last_mr()->lkey);
	assert_int_equal(double_send_doorbells(u.qp), 1);
}

/* the number is in network byte order on its way */
static void send_with_imm__byte_order(void **state)
{
	static const uint8_t bytes[] = { 0x11, 0x22, 0x33, 0x44 };

	(void)state;
	assert_int_equal(send_any(mr, 0, 8), 0);
	assert_memory_equal(&double_last_send(u.qp)->imm, bytes, 4);
	assert_int_equal(rpma_send_with_imm(u.conn, mr, 0, 8, ALWAYS, 0, NULL), 0);
	assert_int_equal(double_last_send(u.qp)->imm, 0);
	assert_int_equal(rpma_send_with_imm(u.conn, mr, 0, 8, ALWAYS, UINT32_MAX, NULL), 0);
	assert_int_equal(double_last_send(u.qp)->imm, UINT32_MAX);
}

/* the peer's completion brings it */
static void send_with_imm__arrives(void **state)
{
	struct rpma_cq *cq = NULL;
	struct unit_conn peer;
	struct ibv_wc wc;

	(void)state;
	unit_conn_new(&peer, NULL);
	double_qp_pair(u.qp, peer.qp);
	assert_int_equal(rpma_recv(peer.conn, mr, 32, 8, &peer), 0);
	memcpy(memory, "message", 8);
	assert_int_equal(send_any(mr, 0, 8), 0);
	assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_SUCCESS), 1);

	assert_int_equal(rpma_conn_get_cq(peer.conn, &cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
	assert_int_equal(ntohl(wc.imm_data), IMM);
	assert_int_equal(wc.byte_len, 8);
	assert_string_equal(memory + 32, "message");
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(wc.wr_id, (uintptr_t)&u);
	unit_conn_delete(&peer);
}

/* a NULL region and two zeros: the number alone */
static void send_with_imm__zero_bytes(void **state)
{
	(void)state;
	assert_int_equal(send_any(NULL, 0, 0), 0);
	assert_int_equal(double_last_send(u.qp)->opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(double_last_send(u.qp)->num_sge, 0);
	assert_int_equal(double_last_send(u.qp)->imm, htonl(IMM));
}

static void send_with_imm__zero_bytes_with_a_number(void **state)
{
	(void)state;
	assert_int_equal(send_any(NULL, 1, 0), RPMA_E_INVAL);
	assert_int_equal(send_any(NULL, 0, 1), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

static void send_with_imm__null_conn(void **state)
{
	(void)state;
	assert_int_equal(rpma_send_with_imm(NULL, mr, 0, 8, ALWAYS, IMM, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_send_with_imm(NULL, NULL, 0, 0, ALWAYS, IMM, NULL), RPMA_E_INVAL);
}

static void send_with_imm__no_flags(void **state)
{
	(void)state;
	assert_int_equal(rpma_send_with_imm(u.conn, mr, 0, 8, 0, IMM, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_send_with_imm(u.conn, NULL, 0, 0, 0, IMM, NULL), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

static void send_with_imm__flags(void **state)
{
	int flags;

	(void)state;
	for (flags = 1; flags <= 4; flags++) {
		assert_int_equal(rpma_send_with_imm(u.conn, mr, 0, 8, flags, IMM, NULL), 0);
		assert_int_equal(
			double_last_send(u.qp)->send_flags, flags & 2 ? IBV_SEND_SIGNALED : 0);
	}
}

static void send_with_imm__outside(void **state)
{
	(void)state;
	assert_int_equal(send_any(mr, 1, REGION_SIZE), RPMA_E_INVAL);
	assert_int_equal(send_any(mr, SIZE_MAX, 2), RPMA_E_INVAL);
	assert_int_equal(send_any(mr, 0, ((size_t)1 << 32) + 5), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

static void send_with_imm__device_refuses(void **state)
{
	int i;

	(void)state;
	double_fail("ibv_post_send", 1, UNIT_ERRNO);
	assert_int_equal(send_any(mr, 0, 8), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	for (i = 0; i < 10; i++)
		assert_int_equal(send_any(mr, 0, 8), 0);
	assert_int_equal(send_any(mr, 0, 8), RPMA_E_PROVIDER); /* full */
	assert_errno(ENOMEM);
}

UNIT_MAIN(REGIONS_TEST(send_with_imm__arrives), REGIONS_TEST(send_with_imm__byte_order),
	REGIONS_TEST(send_with_imm__device_refuses), REGIONS_TEST(send_with_imm__flags),
	REGIONS_TEST(send_with_imm__no_flags), REGIONS_TEST(send_with_imm__null_conn),
	REGIONS_TEST(send_with_imm__outside), REGIONS_TEST(send_with_imm__posts),
	REGIONS_TEST(send_with_imm__zero_bytes),
	REGIONS_TEST(send_with_imm__zero_bytes_with_a_number))
