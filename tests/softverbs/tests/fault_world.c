/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* fault_world.c - answers that are withheld, peers and devices that go, a slow wire, event reads */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "case.h"

static void resolver_withheld(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);
	union address there = address_here(htons(1));

	faults("withhold=resolver");
	MUST_EQ(rdma_resolve_addr(id, NULL, &there.any, 10), 0);
	MUST(!readable(channel->fd, QUIET_MS));
	MUST_EQ(softverbs_withheld("resolver"), 1);
	MUST_EQ(softverbs_release("resolver"), 1);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	MUST_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static int ask_name(void *arg)
{
	struct rdma_addrinfo *res;
	int ret = rdma_getaddrinfo("127.0.0.1", "1", NULL, &res);

	(void)arg;
	if (ret == 0)
		rdma_freeaddrinfo(res);
	return ret;
}

static void name_withheld(void)
{
	struct background b;

	MUST(id_of_device() != NULL);
	faults("withhold=resolver");
	background_start(&b, ask_name, NULL);
	UNTIL(softverbs_withheld("resolver") == 1);
	MUST(background_waits(&b));
	MUST_EQ(softverbs_release("resolver"), 1);
	MUST_EQ(background_join(&b), 0);
}

static void accepted_late(void)
{
	struct pair p;

	pair_listen(&p, &(struct pair_options){ .depth = 4 });
	pair_resolve(&p);
	pair_request(&p);
	faults("withhold=peer");
	pair_accept(&p);
	UNTIL(softverbs_withheld("peer") > 0);
	MUST(!readable(p.c.channel->fd, QUIET_MS));
	softverbs_release("peer");
	pair_established(&p);
	pair_close(&p);
}

/* a wait may end before, but the memory is the device's until the completion */
static void read_withheld(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("withhold=peer");
	fill(p.s.buf, 4096, 1);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 4096, AT(&p.s, 0));
	wc_none(p.c.scq);
	MUST(zeroed(p.c.buf, 4096));
	MUST(softverbs_withheld("peer") > 0);
	faults(NULL); /* as good as a release */
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(filled(p.c.buf, 4096, 1));
	pair_close(&p);
}

static int destroy_qp(void *arg)
{
	struct pair *p = arg;

	rdma_destroy_qp(p->c.id);
	return 0;
}

static int destroy_id(void *arg)
{
	return rdma_destroy_id(arg);
}

static void destroy_withheld(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);
	struct background b[2];
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("withhold=destroy");
	background_start(&b[0], destroy_qp, &p);
	background_start(&b[1], destroy_id, id);
	UNTIL(softverbs_withheld("destroy") == 2);
	MUST(background_waits(&b[0]));
	MUST(background_waits(&b[1]));
	MUST_EQ(softverbs_release("destroy"), 2);
	MUST_EQ(background_join(&b[0]), 0);
	MUST_EQ(background_join(&b[1]), 0);
	rdma_destroy_event_channel(channel);
	pair_close(&p);
}

static int dereg(void *arg)
{
	return ibv_dereg_mr(arg);
}

static int reg(void *arg)
{
	static uint8_t memory[4096];
	struct ibv_mr *mr = ibv_reg_mr(arg, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);

	return mr != NULL ? ibv_dereg_mr(mr) : errno;
}

static void registration_withheld(void)
{
	static uint8_t memory[4096];
	struct rdma_cm_id *id = id_of_device();
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	struct background b[2];

	faults("withhold=registration,destroy");
	background_start(&b[0], reg, pd);
	background_start(&b[1], dereg, mr);
	UNTIL(softverbs_withheld("registration") == 2);
	MUST(background_waits(&b[0]));
	MUST(background_waits(&b[1]));
	MUST_EQ(softverbs_release("all"), 2);
	MUST_EQ(background_join(&b[0]), 0);
	MUST_EQ(background_join(&b[1]), 0);
	MUST_EQ(ibv_dealloc_pd(pd), 0);
}

/* as if its process was killed, with a read out: the disconnect flushes it */
static void peer_dies(void)
{
	struct pair p;

	PAIR(&p, .depth = 4);
	RECV(&p.c, 7, 0, 8);
	faults("withhold=peer; peer:die@2");
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 8, AT(&p.s, 0));
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 2, .len = 8, AT(&p.s, 0));
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	rdma_disconnect(p.c.id);
	wc_expect(p.c.scq, 1, IBV_WC_WR_FLUSH_ERR);
	wc_expect(p.c.scq, 2, IBV_WC_WR_FLUSH_ERR);
	wc_expect(p.c.rcq, 7, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

/* as if its machine lost power: only the retries tell */
static void peer_vanishes(void)
{
	struct pair p;

	MUST_EQ(setenv("SOFTVERBS_CM_TIMEOUT_MS", "100", 1), 0);
	PAIR(&p, .retry_count = 1, .ack_timeout = 12);
	faults("peer:vanish=1ms");
	for (uint64_t i = 1;; i++) {
		struct ibv_wc wc;

		POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = i, .len = 8, AT(&p.s, 0));
		wc = wc_take(p.c.scq);
		MUST_EQ(wc.wr_id, i);
		if (wc.status == IBV_WC_RETRY_EXC_ERR)
			break;
		MUST_EQ(wc.status, IBV_WC_SUCCESS);
	}
	MUST(!readable(p.c.channel->fd, 0));
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST_EQ(cm_expect(p.c.channel, RDMA_CM_EVENT_DISCONNECTED), -ETIMEDOUT);
	pair_close(&p);
}

/* the port says how long a message may be, and holds programs to it */
static void port_message(void)
{
	struct ibv_port_attr attr;
	struct pair p;

	faults("port:message=4K");
	PAIR(&p, .depth = 4);
	MUST_EQ(ibv_query_port(p.c.id->verbs, p.c.id->port_num, &attr), 0);
	MUST_EQ(attr.max_msg_sz, 4000);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 4000, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 2, .len = 4001, AT(&p.s, 0));
	wc_expect(p.c.scq, 2, IBV_WC_LOC_LEN_ERR);
	pair_close(&p);
	faults(NULL);
}

static void device_removed(void)
{
	struct ibv_async_event event;
	struct ibv_device_attr device;
	struct ibv_context *verbs;
	struct pair p;

	PAIR(&p, .depth = 4);
	verbs = p.c.id->verbs;
	RECV(&p.c, 1, 0, 8);
	faults("device:remove");
	event = async_take(verbs, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	cm_expect(p.c.channel, RDMA_CM_EVENT_DEVICE_REMOVAL);
	wc_expect(p.c.rcq, 1, IBV_WC_WR_FLUSH_ERR);
	MUST_EQ(recv_post(&p.c, 2, 0, 8), EIO);
	MUST(ibv_alloc_pd(verbs) == NULL);
	MUST_EQ(ibv_query_device(verbs, &device), EIO);
	/* what there is can be taken apart */
	pair_close(&p);
}

static void wire_delayed(void)
{
	int64_t start;
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("wire:delay=50ms");
	fill(p.s.buf, 8, 1);
	start = case_now_ms();
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 1, .len = 8, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(case_now_ms() - start >= 100); /* there and back */
	MUST(filled(p.c.buf, 8, 1));
	pair_close(&p);
}

static void wire_limited(void)
{
	int64_t start;
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("wire:rate=5M");
	fill(p.c.buf, BUFFER_SIZE, 1);
	start = case_now_ms();
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = BUFFER_SIZE, AT(&p.s, 0));
	wc_expect(p.c.scq, 1, IBV_WC_SUCCESS);
	MUST(case_now_ms() - start >= 190); /* 2^20 bytes take 210 ms */
	MUST(filled(p.s.buf, BUFFER_SIZE, 1));
	faults(NULL);
	POST(&p.c, .opcode = IBV_WR_RDMA_READ, .id = 2, .len = BUFFER_SIZE, AT(&p.s, 0));
	wc_expect(p.c.scq, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* the event is not lost: the next read has it */
static void reads_interrupted(void)
{
	struct rdma_cm_event *event;
	struct ibv_async_event async;
	struct ibv_cq *cq;
	void *context;
	struct pair p;

	PAIR(&p, .depth = 4);
	faults("get_event:EINTR@1; get_cq_event:EAGAIN@2");
	cq_arm(p.c.scq, 0);
	POST(&p.c, .opcode = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, AT(&p.s, 0));
	MUST(readable(p.c.completions->fd, WAIT_MS));
	MUST_ERRNO(ibv_get_cq_event(p.c.completions, &cq, &context), EINTR);
	MUST_ERRNO(ibv_get_cq_event(p.c.completions, &cq, &context), EAGAIN);
	cq_event(p.c.completions, p.c.scq);
	faults("get_cm_event:EINTR@1; get_cm_event:EAGAIN@2; get_async_event:EINTR");
	MUST_EQ(rdma_disconnect(p.c.id), 0);
	MUST(readable(p.s.channel->fd, WAIT_MS));
	MUST_ERRNO(rdma_get_cm_event(p.s.channel, &event), EINTR);
	MUST_ERRNO(rdma_get_cm_event(p.s.channel, &event), EAGAIN);
	MUST_EQ(cm_expect(p.s.channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	MUST_ERRNO(ibv_get_async_event(p.c.id->verbs, &async), EINTR);
	pair_close(&p);
}

/* orders are understood as a whole or not at all */
static void orders_checked(void)
{
	static const char *const wrong[] = { "post_send", "post_send:fails", "post_send:fail@0",
		"post_send:fail@x", "post_send:fail=EWHAT", "poll:batch", "poll:batch=0", "cm:late",
		"cm:late=DISCONNECTED", "cm:late=DISCONNECTED,5", "cm:drop=NOTHING", "withhold",
		"withhold=everything", "wire:delay", "wire:rate=fast", "wr:SUCCESS",
		"post_send:fail; nonsense" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (softverbs_faults(wrong[i]) != EINVAL)
			check_fail(__FILE__, __LINE__, wrong[i]);
	MUST_EQ(softverbs_faults("wr:FATAL_ERR@2+;\tcq_event:drop@1 ;; \n"), 0);
	MUST_EQ(softverbs_release("nobody"), -1);
	MUST_EQ(softverbs_withheld("all"), 0);
}

/* SOFTVERBS_FAULTS says "reg_mr:fail@1=EACCES" */
static void environment(void)
{
	struct rdma_cm_id *id = id_of_device();
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);
	static uint8_t memory[64];

	MUST(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE) == NULL);
	MUST_EQ(errno, EACCES);
	MUST(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE) != NULL);
}

/* SOFTVERBS_FAULTS withholds the resolver, and somebody else releases it: control.sh */
static void controlled(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct rdma_cm_id *id = id_new(channel);
	union address there = address_here(htons(1));

	MUST_EQ(rdma_resolve_addr(id, NULL, &there.any, 10), 0);
	MUST_EQ(softverbs_withheld("resolver"), 1);
	puts("withheld");
	fflush(stdout);
	MUST_EQ(cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	MUST_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

const struct test_case cases[] = {
	{ "resolver_withheld", resolver_withheld },
	{ "name_withheld", name_withheld },
	{ "accepted_late", accepted_late },
	{ "read_withheld", read_withheld },
	{ "destroy_withheld", destroy_withheld },
	{ "registration_withheld", registration_withheld },
	{ "peer_dies", peer_dies },
	{ "peer_vanishes", peer_vanishes },
	{ "port_message", port_message },
	{ "device_removed", device_removed },
	{ "wire_delayed", wire_delayed },
	{ "wire_limited", wire_limited },
	{ "reads_interrupted", reads_interrupted },
	{ "orders_checked", orders_checked },
	{ "environment", environment, .alone = true },
	{ "controlled", controlled, .alone = true },
	{ NULL, NULL },
};
