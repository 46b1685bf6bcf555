/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* link.c - links: queues of frames on the way out, and owners that come and go */

#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "fault.h"
#include "link.h"
#include "qp.h"
#include "wire.h"

#define COPY_MAX (16u << 20) /* of an answer whose queue pair stops */

struct heap_tx {
	struct sv_tx tx;
	struct ibv_sge sge;
	struct sv_cm_message message;
};

void sv_link_init(struct sv_link *link)
{
	list_init(&link->tx_queue);
	list_push(&sv_device.links, &link->node);
	link->state = SV_LINK_CONNECTING;
}

static void tx_remove(struct sv_tx *tx)
{
	list_remove(&tx->node);
	free(tx->own);
	tx->own = NULL;
}

static uint64_t tx_left(const struct sv_tx *tx)
{
	uint64_t left = 0;

	for (int i = tx->sge_at; i < tx->sge_count; i++)
		left += tx->sge[i].length - (i == tx->sge_at ? tx->sge_offset : 0);
	return left;
}

/* copies what is left of the payload, so that the program's memory is not needed any more */
static bool tx_privatise(struct sv_tx *tx, bool readable)
{
	uint64_t left = tx_left(tx);
	uint8_t *to;

	if (left == 0 || tx->own != NULL)
		return true;
	tx->own = to = calloc(1, left);
	if (to == NULL)
		return false;
	for (int i = tx->sge_at; i < tx->sge_count && readable; i++) {
		uint32_t skip = i == tx->sge_at ? tx->sge_offset : 0;

		memcpy(to, (uint8_t *)(uintptr_t)tx->sge[i].addr + skip, tx->sge[i].length - skip);
		to += tx->sge[i].length - skip;
	}
	tx->own_sge = (struct ibv_sge){ .addr = (uintptr_t)tx->own, .length = (uint32_t)left };
	tx->sge = &tx->own_sge;
	tx->sge_count = 1;
	tx->sge_at = 0;
	tx->sge_offset = 0;
	return true;
}

static void heap_done(struct sv_tx *tx)
{
	free(container_of(tx, struct heap_tx, tx));
}

static struct heap_tx *heap_new(void)
{
	struct heap_tx *h = calloc(1, sizeof(*h));

	if (h != NULL) {
		list_init(&h->tx.node);
		h->tx.done = heap_done;
	}
	return h;
}

void sv_link_send(struct sv_link *link, struct sv_tx *tx)
{
	assert(!sv_tx_active(tx));
	assert(tx->done != NULL);
	tx->head_sent = 0;
	tx->sge_at = 0;
	tx->sge_offset = 0;
	if (sv_faults_on)
		sv_fault_tx(tx);
	list_push(&link->tx_queue, &tx->node);
}

bool sv_link_send_cm(
	struct sv_link *link, enum sv_frame_type type, const struct sv_cm_message *message)
{
	struct heap_tx *h;

	if (link == NULL || link->state == SV_LINK_DOWN)
		return false;
	h = heap_new();
	if (h == NULL)
		return false;
	h->tx.head.type = (uint8_t)type;
	h->tx.head.payload = sizeof(h->message);
	if (message != NULL)
		h->message = *message;
	h->message.magic = SV_CM_MAGIC;
	h->message.version = SV_CM_VERSION;
	h->sge = (struct ibv_sge){ .addr = (uintptr_t)&h->message, .length = sizeof(h->message) };
	h->tx.sge = &h->sge;
	h->tx.sge_count = 1;
	sv_link_send(link, &h->tx);
	sv_link_kick(link);
	return true;
}

void sv_link_kick(struct sv_link *link)
{
	if (link->state == SV_LINK_UP && !list_empty(&link->tx_queue))
		sv_wire->kick(link);
}

void sv_link_resume(struct sv_link *link)
{
	if (!link->paused)
		return;
	link->paused = false;
	sv_wire->resume(link);
}

/*
 * tx leaves its queue pair. Requests that were not begun are dropped; one that was is finished from a
 * copy, and so are all answers, since those behind one confirm it. false: too much to copy, so
 * nothing that is behind may go either.
 */
static bool tx_orphan(struct sv_link *link, struct sv_tx *tx, bool keep_answers)
{
	bool answer = tx->head.type >= SV_FRAME_ACK;
	bool keep = answer && keep_answers && tx_left(tx) <= COPY_MAX;
	struct heap_tx *h = NULL;

	if (tx->head_sent > 0 || keep) {
		h = heap_new();
		if (h == NULL || !tx_privatise(tx, true)) {
			link->broken = true;
			free(h);
			h = NULL;
		}
	}
	if (h != NULL) {
		h->tx.head = tx->head;
		h->tx.head_sent = tx->head_sent;
		if (tx_left(tx) > 0) {
			h->tx.own = tx->own;
			h->tx.own_sge = tx->own_sge;
			h->tx.own_sge.addr += tx->sge_offset;
			h->tx.own_sge.length -= tx->sge_offset;
			h->tx.sge = &h->tx.own_sge;
			h->tx.sge_count = 1;
			tx->own = NULL;
		}
		list_insert(&tx->node, &h->tx.node);
	}
	tx_remove(tx);
	return h != NULL || !answer;
}

void sv_link_cut(struct sv_link *link, struct sv_qp *qp)
{
	bool keep_answers = true;

	list_each(struct sv_tx, tx, &link->tx_queue,
		node) if (tx->qp == qp && !tx_orphan(link, tx, keep_answers)) keep_answers = false;
	if (link->rx.in_payload && link->rx.head.type >= SV_FRAME_SEND) {
		link->rx.discard = true;
		link->rx.head.type = 0; /* nobody is interested in its end */
	}
}

void sv_link_cancel_requests(struct sv_link *link, struct sv_qp *qp)
{
	list_each(struct sv_tx, tx, &link->tx_queue,
		node) if (tx->qp == qp && tx->head_sent == 0 && tx->head.type < SV_FRAME_ACK)
		tx_remove(tx);
}

static bool sge_uses(const struct ibv_sge *sge, int n, uint32_t key)
{
	while (n-- > 0)
		if (sge[n].length > 0 && sge[n].lkey == key)
			return true;
	return false;
}

void sv_link_unpin(struct sv_link *link, uint32_t key)
{
	list_each(struct sv_tx, tx, &link->tx_queue,
		node) if (sge_uses(tx->sge, tx->sge_count, key) && !tx_privatise(tx, true))
		link->broken = true;
	if (link->rx.in_payload && !link->rx.discard &&
		sge_uses(link->rx.sink, link->rx.sink_count, key)) {
		link->rx.discard = true;
		link->rx.lost_memory = true;
	}
}

void sv_link_leave(struct sv_link *link, struct sv_id *id, struct sv_qp *qp)
{
	if (id != NULL && link->id == id)
		link->id = NULL;
	if (qp != NULL && link->qp == qp)
		link->qp = NULL;
	if (link->id == NULL && link->qp == NULL && !link->closing)
		sv_link_close(link);
	else
		sv_link_resume(link);
}

void sv_link_close(struct sv_link *link)
{
	assert(!link->closing);
	link->closing = true;
	link->id = NULL;
	link->qp = NULL;
	link->listener = NULL;
	link->paused = false;
	sv_wire->close(link);
}

int sv_tx_iov(struct sv_link *link, struct iovec *iov, int max)
{
	int n = 0;

	list_each(struct sv_tx, tx, &link->tx_queue, node)
	{
		if (n + 1 + tx->sge_count - tx->sge_at > max && n > 0)
			break;
		if (tx->head_sent < sizeof(tx->head))
			iov[n++] = (struct iovec){ (uint8_t *)&tx->head + tx->head_sent,
				sizeof(tx->head) - tx->head_sent };
		for (int i = tx->sge_at; i < tx->sge_count; i++) {
			uint32_t skip = i == tx->sge_at ? tx->sge_offset : 0;

			if (tx->sge[i].length > skip)
				iov[n++] = (struct iovec){ (uint8_t *)(uintptr_t)tx->sge[i].addr +
								   skip,
					tx->sge[i].length - skip };
		}
	}
	return sv_faults_on ? sv_fault_iov(link, iov, n) : n;
}

/* takes up to n bytes off a frame, gives what is left of n; the frame is done if that is its end */
static size_t tx_advance(struct sv_tx *tx, size_t n, bool *done)
{
	size_t part = sizeof(tx->head) - tx->head_sent;

	part = n < part ? n : part;
	tx->head_sent += (unsigned)part;
	n -= part;
	while (tx->sge_at < tx->sge_count) {
		part = tx->sge[tx->sge_at].length - tx->sge_offset;
		if (n < part) {
			tx->sge_offset += (uint32_t)n;
			*done = false;
			return 0;
		}
		n -= part;
		tx->sge_at++;
		tx->sge_offset = 0;
	}
	*done = tx->head_sent == sizeof(tx->head);
	return n;
}

void sv_tx_sent(struct sv_link *link, size_t n)
{
	while (!list_empty(&link->tx_queue)) {
		struct sv_tx *tx = list_first(&link->tx_queue, struct sv_tx, node);
		bool done;

		n = tx_advance(tx, n, &done);
		if (!done)
			break;
		tx_remove(tx);
		tx->done(tx);
		if (n == 0)
			break;
	}
	assert(n == 0);
}

void sv_tx_drop_all(struct sv_link *link)
{
	while (!list_empty(&link->tx_queue)) {
		struct sv_tx *tx = list_first(&link->tx_queue, struct sv_tx, node);

		tx_remove(tx);
		tx->done(tx);
	}
}

/* the memory of the first frame is not mapped any more: zeros take its place, its owner fails */
bool sv_tx_fault(struct sv_link *link)
{
	struct sv_tx *tx;

	if (list_empty(&link->tx_queue))
		return false;
	tx = list_first(&link->tx_queue, struct sv_tx, node);
	if (tx->own != NULL || tx_left(tx) == 0 || !tx_privatise(tx, false))
		return false;
	if (tx->qp != NULL)
		sv_qp_fail(tx->qp, IBV_WC_LOC_PROT_ERR);
	return true;
}

void sv_link_up(struct sv_link *link)
{
	link->state = SV_LINK_UP;
	if (link->id != NULL)
		sv_cm_up(link);
	else if (link->qp != NULL && link->qp->meet != NULL)
		sv_meet_up(link);
	if (link->qp != NULL)
		sv_requester_run(link->qp);
	sv_link_kick(link);
}

void sv_link_down(struct sv_link *link, int status)
{
	if (link->state == SV_LINK_DOWN)
		return;
	link->state = SV_LINK_DOWN;
	sv_tx_drop_all(link);
	if (link->id != NULL)
		sv_cm_down(link, status);
	else if (link->qp != NULL && link->qp->meet != NULL)
		sv_meet_down(link);
	else if (link->qp == NULL && !link->closing)
		sv_link_close(link); /* it came in, and said nothing */
}
