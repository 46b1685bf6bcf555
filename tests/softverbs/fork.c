/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * fork.c - a child process gets a device of its own
 *
 * Documented behaviour: what the parent has open stays the parent's. The child holds copies of its
 * objects, on which calls fail with ENODEV and change nothing that the parent could notice; it may
 * open the device afresh. The parent notices nothing at all: the child closes its copies of the
 * sockets at once, so they do not keep a connection alive that the parent ends.
 */

#include <pthread.h>

#include "clock.h"
#include "cm.h"
#include "cq.h"
#include "device.h"
#include "fault.h"
#include "mr.h"
#include "progress.h"
#include "wire.h"

static void before(void)
{
	pthread_mutex_lock(&sv_device.lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&sv_device.lock);
}

static void in_child(void)
{
	pthread_mutex_unlock(
		&sv_device.lock); /* the thread that forked has it, and is the only one */
	pthread_cond_init(&sv_device.acked, NULL);
	sv_device.generation++;
	if (sv_wire != NULL)
		sv_wire->forget();
	sv_progress_forget();
	sv_timers_forget();
	sv_mr_forget();
	sv_cq_forget_all();
	sv_fault_forget();
	sv_strict_forget();
	list_init(&sv_device.contexts);
	list_init(&sv_device.qps);
	list_init(&sv_device.links);
	list_init(&sv_device.ids);
	sv_device.cm = NULL;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before, in_parent, in_child);
}
