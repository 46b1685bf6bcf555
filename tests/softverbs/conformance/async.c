/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* async.c - asynchronous events */

#include <errno.h>
#include <fcntl.h>

#include "pair.h"

static void quiet_at_first(void)
{
	struct rdma_cm_id *id = id_of_device();

	MUST(fcntl(id->verbs->async_fd, F_GETFD) >= 0);
	MUST(!readable(id->verbs->async_fd, QUIET_MS));
	MUST_EQ(rdma_destroy_id(id), 0);
}

static void nonblocking_get(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_async_event event;

	nonblocking(id->verbs->async_fd);
	MUST_ERRNO(ibv_get_async_event(id->verbs, &event), EAGAIN);
	MUST_EQ(rdma_destroy_id(id), 0);
}

/* more completions than the CQ has room for */
static void overrun(struct pair *p)
{
	PAIR(p, .cqe = 4, .cap = { .max_send_wr = 64 });
	MUST(p->c.scq->cqe < 60);
	for (int i = 0; i <= p->c.scq->cqe; i++)
		POST(&p->c, .opcode = IBV_WR_RDMA_WRITE, .id = (uint64_t)i, .len = 8, AT(&p->s, 0));
}

static void cq_overrun(void)
{
	struct pair p;

	overrun(&p);
	struct ibv_async_event event = async_take(p.c.id->verbs, IBV_EVENT_CQ_ERR);
	MUST(event.element.cq == p.c.scq);
	ibv_ack_async_event(&event);
	pair_close(&p);
}

static int destroy_cq(void *arg)
{
	return ibv_destroy_cq(arg);
}

static void destroy_waits(void)
{
	struct background b;
	struct pair p;

	overrun(&p);
	struct ibv_async_event event = async_take(p.c.id->verbs, IBV_EVENT_CQ_ERR);
	rdma_destroy_qp(p.c.id);
	background_start(&b, destroy_cq, p.c.scq);
	MUST(background_waits(&b));
	ibv_ack_async_event(&event);
	MUST_EQ(background_join(&b), 0);
}

static int get_cq_err(void *arg)
{
	struct ibv_async_event event;

	do {
		if (ibv_get_async_event(arg, &event) != 0)
			return -1;
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_CQ_ERR);
	return 0;
}

static void get_waits(void)
{
	struct background b;
	struct pair p;

	PAIR(&p, .cqe = 4, .cap = { .max_send_wr = 64 });
	background_start(&b, get_cq_err, p.c.id->verbs);
	MUST(background_waits(&b));
	for (int i = 0; i <= p.c.scq->cqe; i++)
		POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = (uint64_t)i, .len = 8, AT(&p.s, 0));
	MUST_EQ(background_join(&b), 0);
	pair_close(&p);
}

static void names(void)
{
	for (int i = 0; i < IBV_EVENT_GID_CHANGE; i++)
		MUST(strcmp(ibv_event_type_str(i), ibv_event_type_str(i + 1)) != 0);
	for (int i = 0; i < IBV_WC_GENERAL_ERR; i++)
		MUST(strcmp(ibv_wc_status_str(i), ibv_wc_status_str(i + 1)) != 0);
	MUST(ibv_event_type_str(999) != NULL);
	MUST(ibv_wc_status_str(999) != NULL);
}

const struct check async_checks[] = { { "a context has a descriptor that is not readable",
					      "ibv_get_async_event(3)", quiet_at_first },
	{ "with O_NONBLOCK and no event, get fails with EAGAIN", "ibv_get_async_event(3)",
		nonblocking_get },
	{ "a CQ that overruns gives CQ_ERR", "ibv_poll_cq(3), ibv_get_async_event(3)", cq_overrun },
	{ "destroying a CQ waits until that is acknowledged", "ibv_get_async_event(3)",
		destroy_waits },
	{ "get waits for an event by default", "ibv_get_async_event(3)", get_waits },
	{ "every event and every status has a name of its own", "ibv_event_type_str(3)", names },
	{ 0 } };
