/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * verbs.c - libibverbs: device, protection domains, regions, asynchronous events
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

struct async_event {
	struct async_event *next;
	struct ibv_async_event event;
};

static struct ibv_device device = {
	.node_type = IBV_NODE_CA,
	.name = "double0",
	.dev_name = "uverbs0",
};
static struct bell async_bell = { .fd = -1 };
static struct async_event *async_first;
static uint32_t last_key;
static int last_access;
static struct double_advice last_advice;

static int query_device_ex(struct ibv_context *context,
	const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr,
	size_t attr_size)
{
	(void)context;
	(void)input;
	if (double__enter("ibv_query_device_ex"))
		return double__errno();
	memset(attr, 0, attr_size);
	attr->orig_attr.max_qp_wr = (int)double_device.max_wr;
	attr->orig_attr.max_cqe = double_device.max_cqe;
	attr->orig_attr.max_qp_rd_atom = double_device.max_rd_atomic;
	attr->orig_attr.max_qp_init_rd_atom = double_device.max_rd_atomic;
#ifdef RPMA_HAVE_NATIVE
	attr->device_cap_flags_ex = double__native_caps();
#endif
	if (double_device.has_odp) {
		attr->odp_caps.general_caps = IBV_ODP_SUPPORT;
		attr->odp_caps.per_transport_caps.rc_odp_caps =
			double_device.odp_is_complete ? IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_WRITE
						      : IBV_ODP_SUPPORT_WRITE;
		if (double_device.odp_has_messages)
			attr->odp_caps.per_transport_caps.rc_odp_caps |=
				IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
	}
	double__leave();
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct ibv_device_attr_ex ex;
	const int ret = query_device_ex(context, NULL, &ex, sizeof(ex));

	if (!ret)
		*attr = ex.orig_attr;
	return ret;
}

static int query_port(
	struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t attr_len)
{
	struct ibv_port_attr full = {
		.state = double_device.is_port_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_1024,
		.max_msg_sz = double_device.max_msg_size,
		.link_layer = double_device.link_layer,
	};

	(void)context;
	if (double__enter("ibv_query_port"))
		return double__errno();
	double__leave();
	if (port_num != 1)
		return EINVAL;
	memcpy(attr, &full, attr_len < sizeof(full) ? attr_len : sizeof(full));
	return 0;
}

int ibv_query_port(
	struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr)
{
	return query_port(context, port_num, (struct ibv_port_attr *)attr,
		offsetof(struct ibv_port_attr, port_cap_flags2));
}

static int advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
	struct ibv_sge *sg_list, uint32_t num_sge)
{
	if (double__enter("ibv_advise_mr"))
		return double__errno();
	last_advice = (struct double_advice){ pd, (int)advice, flags, num_sge, sg_list[0] };
	double__leave();
	return double_device.takes_advice ? 0 : EOPNOTSUPP;
}

static struct verbs_context verbs = {
	.advise_mr = advise_mr,
	.query_port = query_port,
	.query_device_ex = query_device_ex,
	.sz = sizeof(struct verbs_context),
	.context = {
		.device = &device,
		.ops = {
			.poll_cq = double__poll_cq,
			.req_notify_cq = double__req_notify_cq,
			.post_send = double__post_send,
			.post_recv = double__post_recv,
			.post_srq_recv = double__post_srq_recv,
		},
		.cmd_fd = -1,
		.num_comp_vectors = 1,
		.abi_compat = __VERBS_ABI_IS_EXTENDED,
	},
};

struct ibv_context *double_ctx(void)
{
	double__lock();
	if (async_bell.fd < 0) {
		double__bell_init(&async_bell);
		verbs.context.async_fd = async_bell.fd;
	}
	device.transport_type = double_device.transport;
	double__leave();
	return &verbs.context;
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

void double__verbs_reset(void)
{
	while (async_first) {
		struct async_event *event = async_first;

		async_first = event->next;
		double__bell_unring(&async_bell);
		free(event);
	}
	last_access = 0;
	last_advice = (struct double_advice){ 0 };
}

/* protection domains and regions */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct pd *pd;

	if (double__enter("ibv_alloc_pd"))
		return NULL;
	pd = double__new(DOUBLE_PD, sizeof(*pd));
	pd->pd.context = context;
	double__leave();
	return &pd->pd;
}

int ibv_dealloc_pd(struct ibv_pd *ibv_pd)
{
	struct pd *pd = OF(pd, pd, ibv_pd);
	int ret = 0;

	if (double__enter("ibv_dealloc_pd")) {
		double__gone(pd);
		return double__errno();
	}
	if (pd->object.refs)
		ret = EBUSY;
	else
		double__free(pd);
	double__leave();
	return ret;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct mr *mr;

	last_access = access;
	if (double__enter("ibv_reg_mr"))
		return NULL;
	/* the kernel's rule */
	if ((access & IBV_ACCESS_REMOTE_WRITE) && !(access & IBV_ACCESS_LOCAL_WRITE)) {
		double__leave();
		errno = EINVAL;
		return NULL;
	}
	mr = double__new(DOUBLE_MR, sizeof(*mr));
	mr->access = access;
	mr->mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.lkey = ++last_key,
	};
	mr->mr.rkey = mr->mr.lkey | 0x10000;
	OF(pd, pd, pd)->object.refs++;
	double__leave();
	return &mr->mr;
}

struct ibv_mr *ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *ibv_mr)
{
	struct mr *mr = OF(mr, mr, ibv_mr);
	const bool fails = double__enter("ibv_dereg_mr");
	const int err = fails ? double__errno() : 0;

	if (fails)
		double__lock();
	OF(pd, pd, ibv_mr->pd)->object.refs--;
	if (fails) {
		double__gone(mr);
	} else {
		if (double__is_posted(ibv_mr->lkey))
			double__problem("region deregistered under a posted work request");
		double__free(mr);
	}
	double__leave();
	return err;
}

struct ibv_mr *double__find_mr(uint32_t key, uint64_t addr, uint64_t len, int access)
{
	struct object *object;

	for (object = double__last(DOUBLE_MR); object; object = object->next) {
		struct mr *mr = (struct mr *)object;
		uint64_t start;

		if (object->kind != DOUBLE_MR || object->is_gone)
			continue;
		start = (uintptr_t)mr->mr.addr;
		if (mr->mr.lkey != key && mr->mr.rkey != key)
			continue;
		if ((mr->access & access) == access && addr >= start &&
			addr - start <= mr->mr.length && len <= mr->mr.length - (addr - start))
			return &mr->mr;
	}
	return NULL;
}

int double_last_access(void)
{
	return last_access;
}

const struct double_advice *double_last_advice(void)
{
	return &last_advice;
}

const struct ibv_mr *double_last_mr(void)
{
	struct mr *mr = (struct mr *)double__last(DOUBLE_MR);

	return mr ? &mr->mr : NULL;
}

/* asynchronous events */

static unsigned *async_counter(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return &OF(cq, cq, event->element.cq)->async_unacked;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return &OF(qp, qp, event->element.qp)->async_unacked;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return &OF(srq, srq, event->element.srq)->async_unacked;
	default:
		return NULL;
	}
}

void double__drop_async(const void *element)
{
	struct async_event **event = &async_first;

	while (*event) {
		struct async_event *dropped = *event;

		if ((const void *)dropped->event.element.qp != element) {
			event = &dropped->next;
			continue;
		}
		*event = dropped->next;
		double__bell_unring(&async_bell);
		free(dropped);
	}
}

static void push_async(const struct ibv_async_event *what)
{
	struct async_event *event = calloc(1, sizeof(*event)), **end;

	if (!event)
		abort();
	(void)double_ctx();
	double__lock();
	event->event = *what;
	for (end = &async_first; *end; end = &(*end)->next)
		;
	*end = event;
	double__bell_ring(&async_bell);
	double__leave();
}

void double_push_async(enum ibv_event_type type, void *element)
{
	struct ibv_async_event event = { .event_type = type };

	if (element)
		event.element.qp = element;
	else
		event.element.port_num = 1;
	push_async(&event);
}

void double_push_async_port(enum ibv_event_type type, int port)
{
	const struct ibv_async_event event = { .event_type = type, .element.port_num = port };

	push_async(&event);
}

unsigned double_async_pending(void)
{
	const struct async_event *event;
	unsigned count = 0;

	double__lock();
	for (event = async_first; event; event = event->next)
		count++;
	double__leave();
	return count;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct async_event *first;
	unsigned *counter;

	(void)context;
	if (double__enter("ibv_get_async_event"))
		return -1;
	double__leave();
	if (double__bell_wait(&async_bell))
		return -1;
	double__lock();
	first = async_first;
	if (!first) { /* its object was destroyed meanwhile */
		double__leave();
		errno = EAGAIN;
		return -1;
	}
	async_first = first->next;
	*event = first->event;
	free(first);
	counter = async_counter(event);
	if (counter)
		++*counter;
	double__leave();
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	unsigned *counter;

	double__lock();
	counter = async_counter(event);
	if (counter && (*counter)-- == 0)
		double__problem("more async events acknowledged than fetched");
	double__leave();
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return "success";
	case IBV_WC_WR_FLUSH_ERR:
		return "Work Request Flushed Error";
	case IBV_WC_REM_ACCESS_ERR:
		return "remote access error";
	default:
		return "some other error";
	}
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
	return event == IBV_EVENT_DEVICE_FATAL ? "local catastrophic error" : "some event";
}
