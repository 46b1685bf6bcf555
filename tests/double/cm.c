/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* cm.c - librdmacm: ids and their steps */

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

/* private data on the wire, on InfiniBand and RoCE */
#define REQUEST_DATA_BYTES 56
#define ANSWER_DATA_BYTES  196
#define REJECT_DATA_BYTES  148
#define REJECTED_BY_PEER   28

/* who asks in a request: 192.0.2.2:49152 */
#define REQUEST_ADDR 0xc0000202
#define REQUEST_PORT 49152

static bool is_wildcard(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

static size_t addr_size(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6);
}

static uint16_t port_of(const struct sockaddr *addr)
{
	return ((const struct sockaddr_in *)addr)->sin_port; /* at the same place for IPv6 */
}

static struct ibv_context *route_over;
static uint16_t last_port = 49151; /* given to those that bind to port 0 */

/* ids */

static struct id *new_id(struct rdma_event_channel *channel, void *context)
{
	struct id *id = double__new(DOUBLE_ID, sizeof(*id));

	id->id.channel = channel;
	id->id.context = context;
	id->id.ps = RDMA_PS_TCP;
	id->id.qp_type = IBV_QPT_RC;
	id->is_sync = !channel;
	id->backlog = -1;
	id->timeout_ms = -1;
	if (channel)
		OF(channel, channel, channel)->object.refs++;
	return id;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
	enum rdma_port_space ps)
{
	if (double__enter("rdma_create_id"))
		return -1;
	*id = &new_id(channel, context)->id;
	(*id)->ps = ps;
	double__leave();
	return 0;
}

static void forget_remote(struct id *id)
{
	if (!id->remote)
		return;
	id->remote->remote = NULL;
	id->remote = NULL;
}

int rdma_destroy_id(struct rdma_cm_id *cm_id)
{
	struct id *id = OF(id, id, cm_id);
	const bool fails = double__enter("rdma_destroy_id");
	const int err = errno;

	if (fails)
		double__lock();
	if (id->reported != id->acked)
		double__problem("%u events of an id fetched, %u acknowledged: its destruction "
				"would wait for ever",
			id->reported, id->acked);
	if (cm_id->qp)
		double__problem("id destroyed before its queue pair");
	double__drop_events(id);
	if (id->remote && id->has_connected && (double__auto & DOUBLE_AUTO_CM) &&
		!id->remote->has_disconnected) {
		id->remote->has_disconnected = true;
		double_push_cm(&id->remote->id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	}
	forget_remote(id);
	if (cm_id->channel)
		OF(channel, channel, cm_id->channel)->object.refs--;
	if (fails)
		double__gone(id);
	else
		double__free(id);
	double__leave();
	errno = err;
	return fails ? -1 : 0;
}

struct rdma_cm_id *double_last_id(void)
{
	struct id *id = (struct id *)double__last(DOUBLE_ID);

	return id ? &id->id : NULL;
}

void double_route_over(struct ibv_context *context)
{
	route_over = context;
}

static void set_device(struct id *id)
{
	id->id.verbs = route_over ? route_over : double_ctx();
	id->id.port_num = 1;
}

int rdma_bind_addr(struct rdma_cm_id *cm_id, struct sockaddr *addr)
{
	if (double__enter("rdma_bind_addr"))
		return -1;
	memcpy(&cm_id->route.addr.src_storage, addr, addr_size(addr));
	if (!rdma_get_src_port(cm_id)) /* at the same place for IPv6 */
		cm_id->route.addr.src_sin.sin_port = htons(++last_port);
	if (!is_wildcard(addr))
		set_device(OF(id, id, cm_id));
	double__leave();
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *cm_id)
{
	return port_of(&cm_id->route.addr.src_addr);
}

void double__step_done(struct id *id, enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		set_device(id);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		id->id.route.path_rec = &id->path;
		id->id.route.num_paths = 1;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (id->id.qp && id->id.qp->state != IBV_QPS_ERR)
			id->id.qp->state = IBV_QPS_RTS;
		break;
	default:
		break;
	}
}

static void step(struct id *id, enum rdma_cm_event_type type)
{
	if (id->is_sync)
		double__step_done(id, type);
	else if (double__auto & DOUBLE_AUTO_CM)
		double_push_cm(&id->id, type, 0, NULL, 0);
}

int rdma_resolve_addr(
	struct rdma_cm_id *cm_id, struct sockaddr *src, struct sockaddr *dst, int timeout_ms)
{
	struct id *id = OF(id, id, cm_id);

	if (double__enter("rdma_resolve_addr"))
		return -1;
	id->timeout_ms = timeout_ms;
	if (src)
		memcpy(&cm_id->route.addr.src_storage, src, addr_size(src));
	memcpy(&cm_id->route.addr.dst_storage, dst, addr_size(dst));
	step(id, RDMA_CM_EVENT_ADDR_RESOLVED);
	double__leave();
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *cm_id, int timeout_ms)
{
	struct id *id = OF(id, id, cm_id);

	if (double__enter("rdma_resolve_route"))
		return -1;
	id->timeout_ms = timeout_ms;
	step(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
	double__leave();
	return 0;
}

int double_timeout_ms(const struct rdma_cm_id *id)
{
	return OF(id, id, id)->timeout_ms;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	if (double__enter("rdma_listen"))
		return -1;
	OF(id, id, id)->backlog = backlog;
	double__leave();
	return 0;
}

int double_backlog(const struct rdma_cm_id *id)
{
	return OF(id, id, id)->backlog;
}

/* connecting */

/* the kernel's rule */
static bool is_too_long(uint8_t len, uint8_t most)
{
	if (len <= most)
		return false;
	errno = EINVAL;
	return true;
}

static void note_param(struct id *id, const struct rdma_conn_param *param)
{
	id->has_connected = true;
	id->has_param = true;
	memset(&id->param, 0, sizeof(id->param));
	if (param)
		id->param = *param;
	if (id->param.private_data_len) {
		memcpy(id->data, id->param.private_data, id->param.private_data_len);
		id->param.private_data = id->data;
	}
}

const struct rdma_conn_param *double_conn_param(const struct rdma_cm_id *id)
{
	return OF(id, id, id)->has_param ? &OF(id, id, id)->param : NULL;
}

/* id's private data as the other side sees it */
static void push_padded(
	struct id *to, enum rdma_cm_event_type type, const struct id *from, uint8_t size)
{
	uint8_t padded[UINT8_MAX] = { 0 };

	if (from && from->param.private_data_len)
		memcpy(padded, from->data,
			from->param.private_data_len < size ? from->param.private_data_len : size);
	double_push_cm(&to->id, type, 0, padded, size);
}

static struct id *find_listener(uint16_t port)
{
	struct object *object;

	for (object = double__last(DOUBLE_ID); object; object = object->next) {
		struct id *id = (struct id *)object;

		if (object->kind == DOUBLE_ID && !object->is_gone && id->backlog >= 0 &&
			port_of(&id->id.route.addr.src_addr) == port)
			return id;
	}
	return NULL;
}

struct rdma_cm_id *double_push_request(struct rdma_cm_id *listen_id, const void *data, uint8_t len)
{
	struct id *id;

	double__lock();
	id = new_id(listen_id->channel, listen_id->context);
	id->id.route.addr.dst_sin = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(REQUEST_PORT),
		.sin_addr.s_addr = htonl(REQUEST_ADDR),
	};
	set_device(id);
	double__step_done(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
	double__push_event(OF(id, id, listen_id), id, RDMA_CM_EVENT_CONNECT_REQUEST, 0, data, len);
	double__leave();
	return &id->id;
}

int rdma_connect(struct rdma_cm_id *cm_id, struct rdma_conn_param *param)
{
	struct id *id = OF(id, id, cm_id), *listener;

	if (double__enter("rdma_connect"))
		return -1;
	if (param && is_too_long(param->private_data_len, REQUEST_DATA_BYTES)) {
		double__leave();
		return -1;
	}
	note_param(id, param);
	if (double__auto & DOUBLE_AUTO_CM) {
		uint8_t padded[REQUEST_DATA_BYTES] = { 0 };

		memcpy(padded, id->data,
			id->param.private_data_len < sizeof(padded) ? id->param.private_data_len
								    : sizeof(padded));
		listener = find_listener(port_of(&cm_id->route.addr.dst_addr));
		if (listener) {
			id->remote = OF(
				id, id, double_push_request(&listener->id, padded, sizeof(padded)));
			id->remote->remote = id;
		} else {
			push_padded(id, RDMA_CM_EVENT_ESTABLISHED, NULL, ANSWER_DATA_BYTES);
		}
	}
	double__leave();
	return 0;
}

int rdma_accept(struct rdma_cm_id *cm_id, struct rdma_conn_param *param)
{
	struct id *id = OF(id, id, cm_id);

	if (double__enter("rdma_accept"))
		return -1;
	if (param && is_too_long(param->private_data_len, ANSWER_DATA_BYTES)) {
		double__leave();
		return -1;
	}
	note_param(id, param);
	if (cm_id->qp)
		cm_id->qp->state = IBV_QPS_RTS;
	if (double__auto & DOUBLE_AUTO_CM) {
		double_push_cm(cm_id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
		if (id->remote) {
			push_padded(id->remote, RDMA_CM_EVENT_ESTABLISHED, id, ANSWER_DATA_BYTES);
			if (cm_id->qp && id->remote->id.qp)
				double_qp_pair(cm_id->qp, id->remote->id.qp);
		}
	}
	double__leave();
	return 0;
}

int rdma_establish(struct rdma_cm_id *cm_id)
{
	if (double__enter("rdma_establish"))
		return -1;
	double__step_done(OF(id, id, cm_id), RDMA_CM_EVENT_ESTABLISHED);
	double__leave();
	return 0;
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	if (double__enter("rdma_notify"))
		return -1;
	if (event == IBV_EVENT_COMM_EST)
		double_push_cm(id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	double__leave();
	return 0;
}

int rdma_reject(struct rdma_cm_id *cm_id, const void *data, uint8_t len)
{
	struct id *id = OF(id, id, cm_id);

	if (double__enter("rdma_reject"))
		return -1;
	if (is_too_long(len, REJECT_DATA_BYTES)) {
		double__leave();
		return -1;
	}
	if ((double__auto & DOUBLE_AUTO_CM) && id->remote) {
		uint8_t padded[REJECT_DATA_BYTES] = { 0 };

		if (len)
			memcpy(padded, data, len);
		double_push_cm(&id->remote->id, RDMA_CM_EVENT_REJECTED, REJECTED_BY_PEER, padded,
			sizeof(padded));
		forget_remote(id);
	}
	double__leave();
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *cm_id)
{
	struct id *id = OF(id, id, cm_id);

	if (double__enter("rdma_disconnect"))
		return -1;
	if (!id->has_connected) {
		double__leave();
		errno = EINVAL;
		return -1;
	}
	if (cm_id->qp)
		double__qp_error(cm_id->qp);
	if (double__auto & DOUBLE_AUTO_CM) {
		if (id->remote && !id->remote->has_disconnected) {
			id->remote->has_disconnected = true;
			double_push_cm(&id->remote->id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
		}
		if (!id->has_disconnected)
			double_push_cm(cm_id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
		id->has_disconnected = true;
		double_push_cm(cm_id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, 0);
	}
	double__leave();
	return 0;
}

/* queue pairs and options */

int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp;

	if (double__enter("rdma_create_qp_ex"))
		return -1;
	qp = id->qp || !id->verbs ? NULL : double__qp_new(attr->pd, attr, id->verbs);
	double__leave();
	if (!qp) {
		errno = EINVAL;
		return -1;
	}
	id->qp = qp;
	id->pd = attr->pd;
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};

	return rdma_create_qp_ex(id, &ex);
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	/* it cannot fail: an order of "any call" does not count it */
	double__note("rdma_destroy_qp");
	if (id->qp)
		double__qp_free(id->qp);
	id->qp = NULL;
	double__leave();
}

int rdma_set_option(struct rdma_cm_id *cm_id, int level, int optname, void *optval, size_t optlen)
{
	struct id *id = OF(id, id, cm_id);
	uint64_t value = 0;

	if (double__enter("rdma_set_option"))
		return -1;
	memcpy(&value, optval, optlen < sizeof(value) ? optlen : sizeof(value));
	if (id->option_count < MAX_OPTIONS) {
		id->options[id->option_count].level = level;
		id->options[id->option_count].name = optname;
		id->options[id->option_count++].value = value;
	}
	double__leave();
	return 0;
}

bool double_option(const struct rdma_cm_id *cm_id, int level, int name, uint64_t *value)
{
	const struct id *id = OF(id, id, cm_id);
	unsigned i;

	for (i = id->option_count; i-- > 0;) {
		if (id->options[i].level == level && id->options[i].name == name) {
			*value = id->options[i].value;
			return true;
		}
	}
	return false;
}
