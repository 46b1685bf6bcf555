/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* notify.c - completion events: arming, solicited events, acknowledging */

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pair.h"

/* the server has receives, and the client sends one of them a message; with the client's flags */
static void open_with_receives(struct pair *p)
{
	PAIR(p, .depth = 1);
	for (uint64_t i = 0; i < 8; i++)
		RECV(&p->s, i, 64 * i, 64);
}

static void message(struct pair *p, unsigned int flags)
{
	POST(&p->c, .opcode = IBV_WR_SEND, .id = 77, .len = 8, .flags = flags);
	wc_expect(p->c.scq, 77, IBV_WC_SUCCESS);
}

static bool event_pending(struct side *side)
{
	return readable(side->completions->fd, 0);
}

static bool no_event(struct side *side)
{
	return !readable(side->completions->fd, QUIET_MS);
}

static void unarmed(void)
{
	struct pair p;

	open_with_receives(&p);
	message(&p, 0);
	wc_expect(p.s.rcq, 0, IBV_WC_SUCCESS);
	MUST(no_event(&p.s));
	pair_close(&p);
}

static void armed(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 0);
	MUST(no_event(&p.s));
	message(&p, 0);
	cq_event(p.s.completions, p.s.rcq);
	wc_expect(p.s.rcq, 0, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void armed_send(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.c.scq, 0);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	cq_event(p.c.completions, p.c.scq);
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void one_shot(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 0);
	message(&p, 0);
	message(&p, 0);
	message(&p, 0);
	cq_event(p.s.completions, p.s.rcq);
	MUST(no_event(&p.s));
	for (uint64_t i = 0; i < 3; i++)
		wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void armed_twice(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 0);
	cq_arm(p.s.rcq, 0);
	message(&p, 0);
	message(&p, 0);
	cq_event(p.s.completions, p.s.rcq);
	MUST(no_event(&p.s));
	pair_close(&p);
}

static void late_arming(void)
{
	struct pair p;

	open_with_receives(&p);
	message(&p, 0);
	cq_arm(p.s.rcq, 0);
	MUST(no_event(&p.s));
	message(&p, 0);
	cq_event(p.s.completions, p.s.rcq);
	wc_expect(p.s.rcq, 0, IBV_WC_SUCCESS);
	wc_expect(p.s.rcq, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void rearmed(void)
{
	struct pair p;

	open_with_receives(&p);
	for (uint64_t i = 0; i < 4; i++) {
		cq_arm(p.s.rcq, 0);
		message(&p, 0);
		cq_event(p.s.completions, p.s.rcq);
		wc_expect(p.s.rcq, i, IBV_WC_SUCCESS);
	}
	MUST(no_event(&p.s));
	pair_close(&p);
}

static void event_not_due_to_cqe(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 0);
	message(&p, 0);
	wc_expect(p.s.rcq, 0, IBV_WC_SUCCESS);
	cq_event(p.s.completions, p.s.rcq);
	wc_none(p.s.rcq);
	pair_close(&p);
}

static void solicited_only(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 1);
	message(&p, 0);
	MUST(no_event(&p.s));
	message(&p, IBV_SEND_SOLICITED);
	cq_event(p.s.completions, p.s.rcq);
	pair_close(&p);
}

static void solicited_write(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 1, .len = 8, AT(&p.s, 4096));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(no_event(&p.s));
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 2, .len = 8,
		.flags = IBV_SEND_SOLICITED, AT(&p.s, 4096));
	cq_event(p.s.completions, p.s.rcq);
	pair_close(&p);
}

static void solicited_send_side(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.c.scq, 1);
	message(&p, IBV_SEND_SOLICITED);
	MUST(no_event(&p.c));
	pair_close(&p);
}

static void solicited_error(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 1);
	qp_modify_state(p.s.id->qp, IBV_QPS_ERR);
	cq_event(p.s.completions, p.s.rcq);
	wc_expect(p.s.rcq, 0, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

static void solicited_then_any(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 1);
	cq_arm(p.s.rcq, 0);
	message(&p, 0);
	cq_event(p.s.completions, p.s.rcq);
	pair_close(&p);
}

static void any_then_solicited(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 0);
	cq_arm(p.s.rcq, 1);
	message(&p, 0);
	cq_event(p.s.completions, p.s.rcq);
	pair_close(&p);
}

static void nonblocking_get(void)
{
	struct ibv_cq *cq;
	void *context;
	struct pair p;

	open_with_receives(&p);
	nonblocking(p.s.completions->fd);
	MUST_ERRNO(ibv_get_cq_event(p.s.completions, &cq, &context), EAGAIN);
	cq_arm(p.s.rcq, 0);
	message(&p, 0);
	cq_event(p.s.completions, p.s.rcq);
	MUST_ERRNO(ibv_get_cq_event(p.s.completions, &cq, &context), EAGAIN);
	pair_close(&p);
}

static void readable_until_taken(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 0);
	message(&p, 0);
	MUST(readable(p.s.completions->fd, WAIT_MS));
	wc_expect(p.s.rcq, 0, IBV_WC_SUCCESS);
	MUST(event_pending(&p.s));
	cq_event(p.s.completions, p.s.rcq);
	MUST(!event_pending(&p.s));
	pair_close(&p);
}

static void epoll_edge(void)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(0);
	struct pair p;

	open_with_receives(&p);
	MUST_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, p.s.completions->fd, &e), 0);
	for (int i = 0; i < 2; i++) {
		cq_arm(p.s.rcq, 0);
		message(&p, 0);
		MUST_EQ(epoll_wait(ep, &e, 1, WAIT_MS), 1);
		MUST_EQ(epoll_wait(ep, &e, 1, 0), 0);
		cq_event(p.s.completions, p.s.rcq);
	}
	close(ep);
	pair_close(&p);
}

static int get_and_ack(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(arg, &cq, &context) != 0)
		return -1;
	ibv_ack_cq_events(cq, 1);
	return 0;
}

static void get_waits(void)
{
	struct background b;
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 0);
	background_start(&b, get_and_ack, p.s.completions);
	MUST(background_waits(&b));
	message(&p, 0);
	MUST_EQ(background_join(&b), 0);
	pair_close(&p);
}

static void two_queues(void)
{
	struct ibv_cq *first, *second;
	void *context;
	struct pair p;

	open_with_receives(&p);
	RECV(&p.c, 5, 0, 64);
	cq_arm(p.s.rcq, 0);
	cq_arm(p.s.scq, 0);
	message(&p, 0);
	wc_expect(p.s.rcq, 0, IBV_WC_SUCCESS);
	POST(&p.s, .opcode = IBV_WR_SEND, .id = 1, .len = 8);
	wc_expect(p.s.scq, 1, IBV_WC_SUCCESS);
	MUST_EQ(ibv_get_cq_event(p.s.completions, &first, &context), 0);
	MUST(context == &p.s);
	MUST(readable(p.s.completions->fd, WAIT_MS));
	MUST_EQ(ibv_get_cq_event(p.s.completions, &second, &context), 0);
	MUST(first == p.s.rcq);
	MUST(second == p.s.scq);
	ibv_ack_cq_events(first, 1);
	ibv_ack_cq_events(second, 1);
	pair_close(&p);
}

static int destroy_cq(void *arg)
{
	return ibv_destroy_cq(arg);
}

/* the server has taken so many events, and has acknowledged none; its QP is gone */
static void take_unacknowledged(struct pair *p, int count)
{
	struct ibv_cq *cq;
	void *context;

	open_with_receives(p);
	for (int i = 0; i < count; i++) {
		cq_arm(p->s.rcq, 0);
		message(p, 0);
		MUST_EQ(ibv_get_cq_event(p->s.completions, &cq, &context), 0);
	}
	rdma_destroy_qp(p->s.id);
}

static void destroy_waits(void)
{
	struct background b;
	struct pair p;

	take_unacknowledged(&p, 2);
	background_start(&b, destroy_cq, p.s.rcq);
	MUST(background_waits(&b));
	ibv_ack_cq_events(p.s.rcq, 1);
	MUST(background_waits(&b));
	ibv_ack_cq_events(p.s.rcq, 1);
	MUST_EQ(background_join(&b), 0);
}

static void ack_many(void)
{
	struct pair p;

	take_unacknowledged(&p, 3);
	ibv_ack_cq_events(p.s.rcq, 3);
	pair_close(&p);
}

static void destroy_drops_pending(void)
{
	struct pair p;

	open_with_receives(&p);
	cq_arm(p.s.rcq, 0);
	message(&p, 0);
	MUST(readable(p.s.completions->fd, WAIT_MS));
	rdma_destroy_qp(p.s.id);
	MUST_EQ(ibv_destroy_cq(p.s.rcq), 0);
	MUST(!event_pending(&p.s));
}

const struct check notify_checks[] = { { "a CQ that is not armed is silent", "ibv_req_notify_cq(3)",
					       unarmed },
	{ "an armed CQ announces the next completion, not before", "ibv_req_notify_cq(3)", armed },
	{ "so does that of a send queue", "ibv_req_notify_cq(3)", armed_send },
	{ "one arming gives one event", "ibv_req_notify_cq(3)", one_shot },
	{ "arming twice gives one event", "ibv_req_notify_cq(3)", armed_twice },
	{ "completions already there give no event", "ibv_req_notify_cq(3)", late_arming },
	{ "armed again, a CQ announces again", "ibv_req_notify_cq(3)", rearmed },
	{ "the event comes though its completion has been polled", "ibv_get_cq_event(3)",
		event_not_due_to_cqe },
	{ "armed for solicited completions, only those give an event", "ibv_req_notify_cq(3)",
		solicited_only },
	{ "a solicited WRITE with immediate data gives one, a plain one does not",
		"ibv_req_notify_cq(3), ibv_post_send(3)", solicited_write },
	{ "the completion of a send is never solicited", "ibv_req_notify_cq(3)",
		solicited_send_side },
	{ "a receive that fails is solicited", "ibv_req_notify_cq(3)", solicited_error },
	{ "arming for any completion extends arming for solicited ones", "IBTA 11.4.2.2",
		solicited_then_any },
	{ "arming for solicited ones does not narrow it again", "IBTA 11.4.2.2",
		any_then_solicited },
	{ "with O_NONBLOCK and no event, get fails with EAGAIN", "ibv_get_cq_event(3)",
		nonblocking_get },
	{ "the descriptor is readable until the event is taken", "ibv_get_cq_event(3)",
		readable_until_taken },
	{ "edge-triggered epoll reports each event once", "ibv_get_cq_event(3), epoll(7)",
		epoll_edge },
	{ "get waits for an event by default", "ibv_get_cq_event(3)", get_waits },
	{ "events of two CQs come in order, and name their CQ and its context",
		"ibv_get_cq_event(3)", two_queues },
	{ "destroying a CQ waits until its events are acknowledged", "ibv_get_cq_event(3)",
		destroy_waits },
	{ "one call acknowledges several events", "ibv_ack_cq_events(3)", ack_many },
	{ "destroying a CQ drops the event nobody has taken", "ibv_destroy_cq(3)",
		destroy_drops_pending },
	{ 0 } };
