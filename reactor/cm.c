/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* cm.c - the RDMA event channel: every event is copied, acknowledged at once, then handled */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "reactor.h"
#include "status.h"

/* events handled in one turn; the rest raise the next poll */
#define EVENT_BUDGET 64

struct rpma_uv__cm {
	struct rpma_uv__reactor *reactor;
	struct rdma_event_channel *channel;
	uv_poll_t poll;
};

/* the events that carry private data; of the others the field is not to be looked at */
static bool has_private_data(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_CONNECT_REQUEST || type == RDMA_CM_EVENT_ESTABLISHED ||
	       type == RDMA_CM_EVENT_REJECTED;
}

static void event_handle(struct rdma_cm_event *from)
{
	struct rpma_uv__cm_event event = {
		.type = from->event,
		.status = from->status,
		.id = from->id,
	};
	struct rpma_uv__cm_id *cm_id;
	char private_data[UINT8_MAX];

	if (has_private_data(from->event) && from->param.conn.private_data_len > 0) {
		event.private_data_len = from->param.conn.private_data_len;
		memcpy(private_data, from->param.conn.private_data, event.private_data_len);
		event.private_data = private_data;
	}
	/* a request comes on its listener's behalf, everything else on the id's own */
	cm_id = from->event == RDMA_CM_EVENT_CONNECT_REQUEST ? from->listen_id->context
							     : from->id->context;
	rdma_ack_cm_event(from);
	assert(cm_id != NULL);
	cm_id->event(cm_id, &event);
}

static void channel_ready(uv_poll_t *poll, int status, int events)
{
	struct rpma_uv__cm *cm = poll->data;
	struct rdma_cm_event *event;

	(void)status; /* an error shows again when the channel is read */
	(void)events;
	for (unsigned i = 0; i < EVENT_BUDGET; i++) {
		if (rdma_get_cm_event(cm->channel, &event)) {
			if (errno == EINTR)
				continue;
			return;
		}
		cm->reactor->stats.cm_events++;
		event_handle(event);
	}
}

int rpma_uv__cm_ensure(struct rpma_uv__reactor *r)
{
	struct rpma_uv__cm *cm;
	int ret;

	if (r->cm != NULL)
		return 0;
	cm = calloc(1, sizeof(*cm));
	if (cm == NULL)
		return UV_ENOMEM;
	cm->reactor = r;
	cm->channel = rdma_create_event_channel();
	if (cm->channel == NULL) {
		ret = errno == ENOENT ? UV_ENODEV : rpma_uv__status_errno();
		goto err_free;
	}
	ret = uv_poll_init(r->loop, &cm->poll, cm->channel->fd);
	if (ret)
		goto err_destroy_channel;
	cm->poll.data = cm;
	uv_poll_start(&cm->poll, UV_READABLE, channel_ready);
	uv_unref((uv_handle_t *)&cm->poll);
	r->cm = cm;
	return 0;

err_destroy_channel:
	rdma_destroy_event_channel(cm->channel);
err_free:
	free(cm);
	return ret;
}

int rpma_uv__cm_id_create(struct rpma_uv__reactor *r, struct rpma_uv__cm_id *cm_id)
{
	struct rdma_cm_id *id;
	int ret;

	assert(cm_id->id == NULL);
	assert(cm_id->event != NULL);
	ret = rpma_uv__cm_ensure(r);
	if (ret)
		return ret;
	if (rdma_create_id(r->cm->channel, &id, cm_id, RDMA_PS_TCP))
		return rpma_uv__status_errno();
	cm_id->id = id;
	return 0;
}

void rpma_uv__cm_id_adopt(struct rpma_uv__cm_id *cm_id, struct rdma_cm_id *id)
{
	assert(cm_id->id == NULL);
	cm_id->id = id;
	id->context = cm_id;
}

void rpma_uv__cm_id_destroy(struct rpma_uv__cm_id *cm_id)
{
	if (cm_id->id == NULL)
		return;
	(void)rdma_destroy_id(cm_id->id);
	cm_id->id = NULL;
}

static void cm_closed(uv_handle_t *handle)
{
	struct rpma_uv__cm *cm = handle->data;
	struct rpma_uv__reactor *r = cm->reactor;

	rdma_destroy_event_channel(cm->channel);
	free(cm);
	rpma_uv__reactor_handle_gone(r);
}

void rpma_uv__cm_close(struct rpma_uv__reactor *r)
{
	struct rpma_uv__cm *cm = r->cm;

	if (cm == NULL)
		return;
	r->cm = NULL;
	r->handles_open++;
	uv_poll_stop(&cm->poll);
	uv_close((uv_handle_t *)&cm->poll, cm_closed);
}
