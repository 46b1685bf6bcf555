/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * stop.c - operations that will never be done, and what ends them
 *
 * Proven: a posted receive cannot be recalled, and its connection goes on; waiting for it can be
 *         given up, with any and a sleep; forced, it ends UV_ECANCELED, or UV_ETIMEDOUT by a
 *         time-out, and everything else of its connection UV_ECONNABORTED, each once, but for what
 *         had completed. Nothing is left over.
 */

#include "live.h"

#define PORT  "7309"
#define SIZE  65536
#define READS 200

static const struct live_offer offer = { .port = PORT, .size = SIZE, .seed = 5, .clients = 2 };

static struct {
	struct live_node node;
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *remote;
	rpma_uv_conn_t *conn;
	rpma_uv_op_t recv, other, end;
	unsigned succeeded, aborted;
} client;

static int serve(const char *addr)
{
	return live_serve(addr, &offer);
}

static rpma_uv_reactor_stats_t stats(void)
{
	rpma_uv_reactor_stats_t s;

	rpma_uv_reactor_stats(&client.node.reactor, &s);
	return s;
}

static rpma_uv_future_t *receive(rpma_uv_op_t *op)
{
	return rpma_uv_recv(client.conn, op, (rpma_uv_local_t){ client.mr, 0 }, 64);
}

static rpma_uv_future_t *read_some(rpma_uv_op_t *op)
{
	return rpma_uv_read(client.conn, op, (rpma_uv_local_t){ client.mr, 64 },
		(rpma_uv_remote_t){ client.remote, 0 }, 4096, 0);
}

static void sleep_some(uint64_t ms)
{
	AWAIT(rpma_uv_sleep(&client.node.reactor, NULL, ms), 0);
}

/* soft: the waiting stops, the receive does not, nor does its connection */
static void softly(void)
{
	rpma_uv_future_t *inputs[2] = { receive(&client.recv), NULL };
	uint64_t refused = stats().timeouts_refused;
	rpma_uv_any_t any;

	inputs[1] = rpma_uv_sleep(&client.node.reactor, NULL, 20);
	AWAIT(rpma_uv_any(&client.node.reactor, &any, inputs, 2, RPMA_UV_ANY_CANCEL), 0);
	CHECK_INT(any.winner, 1);
	CHECK_INT(client.recv.future.status, RPMA_UV_PENDING);
	CHECK_INT(rpma_uv_cancel(&client.recv.future, 0), UV_EBUSY);
	CHECK_OK(rpma_uv_timeout(&client.recv.future, 5, 0));
	sleep_some(20);
	CHECK_INT(stats().timeouts_refused, refused + 1);
	CHECK_INT(client.recv.future.status, RPMA_UV_PENDING);
	AWAIT(read_some(NULL), 0);
	live_pattern_check((char *)client.node.reactor.data + 64, 4096, 5, 0);
}

static void read_done(rpma_uv_future_t *f, int status)
{
	(void)f;
	if (status == 0) {
		client.succeeded++;
	} else {
		CHECK_INT(status, UV_ECONNABORTED);
		client.aborted++;
	}
}

/* by force, in the midst of reads: by hand, or by a time-out */
static void by_force(bool by_timeout)
{
	uint64_t forced = stats().cancels_forced;

	client.succeeded = client.aborted = 0;
	(void)receive(&client.other);
	(void)rpma_uv_conn_end(client.conn, &client.end);
	for (unsigned i = 0; i < READS; i++)
		CHECK(rpma_uv_then(read_some(NULL), read_done, NULL) != NULL);
	if (by_timeout)
		CHECK_OK(rpma_uv_timeout(&client.recv.future, 0, RPMA_UV_FORCE));
	else
		CHECK_OK(rpma_uv_cancel(&client.recv.future, RPMA_UV_FORCE));
	AWAIT(&client.recv.future, by_timeout ? UV_ETIMEDOUT : UV_ECANCELED);
	AWAIT(&client.other.future, UV_ECONNABORTED);
	AWAIT(&client.end.future, UV_ECONNABORTED);
	CHECK_INT(stats().cancels_forced, forced + 1);
	rpma_uv_conn_close(client.conn, NULL, NULL);
	CHECK_OK(uv_run(&client.node.loop, UV_RUN_DEFAULT));
	CHECK_INT(client.succeeded + client.aborted, READS);
	CHECK_INT(stats().posted, 0);
	CHECK_INT(stats().slab_used, 0);
	CHECK_INT(stats().holds, 0);
	printf("%u of %u reads were done before\n", client.succeeded, READS);
}

int main(void)
{
	const char *addr = live_addr();
	char *memory;

	live_fork(serve, addr);
	live_node_open(&client.node, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, NULL);
	memory = live_memory(SIZE);
	client.node.reactor.data = memory;
	CHECK_OK(rpma_mr_reg(client.node.peer, memory, SIZE,
		RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_RECV, &client.mr));
	for (int i = 0; i < 2; i++) {
		client.conn = live_connect(&client.node, addr, PORT, &client.remote);
		softly();
		by_force(i == 1);
		CHECK_OK(rpma_mr_remote_delete(&client.remote));
	}
	CHECK_OK(rpma_mr_dereg(&client.mr));
	live_node_close(&client.node);
	live_join();
	return 0;
}
