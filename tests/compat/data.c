/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* data.c - reads, writes, messages */

#include <arpa/inet.h>
#include <string.h>

#include "ends.h"

#define IMM      0x11223344u
#define ALWAYS   RPMA_F_COMPLETION_ALWAYS
#define ON_ERROR RPMA_F_COMPLETION_ON_ERROR

/* a completion of the client's, of this operation */
static struct ibv_wc done(struct ends *e, uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = completion_expect(e->c.cq, wr_id);

	MUST_EQ(wc.opcode, opcode);
	MUST_EQ(wc.qp_num, e->c.qp_num);
	return wc;
}

/* a completion of the server's, of a receive, with or without immediate data */
static struct ibv_wc received(
	struct ends *e, uint64_t wr_id, enum ibv_wc_opcode opcode, size_t len, bool has_imm)
{
	struct ibv_wc wc = completion_expect(e->s.cq, wr_id);

	MUST_EQ(wc.opcode, opcode);
	MUST_EQ(wc.qp_num, e->s.qp_num);
	MUST_EQ(wc.byte_len, len);
	MUST_EQ(wc.wc_flags & IBV_WC_WITH_IMM, has_imm ? IBV_WC_WITH_IMM : 0);
	if (has_imm) {
		const uint8_t bytes[] = { 0x11, 0x22, 0x33, 0x44 };

		MUST(memcmp(&wc.imm_data, bytes, sizeof(bytes)) == 0);
		MUST_EQ(ntohl(wc.imm_data), IMM);
	}
	return wc;
}

static void data_read(void)
{
	struct ibv_wc wc;
	struct ends e;

	ends_connect(&e, NULL, NULL);
	fill(e.s.buf, ENDS_SIZE, 1);
	MUST_EQ(rpma_read(e.c.conn, e.c.mr, 0, e.c.theirs, 0, ENDS_SIZE, ALWAYS, CONTEXT(1)), 0);
	wc = done(&e, 1, IBV_WC_RDMA_READ);
	MUST_EQ(wc.byte_len, ENDS_SIZE);
	MUST(filled(e.c.buf, ENDS_SIZE, 1));
	/* a piece, at odd places, and nothing around it */
	memset(e.c.buf, 0, ENDS_SIZE);
	MUST_EQ(rpma_read(e.c.conn, e.c.mr, 7, e.c.theirs, 1001, 333, ALWAYS, UNTOUCHED), 0);
	done(&e, (uintptr_t)UNTOUCHED, IBV_WC_RDMA_READ);
	MUST(memcmp(e.c.buf + 7, e.s.buf + 1001, 333) == 0);
	MUST(zeroed(e.c.buf, 7) && zeroed(e.c.buf + 340, ENDS_SIZE - 340));
	completion_none(e.s.cq);
	ends_close(&e);
}

static void data_write(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	fill(e.c.buf, ENDS_SIZE, 2);
	MUST_EQ(rpma_write(e.c.conn, e.c.theirs, 0, e.c.mr, 0, ENDS_SIZE, ALWAYS, CONTEXT(1)), 0);
	done(&e, 1, IBV_WC_RDMA_WRITE);
	MUST(filled(e.s.buf, ENDS_SIZE, 2));
	memset(e.s.buf, 0, ENDS_SIZE);
	MUST_EQ(rpma_write(e.c.conn, e.c.theirs, 1001, e.c.mr, 7, 333, ALWAYS, CONTEXT(2)), 0);
	done(&e, 2, IBV_WC_RDMA_WRITE);
	MUST(memcmp(e.s.buf + 1001, e.c.buf + 7, 333) == 0);
	MUST(zeroed(e.s.buf, 1001) && zeroed(e.s.buf + 1334, ENDS_SIZE - 1334));
	completion_none(e.s.cq);
	ends_close(&e);
}

static void data_write_imm(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	fill(e.c.buf, 1000, 3);
	MUST_EQ(rpma_recv(e.s.conn, e.s.mr, 0, 1, CONTEXT(8)), 0); /* not where it goes */
	MUST_EQ(rpma_write_with_imm(
			e.c.conn, e.c.theirs, 500, e.c.mr, 0, 1000, ALWAYS, IMM, CONTEXT(1)),
		0);
	done(&e, 1, IBV_WC_RDMA_WRITE);
	received(&e, 8, IBV_WC_RECV_RDMA_WITH_IMM, 1000, true);
	MUST(filled(e.s.buf + 500, 1000, 3));
	MUST(zeroed(e.s.buf, 500));
	ends_close(&e);
}

static void data_send(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	fill(e.c.buf, 2000, 4);
	MUST_EQ(rpma_recv(e.s.conn, e.s.mr, 100, 3000, CONTEXT(8)), 0);
	MUST_EQ(rpma_send(e.c.conn, e.c.mr, 0, 2000, ALWAYS, CONTEXT(1)), 0);
	done(&e, 1, IBV_WC_SEND);
	received(&e, 8, IBV_WC_RECV, 2000, false);
	MUST(filled(e.s.buf + 100, 2000, 4));
	MUST(zeroed(e.s.buf, 100) && zeroed(e.s.buf + 2100, 1000));
	ends_close(&e);
}

static void data_send_imm(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	fill(e.c.buf, 20, 5);
	MUST_EQ(rpma_recv(e.s.conn, e.s.mr, 0, 20, CONTEXT(8)), 0);
	MUST_EQ(rpma_send_with_imm(e.c.conn, e.c.mr, 0, 20, ALWAYS, IMM, CONTEXT(1)), 0);
	done(&e, 1, IBV_WC_SEND);
	received(&e, 8, IBV_WC_RECV, 20, true);
	MUST(filled(e.s.buf, 20, 5));
	ends_close(&e);
}

/* ---- no bytes -------------------------------------------------------------------------------- */

static void empty_read(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_read(e.c.conn, NULL, 0, NULL, 0, 0, ALWAYS, CONTEXT(1)), 0);
	MUST_EQ(done(&e, 1, IBV_WC_RDMA_READ).byte_len, 0);
	MUST_EQ(rpma_read(e.c.conn, e.c.mr, 0, e.c.theirs, 0, 0, ALWAYS, CONTEXT(2)), 0);
	MUST_EQ(done(&e, 2, IBV_WC_RDMA_READ).byte_len, 0);
	ends_close(&e);
}

static void empty_write(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_write(e.c.conn, NULL, 0, NULL, 0, 0, ALWAYS, CONTEXT(1)), 0);
	done(&e, 1, IBV_WC_RDMA_WRITE);
	MUST_EQ(rpma_write(e.c.conn, e.c.theirs, 0, e.c.mr, 0, 0, ALWAYS, CONTEXT(2)), 0);
	done(&e, 2, IBV_WC_RDMA_WRITE);
	ends_close(&e);
}

static void empty_write_imm(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_recv(e.s.conn, NULL, 0, 0, CONTEXT(8)), 0);
	MUST_EQ(rpma_write_with_imm(e.c.conn, NULL, 0, NULL, 0, 0, ALWAYS, IMM, CONTEXT(1)), 0);
	done(&e, 1, IBV_WC_RDMA_WRITE);
	received(&e, 8, IBV_WC_RECV_RDMA_WITH_IMM, 0, true);
	ends_close(&e);
}

static void empty_messages(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_recv(e.s.conn, NULL, 0, 0, CONTEXT(8)), 0);
	MUST_EQ(rpma_recv(e.s.conn, NULL, 0, 0, CONTEXT(9)), 0);
	MUST_EQ(rpma_send(e.c.conn, NULL, 0, 0, ALWAYS, CONTEXT(1)), 0);
	MUST_EQ(rpma_send_with_imm(e.c.conn, NULL, 0, 0, ALWAYS, IMM, CONTEXT(2)), 0);
	done(&e, 1, IBV_WC_SEND);
	done(&e, 2, IBV_WC_SEND);
	received(&e, 8, IBV_WC_RECV, 0, false);
	received(&e, 9, IBV_WC_RECV, 0, true);
	ends_close(&e);
}

/* ---- invalid --------------------------------------------------------------------------------- */

/* a read or a write of either kind */
typedef int transfer(struct rpma_conn *conn, struct rpma_mr_local *mr, size_t at,
	struct rpma_mr_remote *theirs, size_t their_at, size_t len, int flags);

static int transfer_read(struct rpma_conn *conn, struct rpma_mr_local *mr, size_t at,
	struct rpma_mr_remote *theirs, size_t their_at, size_t len, int flags)
{
	return rpma_read(conn, mr, at, theirs, their_at, len, flags, NULL);
}

static int transfer_write(struct rpma_conn *conn, struct rpma_mr_local *mr, size_t at,
	struct rpma_mr_remote *theirs, size_t their_at, size_t len, int flags)
{
	return rpma_write(conn, theirs, their_at, mr, at, len, flags, NULL);
}

static int transfer_write_imm(struct rpma_conn *conn, struct rpma_mr_local *mr, size_t at,
	struct rpma_mr_remote *theirs, size_t their_at, size_t len, int flags)
{
	return rpma_write_with_imm(conn, theirs, their_at, mr, at, len, flags, 1, NULL);
}

static void transfer_invalid(transfer *call)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	struct rpma_conn *conn = e.c.conn;
	struct rpma_mr_local *mr = e.c.mr;
	struct rpma_mr_remote *theirs = e.c.theirs;
	MUST_EQ(call(NULL, mr, 0, theirs, 0, 8, ALWAYS), RPMA_E_INVAL);
	MUST_EQ(call(conn, mr, 0, theirs, 0, 8, 0), RPMA_E_INVAL);
	MUST_EQ(call(conn, NULL, 0, theirs, 0, 8, ALWAYS), RPMA_E_INVAL);
	MUST_EQ(call(conn, mr, 0, NULL, 0, 8, ALWAYS), RPMA_E_INVAL);
	MUST_EQ(call(conn, NULL, 1, NULL, 0, 0, ALWAYS), RPMA_E_INVAL);
	MUST_EQ(call(conn, NULL, 0, NULL, 1, 0, ALWAYS), RPMA_E_INVAL);
	MUST_EQ(call(conn, NULL, 0, NULL, 0, 1, ALWAYS), RPMA_E_INVAL);
	completion_none(e.c.cq);
	ends_close(&e);
}

static void read_invalid(void)
{
	transfer_invalid(transfer_read);
}

static void write_invalid(void)
{
	transfer_invalid(transfer_write);
}

static void write_imm_invalid(void)
{
	transfer_invalid(transfer_write_imm);
}

static void messages_invalid(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	struct rpma_conn *conn = e.c.conn;
	struct rpma_mr_local *mr = e.c.mr;
	MUST_EQ(rpma_send(NULL, mr, 0, 8, ALWAYS, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_send(conn, mr, 0, 8, 0, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_send(conn, NULL, 1, 0, ALWAYS, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_send(conn, NULL, 0, 1, ALWAYS, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_send_with_imm(NULL, mr, 0, 8, ALWAYS, 1, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_send_with_imm(conn, mr, 0, 8, 0, 1, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_send_with_imm(conn, NULL, 1, 0, ALWAYS, 1, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_send_with_imm(conn, NULL, 0, 1, ALWAYS, 1, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_recv(NULL, mr, 0, 8, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_recv(conn, NULL, 1, 0, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_recv(conn, NULL, 0, 1, NULL), RPMA_E_INVAL);
	completion_none(e.c.cq);
	ends_close(&e);
}

/* ---- completions ----------------------------------------------------------------------------- */

static void flags(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	/* of these, one bit asks for a completion */
	MUST_EQ(rpma_write(e.c.conn, e.c.theirs, 0, e.c.mr, 0, 8, ON_ERROR, CONTEXT(1)), 0);
	MUST_EQ(rpma_write(e.c.conn, e.c.theirs, 0, e.c.mr, 0, 8, 2, CONTEXT(2)), 0);
	MUST_EQ(rpma_write(e.c.conn, e.c.theirs, 0, e.c.mr, 0, 8, 4, CONTEXT(3)), 0);
	MUST_EQ(rpma_write(e.c.conn, e.c.theirs, 0, e.c.mr, 0, 8, ALWAYS, CONTEXT(4)), 0);
	done(&e, 2, IBV_WC_RDMA_WRITE);
	done(&e, 4, IBV_WC_RDMA_WRITE);
	completion_none(e.c.cq);
	ends_close(&e);
}

static void refused(void)
{
	struct rpma_mr_local *mr = NULL;
	struct ibv_wc wc;
	struct ends e;

	ends_connect(&e, NULL, NULL);
	/* the other end has a region that nobody may read */
	MUST_EQ(rpma_mr_dereg(&e.s.mr), 0);
	MUST_EQ(rpma_mr_reg(e.peer, e.s.buf, ENDS_SIZE, RPMA_MR_USAGE_WRITE_DST, &mr), 0);
	struct rpma_mr_remote *theirs = ends_remote(mr);
	MUST_EQ(rpma_read(e.c.conn, e.c.mr, 0, theirs, 0, 8, ON_ERROR, CONTEXT(77)), 0);
	wc = completion_take(e.c.cq);
	MUST_EQ(wc.wr_id, 77);
	MUST_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
	MUST_EQ(wc.qp_num, e.c.qp_num);
	MUST_EQ(rpma_mr_remote_delete(&theirs), 0);
	MUST_EQ(rpma_mr_dereg(&mr), 0);
	ends_close(&e);
}

static void order(void)
{
	static const enum ibv_wc_opcode opcodes[] = { IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
		IBV_WC_SEND };
	struct ends e;

	ends_connect(&e, NULL, NULL);
	for (uint64_t i = 0; i < 3; i++)
		MUST_EQ(rpma_recv(e.s.conn, e.s.mr, 0, 64, CONTEXT(100 + i)), 0);
	for (uint64_t i = 0; i < 9; i += 3) {
		MUST_EQ(rpma_write(e.c.conn, e.c.theirs, 4096, e.c.mr, 0, 4096, ALWAYS, CONTEXT(i)),
			0);
		MUST_EQ(rpma_read(e.c.conn, e.c.mr, 4096, e.c.theirs, 8192, 4096, ALWAYS,
				CONTEXT(i + 1)),
			0);
		MUST_EQ(rpma_send(e.c.conn, e.c.mr, 0, 8, ALWAYS, CONTEXT(i + 2)), 0);
	}
	for (uint64_t i = 0; i < 9; i++)
		done(&e, i, opcodes[i % 3]);
	for (uint64_t i = 0; i < 3; i++)
		received(&e, 100 + i, IBV_WC_RECV, 8, false);
	ends_close(&e);
}

static void remote_gone(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	fill(e.s.buf, ENDS_SIZE, 6);
	MUST_EQ(rpma_read(e.c.conn, e.c.mr, 0, e.c.theirs, 0, ENDS_SIZE, ALWAYS, CONTEXT(1)), 0);
	MUST_EQ(rpma_mr_remote_delete(&e.c.theirs), 0);
	done(&e, 1, IBV_WC_RDMA_READ);
	MUST(filled(e.c.buf, ENDS_SIZE, 6));
	ends_close(&e);
}

static void recv_full(void)
{
	struct rpma_conn_cfg *cfg = CFG(.rq_size = 20);
	int count = 0, ret;
	struct ends e;

	ends_connect(&e, NULL, cfg);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
	while ((ret = rpma_recv(e.s.conn, e.s.mr, 0, 8, CONTEXT(count))) == 0)
		MUST(count++ < 1000);
	check_note("%d receives fit", count);
	MUST_EQ(ret, RPMA_E_PROVIDER);
	MUST(count >= 20);
	ends_close(&e);
}

static void not_ready(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	/* nobody has prepared for it: it is tried again, for ever */
	MUST_EQ(rpma_send(e.c.conn, e.c.mr, 0, 30, ALWAYS, CONTEXT(1)), 0);
	completion_none(e.c.cq);
	MUST_EQ(rpma_recv(e.s.conn, e.s.mr, 0, 64, CONTEXT(8)), 0);
	received(&e, 8, IBV_WC_RECV, 30, false);
	done(&e, 1, IBV_WC_SEND);
	ends_close(&e);
}

static void both_ways(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	fill(e.c.buf, 4096, 7);
	/* the server reads what is the client's, and writes it back elsewhere */
	MUST_EQ(rpma_read(e.s.conn, e.s.mr, 0, e.s.theirs, 0, 4096, ALWAYS, CONTEXT(1)), 0);
	MUST_EQ(completion_expect(e.s.cq, 1).opcode, IBV_WC_RDMA_READ);
	MUST_EQ(rpma_write(e.s.conn, e.s.theirs, 8192, e.s.mr, 0, 4096, ALWAYS, CONTEXT(2)), 0);
	MUST_EQ(completion_expect(e.s.cq, 2).opcode, IBV_WC_RDMA_WRITE);
	MUST(filled(e.c.buf + 8192, 4096, 7));
	ends_close(&e);
}

/* ---- outside of the regions ------------------------------------------------------------------ */

/* posted and refused by the other end, or not even posted */
static void outside(int (*call)(struct ends *e))
{
	struct ends e;
	int ret;

	ends_connect(&e, NULL, NULL);
	ret = call(&e);
	IMPROVED(8, ret == RPMA_E_INVAL, ret == 0);
	if (ret == 0)
		MUST(completion_take(e.c.cq).status != IBV_WC_SUCCESS);
	else
		completion_none(e.c.cq);
	ends_close(&e);
}

static int read_outside(struct ends *e)
{
	return rpma_read(e->c.conn, e->c.mr, 0, e->c.theirs, ENDS_SIZE - 4, 8, ALWAYS, CONTEXT(1));
}

static int write_outside(struct ends *e)
{
	return rpma_write(e->c.conn, e->c.theirs, 0, e->c.mr, ENDS_SIZE - 4, 8, ALWAYS, CONTEXT(1));
}

static void outside_remote(void)
{
	outside(read_outside);
}

static void outside_local(void)
{
	outside(write_outside);
}

static void too_long(void)
{
	struct ends e;
	int ret;

	ends_connect(&e, NULL, NULL);
	fill(e.c.buf, 16, 8);
	ret = rpma_write(
		e.c.conn, e.c.theirs, 0, e.c.mr, 0, (UINT64_C(1) << 32) + 5, ALWAYS, CONTEXT(1));
	if (ret == 0)
		completion_expect(e.c.cq, 1);
	IMPROVED(8, ret == RPMA_E_INVAL && zeroed(e.s.buf, 16),
		ret == 0 && filled(e.s.buf, 5, 8) && zeroed(e.s.buf + 5, 11));
	ends_close(&e);
}

const struct check data_checks[] = {
	{ "read brings the bytes and no more; the other end hears nothing", "8", data_read },
	{ "write brings the bytes and no more; the other end hears nothing", "8", data_write },
	{ "write with immediate data takes a receive and leaves its buffer alone", "8",
		data_write_imm },
	{ "send brings the bytes into the receive", "8", data_send },
	{ "immediate data travels in network order", "10.4", data_send_imm },
	{ "a read of no bytes, with and without regions", NULL, empty_read },
	{ "a write of no bytes, with and without regions", NULL, empty_write },
	{ "a write of no bytes with immediate data", NULL, empty_write_imm },
	{ "messages of no bytes, with and without immediate data", NULL, empty_messages },
	{ "read: what is invalid", NULL, read_invalid },
	{ "write: what is invalid", NULL, write_invalid },
	{ "write with immediate data: what is invalid", NULL, write_imm_invalid },
	{ "messages: what is invalid", NULL, messages_invalid },
	{ "of the flags, one bit asks for a completion", NULL, flags },
	{ "what fails completes, asked for or not", NULL, refused },
	{ "completions come in the order of the calls", "15", order },
	{ "a remote region may go as soon as the call is back", "4", remote_gone },
	{ "a receive queue takes as many as it was made for, and an end", "15", recv_full },
	{ "a message without a receive waits for one", "7.5", not_ready },
	{ "the server reads and writes as well", NULL, both_ways },
	{ "bytes outside of the remote region", NULL, outside_remote, .differs = true },
	{ "bytes outside of the local region", NULL, outside_local, .differs = true },
	{ "a length of more than 32 bits", "5", too_long, .differs = true },
	{ NULL },
};
