/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * idle.c - an idle reactor sleeps, and a loop without work ends
 *
 * Proven: with a READY connection open and nothing to do, the loop wakes up in a second for
 *         nothing but
 * the test's own timer; a READY connection alone does not keep the loop alive; work does, and the
 * loop ends when it is done.
 */

#include "live.h"

#define PORT "7302"

static rpma_uv_op_t end_op;

static void on_end(rpma_uv_future_t *f, int status)
{
	CHECK_INT(status, UV_ECONNRESET);
	rpma_uv_conn_close(f->data, NULL, NULL);
}

static void on_request(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	struct live_node *node = data;
	rpma_uv_conn_t *conn;

	CHECK_OK(rpma_uv_conn_new(&node->reactor, node->peer, NULL, &conn));
	rpma_uv_then(rpma_uv_conn_end(conn, &end_op), on_end, conn);
	rpma_uv_release(rpma_uv_accept(req, NULL, conn, NULL));
	rpma_uv_ep_close(ep, NULL, NULL);
}

static int server(const char *addr)
{
	static struct live_node node;
	rpma_uv_ep_t *ep;

	live_node_open(&node, addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL);
	CHECK_OK(rpma_uv_listen(&node.reactor, node.peer, addr, PORT, 0, on_request, &node, &ep));
	live_ready();
	CHECK_OK(uv_run(&node.loop, UV_RUN_DEFAULT));
	live_node_close(&node);
	return 0;
}

/* one prepare callback a turn of the loop: the poll behind it is what wakes up */
static unsigned turns;

static void count_turn(uv_prepare_t *prepare)
{
	(void)prepare;
	turns++;
}

static void time_is_up(uv_timer_t *timer)
{
	(void)timer;
}

int main(void)
{
	const char *addr = live_addr();
	/* spinning is not what is measured here */
	const rpma_uv_reactor_opts_t opts = { .size = sizeof(opts), .spin_us = -1 };
	static struct live_node node;
	rpma_uv_reactor_stats_t before, after;
	rpma_uv_conn_t *conn;
	uv_prepare_t prepare;
	uv_timer_t timer;

	live_fork(server, addr);
	live_node_open(&node, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, &opts);
	CHECK_OK(rpma_uv_conn_new(&node.reactor, node.peer, NULL, &conn));
	AWAIT(rpma_uv_connect(conn, &node.op, addr, PORT, NULL), 0);
	AWAIT(rpma_uv_read(conn, &node.op, (rpma_uv_local_t){ NULL, 0 },
		      (rpma_uv_remote_t){ NULL, 0 }, 0, 0),
		0);

	/* no work: the loop ends at once, the connection stays */
	CHECK_OK(uv_run(&node.loop, UV_RUN_DEFAULT));
	rpma_uv_reactor_stats(&node.reactor, &before);
	CHECK_INT(before.conns_ready, 1);
	CHECK_INT(before.futures_pending, 0);

	/* a second in which nothing happens but the timer: one sleep, ended by it */
	uv_prepare_init(&node.loop, &prepare);
	uv_timer_init(&node.loop, &timer);
	uv_prepare_start(&prepare, count_turn);
	uv_unref((uv_handle_t *)&prepare);
	uv_timer_start(&timer, time_is_up, 1000, 0);
	CHECK_OK(uv_run(&node.loop, UV_RUN_DEFAULT));
	rpma_uv_reactor_stats(&node.reactor, &after);
	printf("figure: turns of the loop in an idle second: %u, the timer's\n", turns);
	CHECK(turns >= 1);
	CHECK(turns <= 2); /* the timer may fire in the turn after its poll */
	CHECK_INT(after.cq_events, before.cq_events);
	CHECK_INT(after.cm_events, before.cm_events);
	CHECK_INT(after.spins, before.spins);

	/* work keeps the loop alive until it is done, and no longer */
	CHECK(rpma_uv_read(conn, &node.op, (rpma_uv_local_t){ NULL, 0 },
		      (rpma_uv_remote_t){ NULL, 0 }, 0, 0) != NULL);
	CHECK_OK(uv_run(&node.loop, UV_RUN_DEFAULT));
	CHECK_OK(node.op.future.status);

	uv_close((uv_handle_t *)&prepare, NULL);
	uv_close((uv_handle_t *)&timer, NULL);
	live_node_close(&node);
	live_join();
	return 0;
}
