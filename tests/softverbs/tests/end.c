/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * end.c - one end of a connection that is busy until something happens to it
 *
 * Blocks of its memory: EACH to read into, EACH to write from, EACH to send from, 2 * EACH to receive
 * into, and then EACH that the peer reads and EACH that it writes to.
 */

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "end.h"

#define BLOCKS    (7 * EACH)
#define PEER_AT   (5 * EACH) /* the first block that is the peer's */
#define STEP_MS   2000 /* to resolve */
#define LATE_MS   300 /* for a request, after all other news */
#define REPORT_MS 10000 /* for all to come back */

enum kind { READ, WRITE, SEND, RECV_ };

static int descriptors;
static int threads;

static int count(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	MUST(dir != NULL);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* what the device keeps for itself once it has been used */
static void take_stock(struct end *end)
{
	MUST_EQ(rdma_destroy_id(id_new(end->channel)), 0);
	descriptors = count("/proc/self/fd");
	threads = count("/proc/self/task");
}

static void make_queues(struct end *end, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
		.cap = { 3 * EACH, 2 * EACH, 1, 1, 0 } };

	end->id = id;
	end->pd = ibv_alloc_pd(id->verbs);
	MUST(end->pd != NULL);
	end->completions = ibv_create_comp_channel(id->verbs);
	MUST(end->completions != NULL);
	end->cq = ibv_create_cq(id->verbs, 5 * EACH, NULL, end->completions, 0);
	MUST(end->cq != NULL);
	end->mr = ibv_reg_mr(end->pd, end->buf, BLOCKS * BLOCK,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	MUST(end->mr != NULL);
	attr.send_cq = end->cq;
	attr.recv_cq = end->cq;
	MUST_EQ(rdma_create_qp(id, end->pd, &attr), 0);
	MUST_EQ(ibv_req_notify_cq(end->cq, 0), 0);
}

static void post(struct end *end, enum kind kind, unsigned i)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
		IBV_WR_SEND };
	unsigned at = (unsigned)kind * EACH + i;
	struct ibv_sge sge = { (uintptr_t)end->buf + at * BLOCK, BLOCK, end->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = at, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr recv = { .wr_id = at, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad_recv;
	struct ibv_send_wr *bad;

	end->posted[kind]++;
	if (kind == RECV_) {
		MUST_EQ(ibv_post_recv(end->id->qp, &recv, &bad_recv), 0);
		return;
	}
	wr.opcode = opcodes[kind];
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = end->peer.addr + (PEER_AT + kind * EACH + i) * BLOCK;
	wr.wr.rdma.rkey = end->peer.rkey;
	MUST_EQ(ibv_post_send(end->id->qp, &wr, &bad), 0);
}

static struct rdma_conn_param param_of(struct end *end, struct place *mine)
{
	*mine = (struct place){ (uintptr_t)end->buf, end->mr->rkey };
	return (struct rdma_conn_param){ .private_data = mine,
		.private_data_len = sizeof(*mine),
		.responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = 7,
		.rnr_retry_count = 7 };
}

static void busy(struct end *end)
{
	end->established = true;
	MUST_EQ(write(end->told, "", 1), 1);
	for (unsigned i = 0; i < EACH; i++)
		for (enum kind kind = READ; kind <= SEND; kind++)
			post(end, kind, i);
}

/* a second one would be a stranger's */
static void accept_request(struct end *end, struct rdma_cm_event *event)
{
	struct rdma_conn_param param;
	struct place mine;

	MUST(end->id == NULL);
	memcpy(&end->peer, event->param.conn.private_data, sizeof(end->peer));
	make_queues(end, event->id);
	for (unsigned i = 0; i < 2 * EACH; i++)
		post(end, RECV_, i);
	param = param_of(end, &mine);
	if (rdma_accept(end->id, &param) != 0)
		end->over = true; /* it is gone already */
}

static void on_event(struct end *end)
{
	struct rdma_cm_event *event;

	MUST_EQ(rdma_get_cm_event(end->channel, &event), 0);
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		accept_request(end, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (end->listener == NULL)
			memcpy(&end->peer, event->param.conn.private_data, sizeof(end->peer));
		busy(end);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		end->disconnected = true;
		end->over = true;
		break;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		end->over = true;
		break;
	default:
		check_fail(__FILE__, __LINE__, rdma_event_str(event->event));
	}
	MUST_EQ(rdma_ack_cm_event(event), 0);
}

static void reap(struct end *end)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(end->cq, 1, &wc) == 1) {
		unsigned kind = (unsigned)wc.wr_id / EACH;

		kind = kind < RECV_ ? kind : RECV_;
		end->done[kind]++;
		if (wc.status == IBV_WC_WR_FLUSH_ERR)
			end->flushed++;
		if (wc.status == IBV_WC_SUCCESS && !end->over)
			post(end, (enum kind)kind, (unsigned)wc.wr_id - kind * EACH);
	}
}

static void on_completions(struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	MUST_EQ(ibv_get_cq_event(end->completions, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	MUST_EQ(ibv_req_notify_cq(cq, 0), 0);
	reap(end);
}

void end_open(struct end *end, int told)
{
	memset(end, 0, sizeof(*end));
	end->told = told;
	end->buf = mmap(
		NULL, BLOCKS * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(end->buf != MAP_FAILED);
	end->channel = channel_new();
	take_stock(end);
}

void end_listen(struct end *end)
{
	end->listener = id_listening(end->channel);
}

void end_connect(struct end *end, uint16_t port)
{
	struct rdma_conn_param param;
	struct place mine;

	make_queues(end, id_resolved(end->channel, port));
	for (unsigned i = 0; i < 2 * EACH; i++)
		post(end, RECV_, i);
	param = param_of(end, &mine);
	MUST_EQ(rdma_connect(end->id, &param), 0);
}

void end_run(struct end *end, int news)
{
	int64_t deadline = 0; /* for a request, once there is no news to come */

	while (!end->over) {
		struct pollfd fds[] = { { .fd = end->channel->fd, .events = POLLIN },
			{ .fd = end->completions != NULL ? end->completions->fd : -1,
				.events = POLLIN },
			{ .fd = deadline == 0 ? news : -1, .events = POLLIN } };

		MUST(poll(fds, 3, deadline == 0 ? WAIT_MS : LATE_MS) >= 0);
		if (fds[2].revents != 0)
			deadline = case_now_ms() + LATE_MS;
		if (fds[0].revents != 0)
			on_event(end);
		else if (fds[1].revents != 0)
			on_completions(end);
		else if (deadline != 0 && end->id == NULL && case_now_ms() >= deadline)
			end->over = true;
		if (deadline != 0)
			MUST(case_now_ms() < deadline + REPORT_MS);
	}
}

static bool all_back(struct end *end)
{
	reap(end);
	for (int kind = 0; kind < END_KINDS; kind++)
		if (end->done[kind] != end->posted[kind])
			return false;
	return true;
}

void end_close(struct end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (end->id != NULL) {
		/* the peer may have died with everything done and nothing new posted yet */
		bool is_idle = all_back(end);

		rdma_disconnect(end->id);
		MUST_EQ(ibv_modify_qp(end->id->qp, &attr, IBV_QP_STATE), 0);
		UNTIL(all_back(end));
		if (end->established)
			MUST(end->disconnected);
		MUST(is_idle || end->flushed > 0);
		rdma_destroy_qp(end->id);
		MUST_EQ(rdma_destroy_id(end->id), 0);
		MUST_EQ(ibv_destroy_cq(end->cq), 0);
		MUST_EQ(ibv_destroy_comp_channel(end->completions), 0);
		MUST_EQ(ibv_dereg_mr(end->mr), 0);
		MUST_EQ(ibv_dealloc_pd(end->pd), 0);
	}
	if (end->listener != NULL)
		MUST_EQ(rdma_destroy_id(end->listener), 0);
	/* sockets linger until the peer has what was sent to it */
	UNTIL(count("/proc/self/fd") == descriptors);
	MUST_EQ(count("/proc/self/task"), threads);
	rdma_destroy_event_channel(end->channel);
	munmap(end->buf, BLOCKS * BLOCK);
}
