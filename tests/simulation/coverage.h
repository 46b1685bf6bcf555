/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* coverage.h - how often what has happened; by its name, which is a string constant */

#ifndef SIMULATION_COVERAGE_H
#define SIMULATION_COVERAGE_H

#include <stdbool.h>

enum kind {
	PEER,
	CONNECT,
	ACCEPT,
	REJECT,
	CONN_END,
	DISCONNECT,
	READ,
	WRITE,
	WRITE_IMM,
	ATOMIC,
	FLUSH,
	PERSIST,
	SEND,
	SEND_IMM,
	RECV,
	SRQ_RECV,
	RECONNECT,
	SLEEP,
	PROMISE,
	ALL,
	ANY,
	CHAIN,
	KINDS
};

const char *kind_name(enum kind kind);

/* what is counted beside operations and their outcomes; the list is in coverage.c */
void cover(const char *what);

/* an operation has ended so: 0 or UV_E* */
void cover_outcome(enum kind kind, int status);

void coverage_print(void);

/* it has happened, whatever it is */
bool coverage_has(const char *what);

/* has each of them happened? Says what has not. */
bool coverage_is_full(void);

#endif
