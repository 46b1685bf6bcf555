/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * double.c - the double as a whole: lock, call log, failures on order, objects, problems
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "state.h"

#define MAX_ORDERS 16
#define LOG_SIZE   65536
#define MAX_NAMES  96
#define DEFAULT_DEVICE                                                                        \
	{                                                                                     \
		.transport = IBV_TRANSPORT_IB, .odp_is_complete = true, .takes_advice = true, \
		.max_inline = 256, .max_wr = 16384, .max_cqe = 65536, .max_rd_atomic = 16,    \
		.max_msg_size = 1U << 30, .link_layer = IBV_LINK_LAYER_ETHERNET,              \
	}

struct double_device double_device = DEFAULT_DEVICE;
unsigned double__auto;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static __thread unsigned depth; /* how often this thread holds the lock */

static struct object *objects; /* newest first */
static unsigned problems;

static struct order {
	const char *name;
	unsigned k; /* 0: none */
	int err;
	bool always;
} orders[MAX_ORDERS], order_any;

static struct {
	const char *name;
	unsigned count;
} names[MAX_NAMES];
static char log_text[LOG_SIZE];
static size_t log_len;
static unsigned calls_total;

static const char *const kind_names[DOUBLE_KINDS] = {
	[DOUBLE_EVENT_CHANNEL] = "event channel",
	[DOUBLE_ID] = "cm id",
	[DOUBLE_CM_EVENT] = "cm event",
	[DOUBLE_ADDRINFO] = "rdma_addrinfo",
	[DOUBLE_PD] = "protection domain",
	[DOUBLE_MR] = "region",
	[DOUBLE_COMP_CHANNEL] = "completion channel",
	[DOUBLE_CQ] = "completion queue",
	[DOUBLE_QP] = "queue pair",
	[DOUBLE_SRQ] = "shared receive queue",
};

void double__lock(void)
{
	pthread_mutex_lock(&lock);
	depth++;
}

void double__leave(void)
{
	depth--;
	pthread_mutex_unlock(&lock);
}

bool double_is_inside(void)
{
	return depth != 0;
}

static void note_call(const char *name)
{
	unsigned i = 0;

	while (i < MAX_NAMES - 1 && names[i].name && strcmp(names[i].name, name) != 0)
		i++;
	names[i].name = name;
	names[i].count++;
	if (log_len + strlen(name) + 2 < sizeof(log_text))
		log_len += (size_t)sprintf(log_text + log_len, log_len ? " %s" : "%s", name);
}

static bool is_due(struct order *order)
{
	if (order->k == 0)
		return false;
	if (order->k > 1) {
		order->k--;
		return false;
	}
	if (!order->always)
		order->k = 0;
	return true;
}

bool double__enter(const char *name)
{
	const struct order *due = NULL;
	unsigned i;

	double__lock();
	note_call(name);
	calls_total++;
	for (i = 0; i < MAX_ORDERS; i++) {
		if (orders[i].name && strcmp(orders[i].name, name) == 0 && is_due(&orders[i]))
			due = &orders[i];
	}
	if (is_due(&order_any))
		due = &order_any;
	if (!due)
		return false;
	if (due->err)
		errno = due->err;
	double__leave();
	return true;
}

void double__note(const char *name)
{
	double__lock();
	note_call(name);
}

int double__errno(void)
{
	return errno ? errno : -1;
}

void double__problem(const char *format, ...)
{
	va_list args;

	fputs("double: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	problems++;
}

unsigned double_problems(void)
{
	return problems;
}

void double_forget_problems(void)
{
	problems = 0;
}

static struct order *order_of(const char *name)
{
	unsigned i;

	for (i = 0; i < MAX_ORDERS; i++) {
		if (orders[i].name && strcmp(orders[i].name, name) == 0)
			return &orders[i];
	}
	for (i = 0; i < MAX_ORDERS; i++) {
		if (!orders[i].name || orders[i].k == 0)
			return &orders[i];
	}
	abort(); /* a test with too many orders */
}

void double_fail(const char *name, unsigned k, int err)
{
	double__lock();
	*order_of(name) = (struct order){ name, k, err, false };
	double__leave();
}

void double_fail_always(const char *name, int err)
{
	double__lock();
	*order_of(name) = (struct order){ name, 1, err, true };
	double__leave();
}

void double_fail_any(unsigned k, int err, bool always)
{
	double__lock();
	order_any = (struct order){ NULL, k, err, always };
	double__leave();
}

void double_fail_none(void)
{
	double__lock();
	memset(orders, 0, sizeof(orders));
	memset(&order_any, 0, sizeof(order_any));
	double__leave();
}

unsigned double_calls(const char *name)
{
	unsigned i;

	for (i = 0; i < MAX_NAMES && names[i].name; i++) {
		if (strcmp(names[i].name, name) == 0)
			return names[i].count;
	}
	return 0;
}

unsigned double_calls_total(void)
{
	return calls_total;
}

const char *double_log(void)
{
	return log_text;
}

void double_log_clear(void)
{
	double__lock();
	memset(names, 0, sizeof(names));
	log_len = 0;
	log_text[0] = '\0';
	calls_total = 0;
	double__leave();
}

void double_auto_bits(unsigned bits)
{
	double__auto = bits;
}

void double_auto(bool on)
{
	double__auto = on ? DOUBLE_AUTO_CM | DOUBLE_AUTO_DATA | DOUBLE_AUTO_FLUSH : 0;
}

void *double__new(enum double_kind kind, size_t size)
{
	struct object *object = calloc(1, size);

	if (!object)
		abort();
	object->kind = kind;
	object->next = objects;
	if (objects)
		objects->prev = object;
	objects = object;
	return object;
}

void double__free(void *pointer)
{
	struct object *object = pointer;

	if (object->prev)
		object->prev->next = object->next;
	else
		objects = object->next;
	if (object->next)
		object->next->prev = object->prev;
	free(object);
}

void double__gone(void *pointer)
{
	((struct object *)pointer)->is_gone = true;
}

struct object *double__last(enum double_kind kind)
{
	struct object *object = objects;

	while (object && (object->kind != kind || object->is_gone))
		object = object->next;
	return object;
}

unsigned double_live(enum double_kind kind)
{
	const struct object *object;
	unsigned count = 0;

	double__lock();
	for (object = objects; object; object = object->next)
		count += object->kind == kind && !object->is_gone;
	double__leave();
	return count;
}

bool double_is_clean(void)
{
	bool is_clean = problems == 0;
	int kind;

	if (!is_clean)
		fprintf(stderr, "double: %u problems\n", problems);
	for (kind = 0; kind < DOUBLE_KINDS; kind++) {
		const unsigned count = double_live((enum double_kind)kind);

		if (count) {
			fprintf(stderr, "double: left over: %u x %s\n", count, kind_names[kind]);
			is_clean = false;
		}
	}
	return is_clean;
}

/* what an object has besides its own memory */
static void forget(struct object *object)
{
	switch (object->kind) {
	case DOUBLE_COMP_CHANNEL: {
		struct comp_channel *channel = (struct comp_channel *)object;

		while (channel->first) {
			struct cq_event *event = channel->first;

			channel->first = event->next;
			free(event);
		}
		close(channel->bell.fd);
		break;
	}
	case DOUBLE_CQ:
		free(((struct cq *)object)->ring);
		break;
	case DOUBLE_QP:
		free(((struct qp *)object)->sq.ring);
		free(((struct qp *)object)->rq.ring);
		break;
	case DOUBLE_SRQ:
		free(((struct srq *)object)->rq.ring);
		break;
	default:
		double__cm_forget(object);
		break;
	}
}

void double_reset(void)
{
	static const struct double_device defaults = DEFAULT_DEVICE;

	double__lock();
	while (objects) {
		forget(objects);
		double__free(objects);
	}
	double_device = defaults;
	double__auto = 0;
	problems = 0;
	double_fail_none();
	double_log_clear();
	double__verbs_reset();
	double__cq_reset();
	double_refuse_wr(0, 0);
	double_route_over(NULL);
	double__leave();
}

void double__bell_init(struct bell *bell)
{
	bell->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (bell->fd < 0)
		abort();
}

void double__bell_ring(struct bell *bell)
{
	const uint64_t one = 1;

	if (write(bell->fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

int double__bell_wait(struct bell *bell)
{
	uint64_t one;

	return read(bell->fd, &one, sizeof(one)) == sizeof(one) ? 0 : -1;
}

void double__bell_unring(struct bell *bell)
{
	struct pollfd poller = { .fd = bell->fd, .events = POLLIN };

	if (poll(&poller, 1, 0) == 1)
		(void)double__bell_wait(bell);
}
