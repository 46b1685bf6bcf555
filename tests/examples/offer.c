/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* offer HOST PORT TEXT - let one peer read a text in memory */
#include <stdio.h>
#include <stdlib.h>
#include <librpma.h>

static void must(const char *what, int ret)
{
	if (ret) {
		fprintf(stderr, "%s: %s\n", what, rpma_err_2str(ret));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static char memory[4096], descriptor[UINT8_MAX];
	struct rpma_conn_private_data pdata = { .ptr = descriptor };
	enum rpma_conn_event event;
	struct ibv_context *device;
	struct rpma_conn_req *req;
	struct rpma_mr_local *mr;
	struct rpma_peer *peer;
	struct rpma_conn *conn;
	struct rpma_ep *ep;
	size_t len;

	if (argc != 4)
		return 2;
	snprintf(memory, sizeof(memory), "%s", argv[3]);
	must("device", rpma_utils_get_ibv_context(argv[1],
			       RPMA_UTIL_IBV_CONTEXT_LOCAL, &device));
	must("peer", rpma_peer_new(device, &peer));
	must("memory", rpma_mr_reg(peer, memory, sizeof(memory),
			       RPMA_MR_USAGE_READ_SRC, &mr));
	must("descriptor", rpma_mr_get_descriptor_size(mr, &len));
	must("descriptor", rpma_mr_get_descriptor(mr, descriptor));
	pdata.len = len;

	must("listen", rpma_ep_listen(peer, argv[1], argv[2], &ep));
	printf("listening on %s, port %s\n", argv[1], argv[2]);
	fflush(stdout);
	must("request", rpma_ep_next_conn_req(ep, NULL, &req));
	must("accept", rpma_conn_req_connect(&req, &pdata, &conn));
	do { /* ESTABLISHED comes first; nobody here notices the READ */
		must("event", rpma_conn_next_event(conn, &event));
		printf("%s\n", rpma_utils_conn_event_2str(event));
	} while (event == RPMA_CONN_ESTABLISHED);

	must("disconnect", rpma_conn_disconnect(conn));
	must("connection", rpma_conn_delete(&conn));
	must("listener", rpma_ep_shutdown(&ep));
	must("memory", rpma_mr_dereg(&mr));
	must("peer", rpma_peer_delete(&peer));
	return 0;
}
