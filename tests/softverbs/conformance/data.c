/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* data.c - READ, WRITE and SEND: the bytes, and what completions say of them */

#include <arpa/inet.h>
#include <errno.h>

#include "pair.h"

/* around the packet size, and far beyond it */
static const size_t lengths[] = { 1, 7, 64, 1023, 1024, 1025, 4096, 4097, 65536, 1000003 };

#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static void read_lengths(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	fill(p.s.buf, BUFFER_SIZE, 1);
	for (size_t i = 0; i < LENGTHS; i++) {
		memset(p.c.buf, 0, BUFFER_SIZE);
		POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = i, .at = 5, .len = lengths[i],
			AT(&p.s, 0));
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
		MUST(filled(p.c.buf + 5, lengths[i], 1));
		MUST(zeroed(p.c.buf, 5));
		MUST(zeroed(p.c.buf + 5 + lengths[i], 64));
	}
	pair_close(&p);
}

static void write_lengths(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	fill(p.c.buf, BUFFER_SIZE, 2);
	for (size_t i = 0; i < LENGTHS; i++) {
		memset(p.s.buf, 0, BUFFER_SIZE);
		POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = i, .len = lengths[i], AT(&p.s, 5));
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
		MUST(filled(p.s.buf + 5, lengths[i], 2));
		MUST(zeroed(p.s.buf, 5));
		MUST(zeroed(p.s.buf + 5 + lengths[i], 64));
	}
	pair_close(&p);
}

static void send_lengths(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	fill(p.c.buf, BUFFER_SIZE, 3);
	for (size_t i = 0; i < LENGTHS; i++) {
		memset(p.s.buf, 0, BUFFER_SIZE);
		RECV(&p.s, i, 5, 1000003);
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = lengths[i]);
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
		struct ibv_wc wc = wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
		MUST_EQ(wc.byte_len, lengths[i]);
		MUST(filled(p.s.buf + 5, lengths[i], 3));
		MUST(zeroed(p.s.buf + 5 + lengths[i], 64));
	}
	pair_close(&p);
}

static void by_server(void)
{
	struct pair p;

	PAIR(&p, .depth = 2);
	fill(p.c.buf, 100, 4);
	POST(&p.s, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 100, AT(&p.c, 0));
	wc_expect(p.s.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf, 100, 4));
	POST(&p.s, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 100, AT(&p.c, 500));
	wc_expect(p.s.scq, 2, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf + 500, 100, 4));
	RECV(&p.c, 3, 1000, 100);
	POST(&p.s, .opcode = IBV_WR_SEND, .id = 4, .len = 100);
	wc_expect(p.s.scq, 4, IBV_WC_SUCCESS);
	wc_expect(p.c.rcq, 3, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf + 1000, 100, 4));
	pair_close(&p);
}

/* the completion of one operation has the client's QP number and this opcode */
static void opcode_is(struct pair *p, enum ibv_wr_opcode wr, enum ibv_wc_opcode opcode)
{
	POST(&p->c, .opcode = wr, .id = 9, .len = 8, AT(&p->s, 0));
	struct ibv_wc wc = wc_expect(p->c.scq, 9, IBV_WC_SUCCESS);
	MUST_EQ(wc.opcode, opcode);
	MUST_EQ(wc.qp_num, p->c.id->qp->qp_num);
}

static void opcodes(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	for (uint64_t i = 0; i < 3; i++)
		RECV(&p.s, i, 64, 8);
	opcode_is(&p, IBV_WR_RDMA_READ, IBV_WC_RDMA_READ);
	opcode_is(&p, IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE);
	opcode_is(&p, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE);
	opcode_is(&p, IBV_WR_SEND, IBV_WC_SEND);
	opcode_is(&p, IBV_WR_SEND_WITH_IMM, IBV_WC_SEND);
	const enum ibv_wc_opcode received[] = { IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_RECV,
		IBV_WC_RECV };
	for (uint64_t i = 0; i < 3; i++) {
		struct ibv_wc wc = wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
		MUST_EQ(wc.opcode, received[i]);
		MUST_EQ(wc.qp_num, p.s.id->qp->qp_num);
	}
	pair_close(&p);
}

static void send_imm(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 1, 0, 64);
	RECV(&p.s, 2, 0, 64);
	POST(&p.c, .opcode = IBV_WR_SEND_WITH_IMM, .len = 9, .imm = 0xfeedbeef);
	struct ibv_wc wc = wc_expect(p.s.rcq, 1, IBV_WC_SUCCESS);
	MUST_EQ(wc.wc_flags & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
	MUST_EQ(ntohl(wc.imm_data), 0xfeedbeef);
	MUST_EQ(wc.byte_len, 9);
	POST(&p.c, .opcode = IBV_WR_SEND, .len = 9, .imm = 5);
	wc = wc_expect(p.s.rcq, 2, IBV_WC_SUCCESS);
	MUST_EQ(wc.wc_flags & IBV_WC_WITH_IMM, 0);
	pair_close(&p);
}

static void write_imm(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	fill(p.c.buf, 5000, 5);
	RECV(&p.s, 1, 100000, 64);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 2, .len = 5000, .imm = 0x01020304,
		AT(&p.s, 64));
	struct ibv_wc wc = wc_expect(p.s.rcq, 1, IBV_WC_SUCCESS);
	MUST_EQ(wc.wc_flags & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
	MUST_EQ(ntohl(wc.imm_data), 0x01020304);
	MUST_EQ(wc.byte_len, 5000);
	MUST(filled(p.s.buf + 64, 5000, 5));
	MUST(zeroed(p.s.buf + 100000, 64));
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void write_imm_waits(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 2, .len = 8, AT(&p.s, 0));
	wc_none(p.c.scq);
	RECV(&p.s, 1, 0, 0);
	wc_expect(p.s.rcq, 1, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void write_silent(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 1, 0, 64);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	wc_none(p.s.rcq);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 3, .len = 8);
	wc_expect(p.s.rcq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void zero_length(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	RECV(&p.s, 1, 0, 64);
	RECV(&p.s, 2, 0, 0);
	RECV(&p.s, 3, 0, 64);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 10, AT(&p.s, 0));
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 11, AT(&p.s, 0));
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 12);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 13);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 14, .imm = 6, AT(&p.s, 0));
	for (uint64_t i = 10; i < 15; i++)
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	for (uint64_t i = 1; i < 4; i++)
		MUST_EQ(wc_expect(p.s.rcq, i, IBV_WC_SUCCESS).byte_len, 0);
	MUST(zeroed(p.s.buf, 64));
	pair_close(&p);
}

static void zero_length_anywhere(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .remote = 12345);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void gathered(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	fill(p.c.buf + 1000, 3, 6);
	fill(p.c.buf + 9000, 4100, 7);
	struct ibv_sge sges[2] = {
		{ (uintptr_t)p.c.buf + 9000, 4100, p.c.mr->lkey },
		{ (uintptr_t)p.c.buf + 1000, 3, p.c.mr->lkey },
	};
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .sges = sges, .num_sge = 2, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf, 4100, 7));
	MUST(filled(p.s.buf + 4100, 3, 6));
	RECV(&p.s, 2, 50000, 8192);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 3, .sges = sges, .num_sge = 2);
	MUST_EQ(wc_expect(p.s.rcq, 2, IBV_WC_SUCCESS).byte_len, 4103);
	MUST(filled(p.s.buf + 50000, 4100, 7));
	MUST(filled(p.s.buf + 54100, 3, 6));
	pair_close(&p);
}

static void scattered_read(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	fill(p.s.buf, 3, 6);
	fill(p.s.buf + 3, 4100, 7);
	struct ibv_sge sges[2] = {
		{ (uintptr_t)p.c.buf + 9000, 3, p.c.mr->lkey },
		{ (uintptr_t)p.c.buf + 1000, 4100, p.c.mr->lkey },
	};
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .sges = sges, .num_sge = 2, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf + 9000, 3, 6));
	MUST(filled(p.c.buf + 1000, 4100, 7));
	MUST(zeroed(p.c.buf + 9003, 64));
	pair_close(&p);
}

static void scattered_receive(void)
{
	struct ibv_recv_wr *bad;
	struct pair p;

	PAIR(&p, .depth = 1);
	struct ibv_sge sges[2] = {
		{ (uintptr_t)p.s.buf + 9000, 10, p.s.mr->lkey },
		{ (uintptr_t)p.s.buf + 1000, 4000, p.s.mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = sges, .num_sge = 2 };
	MUST_EQ(ibv_post_recv(p.s.id->qp, &wr, &bad), 0);
	memset(sges, 0xff, sizeof(sges));
	fill(p.c.buf, 10, 8);
	fill(p.c.buf + 10, 2000, 9);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 2, .len = 2010);
	MUST_EQ(wc_expect(p.s.rcq, 1, IBV_WC_SUCCESS).byte_len, 2010);
	MUST(filled(p.s.buf + 9000, 10, 8));
	MUST(filled(p.s.buf + 1000, 2000, 9));
	MUST(zeroed(p.s.buf + 3000, 64));
	pair_close(&p);
}

static void read_byte_len(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 5000, AT(&p.s, 0));
	MUST_EQ(wc_expect(p.c.scq, 1, IBV_WC_SUCCESS).byte_len, 5000);
	pair_close(&p);
}

static void both_ways_at_once(void)
{
	struct pair p;

	PAIR(&p, .cqe = 256, .cap = { .max_send_wr = 64, .max_recv_wr = 64 });
	for (uint64_t i = 0; i < 32; i++) {
		RECV(&p.c, i, 100000 + 1000 * i, 1000);
		RECV(&p.s, i, 100000 + 1000 * i, 1000);
		fill(p.c.buf + 1000 * i, 1000, (unsigned int)i);
		fill(p.s.buf + 1000 * i, 1000, (unsigned int)i + 50);
	}
	for (uint64_t i = 0; i < 32; i++) {
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .at = 1000 * i, .len = 1000);
		POST(&p.s, .opcode = IBV_WR_SEND, .id = i, .at = 1000 * i, .len = 1000);
	}
	for (uint64_t i = 0; i < 32; i++) {
		wc_expect(p.c.rcq, i, IBV_WC_SUCCESS);
		wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
		MUST(filled(p.s.buf + 100000 + 1000 * i, 1000, (unsigned int)i));
		MUST(filled(p.c.buf + 100000 + 1000 * i, 1000, (unsigned int)i + 50));
	}
	pair_close(&p);
}

const struct check data_checks[] = { { "READ fetches the bytes and no more, of any length",
					     "ibv_post_send(3)", read_lengths },
	{ "WRITE stores the bytes and no more, of any length", "ibv_post_send(3)", write_lengths },
	{ "SEND delivers the bytes and their number", "ibv_post_send(3), ibv_poll_cq(3)",
		send_lengths },
	{ "the accepting side reads, writes and sends alike", "ibv_post_send(3)", by_server },
	{ "completions name operation and QP", "ibv_poll_cq(3)", opcodes },
	{ "SEND with immediate data brings it, and SEND does not", "ibv_poll_cq(3)", send_imm },
	{ "WRITE with immediate data takes a receive, whose memory it leaves alone",
		"ibv_post_send(3), ibv_poll_cq(3)", write_imm },
	{ "WRITE with immediate data waits for a receive", "IBTA 9.7.4", write_imm_waits },
	{ "WRITE takes no receive, and the peer hears nothing", "ibv_post_send(3)", write_silent },
	{ "every operation can have no bytes", "ibv_post_send(3)", zero_length },
	{ "without bytes, address and key do not matter", "IBTA C9-88", zero_length_anywhere },
	{ "a request gathers its elements in order", "ibv_post_send(3)", gathered },
	{ "READ scatters into its elements in order", "ibv_post_send(3)", scattered_read },
	{ "a receive scatters into its elements; the list can go after the call",
		"ibv_post_recv(3)", scattered_receive },
	{ "the completion of READ has the number of bytes", "ibv_poll_cq(3)", read_byte_len },
	{ "32 messages each way at once arrive unharmed", "ibv_post_send(3)", both_ways_at_once },
	{ 0 } };
