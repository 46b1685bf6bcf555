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

/* seconds from the start of the transfer; 0: it has not come to that */
static double seconds(const struct pull *p, uint64_t until_ns)
{
	return until_ns > p->started_ns ? (double)(until_ns - p->started_ns) / 1e9 : 0;
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

/* names of files are any bytes, but JSON is UTF-8: what is not is made visible as such */
static json_t *text_value(const char *text)
{
	json_t *value = json_string(text);
	char *ascii;

	if (value)
		return value;
	ascii = strdup(text);
	if (!ascii)
		return NULL;
	for (char *c = ascii; *c; c++) {
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	}
	value = json_string(ascii);
	free(ascii);
	return value;
}

static json_t *digest_value(bool known, const uint8_t *sha256)
{
	char hex[SHA256_TEXT];

	return known ? json_string(sha256_format(sha256, hex)) : json_null();
}

static json_t *count_value(bool known, uint64_t count)
{
	return known ? json_integer((json_int_t)count) : json_null();
}

static json_t *ring_object(const struct pull *p)
{
	const rpma_uv_reactor_stats_t *stats = &p->reactor_stats;

	return json_pack("{s:I, s:b, s:I, s:I, s:I}", "flags", (json_int_t)stats->ring_flags,
		"fixed", p->fixed, "enters", (json_int_t)stats->ring_enters, "submitted",
		(json_int_t)stats->ring_submitted, "wakeups", (json_int_t)stats->ring_wakeups);
}

static json_t *transfer_object(const struct pull *p)
{
	const rpma_uv_transfer_stat_t *stat = &p->stat;
	double read_s = seconds(p, p->last_read_ns);
	double end_s = seconds(p, p->ended_ns);

	return json_pack("{s:I, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:I}",
		"length", (json_int_t)p->region.length, "bytes", (json_int_t)stat->written,
		"seconds", end_s, "read_rate", rate(stat->read, read_s), "durable_rate",
		rate(stat->durable, end_s), "durable", (json_int_t)stat->durable, "watermark",
		(json_int_t)stat->watermark, "chunk", (json_int_t)p->args.chunk, "depth",
		(json_int_t)p->args.depth, "durability", pull_durabilities[p->args.durability],
		"syncs", (json_int_t)stat->syncs, "peak_reads", (json_int_t)stat->peak_reads,
		"peak_writes", (json_int_t)stat->peak_writes, "peak_overlap",
		(json_int_t)stat->peak_overlap);
}

static json_t *error_object(const struct pull_failure *failure)
{
	return json_pack("{s:s, s:o, s:s, s:o}", "stage", failure->stage, "offset",
		count_value(failure->at_offset, failure->offset), "status",
		reason_name(failure->status), "message", text_value(failure->text));
}

static const char *status_name(int code)
{
	if (code == EXIT_DONE)
		return "ok";
	return code == EXIT_INTERRUPTED ? "interrupted" : "failed";
}

/* all of it in one line, or NULL: no memory */
static char *format_json(const struct pull *p)
{
	const rpma_uv_reactor_stats_t *stats = &p->reactor_stats;
	int code = p->failure.code;
	json_t *root = json_pack("{s:s, s:i, s:o, s:o}", "status", status_name(code), "exit", code,
		"source", text_value(p->args.source), "file", text_value(p->args.target));
	json_t *end = json_pack("{s:o, s:o, s:b, s:I, s:I, s:I, s:o}", "source_sha256",
		digest_value(p->have_source_digest, p->source_sha256), "file_sha256",
		digest_value(p->have_file_digest, p->file_sha256), "verified", p->verified,
		"work_requests", (json_int_t)stats->work_requests, "doorbells",
		(json_int_t)stats->doorbells, "cq_events", (json_int_t)stats->cq_events, "ring",
		ring_object(p));
	json_t *transfer = transfer_object(p);
	char *text = NULL;

	/* each of these fails with NULL on either side, too */
	if (json_object_update(root, transfer) == 0 && json_object_update(root, end) == 0 &&
		(!code || json_object_set_new(root, "error", error_object(&p->failure)) == 0))
		text = json_dumps(root, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
	json_decref(transfer);
	json_decref(end);
	json_decref(root);
	return text;
}

/* false: no memory */
static bool report_json(const struct pull *p)
{
	char *text = format_json(p);

	if (!text)
		return false;
	(void)puts(text);
	free(text);
	return true;
}

int pull_report(const struct pull *p)
{
	bool reported = true;

	if (p->args.json)
		reported = report_json(p);
	else if (!p->failure.code && !p->args.quiet)
		report_text(p);
	if (p->failure.code) {
		report_failure(p);
		return p->failure.code;
	}
	return reported ? EXIT_DONE
			: fail(EXIT_RESOURCES, "pull: no report: %s", reason(UV_ENOMEM));
}
