/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * rx.c - what arrives on a link
 *
 *     HEAD ---- enough bytes in the stage: sinks named ----> PAYLOAD ---- all of it ----> HEAD
 *       |                                                       |
 *       `-- the queue pair is not ready: PAUSED, until          `-- memory or queue pair gone:
 *           sv_link_resume()                                        the rest is discarded
 *
 * A read of the wire asks for the rest of the payload and, behind it, for a stage full of what
 * follows. So a large payload lands where it belongs without a copy, and small frames come many at a
 * time.
 */

#include <string.h>

#include "cm.h"
#include "fault.h"
#include "link.h"
#include "qp.h"
#include "wire.h"

static uint8_t nowhere[65536]; /* written only, by whoever holds the lock */

int sv_rx_iov(struct sv_link *link, struct iovec *iov, int max)
{
	struct sv_rx *rx = &link->rx;
	uint32_t room = 0;
	int n = 0;

	if (rx->in_payload && rx->discard) {
		room = rx->left < sizeof(nowhere) ? rx->left : (uint32_t)sizeof(nowhere);
		iov[n++] = (struct iovec){ nowhere, room };
	} else if (rx->in_payload) {
		for (int i = rx->sink_at; i < rx->sink_count && n < max - 1; i++) {
			uint32_t skip = i == rx->sink_at ? rx->sink_offset : 0;
			uint32_t part = rx->sink[i].length - skip;

			part = part < rx->left - room ? part : rx->left - room;
			if (part == 0)
				continue;
			iov[n++] = (struct iovec){ (uint8_t *)(uintptr_t)rx->sink[i].addr + skip,
				part };
			room += part;
		}
	}
	if (rx->in_payload && room < rx->left)
		return n; /* the stage comes after all of the payload only */
	if (link->stage_at == link->stage_used)
		link->stage_at = link->stage_used = 0;
	if (link->stage_at > 0) {
		memmove(link->stage, link->stage + link->stage_at,
			link->stage_used - link->stage_at);
		link->stage_used -= link->stage_at;
		link->stage_at = 0;
	}
	iov[n++] =
		(struct iovec){ link->stage + link->stage_used, SV_STAGE_SIZE - link->stage_used };
	return n;
}

/* n bytes of payload are in their place */
static void payload_advance(struct sv_rx *rx, uint32_t n)
{
	rx->left -= n;
	while (n > 0 && !rx->discard) {
		uint32_t part = rx->sink[rx->sink_at].length - rx->sink_offset;

		if (n < part) {
			rx->sink_offset += n;
			return;
		}
		n -= part;
		rx->sink_at++;
		rx->sink_offset = 0;
	}
}

static void payload_copy(struct sv_rx *rx, const uint8_t *from, uint32_t n)
{
	while (n > 0) {
		uint32_t part = n;

		if (!rx->discard) {
			struct ibv_sge *sge = &rx->sink[rx->sink_at];

			part = sge->length - rx->sink_offset;
			part = part < n ? part : n;
			if (part > 0)
				memcpy((uint8_t *)(uintptr_t)sge->addr + rx->sink_offset, from,
					part);
		}
		payload_advance(rx, part);
		if (part == 0) { /* an empty entry of the list */
			rx->sink_at++;
			rx->sink_offset = 0;
		}
		from += part;
		n -= part;
	}
}

/* the device writes to the program's memory */
static void note_written(const struct sv_rx *rx)
{
	if (rx->head.type < SV_FRAME_SEND || rx->discard)
		return;
	for (int i = 0; i < rx->sink_count; i++)
		sv_watch_written((void *)(uintptr_t)rx->sink[i].addr, rx->sink[i].length);
}

/* it is about to */
static void observe(struct sv_rx *rx)
{
	if (sv_faults_on && rx->head.type >= SV_FRAME_SEND && !rx->discard)
		sv_fault_payload(rx->sink, rx->sink_count);
	note_written(rx);
}

/* false: the one it is for cannot take it yet */
static bool take_head(struct sv_link *link)
{
	struct sv_rx *rx = &link->rx;
	struct sv_qp *qp = link->qp;

	if (link->silent || sv_holds(SV_HOLD_PEER))
		return false;
	rx->left = rx->head.payload;
	rx->discard = false;
	rx->lost_memory = false;
	rx->sink_count = 0;
	rx->sink_at = 0;
	rx->sink_offset = 0;
	if (rx->head.type < SV_FRAME_SEND) {
		if (rx->left == sizeof(link->message) && rx->head.type >= SV_FRAME_REQ) {
			rx->sink[0] = (struct ibv_sge){ .addr = (uintptr_t)&link->message,
				.length = sizeof(link->message) };
			rx->sink_count = 1;
		} else {
			rx->discard = true;
			rx->head.type = 0;
		}
	} else if (qp == NULL || qp->attr.qp_state == IBV_QPS_ERR ||
		   qp->attr.qp_state == IBV_QPS_RESET) {
		rx->discard = true;
		rx->head.type = 0;
	} else if (qp->attr.qp_state == IBV_QPS_INIT) {
		return false;
	} else if (rx->head.type < SV_FRAME_ACK) {
		sv_responder_head(qp, rx);
	} else if (!sv_requester_head(qp, rx)) {
		rx->discard = true;
		rx->head.type = 0;
	}
	return true;
}

static void finish(struct sv_link *link)
{
	struct sv_rx *rx = &link->rx;

	rx->in_payload = false;
	if (rx->head.type == 0)
		return;
	if (rx->head.type == SV_FRAME_MEET)
		sv_meet_frame(link);
	else if (rx->head.type < SV_FRAME_SEND)
		sv_cm_frame(link);
	else if (link->qp == NULL)
		return;
	else if (rx->head.type < SV_FRAME_ACK)
		sv_responder_finish(link->qp, rx);
	else
		sv_requester_finish(link->qp, rx);
}

void sv_rx_parse(struct sv_link *link)
{
	struct sv_rx *rx = &link->rx;

	while (!link->paused) {
		unsigned have = link->stage_used - link->stage_at;

		if (rx->in_payload) {
			uint32_t part = rx->left < have ? rx->left : have;

			payload_copy(rx, link->stage + link->stage_at, part);
			link->stage_at += part;
			/* by now others may have posted with that memory too */
			if (SV_STRICT)
				note_written(rx);
			if (rx->left > 0)
				break;
			finish(link);
			continue;
		}
		if (have < sizeof(rx->head))
			break;
		memcpy(&rx->head, link->stage + link->stage_at, sizeof(rx->head));
		if (!take_head(link)) {
			link->paused = true;
			break;
		}
		if (sv_faults_on || sv_strict)
			observe(rx);
		link->stage_at += (unsigned)sizeof(rx->head);
		rx->in_payload = true;
	}
	if (link->qp != NULL)
		sv_responder_batch_end(link->qp);
}

void sv_rx_got(struct sv_link *link, size_t n)
{
	struct sv_rx *rx = &link->rx;

	link->heard_ns = sv_clock->now_ns();
	if (rx->in_payload) {
		uint32_t part = n < rx->left ? (uint32_t)n : rx->left;

		payload_advance(rx, part);
		n -= part;
	}
	link->stage_used += (unsigned)n;
	assert(link->stage_used <= SV_STAGE_SIZE);
	sv_rx_parse(link);
}

void sv_rx_fault(struct sv_link *link)
{
	link->rx.discard = true;
	link->rx.lost_memory = true;
}
