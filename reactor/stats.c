/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* stats.c - the reactor's counters, as the program sees them */

#include "reactor.h"

void rpma_uv_reactor_stats(const rpma_uv_reactor_t *reactor, rpma_uv_reactor_stats_t *stats)
{
	*stats = reactor->impl->stats;
	stats->posted = reactor->impl->posted;
	stats->holds = reactor->impl->holds;
}
