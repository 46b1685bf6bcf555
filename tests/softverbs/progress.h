/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * progress.h - who moves the device forward
 *
 * One function does all that there is to do now: sv_progress_step(). It is called
 *  - by the progress thread (one a process), which sleeps in between;
 *  - by ibv_poll_cq on an empty queue, so that a program that polls needs no other thread's help. While
 *    it does, the thread rests: two threads at the same sockets would only be in each other's way;
 *  - by whoever waits, on a wire that has no thread (wire->threaded is false): there, waiting means
 *    stepping.
 */

#ifndef SOFTVERBS_PROGRESS_H
#define SOFTVERBS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "signal_fd.h"

int sv_progress_start(void); /* the wire and the thread, once a process; 0 or -1 with errno */
int sv_progress_step(void); /* does what can be done at once, gives the number of things done */
void sv_progress_settle(
	void); /* before a call that changes things: what has arrived already counts */
void sv_progress_help(void); /* a step, from a poll that found nothing */
bool sv_progress_is_fruitless(void); /* many of them in a row: let the peer have the processor */
void sv_progress_wake(void); /* the program may sleep now: the thread must not rest */
void sv_progress_armed(int more); /* that many more completion queues are armed: no rest either */
void sv_progress_retime(
	uint64_t at_ns); /* there is a timer now that is due earlier than all others */

/* outside the lock: returns when the signal may be readable; 0, or -1 with errno EINTR */
int sv_progress_block(struct sv_signal *signal);

void sv_progress_forget(void); /* in a forked child: there is no thread any more */

#endif
