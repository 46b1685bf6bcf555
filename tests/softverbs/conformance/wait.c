/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* wait.c - waiting for what must come, and for what must not */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"
#include "wait.h"

int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do {
		n = poll(&p, 1, ms);
	} while (n < 0 && errno == EINTR);
	MUST(n >= 0);
	return n == 1;
}

void nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	MUST(flags >= 0);
	MUST_EQ(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
}

struct rdma_cm_event *cm_take(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	char what[128];

	snprintf(what, sizeof(what), "%s comes", rdma_event_str(type));
	if (!readable(channel->fd, WAIT_MS))
		check_fail(__FILE__, __LINE__, what);
	MUST_EQ(rdma_get_cm_event(channel, &event), 0);
	if (event->event != type) {
		snprintf(what, sizeof(what), "%s comes, but %s (%d)", rdma_event_str(type),
			rdma_event_str(event->event), event->status);
		check_fail(__FILE__, __LINE__, what);
	}
	return event;
}

int cm_expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = cm_take(channel, type);
	int status = event->status;

	MUST_EQ(rdma_ack_cm_event(event), 0);
	return status;
}

void cm_expect_data(struct rdma_cm_event *event, const void *data, size_t len, size_t size)
{
	const uint8_t *got = event->param.conn.private_data;

	MUST_EQ(event->param.conn.private_data_len, size);
	MUST(len == 0 || memcmp(got, data, len) == 0);
	MUST(zeroed(got + len, size - len));
	MUST_EQ(rdma_ack_cm_event(event), 0);
}

struct ibv_wc wc_take(struct ibv_cq *cq)
{
	int64_t deadline = now_ms() + WAIT_MS;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) {
		if (now_ms() > deadline)
			check_fail(__FILE__, __LINE__, "a completion comes");
		sched_yield();
	}
	MUST_EQ(n, 1);
	return wc;
}

struct ibv_wc wc_expect(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = wc_take(cq);

	if (wc.wr_id != wr_id || wc.status != status) {
		char what[128];

		snprintf(what, sizeof(what), "completion %llu: %s, but %llu: %s",
			(unsigned long long)wr_id, ibv_wc_status_str(status),
			(unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
		check_fail(__FILE__, __LINE__, what);
	}
	return wc;
}

void wc_none(struct ibv_cq *cq)
{
	int64_t deadline = now_ms() + QUIET_MS;
	struct ibv_wc wc;

	do {
		MUST_EQ(ibv_poll_cq(cq, 1, &wc), 0);
		sched_yield();
	} while (now_ms() < deadline);
}

void cq_event(struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	struct ibv_cq *got = NULL;
	void *context = NULL;

	if (!readable(channel->fd, WAIT_MS))
		check_fail(__FILE__, __LINE__, "a completion event comes");
	MUST_EQ(ibv_get_cq_event(channel, &got, &context), 0);
	MUST(got == cq);
	MUST(context == cq->cq_context);
	ibv_ack_cq_events(cq, 1);
}

void cq_arm(struct ibv_cq *cq, int solicited_only)
{
	MUST_EQ(ibv_req_notify_cq(cq, solicited_only), 0);
}

struct ibv_async_event async_take(struct ibv_context *verbs, enum ibv_event_type type)
{
	struct ibv_async_event event;
	char what[128];

	snprintf(what, sizeof(what), "the event comes: %s", ibv_event_type_str(type));
	for (;;) {
		if (!readable(verbs->async_fd, WAIT_MS))
			check_fail(__FILE__, __LINE__, what);
		MUST_EQ(ibv_get_async_event(verbs, &event), 0);
		if (event.event_type == type)
			return event;
		ibv_ack_async_event(&event);
	}
}

static void *background_main(void *arg)
{
	struct background *b = arg;

	b->result = b->call(b->arg);
	if (write(b->done[1], "", 1) != 1)
		check_fail(__FILE__, __LINE__, "the pipe takes a byte");
	return NULL;
}

void background_start(struct background *b, int (*call)(void *arg), void *arg)
{
	b->call = call;
	b->arg = arg;
	MUST_EQ(pipe(b->done), 0);
	MUST_EQ(pthread_create(&b->thread, NULL, background_main, b), 0);
}

bool background_waits(struct background *b)
{
	return !readable(b->done[0], QUIET_MS);
}

int background_join(struct background *b)
{
	if (!readable(b->done[0], WAIT_MS))
		check_fail(__FILE__, __LINE__, "the call in the background returns");
	MUST_EQ(pthread_join(b->thread, NULL), 0);
	close(b->done[0]);
	close(b->done[1]);
	return b->result;
}
