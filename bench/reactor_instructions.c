/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * reactor_instructions.c - what callgrind(1) counts for bench/reactor_instructions.sh
 *
 *     ADDR=ADDRESS reactor_instructions
 *
 * BATCH reads are started, all of them complete, and so on: on a reactor, and in a loop of verbs
 * alone. Their device is a list of what was posted, which the next poll takes back. Each of the two
 * goes COUNT rounds, and 2 * COUNT rounds; after either a dump of callgrind's counters, named
 * "WHAT READS".
 */

#include <valgrind/callgrind.h>

#include "live.h"

#define COUNT 200
#define BATCH 16
#define PORT  "7332"
#define LEN   4096

/* callgrind is slow, and no poll may be left out */
#define SPIN_US 10000000

static struct live_node node;
static rpma_uv_ep_t *ep;
static rpma_uv_conn_t *active, *passive;
static struct rpma_mr_local *local;
static struct rpma_mr_remote *remote;

/* the device */

static uint64_t posted[BATCH];
static unsigned posted_count;

static int device_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	(void)qp;
	for (; wr != NULL; wr = wr->next) {
		if (posted_count == BATCH) {
			*bad_wr = wr;
			return ENOMEM;
		}
		posted[posted_count++] = wr->wr_id;
	}
	return 0;
}

static int device_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	unsigned count = posted_count;

	(void)cq;
	CHECK(count <= (unsigned)num_entries);
	for (unsigned i = 0; i < count; i++) {
		wc[i].wr_id = posted[i];
		wc[i].status = IBV_WC_SUCCESS;
		wc[i].opcode = IBV_WC_RDMA_READ;
	}
	posted_count = 0;
	return (int)count;
}

static int device_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return 0;
}

/* on a reactor */

static rpma_uv_op_t ops[BATCH];
static unsigned done, rounds_left;

static void on_read(rpma_uv_future_t *f, int status);

static void reactor_round(void)
{
	for (unsigned i = 0; i < BATCH; i++)
		rpma_uv_then(rpma_uv_read(active, &ops[i], (rpma_uv_local_t){ local, 0 },
				     (rpma_uv_remote_t){ remote, 0 }, LEN, 0),
			on_read, NULL);
}

static void on_read(rpma_uv_future_t *f, int status)
{
	CHECK(status == 0 && f->result == LEN);
	if (++done < BATCH)
		return;
	done = 0;
	if (--rounds_left > 0)
		reactor_round();
}

static void reactor_rounds(unsigned rounds)
{
	rounds_left = rounds;
	reactor_round();
	while (rounds_left > 0)
		uv_run(&node.loop, UV_RUN_ONCE);
}

/* in a loop of verbs alone */

static struct ibv_qp bare_qp;
static struct ibv_cq bare_cq;
static struct ibv_sge bare_sge; /* of the region, as verbs have it */
static uint64_t bare_addr;
static uint32_t bare_rkey;

static void bare_round(void)
{
	struct ibv_send_wr wrs[BATCH], *bad_wr;
	struct ibv_sge sges[BATCH];
	struct ibv_wc wcs[BATCH];

	for (unsigned i = 0; i < BATCH; i++) {
		sges[i] = bare_sge;
		wrs[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i + 1 < BATCH ? &wrs[i + 1] : NULL,
			.sg_list = &sges[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { bare_addr, bare_rkey },
		};
	}
	CHECK(ibv_post_send(&bare_qp, wrs, &bad_wr) == 0);
	for (int left = BATCH; left > 0;) {
		const int count = ibv_poll_cq(&bare_cq, BATCH, wcs);

		for (int i = 0; i < count; i++)
			CHECK(wcs[i].status == IBV_WC_SUCCESS && wcs[i].wr_id < BATCH);
		left -= count;
	}
}

static void bare_rounds(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		bare_round();
}

/* measuring */

static void measure(const char *what, void (*run)(unsigned rounds))
{
	run(1);
	for (unsigned rounds = COUNT; rounds <= 2 * COUNT; rounds += COUNT) {
		char dump[64];

		CALLGRIND_ZERO_STATS;
		run(rounds);
		snprintf(dump, sizeof(dump), "%s %u", what, rounds * BATCH);
		CALLGRIND_DUMP_STATS_AT(dump);
	}
}

static void measure_both(struct ibv_context *ibv_ctx)
{
	const struct ibv_context_ops real = ibv_ctx->ops;

	/* on the real device: from here on the reactor polls, and needs no notification */
	reactor_rounds(1);
	bare_qp.context = bare_cq.context = ibv_ctx;
	ibv_ctx->ops.post_send = device_post_send;
	ibv_ctx->ops.poll_cq = device_poll_cq;
	ibv_ctx->ops.req_notify_cq = device_req_notify_cq;
	CALLGRIND_START_INSTRUMENTATION;
	measure("reactor", reactor_rounds);
	measure("bare", bare_rounds);
	CALLGRIND_STOP_INSTRUMENTATION;
	ibv_ctx->ops = real;
}

/* both ends */

static rpma_uv_op_t accept_op;

static void on_request(rpma_uv_ep_t *from, rpma_uv_conn_req_t *req, void *data)
{
	(void)from;
	(void)data;
	CHECK_OK(rpma_uv_conn_new(&node.reactor, node.peer, NULL, &passive));
	CHECK(rpma_uv_accept(req, &accept_op, passive, NULL) != NULL);
}

static void connect_both(const char *addr)
{
	rpma_uv_op_t op;
	struct rpma_conn_cfg *cfg;

	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_sq_size(cfg, BATCH));
	CHECK_OK(rpma_uv_listen(&node.reactor, node.peer, addr, PORT, 0, on_request, NULL, &ep));
	CHECK_OK(rpma_uv_conn_new(&node.reactor, node.peer, cfg, &active));
	AWAIT(rpma_uv_connect(active, &op, addr, PORT, NULL), 0);
	AWAIT(&accept_op.future, 0);
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
}

int main(void)
{
	const char *addr = live_addr();
	void *memory = live_memory(LEN);
	const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .spin_us = SPIN_US };
	struct live_descriptor descriptor;
	struct ibv_context *ibv_ctx;

	CHECK_OK(rpma_utils_get_ibv_context(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, &ibv_ctx));
	live_node_open(&node, addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, &opts);
	connect_both(addr);
	CHECK_OK(rpma_mr_reg(
		node.peer, memory, LEN, RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_READ_SRC, &local));
	live_descriptor_of(local, &descriptor);
	CHECK_OK(rpma_mr_remote_from_descriptor(descriptor.pd.ptr, descriptor.pd.len, &remote));
	bare_addr = bare_sge.addr = (uintptr_t)memory;
	bare_sge.length = LEN;

	measure_both(ibv_ctx);

	CHECK_OK(rpma_mr_remote_delete(&remote));
	CHECK_OK(rpma_mr_dereg(&local));
	live_node_close(&node);
	return 0;
}
