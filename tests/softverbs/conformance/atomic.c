/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* atomic.c - atomic operations, and the order of operations */

#include <errno.h>

#include "pair.h"

static void open_with_atomics(struct pair *p)
{
	struct ibv_device_attr device;

	PAIR(p, .depth = 4);
	MUST_EQ(ibv_query_device(p->c.id->verbs, &device), 0);
	if (device.atomic_cap == IBV_ATOMIC_NONE)
		SKIP("no atomic operations");
}

static uint64_t *word(struct side *side, size_t at)
{
	return (uint64_t *)(void *)(side->buf + at);
}

/* one operation on a word of the server's: the value before comes to the client, this one is after */
static void atomic(enum ibv_wr_opcode opcode, uint64_t before, uint64_t compare_add, uint64_t swap,
	uint64_t after)
{
	struct pair p;

	open_with_atomics(&p);
	*word(&p.s, 64) = before;
	POST(&p.c, .opcode = opcode, .id = 1, .at = 8, .len = 8, .compare_add = compare_add,
		.swap = swap, AT(&p.s, 64));
	struct ibv_wc wc = wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST_EQ(wc.opcode,
		opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP);
	MUST_EQ(*word(&p.c, 8), before);
	MUST_EQ(*word(&p.s, 64), after);
	MUST(zeroed(p.s.buf + 72, 64));
	MUST(zeroed(p.c.buf + 16, 64));
	pair_close(&p);
}

static void fetch_and_add(void)
{
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 40, 2, 0, 42);
}

static void add_wraps(void)
{
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, UINT64_MAX, 3, 0, 2);
}

static void compare_and_swap(void)
{
	atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 7, 7, 0x0102030405060708, 0x0102030405060708);
}

static void compare_fails(void)
{
	atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 7, 8, 9, 7);
}

static void adds_all_count(void)
{
	enum { N = 200 };
	struct pair p;

	open_with_atomics(&p);
	*word(&p.s, 0) = 1000;
	for (uint64_t i = 0; i < N;) {
		uint64_t burst = i + 8 < N ? i + 8 : N;

		for (uint64_t j = i; j < burst; j++)
			POST(&p.c, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = j, .at = 8 * j,
				.len = 8, .compare_add = 1, AT(&p.s, 0));
		for (; i < burst; i++)
			wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	}
	for (uint64_t i = 0; i < N; i++)
		MUST_EQ(*word(&p.c, 8 * i), 1000 + i);
	MUST_EQ(*word(&p.s, 0), 1000 + N);
	pair_close(&p);
}

static void misaligned(void)
{
	struct pair p;

	open_with_atomics(&p);
	struct op op = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.id = 1,
		.len = 8,
		.compare_add = 1,
		AT(&p.s, 4),
	};
	int ret = op_post(&p.c, &op);
	if (ret == 0) {
		struct ibv_wc wc = wc_take(p.c.scq);
		MUST(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_ACCESS_ERR);
	} else {
		MUST_EQ(ret, EINVAL);
	}
	MUST(zeroed(p.s.buf, 64));
	pair_close(&p);
}

static void no_permission(void)
{
	struct pair p;

	PAIR(&p, .access =
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	POST(&p.c, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = 1, .len = 8, .compare_add = 1,
		AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	MUST(zeroed(p.s.buf, 64));
	pair_close(&p);
}

const struct check atomic_checks[] = { { "FETCH_AND_ADD adds, and brings the value before",
					       "ibv_post_send(3)", fetch_and_add },
	{ "adding wraps at 64 bits", "ibv_post_send(3), IBTA 9.4.5", add_wraps },
	{ "CMP_AND_SWP swaps when the value is the one compared with", "ibv_post_send(3)",
		compare_and_swap },
	{ "CMP_AND_SWP leaves another value, and brings it", "ibv_post_send(3)", compare_fails },
	{ "200 additions give 200 values", "ibv_post_send(3)", adds_all_count },
	{ "an address that is not a multiple of 8 is refused", "IBTA 9.4.5", misaligned,
		.differs = true },
	{ "a region without remote atomic access refuses: REM_ACCESS", "ibv_reg_mr(3)",
		no_permission },
	{ 0 } };

/* order */

static void completions_in_order(void)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
	struct pair p;

	PAIR(&p, .cqe = 256, .cap = { .max_send_wr = 64, .max_recv_wr = 64 });
	for (uint64_t i = 0; i < 10; i++)
		RECV(&p.s, i, 500000, 100);
	for (uint64_t i = 0; i < 50; i++)
		POST(&p.c, .opcode = opcodes[i % 5], .id = i, .len = i % 5 == 0 ? 20000 : 50,
			.at = 100000, AT(&p.s, 0));
	for (uint64_t i = 0; i < 50; i++)
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	for (uint64_t i = 0; i < 10; i++)
		wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* as many READs as that, all posted at once */
static void many_reads(struct pair *p, uint64_t count)
{
	enum { SIZE = 5000 };

	fill(p->s.buf, SIZE * count, 1);
	for (uint64_t i = 0; i < count; i++)
		POST(&p->c, .opcode = IBV_WR_RDMA_READ, .id = i, .at = SIZE * i, .len = SIZE,
			AT(&p->s, SIZE * i));
	for (uint64_t i = 0; i < count; i++)
		wc_expect(p->c.scq, i, IBV_WC_SUCCESS);
	MUST(filled(p->c.buf, SIZE * count, 1));
	pair_close(p);
}

static void reads_beyond_depth(void)
{
	struct pair p;

	PAIR(&p, .depth = 1, .cqe = 256, .cap = { .max_send_wr = 64 });
	many_reads(&p, 20);
}

static void reads_of_unequal_depth(void)
{
	struct rdma_conn_param param;
	struct pair p;

	pair_listen(&p, &(struct pair_options){ .cqe = 256, .cap = { .max_send_wr = 64 } });
	pair_resolve(&p);
	pair_request(&p);
	param = pair_param(&p);
	param.responder_resources = 2;
	MUST_EQ(rdma_accept(p.s.id, &param), 0);
	pair_established(&p);
	many_reads(&p, 16);
}

static void write_then_read(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	for (unsigned int i = 0; i < 20; i++) {
		fill(p.c.buf, 5000, i);
		POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .silent = true, .len = 5000, AT(&p.s, 0));
		POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = i, .at = 50000, .len = 5000,
			AT(&p.s, 0));
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
		MUST(filled(p.c.buf + 50000, 5000, i));
	}
	pair_close(&p);
}

static void write_then_send(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	for (unsigned int i = 0; i < 20; i++) {
		RECV(&p.s, i, 500000, 8);
		fill(p.c.buf, 50000, i);
		POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .silent = true, .len = 50000, AT(&p.s, 0));
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
		wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
		MUST(filled(p.s.buf, 50000, i));
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

static void fenced(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	RECV(&p.s, 5, 50000, 100000);
	fill(p.s.buf, 40000, 3);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .silent = true, .len = 40000, AT(&p.s, 0));
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 2, .len = 40000, .flags = IBV_SEND_FENCE);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	wc_expect(p.s.rcq, 5, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf + 50000, 40000, 3));
	pair_close(&p);
}

static void receives_in_order(void)
{
	struct pair p;

	PAIR(&p, .cqe = 256, .cap = { .max_send_wr = 64, .max_recv_wr = 64 });
	for (uint64_t i = 0; i < 40; i++)
		RECV(&p.s, i, 1000 * i, 1000);
	for (uint64_t i = 0; i < 40; i++) {
		fill(p.c.buf + 1000 * i, 1000, (unsigned int)i);
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .at = 1000 * i, .len = 20 * i);
	}
	for (uint64_t i = 0; i < 40; i++) {
		MUST_EQ(wc_expect(p.s.rcq, i, IBV_WC_SUCCESS).byte_len, 20 * i);
		MUST(filled(p.s.buf + 1000 * i, 20 * i, (unsigned int)i));
	}
	pair_close(&p);
}

static void blocked_send_blocks(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&p.s, 0));
	wc_none(p.c.scq);
	POST(&p.s, .opcode = IBV_WR_RDMA_READ, .id = 3, .len = 8, AT(&p.c, 0));
	wc_expect(p.s.scq, 3, IBV_WC_SUCCESS);
	RECV(&p.s, 4, 64, 8);
	wc_expect(p.s.rcq, 4, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

const struct check order_checks[] = { { "requests complete in the order they were posted",
					      "IBTA 10.8.5", completions_in_order },
	{ "READs beyond the depth wait for their turn", "rdma_connect(3)", reads_beyond_depth },
	{ "so do those beyond the peer's depth", "rdma_accept(3)", reads_of_unequal_depth },
	{ "READ sees what an earlier WRITE has stored", "IBTA 9.5", write_then_read },
	{ "when a message is received, earlier WRITEs are there", "IBTA 9.5", write_then_send },
	{ "a fenced SEND waits for the READ before it", "ibv_post_send(3)", fenced },
	{ "receives are used in the order they were posted", "ibv_post_recv(3)",
		receives_in_order },
	{ "a SEND without a receive holds up what is behind it, not the other direction",
		"IBTA 9.7.5.2.8", blocked_send_blocks },
	{ 0 } };
