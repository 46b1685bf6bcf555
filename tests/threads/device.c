/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* device.c - what is made on a device: peers, regions, shared receive queues */

#include "pair.h"
#include "threads.h"

#define ROUNDS 5

static void get_ibv_context(unsigned thread)
{
	struct ibv_context *ibv_ctx;
	int is_capable, is_capable_too;

	CHECK_OK(rpma_utils_ibv_context_is_odp_capable(threads_world.ibv_ctx, &is_capable));
	for (unsigned i = 0; i < ROUNDS; i++) {
		ibv_ctx = NULL;
		CHECK_OK(rpma_utils_get_ibv_context(threads_world.addr,
			(i + thread) & 1 ? RPMA_UTIL_IBV_CONTEXT_LOCAL
					 : RPMA_UTIL_IBV_CONTEXT_REMOTE,
			&ibv_ctx));
		CHECK(ibv_ctx == threads_world.ibv_ctx);
		CHECK_OK(rpma_utils_ibv_context_is_odp_capable(ibv_ctx, &is_capable_too));
		CHECK(is_capable_too == is_capable);
	}
}

static void peer_new_delete(unsigned thread)
{
	struct rpma_peer *peer;

	(void)thread;
	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_peer_new(threads_world.ibv_ctx, &peer));
		CHECK_OK(rpma_peer_delete(&peer));
		CHECK(peer == NULL);
	}
}

/* regions of one peer */

#define SIZE 4096

static struct region shared;

static void shared_region_new(void)
{
	region_new(&shared, threads_world.peer, SIZE);
}

static void shared_region_delete(void)
{
	region_delete(&shared);
}

static void region_check(const struct region *region)
{
	uint8_t desc[32] = { 0 };
	uint64_t addr = (uintptr_t)region->bytes;
	size_t size;
	void *ptr;

	CHECK_OK(rpma_mr_get_ptr(region->local, &ptr));
	CHECK(ptr == region->bytes);
	CHECK_OK(rpma_mr_get_size(region->local, &size));
	CHECK_INT(size, region->size);
	CHECK_OK(rpma_mr_get_descriptor_size(region->local, &size));
	CHECK_INT(size, 21);
	CHECK_OK(rpma_mr_get_descriptor(region->local, desc));
	for (unsigned i = 0; i < sizeof(addr); i++)
		CHECK_INT(desc[i], (uint8_t)(addr >> 8 * i));
	CHECK_OK(rpma_mr_remote_get_size(region->remote, &size));
	CHECK_INT(size, region->size);
}

/* a device without paging on demand need not take advice; all threads hear the same */
static void region_advise(const struct region *region)
{
	const int ret = rpma_mr_advise(region->local, 0, region->size,
		IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH);

	CHECK(ret == 0 || ret == RPMA_E_NOSUPP || ret == RPMA_E_PROVIDER);
}

static void mr(unsigned thread)
{
	struct region own;

	(void)thread;
	for (unsigned i = 0; i < ROUNDS; i++) {
		region_new(&own, threads_world.peer, SIZE);
		region_check(&own);
		region_check(&shared);
		region_advise(&own);
		region_advise(&shared);
		region_delete(&own);
	}
}

/* shared receive queues of one peer */

static struct rpma_srq *shared_srq;

static void srq_set_up(void)
{
	CHECK_OK(rpma_srq_new(threads_world.peer, NULL, &shared_srq));
}

static void srq(unsigned thread)
{
	struct rpma_srq_cfg *cfg;
	struct rpma_srq *own;
	struct rpma_cq *rcq, *rcq_too;
	int fd;

	CHECK_OK(rpma_srq_cfg_new(&cfg));
	CHECK_OK(rpma_srq_cfg_set_rcq_size(cfg, thread & 1 ? 0 : SIZE));
	CHECK_OK(rpma_srq_get_rcq(shared_srq, &rcq));
	CHECK(rcq != NULL);
	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_srq_new(threads_world.peer, cfg, &own));
		CHECK_OK(rpma_srq_recv(own, NULL, 0, 0, NULL));
		CHECK_OK(rpma_srq_get_rcq(own, &rcq_too));
		CHECK_INT(!rcq_too, thread & 1);
		if (rcq_too)
			CHECK_OK(rpma_cq_get_fd(rcq_too, &fd));
		CHECK_OK(rpma_srq_get_rcq(shared_srq, &rcq_too));
		CHECK(rcq_too == rcq);
		CHECK_OK(rpma_srq_delete(&own));
	}
	CHECK_OK(rpma_srq_cfg_delete(&cfg));
}

static void srq_tear_down(void)
{
	CHECK_OK(rpma_srq_delete(&shared_srq));
}

const struct threads_case threads_device[] = {
	{ "get_ibv_context", NULL, get_ibv_context, NULL },
	{ "peer", NULL, peer_new_delete, NULL },
	{ "mr", shared_region_new, mr, shared_region_delete },
	{ "srq", srq_set_up, srq, srq_tear_down },
	{ NULL },
};
