/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * seed_world.c - the end of one world and the beginning of the next; what is in it
 *
 * What stays from one world to the next: the context of librdmacm, the default protection domain, and
 * protection domains, which have no behaviour of their own.
 */

#include <stdio.h>

#include "async.h"
#include "cm.h"
#include "cq.h"
#include "seed.h"
#include "seed_names.h"

SV_EXPORT int softverbs_seed_restart_world(uint64_t seed);
SV_EXPORT uint64_t softverbs_seed_digest_world(void);
SV_EXPORT uint64_t softverbs_seed_steps_world(void);
SV_EXPORT int softverbs_seed_odds_world(const char *odds);

static unsigned length(const struct list *head)
{
	unsigned n = 0;

	for (const struct list *at = head->next; at != head; at = at->next)
		n++;
	return n;
}

static void print_link(const struct sv_link *link)
{
	static const char *const states[] = { "connecting", "up", "down" };

	fprintf(stderr, "  a link is %s%s%s%s: id %u, queue pair %u, %u frames to send\n",
		states[link->state], link->closing ? ", closing" : "",
		link->paused ? ", paused" : "", link->deferred ? ", deferred" : "",
		link->id != NULL ? link->id->number : 0,
		link->qp != NULL ? link->qp->base.qp_num : 0, length(&link->tx_queue));
}

void sv_world_print(void)
{
	fprintf(stderr, "after %llu steps and %llu ns:\n", (unsigned long long)sv_trace_count(),
		(unsigned long long)sv_seed_elapsed_ns());
	list_each(struct sv_id, id, &sv_device.ids, node)
	{
		fprintf(stderr, "  id %u is in state %d, %u events fetched, %u acknowledged\n",
			id->number, id->state, id->fetched, id->acked);
	}
	list_each(struct sv_link, link, &sv_device.links, node)
	{
		print_link(link);
	}
	list_each(struct sv_qp, qp, &sv_device.qps, node)
	{
		fprintf(stderr,
			"  queue pair %u is in state %d, %u posted, %u sent, %u done; %u "
			"receives\n",
			qp->base.qp_num, qp->attr.qp_state, qp->posted, qp->sent, qp->done,
			qp->rq.posted - qp->rq.taken);
	}
	list_each(struct sv_cq, cq, &sv_all_cqs, node)
	{
		fprintf(stderr,
			"  cq %u is %s, %u completions, %u events on their way, %u to be fetched\n",
			cq->number, cq->arm != SV_ARM_NOT ? "armed" : "not armed",
			cq->tail - cq->head, cq->events_late, cq->events_queued);
	}
}

/* of what the program has made; links go with their owners */
static unsigned left_over(void)
{
	const struct {
		const char *what;
		unsigned count;
	} left[] = {
		{ "ids", length(&sv_device.ids) },
		{ "queue pairs", length(&sv_device.qps) },
		{ "completion queues", length(&sv_all_cqs) },
		{ "regions", sv_mr_count() },
		{ "channels", sv_signal_count() - length(&sv_device.contexts) },
		{ "contexts", length(&sv_device.contexts) - (sv_device.cm != NULL) },
		{ "addresses", sv_seed_names_count() },
		{ "links", length(&sv_device.links) },
		{ "jobs", sv_seed_jobs_left() },
	};
	unsigned all = 0;

	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++) {
		if (left[i].count == 0)
			continue;
		fprintf(stderr, "softverbs: the world of seed %llu has left %u %s\n",
			(unsigned long long)sv_seed_value(), left[i].count, left[i].what);
		all += left[i].count;
	}
	return all;
}

/* the context that stays is one of a new device, of which nothing is to be told */
static void context_renew(struct sv_context *c)
{
	sv_async_drop(&c->verbs.context, NULL);
	sv_timer_stop(&c->late);
	c->gone = false;
}

int softverbs_seed_restart_world(uint64_t seed)
{
	unsigned left;

	if (!sv_seed_is_on())
		return -1;
	sv_lock();
	sv_wire_seed_clear();
	left = left_over();
	if (left == 0) {
		if (sv_device.cm != NULL)
			context_renew(sv_device.cm);
		sv_timers_forget();
		sv_fault_restart();
		sv_mr_forget_keys();
		sv_seed_start(seed);
	}
	sv_unlock();
	return (int)left;
}

uint64_t softverbs_seed_digest_world(void)
{
	return sv_trace_digest();
}

uint64_t softverbs_seed_steps_world(void)
{
	return sv_trace_count();
}

int softverbs_seed_odds_world(const char *odds)
{
	return sv_seed_is_on() && sv_seed_odds_take(odds) ? 0 : -1;
}
