/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * wire_server.c - the server of wire.h
 *
 *	ADDR=ADDRESS wire_server PORT CONNECTIONS
 *
 * Receives of all connections come from one shared receive queue, which has a completion queue of
 * its own; the number of the queue pair says whose message it is.
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "wire.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS

#define SLOTS (4 * WIRE_CONNS_MAX)

static struct wire_region region;
static struct wire_conn conns[WIRE_CONNS_MAX];
static struct rpma_srq *srq;
static struct rpma_cq *rcq;
static struct rpma_mr_local *slots_mr;
static uint8_t *slots;

/* what of a connection has come in its step so far */
static struct {
	unsigned int imm_writes, empty;
} progress[WIRE_CONNS_MAX];

static uint8_t *mine(const struct wire_conn *c, size_t offset)
{
	return region.memory + c->area + offset;
}

static void post_slot(uint64_t slot)
{
	MUST_EQ(rpma_srq_recv(srq, slots_mr, slot * WIRE_MESSAGE, WIRE_MESSAGE, CONTEXT(slot)), 0);
}

static void open_srq(void)
{
	struct rpma_srq_cfg *cfg = NULL;
	const size_t size = SLOTS * WIRE_MESSAGE;

	MUST_EQ(rpma_srq_cfg_new(&cfg), 0);
	MUST_EQ(rpma_srq_cfg_set_rq_size(cfg, SLOTS), 0);
	MUST_EQ(rpma_srq_cfg_set_rcq_size(cfg, SLOTS), 0);
	MUST_EQ(rpma_srq_new(region.peer, cfg, &srq), 0);
	MUST_EQ(rpma_srq_cfg_delete(&cfg), 0);
	MUST_EQ(rpma_srq_get_rcq(srq, &rcq), 0);
	MUST(rcq != NULL);
	slots = compat_memory(size);
	MUST_EQ(rpma_mr_reg(region.peer, slots, size, RPMA_MR_USAGE_RECV, &slots_mr), 0);
	for (uint64_t slot = 0; slot < SLOTS; slot++)
		post_slot(slot);
}

static void accept_one(struct rpma_ep *ep)
{
	struct rpma_conn_cfg *cfg = CFG(.srq = srq, .sq_size = 32, .cq_size = 32);
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req = NULL;
	struct wire_greeting greeting;
	struct wire_other other;
	struct rpma_cq *none;
	struct wire_conn *c;
	unsigned int index;

	MUST_EQ(rpma_ep_next_conn_req(ep, cfg, &req), 0);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
	MUST_EQ(rpma_conn_req_get_private_data(req, &pdata), 0);
	index = wire_greeted(&pdata, &other, false);
	MUST(index < wire_conns);
	c = &conns[index];
	MUST(c->conn == NULL);
	c->index = index;
	c->area = (size_t)index * WIRE_AREA;
	c->other = other;
	fill(mine(c, WIRE_SOURCE), WIRE_SOURCE_SIZE, WIRE_SEED(index, WIRE_READ));
	wire_greet(&greeting, &region, index, true);
	pdata = (struct rpma_conn_private_data){ &greeting, sizeof(greeting) };
	MUST_EQ(rpma_conn_req_connect(&req, &pdata, &c->conn), 0);
	event_expect(c->conn, RPMA_CONN_ESTABLISHED);
	wire_start(c);
	MUST_EQ(rpma_conn_get_rcq(c->conn, &none), 0);
	MUST(none == NULL); /* it is the SRQ's */
}

static void answer(struct wire_conn *c, enum wire_step step)
{
	fill(mine(c, WIRE_MESSAGES), 8 + step, WIRE_SEED(c->index, step));
	MUST_EQ(rpma_send_with_imm(c->conn, region.mr, c->area + WIRE_MESSAGES, 8 + step, ALWAYS,
			step, CONTEXT(8 + step)),
		0);
	MUST_EQ(wire_done(c, 8 + step).opcode, IBV_WC_SEND);
}

static void reverse(struct wire_conn *c)
{
	struct ibv_wc wc;

	MUST_EQ(rpma_read(c->conn, region.mr, c->area + WIRE_BULK, c->other.mr,
			c->area + WIRE_SOURCE, WIRE_SOURCE_SIZE, ALWAYS, CONTEXT(1)),
		0);
	wc = wire_done(c, 1);
	MUST_EQ(wc.opcode, IBV_WC_RDMA_READ);
	MUST_EQ(wc.byte_len, WIRE_SOURCE_SIZE);
	MUST(filled(mine(c, WIRE_BULK), WIRE_SOURCE_SIZE, WIRE_SEED(c->index, WIRE_REVERSE)));
	MUST_EQ(rpma_write(c->conn, c->other.mr, c->area + WIRE_BULK, region.mr,
			c->area + WIRE_BULK, WIRE_SOURCE_SIZE, ALWAYS, CONTEXT(2)),
		0);
	MUST_EQ(wire_done(c, 2).opcode, IBV_WC_RDMA_WRITE);
	wire_seen.reads++;
	wire_seen.writes++;
	wire_seen.bytes_read += WIRE_SOURCE_SIZE;
	wire_seen.bytes_written += WIRE_SOURCE_SIZE;
	wire_flush(c, WIRE_BULK, WIRE_SOURCE_SIZE, true);
	wire_atomic_write(c, 1000 + c->index, true);
	wire_flush(c, WIRE_WORD, 8, true);
}

/* a write with immediate data: two of them come, the second without bytes */
static void on_write(struct wire_conn *c, const struct ibv_wc *wc)
{
	const bool first = progress[c->index].imm_writes++ == 0;

	MUST_EQ(wc->opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	MUST_EQ(ntohl(wc->imm_data), WIRE_IMM);
	MUST_EQ(wc->byte_len, first ? WIRE_DATA_SIZE : 0);
	if (first)
		MUST(filled(mine(c, WIRE_DATA), WIRE_DATA_SIZE, WIRE_SEED(c->index, WIRE_IMM)));
}

/* what a message's step has left in the memory */
static void look(struct wire_conn *c, enum wire_step step)
{
	uint64_t word;

	switch (step) {
	case WIRE_WRITE:
		MUST(filled(mine(c, WIRE_BULK), WIRE_BULK_SIZE, WIRE_SEED(c->index, step)));
		break;
	case WIRE_COMMIT:
		memcpy(&word, mine(c, WIRE_WORD), sizeof(word));
		MUST_EQ(word, WIRE_ROUNDS);
		MUST(filled(mine(c, WIRE_BULK), 4096, WIRE_SEED(c->index, step) + WIRE_ROUNDS));
		/* what was written before stands behind it */
		MUST(filled(
			mine(c, WIRE_SOURCE), WIRE_SOURCE_SIZE, WIRE_SEED(c->index, WIRE_READ)));
		break;
	case WIRE_IMM:
		MUST_EQ(progress[c->index].imm_writes, 2);
		break;
	case WIRE_EMPTY:
		MUST_EQ(progress[c->index].empty, 1);
		break;
	case WIRE_REVERSE:
		reverse(c);
		break;
	default:
		check_fail(__FILE__, __LINE__, "a step that is told of");
	}
}

/* false: the connection is to end */
static bool on_message(struct wire_conn *c, const struct ibv_wc *wc)
{
	const uint8_t *slot = slots + wc->wr_id * WIRE_MESSAGE;
	enum wire_step step;

	wire_seen.messages++;
	MUST_EQ(wc->opcode, IBV_WC_RECV);
	if (!(wc->wc_flags & IBV_WC_WITH_IMM)) {
		MUST_EQ(wc->byte_len, 0);
		progress[c->index].empty++;
		return true;
	}
	step = (enum wire_step)ntohl(wc->imm_data);
	if (step == WIRE_END)
		return false;
	MUST_EQ(wc->byte_len, step == WIRE_EMPTY ? 0 : 20);
	MUST(filled(slot, wc->byte_len, WIRE_SEED(c->index, step)));
	look(c, step);
	answer(c, step);
	return true;
}

static struct wire_conn *conn_of(uint32_t qp_num)
{
	for (unsigned int i = 0; i < wire_conns; i++)
		if (conns[i].conn != NULL && conns[i].qp_num == qp_num)
			return &conns[i];
	check_fail(__FILE__, __LINE__, "a completion belongs to a connection");
}

/* until every connection of odd number has asked for its end, the others end themselves */
static void serve(void)
{
	unsigned int ends = wire_conns / 2;
	/* those of even number have nothing to tell after this */
	unsigned int reversed = 0;

	while (ends > 0 || reversed < wire_conns) {
		struct ibv_wc wc = wire_next(rcq);
		struct wire_conn *c = conn_of(wc.qp_num);

		if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
			on_write(c, &wc);
		} else if (!on_message(c, &wc)) {
			MUST_EQ(rpma_conn_disconnect(c->conn), 0);
			ends--;
		} else if ((wc.wc_flags & IBV_WC_WITH_IMM) && ntohl(wc.imm_data) == WIRE_REVERSE) {
			reversed++;
		}
		post_slot(wc.wr_id);
	}
}

int main(int argc, char **argv)
{
	struct rpma_ep *ep = NULL;

	wire_init(argc, argv, "server");
	wire_open(&region);
	open_srq();
	MUST_EQ(rpma_ep_listen(region.peer, compat_addr(), wire_port, &ep), 0);
	printf("listening\n");
	for (unsigned int i = 0; i < wire_conns; i++)
		accept_one(ep);
	MUST_EQ(rpma_ep_shutdown(&ep), 0); /* the connections live on */
	serve();
	for (unsigned int i = 0; i < wire_conns; i++) {
		event_expect(conns[i].conn, RPMA_CONN_CLOSED);
		if (i % 2 == 0)
			MUST_EQ(rpma_conn_disconnect(conns[i].conn), 0);
		wire_end(&conns[i]);
	}
	MUST_EQ(rpma_srq_delete(&srq), 0);
	MUST_EQ(rpma_mr_dereg(&slots_mr), 0);
	wire_close(&region);
	wire_report();
	return 0;
}
