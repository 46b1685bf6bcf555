/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * write.c - rpma_write and rpma_write_with_imm post one WRITE of what they are told to, or nothing
 * at all
 */

#include <arpa/inet.h>

#include "regions.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS
#define IMM    0x11223344U

static int write_plain(struct rpma_mr_remote *dst, size_t dst_offset,
	const struct rpma_mr_local *src, size_t src_offset, size_t len)
{
	return rpma_write(u.conn, dst, dst_offset, src, src_offset, len, ALWAYS, &u);
}

static int write_imm(struct rpma_mr_remote *dst, size_t dst_offset, const struct rpma_mr_local *src,
	size_t src_offset, size_t len)
{
	return rpma_write_with_imm(u.conn, dst, dst_offset, src, src_offset, len, ALWAYS, IMM, &u);
}

static const struct form {
	int (*write)(struct rpma_mr_remote *, size_t, const struct rpma_mr_local *, size_t, size_t);
	enum ibv_wr_opcode opcode;
} forms[] = { { write_plain, IBV_WR_RDMA_WRITE }, { write_imm, IBV_WR_RDMA_WRITE_WITH_IMM } };

#define FOR_EACH_FORM(form) for ((form) = forms; (form) < forms + 2; (form)++)

static void write__posts(void **state)
{
	const struct double_wr *wr;
	const struct form *form;

	(void)state;
	FOR_EACH_FORM(form)
	{
		assert_int_equal(form->write(remote, 32, mr, 8, 16), 0);
		wr = double_last_send(u.qp);
		assert_int_equal(wr->opcode, form->opcode);
		assert_int_equal(wr->wr_id, (uintptr_t)&u);
		assert_int_equal(wr->num_sge, 1);
		assert_int_equal(wr->sge[0].addr, (uintptr_t)memory + 8);
		assert_int_equal(wr->sge[0].length, 16);
		assert_int_equal(wr->sge[0].lkey, double_last_mr()->lkey);
		assert_int_equal(wr->remote_addr, (uintptr_t)memory + 32);
		assert_int_equal(wr->rkey, double_last_mr()->rkey);
	}
	assert_int_equal(wr->imm, htonl(IMM));
	assert_int_equal(double_send_doorbells(u.qp), 2);
}

static void write__completes(void **state)
{
	struct rpma_cq *cq = NULL;
	struct ibv_wc wc;

	(void)state;
	memcpy(memory, "local", 6);
	assert_int_equal(write_plain(remote, 32, mr, 0, 6), 0);
	assert_int_equal(double_complete_send(u.qp, 1, IBV_WC_SUCCESS), 1);
	assert_int_equal(rpma_conn_get_cq(u.conn, &cq), 0);
	assert_int_equal(rpma_cq_get_wc(cq, 1, &wc, NULL), 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(wc.wr_id, (uintptr_t)&u);
	assert_string_equal(memory + 32, "local");
}

/* two NULL regions and three zeros: a write of no bytes */
static void write__zero_bytes(void **state)
{
	const struct double_wr *wr;
	const struct form *form;

	(void)state;
	FOR_EACH_FORM(form)
	{
		assert_int_equal(form->write(NULL, 0, NULL, 0, 0), 0);
		wr = double_last_send(u.qp);
		assert_int_equal(wr->opcode, form->opcode);
		assert_int_equal(wr->num_sge, 0);
		assert_int_equal(wr->remote_addr, 0);
		assert_int_equal(wr->rkey, 0);
	}
	assert_int_equal(wr->imm, htonl(IMM));
}

static void write__invalid(void **state)
{
	const struct form *form;

	(void)state;
	FOR_EACH_FORM(form)
	{
		/* no bytes, with a number */
		assert_int_equal(form->write(NULL, 1, NULL, 0, 0), RPMA_E_INVAL);
		assert_int_equal(form->write(NULL, 0, NULL, 1, 0), RPMA_E_INVAL);
		assert_int_equal(form->write(NULL, 0, NULL, 0, 1), RPMA_E_INVAL);
		/* one region of the two */
		assert_int_equal(form->write(NULL, 0, mr, 0, 8), RPMA_E_INVAL);
		assert_int_equal(form->write(remote, 0, NULL, 0, 0), RPMA_E_INVAL);
		/* beyond either region, or above 32 bits */
		assert_int_equal(form->write(remote, 1, mr, 0, REGION_SIZE), RPMA_E_INVAL);
		assert_int_equal(form->write(remote, 0, mr, 1, REGION_SIZE), RPMA_E_INVAL);
		assert_int_equal(form->write(remote, SIZE_MAX, mr, 0, 1), RPMA_E_INVAL);
		assert_int_equal(form->write(remote, 0, mr, SIZE_MAX, 1), RPMA_E_INVAL);
		assert_int_equal(
			form->write(remote, 0, mr, 0, ((size_t)1 << 32) + 5), RPMA_E_INVAL);
	}
	/* no connection, no flags */
	assert_int_equal(rpma_write(NULL, remote, 0, mr, 0, 8, ALWAYS, NULL), RPMA_E_INVAL);
	assert_int_equal(
		rpma_write_with_imm(NULL, remote, 0, mr, 0, 8, ALWAYS, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_write(u.conn, remote, 0, mr, 0, 8, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(
		rpma_write_with_imm(u.conn, remote, 0, mr, 0, 8, 0, 0, NULL), RPMA_E_INVAL);
	assert_int_equal(double_send_doorbells(u.qp), 0);
}

static void write__flags(void **state)
{
	(void)state;
	assert_int_equal(
		rpma_write(u.conn, remote, 32, mr, 0, 8, RPMA_F_COMPLETION_ON_ERROR, NULL), 0);
	assert_int_equal(double_last_send(u.qp)->send_flags, 0);
	assert_int_equal(rpma_write(u.conn, remote, 32, mr, 0, 8, ALWAYS, NULL), 0);
	assert_int_equal(double_last_send(u.qp)->send_flags, IBV_SEND_SIGNALED);
}

static void write__device_refuses(void **state)
{
	const struct form *form;

	(void)state;
	FOR_EACH_FORM(form)
	{
		unit_log_forget();
		double_fail("ibv_post_send", 1, UNIT_ERRNO);
		assert_int_equal(form->write(remote, 32, mr, 0, 8), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
	}
	assert_int_equal(double_sends(u.qp), 0);
}

/* unsignalled writes alone fill the queue for good */
static void write__queue_full(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 10; i++)
		assert_int_equal(
			rpma_write(u.conn, remote, 32, mr, 0, 8, RPMA_F_COMPLETION_ON_ERROR, NULL),
			0);
	assert_int_equal(write_plain(remote, 32, mr, 0, 8), RPMA_E_PROVIDER);
	assert_errno(ENOMEM);
}

UNIT_MAIN(REGIONS_TEST(write__completes), REGIONS_TEST(write__device_refuses),
	REGIONS_TEST(write__flags), REGIONS_TEST(write__invalid), REGIONS_TEST(write__posts),
	REGIONS_TEST(write__queue_full), REGIONS_TEST(write__zero_bytes))
