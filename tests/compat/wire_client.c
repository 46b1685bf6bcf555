/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * wire_client.c - the client of wire.h
 *
 *	ADDR=ADDRESS wire_client PORT CONNECTIONS
 *
 * All connections take a step before one takes the next: the server's are in use at the same time.
 */

#include <arpa/inet.h>
#include <string.h>

#include "wire.h"

#define ALWAYS   RPMA_F_COMPLETION_ALWAYS
#define ON_ERROR RPMA_F_COMPLETION_ON_ERROR

#define READS 8

static struct wire_region region;
static struct wire_conn conns[WIRE_CONNS_MAX];

static uint8_t *mine(const struct wire_conn *c, size_t offset)
{
	return region.memory + c->area + offset;
}

static void post_answer(struct wire_conn *c)
{
	MUST_EQ(rpma_recv(c->conn, region.mr, c->area + WIRE_MESSAGES, WIRE_MESSAGE,
			CONTEXT(WIRE_MESSAGES)),
		0);
}

static void answered(struct wire_conn *c, enum wire_step step)
{
	struct ibv_wc wc = wire_done(c, WIRE_MESSAGES);

	MUST_EQ(wc.opcode, IBV_WC_RECV);
	MUST(wc.wc_flags & IBV_WC_WITH_IMM);
	MUST_EQ(ntohl(wc.imm_data), step);
	MUST_EQ(wc.byte_len, 8 + step);
	MUST(filled(mine(c, WIRE_MESSAGES), 8 + step, WIRE_SEED(c->index, step)));
	wire_seen.messages++;
}

/* ask the server to look, and wait for its answer */
static void tell(struct wire_conn *c, enum wire_step step)
{
	post_answer(c);
	fill(mine(c, WIRE_MESSAGES + WIRE_MESSAGE), 20, WIRE_SEED(c->index, step));
	MUST_EQ(rpma_send_with_imm(c->conn, region.mr, c->area + WIRE_MESSAGES + WIRE_MESSAGE, 20,
			ON_ERROR, step, NULL),
		0);
	answered(c, step);
}

static void open_conn(struct wire_conn *c, unsigned int index)
{
	struct rpma_conn_cfg *cfg = CFG(.sq_size = 128, .cq_size = 128);
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req = NULL;
	struct wire_greeting greeting;

	c->index = index;
	c->area = (size_t)index * WIRE_AREA;
	fill(mine(c, WIRE_SOURCE), WIRE_SOURCE_SIZE, WIRE_SEED(index, WIRE_REVERSE));
	MUST_EQ(rpma_conn_req_new(region.peer, compat_addr(), wire_port, cfg, &req), 0);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
	wire_greet(&greeting, &region, index, false);
	pdata = (struct rpma_conn_private_data){ &greeting, sizeof(greeting) };
	MUST_EQ(rpma_conn_req_connect(&req, &pdata, &c->conn), 0);
	event_expect(c->conn, RPMA_CONN_ESTABLISHED);
	MUST_EQ(rpma_conn_get_private_data(c->conn, &pdata), 0);
	MUST_EQ(wire_greeted(&pdata, &c->other, true), index);
	wire_start(c);
}

static void step_read(struct wire_conn *c)
{
	const size_t len = WIRE_SOURCE_SIZE / READS;

	memset(mine(c, WIRE_BULK), 0, WIRE_SOURCE_SIZE);
	for (size_t i = 0; i < READS; i++)
		MUST_EQ(rpma_read(c->conn, region.mr, c->area + WIRE_BULK + i * len, c->other.mr,
				c->area + WIRE_SOURCE + i * len, len, ALWAYS, CONTEXT(i)),
			0);
	for (size_t i = 0; i < READS; i++) {
		struct ibv_wc wc = wire_done(c, i);

		MUST_EQ(wc.opcode, IBV_WC_RDMA_READ);
		MUST_EQ(wc.byte_len, len);
		wire_seen.reads++;
		wire_seen.bytes_read += len;
	}
	MUST(filled(mine(c, WIRE_BULK), WIRE_SOURCE_SIZE, WIRE_SEED(c->index, WIRE_READ)));
}

static void write_bulk(struct wire_conn *c, unsigned int seed, size_t len)
{
	fill(mine(c, WIRE_BULK), len, seed);
	MUST_EQ(rpma_write(c->conn, c->other.mr, c->area + WIRE_BULK, region.mr,
			c->area + WIRE_BULK, len, ON_ERROR, NULL),
		0);
	wire_seen.writes++;
	wire_seen.bytes_written += len;
}

static void step_write(struct wire_conn *c)
{
	write_bulk(c, WIRE_SEED(c->index, WIRE_WRITE), WIRE_BULK_SIZE);
	MUST_EQ(rpma_flush(c->conn, c->other.mr, c->area + WIRE_BULK, WIRE_BULK_SIZE,
			RPMA_FLUSH_TYPE_VISIBILITY, ALWAYS, CONTEXT(1)),
		0);
	wire_seen.flushes++;
	wire_done(c, 1);
	tell(c, WIRE_WRITE);
}

static void step_commit(struct wire_conn *c)
{
	MUST_EQ(rpma_flush(
			c->conn, c->other.mr, c->area, 8, RPMA_FLUSH_TYPE_PERSISTENT, ALWAYS, NULL),
		RPMA_E_NOSUPP); /* until the other side's word for it is applied */
	MUST_EQ(rpma_conn_apply_remote_peer_cfg(c->conn, c->other.pcfg), 0);
	for (uint64_t round = 1; round <= WIRE_ROUNDS; round++) {
		write_bulk(c, WIRE_SEED(c->index, WIRE_COMMIT) + (unsigned int)round, 4096);
		wire_flush(c, WIRE_BULK, 4096, false);
		wire_atomic_write(c, round, round == 1);
		wire_flush(c, WIRE_WORD, 8, true);
	}
	tell(c, WIRE_COMMIT);
}

static void step_imm(struct wire_conn *c)
{
	struct ibv_wc wc;

	fill(mine(c, WIRE_DATA), WIRE_DATA_SIZE, WIRE_SEED(c->index, WIRE_IMM));
	MUST_EQ(rpma_write_with_imm(c->conn, c->other.mr, c->area + WIRE_DATA, region.mr,
			c->area + WIRE_DATA, WIRE_DATA_SIZE, ALWAYS, WIRE_IMM, CONTEXT(1)),
		0);
	MUST_EQ(rpma_write_with_imm(c->conn, NULL, 0, NULL, 0, 0, ALWAYS, WIRE_IMM, CONTEXT(2)), 0);
	for (uint64_t i = 1; i <= 2; i++) {
		wc = wire_done(c, i);
		MUST_EQ(wc.opcode, IBV_WC_RDMA_WRITE);
	}
	wire_seen.writes += 2;
	wire_seen.bytes_written += WIRE_DATA_SIZE;
	tell(c, WIRE_IMM);
}

static void step_empty(struct wire_conn *c)
{
	static const enum ibv_wc_opcode opcodes[] = { IBV_WC_RDMA_READ, IBV_WC_RDMA_WRITE,
		IBV_WC_SEND, IBV_WC_SEND };

	MUST_EQ(rpma_read(c->conn, NULL, 0, NULL, 0, 0, ALWAYS, CONTEXT(0)), 0);
	MUST_EQ(rpma_write(c->conn, NULL, 0, NULL, 0, 0, ALWAYS, CONTEXT(1)), 0);
	MUST_EQ(rpma_send(c->conn, NULL, 0, 0, ALWAYS, CONTEXT(2)), 0);
	post_answer(c);
	MUST_EQ(rpma_send_with_imm(c->conn, NULL, 0, 0, ALWAYS, WIRE_EMPTY, CONTEXT(3)), 0);
	for (uint64_t i = 0; i < 4; i++)
		MUST_EQ(wire_done(c, i).opcode, opcodes[i]);
	answered(c, WIRE_EMPTY);
}

static void step_reverse(struct wire_conn *c)
{
	uint64_t word;

	memset(mine(c, WIRE_BULK), 0, WIRE_SOURCE_SIZE);
	tell(c, WIRE_REVERSE);
	MUST(filled(mine(c, WIRE_BULK), WIRE_SOURCE_SIZE, WIRE_SEED(c->index, WIRE_REVERSE)));
	memcpy(&word, mine(c, WIRE_WORD), sizeof(word));
	MUST_EQ(word, 1000 + c->index);
}

/* odd ones ask the server to disconnect ... */
static void step_end_asked(struct wire_conn *c)
{
	if (c->index % 2 == 0)
		return;
	MUST_EQ(rpma_send_with_imm(c->conn, NULL, 0, 0, ON_ERROR, WIRE_END, NULL), 0);
	event_expect(c->conn, RPMA_CONN_CLOSED);
	MUST_EQ(rpma_conn_disconnect(c->conn), 0);
	wire_end(c);
}

/* ... and when these have ended, the others end themselves */
static void step_end(struct wire_conn *c)
{
	if (c->index % 2 != 0)
		return;
	MUST_EQ(rpma_conn_disconnect(c->conn), 0);
	event_expect(c->conn, RPMA_CONN_CLOSED);
	wire_end(c);
}

int main(int argc, char **argv)
{
	static void (*const steps[])(struct wire_conn * c) = { step_read, step_write, step_commit,
		step_imm, step_empty, step_reverse, step_end_asked, step_end };
	bool persistent;

	wire_init(argc, argv, "client");
	wire_open(&region);
	for (unsigned int i = 0; i < wire_conns; i++)
		open_conn(&conns[i], i);
	persistent = conns[0].other.persistent;
	for (size_t step = 0; step < sizeof(steps) / sizeof(steps[0]); step++)
		for (unsigned int i = 0; i < wire_conns; i++)
			steps[step](&conns[i]);
	wire_close(&region);
	printf("client: flushed for %s\n", persistent ? "persistence" : "visibility only");
	wire_report();
	return 0;
}
