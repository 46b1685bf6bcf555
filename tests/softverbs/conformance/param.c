/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* param.c - what a connection agrees upon: depths, retries, queue pair numbers */

#include <errno.h>

#include "pair.h"

static struct ibv_qp_attr attributes(struct side *side)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = { 0 };

	MUST_EQ(ibv_query_qp(side->id->qp, &attr,
			IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_DEST_QPN |
				IBV_QP_PATH_MTU | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT,
			&init),
		0);
	return attr;
}

/* connect with these parameters; the request is returned, to be acknowledged */
static struct rdma_cm_event *request(struct pair *p, struct rdma_conn_param *param)
{
	pair_open_resolved(p);
	MUST_EQ(rdma_connect(p->c.id, param), 0);
	struct rdma_cm_event *event = cm_take(p->s.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	p->s.id = event->id;
	side_open(&p->s, &p->o, true);
	return event;
}

static void depths_swapped(void)
{
	struct rdma_conn_param param = { .responder_resources = 3, .initiator_depth = 5 };
	struct pair p;
	struct rdma_cm_event *event = request(&p, &param);

	MUST_EQ(event->param.conn.responder_resources, 5);
	MUST_EQ(event->param.conn.initiator_depth, 3);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	pair_close(&p);
}

static void retries_in_request(void)
{
	struct rdma_conn_param param = { .retry_count = 5, .rnr_retry_count = 2 };
	struct pair p;
	struct rdma_cm_event *event = request(&p, &param);

	MUST_EQ(event->param.conn.retry_count, 5);
	MUST_EQ(event->param.conn.rnr_retry_count, 2);
	MUST_EQ(event->param.conn.srq, 0);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	pair_close(&p);
}

static void qp_numbers(void)
{
	struct rdma_conn_param param = { .qp_num = 12345 };
	struct pair p;
	struct rdma_cm_event *event = request(&p, &param);

	MUST_EQ(event->param.conn.qp_num, p.c.id->qp->qp_num);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_EQ(rdma_accept(p.s.id, &param), 0);
	event = cm_take(p.c.channel, RDMA_CM_EVENT_ESTABLISHED);
	MUST_EQ(event->param.conn.qp_num, p.s.id->qp->qp_num);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_EQ(attributes(&p.c).dest_qp_num, p.s.id->qp->qp_num);
	MUST_EQ(attributes(&p.s).dest_qp_num, p.c.id->qp->qp_num);
	pair_close(&p);
}

static void depths_agreed(void)
{
	struct rdma_conn_param param = { .responder_resources = 6, .initiator_depth = 8 };
	struct rdma_conn_param answer = { .responder_resources = 2, .initiator_depth = 4 };
	struct pair p;

	MUST_EQ(rdma_ack_cm_event(request(&p, &param)), 0);
	MUST_EQ(rdma_accept(p.s.id, &answer), 0);
	struct rdma_cm_event *event = cm_take(p.c.channel, RDMA_CM_EVENT_ESTABLISHED);
	MUST_EQ(event->param.conn.responder_resources, 4);
	MUST_EQ(event->param.conn.initiator_depth, 2);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST_EQ(attributes(&p.s).max_rd_atomic, 4);
	MUST_EQ(attributes(&p.s).max_dest_rd_atomic, 2);
	MUST_EQ(attributes(&p.c).max_rd_atomic, 2);
	MUST_EQ(attributes(&p.c).max_dest_rd_atomic, 4);
	pair_close(&p);
}

static void passive_depths(void)
{
	struct rdma_conn_param param = { .responder_resources = 6, .initiator_depth = 8 };
	struct pair p;

	MUST_EQ(rdma_ack_cm_event(request(&p, &param)), 0);
	MUST_EQ(rdma_accept(p.s.id, &param), 0);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	struct rdma_cm_event *event = cm_take(p.s.channel, RDMA_CM_EVENT_ESTABLISHED);
	MUST_EQ(event->param.conn.responder_resources, 0);
	MUST_EQ(event->param.conn.initiator_depth, 0);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	pair_close(&p);
}

static void accept_without_param(void)
{
	struct rdma_conn_param param = {
		.responder_resources = 2,
		.initiator_depth = 4,
		.retry_count = 6,
		.rnr_retry_count = 4,
	};
	struct pair p;

	MUST_EQ(rdma_ack_cm_event(request(&p, &param)), 0);
	MUST_EQ(rdma_accept(p.s.id, NULL), 0);
	pair_established(&p);
	MUST_EQ(attributes(&p.c).max_rd_atomic, 4);
	MUST_EQ(attributes(&p.c).max_dest_rd_atomic, 2);
	MUST_EQ(attributes(&p.s).max_rd_atomic, 2);
	MUST_EQ(attributes(&p.s).max_dest_rd_atomic, 4);
	pair_close(&p);
}

static void rnr_retry_from_peer(void)
{
	struct rdma_conn_param param = { .retry_count = 4, .rnr_retry_count = 2 };
	struct rdma_conn_param answer = { .retry_count = 1, .rnr_retry_count = 5 };
	struct pair p;

	MUST_EQ(rdma_ack_cm_event(request(&p, &param)), 0);
	MUST_EQ(rdma_accept(p.s.id, &answer), 0);
	pair_established(&p);
	MUST_EQ(attributes(&p.c).rnr_retry, 5);
	MUST_EQ(attributes(&p.s).rnr_retry, 2);
	MUST_EQ(attributes(&p.c).retry_cnt, 4);
	MUST_EQ(attributes(&p.s).retry_cnt, 4);
	pair_close(&p);
}

static void depth_above_device(void)
{
	struct ibv_device_attr device;
	struct rdma_conn_param param = { 0 };
	struct pair p;

	pair_open_resolved(&p);
	MUST_EQ(ibv_query_device(p.c.id->verbs, &device), 0);
	if (device.max_qp_rd_atom >= 254 || device.max_qp_init_rd_atom >= 254)
		SKIP("the device takes any depth");
	param.responder_resources = (uint8_t)(device.max_qp_rd_atom + 1);
	MUST_ERRNO(rdma_connect(p.c.id, &param), EINVAL);
	param = (struct rdma_conn_param){ .initiator_depth =
						  (uint8_t)(device.max_qp_init_rd_atom + 1) };
	MUST_ERRNO(rdma_connect(p.c.id, &param), EINVAL);
	pair_close(&p);
}

static void depth_of_device(void)
{
	struct rdma_conn_param param = {
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
	};
	struct ibv_device_attr device;
	struct pair p;
	struct rdma_cm_event *event = request(&p, &param);

	MUST_EQ(ibv_query_device(p.c.id->verbs, &device), 0);
	MUST_EQ(event->param.conn.responder_resources, device.max_qp_init_rd_atom);
	MUST_EQ(event->param.conn.initiator_depth, device.max_qp_rd_atom);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	pair_close(&p);
}

static void access_of_qp(void)
{
	struct pair p;

	PAIR(&p, .depth = 1);
	MUST((attributes(&p.s).qp_access_flags & IBV_ACCESS_REMOTE_WRITE) != 0);
	MUST((attributes(&p.s).qp_access_flags & IBV_ACCESS_REMOTE_READ) != 0);
	MUST((attributes(&p.s).qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) != 0);
	pair_close(&p);
}

static void port_and_mtu(void)
{
	struct ibv_port_attr port;
	struct pair p;

	PAIR(&p, .depth = 1);
	MUST_EQ(attributes(&p.c).port_num, p.c.id->port_num);
	MUST_EQ(ibv_query_port(p.c.id->verbs, p.c.id->port_num, &port), 0);
	MUST(attributes(&p.c).path_mtu <= port.active_mtu);
	MUST_EQ(attributes(&p.c).path_mtu, attributes(&p.s).path_mtu);
	pair_close(&p);
}

static void srq_flag(void)
{
	struct rdma_conn_param param;
	struct pair p;

	pair_listen(&p, &(struct pair_options){ .srq = true });
	p.c.id = id_resolved(p.c.channel, rdma_get_src_port(p.listener));
	side_open(&p.c, &p.o, true);
	param = pair_param(&p);
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	struct rdma_cm_event *event = cm_take(p.s.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	MUST_EQ(event->param.conn.srq, 1);
	p.s.id = event->id;
	MUST_EQ(rdma_ack_cm_event(event), 0);
	pair_close(&p);
}

const struct check param_checks[] = {
	{ "a request shows the client's depths from the server's side", "rdma_get_cm_event(3)",
		depths_swapped },
	{ "a request shows the client's retry counts", "rdma_get_cm_event(3)", retries_in_request },
	{ "either side learns the other's QP number, and connects to it",
		"rdma_get_cm_event(3), ibv_query_qp(3)", qp_numbers },
	{ "the answer's depths are those of both QPs", "rdma_accept(3), ibv_query_qp(3)",
		depths_agreed, .differs = true },
	{ "the server's ESTABLISHED has no depths", "rdma_get_cm_event(3)", passive_depths,
		.differs = true },
	{ "accepting without parameters takes the request's", "rdma_accept(3)",
		accept_without_param },
	{ "each side retries RNR as its peer says, both retry as the client says",
		"rdma_connect(3), rdma_accept(3)", rnr_retry_from_peer },
	{ "a depth above the device's gives EINVAL", "rdma_connect(3)", depth_above_device },
	{ "RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH take the device's",
		"rdma_connect(3), rdma_cma.h", depth_of_device },
	{ "a connected QP lets its peer read, write and do atomics",
		"rdma_create_qp(3), ibv_query_qp(3)", access_of_qp },
	{ "a connected QP has the id's port, and an MTU both share", "ibv_query_qp(3)",
		port_and_mtu },
	{ "a request shows that the client uses a shared receive queue", "rdma_get_cm_event(3)",
		srq_flag },
	{ 0 }
};
