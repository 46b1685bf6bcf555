/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* cfg.c - the three configurations: of a peer, a connection, a shared receive queue */

#include <limits.h>

#include "compat.h"

/* ---- peer_cfg -------------------------------------------------------------------------------- */

static struct rpma_peer_cfg *peer_cfg(bool direct_write)
{
	struct rpma_peer_cfg *pcfg = NULL;

	MUST_EQ(rpma_peer_cfg_new(&pcfg), 0);
	MUST(pcfg != NULL);
	MUST_EQ(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, direct_write), 0);
	return pcfg;
}

static void pcfg_default(void)
{
	struct rpma_peer_cfg *pcfg = NULL;
	bool supported = true;

	MUST_EQ(rpma_peer_cfg_new(&pcfg), 0);
	MUST_EQ(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &supported), 0);
	MUST(!supported);
	MUST_EQ(rpma_peer_cfg_delete(&pcfg), 0);
	MUST(pcfg == NULL);
}

static void pcfg_set(void)
{
	struct rpma_peer_cfg *pcfg = peer_cfg(true);
	bool supported = false;

	MUST_EQ(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &supported), 0);
	MUST(supported);
	MUST_EQ(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, false), 0);
	MUST_EQ(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &supported), 0);
	MUST(!supported);
	MUST_EQ(rpma_peer_cfg_delete(&pcfg), 0);
}

static void pcfg_descriptor(void)
{
	for (int direct_write = 0; direct_write < 2; direct_write++) {
		struct rpma_peer_cfg *pcfg = peer_cfg(direct_write);
		uint8_t bytes[] = { 0x55, 0xAA, 0xAA };
		size_t size = 0;

		MUST_EQ(rpma_peer_cfg_get_descriptor_size(pcfg, &size), 0);
		MUST_EQ(size, 1);
		MUST_EQ(rpma_peer_cfg_get_descriptor(pcfg, bytes), 0);
		MUST_EQ(bytes[0], direct_write);
		MUST_EQ(bytes[1], 0xAA);
		MUST_EQ(rpma_peer_cfg_delete(&pcfg), 0);
	}
}

static void pcfg_from_descriptor(void)
{
	for (int byte = 0; byte < 256; byte++) {
		const uint8_t descriptor[] = { (uint8_t)byte, 0xFF };
		struct rpma_peer_cfg *pcfg = NULL;
		bool supported = byte == 0;
		uint8_t again = 0x55;

		/* what is behind it does not count */
		MUST_EQ(rpma_peer_cfg_from_descriptor(descriptor, 1 + byte % 2, &pcfg), 0);
		MUST_EQ(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, &supported), 0);
		MUST_EQ(supported, byte != 0);
		MUST_EQ(rpma_peer_cfg_get_descriptor(pcfg, &again), 0);
		MUST_EQ(again, byte != 0);
		MUST_EQ(rpma_peer_cfg_delete(&pcfg), 0);
	}
}

static void pcfg_from_invalid(void)
{
	struct rpma_peer_cfg *pcfg = UNTOUCHED;

	compat_log_to(RPMA_LOG_LEVEL_ERROR);
	MUST_EQ(rpma_peer_cfg_from_descriptor(NULL, 1, &pcfg), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_cfg_from_descriptor("\1", 1, NULL), RPMA_E_INVAL);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], 0);
	MUST_EQ(rpma_peer_cfg_from_descriptor("\1", 0, &pcfg), RPMA_E_INVAL);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], 1);
	MUST(pcfg == UNTOUCHED);
}

static void pcfg_null(void)
{
	struct rpma_peer_cfg *pcfg = peer_cfg(false), *none = NULL;
	bool supported = true;
	size_t size = 42;
	uint8_t byte = 42;

	MUST_EQ(rpma_peer_cfg_new(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_cfg_set_direct_write_to_pmem(NULL, true), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_cfg_get_direct_write_to_pmem(NULL, &supported), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_cfg_get_direct_write_to_pmem(pcfg, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_cfg_get_descriptor(NULL, &byte), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_cfg_get_descriptor(pcfg, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_cfg_get_descriptor_size(NULL, &size), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_cfg_get_descriptor_size(pcfg, NULL), RPMA_E_INVAL);
	MUST(supported && size == 42 && byte == 42);
	MUST_EQ(rpma_peer_cfg_delete(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_peer_cfg_delete(&none), 0);
	MUST_EQ(rpma_peer_cfg_delete(&pcfg), 0);
}

const struct check peer_cfg_checks[] = {
	{ "direct write is off to begin with", NULL, pcfg_default },
	{ "direct write is what was set last", NULL, pcfg_set },
	{ "the descriptor is one byte, 0 or 1", "10.2", pcfg_descriptor },
	{ "any byte but 0 is read as 1, and passed on as 1", "10.2", pcfg_from_descriptor },
	{ "a descriptor of no bytes is invalid, and logged", NULL, pcfg_from_invalid },
	{ "NULL is invalid, a NULL object can be deleted", NULL, pcfg_null },
	{ NULL },
};

/* ---- conn_cfg -------------------------------------------------------------------------------- */

enum { CQ, RCQ, SQ, RQ, QUEUES };

static const struct {
	const char *name;
	int (*set)(struct rpma_conn_cfg *cfg, uint32_t size);
	int (*get)(const struct rpma_conn_cfg *cfg, uint32_t *size);
} queues[QUEUES] = {
	[CQ] = { "cq_size", rpma_conn_cfg_set_cq_size, rpma_conn_cfg_get_cq_size },
	[RCQ] = { "rcq_size", rpma_conn_cfg_set_rcq_size, rpma_conn_cfg_get_rcq_size },
	[SQ] = { "sq_size", rpma_conn_cfg_set_sq_size, rpma_conn_cfg_get_sq_size },
	[RQ] = { "rq_size", rpma_conn_cfg_set_rq_size, rpma_conn_cfg_get_rq_size },
};

struct values {
	int timeout_ms;
	uint32_t size[QUEUES];
	bool shared;
	struct rpma_srq *srq;
};

static const struct values defaults = { 1000, { 10, 0, 10, 10 }, false, NULL };

static struct rpma_conn_cfg *conn_cfg(void)
{
	struct rpma_conn_cfg *cfg = NULL;

	MUST_EQ(rpma_conn_cfg_new(&cfg), 0);
	MUST(cfg != NULL);
	return cfg;
}

static void has(const struct rpma_conn_cfg *cfg, const struct values *values)
{
	struct values got = { .srq = UNTOUCHED };

	MUST_EQ(rpma_conn_cfg_get_timeout(cfg, &got.timeout_ms), 0);
	MUST_EQ(rpma_conn_cfg_get_compl_channel(cfg, &got.shared), 0);
	MUST_EQ(rpma_conn_cfg_get_srq(cfg, &got.srq), 0);
	MUST_EQ(got.timeout_ms, values->timeout_ms);
	for (int i = 0; i < QUEUES; i++) {
		MUST_EQ(queues[i].get(cfg, &got.size[i]), 0);
		check_equal(__FILE__, __LINE__, queues[i].name, got.size[i], values->size[i]);
	}
	MUST_EQ(got.shared, values->shared);
	MUST(got.srq == values->srq);
}

static void conn_defaults(void)
{
	struct rpma_conn_cfg *cfg = conn_cfg();

	has(cfg, &defaults);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
	MUST(cfg == NULL);
}

static void conn_timeout(void)
{
	static const int good[] = { 0, 1, 2000, INT_MAX };
	struct rpma_conn_cfg *cfg = conn_cfg();
	struct values values = defaults;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		values.timeout_ms = good[i];
		MUST_EQ(rpma_conn_cfg_set_timeout(cfg, good[i]), 0);
		has(cfg, &values);
	}
	MUST_EQ(rpma_conn_cfg_set_timeout(cfg, -1), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_cfg_set_timeout(cfg, INT_MIN), RPMA_E_INVAL);
	has(cfg, &values);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
}

/* a queue's size, set from 0 to the largest, with an eye on all others */
static void size_of(int queue)
{
	static const uint32_t good[] = { 0, 1, 20, 1u << 31, UINT32_MAX };
	struct rpma_conn_cfg *cfg = conn_cfg();
	struct values values = defaults;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		values.size[queue] = good[i];
		MUST_EQ(queues[queue].set(cfg, good[i]), 0);
		has(cfg, &values);
	}
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
}

static void conn_cq_size(void)
{
	size_of(CQ);
}

static void conn_rcq_size(void)
{
	size_of(RCQ);
}

static void conn_sq_size(void)
{
	size_of(SQ);
}

static void conn_rq_size(void)
{
	size_of(RQ);
}

static void conn_channel(void)
{
	struct rpma_conn_cfg *cfg = conn_cfg();
	struct values values = defaults;

	values.shared = true;
	MUST_EQ(rpma_conn_cfg_set_compl_channel(cfg, true), 0);
	has(cfg, &values);
	MUST_EQ(rpma_conn_cfg_set_compl_channel(cfg, false), 0);
	has(cfg, &defaults);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
}

static void conn_srq(void)
{
	struct rpma_conn_cfg *cfg = conn_cfg();
	struct values values = defaults;

	/* no such object exists, and nobody looks */
	values.srq = (struct rpma_srq *)0xCD12;
	MUST_EQ(rpma_conn_cfg_set_srq(cfg, values.srq), 0);
	has(cfg, &values);
	values.srq = (struct rpma_srq *)0xCD15;
	MUST_EQ(rpma_conn_cfg_set_srq(cfg, values.srq), 0);
	has(cfg, &values);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
}

static void conn_srq_null(void)
{
	struct rpma_conn_cfg *cfg = conn_cfg();
	struct values values = defaults;

	MUST_EQ(rpma_conn_cfg_set_srq(cfg, NULL), RPMA_E_INVAL);
	has(cfg, &values);
	values.srq = (struct rpma_srq *)0xCD12;
	MUST_EQ(rpma_conn_cfg_set_srq(cfg, values.srq), 0);
	MUST_EQ(rpma_conn_cfg_set_srq(cfg, NULL), RPMA_E_INVAL);
	has(cfg, &values);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
}

static void conn_null(void)
{
	struct rpma_conn_cfg *none = NULL;

	MUST_EQ(rpma_conn_cfg_new(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_cfg_delete(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_cfg_delete(&none), 0);
	MUST_EQ(rpma_conn_cfg_set_timeout(NULL, 1), RPMA_E_INVAL);
	for (int i = 0; i < QUEUES; i++)
		check_equal(
			__FILE__, __LINE__, queues[i].name, queues[i].set(NULL, 1), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_cfg_set_compl_channel(NULL, true), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_cfg_set_srq(NULL, (struct rpma_srq *)0xCD12), RPMA_E_INVAL);
}

static void conn_getters_null(void)
{
	struct rpma_conn_cfg *cfg = conn_cfg();
	struct rpma_srq *srq = UNTOUCHED;
	uint32_t size = 42;
	int timeout_ms = 42;
	bool shared = true;

	MUST_EQ(rpma_conn_cfg_get_timeout(NULL, &timeout_ms), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_cfg_get_timeout(cfg, NULL), RPMA_E_INVAL);
	for (int i = 0; i < QUEUES; i++) {
		check_equal(__FILE__, __LINE__, queues[i].name, queues[i].get(NULL, &size),
			RPMA_E_INVAL);
		check_equal(
			__FILE__, __LINE__, queues[i].name, queues[i].get(cfg, NULL), RPMA_E_INVAL);
	}
	MUST_EQ(rpma_conn_cfg_get_compl_channel(NULL, &shared), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_cfg_get_compl_channel(cfg, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_cfg_get_srq(NULL, &srq), RPMA_E_INVAL);
	MUST_EQ(rpma_conn_cfg_get_srq(cfg, NULL), RPMA_E_INVAL);
	MUST(timeout_ms == 42 && size == 42 && shared && srq == UNTOUCHED);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
}

const struct check conn_cfg_checks[] = {
	{ "the defaults: 1000 ms; 10, 0, 10, 10; not shared, no SRQ", NULL, conn_defaults },
	{ "a time-out from 0 on, and none below", NULL, conn_timeout },
	{ "any size of the completion queue, others untouched", NULL, conn_cq_size },
	{ "any size of the receive completion queue, others untouched", NULL, conn_rcq_size },
	{ "any size of the send queue, others untouched", NULL, conn_sq_size },
	{ "any size of the receive queue, others untouched", NULL, conn_rq_size },
	{ "a shared channel, and none", NULL, conn_channel },
	{ "an SRQ is stored without a look at it", "15", conn_srq },
	{ "NULL is no SRQ", NULL, conn_srq_null },
	{ "setters refuse NULL, a NULL object can be deleted", NULL, conn_null },
	{ "getters refuse NULL, outputs are untouched", NULL, conn_getters_null },
	{ NULL },
};

/* ---- srq_cfg --------------------------------------------------------------------------------- */

static struct rpma_srq_cfg *srq_cfg(void)
{
	struct rpma_srq_cfg *cfg = NULL;

	MUST_EQ(rpma_srq_cfg_new(&cfg), 0);
	MUST(cfg != NULL);
	return cfg;
}

static void srq_has(const struct rpma_srq_cfg *cfg, uint32_t rq_size, uint32_t rcq_size)
{
	uint32_t size = 42;

	MUST_EQ(rpma_srq_cfg_get_rq_size(cfg, &size), 0);
	MUST_EQ(size, rq_size);
	MUST_EQ(rpma_srq_cfg_get_rcq_size(cfg, &size), 0);
	MUST_EQ(size, rcq_size);
}

static void srq_defaults(void)
{
	struct rpma_srq_cfg *cfg = srq_cfg();

	srq_has(cfg, 20, 20);
	MUST_EQ(rpma_srq_cfg_delete(&cfg), 0);
	MUST(cfg == NULL);
}

static void srq_sizes(void)
{
	static const uint32_t good[] = { 0, 1, 100, UINT32_MAX };
	struct rpma_srq_cfg *cfg = srq_cfg();

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		MUST_EQ(rpma_srq_cfg_set_rq_size(cfg, good[i]), 0);
		srq_has(cfg, good[i], 20);
	}
	MUST_EQ(rpma_srq_cfg_set_rq_size(cfg, 7), 0);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		MUST_EQ(rpma_srq_cfg_set_rcq_size(cfg, good[i]), 0);
		srq_has(cfg, 7, good[i]);
	}
	MUST_EQ(rpma_srq_cfg_delete(&cfg), 0);
}

static void srq_cfg_null(void)
{
	struct rpma_srq_cfg *cfg = srq_cfg(), *none = NULL;
	uint32_t size = 42;

	MUST_EQ(rpma_srq_cfg_new(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_cfg_set_rq_size(NULL, 1), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_cfg_set_rcq_size(NULL, 1), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_cfg_get_rq_size(NULL, &size), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_cfg_get_rq_size(cfg, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_cfg_get_rcq_size(NULL, &size), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_cfg_get_rcq_size(cfg, NULL), RPMA_E_INVAL);
	MUST_EQ(size, 42);
	MUST_EQ(rpma_srq_cfg_delete(NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_srq_cfg_delete(&none), 0);
	MUST_EQ(rpma_srq_cfg_delete(&cfg), 0);
}

const struct check srq_cfg_checks[] = {
	{ "the defaults are 20 and 20", NULL, srq_defaults },
	{ "any sizes, apart from each other", NULL, srq_sizes },
	{ "NULL is invalid, a NULL object can be deleted", NULL, srq_cfg_null },
	{ NULL },
};
