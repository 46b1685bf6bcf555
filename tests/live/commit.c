/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * commit.c - bytes stored at a peer so that they last: write, flush, mark, flush
 *
 *   commit serve PORT MEDIUM TYPE             export MEDIUM to one client, until it is gone
 *   commit store PORT FILE TYPE [COMMAND]     store FILE there, and read it back; or, when it is
 *                                             stored, run COMMAND at once and end
 *
 * MEDIUM is the path of persistent memory (devdax), or "memory". TYPE is "persistent" or "visible",
 * and for the server also "both". The client says by which operations it was done,
 *
 *   committed: flush FLUSH, mark ATOMIC_WRITE
 *
 * and with "persistent" what is there when it says so outlasts a loss of power. The mark, 8 bytes
 * atop the medium, is set by an atomic write when all else has arrived; the file's bytes begin at
 * DATA_OFFSET. SERVER is the address to listen on and to connect to, or else ADDR. It runs on any
 * librpma.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "librpma.h"

#define MEDIUM_SIZE (4 << 20)
#define DATA_OFFSET 4096
#define PIECE       65536
#define PIECES_MAX  (MEDIUM_SIZE / PIECE)

static const char mark[8] = "COMMITED";

/* what travels as private data */
struct offer {
	uint8_t mr[21];
	uint8_t pcfg[1];
};

static const char *server_addr(void)
{
	const char *addr = getenv("SERVER");

	return addr ? addr : live_addr();
}

static struct rpma_peer *peer_of(const char *addr, enum rpma_util_ibv_context_type type)
{
	struct ibv_context *context;
	struct rpma_peer *peer;

	CHECK_OK(rpma_utils_get_ibv_context(addr, type, &context));
	CHECK_OK(rpma_peer_new(context, &peer));
	return peer;
}

static void event(struct rpma_conn *conn, enum rpma_conn_event expected)
{
	enum rpma_conn_event event;

	CHECK_OK(rpma_conn_next_event(conn, &event));
	CHECK_INT(event, expected);
}

static void *map(size_t size, int flags, int fd)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static void *memory_new(size_t size)
{
	return map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void *medium_map(const char *path)
{
	void *medium;
	int fd;

	if (strcmp(path, "memory") == 0)
		return memory_new(MEDIUM_SIZE);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	medium = map(MEDIUM_SIZE, MAP_SHARED, fd);
	close(fd);
	return medium;
}

static void offer_of(const struct rpma_mr_local *mr, struct offer *offer)
{
	struct rpma_peer_cfg *pcfg;
	size_t size;

	CHECK_OK(rpma_mr_get_descriptor_size(mr, &size));
	CHECK_INT(size, sizeof(offer->mr));
	CHECK_OK(rpma_mr_get_descriptor(mr, offer->mr));
	CHECK_OK(rpma_peer_cfg_new(&pcfg));
	CHECK_OK(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true));
	CHECK_OK(rpma_peer_cfg_get_descriptor(pcfg, offer->pcfg));
	CHECK_OK(rpma_peer_cfg_delete(&pcfg));
}

static int serve(const char *port, const char *path, const char *type)
{
	int usage = RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC;
	const char *addr = server_addr();
	struct rpma_peer *peer = peer_of(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL);
	void *medium = medium_map(path);
	struct rpma_conn_private_data pd;
	struct rpma_mr_local *mr;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	struct rpma_ep *ep;
	struct offer offer;

	if (strcmp(type, "visible") != 0)
		usage |= RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
	if (strcmp(type, "persistent") != 0)
		usage |= RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
	CHECK_OK(rpma_mr_reg(peer, medium, MEDIUM_SIZE, usage, &mr));
	offer_of(mr, &offer);
	CHECK_OK(rpma_ep_listen(peer, addr, port, &ep));
	printf("listening\n");
	fflush(stdout);
	CHECK_OK(rpma_ep_next_conn_req(ep, NULL, &req));
	pd = (struct rpma_conn_private_data){ &offer, sizeof(offer) };
	CHECK_OK(rpma_conn_req_connect(&req, &pd, &conn));
	event(conn, RPMA_CONN_ESTABLISHED);
	CHECK_OK(rpma_ep_shutdown(&ep));
	event(conn, RPMA_CONN_CLOSED);
	CHECK_OK(rpma_conn_disconnect(conn));
	CHECK_OK(rpma_conn_delete(&conn));
	CHECK_OK(rpma_mr_dereg(&mr));
	CHECK_OK(rpma_peer_delete(&peer));
	return 0;
}

static const char *opcode_name(int opcode)
{
	switch (opcode) {
	case IBV_WC_RDMA_READ:
		return "READ";
	case IBV_WC_RDMA_WRITE:
		return "WRITE";
	case 8: /* the names of both came with rdma-core 45 */
		return "FLUSH";
	case 9:
		return "ATOMIC_WRITE";
	default:
		return "another operation";
	}
}

struct store {
	struct rpma_peer *peer;
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *remote;
	enum rpma_flush_type type;
	char *bytes;
	size_t size;
};

/* waits for the next completion, of a success: its opcode */
static const char *completion(struct store *s, const void *op_context)
{
	struct ibv_wc wc;
	int ret;

	while ((ret = rpma_cq_get_wc(s->cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION)
		CHECK_OK(rpma_cq_wait(s->cq));
	CHECK_OK(ret);
	if (wc.status != IBV_WC_SUCCESS)
		fprintf(stderr, "status: %s\n", ibv_wc_status_str(wc.status));
	CHECK_INT(wc.status, IBV_WC_SUCCESS);
	CHECK(wc.wr_id == (uintptr_t)op_context);
	return opcode_name((int)wc.opcode);
}

static const char *flush(struct store *s, size_t offset, size_t len)
{
	CHECK_OK(rpma_flush(
		s->conn, s->remote, offset, len, s->type, RPMA_F_COMPLETION_ALWAYS, &s->type));
	return completion(s, &s->type);
}

static void commit(struct store *s)
{
	const char *flushed, *marked;

	for (size_t at = 0; at < s->size; at += PIECE) {
		size_t len = s->size - at < PIECE ? s->size - at : PIECE;

		CHECK_OK(rpma_write(s->conn, s->remote, DATA_OFFSET + at, s->mr, at, len,
			RPMA_F_COMPLETION_ON_ERROR, NULL));
	}
	flushed = flush(s, DATA_OFFSET, s->size);
	CHECK_OK(rpma_atomic_write(s->conn, s->remote, 0, mark, RPMA_F_COMPLETION_ALWAYS, s));
	marked = completion(s, s);
	CHECK(flush(s, 0, sizeof(mark)) == flushed);
	printf("committed: flush %s, mark %s\n", flushed, marked);
	fflush(stdout);
}

/* the peer has it, all of it, and not only this end says so */
static void read_back(struct store *s)
{
	char *copy = memory_new(DATA_OFFSET + s->size);
	struct rpma_mr_local *mr;

	CHECK_OK(rpma_mr_reg(s->peer, copy, DATA_OFFSET + s->size, RPMA_MR_USAGE_READ_DST, &mr));
	CHECK_OK(rpma_read(s->conn, mr, 0, s->remote, 0, DATA_OFFSET + s->size,
		RPMA_F_COMPLETION_ALWAYS, copy));
	(void)completion(s, copy);
	CHECK(memcmp(copy, mark, sizeof(mark)) == 0);
	CHECK(memcmp(copy + DATA_OFFSET, s->bytes, s->size) == 0);
	CHECK_OK(rpma_mr_dereg(&mr));
}

static void file_read(struct store *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	CHECK(fd >= 0);
	CHECK(fstat(fd, &st) == 0);
	CHECK(st.st_size > 0 && st.st_size <= MEDIUM_SIZE - DATA_OFFSET);
	s->size = (size_t)st.st_size;
	s->bytes = memory_new(s->size);
	CHECK(read(fd, s->bytes, s->size) == st.st_size);
	close(fd);
}

static void connect_to(struct store *s, const char *addr, const char *port)
{
	struct rpma_conn_private_data pd;
	struct rpma_peer_cfg *pcfg;
	struct rpma_conn_cfg *cfg;
	struct rpma_conn_req *req;
	const struct offer *offer;

	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_sq_size(cfg, PIECES_MAX + 1));
	CHECK_OK(rpma_conn_cfg_set_cq_size(cfg, PIECES_MAX + 1));
	CHECK_OK(rpma_conn_req_new(s->peer, addr, port, cfg, &req));
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
	CHECK_OK(rpma_conn_req_connect(&req, NULL, &s->conn));
	event(s->conn, RPMA_CONN_ESTABLISHED);
	CHECK_OK(rpma_conn_get_cq(s->conn, &s->cq));
	CHECK_OK(rpma_conn_get_private_data(s->conn, &pd));
	CHECK(pd.ptr != NULL && pd.len >= sizeof(*offer));
	offer = pd.ptr;
	CHECK_OK(rpma_mr_remote_from_descriptor(offer->mr, sizeof(offer->mr), &s->remote));
	CHECK_OK(rpma_peer_cfg_from_descriptor(offer->pcfg, sizeof(offer->pcfg), &pcfg));
	CHECK_OK(rpma_conn_apply_remote_peer_cfg(s->conn, pcfg));
	CHECK_OK(rpma_peer_cfg_delete(&pcfg));
}

static int store(const char *port, const char *path, const char *type, const char *command)
{
	const char *addr = server_addr();
	struct store s = { .type = strcmp(type, "persistent") == 0 ? RPMA_FLUSH_TYPE_PERSISTENT
								   : RPMA_FLUSH_TYPE_VISIBILITY };

	s.peer = peer_of(addr, RPMA_UTIL_IBV_CONTEXT_REMOTE);
	file_read(&s, path);
	CHECK_OK(rpma_mr_reg(s.peer, s.bytes, s.size, RPMA_MR_USAGE_WRITE_SRC, &s.mr));
	connect_to(&s, addr, port);
	commit(&s);
	if (command) {
		CHECK(system(command) == 0); /* and then the peer is gone */
	} else {
		read_back(&s);
		CHECK_OK(rpma_conn_disconnect(s.conn));
		event(s.conn, RPMA_CONN_CLOSED);
	}
	CHECK_OK(rpma_conn_delete(&s.conn));
	CHECK_OK(rpma_mr_remote_delete(&s.remote));
	CHECK_OK(rpma_mr_dereg(&s.mr));
	CHECK_OK(rpma_peer_delete(&s.peer));
	return 0;
}

int main(int argc, char **argv)
{
	CHECK(argc == 5 || argc == 6);
	live_who = argv[1];
	if (strcmp(argv[1], "serve") == 0)
		return serve(argv[2], argv[3], argv[4]);
	return store(argv[2], argv[3], argv[4], argv[5]);
}
