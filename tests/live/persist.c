/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * persist.c - the reactor writes to another process: plain, with a word, atomically; and flushes
 *
 * Proven: written bytes are there when the word that was sent, or written, after them is; writes
 * above the port's message limit, and thousands of small ones on a short send queue, arrive whole;
 * persist brings all of its pieces; an atomic write comes after the flush that was called before it;
 * both kinds of flush succeed, natively where the device can and as a READ, and are refused where
 * region or peer do not allow them; a write that is not allowed ends the connection on both sides.
 *
 *   client                                 server
 *                                          recv (as many as there are words)
 *   connect                         --->   accept, descriptors of two regions
 *   write, flush, send with word    --->   looks at the memory that the word is about
 *                                   <---   send nothing
 *   write with word                 --->   likewise; ...
 *   write to what is only readable  --->   learns of the end
 */

#include "live.h"

#define PORT       "7307"
#define REGION     ((size_t)24 << 20)
#define DESCRIPTOR 21

/* where each step writes, and how much */
#define PLAIN_AT   0
#define PLAIN_LEN  65536
#define IMM_AT     (1 << 20)
#define IMM_LEN    4096
#define PIECES     8
#define PIECES_AT  (2 << 20)
#define PIECE_LEN  1000
#define PIECE_STEP 4096
#define WORD_AT    (3 << 20)
#define SMALL_AT   (4 << 20)
#define SMALL_LEN  64
#define SMALLS     2000

/* the words, in their order */
enum { PLAIN, WITH_IMM, PERSISTED, SMALL, WHOLE, WORDS };

static const char word[8] = { 'c', 'o', 'm', 'm', 'i', 't', 't', 'd' };

/* the descriptors of the regions, which are the same memory, and the peer's configuration */
struct offer {
	uint8_t region[DESCRIPTOR];
	uint8_t visible[DESCRIPTOR];
	uint8_t readable[DESCRIPTOR];
	uint8_t pcfg;
} __attribute__((packed));

/* ---- the server ------------------------------------------------------------------------------ */

static struct server {
	struct live_node node;
	struct rpma_mr_local *mr, *visible, *readable;
	uint8_t *memory;
	rpma_uv_ep_t *ep;
	rpma_uv_conn_t *conn;
	rpma_uv_op_t accept, end, recv[WORDS], send[WORDS];
	unsigned words, answers;
	bool is_accepted;
} server;

static void server_look(unsigned number)
{
	const uint8_t *memory = server.memory;

	switch (number) {
	case PLAIN:
		live_pattern_check(memory + PLAIN_AT, PLAIN_LEN, 1, 0);
		break;
	case WITH_IMM:
		live_pattern_check(memory + IMM_AT, IMM_LEN, 2, 0);
		break;
	case PERSISTED:
		for (size_t i = 0; i < PIECES; i++)
			live_pattern_check(
				memory + PIECES_AT + i * PIECE_STEP, PIECE_LEN, 3 + i, 0);
		CHECK(memcmp(memory + WORD_AT, word, sizeof(word)) == 0);
		break;
	case SMALL:
		live_pattern_check(memory + SMALL_AT, SMALLS * SMALL_LEN, 20, 0);
		break;
	default:
		live_pattern_check(memory, REGION, 21, 0);
		break;
	}
}

/* one answer for each word; the first word may be here before the connection is READY */
static void server_answer(void)
{
	for (; server.is_accepted && server.answers < server.words; server.answers++)
		(void)rpma_uv_send(server.conn, &server.send[server.answers],
			(rpma_uv_local_t){ NULL, 0 }, 0, 0);
}

static void server_received(rpma_uv_future_t *f, int status)
{
	rpma_uv_recv_info_t info;

	CHECK_OK(status);
	CHECK_OK(rpma_uv_recv_info(f, &info));
	CHECK(info.has_imm);
	CHECK_INT(info.imm, server.words);
	CHECK_INT(info.is_write, server.words == WITH_IMM);
	CHECK_INT(info.len, server.words == WITH_IMM ? IMM_LEN : 0);
	server_look(server.words);
	server.words++;
	server_answer();
}

static void server_ended(rpma_uv_future_t *f, int status)
{
	(void)f;
	CHECK(status < 0);
	rpma_uv_conn_close(server.conn, NULL, NULL);
}

static void server_accepted(rpma_uv_future_t *f, int status)
{
	(void)f;
	CHECK_OK(status);
	server.is_accepted = true;
	server_answer();
	rpma_uv_ep_close(server.ep, NULL, NULL);
}

static void offer_fill(struct offer *offer)
{
	struct rpma_peer_cfg *pcfg;

	CHECK_OK(rpma_mr_get_descriptor(server.mr, offer->region));
	CHECK_OK(rpma_mr_get_descriptor(server.visible, offer->visible));
	CHECK_OK(rpma_mr_get_descriptor(server.readable, offer->readable));
	CHECK_OK(rpma_peer_cfg_new(&pcfg));
	CHECK_OK(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, true));
	CHECK_OK(rpma_peer_cfg_get_descriptor(pcfg, &offer->pcfg));
	CHECK_OK(rpma_peer_cfg_delete(&pcfg));
}

static void server_requested(rpma_uv_ep_t *ep, rpma_uv_conn_req_t *req, void *data)
{
	struct offer offer;
	struct rpma_conn_private_data pd = { &offer, sizeof(offer) };

	(void)ep;
	(void)data;
	CHECK_OK(rpma_uv_conn_new(&server.node.reactor, server.node.peer, NULL, &server.conn));
	for (unsigned i = 0; i < WORDS; i++)
		rpma_uv_then(
			rpma_uv_recv(server.conn, &server.recv[i], (rpma_uv_local_t){ NULL, 0 }, 0),
			server_received, NULL);
	rpma_uv_then(rpma_uv_conn_end(server.conn, &server.end), server_ended, NULL);
	offer_fill(&offer);
	rpma_uv_then(rpma_uv_accept(req, &server.accept, server.conn, &pd), server_accepted, NULL);
}

static int serve(const char *addr)
{
	live_node_open(&server.node, addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, NULL);
	server.memory = live_memory(REGION);
	CHECK_OK(rpma_mr_reg(server.node.peer, server.memory, REGION,
		RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST |
			RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT,
		&server.mr));
	/* a device with a flush of its own may do it here, but not to persistence: this is no pmem */
	CHECK_OK(rpma_mr_reg(server.node.peer, server.memory, REGION,
		RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, &server.visible));
	CHECK_OK(rpma_mr_reg(
		server.node.peer, server.memory, REGION, RPMA_MR_USAGE_READ_SRC, &server.readable));
	CHECK_OK(rpma_uv_listen(&server.node.reactor, server.node.peer, addr, PORT, 0,
		server_requested, NULL, &server.ep));
	live_ready();
	CHECK_OK(uv_run(&server.node.loop, UV_RUN_DEFAULT));
	CHECK_INT(server.words, WORDS);
	CHECK_OK(rpma_mr_dereg(&server.readable));
	CHECK_OK(rpma_mr_dereg(&server.visible));
	CHECK_OK(rpma_mr_dereg(&server.mr));
	live_node_close(&server.node);
	return 0;
}

/* ---- the client ------------------------------------------------------------------------------ */

static struct client {
	struct live_node node;
	rpma_uv_conn_t *conn;
	struct rpma_mr_local *mr;
	struct rpma_mr_remote *remote, *visible, *readable;
	uint8_t *memory;
	rpma_uv_op_t ops[4], looked;
} client;

static rpma_uv_local_t local(size_t offset)
{
	return (rpma_uv_local_t){ client.mr, offset };
}

static rpma_uv_remote_t remote(size_t offset)
{
	return (rpma_uv_remote_t){ client.remote, offset };
}

static void client_connect(const char *addr)
{
	struct rpma_conn_private_data pd;
	struct rpma_peer_cfg *pcfg;
	struct rpma_conn_cfg *cfg;
	struct offer offer;

	live_node_open(&client.node, addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, NULL);
	client.memory = live_memory(REGION);
	CHECK_OK(rpma_mr_reg(client.node.peer, client.memory, REGION,
		RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC, &client.mr));
	CHECK_OK(rpma_conn_cfg_new(&cfg));
	CHECK_OK(rpma_conn_cfg_set_sq_size(cfg, 16));
	CHECK_OK(rpma_uv_conn_new(&client.node.reactor, client.node.peer, cfg, &client.conn));
	CHECK_OK(rpma_conn_cfg_delete(&cfg));
	AWAIT(rpma_uv_connect(client.conn, NULL, addr, PORT, NULL), 0);
	CHECK_OK(rpma_uv_conn_private_data(client.conn, &pd));
	CHECK(pd.len >= sizeof(offer));
	memcpy(&offer, pd.ptr, sizeof(offer));
	CHECK_OK(rpma_mr_remote_from_descriptor(offer.region, DESCRIPTOR, &client.remote));
	CHECK_OK(rpma_mr_remote_from_descriptor(offer.visible, DESCRIPTOR, &client.visible));
	CHECK_OK(rpma_mr_remote_from_descriptor(offer.readable, DESCRIPTOR, &client.readable));
	/* what the peer has not declared yet cannot be flushed to persistence */
	AWAIT(rpma_uv_flush(client.conn, NULL, remote(0), 8, RPMA_FLUSH_TYPE_PERSISTENT, 0),
		UV_ENOTSUP);
	CHECK_OK(rpma_peer_cfg_from_descriptor(&offer.pcfg, 1, &pcfg));
	CHECK_OK(rpma_uv_conn_apply_remote_peer_cfg(client.conn, pcfg));
	CHECK_OK(rpma_peer_cfg_delete(&pcfg));
}

/* the server's word that it has looked: nothing may be overwritten before */
static rpma_uv_future_t *looked(void)
{
	return rpma_uv_recv(client.conn, &client.looked, (rpma_uv_local_t){ NULL, 0 }, 0);
}

static void tell(unsigned number)
{
	rpma_uv_future_t *answer = looked();

	AWAIT(rpma_uv_send_with_imm(client.conn, NULL, (rpma_uv_local_t){ NULL, 0 }, 0, 0, number),
		0);
	AWAIT(answer, 0);
}

static void write_with_imm(void)
{
	rpma_uv_future_t *answer = looked();

	live_pattern(client.memory + IMM_AT, IMM_LEN, 2);
	CHECK_INT(AWAIT(rpma_uv_write_with_imm(client.conn, NULL, remote(IMM_AT), local(IMM_AT),
				IMM_LEN, 0, WITH_IMM),
			  0),
		IMM_LEN);
	AWAIT(answer, 0);
}

static void write_plain(rpma_uv_remote_t dst, unsigned flags)
{
	rpma_uv_future_t *f[2];

	live_pattern(client.memory, PLAIN_LEN, 1);
	f[0] = rpma_uv_write(client.conn, &client.ops[0], dst, local(0), PLAIN_LEN, 0);
	f[1] = rpma_uv_flush(
		client.conn, &client.ops[1], dst, PLAIN_LEN, RPMA_FLUSH_TYPE_VISIBILITY, flags);
	CHECK_INT(AWAIT(f[1], 0), PLAIN_LEN);
	CHECK_INT(f[0]->status, 0); /* in the order of the calls */
	CHECK_INT(f[0]->result, PLAIN_LEN);
}

static void write_pieces(unsigned flags)
{
	static rpma_uv_piece_t pieces[PIECES];
	rpma_uv_future_t *f[3];

	for (size_t i = 0; i < PIECES; i++) {
		live_pattern(client.memory + PIECES_AT + i * PIECE_STEP, PIECE_LEN, 3 + i);
		pieces[i] = (rpma_uv_piece_t){
			local(PIECES_AT + i * PIECE_STEP),
			remote(PIECES_AT + i * PIECE_STEP),
			PIECE_LEN,
		};
	}
	f[0] = rpma_uv_persist(
		client.conn, &client.ops[0], pieces, PIECES, RPMA_FLUSH_TYPE_PERSISTENT, flags);
	f[1] = rpma_uv_atomic_write(client.conn, &client.ops[1], remote(WORD_AT), word, flags);
	f[2] = rpma_uv_flush(client.conn, &client.ops[2], remote(WORD_AT), sizeof(word),
		RPMA_FLUSH_TYPE_PERSISTENT, flags);
	CHECK_INT(AWAIT(f[2], 0), sizeof(word));
	CHECK_INT(f[0]->result, PIECES * PIECE_LEN);
	CHECK_INT(f[1]->result, sizeof(word));
}

static void write_small(void)
{
	static rpma_uv_future_t *f[SMALLS];
	rpma_uv_reactor_stats_t before, after;

	live_pattern(client.memory, SMALLS * SMALL_LEN, 20);
	rpma_uv_reactor_stats(&client.node.reactor, &before);
	for (size_t i = 0; i < SMALLS; i++)
		f[i] = rpma_uv_write(client.conn, NULL, remote(SMALL_AT + i * SMALL_LEN),
			local(i * SMALL_LEN), SMALL_LEN, 0);
	CHECK_INT(AWAIT(rpma_uv_all(&client.node.reactor, NULL, f, SMALLS), 0), SMALLS);
	rpma_uv_reactor_stats(&client.node.reactor, &after);
	CHECK_INT(after.work_requests - before.work_requests, SMALLS);
	CHECK(after.completions - before.completions < SMALLS);
}

/* how many work requests one operation of all bytes takes at this port */
static unsigned parts(const char *addr)
{
	struct ibv_context *context;
	struct ibv_port_attr attr;

	CHECK_OK(rpma_utils_get_ibv_context(addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, &context));
	CHECK_OK(ibv_query_port(context, 1, &attr));
	return (unsigned)((REGION + attr.max_msg_sz - 1) / attr.max_msg_sz);
}

/* as one operation, which a port with a shorter limit has to be given in parts; and read back */
static void write_whole(const char *addr)
{
	rpma_uv_reactor_stats_t before, after;

	rpma_uv_reactor_stats(&client.node.reactor, &before);
	live_pattern(client.memory, REGION, 21);
	CHECK_INT(
		AWAIT(rpma_uv_write(client.conn, NULL, remote(0), local(0), REGION, 0), 0), REGION);
	rpma_uv_reactor_stats(&client.node.reactor, &after);
	CHECK_INT(after.work_requests - before.work_requests, parts(addr));
	tell(WHOLE);
	memset(client.memory, 0, REGION);
	CHECK_INT(
		AWAIT(rpma_uv_read(client.conn, NULL, local(0), remote(0), REGION, 0), 0), REGION);
	live_pattern_check(client.memory, REGION, 21, 0);
}

static void client_end(void)
{
	rpma_uv_future_t *end = rpma_uv_conn_end(client.conn, NULL);
	const rpma_uv_remote_t readable = { client.readable, 0 };
	int status;

	AWAIT(rpma_uv_flush(client.conn, NULL, readable, 8, RPMA_FLUSH_TYPE_VISIBILITY, 0),
		UV_ENOTSUP);
	AWAIT(rpma_uv_write(client.conn, NULL, readable, local(0), 8, 0), UV_EACCES);
	/* by this answer, or by the server's leaving, whichever is seen first */
	status = rpma_uv_wait(end, UINT64_MAX, NULL);
	CHECK(status == UV_EACCES || status == UV_ECONNRESET);
	rpma_uv_conn_close(client.conn, NULL, NULL);
	CHECK_OK(rpma_mr_remote_delete(&client.readable));
	CHECK_OK(rpma_mr_remote_delete(&client.visible));
	CHECK_OK(rpma_mr_remote_delete(&client.remote));
	CHECK_OK(uv_run(&client.node.loop, UV_RUN_DEFAULT));
	CHECK_OK(rpma_mr_dereg(&client.mr));
	live_node_close(&client.node);
}

int main(void)
{
	const char *addr = live_addr();

	live_fork(serve, addr);
	client_connect(addr);
	write_plain(remote(PLAIN_AT), 0);
	write_plain((rpma_uv_remote_t){ client.visible, PLAIN_AT }, RPMA_F_EMULATED);
	write_plain((rpma_uv_remote_t){ client.visible, PLAIN_AT }, 0);
	tell(PLAIN);
	write_with_imm();
	write_pieces(RPMA_F_EMULATED);
	write_pieces(0);
	tell(PERSISTED);
	write_small();
	tell(SMALL);
	write_whole(addr);
	client_end();
	live_join();
	return 0;
}
