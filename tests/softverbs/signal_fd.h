/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * signal_fd.h - a descriptor that is readable exactly while a queue is not empty
 *
 * The program polls the descriptor; a call that blocks sleeps on the flag itself, so that a signal
 * handler interrupts or restarts it as it would a read(), and nothing is consumed.
 *
 * ASSUMPTIONS: the queue and its signal change together, under the device lock; so do the signals that
 * are open and their count. The program may set
 * O_NONBLOCK on the descriptor; nothing but this module reads or writes it.
 */

#ifndef SOFTVERBS_SIGNAL_FD_H
#define SOFTVERBS_SIGNAL_FD_H

#include <stdbool.h>
#include <stdint.h>

struct sv_signal {
	int fd;
	uint32_t readable; /* a futex */
	uint32_t sleepers;
};

int sv_signal_open(struct sv_signal *signal); /* 0 or -1 with errno */
unsigned sv_signal_count(void); /* that are open */
void sv_signal_close(struct sv_signal *signal);
void sv_signal_set(struct sv_signal *signal, bool readable);
bool sv_signal_nonblocking(const struct sv_signal *signal);

/* outside the lock; a cancellation point. 0: look again; -1: errno EINTR */
int sv_signal_sleep(struct sv_signal *signal);

#endif
