/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * objects.c - configurations, descriptors, texts: what needs no device
 *
 * Of a shared object a thread reads the value that it was made with, or one that a thread has set;
 * thread t sets OURS + t.
 */

#include "threads.h"

#define ROUNDS 50
#define OURS   100

static bool is_set_or(uint32_t value, uint32_t initial)
{
	return value == initial || (value >= OURS && value < OURS + THREADS);
}

/* connection configuration */

#define DEFAULT_QUEUE 10

/* never looked at, only kept */
static char srqs[THREADS];

static struct rpma_conn_cfg *conn_cfg;

static void conn_cfg_set_up(void)
{
	CHECK_OK(rpma_conn_cfg_new(&conn_cfg));
}

static void conn_cfg_set_all(struct rpma_conn_cfg *cfg, unsigned thread)
{
	CHECK_OK(rpma_conn_cfg_set_timeout(cfg, OURS + (int)thread));
	CHECK_OK(rpma_conn_cfg_set_cq_size(cfg, OURS + thread));
	CHECK_OK(rpma_conn_cfg_set_rcq_size(cfg, OURS + thread));
	CHECK_OK(rpma_conn_cfg_set_sq_size(cfg, OURS + thread));
	CHECK_OK(rpma_conn_cfg_set_rq_size(cfg, OURS + thread));
	CHECK_OK(rpma_conn_cfg_set_compl_channel(cfg, thread & 1));
	CHECK_OK(rpma_conn_cfg_set_srq(cfg, (struct rpma_srq *)&srqs[thread]));
}

static void conn_cfg_shared(unsigned thread)
{
	struct rpma_srq *srq;
	uint32_t size;
	bool shared;
	int timeout_ms;

	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_conn_cfg_get_timeout(conn_cfg, &timeout_ms));
		CHECK(is_set_or((uint32_t)timeout_ms, RPMA_DEFAULT_TIMEOUT_MS));
		CHECK_OK(rpma_conn_cfg_get_cq_size(conn_cfg, &size));
		CHECK(is_set_or(size, DEFAULT_QUEUE));
		CHECK_OK(rpma_conn_cfg_get_rcq_size(conn_cfg, &size));
		CHECK(is_set_or(size, 0));
		CHECK_OK(rpma_conn_cfg_get_sq_size(conn_cfg, &size));
		CHECK(is_set_or(size, DEFAULT_QUEUE));
		CHECK_OK(rpma_conn_cfg_get_rq_size(conn_cfg, &size));
		CHECK(is_set_or(size, DEFAULT_QUEUE));
		CHECK_OK(rpma_conn_cfg_get_compl_channel(conn_cfg, &shared));
		CHECK_OK(rpma_conn_cfg_get_srq(conn_cfg, &srq));
		CHECK(!srq || ((char *)srq >= srqs && (char *)srq < srqs + THREADS));
		conn_cfg_set_all(conn_cfg, thread);
	}
}

static void conn_cfg_tear_down(void)
{
	uint32_t size;

	CHECK_OK(rpma_conn_cfg_get_sq_size(conn_cfg, &size));
	CHECK(is_set_or(size, OURS)); /* somebody has set it */
	CHECK_OK(rpma_conn_cfg_delete(&conn_cfg));
}

static void conn_cfg_own(unsigned thread)
{
	struct rpma_conn_cfg *cfg;
	struct rpma_srq *srq;
	uint32_t size;
	int timeout_ms;

	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_conn_cfg_new(&cfg));
		CHECK_OK(rpma_conn_cfg_get_timeout(cfg, &timeout_ms));
		CHECK_INT(timeout_ms, RPMA_DEFAULT_TIMEOUT_MS);
		CHECK_OK(rpma_conn_cfg_get_rq_size(cfg, &size));
		CHECK_INT(size, DEFAULT_QUEUE);
		CHECK_OK(rpma_conn_cfg_get_srq(cfg, &srq));
		CHECK(srq == NULL);
		conn_cfg_set_all(cfg, thread);
		CHECK_OK(rpma_conn_cfg_get_rcq_size(cfg, &size));
		CHECK_INT(size, OURS + thread);
		CHECK_OK(rpma_conn_cfg_get_srq(cfg, &srq));
		CHECK((char *)srq == &srqs[thread]);
		CHECK_OK(rpma_conn_cfg_delete(&cfg));
		CHECK(cfg == NULL);
	}
}

/* shared receive queue configuration */

#define DEFAULT_SRQ 20

static struct rpma_srq_cfg *srq_cfg;

static void srq_cfg_set_up(void)
{
	CHECK_OK(rpma_srq_cfg_new(&srq_cfg));
}

static void srq_cfg_shared(unsigned thread)
{
	uint32_t size;

	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_srq_cfg_get_rq_size(srq_cfg, &size));
		CHECK(is_set_or(size, DEFAULT_SRQ));
		CHECK_OK(rpma_srq_cfg_get_rcq_size(srq_cfg, &size));
		CHECK(is_set_or(size, DEFAULT_SRQ));
		CHECK_OK(rpma_srq_cfg_set_rq_size(srq_cfg, OURS + thread));
		CHECK_OK(rpma_srq_cfg_set_rcq_size(srq_cfg, OURS + thread));
	}
}

static void srq_cfg_tear_down(void)
{
	CHECK_OK(rpma_srq_cfg_delete(&srq_cfg));
}

static void srq_cfg_own(unsigned thread)
{
	struct rpma_srq_cfg *cfg;
	uint32_t size;

	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_srq_cfg_new(&cfg));
		CHECK_OK(rpma_srq_cfg_get_rcq_size(cfg, &size));
		CHECK_INT(size, DEFAULT_SRQ);
		CHECK_OK(rpma_srq_cfg_set_rcq_size(cfg, OURS + thread));
		CHECK_OK(rpma_srq_cfg_get_rcq_size(cfg, &size));
		CHECK_INT(size, OURS + thread);
		CHECK_OK(rpma_srq_cfg_get_rq_size(cfg, &size));
		CHECK_INT(size, DEFAULT_SRQ);
		CHECK_OK(rpma_srq_cfg_delete(&cfg));
	}
}

/* peer configuration */

static struct rpma_peer_cfg *peer_cfg;

static void peer_cfg_set_up(void)
{
	CHECK_OK(rpma_peer_cfg_new(&peer_cfg));
}

static void peer_cfg_shared(unsigned thread)
{
	uint8_t desc;
	size_t size;
	bool supported;

	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_peer_cfg_set_direct_write_to_pmem(peer_cfg, (i + thread) & 1));
		CHECK_OK(rpma_peer_cfg_get_direct_write_to_pmem(peer_cfg, &supported));
		CHECK_OK(rpma_peer_cfg_get_descriptor_size(peer_cfg, &size));
		CHECK_INT(size, sizeof(desc));
		CHECK_OK(rpma_peer_cfg_get_descriptor(peer_cfg, &desc));
		CHECK(desc <= 1);
	}
}

static void peer_cfg_tear_down(void)
{
	CHECK_OK(rpma_peer_cfg_delete(&peer_cfg));
}

static void peer_cfg_own(unsigned thread)
{
	const bool declared = thread & 1;
	struct rpma_peer_cfg *cfg, *read;
	uint8_t desc;
	bool supported;

	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK_OK(rpma_peer_cfg_new(&cfg));
		CHECK_OK(rpma_peer_cfg_get_direct_write_to_pmem(cfg, &supported));
		CHECK(!supported);
		CHECK_OK(rpma_peer_cfg_set_direct_write_to_pmem(cfg, declared));
		CHECK_OK(rpma_peer_cfg_get_descriptor(cfg, &desc));
		CHECK_OK(rpma_peer_cfg_from_descriptor(&desc, sizeof(desc), &read));
		CHECK_OK(rpma_peer_cfg_get_direct_write_to_pmem(read, &supported));
		CHECK(supported == declared);
		CHECK_OK(rpma_peer_cfg_delete(&read));
		CHECK_OK(rpma_peer_cfg_delete(&cfg));
	}
}

/* remote regions out of one descriptor */

#define REGION_SIZE 0x1234

/* bytes of a region's object that are equal for equal descriptors */
#define SAME_BYTES 14

static const uint8_t mr_desc[] = { 0, 0x10, 0, 0, 0, 0, 0, 0, REGION_SIZE & 0xff, REGION_SIZE >> 8,
	0, 0, 0, 0, 0, 0, 1, 2, 3, 4,
	RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT };

static struct rpma_mr_remote *mr_remote;

static void mr_remote_set_up(void)
{
	CHECK_OK(rpma_mr_remote_from_descriptor(mr_desc, sizeof(mr_desc), &mr_remote));
}

static void mr_remote_check(const struct rpma_mr_remote *mr)
{
	size_t size;
	int type;

	CHECK_OK(rpma_mr_remote_get_size(mr, &size));
	CHECK_INT(size, REGION_SIZE);
	CHECK_OK(rpma_mr_remote_get_flush_type(mr, &type));
	CHECK_INT(type, RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
}

static void mr_remote_both(unsigned thread)
{
	struct rpma_mr_remote *own;

	(void)thread;
	for (unsigned i = 0; i < ROUNDS; i++) {
		mr_remote_check(mr_remote);
		CHECK_OK(rpma_mr_remote_from_descriptor(mr_desc, sizeof(mr_desc), &own));
		CHECK(memcmp(own, mr_remote, SAME_BYTES) == 0);
		mr_remote_check(own);
		CHECK_OK(rpma_mr_remote_delete(&own));
	}
}

static void mr_remote_tear_down(void)
{
	CHECK_OK(rpma_mr_remote_delete(&mr_remote));
}

/* texts */

static void texts(unsigned thread)
{
	(void)thread;
	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK(strcmp(rpma_err_2str(RPMA_E_NOMEM), "Out of memory") == 0);
		CHECK(strcmp(rpma_err_2str(1), "Unknown error") == 0);
		CHECK(strcmp(rpma_utils_conn_event_2str(RPMA_CONN_CLOSED), "Connection closed") ==
			0);
	}
}

const struct threads_case threads_objects[] = {
	{ "conn_cfg_shared", conn_cfg_set_up, conn_cfg_shared, conn_cfg_tear_down },
	{ "conn_cfg_own", NULL, conn_cfg_own, NULL },
	{ "srq_cfg_shared", srq_cfg_set_up, srq_cfg_shared, srq_cfg_tear_down },
	{ "srq_cfg_own", NULL, srq_cfg_own, NULL },
	{ "peer_cfg_shared", peer_cfg_set_up, peer_cfg_shared, peer_cfg_tear_down },
	{ "peer_cfg_own", NULL, peer_cfg_own, NULL },
	{ "mr_remote", mr_remote_set_up, mr_remote_both, mr_remote_tear_down },
	{ "texts", NULL, texts, NULL },
	{ NULL },
};
