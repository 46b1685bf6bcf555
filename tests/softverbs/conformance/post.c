/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* post.c - posting: full queues, lists, limits, unsignalled requests */

#include <errno.h>

#include "pair.h"

/* a SEND in a list */
static struct ibv_send_wr send_wr(uint64_t id, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){
		.wr_id = id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
}

static void sq_full(void)
{
	struct pair p;

	PAIR(&p, .cap = { .max_send_wr = 8 }, .cqe = 128);
	uint64_t size = p.c.cap.max_send_wr;
	for (uint64_t i = 0; i < size; i++)
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
	MUST_EQ(op_post(&p.c, &(struct op){ .opcode = IBV_WR_SEND, .id = size, .len = 8 }), ENOMEM);
	pair_close(&p);
}

static void sq_drains(void)
{
	struct pair p;

	PAIR(&p, .cap = { .max_send_wr = 8, .max_recv_wr = 64 }, .cqe = 128);
	uint64_t size = p.c.cap.max_send_wr;
	MUST(size < 64);
	for (uint64_t i = 0; i < size; i++)
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
	for (uint64_t i = 0; i <= size; i++)
		RECV(&p.s, i, 64, 8);
	wc_expect(p.c.scq, 0, IBV_WC_SUCCESS);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = size, .len = 8);
	for (uint64_t i = 1; i <= size; i++)
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void rq_full(void)
{
	struct pair p;

	PAIR(&p, .cap = { .max_recv_wr = 8 }, .cqe = 128);
	uint64_t size = p.c.cap.max_recv_wr;
	for (uint64_t i = 0; i < size; i++)
		RECV(&p.c, i, 0, 8);
	MUST_EQ(recv_post(&p.c, size, 0, 8), ENOMEM);
	pair_close(&p);
}

static void rq_reclaimed(void)
{
	struct pair p;

	PAIR(&p, .cap = { .max_recv_wr = 4 });
	uint64_t size = p.s.cap.max_recv_wr;
	for (uint64_t i = 0; i < size; i++)
		RECV(&p.s, i, 0, 8);
	for (uint64_t i = 0; i < 3 * size; i++) {
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
		wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
		RECV(&p.s, size + i, 0, 8);
	}
	pair_close(&p);
}

static void send_sges(void)
{
	struct ibv_sge sges[64];
	struct pair p;

	PAIR(&p, .depth = 1);
	unsigned int count = p.c.cap.max_send_sge + 1;
	MUST(count <= 64);
	for (unsigned int i = 0; i < count; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)p.c.buf, 1, p.c.mr->lkey };
	struct op op = { .opcode = IBV_WR_SEND, .sges = sges, .num_sge = (int)count };
	int ret = op_post(&p.c, &op);
	MUST(ret == EINVAL || ret == ENOMEM);
	pair_close(&p);
}

static void recv_sges(void)
{
	struct ibv_sge sges[64];
	struct ibv_recv_wr *bad = NULL;
	struct pair p;

	PAIR(&p, .depth = 1);
	unsigned int count = p.c.cap.max_recv_sge + 1;
	MUST(count <= 64);
	for (unsigned int i = 0; i < count; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)p.c.buf, 1, p.c.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = sges, .num_sge = (int)count };
	int ret = ibv_post_recv(p.c.id->qp, &wr, &bad);
	MUST(ret == EINVAL || ret == ENOMEM);
	MUST(bad == &wr);
	pair_close(&p);
}

static void list_in_order(void)
{
	struct ibv_send_wr wrs[6], *bad = NULL;
	struct pair p;

	PAIR(&p, .depth = 1);
	struct ibv_sge sge = { (uintptr_t)p.c.buf, 8, p.c.mr->lkey };
	for (uint64_t i = 0; i < 6; i++) {
		RECV(&p.s, i, 0, 8);
		wrs[i] = send_wr(i, &sge);
		wrs[i].next = i < 5 ? &wrs[i + 1] : NULL;
	}
	MUST_EQ(ibv_post_send(p.c.id->qp, wrs, &bad), 0);
	for (uint64_t i = 0; i < 6; i++)
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	for (uint64_t i = 0; i < 6; i++)
		wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void list_with_bad(void)
{
	struct ibv_send_wr wrs[4], *bad = NULL;
	struct ibv_sge sges[64];
	struct pair p;

	PAIR(&p, .depth = 1);
	for (int i = 0; i < 64; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)p.c.buf, 1, p.c.mr->lkey };
	for (uint64_t i = 0; i < 4; i++) {
		RECV(&p.s, i, 0, 8);
		wrs[i] = send_wr(i, sges);
		wrs[i].next = i < 3 ? &wrs[i + 1] : NULL;
	}
	wrs[2].num_sge = (int)p.c.cap.max_send_sge + 1;
	MUST(ibv_post_send(p.c.id->qp, wrs, &bad) > 0);
	MUST(bad == &wrs[2]);
	wc_expect(p.c.scq, 0, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	wc_none(p.c.scq);
	pair_close(&p);
}

static void recv_list(void)
{
	struct ibv_recv_wr wrs[3], *bad = NULL;
	struct pair p;

	PAIR(&p, .depth = 1);
	struct ibv_sge sge = { (uintptr_t)p.s.buf, 8, p.s.mr->lkey };
	for (uint64_t i = 0; i < 3; i++)
		wrs[i] = (struct ibv_recv_wr){ i, i < 2 ? &wrs[i + 1] : NULL, &sge, 1 };
	MUST_EQ(ibv_post_recv(p.s.id->qp, wrs, &bad), 0);
	for (uint64_t i = 0; i < 3; i++) {
		POST(&p.c, .opcode = IBV_WR_SEND, .id = i, .len = 8);
		wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

static void inline_limit(void)
{
	struct pair p;

	PAIR(&p, .cap = { .max_inline_data = 64 });
	uint32_t limit = p.c.cap.max_inline_data;
	fill(p.c.buf, limit + 1, 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = limit, .flags = IBV_SEND_INLINE,
		AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf, limit, 1));
	struct op op = {
		.opcode = IBV_WR_RDMA_WRITE,
		.len = limit + 1,
		.flags = IBV_SEND_INLINE,
		AT(&p.s, 0),
	};
	int ret = op_post(&p.c, &op);
	MUST(ret == EINVAL || ret == ENOMEM);
	pair_close(&p);
}

static void inline_reused(void)
{
	uint8_t data[64];
	struct pair p;

	PAIR(&p, .cap = { .max_inline_data = 64 });
	fill(data, 64, 2);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 64, .local = data, .lkey = 0xbadbad,
		.flags = IBV_SEND_INLINE);
	memset(data, 0, sizeof(data));
	RECV(&p.s, 2, 0, 64);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	wc_expect(p.s.rcq, 2, IBV_WC_SUCCESS);
	MUST(filled(p.s.buf, 64, 2));
	pair_close(&p);
}

static void unsignalled(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	for (uint64_t i = 0; i < 5; i++)
		POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = i, .len = 8, .silent = i != 3,
			AT(&p.s, 0));
	wc_expect(p.c.scq, 3, IBV_WC_SUCCESS);
	wc_none(p.c.scq);
	pair_close(&p);
}

static void all_signalled(void)
{
	struct pair p;

	PAIR(&p, .sig_all = true);
	for (uint64_t i = 0; i < 5; i++)
		POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = i, .len = 8, .silent = true,
			AT(&p.s, 0));
	for (uint64_t i = 0; i < 5; i++)
		wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void slots_reclaimed(void)
{
	struct pair p;

	PAIR(&p, .cap = { .max_send_wr = 8 });
	for (uint64_t i = 1; i <= 200; i++) {
		bool signalled = i % 4 == 0;

		POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = i, .len = 8, .silent = !signalled,
			AT(&p.s, 0));
		if (signalled)
			wc_expect(p.c.scq, i, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

static void both_queues_apart(void)
{
	struct pair p;

	PAIR(&p, .cap = { .max_send_wr = 4, .max_recv_wr = 4 });
	while (recv_post(&p.c, 1, 0, 8) == 0)
		;
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

const struct check post_checks[] = {
	{ "a send queue takes as many requests as it says, then ENOMEM",
		"ibv_create_qp(3), ibv_post_send(3)", sq_full },
	{ "once a completion has been polled, it takes another", "ibv_post_send(3)", sq_drains },
	{ "a receive queue takes as many as it says, then ENOMEM",
		"ibv_create_qp(3), ibv_post_recv(3)", rq_full },
	{ "once a receive has been polled, it takes another", "ibv_post_recv(3)", rq_reclaimed },
	{ "one scatter element too many fails a send", "ibv_create_qp(3), ibv_post_send(3)",
		send_sges },
	{ "one scatter element too many fails a receive, and names it",
		"ibv_create_qp(3), ibv_post_recv(3)", recv_sges },
	{ "a list is carried out in order", "ibv_post_send(3)", list_in_order },
	{ "of a list, what precedes the bad request is posted, and no more", "ibv_post_send(3)",
		list_with_bad },
	{ "a list of receives is used in order", "ibv_post_recv(3)", recv_list },
	{ "inline data go as far as the QP's limit", "ibv_create_qp(3), ibv_post_send(3)",
		inline_limit },
	{ "inline data need no region, and can be overwritten at once", "ibv_post_send(3)",
		inline_reused },
	{ "without IBV_SEND_SIGNALED, success gives no completion", "ibv_post_send(3)",
		unsignalled },
	{ "with sq_sig_all, every request gives one", "ibv_create_qp(3)", all_signalled },
	{ "a completion frees the unsignalled requests before it", "ibv_post_send(3)",
		slots_reclaimed },
	{ "a full receive queue does not hinder the send queue", "ibv_post_send(3)",
		both_queues_apart },
	{ 0 }
};
