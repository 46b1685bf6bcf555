/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * instructions.c - what callgrind(1) counts for bench/instructions.sh
 *
 *     ADDR=ADDRESS instructions
 *
 * The connection is a real one, but its device's posts and polls are replaced by some that do next
 * to nothing. Each call of the library is then made COUNT times, and 2 * COUNT times; after either a
 * dump of callgrind's counters, named "CALL TIMES". The difference of the two is that of COUNT
 * calls, and nothing else.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <valgrind/callgrind.h>

#include "pair.h"

#define COUNT 1000
#define PORT  "7331"
#define LEN   64
#define MANY  16

static struct ibv_context *ibv_ctx;
static struct rpma_peer *peer;
static struct pair pair;
static struct rpma_cq *cq;
static struct region here, there;

/* the device */

static unsigned long posted;
static int found; /* by each poll */

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	(void)qp;
	(void)wr;
	(void)bad_wr;
	posted++;
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	(void)qp;
	(void)wr;
	(void)bad_wr;
	posted++;
	return 0;
}

static int poll_cq(struct ibv_cq *ibv_cq, int num_entries, struct ibv_wc *wc)
{
	(void)ibv_cq;
	(void)num_entries;
	(void)wc;
	posted++;
	return found;
}

/* the calls */

#define ALWAYS RPMA_F_COMPLETION_ALWAYS

static int call_read(void)
{
	return rpma_read(pair.active, here.local, 0, there.remote, 0, LEN, ALWAYS, &pair);
}

static int call_write(void)
{
	return rpma_write(pair.active, there.remote, 0, here.local, 0, LEN, ALWAYS, &pair);
}

static int call_write_with_imm(void)
{
	return rpma_write_with_imm(
		pair.active, there.remote, 0, here.local, 0, LEN, ALWAYS, 1, &pair);
}

static int call_atomic_write(void)
{
	return rpma_atomic_write(pair.active, there.remote, 0, here.bytes, ALWAYS, &pair);
}

static int call_flush(void)
{
	return rpma_flush(
		pair.active, there.remote, 0, LEN, RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS, &pair);
}

static int call_send(void)
{
	return rpma_send(pair.active, here.local, 0, LEN, ALWAYS, &pair);
}

static int call_send_with_imm(void)
{
	return rpma_send_with_imm(pair.active, here.local, 0, LEN, ALWAYS, 1, &pair);
}

static int call_recv(void)
{
	return rpma_recv(pair.active, here.local, 0, LEN, &pair);
}

static int call_get_wc(void)
{
	struct ibv_wc wc;

	found = 1;
	return rpma_cq_get_wc(cq, 1, &wc, NULL);
}

static int call_get_wc_many(void)
{
	struct ibv_wc wc[MANY];
	int count;

	found = MANY;
	return rpma_cq_get_wc(cq, MANY, wc, &count);
}

static int call_get_wc_empty(void)
{
	struct ibv_wc wc;

	found = 0;
	return rpma_cq_get_wc(cq, 1, &wc, NULL) == RPMA_E_NO_COMPLETION ? 0 : RPMA_E_UNKNOWN;
}

static const struct {
	const char *name;
	int (*call)(void);
} calls[] = {
	{ "rpma_read", call_read },
	{ "rpma_write", call_write },
	{ "rpma_send", call_send },
	{ "rpma_cq_get_wc", call_get_wc },
	{ "rpma_cq_get_wc(many)", call_get_wc_many },
	{ "rpma_cq_get_wc(empty)", call_get_wc_empty },
	{ "rpma_write_with_imm", call_write_with_imm },
	{ "rpma_atomic_write", call_atomic_write },
	{ "rpma_flush", call_flush },
	{ "rpma_send_with_imm", call_send_with_imm },
	{ "rpma_recv", call_recv },
};

static void repeat(const char *name, int (*call)(void), unsigned times)
{
	char dump[64];

	posted = 0;
	CALLGRIND_ZERO_STATS;
	for (unsigned i = 0; i < times; i++)
		CHECK_OK(call());
	snprintf(dump, sizeof(dump), "%s %u", name, times);
	CALLGRIND_DUMP_STATS_AT(dump);
	CHECK_INT(posted, times);
}

static void measure_all(void)
{
	const struct ibv_context_ops real = ibv_ctx->ops;

	ibv_ctx->ops.post_send = post_send;
	ibv_ctx->ops.post_recv = post_recv;
	ibv_ctx->ops.poll_cq = poll_cq;
	CALLGRIND_START_INSTRUMENTATION;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		CHECK_OK(calls[i].call()); /* its first call binds symbols */
		repeat(calls[i].name, calls[i].call, COUNT);
		repeat(calls[i].name, calls[i].call, 2 * COUNT);
	}
	CALLGRIND_STOP_INSTRUMENTATION;
	ibv_ctx->ops = real;
}

int main(void)
{
	const char *addr = live_addr();
	struct rpma_ep *ep;

	CHECK_OK(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_WARNING));
	CHECK_OK(rpma_utils_get_ibv_context(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, &ibv_ctx));
	CHECK_OK(rpma_peer_new(ibv_ctx, &peer));
	CHECK_OK(rpma_ep_listen(peer, addr, PORT, &ep));
	pair_connect(&pair, peer, ep, addr, PORT, NULL, NULL);
	CHECK_OK(rpma_conn_get_cq(pair.active, &cq));
	region_new(&here, peer, LEN);
	region_new(&there, peer, LEN);

	measure_all();

	pair_part(&pair);
	region_delete(&here);
	region_delete(&there);
	CHECK_OK(rpma_ep_shutdown(&ep));
	CHECK_OK(rpma_peer_delete(&peer));
	return 0;
}
