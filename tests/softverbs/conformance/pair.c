/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* pair.c - two ends of a connection, both in this process */

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "pair.h"

#define RESOLVE_MS 2000

union address address_of(const char *text, uint16_t port)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct addrinfo *info;
	union address a = { 0 };

	MUST_EQ(getaddrinfo(text, NULL, &hints, &info), 0);
	memcpy(&a, info->ai_addr, info->ai_addrlen);
	freeaddrinfo(info);
	if (a.any.sa_family == AF_INET)
		a.in.sin_port = port;
	else
		a.in6.sin6_port = port;
	return a;
}

union address address_here(uint16_t port)
{
	const char *text = getenv("ADDR");

	MUST(text != NULL);
	return address_of(text, port);
}

struct rdma_event_channel *channel_new(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	MUST(channel != NULL);
	return channel;
}

struct rdma_cm_id *id_new(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	MUST_EQ(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	return id;
}

struct rdma_cm_id *id_listening(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = id_new(channel);
	union address here = address_here(0);

	MUST_EQ(rdma_bind_addr(id, &here.any), 0);
	MUST_EQ(rdma_listen(id, 8), 0);
	return id;
}

struct rdma_cm_id *id_resolved(struct rdma_event_channel *channel, uint16_t port)
{
	struct rdma_cm_id *id = id_new(channel);
	union address there = address_here(port);

	MUST_EQ(rdma_resolve_addr(id, NULL, &there.any, RESOLVE_MS), 0);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	MUST_EQ(rdma_resolve_route(id, RESOLVE_MS), 0);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
	return id;
}

struct rdma_cm_id *id_of_device(void)
{
	struct rdma_cm_id *id = id_new(channel_new());
	union address here = address_here(0);

	MUST_EQ(rdma_bind_addr(id, &here.any), 0);
	MUST(id->verbs != NULL);
	return id;
}

/* QPs */

static struct ibv_srq *srq_open(struct side *side, const struct pair_options *o)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = o->cap.max_recv_wr, .max_sge = o->cap.max_recv_sge },
	};
	struct ibv_srq *srq = ibv_create_srq(side->pd, &attr);

	if (srq == NULL && (errno == ENOSYS || errno == EOPNOTSUPP))
		SKIP("no shared receive queues");
	MUST(srq != NULL);
	return srq;
}

void side_open_resources(struct side *side, const struct pair_options *o, bool is_server)
{
	struct ibv_context *verbs = side->id->verbs;

	side->pd = ibv_alloc_pd(verbs);
	MUST(side->pd != NULL);
	side->completions = ibv_create_comp_channel(verbs);
	MUST(side->completions != NULL);
	side->scq = ibv_create_cq(verbs, o->cqe, side, side->completions, 0);
	MUST(side->scq != NULL);
	side->rcq = ibv_create_cq(verbs, o->cqe, side, side->completions, 0);
	MUST(side->rcq != NULL);
	side->buf =
		mmap(NULL, BUFFER_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(side->buf != MAP_FAILED);
	side->mr = ibv_reg_mr(side->pd, side->buf, BUFFER_SIZE, is_server ? o->access : ALL_ACCESS);
	MUST(side->mr != NULL);
	if (is_server && o->srq)
		side->srq = srq_open(side, o);
}

struct ibv_qp_init_attr side_qp_attr(const struct side *side, const struct pair_options *o)
{
	return (struct ibv_qp_init_attr){
		.send_cq = side->scq,
		.recv_cq = side->rcq,
		.srq = side->srq,
		.cap = o->cap,
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = o->sig_all,
	};
}

static void side_create_extended_qp(struct side *side, const struct pair_options *o)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = side->scq,
		.recv_cq = side->rcq,
		.cap = o->cap,
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = side->pd,
		.send_ops_flags = o->send_ops,
	};

	if (rdma_create_qp_ex(side->id, &attr) != 0) {
		MUST(errno == ENOSYS || errno == EOPNOTSUPP);
		SKIP("no extended QPs");
	}
}

/* a device may keep to itself, at the creation, that it has granted more */
static void side_query_cap(struct side *side)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST_EQ(ibv_query_qp(side->id->qp, &attr, IBV_QP_CAP, &init), 0);
	side->cap = init.cap;
}

void side_open(struct side *side, const struct pair_options *o, bool is_server)
{
	side_open_resources(side, o, is_server);
	if (!is_server && o->send_ops != 0) {
		side_create_extended_qp(side, o);
		side_query_cap(side);
		return;
	}
	struct ibv_qp_init_attr attr = side_qp_attr(side, o);
	MUST_EQ(rdma_create_qp(side->id, side->pd, &attr), 0);
	side_query_cap(side);
	if (o->ack_timeout != 0) {
		uint8_t timeout = (uint8_t)o->ack_timeout;

		MUST_EQ(rdma_set_option(side->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
				&timeout, sizeof(timeout)),
			0);
	}
}

/* everything of a side must be willing to go */
void side_close(struct side *side)
{
	if (side->id->qp != NULL)
		rdma_destroy_qp(side->id);
	MUST_EQ(rdma_destroy_id(side->id), 0);
	if (side->pd != NULL) {
		MUST_EQ(ibv_destroy_cq(side->scq), 0);
		MUST_EQ(ibv_destroy_cq(side->rcq), 0);
		MUST_EQ(ibv_destroy_comp_channel(side->completions), 0);
		if (side->srq != NULL)
			MUST_EQ(ibv_destroy_srq(side->srq), 0);
		MUST_EQ(ibv_dereg_mr(side->mr), 0);
		MUST_EQ(ibv_dealloc_pd(side->pd), 0);
		munmap(side->buf, BUFFER_SIZE);
	}
}

enum ibv_qp_state qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

void qp_modify_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	MUST_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

/* the pair */

static uint32_t or_else(uint32_t value, uint32_t instead)
{
	return value != 0 ? value : instead;
}

void pair_listen(struct pair *p, const struct pair_options *o)
{
	memset(p, 0, sizeof(*p));
	p->o = *o;
	p->o.cap.max_send_wr = or_else(o->cap.max_send_wr, 16);
	p->o.cap.max_recv_wr = or_else(o->cap.max_recv_wr, 16);
	p->o.cap.max_send_sge = or_else(o->cap.max_send_sge, 2);
	p->o.cap.max_recv_sge = or_else(o->cap.max_recv_sge, 2);
	p->o.cqe = (int)or_else((uint32_t)o->cqe, 64);
	p->o.access = (int)or_else((uint32_t)o->access, ALL_ACCESS);
	p->o.depth = (int)or_else((uint32_t)o->depth, 4);
	p->o.retry_count = (int)or_else((uint32_t)o->retry_count, 6);
	p->o.rnr_retry = o->rnr_retry == 0 ? 7 : o->rnr_retry == -1 ? 0 : o->rnr_retry;
	p->c.channel = channel_new();
	p->s.channel = channel_new();
	p->listener = id_listening(p->s.channel);
}

void pair_resolve(struct pair *p)
{
	p->c.id = id_resolved(p->c.channel, rdma_get_src_port(p->listener));
	side_open(&p->c, &p->o, false);
}

struct rdma_conn_param pair_param(const struct pair *p)
{
	return (struct rdma_conn_param){
		.responder_resources = (uint8_t)p->o.depth,
		.initiator_depth = (uint8_t)p->o.depth,
		.retry_count = (uint8_t)p->o.retry_count,
		.rnr_retry_count = (uint8_t)p->o.rnr_retry,
	};
}

void pair_request(struct pair *p)
{
	struct rdma_conn_param param = pair_param(p);
	struct rdma_cm_event *event;

	MUST_EQ(rdma_connect(p->c.id, &param), 0);
	event = cm_take(p->s.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	p->s.id = event->id;
	MUST_EQ(rdma_ack_cm_event(event), 0);
	side_open(&p->s, &p->o, true);
}

void pair_accept(struct pair *p)
{
	struct rdma_conn_param param = pair_param(p);

	MUST_EQ(rdma_accept(p->s.id, &param), 0);
}

void pair_established(struct pair *p)
{
	MUST_EQ(cm_expect(p->c.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	MUST_EQ(cm_expect(p->s.channel, RDMA_CM_EVENT_ESTABLISHED), 0);
}

void pair_open_resolved(struct pair *p)
{
	pair_listen(p, &(struct pair_options){ 0 });
	pair_resolve(p);
}

void pair_open_requested(struct pair *p)
{
	pair_open_resolved(p);
	pair_request(p);
}

void pair_open(struct pair *p, const struct pair_options *o)
{
	pair_listen(p, o);
	pair_resolve(p);
	pair_request(p);
	pair_accept(p);
	pair_established(p);
}

void pair_disconnect(struct pair *p)
{
	MUST_EQ(rdma_disconnect(p->c.id), 0);
	MUST_EQ(cm_expect(p->s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST_EQ(rdma_disconnect(p->s.id), 0);
	MUST_EQ(cm_expect(p->c.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
}

void pair_close(struct pair *p)
{
	side_close(&p->c);
	if (p->s.id != NULL)
		side_close(&p->s);
	MUST_EQ(rdma_destroy_id(p->listener), 0);
	rdma_destroy_event_channel(p->c.channel);
	rdma_destroy_event_channel(p->s.channel);
}

/* requests */

int op_post(struct side *side, const struct op *op)
{
	void *local = op->local != NULL ? op->local : side->buf + op->at;
	struct ibv_sge sge = {
		.addr = (uintptr_t)local,
		.length = (uint32_t)op->len,
		.lkey = op->lkey != 0 ? op->lkey : side->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = op->id,
		.sg_list = op->sges != NULL ? op->sges : &sge,
		.num_sge = op->sges != NULL ? op->num_sge : op->len > 0,
		.opcode = op->opcode,
		.send_flags = op->flags | (op->silent ? 0 : IBV_SEND_SIGNALED),
		.imm_data = htonl(op->imm),
	};
	struct ibv_send_wr *bad = NULL;

	if (op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = op->remote;
		wr.wr.atomic.rkey = op->rkey;
		wr.wr.atomic.compare_add = op->compare_add;
		wr.wr.atomic.swap = op->swap;
	} else {
		wr.wr.rdma.remote_addr = op->remote;
		wr.wr.rdma.rkey = op->rkey;
	}
	return ibv_post_send(side->id->qp, &wr, &bad);
}

int recv_post(struct side *side, uint64_t id, size_t at, size_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)side->buf + at,
		.length = (uint32_t)len,
		.lkey = side->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = len > 0 };
	struct ibv_recv_wr *bad = NULL;

	if (side->srq != NULL)
		return ibv_post_srq_recv(side->srq, &wr, &bad);
	return ibv_post_recv(side->id->qp, &wr, &bad);
}
