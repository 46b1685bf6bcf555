/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* fetch HOST PORT - print the text that a peer offers in its memory */
#include <stdio.h>
#include <librpma_uv.h>

static struct fetch {
	rpma_uv_op_t op; /* room for one operation at a time: no heap */
	rpma_uv_reactor_t reactor;
	rpma_uv_conn_t *conn;
	struct rpma_peer *peer;
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *remote;
	const char *host, *port;
	char text[4096];
	int status;
} fetch;

/* whatever happens ends here; what is on the reactor closes with it */
static void finish(rpma_uv_future_t *f, int status)
{
	if (status)
		fprintf(stderr, "%s\n",
			f ? rpma_uv_strerror(f) : uv_strerror(status));
	fetch.status = status;
	rpma_uv_reactor_close(&fetch.reactor, NULL, NULL);
}

static void on_read(rpma_uv_future_t *f, int status)
{
	if (!status)
		printf("%.*s\n", (int)sizeof(fetch.text), fetch.text);
	finish(f, status);
}

static void on_connect(rpma_uv_future_t *f, int status)
{
	rpma_uv_local_t dst = { fetch.mr, 0 };
	struct rpma_conn_private_data pd;

	if (status) {
		finish(f, status);
		return;
	}
	if (rpma_uv_conn_private_data(fetch.conn, &pd) ||
		rpma_mr_remote_from_descriptor(
			pd.ptr, pd.len, &fetch.remote)) {
		finish(NULL, UV_EPROTO);
		return;
	}
	rpma_uv_then(rpma_uv_read(fetch.conn, &fetch.op, dst,
			     (rpma_uv_remote_t){ fetch.remote, 0 },
			     sizeof(fetch.text), 0),
		on_read, NULL);
}

static void on_peer(rpma_uv_future_t *f, int status)
{
	if (status) {
		finish(f, status);
		return;
	}
	if (rpma_mr_reg(fetch.peer, fetch.text, sizeof(fetch.text),
		    RPMA_MR_USAGE_READ_DST, &fetch.mr)) {
		finish(NULL, UV_ENOMEM);
		return;
	}
	status = rpma_uv_conn_new(
		&fetch.reactor, fetch.peer, NULL, &fetch.conn);
	if (status) {
		finish(NULL, status);
		return;
	}
	rpma_uv_then(rpma_uv_connect(fetch.conn, &fetch.op, fetch.host,
			     fetch.port, NULL),
		on_connect, NULL);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();

	if (argc != 3 || rpma_uv_reactor_init(loop, &fetch.reactor, NULL))
		return 2;
	fetch.host = argv[1];
	fetch.port = argv[2];
	rpma_uv_then(
		rpma_uv_peer_new(&fetch.reactor, &fetch.op, fetch.host,
			RPMA_UTIL_IBV_CONTEXT_REMOTE, &fetch.peer),
		on_peer, NULL);
	uv_run(loop, UV_RUN_DEFAULT); /* until the reactor is closed */
	rpma_mr_remote_delete(&fetch.remote);
	rpma_mr_dereg(&fetch.mr);
	return rpma_peer_delete(&fetch.peer) || uv_loop_close(loop) ||
	       fetch.status;
}
