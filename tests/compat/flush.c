/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * flush.c - flush and atomic write
 *
 * By which method a library carries them out, and so the opcode of their completions, is its own
 * business: nothing here depends on it.
 */

#include <string.h>

#include "ends.h"

#define ALWAYS     RPMA_F_COMPLETION_ALWAYS
#define ON_ERROR   RPMA_F_COMPLETION_ON_ERROR
#define VISIBILITY RPMA_FLUSH_TYPE_VISIBILITY
#define PERSISTENT RPMA_FLUSH_TYPE_PERSISTENT

/* what the other end says of its memory */
static void apply(struct rpma_conn *conn, bool direct_write)
{
	struct rpma_peer_cfg *pcfg = NULL;

	MUST_EQ(rpma_peer_cfg_new(&pcfg), 0);
	MUST_EQ(rpma_peer_cfg_set_direct_write_to_pmem(pcfg, direct_write), 0);
	MUST_EQ(rpma_conn_apply_remote_peer_cfg(conn, pcfg), 0);
	MUST_EQ(rpma_peer_cfg_delete(&pcfg), 0);
}

static struct ibv_wc flushed(struct ends *e, uint64_t wr_id)
{
	struct ibv_wc wc = completion_expect(e->c.cq, wr_id);

	MUST_EQ(wc.qp_num, e->c.qp_num);
	check_note("opcode %d", wc.opcode);
	return wc;
}

/* the server's memory as a region of another usage, as the client sees it */
static void expose(struct ends *e, uint8_t *at, size_t size, int usage)
{
	MUST_EQ(rpma_mr_dereg(&e->s.mr), 0);
	MUST_EQ(rpma_mr_remote_delete(&e->c.theirs), 0);
	MUST_EQ(rpma_mr_reg(e->peer, at, size, usage, &e->s.mr), 0);
	e->c.theirs = ends_remote(e->s.mr);
}

static void visibility(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	fill(e.c.buf, 4096, 1);
	MUST_EQ(rpma_write(e.c.conn, e.c.theirs, 0, e.c.mr, 0, 4096, ON_ERROR, CONTEXT(1)), 0);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 4096, VISIBILITY, ALWAYS, CONTEXT(2)), 0);
	flushed(&e, 2);
	MUST(filled(e.s.buf, 4096, 1));
	completion_none(e.c.cq);
	completion_none(e.s.cq);
	ends_close(&e);
}

static void persistence(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	/* only where the other end has said that it can */
	compat_log_to(RPMA_LOG_LEVEL_ERROR);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 64, PERSISTENT, ALWAYS, NULL), RPMA_E_NOSUPP);
	MUST_EQ(compat_log.count[RPMA_LOG_LEVEL_ERROR], 1);
	apply(e.c.conn, true);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 64, PERSISTENT, ALWAYS, CONTEXT(3)), 0);
	flushed(&e, 3);
	apply(e.c.conn, false);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 64, PERSISTENT, ALWAYS, NULL), RPMA_E_NOSUPP);
	completion_none(e.c.cq);
	ends_close(&e);
}

static void usages(void)
{
	const int usage = RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST;
	struct ends e;

	ends_connect(&e, NULL, NULL);
	apply(e.c.conn, true);
	expose(&e, e.s.buf, ENDS_SIZE, usage | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 64, PERSISTENT, ALWAYS, NULL), RPMA_E_NOSUPP);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 64, VISIBILITY, ALWAYS, CONTEXT(1)), 0);
	flushed(&e, 1);
	expose(&e, e.s.buf, ENDS_SIZE, usage | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 64, VISIBILITY, ALWAYS, NULL), RPMA_E_NOSUPP);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 64, PERSISTENT, ALWAYS, CONTEXT(2)), 0);
	flushed(&e, 2);
	completion_none(e.c.cq);
	ends_close(&e);
}

/* a region that may be flushed and nothing else */
static void usage_alone(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	apply(e.c.conn, true);
	expose(&e, e.s.buf, ENDS_SIZE, RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 64, VISIBILITY, ALWAYS, CONTEXT(1)), 0);
	flushed(&e, 1);
	expose(&e, e.s.buf, ENDS_SIZE, RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 64, PERSISTENT, ALWAYS, CONTEXT(2)), 0);
	flushed(&e, 2);
	ends_close(&e);
}

static void flush_invalid(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_flush(NULL, e.c.theirs, 0, 64, VISIBILITY, ALWAYS, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_flush(e.c.conn, NULL, 0, 64, VISIBILITY, ALWAYS, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 64, VISIBILITY, 0, NULL), RPMA_E_INVAL);
	completion_none(e.c.cq);
	ends_close(&e);
}

static void flush_type(void)
{
	const enum rpma_flush_type type = (enum rpma_flush_type)2;
	struct ends e;
	int ret;

	ends_connect(&e, NULL, NULL);
	ret = rpma_flush(e.c.conn, e.c.theirs, 0, 64, type, ALWAYS, CONTEXT(1));
	IMPROVED(7, ret == RPMA_E_INVAL, ret == 0);
	if (ret == 0)
		flushed(&e, 1);
	else
		completion_none(e.c.cq);
	ends_close(&e);
}

static void flush_end(void)
{
	struct ibv_wc wc;
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, ENDS_SIZE - 1, 1, VISIBILITY, ALWAYS, CONTEXT(1)),
		0);
	wc = completion_take(e.c.cq);
	MUST_EQ(wc.wr_id, 1);
	IMPROVED(5, wc.status == IBV_WC_SUCCESS, wc.status == IBV_WC_REM_ACCESS_ERR);
	ends_close(&e);
}

static void flush_many(void)
{
	struct rpma_conn_cfg *cfg = CFG(.sq_size = 32, .cq_size = 32);
	struct ends e;

	/* with one buffer for all of them */
	ends_connect(&e, cfg, NULL);
	MUST_EQ(rpma_conn_cfg_delete(&cfg), 0);
	for (uint64_t i = 0; i < 32; i++)
		MUST_EQ(rpma_flush(
				e.c.conn, e.c.theirs, 64 * i, 64, VISIBILITY, ALWAYS, CONTEXT(i)),
			0);
	for (uint64_t i = 0; i < 32; i++)
		completion_expect(e.c.cq, i);
	ends_close(&e);
}

/* ---- atomic write ---------------------------------------------------------------------------- */

static void atomic(void)
{
	char word[8] = "8 bytes";
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_atomic_write(e.c.conn, e.c.theirs, 4096, word, ALWAYS, CONTEXT(1)), 0);
	memset(word, 0, sizeof(word)); /* of use during the call only */
	flushed(&e, 1);
	MUST(memcmp(e.s.buf + 4096, "8 bytes", 8) == 0);
	MUST(zeroed(e.s.buf, 4096) && zeroed(e.s.buf + 4104, 4096));
	completion_none(e.s.cq);
	ends_close(&e);
}

static void atomic_unaligned(void)
{
	const char word[8] = "8 bytes";
	struct ends e;

	ends_connect(&e, NULL, NULL);
	for (size_t offset = 1; offset < 8; offset++)
		MUST_EQ(rpma_atomic_write(e.c.conn, e.c.theirs, offset, word, ALWAYS, NULL),
			RPMA_E_INVAL);
	completion_none(e.c.cq);
	MUST(zeroed(e.s.buf, 16));
	ends_close(&e);
}

static void atomic_invalid(void)
{
	const char word[8] = "8 bytes";
	struct ends e;

	ends_connect(&e, NULL, NULL);
	MUST_EQ(rpma_atomic_write(NULL, e.c.theirs, 0, word, ALWAYS, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_atomic_write(e.c.conn, NULL, 0, word, ALWAYS, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_atomic_write(e.c.conn, e.c.theirs, 0, NULL, ALWAYS, NULL), RPMA_E_INVAL);
	MUST_EQ(rpma_atomic_write(e.c.conn, e.c.theirs, 0, word, 0, NULL), RPMA_E_INVAL);
	completion_none(e.c.cq);
	ends_close(&e);
}

/* the offset is a multiple of 8, the address is not */
static void atomic_odd_region(void)
{
	const char word[8] = "8 bytes";
	struct ends e;
	int ret;

	ends_connect(&e, NULL, NULL);
	expose(&e, e.s.buf + 4, 4096, RPMA_MR_USAGE_WRITE_DST);
	ret = rpma_atomic_write(e.c.conn, e.c.theirs, 8, word, ALWAYS, CONTEXT(1));
	IMPROVED(7, ret == RPMA_E_INVAL, ret == 0);
	if (ret == 0)
		completion_take(e.c.cq);
	else
		completion_none(e.c.cq);
	ends_close(&e);
}

static void sequence(void)
{
	struct ends e;

	ends_connect(&e, NULL, NULL);
	apply(e.c.conn, true);
	for (uint64_t round = 1; round <= 10; round++) {
		fill(e.c.buf, 4096, round);
		MUST_EQ(rpma_write(e.c.conn, e.c.theirs, 64, e.c.mr, 0, 4096, ON_ERROR, NULL), 0);
		MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 64, 4096, PERSISTENT, ON_ERROR, NULL), 0);
		MUST_EQ(rpma_atomic_write(
				e.c.conn, e.c.theirs, 0, (const char *)&round, ON_ERROR, NULL),
			0);
		MUST_EQ(rpma_flush(e.c.conn, e.c.theirs, 0, 8, PERSISTENT, ALWAYS, CONTEXT(round)),
			0);
		completion_expect(e.c.cq, round);
		MUST(filled(e.s.buf + 64, 4096, round));
		MUST(memcmp(e.s.buf, &round, 8) == 0);
	}
	completion_none(e.c.cq);
	ends_close(&e);
}

const struct check flush_checks[] = {
	{ "flush for visibility completes after the writes before it", NULL, visibility },
	{ "flush for persistence only where the other end can", "6.12", persistence },
	{ "a region is flushed in the ways it was registered for", "6.12", usages },
	{ "a region for flushing alone can be flushed", "7.2", usage_alone },
	{ "flush: what is invalid", "6.12", flush_invalid },
	{ "flush of a type that does not exist", "6.12", flush_type, .differs = true },
	{ "flush of the last byte of a region", NULL, flush_end, .differs = true },
	{ "many flushes at once", NULL, flush_many },
	{ "atomic write brings its eight bytes, which may change after the call", NULL, atomic },
	{ "atomic write at an offset that is no multiple of eight is invalid", "6.12",
		atomic_unaligned },
	{ "atomic write: what is invalid", "6.12", atomic_invalid },
	{ "atomic write to a region at an odd address", NULL, atomic_odd_region, .differs = true },
	{ "write, flush, atomic write, flush: one completion, everything in place", NULL,
		sequence },
	{ NULL },
};
