/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* cq.c - completion queues, with channels of their own and with a shared one */

#include <fcntl.h>

#include "ends.h"

#define ALWAYS RPMA_F_COMPLETION_ALWAYS

/* a write, which completes on the client's side */
static void post(struct ends *e, uint64_t wr_id)
{
	MUST_EQ(rpma_write(e->c.conn, e->c.theirs, 0, e->c.mr, 0, 8, ALWAYS, CONTEXT(wr_id)), 0);
}

/* ends whose client has this configuration */
static void connect_with(struct ends *e, struct cfg_values values)
{
	struct rpma_conn_cfg *cfg = cfg_of(values);

	ends_connect(e, cfg, NULL);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
}
#define CONNECT_WITH(e, ...) connect_with((e), (struct cfg_values){ __VA_ARGS__ })

/* a message to the client, which has a receive for it */
static void message(struct ends *e, uint64_t wr_id)
{
	MUST_EQ(rpma_recv(e->c.conn, e->c.mr, 0, 64, CONTEXT(wr_id)), 0);
	MUST_EQ(rpma_send(e->s.conn, e->s.mr, 0, 64, RPMA_F_COMPLETION_ON_ERROR, NULL), 0);
}

static void queues(void)
{
	struct ends e;
	int fd[2] = { -1, -1 };

	CONNECT_WITH(&e, .rcq_size = 10);
	MUST(e.c.cq != NULL && e.c.rcq != NULL && e.c.cq != e.c.rcq);
	MUST(e.s.cq != NULL && e.s.rcq == NULL);
	MUST_EQ(rpma_cq_get_fd(e.c.cq, &fd[0]), 0);
	MUST_EQ(rpma_cq_get_fd(e.c.rcq, &fd[1]), 0);
	MUST(fd[0] != fd[1]);
	for (int i = 0; i < 2; i++) {
		const int status = fcntl(fd[i], F_GETFL);

		MUST(status >= 0 && !(status & O_NONBLOCK));
		MUST(!readable(fd[i], 0));
	}
	ends_close(&e);
}

static void apart(void)
{
	struct ends e;

	CONNECT_WITH(&e, .rcq_size = 10);
	post(&e, 1);
	MUST_EQ(completion_expect(e.c.cq, 1).opcode, IBV_WC_RDMA_WRITE);
	message(&e, 2);
	MUST_EQ(completion_expect(e.c.rcq, 2).opcode, IBV_WC_RECV);
	completion_none(e.c.cq);
	completion_none(e.c.rcq);
	ends_close(&e);
}

static void waited(void)
{
	struct ibv_wc wc;
	struct ends e;
	int fd;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_cq_get_fd(e.c.cq, &fd), 0);
	/* armed from the start, and again by each wait */
	for (uint64_t i = 1; i <= 3; i++) {
		MUST(!readable(fd, 0));
		post(&e, i);
		MUST(readable(fd, WAIT_MS));
		MUST_EQ(rpma_cq_wait(e.c.cq), 0);
		MUST_EQ(rpma_cq_get_wc(e.c.cq, 1, &wc, NULL), 0);
		MUST_EQ(wc.wr_id, i);
		MUST_EQ(wc.status, IBV_WC_SUCCESS);
	}
	ends_close(&e);
}

static int wait_for(void *cq)
{
	return rpma_cq_wait(cq);
}

static void waits(void)
{
	struct background wait;
	struct ends e;

	ends_connect(&e, NULL, NULL);
	background_start(&wait, wait_for, e.c.cq);
	MUST(background_waits(&wait));
	post(&e, 1);
	MUST_EQ(background_join(&wait), 0);
	completion_expect(e.c.cq, 1);
	ends_close(&e);
}

static void wait_empty(void)
{
	struct ends e;
	int fd;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_cq_get_fd(e.c.cq, &fd), 0);
	nonblocking(fd);
	compat_log_to(RPMA_LOG_LEVEL_DEBUG);
	MUST_EQ(rpma_cq_wait(e.c.cq), RPMA_E_NO_COMPLETION);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], 0);
	ends_close(&e);
}

static void get_empty(void)
{
	struct ibv_wc wc[2];
	struct ends e;
	int got = 42;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_cq_get_wc(e.c.cq, 1, wc, NULL), RPMA_E_NO_COMPLETION);
	MUST_EQ(rpma_cq_get_wc(e.c.cq, 2, wc, &got), RPMA_E_NO_COMPLETION);
	MUST_EQ(got, 42);
	ends_close(&e);
}

static void get_quiet(void)
{
	struct ibv_wc wc;
	struct ends e;

	ends_connect(&e, NULL, NULL);
	compat_log_to(RPMA_LOG_LEVEL_DEBUG);
	for (int i = 0; i < 3; i++)
		MUST_EQ(rpma_cq_get_wc(e.c.cq, 1, &wc, NULL), RPMA_E_NO_COMPLETION);
	IMPROVED(18, compat_log.count[RPMA_LOG_LEVEL_DEBUG] == 0,
		compat_log.count[RPMA_LOG_LEVEL_DEBUG] == 3);
	ends_close(&e);
}

static void get_several(void)
{
	struct ibv_wc wc[8];
	struct ends e;
	int got = 0;

	ends_connect(&e, NULL, NULL);
	for (uint64_t i = 0; i < 5; i++)
		post(&e, i);
	/* all of them are there when the last one is: without a wait, in several calls */
	for (int seen = 0; seen < 5; seen += got) {
		int ret;

		while ((ret = rpma_cq_get_wc(e.c.cq, 2, wc, &got)) == RPMA_E_NO_COMPLETION)
			;
		MUST_EQ(ret, 0);
		MUST(got == 1 || got == 2);
		for (int i = 0; i < got; i++)
			MUST_EQ(wc[i].wr_id, seen + i);
	}
	for (uint64_t i = 0; i < 3; i++)
		post(&e, 10 + i);
	completion_expect(e.c.cq, 10);
	/* one at a time is possible with a count, too */
	got = 0;
	while (rpma_cq_get_wc(e.c.cq, 1, wc, &got) == RPMA_E_NO_COMPLETION)
		;
	MUST_EQ(got, 1);
	MUST_EQ(wc[0].wr_id, 11);
	completion_expect(e.c.cq, 12);
	ends_close(&e);
}

static void cq_null(void)
{
	struct ibv_wc wc[2];
	struct ends e;
	int fd = 42, got = 42;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_cq_get_fd(NULL, &fd), RPMA_E_INVAL);
	MUST_EQ(rpma_cq_get_fd(e.c.cq, NULL), RPMA_E_INVAL);
	MUST_EQ(fd, 42);
	MUST_EQ(rpma_cq_wait(NULL), RPMA_E_INVAL);
	post(&e, 1);
	MUST_EQ(rpma_cq_get_wc(NULL, 1, wc, &got), RPMA_E_INVAL);
	MUST_EQ(rpma_cq_get_wc(e.c.cq, 0, wc, &got), RPMA_E_INVAL);
	MUST_EQ(rpma_cq_get_wc(e.c.cq, -1, wc, &got), RPMA_E_INVAL);
	MUST_EQ(rpma_cq_get_wc(e.c.cq, 1, NULL, &got), RPMA_E_INVAL);
	MUST_EQ(rpma_cq_get_wc(e.c.cq, 2, wc, NULL), RPMA_E_INVAL);
	MUST_EQ(got, 42);
	completion_expect(e.c.cq, 1); /* nothing is lost by that */
	ends_close(&e);
}

/* ---- a shared channel ------------------------------------------------------------------------ */

static void shared_fd(void)
{
	struct ends e;
	int fd[3] = { -1, -2, -3 };

	CONNECT_WITH(&e, .rcq_size = 10, .shared = true);
	MUST_EQ(rpma_conn_get_compl_fd(e.c.conn, &fd[0]), 0);
	MUST_EQ(rpma_cq_get_fd(e.c.cq, &fd[1]), 0);
	MUST_EQ(rpma_cq_get_fd(e.c.rcq, &fd[2]), 0);
	MUST_EQ(fd[1], fd[0]);
	MUST_EQ(fd[2], fd[0]);
	MUST(!readable(fd[0], 0));
	MUST_EQ(rpma_cq_wait(e.c.cq), RPMA_E_SHARED_CHANNEL);
	MUST_EQ(rpma_cq_wait(e.c.rcq), RPMA_E_SHARED_CHANNEL);
	ends_close(&e);
}

static void not_shared(void)
{
	struct rpma_cq *cq = UNTOUCHED;
	bool is_rcq = true;
	struct ends e;
	int fd = 42;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_conn_get_compl_fd(e.c.conn, &fd), RPMA_E_NOT_SHARED_CHNL);
	MUST_EQ(fd, 42);
	MUST_EQ(rpma_conn_wait(e.c.conn, 0, &cq, &is_rcq), RPMA_E_NOT_SHARED_CHNL);
	MUST(cq == UNTOUCHED && is_rcq);
	ends_close(&e);
}

static void shared_wait(void)
{
	struct rpma_cq *cq = NULL;
	bool is_rcq = true;
	struct ends e;

	CONNECT_WITH(&e, .rcq_size = 10, .shared = true);
	for (uint64_t i = 0; i < 6; i += 3) {
		post(&e, i);
		MUST_EQ(rpma_conn_wait(e.c.conn, 0, &cq, &is_rcq), 0);
		MUST(cq == e.c.cq && !is_rcq);
		completion_expect(cq, i);
		message(&e, i + 1);
		MUST_EQ(rpma_conn_wait(e.c.conn, 0, &cq, &is_rcq), 0);
		MUST(cq == e.c.rcq && is_rcq);
		completion_expect(cq, i + 1);
		message(&e, i + 2);
		cq = NULL;
		/* who does not want to know; and flags are for later */
		MUST_EQ(rpma_conn_wait(e.c.conn, 42, &cq, NULL), 0);
		MUST(cq == e.c.rcq);
		completion_expect(cq, i + 2);
	}
	ends_close(&e);
}

static void shared_one(void)
{
	struct rpma_cq *cq = NULL;
	bool is_rcq = true;
	struct ends e;

	/* no queue for receives: all is the main one's */
	CONNECT_WITH(&e, .shared = true);
	MUST(e.c.rcq == NULL);
	message(&e, 1);
	MUST_EQ(rpma_conn_wait(e.c.conn, 0, &cq, &is_rcq), 0);
	MUST(cq == e.c.cq && !is_rcq);
	completion_expect(cq, 1);
	ends_close(&e);
}

static void shared_empty(void)
{
	struct rpma_cq *cq = UNTOUCHED;
	bool is_rcq = true;
	struct ends e;
	int fd;

	CONNECT_WITH(&e, .rcq_size = 10, .shared = true);
	MUST_EQ(rpma_conn_get_compl_fd(e.c.conn, &fd), 0);
	nonblocking(fd);
	compat_log_to(RPMA_LOG_LEVEL_DEBUG);
	MUST_EQ(rpma_conn_wait(e.c.conn, 0, &cq, &is_rcq), RPMA_E_NO_COMPLETION);
	MUST(cq == UNTOUCHED && is_rcq);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], 0);
	ends_close(&e);
}

const struct check cq_checks[] = {
	{ "a main queue and one for receives, if asked for; descriptors block", "6.11", queues },
	{ "receives complete in theirs, all else in the main one", "7.4", apart },
	{ "the descriptor is readable when there is something; a wait arms again", NULL, waited },
	{ "a wait waits", NULL, waits },
	{ "a wait on a non-blocking descriptor finds nothing, and logs nothing", NULL, wait_empty },
	{ "an empty queue has no completion, the count is untouched", NULL, get_empty },
	{ "an empty queue is nothing to log", NULL, get_quiet, .differs = true },
	{ "several completions at once, and one at a time, in order", NULL, get_several },
	{ "what is invalid; no completion is lost by it", NULL, cq_null },
	{ "a shared channel has one descriptor, and its queues are not waited for", NULL,
		shared_fd },
	{ "queues that share no channel are not waited for together", "6.11", not_shared },
	{ "a wait for both tells which, and arms again", "6.11", shared_wait },
	{ "a shared channel of one queue", "6.11", shared_one },
	{ "without a completion, a non-blocking one has none, and logs nothing", "6.11",
		shared_empty },
	{ NULL },
};
