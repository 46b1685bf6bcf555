/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* device.c - the one device of a process: its lock, its list, its contexts */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "async.h"
#include "cq.h"
#include "device.h"
#include "fault.h"
#include "progress.h"
#include "qp.h"
#include "wire.h"

struct sv_device sv_device = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.acked = PTHREAD_COND_INITIALIZER,
	.contexts = { &sv_device.contexts, &sv_device.contexts },
	.qps = { &sv_device.qps, &sv_device.qps },
	.links = { &sv_device.links, &sv_device.links },
	.ids = { &sv_device.ids, &sv_device.ids },
};

static struct ibv_device the_device = {
	.node_type = IBV_NODE_CA,
	.transport_type = IBV_TRANSPORT_IB,
	.name = SV_NAME,
	.dev_name = "uverbs-" SV_NAME,
	.dev_path = "/sys/class/infiniband_verbs/uverbs-" SV_NAME,
	.ibdev_path = "/sys/class/infiniband/" SV_NAME,
};

void sv_lock(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&sv_device.lock);
	sv_device.cancel_state = state;
}

void sv_unlock(void)
{
	int state = sv_device.cancel_state;

	pthread_mutex_unlock(&sv_device.lock);
	pthread_setcancelstate(state, &state);
}

void sv_wait(void)
{
	int state = sv_device.cancel_state;

	if (SV_STRICT && (sv_wire == NULL || sv_wire->threaded))
		sv_strict_patient();
	else if (sv_wire == NULL || sv_wire->threaded)
		pthread_cond_wait(&sv_device.acked, &sv_device.lock);
	else
		sv_wire->sleep();
	sv_device.cancel_state = state;
}

bool sv_enter(struct ibv_context *context)
{
	sv_lock();
	if (sv_context(context)->generation == sv_device.generation)
		return true;
	sv_unlock();
	errno = ENODEV;
	return false;
}

bool sv_enter_live(struct ibv_context *context)
{
	if (!sv_enter(context))
		return false;
	if (!sv_context(context)->gone)
		return true;
	sv_unlock();
	errno = EIO;
	return false;
}

struct sv_context *sv_context(struct ibv_context *context)
{
	return container_of(context, struct sv_context, verbs.context);
}

struct sv_context *sv_context_open(void)
{
	struct sv_context *c;

	if (sv_progress_start() != 0)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	if (sv_signal_open(&c->signal) != 0) {
		free(c);
		return NULL;
	}
	list_init(&c->async);
	sv_async_init(c);
	c->generation = sv_device.generation;
	c->verbs.sz = sizeof(c->verbs);
	sv_fill_operations(&c->verbs);
	c->verbs.context.device = &the_device;
	c->verbs.context.cmd_fd = -1;
	c->verbs.context.async_fd = c->signal.fd;
	c->verbs.context.num_comp_vectors = 1;
	c->verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&c->verbs.context.mutex, NULL);
	list_push(&sv_device.contexts, &c->node);
	return c;
}

struct sv_context *sv_context_cm(void)
{
	if (sv_device.cm == NULL)
		sv_device.cm = sv_context_open();
	return sv_device.cm;
}

SV_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(2, sizeof(*list));

	if (list != NULL)
		list[0] = &the_device;
	if (num_devices != NULL)
		*num_devices = list != NULL;
	return list;
}

SV_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

SV_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

SV_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return 0;
}

SV_EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	struct ibv_device_attr attr;

	(void)device;
	sv_fill_device_attr(&attr);
	return attr.node_guid;
}

SV_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct sv_context *c;

	(void)device;
	SV_ENTER();
	sv_lock();
	c = sv_context_open();
	if (c != NULL)
		sv_born(SV_CONTEXT, &c->verbs.context);
	sv_unlock();
	return c != NULL ? &c->verbs.context : NULL;
}

SV_EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct sv_context *c = sv_context(context);

	if (SV_DEAD(SV_CONTEXT, context))
		return EINVAL;
	sv_lock();
	if (c == sv_device.cm || c->generation != sv_device.generation) {
		sv_unlock();
		return 0;
	}
	sv_async_drop(context, NULL);
	sv_timer_stop(&c->late);
	list_remove(&c->node);
	sv_signal_close(&c->signal);
	pthread_mutex_destroy(&c->verbs.context.mutex);
	sv_gone(context, c);
	sv_unlock();
	return 0;
}
