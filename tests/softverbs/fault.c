/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* fault.c - the orders in force, and the calls that give and withdraw them */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "order.h"

#define ORDERS   64
#define TEXT_MAX 4096

bool sv_faults_on;

static struct sv_order orders[ORDERS];
static unsigned order_count;
static unsigned holds; /* enum sv_hold */
static int waiting[4]; /* calls, by the bit of their hold */

/* this time counts; true: the order is about it */
static bool is_due(struct sv_order *order)
{
	order->seen++;
	return order->first == 0 || order->seen == order->first ||
	       (order->open && order->seen > order->first);
}

struct sv_order *sv_order_due(enum sv_order_kind kind, int event)
{
	struct sv_order *due = NULL;

	for (unsigned i = 0; i < order_count; i++)
		if (orders[i].kind == kind && orders[i].event == event && is_due(&orders[i]) &&
			due == NULL)
			due = &orders[i];
	return due;
}

uint64_t sv_order_value(enum sv_order_kind kind)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < order_count; i++)
		if (orders[i].kind == kind)
			value = orders[i].value;
	return value;
}

static bool is_act(const struct sv_order *order)
{
	return order->kind == SV_ORDER_PEER_DIE || order->kind == SV_ORDER_PEER_VANISH ||
	       order->kind == SV_ORDER_DEVICE_REMOVE;
}

int sv_fault_ask(enum sv_fault_point point, void *object)
{
	int answer = 0;

	(void)object;
	for (unsigned i = 0; i < order_count; i++) {
		struct sv_order *order = &orders[i];

		if (!(order->points & 1u << point) || !is_due(order))
			continue;
		if (is_act(order))
			sv_timer_set(&order->timer, 0); /* not from inside of this post */
		else if (answer == 0)
			answer = order->answer;
	}
	return answer;
}

bool sv_fault_holds(enum sv_hold what)
{
	return (holds & (unsigned)what) != 0;
}

uint32_t sv_fault_max_msg(void)
{
	uint64_t order = sv_order_value(SV_ORDER_PORT_MESSAGE);

	return order > 0 && order < SV_MAX_MSG ? (uint32_t)order : SV_MAX_MSG;
}

void sv_fault_wait(enum sv_hold what)
{
	int i = __builtin_ctz((unsigned)what);

	waiting[i]++;
	while (sv_fault_holds(what))
		sv_wait();
	waiting[i]--;
}

static int held(unsigned which)
{
	int n = 0;

	for (int i = 0; i < 4; i++)
		n += which & 1u << i ? waiting[i] : 0;
	if (which & SV_HOLD_RESOLVER)
		n += sv_fault_events_held();
	if ((which & SV_HOLD_PEER) && (holds & SV_HOLD_PEER))
		n += sv_fault_links_paused();
	return n;
}

static int release(unsigned which)
{
	int n = held(which);

	holds &= ~which;
	if (which & SV_HOLD_RESOLVER)
		sv_fault_events_release();
	if (which & SV_HOLD_PEER)
		sv_fault_links_resume();
	pthread_cond_broadcast(&sv_device.acked);
	return n;
}

/* an order to peer or device: its timer, or the post that sets it */
static void start_act(struct sv_order *order)
{
	sv_timer_init(&order->timer, sv_fault_act);
	if (order->first == 0) {
		order->points = 0;
		sv_timer_set(&order->timer, sv_clock->now_ns() + order->value);
	}
}

static void put_in_force(const struct sv_order *order)
{
	struct sv_order *mine = &orders[order_count++];

	*mine = *order;
	if (mine->kind == SV_ORDER_WITHHOLD)
		holds |= (unsigned)mine->value;
	if (is_act(mine))
		start_act(mine);
}

/* all of text or nothing; what is not understood is left in *wrong */
static int give(char *text, const char **wrong)
{
	struct sv_order given[ORDERS];
	unsigned count = 0;
	char *rest = text;
	char *one;

	while ((one = strsep(&rest, ";\n")) != NULL) {
		one += strspn(one, " \t");
		one[strcspn(one, " \t")] = '\0';
		if (*one == '\0')
			continue;
		*wrong = one;
		if (order_count + count == ORDERS)
			return ENOSPC;
		if (!sv_order_parse(one, &given[count++]))
			return EINVAL;
	}
	for (unsigned i = 0; i < count; i++)
		put_in_force(&given[i]);
	if (order_count > 0)
		sv_faults_on = true;
	return 0;
}

static void withdraw(void)
{
	for (unsigned i = 0; i < order_count; i++)
		if (is_act(&orders[i]))
			sv_timer_stop(&orders[i].timer);
	order_count = 0;
	release(~0u);
	sv_faults_on = false;
}

int softverbs_device_faults(const char *text)
{
	const char *wrong;
	char copy[TEXT_MAX];
	int ret = 0;

	if (text != NULL && strlen(text) >= sizeof(copy))
		return ENOSPC;
	sv_lock();
	if (text == NULL) {
		withdraw();
	} else {
		strcpy(copy, text);
		ret = give(copy, &wrong);
	}
	sv_unlock();
	return ret;
}

int softverbs_device_release(const char *what)
{
	unsigned which = what != NULL ? sv_order_holds(what) : 0;
	int n;

	if (which == 0)
		return -1;
	sv_lock();
	n = release(which);
	sv_unlock();
	return n;
}

int softverbs_device_withheld(const char *what)
{
	unsigned which = what != NULL ? sv_order_holds(what) : 0;
	int n;

	if (which == 0)
		return -1;
	sv_lock();
	n = held(which);
	sv_unlock();
	return n;
}

/* a program that runs with other faults than it was told to would prove nothing: it does not run */
__attribute__((constructor)) static void from_environment(void)
{
	const char *text = getenv("SOFTVERBS_FAULTS");
	const char *wrong = "";
	char copy[TEXT_MAX];

	if (text == NULL)
		return;
	if (strlen(text) < sizeof(copy)) {
		strcpy(copy, text);
		if (give(copy, &wrong) == 0)
			return;
	}
	fprintf(stderr, "softverbs: SOFTVERBS_FAULTS: cannot understand \"%s\"\n", wrong);
	_exit(2);
}

void sv_fault_forget(void)
{
	for (unsigned i = 0; i < order_count; i++)
		if (is_act(&orders[i]))
			sv_timer_init(&orders[i].timer, sv_fault_act);
	memset(waiting, 0, sizeof(waiting));
	sv_fault_events_forget();
	sv_fault_wire_forget();
}

void sv_fault_restart(void)
{
	sv_fault_wire_forget();
	for (unsigned i = 0; i < order_count; i++) {
		orders[i].seen = 0;
		if (is_act(&orders[i]))
			start_act(&orders[i]);
		if (orders[i].kind == SV_ORDER_WITHHOLD)
			holds |= (unsigned)orders[i].value;
	}
}
