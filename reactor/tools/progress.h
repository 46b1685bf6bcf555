/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * progress.h - a line on the terminal that shows how far it is
 *
 * ASSUMPTIONS
 * - start and stop come in pairs, or not at all: where stderr is no terminal both do nothing
 */

#ifndef RPMA_TOOLS_PROGRESS_H
#define RPMA_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct progress {
	/* given */
	const char *label;
	uint64_t total; /* not 0 */
	uint64_t (*done)(void *data);
	void *data;
	/* private from here on */
	uv_timer_t timer;
	bool active;
	uint64_t last_ns;
	uint64_t last_done;
	double rate; /* bytes a second, smoothed; negative: no sample yet */
};

/* timer and state; on a loop that is closed only after progress_close() */
void progress_init(struct progress *p, uv_loop_t *loop, bool quiet);
void progress_close(struct progress *p);

/* show the line, several times a second, until it is stopped, which takes it away */
void progress_start(struct progress *p, const char *label, uint64_t total,
	uint64_t (*done)(void *data), void *data);
void progress_stop(struct progress *p);

#endif /* RPMA_TOOLS_PROGRESS_H */
