/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* pair.c - two ends of a connection in one process, and a region that both may use */

#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define PAGE 4096

void pair_expect_event(struct rpma_conn *conn, enum rpma_conn_event expected)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;

	CHECK_OK(rpma_conn_next_event(conn, &event));
	CHECK_INT(event, expected);
}

void pair_connect(struct pair *pair, struct rpma_peer *peer, struct rpma_ep *ep, const char *addr,
	const char *port, const struct rpma_conn_cfg *active_cfg,
	const struct rpma_conn_cfg *passive_cfg)
{
	struct rpma_conn_private_data hello = { "hello", 6 };
	struct rpma_conn_req *active, *passive;

	CHECK_OK(rpma_conn_req_new(peer, addr, port, active_cfg, &active));
	CHECK_OK(rpma_conn_req_connect(&active, NULL, &pair->active));
	CHECK_OK(rpma_ep_next_conn_req(ep, passive_cfg, &passive));
	CHECK_OK(rpma_conn_req_connect(&passive, &hello, &pair->passive));
	pair_expect_event(pair->active, RPMA_CONN_ESTABLISHED);
	pair_expect_event(pair->passive, RPMA_CONN_ESTABLISHED);
}

void pair_part(struct pair *pair)
{
	CHECK_OK(rpma_conn_disconnect(pair->active));
	pair_expect_event(pair->passive, RPMA_CONN_CLOSED);
	CHECK_OK(rpma_conn_disconnect(pair->passive));
	pair_expect_event(pair->active, RPMA_CONN_CLOSED);
	pair_delete(pair);
}

void pair_delete(struct pair *pair)
{
	CHECK_OK(rpma_conn_delete(&pair->active));
	CHECK_OK(rpma_conn_delete(&pair->passive));
}

/* not more than a notification: what it is about may be gone already, or be for the other queue */
static void await_notification(struct rpma_conn *conn, struct rpma_cq *cq)
{
	struct rpma_cq *notified;
	bool is_rcq;
	int fd;

	if (rpma_conn_get_compl_fd(conn, &fd) == RPMA_E_NOT_SHARED_CHNL) {
		CHECK_OK(rpma_cq_wait(cq));
		return;
	}
	CHECK_OK(rpma_conn_wait(conn, 0, &notified, &is_rcq));
	CHECK(notified != NULL);
}

void pair_next_wc(struct rpma_conn *conn, bool is_recv, struct ibv_wc *wc)
{
	struct rpma_cq *cq = NULL;
	int ret;

	if (is_recv)
		CHECK_OK(rpma_conn_get_rcq(conn, &cq));
	if (!cq)
		CHECK_OK(rpma_conn_get_cq(conn, &cq));
	while ((ret = rpma_cq_get_wc(cq, 1, wc, NULL)) == RPMA_E_NO_COMPLETION)
		await_notification(conn, cq);
	CHECK_OK(ret);
	CHECK_INT(wc->status, IBV_WC_SUCCESS);
}

void region_new(struct region *region, struct rpma_peer *peer, size_t size)
{
	uint8_t desc[32];
	size_t desc_size;

	region->size = (size + PAGE - 1) / PAGE * PAGE;
	region->bytes = aligned_alloc(PAGE, region->size);
	CHECK(region->bytes != NULL);
	memset(region->bytes, 0, region->size);
	CHECK_OK(rpma_mr_reg(peer, region->bytes, region->size,
		RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC |
			RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
			RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV,
		&region->local));
	CHECK_OK(rpma_mr_get_descriptor_size(region->local, &desc_size));
	CHECK(desc_size <= sizeof(desc));
	CHECK_OK(rpma_mr_get_descriptor(region->local, desc));
	CHECK_OK(rpma_mr_remote_from_descriptor(desc, desc_size, &region->remote));
}

void region_delete(struct region *region)
{
	CHECK_OK(rpma_mr_remote_delete(&region->remote));
	CHECK_OK(rpma_mr_dereg(&region->local));
	free(region->bytes);
}
