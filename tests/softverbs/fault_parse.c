/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * fault_parse.c - the text of an order
 *
 *     PLACE[:WHAT][@N[+]][=VALUE]        N: the N-th time; with a plus, and from then on
 *
 * One table has all of PLACE and WHAT. A WHAT of "*" is a name that belongs to the kind: the status of
 * a work completion.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "order.h"

enum value { NO_VALUE, ERRNO, NUMBER, TIME, RATE, EVENT, EVENT_TIME, EVENT_EVENT, HOLDS };

#define AT(point) (1u << SV_FAULT_##point)

struct place {
	const char *name;
	const char *what;
	enum sv_order_kind kind;
	enum value value;
	unsigned points;
	int answer; /* without a value */
};

static const struct place places[] = {
	{ "post_send", "fail", SV_ORDER_ANSWER, ERRNO, AT(POST_SEND), ENOMEM },
	{ "post_recv", "fail", SV_ORDER_ANSWER, ERRNO, AT(POST_RECV), ENOMEM },
	{ "reg_mr", "fail", SV_ORDER_ANSWER, ERRNO, AT(REG_MR), ENOMEM },
	{ "create_qp", "fail", SV_ORDER_ANSWER, ERRNO, AT(CREATE_QP), ENOMEM },
	{ "create_cq", "fail", SV_ORDER_ANSWER, ERRNO, AT(CREATE_CQ), ENOMEM },
	{ "wr", "*", SV_ORDER_ANSWER, NO_VALUE, AT(WORK), 0 },
	{ "request", "rnr", SV_ORDER_ANSWER, NO_VALUE, AT(REQUEST), SV_FAULT_RNR },
	{ "request", "*", SV_ORDER_ANSWER, NO_VALUE, AT(REQUEST), 0 },
	{ "poll", "batch", SV_ORDER_ANSWER, NUMBER, AT(POLL), 0 },
	{ "cq_event", "spurious", SV_ORDER_ANSWER, NO_VALUE, AT(ARM), SV_FAULT_TWICE },
	{ "cq_event", "drop", SV_ORDER_ANSWER, NO_VALUE, AT(COMP_EVENT), SV_FAULT_DROP },
	{ "cq_event", "double", SV_ORDER_ANSWER, NO_VALUE, AT(COMP_EVENT), SV_FAULT_TWICE },
	{ "complete", "before_arm", SV_ORDER_ANSWER, NO_VALUE, AT(COMPLETE), SV_FAULT_HIDE },
	{ "complete", "overrun", SV_ORDER_ANSWER, NO_VALUE, AT(COMPLETE), SV_FAULT_OVERRUN },
	{ "get_event", "EINTR", SV_ORDER_ANSWER, NO_VALUE,
		AT(GET_CQ_EVENT) | AT(GET_CM_EVENT) | AT(GET_ASYNC_EVENT), EINTR },
	{ "get_event", "EAGAIN", SV_ORDER_ANSWER, NO_VALUE,
		AT(GET_CQ_EVENT) | AT(GET_CM_EVENT) | AT(GET_ASYNC_EVENT), EAGAIN },
	{ "get_cq_event", "EINTR", SV_ORDER_ANSWER, NO_VALUE, AT(GET_CQ_EVENT), EINTR },
	{ "get_cq_event", "EAGAIN", SV_ORDER_ANSWER, NO_VALUE, AT(GET_CQ_EVENT), EAGAIN },
	{ "get_cm_event", "EINTR", SV_ORDER_ANSWER, NO_VALUE, AT(GET_CM_EVENT), EINTR },
	{ "get_cm_event", "EAGAIN", SV_ORDER_ANSWER, NO_VALUE, AT(GET_CM_EVENT), EAGAIN },
	{ "get_async_event", "EINTR", SV_ORDER_ANSWER, NO_VALUE, AT(GET_ASYNC_EVENT), EINTR },
	{ "get_async_event", "EAGAIN", SV_ORDER_ANSWER, NO_VALUE, AT(GET_ASYNC_EVENT), EAGAIN },
	{ "cm", "late", SV_ORDER_CM_LATE, EVENT_TIME, 0, 0 },
	{ "cm", "drop", SV_ORDER_CM_DROP, EVENT, 0, 0 },
	{ "cm", "double", SV_ORDER_CM_DOUBLE, EVENT, 0, 0 },
	{ "cm", "after", SV_ORDER_CM_AFTER, EVENT_EVENT, 0, 0 },
	{ "resolve", "never", SV_ORDER_RESOLVE_NEVER, NO_VALUE, 0, 0 },
	{ "withhold", NULL, SV_ORDER_WITHHOLD, HOLDS, 0, 0 },
	{ "wire", "delay", SV_ORDER_WIRE_DELAY, TIME, 0, 0 },
	{ "wire", "rate", SV_ORDER_WIRE_RATE, RATE, 0, 0 },
	{ "payload", "changes", SV_ORDER_PAYLOAD, NO_VALUE, 0, 0 },
	{ "port", "message", SV_ORDER_PORT_MESSAGE, RATE, 0, 0 },
	{ "peer", "die", SV_ORDER_PEER_DIE, TIME, AT(WORK), 0 },
	{ "peer", "vanish", SV_ORDER_PEER_VANISH, TIME, AT(WORK), 0 },
	{ "device", "remove", SV_ORDER_DEVICE_REMOVE, TIME, AT(WORK), 0 },
};

struct name {
	const char *name;
	int number;
};

#define E(name)             \
	{                   \
#name, name \
	}

static const struct name errnos[] = { E(EACCES), E(EAGAIN), E(EBUSY), E(EFAULT), E(EINTR),
	E(EINVAL), E(EIO), E(EMFILE), E(ENODEV), E(ENOMEM), E(ENOSPC), E(ENOSYS), E(EOPNOTSUPP),
	E(EPERM), E(ETIMEDOUT), { NULL, 0 } };

#undef E
#define E(name)                      \
	{                            \
#name, IBV_WC_##name \
	}

static const struct name statuses[] = { E(LOC_LEN_ERR), E(LOC_QP_OP_ERR), E(LOC_PROT_ERR),
	E(WR_FLUSH_ERR), E(MW_BIND_ERR), E(BAD_RESP_ERR), E(LOC_ACCESS_ERR), E(REM_INV_REQ_ERR),
	E(REM_ACCESS_ERR), E(REM_OP_ERR), E(RETRY_EXC_ERR), E(RNR_RETRY_EXC_ERR), E(REM_ABORT_ERR),
	E(FATAL_ERR), E(RESP_TIMEOUT_ERR), E(GENERAL_ERR), { NULL, 0 } };

static const struct name hold_names[] = { { "resolver", SV_HOLD_RESOLVER },
	{ "peer", SV_HOLD_PEER }, { "destroy", SV_HOLD_DESTROY },
	{ "registration", SV_HOLD_REGISTRATION },
	{ "all", SV_HOLD_RESOLVER | SV_HOLD_PEER | SV_HOLD_DESTROY | SV_HOLD_REGISTRATION },
	{ NULL, 0 } };

static const struct name times[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 },
	{ "s", 1000000000 }, { NULL, 0 } };
static const struct name rates[] = { { "", 1 }, { "K", 1000 }, { "M", 1000000 },
	{ "G", 1000000000 }, { NULL, 0 } };

static bool look_up(const struct name *table, const char *text, size_t length, int *number)
{
	for (; table->name != NULL; table++)
		if (strlen(table->name) == length && memcmp(table->name, text, length) == 0) {
			*number = table->number;
			return true;
		}
	return false;
}

/* digits, and one of the units */
static bool quantity(const char *text, const struct name *units, uint64_t *value)
{
	unsigned long number;
	char *end;
	int unit;

	if (*text < '0' || *text > '9')
		return false;
	number = strtoul(text, &end, 10);
	if (!look_up(units, end, strlen(end), &unit))
		return false;
	*value = number * (uint64_t)unit;
	return true;
}

/* the name that rdma_event_str() gives, without its prefix */
static bool event_named(const char *text, size_t length, int *event)
{
	static const char prefix[] = "RDMA_CM_EVENT_";

	for (int i = RDMA_CM_EVENT_ADDR_RESOLVED; i <= RDMA_CM_EVENT_TIMEWAIT_EXIT; i++) {
		const char *name = rdma_event_str((enum rdma_cm_event_type)i) + sizeof(prefix) - 1;

		if (strlen(name) == length && memcmp(name, text, length) == 0) {
			*event = i;
			return true;
		}
	}
	return false;
}

unsigned sv_order_holds(const char *names)
{
	unsigned holds = 0;
	size_t length;
	int hold;

	for (;; names += length + 1) {
		length = strcspn(names, ",");
		if (!look_up(hold_names, names, length, &hold))
			return 0;
		holds |= (unsigned)hold;
		if (names[length] == '\0')
			return holds;
	}
}

/* text NULL: there is none */
static bool parse_value(const char *text, enum value type, struct sv_order *order)
{
	size_t length = text != NULL ? strcspn(text, ",:") : 0;
	char *end;

	if (text == NULL) /* what has to be said cannot be left out */
		return type == NO_VALUE || type == ERRNO ||
		       (type == TIME && order->kind != SV_ORDER_WIRE_DELAY);
	switch (type) {
	case NO_VALUE:
		return false;
	case ERRNO:
		return look_up(errnos, text, strlen(text), &order->answer);
	case NUMBER:
		order->answer = (int)strtol(text, &end, 10);
		return order->answer > 0 && *end == '\0';
	case TIME:
		return quantity(text, times, &order->value);
	case RATE:
		return quantity(text, rates, &order->value) && order->value > 0;
	case EVENT:
		return event_named(text, strlen(text), &order->event);
	case EVENT_TIME:
		return text[length] == ',' && event_named(text, length, &order->event) &&
		       quantity(text + length + 1, times, &order->value);
	case EVENT_EVENT:
		return text[length] == ':' && event_named(text, length, &order->event) &&
		       event_named(text + length + 1, strlen(text + length + 1), &order->then);
	case HOLDS:
		order->value = sv_order_holds(text);
		return order->value != 0;
	}
	return false;
}

/* "@N" or "@N+" at the end of head, which is cut off there */
static bool parse_time(char *head, struct sv_order *order)
{
	char *at = strchr(head, '@');
	unsigned long n;
	char *end;

	if (at == NULL)
		return true;
	*at++ = '\0';
	n = strtoul(at, &end, 10);
	if (*at < '0' || *at > '9' || n == 0 || n > INT32_MAX)
		return false;
	order->first = (unsigned)n;
	order->open = *end == '+';
	return strcmp(end, order->open ? "+" : "") == 0;
}

static const struct place *find_place(const char *name, const char *what, struct sv_order *order)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const struct place *place = &places[i];

		if (strcmp(name, place->name) != 0 || (what == NULL) != (place->what == NULL))
			continue;
		order->answer = place->answer;
		if (what == NULL || strcmp(what, place->what) == 0)
			return place;
		if (*place->what == '*' && look_up(statuses, what, strlen(what), &order->answer))
			return place;
	}
	return NULL;
}

bool sv_order_parse(const char *text, struct sv_order *order)
{
	const struct place *place;
	size_t length = strcspn(text, "=");
	const char *value = text[length] == '=' ? text + length + 1 : NULL;
	char head[64];
	char *what;

	memset(order, 0, sizeof(*order));
	if (length >= sizeof(head))
		return false;
	memcpy(head, text, length);
	head[length] = '\0';
	if (!parse_time(head, order))
		return false;
	what = strchr(head, ':');
	if (what != NULL)
		*what++ = '\0';
	place = find_place(head, what, order);
	if (place == NULL)
		return false;
	order->kind = place->kind;
	order->points = place->points;
	return parse_value(value, place->value, order);
}
