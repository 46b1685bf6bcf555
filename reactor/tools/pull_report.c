/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pull_report.c - what rpma pull says at its end
 *
 * A failure is one line on stderr, always. The summary goes to stdout: some lines for people, or
 * one JSON object for programs, which is there after a failure too.
 */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pull.h"
#include "size.h"

static const char *durability_name(enum rpma_uv_durability durability)
{
	switch (durability) {
	case RPMA_UV_DURABILITY_GROUP:
		return "group";
	case RPMA_UV_DURABILITY_NONE:
		return "none";
	case RPMA_UV_DURABILITY_DSYNC:
		return "dsync";
	case RPMA_UV_DURABILITY_FINAL:
		return "final";
	}
	return "unknown";
}

/* seconds from the start of the transfer; 0: it has not come to that */
static double seconds(const struct pull *p, uint64_t until_ns)
{
	return until_ns > p->started_ns && p->started_ns ? (double)(until_ns - p->started_ns) / 1e9
							 : 0;
}

static double rate(uint64_t bytes, double s)
{
	return s > 0 ? (double)bytes / s : 0;
}

/* ---- a failure ------------------------------------------------------------------------------- */

static void report_failure(const struct pull *p)
{
	const struct pull_failure *failure = &p->failure;
	bool none = p->args.durability == RPMA_UV_DURABILITY_NONE;
	char at[48] = "", rest[512] = "";

	if (failure->at_offset && failure->code != EXIT_INTERRUPTED)
		(void)snprintf(
			at, sizeof(at), " at offset %llu", (unsigned long long)failure->offset);
	if (p->part_exists)
		(void)snprintf(rest, sizeof(rest), "; %llu bytes are %s %s",
			(unsigned long long)p->stat.watermark, none ? "in" : "durable in",
			p->args.part);
	(void)fail((enum exit_code)failure->code, "pull from %s: %s%s: %s%s", p->args.source,
		failure->stage, at, failure->text, rest);
}

/* ---- for people ------------------------------------------------------------------------------ */

static void report_text(const struct pull *p)
{
	char read_rate[SIZE_TEXT], end_rate[SIZE_TEXT], hex[SHA256_TEXT];
	double read_s = seconds(p, p->last_read_ns);
	double end_s = seconds(p, p->ended_ns);

	(void)printf("%s: %llu bytes in %.3f s, read at %s/s, %s at %s/s\n", p->args.target,
		(unsigned long long)p->stat.written, end_s,
		size_format((uint64_t)rate(p->stat.read, read_s), read_rate),
		p->args.durability == RPMA_UV_DURABILITY_NONE ? "written" : "durable",
		size_format((uint64_t)rate(p->stat.written, end_s), end_rate));
	(void)printf("peak: %u reads and %u writes in flight\n", p->stat.peak_reads,
		p->stat.peak_writes);
	if (p->verified) {
		(void)printf("sha256 of the source: %s\n", sha256_format(p->source_sha256, hex));
		(void)printf("sha256 of the file:   %s\n", sha256_format(p->file_sha256, hex));
		(void)printf("verified\n");
	}
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void add(json_t *object, const char *key, json_t *value)
{
	/* NULL: no memory. The object is then shorter; nothing better can be told. */
	if (value)
		(void)json_object_set_new(object, key, value);
}

static void add_count(json_t *object, const char *key, uint64_t value)
{
	add(object, key, json_integer((json_int_t)value));
}

/* names of files are any bytes, but JSON is UTF-8: what is not is made visible as such */
static void add_text(json_t *object, const char *key, const char *text)
{
	json_t *value = json_string(text);

	if (!value) {
		char *ascii = strdup(text);
		for (char *c = ascii; c && *c; c++) {
			if ((unsigned char)*c >= 0x80)
				*c = '?';
		}
		value = ascii ? json_string(ascii) : NULL;
		free(ascii);
	}
	add(object, key, value);
}

static void add_digest(json_t *object, const char *key, bool known, const uint8_t *sha256)
{
	char hex[SHA256_TEXT];

	if (known)
		add_text(object, key, sha256_format(sha256, hex));
	else
		add(object, key, json_null());
}

static json_t *error_object(const struct pull *p)
{
	const struct pull_failure *failure = &p->failure;
	json_t *error = json_object();

	if (!error)
		return NULL;
	add_text(error, "stage", failure->stage);
	if (failure->at_offset)
		add_count(error, "offset", failure->offset);
	else
		add(error, "offset", json_null());
	add_text(error, "status", uv_err_name(failure->status));
	add_text(error, "message", failure->text);
	return error;
}

static json_t *ring_object(const struct pull *p)
{
	json_t *ring = json_object();

	if (!ring)
		return NULL;
	add_count(ring, "flags", p->reactor_stats.ring_flags);
	add(ring, "fixed", json_boolean(p->fixed));
	add_count(ring, "enters", p->reactor_stats.ring_enters);
	add_count(ring, "submitted", p->reactor_stats.ring_submitted);
	add_count(ring, "wakeups", p->reactor_stats.ring_wakeups);
	return ring;
}

static void add_transfer(json_t *root, const struct pull *p)
{
	const rpma_uv_transfer_stat_t *stat = &p->stat;
	double end_s = seconds(p, p->ended_ns);

	add_count(root, "length", p->region.length);
	add_count(root, "bytes", stat->written);
	add(root, "seconds", json_real(end_s));
	add(root, "read_rate", json_real(rate(stat->read, seconds(p, p->last_read_ns))));
	add(root, "durable_rate", json_real(rate(stat->durable, end_s)));
	add_count(root, "durable", stat->durable);
	add_count(root, "watermark", stat->watermark);
	add_count(root, "chunk", p->args.chunk);
	add_count(root, "depth", p->args.depth);
	add_text(root, "durability", durability_name(p->args.durability));
	add_count(root, "syncs", stat->syncs);
	add_count(root, "peak_reads", stat->peak_reads);
	add_count(root, "peak_writes", stat->peak_writes);
	add_count(root, "peak_overlap", stat->peak_overlap);
}

static void report_json(const struct pull *p)
{
	json_t *root = json_object();
	const char *status = "ok";

	if (p->failure.code)
		status = p->failure.code == EXIT_INTERRUPTED ? "interrupted" : "failed";
	if (!root)
		return;
	add_text(root, "status", status);
	add_count(root, "exit", (uint64_t)p->failure.code);
	add_text(root, "source", p->args.source);
	add_text(root, "file", p->args.target);
	add_transfer(root, p);
	add_digest(root, "source_sha256", p->have_source_digest, p->source_sha256);
	add_digest(root, "file_sha256", p->have_file_digest, p->file_sha256);
	add(root, "verified", json_boolean(p->verified));
	add_count(root, "work_requests", p->reactor_stats.work_requests);
	add_count(root, "doorbells", p->reactor_stats.doorbells);
	add_count(root, "cq_events", p->reactor_stats.cq_events);
	add(root, "ring", ring_object(p));
	if (p->failure.code)
		add(root, "error", error_object(p));

	if (json_dumpf(root, stdout, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9)) == 0)
		(void)putchar('\n');
	json_decref(root);
}

void pull_report(const struct pull *p)
{
	if (p->args.json)
		report_json(p);
	else if (!p->failure.code && !p->args.quiet)
		report_text(p);
	if (p->failure.code)
		report_failure(p);
}
