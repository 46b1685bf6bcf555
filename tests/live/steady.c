/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * steady.c - in steady state nothing is allocated
 *
 * Proven: between the first hundred and the last hundred of 10,240 chunks that are read remotely
 *         and
 * written to a file, the process makes no heap call at all, neither we nor a library below us.
 */

#include <fcntl.h>
#include <sys/stat.h>

#include "heap.h"
#include "live.h"

#define PORT   "7303"
#define CHUNK  4096
#define CHUNKS 10240
#define REGION ((size_t)CHUNK * CHUNKS)

static int server(const char *addr)
{
	const struct live_offer offer = { .port = PORT, .size = REGION, .seed = 2, .clients = 1 };

	return live_serve(addr, &offer);
}

static unsigned long calls_at_start, calls_in_steady_state, chunks_seen;

static int on_chunk(rpma_uv_transfer_t *t, void *base, size_t len, uint64_t offset, void *data)
{
	(void)t;
	(void)data;
	live_pattern_check(base, len, 2, offset);
	chunks_seen++;
	if (chunks_seen == 100)
		calls_at_start = heap_calls();
	else if (chunks_seen == CHUNKS - 100)
		calls_in_steady_state = heap_calls() - calls_at_start;
	return 0;
}

int main(void)
{
	const char *addr = live_addr(), *directory = getenv("NVME");
	static struct live_node node;
	const rpma_uv_pool_opts_t pool_opts = {
		.size = sizeof(pool_opts), .count = 16, .chunk = CHUNK
	};
	const rpma_uv_transfer_opts_t opts = {
		.size = sizeof(opts),
		.on_chunk = on_chunk,
		.group_bytes = 1 << 20, /* syncs belong to the steady state */
	};
	rpma_uv_transfer_stat_t done;
	rpma_uv_transfer_t *transfer;
	struct rpma_mr_remote *remote;
	rpma_uv_file_t *file;
	rpma_uv_conn_t *conn;
	rpma_uv_pool_t *pool;
	char path[256];
	struct stat st;

	if (!HEAP_IS_COUNTED) {
		printf("a sanitizer has replaced the heap\n");
		return LIVE_SKIP;
	}
	if (directory == NULL) {
		printf("no NVME: no place for the file\n");
		return LIVE_SKIP;
	}
	snprintf(path, sizeof(path), "%s/steady.out", directory);
	live_fork(server, addr);
	live_node_open(&node, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, NULL);
	conn = live_connect(&node, addr, PORT, &remote);
	AWAIT(rpma_uv_pool_new(&node.reactor, &node.op, node.peer, &pool_opts, &pool), 0);
	AWAIT(rpma_uv_file_open(&node.reactor, &node.op, path, O_CREAT | O_TRUNC | O_WRONLY, 0600,
		      RPMA_UV_FILE_DIRECT, &file),
		0);
	CHECK_OK(rpma_uv_transfer_new(pool, &opts, &transfer));
	AWAIT(rpma_uv_pull(
		      transfer, &node.op, conn, (rpma_uv_remote_t){ remote, 0 }, REGION, file, 0),
		0);
	rpma_uv_transfer_stat(transfer, &done);
	printf("figure: heap calls over %lu chunk reads and writes: %lu (%u syncs among them)\n",
		chunks_seen - 200, calls_in_steady_state, done.syncs);
	CHECK(calls_at_start > 0); /* the library's beginnings are counted */
	CHECK_INT(chunks_seen, CHUNKS);
	CHECK_INT(calls_in_steady_state, 0);
	CHECK_INT(done.durable, REGION);
	CHECK_INT(done.watermark, REGION);
	CHECK_OK(stat(path, &st));
	CHECK_INT(st.st_size, REGION);
	CHECK_OK(rpma_uv_transfer_delete(&transfer));
	CHECK_OK(rpma_mr_remote_delete(&remote));
	live_node_close(&node);
	live_join();
	return 0;
}
