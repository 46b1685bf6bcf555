/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * device.c - asynchronous events: read by one reactor, handled by the one they concern
 *
 *      async_fd --poll of the owner's loop--> async_ready(): read, note, acknowledge
 *                                                  |
 *          +---------------------------------------+------------------+
 *          | the owner's own                                          | of others: uv_async_send()
 *          v                                                          v
 *      watch_handle()                                     woken(): watch_handle(), in their threads
 *
 * librdmacm opens a device once a process, so there is one descriptor for all reactors, and reading
 * an event takes it from everybody. The first reactor that watches a device owns the descriptor;
 * when it closes, the next one does. What is watched is found by the address of the verbs object:
 * as long as an event is not acknowledged its object cannot be destroyed, so the address is not
 * another object's. Events are noted under the lock and then acknowledged at once, so that a thread
 * that destroys an object hardly waits for the one that reads. The lock is never taken on the way
 * of data: only when objects are made and destroyed, and when there are events.
 *
 * Handing over is a uv_async_t of our own and not rpma_uv_reactor_post(): an event is no work that
 * the loop would have to stay alive for, and the reactor that it is meant for may be closing.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "conn.h"
#include "cq.h"
#include "device.h"
#include "reactor.h"

/* events read in one turn; the rest raise the next poll */
#define EVENT_BUDGET 64

#define BUCKETS 256

#define PORTS (UINT8_MAX + 1)

LIST_HEAD(watched_bucket, rpma_uv__watched);
TAILQ_HEAD(watched_told, rpma_uv__watched);
TAILQ_HEAD(watches, rpma_uv__watch);

/* a device of the process, from its first watch to its last */
struct shared {
	LIST_ENTRY(shared) link;
	struct ibv_context *context;
	struct watches watches;
	struct rpma_uv__watch *owner; /* who reads, or is about to; NULL: nobody can */
	int flags; /* of the descriptor, as we found them */
	bool is_gone; /* the descriptor fails: nothing will come any more */
	struct watched_bucket objects[BUCKETS];
};

struct rpma_uv__watch {
	TAILQ_ENTRY(rpma_uv__watch) link;
	struct rpma_uv__device *device;
	struct rpma_uv__reactor *reactor;
	struct shared *shared;
	uv_async_t wake;
	uv_poll_t poll; /* of the owner */
	bool has_poll; /* it is open */
	bool cannot_own; /* its loop has refused the descriptor */
	unsigned handles; /* that are still open when it closes */
	/* what has come, and is not handled */
	struct watched_told told;
	bool is_fatal;
	bool has_ports_down;
	bool ports_down[PORTS];
};

/* guards all of the above but the handles, which are the reactor's thread's */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, shared) devices = LIST_HEAD_INITIALIZER(devices);

/* ---- finding --------------------------------------------------------------------------------- */

static struct watched_bucket *bucket_of(struct shared *s, const void *address)
{
	return &s->objects[((uintptr_t)address >> 6) % BUCKETS];
}

static struct rpma_uv__watched *find(struct shared *s, const void *address)
{
	struct rpma_uv__watched *object;

	LIST_FOREACH (object, bucket_of(s, address), link) {
		if (object->address == address)
			return object;
	}
	return NULL; /* the program's own, or being destroyed */
}

static struct shared *shared_get(struct ibv_context *context)
{
	struct shared *s;

	LIST_FOREACH (s, &devices, link) {
		if (s->context == context)
			return s;
	}
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->context = context;
	s->flags = fcntl(context->async_fd, F_GETFL);
	TAILQ_INIT(&s->watches);
	for (unsigned i = 0; i < BUCKETS; i++)
		LIST_INIT(&s->objects[i]);
	LIST_INSERT_HEAD(&devices, s, link);
	return s;
}

/* the last one leaves the descriptor as the first one has found it */
static void shared_put(struct shared *s)
{
	if (!TAILQ_EMPTY(&s->watches))
		return;
	if (s->flags >= 0)
		(void)fcntl(s->context->async_fd, F_SETFL, s->flags);
	LIST_REMOVE(s, link);
	free(s);
}

/* ---- handling, in the thread of the reactor that is concerned -------------------------------- */

/* take one of the objects that something has happened to, and what it was */
static struct rpma_uv__watched *take_told(struct rpma_uv__watch *w, uint32_t *events)
{
	struct rpma_uv__watched *object;

	pthread_mutex_lock(&lock);
	object = TAILQ_FIRST(&w->told);
	if (object != NULL) {
		TAILQ_REMOVE(&w->told, object, told_link);
		*events = object->events;
		object->events = 0;
	}
	pthread_mutex_unlock(&lock);
	return object;
}

/* whole ports, and the whole device */
static void handle_failures(struct rpma_uv__watch *w)
{
	struct rpma_uv__conns_of of = { .device = w->device };
	bool ports_down[PORTS] = { false };
	bool is_fatal;

	pthread_mutex_lock(&lock);
	is_fatal = w->is_fatal;
	w->is_fatal = false;
	if (w->has_ports_down) {
		memcpy(ports_down, w->ports_down, sizeof(ports_down));
		memset(w->ports_down, 0, sizeof(w->ports_down));
		w->has_ports_down = false;
	}
	pthread_mutex_unlock(&lock);
	if (is_fatal)
		rpma_uv__conns_fail(w->reactor, &of, UV_ENODEV);
	for (unsigned port = 1; port < PORTS; port++) {
		if (!ports_down[port])
			continue;
		of.port = (uint8_t)port;
		rpma_uv__conns_fail(w->reactor, &of, UV_ENETDOWN);
	}
}

static void watch_handle(struct rpma_uv__watch *w)
{
	struct rpma_uv__watched *object;
	uint32_t events;

	handle_failures(w);
	while ((object = take_told(w, &events)) != NULL) {
		for (unsigned type = 0; type < 32; type++) {
			if (events & UINT32_C(1) << type)
				object->event(object, (enum ibv_event_type)type);
		}
	}
}

/* ---- reading, in the thread of the owner ----------------------------------------------------- */

static void note_object(struct shared *s, const void *address, enum ibv_event_type type)
{
	struct rpma_uv__watched *object = find(s, address);

	assert((unsigned)type < 32);
	if (object == NULL)
		return;
	if (object->events == 0)
		TAILQ_INSERT_TAIL(&object->watch->told, object, told_link);
	object->events |= UINT32_C(1) << type;
}

static void note_fatal(struct shared *s)
{
	struct rpma_uv__watch *w;

	TAILQ_FOREACH (w, &s->watches, link)
		w->is_fatal = true;
}

static void note_port_down(struct shared *s, int port)
{
	struct rpma_uv__watch *w;

	if (port <= 0 || port >= PORTS)
		return;
	TAILQ_FOREACH (w, &s->watches, link) {
		w->has_ports_down = true;
		w->ports_down[port] = true;
	}
}

static void note(struct shared *s, const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		note_object(s, event->element.cq, event->event_type);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		note_object(s, event->element.qp, event->event_type);
		break;
	case IBV_EVENT_SRQ_ERR:
		note_object(s, event->element.srq, event->event_type);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		note_fatal(s);
		break;
	case IBV_EVENT_PORT_ERR:
		note_port_down(s, event->element.port_num);
		break;
	default: /* a port that is back, addresses, paths: nothing that we would have to do */
		break;
	}
}

static bool has_come(const struct rpma_uv__watch *w)
{
	return w->is_fatal || w->has_ports_down || !TAILQ_EMPTY(&w->told);
}

static void wake_others(struct rpma_uv__watch *owner)
{
	struct rpma_uv__watch *w;

	TAILQ_FOREACH (w, &owner->shared->watches, link) {
		if (w != owner && has_come(w))
			uv_async_send(&w->wake);
	}
}

/* read until there is nothing more, or enough for this turn; false: the descriptor fails */
static bool read_events(struct rpma_uv__watch *w)
{
	struct ibv_async_event event;

	for (unsigned i = 0; i < EVENT_BUDGET; i++) {
		if (ibv_get_async_event(w->shared->context, &event)) {
			if (errno == EINTR)
				continue;
			return errno == EAGAIN;
		}
		w->reactor->stats.async_events++;
		note(w->shared, &event);
		ibv_ack_async_event(&event);
	}
	return true;
}

static void async_ready(uv_poll_t *poll, int status, int events)
{
	struct rpma_uv__watch *w = poll->data;

	(void)events;
	pthread_mutex_lock(&lock);
	if (status < 0 || !read_events(w)) {
		w->shared->is_gone = true;
		uv_poll_stop(poll);
		note_fatal(w->shared);
	}
	wake_others(w);
	pthread_mutex_unlock(&lock);
	watch_handle(w);
}

/* ---- owning ---------------------------------------------------------------------------------- */

/* in the thread of the loop that shall read from now on; libuv makes the descriptor non-blocking */
static int own(struct rpma_uv__watch *w)
{
	int ret = uv_poll_init(w->reactor->loop, &w->poll, w->shared->context->async_fd);

	if (ret)
		return ret;
	w->poll.data = w;
	w->has_poll = true;
	uv_poll_start(&w->poll, UV_READABLE, async_ready);
	uv_unref((uv_handle_t *)&w->poll);
	w->shared->owner = w;
	return 0;
}

/* somebody else has to read; what comes meanwhile waits in the kernel */
static void pass_on(struct shared *s)
{
	struct rpma_uv__watch *w;

	s->owner = NULL;
	TAILQ_FOREACH (w, &s->watches, link) {
		if (w->cannot_own || s->is_gone)
			continue;
		s->owner = w;
		uv_async_send(&w->wake);
		return;
	}
}

static void woken(uv_async_t *wake)
{
	struct rpma_uv__watch *w = wake->data;

	pthread_mutex_lock(&lock);
	if (w->shared->owner == w && !w->has_poll && own(w)) {
		w->cannot_own = true;
		pass_on(w->shared);
	}
	pthread_mutex_unlock(&lock);
	watch_handle(w);
}

int rpma_uv__watch_start(struct rpma_uv__device *device)
{
	struct rpma_uv__reactor *r = device->reactor;
	struct rpma_uv__watch *w;
	struct shared *s;
	int ret;

	if (r->opts.async_events < 0)
		return 0;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return UV_ENOMEM;
	w->device = device;
	w->reactor = r;
	TAILQ_INIT(&w->told);
	pthread_mutex_lock(&lock);
	ret = UV_ENOMEM;
	w->shared = s = shared_get(device->context);
	if (s == NULL)
		goto err_free;
	ret = s->owner == NULL && !s->is_gone ? own(w) : 0;
	if (ret)
		goto err_put;
	ret = uv_async_init(r->loop, &w->wake, woken);
	assert(ret == 0); /* the loop has one of its own already, this only joins it */
	w->wake.data = w;
	uv_unref((uv_handle_t *)&w->wake);
	TAILQ_INSERT_TAIL(&s->watches, w, link);
	pthread_mutex_unlock(&lock);
	device->watch = w;
	return 0;

err_put:
	shared_put(s);
err_free:
	pthread_mutex_unlock(&lock);
	free(w);
	return ret;
}

static void handle_closed(uv_handle_t *handle)
{
	struct rpma_uv__watch *w = handle->data;
	struct rpma_uv__reactor *r = w->reactor;

	if (--w->handles == 0)
		free(w);
	rpma_uv__reactor_handle_gone(r);
}

static void handle_close(struct rpma_uv__watch *w, uv_handle_t *handle)
{
	w->handles++;
	w->reactor->handles_open++;
	uv_close(handle, handle_closed);
}

void rpma_uv__watch_stop(struct rpma_uv__device *device)
{
	struct rpma_uv__watch *w = device->watch;
	struct shared *s;

	if (w == NULL)
		return;
	device->watch = NULL;
	s = w->shared;
	pthread_mutex_lock(&lock);
	assert(TAILQ_EMPTY(&w->told));
	if (w->has_poll)
		uv_poll_stop(&w->poll);
	TAILQ_REMOVE(&s->watches, w, link);
	if (s->owner == w)
		pass_on(s);
	shared_put(s);
	pthread_mutex_unlock(&lock);
	if (w->has_poll)
		handle_close(w, (uv_handle_t *)&w->poll);
	handle_close(w, (uv_handle_t *)&w->wake);
}

/* ---- what is watched ------------------------------------------------------------------------- */

void rpma_uv__watched_add(struct rpma_uv__device *device, struct rpma_uv__watched *object,
	const void *address, void (*event)(struct rpma_uv__watched *, enum ibv_event_type))
{
	struct rpma_uv__watch *w = device->watch;

	assert(object->address == NULL);
	if (w == NULL)
		return;
	*object = (struct rpma_uv__watched){ .event = event, .address = address, .watch = w };
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(bucket_of(w->shared, address), object, link);
	pthread_mutex_unlock(&lock);
}

void rpma_uv__watched_remove(struct rpma_uv__watched *object)
{
	if (object->address == NULL)
		return;
	pthread_mutex_lock(&lock);
	LIST_REMOVE(object, link);
	if (object->events != 0)
		TAILQ_REMOVE(&object->watch->told, object, told_link);
	pthread_mutex_unlock(&lock);
	*object = (struct rpma_uv__watched){ 0 };
}
