/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* coverage.c - how often what has happened */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "coverage.h"

#define NAMES_MAX 256

static const char *const kinds[KINDS] = { "peer", "connect", "accept", "reject", "conn_end",
	"disconnect", "read", "write", "write_with_imm", "atomic_write", "flush", "persist", "send",
	"send_with_imm", "recv", "srq_recv", "reconnect", "sleep", "promise", "all", "any",
	"chain" };

static const int statuses[] = { 0, UV_ECANCELED, UV_ETIMEDOUT, UV_ENOTCONN, UV_ECONNABORTED,
	UV_ECONNRESET, UV_ECONNREFUSED, UV_EHOSTUNREACH, UV_EINVAL, UV_EBUSY, UV_EAGAIN, UV_EACCES,
	UV_EFAULT, UV_EMSGSIZE, UV_ENOBUFS, UV_ENOMEM, UV_ENOTSUP, UV_ENODEV, UV_EREMOTEIO, UV_EIO,
	UV_EPIPE, UV_EPERM, UV_EAI_NONAME };

#define STATUSES (sizeof(statuses) / sizeof(*statuses))

static unsigned long outcomes[KINDS][STATUSES + 1]; /* the last one: others */

/* what is known by name, in the order of first appearance */
static struct {
	const char *name;
	unsigned long count;
} names[NAMES_MAX];
static unsigned name_count;

/* all that has to happen in thousands of worlds */
static const char *const required[] = { "a message with a word received", "another attempt",
	"attempts given up", "connection on a shared receive queue", "shared receive queue",
	"shared receive queue closed", "a write's word received", "accept on a used connection",
	"asked in its own callback", "cancelled: already", "cancelled: busy", "cancelled: done",
	"chain: a step of somebody else", "chain: next step", "chain: no step", "chain: nothing",
	"connect by name", "connect to no host", "connect to nobody", "connection closed",
	"connection closed after its reactor", "curtain: at the end", "curtain: in the midst",
	"curtain: late", "curtain: unref'd", "direct write declared", "flush of nothing",
	"forced: already", "forced: busy", "forced: done", "input NULL", "inputs of somebody else",
	"keep-alive", "listener", "one connection", "listener closed", "longer than a message",
	"losers cancelled", "no connection", "no right to read", "no right to write", "not aligned",
	"one region alone", "out of range", "reactor closed", "receive without a queue", "released",
	"request left alone", "resolved", "resolved twice", "resolved what is none",
	"sleep without an end", "storage used again in its callback", "time-out",
	"time-out that forces", "unknown flags", "unref'd", "waited: done", "waited: in vain",
	"work" };

const char *kind_name(enum kind kind)
{
	return kinds[kind];
}

void cover(const char *what)
{
	for (unsigned i = 0; i < name_count; i++) {
		if (names[i].name == what || strcmp(names[i].name, what) == 0) {
			names[i].count++;
			return;
		}
	}
	if (name_count == NAMES_MAX)
		abort();
	names[name_count].name = what;
	names[name_count++].count = 1;
}

void cover_outcome(enum kind kind, int status)
{
	unsigned i = 0;

	while (i < STATUSES && statuses[i] != status)
		i++;
	outcomes[kind][i]++;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void coverage_print(void)
{
	qsort(names, name_count, sizeof(*names), by_name);
	for (unsigned i = 0; i < name_count; i++)
		printf("%9lu  %s\n", names[i].count, names[i].name);
	for (unsigned k = 0; k < KINDS; k++) {
		printf("%-14s", kinds[k]);
		for (unsigned i = 0; i <= STATUSES; i++) {
			if (outcomes[k][i] > 0)
				printf("  %s %lu",
					i == STATUSES      ? "other"
					: statuses[i] == 0 ? "ok"
							   : uv_err_name(statuses[i]),
					outcomes[k][i]);
		}
		putchar('\n');
	}
}

bool coverage_has(const char *name)
{
	for (unsigned i = 0; i < name_count; i++) {
		if (strcmp(names[i].name, name) == 0)
			return true;
	}
	return false;
}

bool coverage_is_full(void)
{
	bool is_full = true;

	for (unsigned i = 0; i < sizeof(required) / sizeof(*required); i++) {
		if (coverage_has(required[i]))
			continue;
		fprintf(stderr, "never: %s\n", required[i]);
		is_full = false;
	}
	for (unsigned k = 0; k < KINDS; k++) {
		if (outcomes[k][0] > 0)
			continue;
		fprintf(stderr, "never: a %s that has succeeded\n", kinds[k]);
		is_full = false;
	}
	for (unsigned i = 0; i < STATUSES; i++) {
		unsigned long count = 0;

		for (unsigned k = 0; k < KINDS; k++)
			count += outcomes[k][i];
		if (count > 0)
			continue;
		fprintf(stderr, "never: anything that has ended %s\n",
			statuses[i] == 0 ? "well" : uv_err_name(statuses[i]));
		is_full = false;
	}
	return is_full;
}
