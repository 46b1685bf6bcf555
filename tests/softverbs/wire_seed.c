/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * wire_seed.c - links inside of one process; when what moves is the seed's decision
 *
 *     CONNECTING --timer: somebody listens--> UP, and a new link at the other end
 *         |                                    |
 *         `--nobody--> DOWN                    |-- timer: the next frames move, in order: a part of
 *                       ^                      |   one, one, or some. While the peer is paused the
 *                       |                      |   timer rests, until its resume()
 *                       |                      `-- close(): when all frames have moved, one more
 *                       `------ the peer's end ----- timer: the end moves, and this link is gone
 *
 * Each direction of a link has one timer, for the frames at its head: so a link is FIFO, and links
 * overtake each other as they like. Bytes go from the sender's memory to the receiver's directly, at
 * the moment at which they move: what a program changes too early is seen changed.
 *
 * No descriptor is used. Memory that is unmapped while it is registered is not survived here.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "seed.h"
#include "seed_names.h"
#include "wire.h"

#define IOV       64
#define MERGE_MAX 8 /* frames */

struct seed_link {
	struct sv_link link; /* first: this is what the model sees */
	unsigned number;
	struct seed_link *peer; /* NULL: not there yet, or no more */
	struct sv_timer timer;
	bool resting; /* its frames wait for a paused peer */
	struct sockaddr_storage dst; /* CONNECTING: to */
	uint32_t qp_num; /* or, without an address, to that queue pair */
};

static struct list graveyard = { &graveyard, &graveyard };
static struct sv_timer grave_timer;

static struct seed_link *seed_of(struct sv_link *link)
{
	return container_of(link, struct seed_link, link);
}

static int seed_reach(const struct sockaddr_storage *dst)
{
	return sv_addr_is_local((const struct sockaddr *)dst) ? 0 : EHOSTUNREACH;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void soon(struct seed_link *s)
{
	if (!sv_timer_is_set(&s->timer))
		sv_timer_set(&s->timer, sv_clock->now_ns() + sv_seed_delay_ns());
}

/* nothing above is in the middle of one of them when a timer fires by itself */
static void free_dead(struct sv_timer *timer)
{
	(void)timer;
	while (!list_empty(&graveyard)) {
		struct sv_link *link = list_first(&graveyard, struct sv_link, node);

		list_remove(&link->node);
		free(seed_of(link));
	}
}

static void bury(struct seed_link *s)
{
	sv_timer_stop(&s->timer);
	sv_tx_drop_all(&s->link);
	if (s->peer != NULL)
		s->peer->peer = NULL;
	s->peer = NULL;
	list_remove(&s->link.node);
	list_push(&graveyard, &s->link.node);
	sv_timer_set(&grave_timer, sv_clock->now_ns());
}

/* the other end has gone */
static void ended(struct seed_link *s, int status)
{
	if (s->link.closing)
		bury(s);
	else
		sv_link_down(&s->link, status);
}

/* both ends at once, as when memory is short */
static void break_both(struct seed_link *s)
{
	struct seed_link *peer = s->peer;

	s->peer = NULL;
	peer->peer = NULL;
	ended(peer, ENOMEM);
	ended(s, ENOMEM);
}

static uint64_t frame_left(const struct sv_tx *tx)
{
	uint64_t left = sizeof(tx->head) - tx->head_sent;

	for (int i = tx->sge_at; i < tx->sge_count; i++)
		left += tx->sge[i].length - (i == tx->sge_at ? tx->sge_offset : 0);
	return left;
}

/* how many bytes move now, of the frames that are queued */
static uint64_t choose_bytes(struct sv_link *link)
{
	uint64_t first = frame_left(list_first(&link->tx_queue, struct sv_tx, node));
	uint64_t all = 0;
	uint32_t frames;

	if (first > 1 && sv_seed_chance(sv_odds.split))
		return 1 + sv_seed_below((uint32_t)(first < UINT32_MAX ? first : UINT32_MAX) - 1);
	frames = sv_seed_chance(sv_odds.merge) ? 2 + sv_seed_below(MERGE_MAX - 1) : 1;
	list_each(struct sv_tx, tx, &link->tx_queue, node)
	{
		if (frames-- == 0)
			break;
		all += frame_left(tx);
	}
	return all;
}

/* from one vector to the other, as much as fits, at most `most` */
static size_t copy(
	struct iovec *to, int to_count, struct iovec *from, int from_count, uint64_t most)
{
	size_t total = 0;

	while (to_count > 0 && from_count > 0 && most > 0) {
		size_t n = to->iov_len < from->iov_len ? to->iov_len : from->iov_len;

		n = n < most ? n : (size_t)most;
		memmove(to->iov_base, from->iov_base, n); /* both may be in one region */
		total += n;
		most -= n;
		to->iov_base = (char *)to->iov_base + n;
		to->iov_len -= n;
		if (to->iov_len == 0) {
			to++;
			to_count--;
		}
		from->iov_base = (char *)from->iov_base + n;
		from->iov_len -= n;
		if (from->iov_len == 0) {
			from++;
			from_count--;
		}
	}
	return total;
}

/* false: nothing may be sent now; a fault holds it back, and will kick */
static bool move(struct seed_link *s)
{
	const struct sv_frame first = list_first(&s->link.tx_queue, struct sv_tx, node)->head;
	struct seed_link *peer = s->peer;
	uint64_t most = choose_bytes(&s->link);
	uint64_t moved = 0;

	while (moved < most && !list_empty(&s->link.tx_queue) && !peer->link.paused) {
		struct iovec from[IOV];
		struct iovec to[SV_MAX_SGE + 2];
		int from_count = sv_tx_iov(&s->link, from, IOV);
		int to_count = sv_rx_iov(&peer->link, to, SV_MAX_SGE + 2);
		size_t n = copy(to, to_count, from, from_count, most - moved);

		if (n == 0)
			break;
		moved += n;
		sv_tx_sent(&s->link, n);
		sv_rx_got(&peer->link, n);
	}
	if (moved > 0)
		sv_trace(SV_STEP_MOVE, s->number, moved, (uint64_t)first.type << 32 | first.psn);
	return moved > 0;
}

static struct seed_link *link_new(void);

/* somebody may have begun or ceased to listen since connect() */
static void reach(struct seed_link *s)
{
	const struct sockaddr *dst = (const struct sockaddr *)&s->dst;
	struct sv_listener *listener =
		dst->sa_family != 0 ? sv_seed_find_listener(dst) : sv_seed_find_meet(s->qp_num);
	struct seed_link *peer = listener != NULL ? link_new() : NULL;

	if (peer == NULL) {
		sv_trace(SV_STEP_REFUSED, s->number, 0, 0);
		ended(s, listener == NULL ? ECONNREFUSED : ENOMEM);
		return;
	}
	peer->link.listener = listener;
	peer->link.state = SV_LINK_UP;
	peer->peer = s;
	s->peer = peer;
	sv_trace(SV_STEP_CONNECT, s->number, peer->number, 0);
	sv_link_up(&s->link);
}

/* all has been said, and this says it */
static void finish(struct seed_link *s)
{
	struct seed_link *peer = s->peer;

	sv_trace(SV_STEP_LAST, s->number, 0, 0);
	peer->peer = NULL;
	s->peer = NULL;
	bury(s);
	ended(peer, 0);
}

static void fire(struct sv_timer *timer)
{
	struct seed_link *s = container_of(timer, struct seed_link, timer);

	if (s->link.state == SV_LINK_CONNECTING) {
		reach(s);
	} else if (s->peer == NULL) {
		sv_tx_drop_all(&s->link);
		if (s->link.closing)
			bury(s);
	} else if (s->peer->link.paused) {
		s->resting = true;
	} else if (list_empty(&s->link.tx_queue)) {
		if (s->link.closing)
			finish(s);
	} else {
		bool moved = move(s);

		if (s->link.broken || s->peer->link.broken)
			break_both(s);
		else if (moved && (!list_empty(&s->link.tx_queue) || s->link.closing))
			soon(s);
	}
}

static struct seed_link *link_new(void)
{
	struct seed_link *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	sv_link_init(&s->link);
	s->number = ++sv_numbers.links;
	sv_timer_init(&s->timer, fire);
	return s;
}

static struct sv_link *seed_connect(const struct sockaddr_storage *dst, int *error)
{
	struct seed_link *s = link_new();

	if (s == NULL) {
		*error = ENOMEM;
		return NULL;
	}
	s->dst = *dst;
	soon(s);
	return &s->link;
}

static struct sv_link *seed_meet(uint32_t qp_num, int *error)
{
	struct seed_link *s = link_new();

	if (s == NULL) {
		*error = ENOMEM;
		return NULL;
	}
	s->qp_num = qp_num;
	soon(s);
	return &s->link;
}

static void seed_kick(struct sv_link *link)
{
	struct seed_link *s = seed_of(link);

	if (!s->resting)
		soon(s);
}

/* this link can take bytes again: the peer's frames may move */
static void wake_peer(struct seed_link *s)
{
	if (s->peer == NULL || !s->peer->resting)
		return;
	s->peer->resting = false;
	soon(s->peer);
}

static void seed_resume(struct sv_link *link)
{
	sv_rx_parse(link);
	if (!link->paused)
		wake_peer(seed_of(link));
	sv_link_kick(link);
}

static void seed_close(struct sv_link *link)
{
	struct seed_link *s = seed_of(link);

	if (link->state != SV_LINK_UP || s->peer == NULL) {
		bury(s);
		return;
	}
	wake_peer(s);
	if (!s->resting)
		soon(s);
}

/* ---- the wire -------------------------------------------------------------------------------- */

void sv_wire_seed_clear(void)
{
	list_each(struct sv_link, link, &sv_device.links, node)
	{
		if (link->closing)
			bury(seed_of(link));
	}
	sv_timer_stop(&grave_timer);
	free_dead(NULL);
}

static int seed_start(void)
{
	sv_timer_init(&grave_timer, free_dead);
	return 0;
}

/* a program that polls needs time to pass, too */
static int seed_step(void)
{
	sv_seed_poll_pass();
	return 0;
}

static int seed_wait_fd(void)
{
	return -1;
}

static void seed_forget(void)
{
	sv_seed_names_forget();
	list_init(&graveyard);
}

const struct sv_wire sv_wire_seed = {
	.name = "seed",
	.threaded = false,
	.start = seed_start,
	.bind = sv_seed_bind,
	.listen = sv_seed_listen,
	.unbind = sv_seed_unbind,
	.reach = seed_reach,
	.connect = seed_connect,
	.meet_bind = sv_seed_meet_bind,
	.meet = seed_meet,
	.kick = seed_kick,
	.resume = seed_resume,
	.close = seed_close,
	.step = seed_step,
	.sleep = sv_seed_sleep,
	.wait_fd = seed_wait_fd,
	.forget = seed_forget,
};
