/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * seed_trace.c - what happens in a world, step by step
 *
 * SOFTVERBS_TRACE names a file, or the number of an open descriptor: a line a step, written at once,
 * so that what a failing test has done is all there. Lines hold times since the beginning of the world
 * and numbers that count from one; nothing of the machine, of the process or of its memory.
 *
 * A digest of all steps is kept without any file, and the last of them for a deadlock.
 */

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "link.h"
#include "seed.h"

#define KEPT 32

struct line {
	enum sv_step step;
	uint64_t at_ns;
	uint64_t value[3];
};

static struct {
	int fd; /* -1: none; -2: not looked for yet */
	uint64_t digest;
	uint64_t count;
	struct line kept[KEPT]; /* the last ones, kept[n % KEPT] */
} trace = { .fd = -2 };

static const char *const forms[SV_STEPS] = {
	[SV_STEP_WORLD] = "the world of seed %" PRIu64,
	[SV_STEP_CONNECT] = "link %" PRIu64 " reaches link %" PRIu64,
	[SV_STEP_REFUSED] = "link %" PRIu64 " finds nobody",
	[SV_STEP_MOVE] = "link %" PRIu64 " moves %" PRIu64 " bytes of",
	[SV_STEP_LAST] = "link %" PRIu64 " ends",
	[SV_STEP_CM_EVENT] = "id %" PRIu64,
	[SV_STEP_CQ_EVENT] = "cq %" PRIu64 " event",
	[SV_STEP_SPURIOUS] = "cq %" PRIu64 " will have an event for nothing",
	[SV_STEP_ASYNC] = "asynchronous event",
	[SV_STEP_CUT] = "cq %" PRIu64 " gives %" PRIu64 " of %" PRIu64,
	[SV_STEP_RACE] = "cq %" PRIu64 " is armed late",
	[SV_STEP_STALL] = "the program stalls for %" PRIu64,
	[SV_STEP_WAKE] = "the program sees %" PRIu64 " ready after %" PRIu64,
	[SV_STEP_TIMEOUT] = "the program sees a time-out after %" PRIu64,
	[SV_STEP_JOB] = "job %" PRIu64 " runs",
	[SV_STEP_JOB_DONE] = "job %" PRIu64 " is done",
	[SV_STEP_JOB_CANCELED] = "job %" PRIu64 " is canceled",
};

static int open_trace(void)
{
	const char *name = getenv("SOFTVERBS_TRACE");
	char *end;
	long fd;

	if (name == NULL || *name == '\0')
		return -1;
	fd = strtol(name, &end, 10);
	if (*end == '\0' && isdigit((unsigned char)*name))
		return (int)fd;
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		perror("softverbs: SOFTVERBS_TRACE");
	return (int)fd;
}

static const char *frame_name(uint64_t type)
{
	static const char *const names[] = {
		[SV_FRAME_REQ] = "REQ",
		[SV_FRAME_REP] = "REP",
		[SV_FRAME_RTU] = "RTU",
		[SV_FRAME_REJ] = "REJ",
		[SV_FRAME_DREQ] = "DREQ",
		[SV_FRAME_DREP] = "DREP",
		[SV_FRAME_MEET] = "MEET",
		[SV_FRAME_SEND] = "SEND",
		[SV_FRAME_WRITE] = "WRITE",
		[SV_FRAME_READ] = "READ",
		[SV_FRAME_CMP_SWAP] = "CMP_SWAP",
		[SV_FRAME_FETCH_ADD] = "FETCH_ADD",
		[SV_FRAME_ATOMIC_WRITE] = "ATOMIC_WRITE",
		[SV_FRAME_FLUSH] = "FLUSH",
		[SV_FRAME_ACK] = "ACK",
		[SV_FRAME_NAK] = "NAK",
		[SV_FRAME_RNR] = "RNR",
		[SV_FRAME_READ_RESPONSE] = "READ_RESPONSE",
		[SV_FRAME_ATOMIC_RESPONSE] = "ATOMIC_RESPONSE",
	};
	bool known = type < sizeof(names) / sizeof(*names) && names[type] != NULL;

	return known ? names[type] : "?";
}

static void print(int fd, const struct line *line)
{
	const uint64_t *v = line->value;
	char text[160];
	int n = snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64 " ", line->at_ns / 1000000000,
		line->at_ns % 1000000000);

	n += snprintf(text + n, sizeof(text) - (size_t)n, forms[line->step], v[0], v[1], v[2]);
	if (line->step == SV_STEP_CM_EVENT)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %s",
			rdma_event_str((enum rdma_cm_event_type)v[1]));
	if (line->step == SV_STEP_MOVE)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %s %" PRIu64,
			frame_name(v[2] >> 32), v[2] & UINT32_MAX);
	text[n++] = '\n';
	(void)!write(fd, text, (size_t)n);
}

static void digest(uint64_t value)
{
	trace.digest = (trace.digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	trace.digest ^= trace.digest >> 29;
}

void sv_trace(enum sv_step step, uint64_t a, uint64_t b, uint64_t c)
{
	struct line *line = &trace.kept[trace.count++ % KEPT];

	*line = (struct line){ step, sv_seed_elapsed_ns(), { a, b, c } };
	digest(step);
	digest(line->at_ns);
	for (int i = 0; i < 3; i++)
		digest(line->value[i]);
	if (trace.fd >= 0)
		print(trace.fd, line);
}

void sv_trace_begin(uint64_t seed)
{
	if (trace.fd == -2)
		trace.fd = open_trace();
	trace.digest = 0;
	trace.count = 0;
	sv_trace(SV_STEP_WORLD, seed, 0, 0);
}

void sv_trace_last(void)
{
	uint64_t n = trace.count > KEPT ? trace.count - KEPT : 0;

	while (n < trace.count)
		print(STDERR_FILENO, &trace.kept[n++ % KEPT]);
}

uint64_t sv_trace_digest(void)
{
	return trace.digest;
}

uint64_t sv_trace_count(void)
{
	return trace.count;
}
