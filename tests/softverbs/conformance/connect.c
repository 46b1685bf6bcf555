/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* connect.c - connecting and accepting, private data, ids without QPs, endpoints */

#include <errno.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>

#include "pair.h"

#define REQUEST_DATA 56
#define ACCEPT_DATA  196

static struct rdma_conn_param param_with(const struct pair *p, const void *data, size_t len)
{
	struct rdma_conn_param param = pair_param(p);

	param.private_data = data;
	param.private_data_len = (uint8_t)len;
	return param;
}

/* connect with data: what the request brings */
static void request_data(const void *data, size_t len)
{
	struct pair p;

	pair_open_resolved(&p);
	struct rdma_conn_param param = param_with(&p, data, len);
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	struct rdma_cm_event *event = cm_take(p.s.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	p.s.id = event->id;
	cm_expect_data(event, data, len, REQUEST_DATA);
	pair_close(&p);
}

static void request_data_padded(void)
{
	request_data("hello", 5);
}

static void request_data_full(void)
{
	uint8_t data[REQUEST_DATA];

	fill(data, sizeof(data), 1);
	request_data(data, sizeof(data));
}

static void request_data_none(void)
{
	request_data(NULL, 0);
}

static void request_data_too_long(void)
{
	uint8_t data[REQUEST_DATA + 1] = { 0 };
	struct pair p;

	pair_open_resolved(&p);
	struct rdma_conn_param param = param_with(&p, data, sizeof(data));
	MUST_ERRNO(rdma_connect(p.c.id, &param), EINVAL);
	MUST(!readable(p.s.channel->fd, 0));
	pair_close(&p);
}

/* accept with data: what ESTABLISHED brings the client */
static void accept_data(const void *data, size_t len)
{
	struct pair p;

	pair_open_requested(&p);
	struct rdma_conn_param param = param_with(&p, data, len);
	MUST_EQ(rdma_accept(p.s.id, &param), 0);
	cm_expect_data(cm_take(p.c.channel, RDMA_CM_EVENT_ESTABLISHED), data, len, ACCEPT_DATA);
	pair_close(&p);
}

static void accept_data_padded(void)
{
	accept_data("welcome", 7);
}

static void accept_data_full(void)
{
	uint8_t data[ACCEPT_DATA];

	fill(data, sizeof(data), 2);
	accept_data(data, sizeof(data));
}

static void accept_data_too_long(void)
{
	uint8_t data[ACCEPT_DATA + 1] = { 0 };
	struct pair p;

	pair_open_requested(&p);
	struct rdma_conn_param param = param_with(&p, data, sizeof(data));
	MUST_ERRNO(rdma_accept(p.s.id, &param), EINVAL);
	pair_close(&p);
}

static void established_both(void)
{
	struct pair p;

	pair_open_requested(&p);
	MUST(!readable(p.c.channel->fd, 0));
	pair_accept(&p);
	struct rdma_cm_event *event = cm_take(p.c.channel, RDMA_CM_EVENT_ESTABLISHED);
	MUST_EQ(event->status, 0);
	MUST(event->id == p.c.id);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	event = cm_take(p.s.channel, RDMA_CM_EVENT_ESTABLISHED);
	MUST_EQ(event->status, 0);
	MUST(event->id == p.s.id);
	MUST(event->listen_id == NULL);
	MUST_EQ(rdma_ack_cm_event(event), 0);
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	MUST(!readable(p.s.channel->fd, 0));
	pair_close(&p);
}

static void request_waits(void)
{
	struct pair p;

	pair_open_resolved(&p);
	struct rdma_conn_param param = pair_param(&p);
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	MUST(readable(p.s.channel->fd, WAIT_MS));
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	struct rdma_cm_event *event = cm_take(p.s.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	p.s.id = event->id;
	MUST_EQ(rdma_ack_cm_event(event), 0);
	side_open(&p.s, &p.o, true);
	pair_accept(&p);
	pair_established(&p);
	pair_close(&p);
}

static void first_message_at_once(void)
{
	struct pair p;

	pair_open_resolved(&p);
	RECV(&p.c, 5, 0, 16);
	pair_request(&p);
	RECV(&p.s, 6, 0, 16);
	pair_accept(&p);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	wc_expect(p.s.rcq, 6, IBV_WC_SUCCESS);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	POST(&p.s, .opcode = IBV_WR_SEND, .id = 2, .len = 8);
	wc_expect(p.c.rcq, 5, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void connect_twice(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	struct rdma_conn_param param = pair_param(&p);
	MUST_ERRNO(rdma_connect(p.c.id, &param), EINVAL);
	MUST_ERRNO(rdma_accept(p.s.id, &param), EINVAL);
	pair_close(&p);
}

static void accept_listener(void)
{
	struct rdma_cm_id *listener = id_listening(channel_new());
	struct rdma_conn_param param = { .qp_num = 99 };

	MUST_ERRNO(rdma_accept(listener, &param), EINVAL);
	MUST_EQ(rdma_destroy_id(listener), 0);
}

static void several_connections(void)
{
	enum { N = 8 };
	struct pair p[N];

	pair_listen(&p[0], &(struct pair_options){ 0 });
	for (int i = 0; i < N; i++) {
		if (i > 0)
			p[i] = p[0];
		pair_resolve(&p[i]);
		pair_request(&p[i]);
		pair_accept(&p[i]);
		pair_established(&p[i]);
	}
	for (int i = 0; i < N; i++) {
		RECV(&p[i].s, (uint64_t)i, 0, 8);
		POST(&p[i].c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
		struct ibv_wc wc = wc_expect(p[i].s.rcq, (uint64_t)i, IBV_WC_SUCCESS);
		MUST_EQ(wc.qp_num, p[i].s.id->qp->qp_num);
	}
	for (int i = 0; i < N; i++) {
		side_close(&p[i].c);
		side_close(&p[i].s);
	}
}

static void listener_gone(void)
{
	struct pair p;

	PAIR(&p, .depth = 0);
	MUST_EQ(rdma_destroy_id(p.listener), 0);
	RECV(&p.s, 3, 0, 8);
	POST(&p.c, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	wc_expect(p.s.rcq, 3, IBV_WC_SUCCESS);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	side_close(&p.c);
	side_close(&p.s);
}

/* a QP that the id does not know, moved by hand as the id says */
static void qp_move(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	MUST_EQ(rdma_init_qp_attr(id, &attr, &mask), 0);
	MUST((mask & IBV_QP_STATE) != 0);
	MUST_EQ(ibv_modify_qp(qp, &attr, mask), 0);
}

static void without_qp(void)
{
	struct pair p;

	pair_listen(&p, &(struct pair_options){ 0 });
	p.c.id = id_resolved(p.c.channel, rdma_get_src_port(p.listener));
	side_open_resources(&p.c, &p.o, false);
	struct ibv_qp_init_attr init = side_qp_attr(&p.c, &p.o);
	struct ibv_qp *qp = ibv_create_qp(p.c.pd, &init);
	MUST(qp != NULL);
	qp_move(p.c.id, qp, IBV_QPS_INIT);
	struct rdma_conn_param param = pair_param(&p);
	param.qp_num = qp->qp_num;
	MUST_EQ(rdma_connect(p.c.id, &param), 0);
	struct rdma_cm_event *event = cm_take(p.s.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	MUST_EQ(event->param.conn.qp_num, qp->qp_num);
	p.s.id = event->id;
	MUST_EQ(rdma_ack_cm_event(event), 0);
	side_open(&p.s, &p.o, true);
	pair_accept(&p);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_CONNECT_RESPONSE), 0);
	MUST(!readable(p.s.channel->fd, QUIET_MS));
	qp_move(p.c.id, qp, IBV_QPS_RTR);
	qp_move(p.c.id, qp, IBV_QPS_RTS);
	MUST_EQ(rdma_establish(p.c.id), 0);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	MUST_EQ(rdma_destroy_id(p.c.id), 0);
	MUST_EQ(ibv_destroy_qp(qp), 0);
}

/* endpoints */

static struct rdma_addrinfo *info_of(int flags, uint16_t port)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *info;
	char text[8];

	snprintf(text, sizeof(text), "%d", ntohs(port));
	MUST_EQ(rdma_getaddrinfo(getenv("ADDR"), text, &hints, &info), 0);
	return info;
}

static struct ibv_qp_init_attr endpoint_attr(void)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
}

static int endpoint_server(void *arg)
{
	struct rdma_cm_id *listener = arg;
	struct rdma_cm_id *id;
	struct ibv_wc wc;
	char buf[16];

	MUST_EQ(rdma_get_request(listener, &id), 0);
	MUST(id->qp != NULL);
	struct ibv_mr *mr = rdma_reg_msgs(id, buf, sizeof(buf));
	MUST(mr != NULL);
	MUST_EQ(rdma_post_recv(id, buf, buf, sizeof(buf), mr), 0);
	MUST_EQ(rdma_accept(id, NULL), 0);
	MUST_EQ(rdma_get_recv_comp(id, &wc), 1);
	MUST_EQ(wc.status, IBV_WC_SUCCESS);
	MUST(memcmp(buf, "endpoint", 9) == 0);
	MUST_EQ(rdma_disconnect(id), 0);
	MUST_EQ(rdma_dereg_mr(mr), 0);
	rdma_destroy_ep(id);
	return 0;
}

static void endpoints(void)
{
	struct ibv_qp_init_attr attr = endpoint_attr();
	struct rdma_cm_id *listener, *id;
	struct background b;
	struct ibv_wc wc;
	char buf[16] = "endpoint";

	struct rdma_addrinfo *info = info_of(RAI_PASSIVE, 0);
	MUST_EQ(rdma_create_ep(&listener, info, NULL, &attr), 0);
	MUST_EQ(rdma_listen(listener, 1), 0);
	rdma_freeaddrinfo(info);
	background_start(&b, endpoint_server, listener);
	info = info_of(0, rdma_get_src_port(listener));
	attr = endpoint_attr();
	MUST_EQ(rdma_create_ep(&id, info, NULL, &attr), 0);
	rdma_freeaddrinfo(info);
	MUST(id->qp != NULL);
	struct ibv_mr *mr = rdma_reg_msgs(id, buf, sizeof(buf));
	MUST_EQ(rdma_connect(id, NULL), 0);
	MUST_EQ(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	MUST_EQ(rdma_post_send(id, NULL, buf, sizeof(buf), mr, 0), 0);
	MUST_EQ(rdma_get_send_comp(id, &wc), 1);
	MUST_EQ(wc.status, IBV_WC_SUCCESS);
	MUST_EQ(rdma_disconnect(id), 0);
	MUST_EQ(background_join(&b), 0);
	MUST_EQ(rdma_dereg_mr(mr), 0);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
}

const struct check connect_checks[] = { { "the request's data arrives with zeroes up to 56 bytes",
						"rdma_connect(3), rdma_get_cm_event(3)",
						request_data_padded },
	{ "56 bytes of data go with a request", "rdma_connect(3)", request_data_full },
	{ "a request without data arrives with 56 zeroes", "rdma_get_cm_event(3)",
		request_data_none, .differs = true },
	{ "57 bytes are too many for a request: EINVAL, nothing is sent", "rdma_connect(3)",
		request_data_too_long },
	{ "the answer's data arrives with zeroes up to 196 bytes",
		"rdma_accept(3), rdma_get_cm_event(3)", accept_data_padded },
	{ "196 bytes of data go with an answer", "rdma_accept(3)", accept_data_full },
	{ "197 bytes are too many for an answer: EINVAL", "rdma_accept(3)", accept_data_too_long },
	{ "ESTABLISHED comes once to either side, after the accept", "rdma_get_cm_event(3)",
		established_both },
	{ "the client hears nothing until the server has answered", "rdma_accept(3)",
		request_waits },
	{ "receives posted before the connection get the first messages", "rdma_create_qp(3)",
		first_message_at_once },
	{ "connecting or accepting a second time gives EINVAL", "rdma_connect(3), rdma_accept(3)",
		connect_twice },
	{ "a listening id cannot be accepted", "rdma_accept(3)", accept_listener },
	{ "eight connections to one listener do not mix", "rdma_accept(3)", several_connections },
	{ "a connection survives its listener", "rdma_destroy_id(3)", listener_gone },
	{ "an id without a QP gets CONNECT_RESPONSE; rdma_establish completes",
		"rdma_establish(3), rdma_init_qp_attr(3), rdma_get_cm_event(3)", without_qp },
	{ "endpoints connect, send and disconnect synchronously",
		"rdma_create_ep(3), rdma_get_request(3)", endpoints },
	{ 0 } };
