/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * many ADDR PORT - read a region over several connections at once, each of which has a few
 * operations of its own: a new read starts where one has ended, so nothing piles up anywhere
 */
#include "session.h"

#define CONNS 4
#define DEPTH 8
#define CHUNK 4096
#define TOTAL (1 << 20)

static struct session s;
static struct rpma_mr_local *mr;
static char bytes[TOTAL];
static size_t next_offset; /* of what nobody has asked for yet */
static unsigned done, failed;

struct lane {
	rpma_uv_conn_t *conn;
	struct rpma_mr_remote *offer;
	rpma_uv_op_t ops[DEPTH];
	unsigned reads;
};

static void read_next(struct lane *lane, rpma_uv_op_t *op);

/* the future is the first member of its operation */
static void on_read(rpma_uv_future_t *f, int status)
{
	struct lane *lane = f->data;

	if (status) {
		fprintf(stderr, "%s\n", rpma_uv_strerror(f));
		failed++;
		return;
	}
	done++;
	lane->reads++;
	read_next(lane, (rpma_uv_op_t *)f);
}

static void read_next(struct lane *lane, rpma_uv_op_t *op)
{
	const size_t offset = next_offset;

	if (offset == TOTAL)
		return;
	next_offset += CHUNK;
	rpma_uv_then(rpma_uv_read(lane->conn, op,
			     (rpma_uv_local_t){ mr, offset },
			     (rpma_uv_remote_t){ lane->offer, offset },
			     CHUNK, 0),
		on_read, lane);
}

int main(int argc, char **argv)
{
	struct lane lanes[CONNS] = { { 0 } };
	int i, k;

	if (argc != 3)
		return 2;
	session_open(&s, argv[1], argv[2]);
	must(rpma_mr_reg(
		s.peer, bytes, TOTAL, RPMA_MR_USAGE_READ_DST, &mr));
	for (i = 0; i < CONNS; i++) {
		must(rpma_uv_conn_new(
			&s.reactor, s.peer, NULL, &lanes[i].conn));
		lanes[i].offer =
			session_connect(lanes[i].conn, argv[1], argv[2]);
	}

	for (i = 0; i < CONNS; i++) {
		for (k = 0; k < DEPTH; k++)
			read_next(&lanes[i], &lanes[i].ops[k]);
	}
	uv_run(s.loop,
		UV_RUN_DEFAULT); /* until no future is left: a READY connection is no work */

	for (i = 0; i < CONNS; i++)
		printf("connection %d: %u reads\n", i, lanes[i].reads);
	printf("%u reads, %u failed\n", done, failed);
	session_close(&s);
	for (i = 0; i < CONNS; i++)
		must(rpma_mr_remote_delete(&lanes[i].offer));
	must(rpma_mr_dereg(&mr));
	return rpma_peer_delete(&s.peer) != 0 || failed ||
	       done != TOTAL / CHUNK;
}
