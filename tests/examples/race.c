/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * race ADDR PORT - wait for all of several reads, but not longer than a while; and for an answer
 * that does not come
 */
#include "session.h"

#define READS 8
#define SIZE  4096

static struct session s;
static char bytes[READS * SIZE];

int main(int argc, char **argv)
{
	rpma_uv_future_t *reads[READS], *either[2];
	struct rpma_mr_local *mr;
	rpma_uv_op_t ops[READS], nap, recv;
	rpma_uv_all_t all;
	rpma_uv_any_t any;
	int i;

	if (argc != 3)
		return 2;
	session_open(&s, argv[1], argv[2]);
	must(rpma_mr_reg(s.peer, bytes, sizeof(bytes),
		RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_RECV, &mr));

	/* all of the reads, or a minute */
	for (i = 0; i < READS; i++)
		reads[i] = rpma_uv_read(s.conn, &ops[i],
			(rpma_uv_local_t){ mr, i * SIZE },
			(rpma_uv_remote_t){ s.offer, i * SIZE }, SIZE, 0);
	either[0] = rpma_uv_all(&s.reactor, &all, reads, READS);
	either[1] = rpma_uv_sleep(&s.reactor, &nap, 60000);
	await(rpma_uv_any(
		&s.reactor, &any, either, 2, RPMA_UV_ANY_CANCEL));
	printf("%s: %u of %u reads\n",
		any.winner == 0 ? "in time" : "too late",
		all.total - all.failed, all.total);

	/* nobody sends: the sleep wins, and the receive is left to the connection's end */
	either[0] = rpma_uv_recv(
		s.conn, &recv, (rpma_uv_local_t){ mr, 0 }, SIZE);
	either[1] = rpma_uv_sleep(&s.reactor, &nap, 20);
	await(rpma_uv_any(&s.reactor, &any, either, 2, 0));
	printf("%s\n", any.winner == 1 ? "no message" : "a message");

	session_close(&s);
	must(rpma_mr_dereg(&mr));
	return rpma_peer_delete(&s.peer) != 0;
}
