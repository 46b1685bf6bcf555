/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * client ADDR PORT TEXT - a client in the style of futures: it says TEXT, prints what comes back, and
 * then what the server offers
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <librpma_uv.h>

#define SIZE 64

/* run the loop until it is done; one line and the end when it failed */
static int64_t await(rpma_uv_future_t *f)
{
	int64_t result = 0;

	if (rpma_uv_wait(f, UINT64_MAX, &result)) {
		fprintf(stderr, "%s\n", rpma_uv_strerror(f));
		exit(1);
	}
	return result;
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	char said[SIZE] = "", heard[SIZE] = "", read[SIZE] = "";
	struct rpma_mr_local *said_mr, *heard_mr, *read_mr;
	struct rpma_conn_private_data pd;
	struct rpma_mr_remote *offer;
	rpma_uv_future_t *both[2];
	rpma_uv_op_t ops[2];
	rpma_uv_reactor_t reactor;
	struct rpma_peer *peer;
	rpma_uv_conn_t *conn;
	rpma_uv_all_t all;

	if (argc != 4 || rpma_uv_reactor_init(loop, &reactor, NULL))
		return 2;
	await(rpma_uv_peer_new(&reactor, ops, argv[1],
		RPMA_UTIL_IBV_CONTEXT_REMOTE, &peer));
	if (rpma_mr_reg(peer, said, SIZE, RPMA_MR_USAGE_SEND, &said_mr) ||
		rpma_mr_reg(peer, heard, SIZE, RPMA_MR_USAGE_RECV,
			&heard_mr) ||
		rpma_mr_reg(peer, read, SIZE, RPMA_MR_USAGE_READ_DST,
			&read_mr) ||
		rpma_uv_conn_new(&reactor, peer, NULL, &conn))
		return 1;
	await(rpma_uv_connect(conn, ops, argv[1], argv[2], NULL));
	if (rpma_uv_conn_private_data(conn, &pd) ||
		rpma_mr_remote_from_descriptor(pd.ptr, pd.len, &offer))
		return 1;

	/* the receive before the send, so that the answer finds it */
	strncpy(said, argv[3], SIZE - 1);
	both[0] = rpma_uv_recv(
		conn, &ops[0], (rpma_uv_local_t){ heard_mr, 0 }, SIZE);
	both[1] = rpma_uv_send(
		conn, &ops[1], (rpma_uv_local_t){ said_mr, 0 }, SIZE, 0);
	await(rpma_uv_all(&reactor, &all, both, 2));
	printf("echo: %s\n", heard);

	await(rpma_uv_read(conn, ops, (rpma_uv_local_t){ read_mr, 0 },
		(rpma_uv_remote_t){ offer, 0 }, SIZE, 0));
	printf("read: %s\n", read);

	await(rpma_uv_disconnect(conn, ops));
	rpma_uv_reactor_close(&reactor, NULL,
		NULL); /* and with it all that was made on it */
	uv_run(loop, UV_RUN_DEFAULT);
	rpma_mr_remote_delete(&offer);
	rpma_mr_dereg(&read_mr);
	rpma_mr_dereg(&heard_mr);
	rpma_mr_dereg(&said_mr);
	return rpma_peer_delete(&peer) != 0;
}
