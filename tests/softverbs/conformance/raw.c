/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* raw.c - queue pairs that are moved and connected by hand, without the communication manager */

#include <errno.h>

#include "pair.h"

/* one id, and two QPs of its device on the same queues and memory */
struct raw {
	struct pair p;
	struct ibv_qp *a, *b;
	uint8_t gid_index;
	union ibv_gid gid;
};

static struct ibv_qp *qp_new(struct pair *p)
{
	struct ibv_qp_init_attr attr = side_qp_attr(&p->c, &p->o);
	struct ibv_qp *qp = ibv_create_qp(p->c.pd, &attr);

	MUST(qp != NULL);
	return qp;
}

/* the index of the GID that is the device's IPv4 address, or the first */
static void find_gid(struct raw *raw)
{
	struct rdma_cm_id *id = raw->p.c.id;
	union address here = address_here(0);
	struct ibv_port_attr port;

	MUST_EQ(ibv_query_port(id->verbs, id->port_num, &port), 0);
	for (int i = 0; i < port.gid_tbl_len && here.any.sa_family == AF_INET; i++) {
		union ibv_gid gid;

		if (ibv_query_gid(id->verbs, id->port_num, i, &gid) != 0)
			break;
		if (memcmp(gid.raw + 12, &here.in.sin_addr, 4) == 0 && zeroed(gid.raw, 10)) {
			raw->gid_index = (uint8_t)i;
			raw->gid = gid;
			return;
		}
	}
	MUST_EQ(ibv_query_gid(id->verbs, id->port_num, 0, &raw->gid), 0);
}

static void raw_open(struct raw *raw)
{
	memset(raw, 0, sizeof(*raw));
	pair_listen(&raw->p, &(struct pair_options){ 0 });
	raw->p.c.id = id_of_device();
	side_open_resources(&raw->p.c, &raw->p.o, false);
	raw->a = qp_new(&raw->p);
	raw->b = qp_new(&raw->p);
	find_gid(raw);
}

static void raw_close(struct raw *raw)
{
	MUST_EQ(ibv_destroy_qp(raw->a), 0);
	MUST_EQ(ibv_destroy_qp(raw->b), 0);
	side_close(&raw->p.c);
}

static int to_init(struct raw *raw, struct ibv_qp *qp, int without)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = raw->p.c.id->port_num,
		.qp_access_flags = ALL_ACCESS,
	};

	return ibv_modify_qp(qp, &attr,
		(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) & ~without);
}

static int to_rtr(struct raw *raw, struct ibv_qp *qp, uint32_t peer, int without)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.rq_psn = 17,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			.port_num = raw->p.c.id->port_num,
			.grh = { .dgid = raw->gid, .sgid_index = raw->gid_index, .hop_limit = 1 } },
	};

	return ibv_modify_qp(qp, &attr,
		(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) &
			~without);
}

static int to_rts(struct ibv_qp *qp, int without)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 17,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	return ibv_modify_qp(qp, &attr,
		(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) &
			~without);
}

static void raw_connect(struct raw *raw)
{
	MUST_EQ(to_init(raw, raw->a, 0), 0);
	MUST_EQ(to_init(raw, raw->b, 0), 0);
	MUST_EQ(to_rtr(raw, raw->a, raw->b->qp_num, 0), 0);
	MUST_EQ(to_rtr(raw, raw->b, raw->a->qp_num, 0), 0);
	MUST_EQ(to_rts(raw->a, 0), 0);
	MUST_EQ(to_rts(raw->b, 0), 0);
}

static int raw_post(struct raw *raw, struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)raw->p.c.buf, 64, raw->p.c.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)raw->p.c.buf + 4096, raw->p.c.mr->rkey },
	};
	struct ibv_send_wr *bad;

	return ibv_post_send(qp, &wr, &bad);
}

static int raw_recv(struct raw *raw, struct ibv_qp *qp, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)raw->p.c.buf + 8192, 64, raw->p.c.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

static void states(void)
{
	struct raw raw;

	raw_open(&raw);
	MUST_EQ(qp_state(raw.a), IBV_QPS_RESET);
	MUST_EQ(to_init(&raw, raw.a, 0), 0);
	MUST_EQ(qp_state(raw.a), IBV_QPS_INIT);
	MUST_EQ(to_init(&raw, raw.a, 0), 0);
	MUST_EQ(to_rtr(&raw, raw.a, raw.b->qp_num, 0), 0);
	MUST_EQ(qp_state(raw.a), IBV_QPS_RTR);
	MUST_EQ(to_rts(raw.a, 0), 0);
	MUST_EQ(qp_state(raw.a), IBV_QPS_RTS);
	qp_modify_state(raw.a, IBV_QPS_ERR);
	MUST_EQ(qp_state(raw.a), IBV_QPS_ERR);
	qp_modify_state(raw.a, IBV_QPS_RESET);
	MUST_EQ(qp_state(raw.a), IBV_QPS_RESET);
	raw_close(&raw);
}

static void wrong_steps(void)
{
	struct raw raw;

	raw_open(&raw);
	MUST_EQ(to_rtr(&raw, raw.a, raw.b->qp_num, 0), EINVAL);
	MUST_EQ(to_rts(raw.a, 0), EINVAL);
	MUST_EQ(qp_state(raw.a), IBV_QPS_RESET);
	MUST_EQ(to_init(&raw, raw.a, 0), 0);
	MUST_EQ(to_rts(raw.a, 0), EINVAL);
	MUST_EQ(qp_state(raw.a), IBV_QPS_INIT);
	MUST_EQ(to_rtr(&raw, raw.a, raw.b->qp_num, 0), 0);
	MUST_EQ(to_init(&raw, raw.a, 0), EINVAL);
	MUST_EQ(qp_state(raw.a), IBV_QPS_RTR);
	qp_modify_state(raw.a, IBV_QPS_ERR);
	MUST_EQ(to_rts(raw.a, 0), EINVAL);
	raw_close(&raw);
}

static void missing_attributes(void)
{
	struct raw raw;

	raw_open(&raw);
	MUST_EQ(to_init(&raw, raw.a, IBV_QP_PORT), EINVAL);
	MUST_EQ(to_init(&raw, raw.a, IBV_QP_ACCESS_FLAGS), EINVAL);
	MUST_EQ(qp_state(raw.a), IBV_QPS_RESET);
	MUST_EQ(to_init(&raw, raw.a, 0), 0);
	MUST_EQ(to_rtr(&raw, raw.a, raw.b->qp_num, IBV_QP_AV), EINVAL);
	MUST_EQ(to_rtr(&raw, raw.a, raw.b->qp_num, IBV_QP_DEST_QPN), EINVAL);
	MUST_EQ(to_rtr(&raw, raw.a, raw.b->qp_num, IBV_QP_MIN_RNR_TIMER), EINVAL);
	MUST_EQ(qp_state(raw.a), IBV_QPS_INIT);
	MUST_EQ(to_rtr(&raw, raw.a, raw.b->qp_num, 0), 0);
	MUST_EQ(to_rts(raw.a, IBV_QP_TIMEOUT), EINVAL);
	MUST_EQ(to_rts(raw.a, IBV_QP_MAX_QP_RD_ATOMIC), EINVAL);
	MUST_EQ(qp_state(raw.a), IBV_QPS_RTR);
	raw_close(&raw);
}

static void connected(void)
{
	struct raw raw;

	raw_open(&raw);
	raw_connect(&raw);
	fill(raw.p.c.buf, 64, 1);
	MUST_EQ(raw_post(&raw, raw.a, IBV_WR_RDMA_WRITE, 1), 0);
	wc_expect(raw.p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(raw.p.c.buf + 4096, 64, 1));
	MUST_EQ(raw_recv(&raw, raw.a, 2), 0);
	MUST_EQ(raw_post(&raw, raw.b, IBV_WR_SEND, 3), 0);
	wc_expect(raw.p.c.scq, 3, IBV_WC_SUCCESS);
	struct ibv_wc wc = wc_expect(raw.p.c.rcq, 2, IBV_WC_SUCCESS);
	MUST_EQ(wc.qp_num, raw.a->qp_num);
	MUST(filled(raw.p.c.buf + 8192, 64, 1));
	raw_close(&raw);
}

static void attributes_kept(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct raw raw;

	raw_open(&raw);
	raw_connect(&raw);
	MUST_EQ(ibv_query_qp(raw.a, &attr,
			IBV_QP_DEST_QPN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MTU | IBV_QP_ACCESS_FLAGS,
			&init),
		0);
	MUST_EQ(attr.dest_qp_num, raw.b->qp_num);
	MUST_EQ(attr.timeout, 14);
	MUST_EQ(attr.retry_cnt, 6);
	MUST_EQ(attr.rnr_retry, 7);
	MUST_EQ(attr.min_rnr_timer, 12);
	MUST_EQ(attr.max_rd_atomic, 4);
	MUST_EQ(attr.max_dest_rd_atomic, 4);
	MUST_EQ(attr.path_mtu, IBV_MTU_1024);
	MUST_EQ(attr.qp_access_flags & ALL_ACCESS, ALL_ACCESS);
	raw_close(&raw);
}

static void send_too_early(void)
{
	struct raw raw;

	raw_open(&raw);
	MUST_EQ(to_init(&raw, raw.a, 0), 0);
	MUST_EQ(raw_post(&raw, raw.a, IBV_WR_RDMA_WRITE, 1), EINVAL);
	wc_none(raw.p.c.scq);
	raw_close(&raw);
}

static void recv_in_init(void)
{
	struct raw raw;

	raw_open(&raw);
	MUST_EQ(to_init(&raw, raw.b, 0), 0);
	MUST_EQ(raw_recv(&raw, raw.b, 7), 0);
	raw_connect(&raw);
	fill(raw.p.c.buf, 64, 2);
	MUST_EQ(raw_post(&raw, raw.a, IBV_WR_SEND, 1), 0);
	wc_expect(raw.p.c.rcq, 7, IBV_WC_SUCCESS);
	MUST(filled(raw.p.c.buf + 8192, 64, 2));
	raw_close(&raw);
}

static void again_after_reset(void)
{
	struct raw raw;

	raw_open(&raw);
	raw_connect(&raw);
	for (int i = 0; i < 2; i++) {
		MUST_EQ(raw_post(&raw, raw.a, IBV_WR_RDMA_WRITE, 1), 0);
		wc_expect(raw.p.c.scq, 1, IBV_WC_SUCCESS);
		qp_modify_state(raw.a, IBV_QPS_RESET);
		qp_modify_state(raw.b, IBV_QPS_RESET);
		raw_connect(&raw);
	}
	raw_close(&raw);
}

static void reset_forgets(void)
{
	struct raw raw;

	raw_open(&raw);
	raw_connect(&raw);
	for (uint64_t i = 0; i < 3; i++)
		MUST_EQ(raw_recv(&raw, raw.a, i), 0);
	qp_modify_state(raw.a, IBV_QPS_RESET);
	wc_none(raw.p.c.rcq);
	raw_close(&raw);
}

const struct check raw_checks[] = {
	{ "a QP goes from RESET through INIT and RTR to RTS, to ERR and to RESET",
		"ibv_modify_qp(3), IBTA 10.3.1", states },
	{ "no state can be left out: EINVAL, and the state stays", "ibv_modify_qp(3)",
		wrong_steps },
	{ "a step needs its attributes: EINVAL, and the state stays", "ibv_modify_qp(3)",
		missing_attributes },
	{ "two QPs that know each other's number and GID are connected", "ibv_modify_qp(3)",
		connected },
	{ "a query gives what was set", "ibv_query_qp(3)", attributes_kept },
	{ "a send cannot be posted in INIT: EINVAL", "ibv_post_send(3), IBTA 10.3.1",
		send_too_early },
	{ "a receive can be posted in INIT", "ibv_post_recv(3), IBTA 10.3.1", recv_in_init },
	{ "after RESET a QP can be connected again", "ibv_modify_qp(3)", again_after_reset },
	{ "RESET forgets the posted receives, and completes none", "ibv_modify_qp(3)",
		reset_forgets },
	{ 0 }
};
