/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * link.h - one connection between two devices, and what travels on it
 *
 * A link carries frames in order and without loss, both ways: a fixed head, then `payload` bytes. It
 * belongs to at most one id (connection management) and one queue pair (work), which come and go
 * while it lives. The wire moves bytes; this module knows what they are:
 *
 *     wire: bytes arrive -> sv_rx_iov() says where to, sv_rx_got() interprets them
 *                             a head   -> cm_connect.c, requester.c or responder.c names a sink
 *                             all of it -> the same one finishes
 *     wire: may send     -> sv_tx_iov() says what, sv_tx_sent() retires what is gone
 *
 * Payload is sent from and received into the program's memory directly. Three things may take that
 * memory away, and each tells the link: deregistering (sv_link_unpin), a queue pair that stops
 * (sv_link_cut), and the end of the link itself.
 */

#ifndef SOFTVERBS_LINK_H
#define SOFTVERBS_LINK_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <infiniband/verbs.h>

#include "device.h"
#include "list.h"

enum sv_frame_type {
	SV_FRAME_REQ = 1, /* of the connection manager: struct sv_cm_message follows */
	SV_FRAME_REP,
	SV_FRAME_RTU,
	SV_FRAME_REJ,
	SV_FRAME_DREQ,
	SV_FRAME_DREP,
	SV_FRAME_MEET, /* of a queue pair connected without it: struct sv_cm_message follows */
	SV_FRAME_SEND = 16, /* requests; psn counts work requests */
	SV_FRAME_WRITE,
	SV_FRAME_READ,
	SV_FRAME_CMP_SWAP,
	SV_FRAME_FETCH_ADD,
	SV_FRAME_ATOMIC_WRITE,
	SV_FRAME_FLUSH,
	SV_FRAME_ACK = 32, /* answers: all requests before psn are done */
	SV_FRAME_NAK, /* and psn itself failed, code: enum ibv_wc_status */
	SV_FRAME_RNR, /* and psn found no receive, code: the RNR timer */
	SV_FRAME_READ_RESPONSE,
	SV_FRAME_ATOMIC_RESPONSE,
};

enum {
	SV_FRAME_HAS_IMM = 1,
	SV_FRAME_SOLICITED = 2,
};

/* which placement and which range a flush is for, in one number */
#define SV_FLUSH(type, level)  ((uint64_t)(level) << 8 | (type))
#define SV_FLUSH_TYPE(number)  ((uint8_t)(number))
#define SV_FLUSH_LEVEL(number) ((uint8_t)((number) >> 8))

struct sv_frame {
	uint8_t type;
	uint8_t flags;
	uint8_t code;
	uint8_t reserved;
	uint32_t psn;
	uint32_t payload; /* bytes after this head */
	uint32_t imm; /* as the program gave it */
	uint32_t rkey;
	uint32_t length; /* of a READ */
	uint64_t addr;
	uint64_t
		operand; /* atomics: to add, to compare with, to write; of a FLUSH: how many bytes */
	uint64_t swap; /* of a FLUSH: SV_FLUSH */
};

static_assert(sizeof(struct sv_frame) == 48, "the head of a frame has a fixed size");

struct sv_qp;
struct sv_id;
struct sv_link;

/* a frame on its way out: its head, and payload that may be the program's memory */
struct sv_tx {
	struct list node; /* on link->tx_queue; linked: the wire still needs it */
	struct sv_frame head;
	unsigned head_sent;
	uint64_t due_ns; /* a slow wire: not before */
	const struct ibv_sge *sge; /* real addresses; lkey: whose memory it is */
	int sge_count;
	int sge_at; /* what is still to be sent starts here, */
	uint32_t sge_offset; /* at this offset */
	struct ibv_sge own_sge; /* payload copied to the heap */
	void *own;
	struct sv_qp *qp; /* whose work it is, or NULL */
	void (*done)(struct sv_tx *tx); /* sent, or dropped */
};

/* the frame that is coming in */
struct sv_rx {
	struct sv_frame head;
	bool in_payload;
	bool discard; /* payload goes nowhere */
	bool lost_memory; /* it had a place, which is no longer registered */
	uint32_t left; /* payload still to come */
	struct ibv_sge sink[SV_MAX_SGE];
	int sink_count;
	int sink_at;
	uint32_t sink_offset;
};

#define SV_STAGE_SIZE 4096

enum sv_link_state { SV_LINK_CONNECTING, SV_LINK_UP, SV_LINK_DOWN };

struct sv_cm_message {
	uint32_t magic;
	uint32_t version;
	uint32_t qp_num;
	int32_t status; /* the reason of a REJ */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t flow_control;
	uint8_t srq;
	uint8_t family; /* 4 or 6 */
	uint8_t reserved;
	uint8_t src_addr[16];
	uint8_t dst_addr[16];
	uint16_t src_port; /* as in a sockaddr */
	uint16_t dst_port;
	uint32_t scope_id;
	uint8_t private_data[196];
};

#define SV_CM_MAGIC   UINT32_C(0x62765653)
#define SV_CM_VERSION 1

struct sv_link {
	struct list node; /* on sv_device.links */
	enum sv_link_state state;
	bool closing; /* its owners are gone: send the rest, then end it */
	bool paused; /* a head waits in the stage until the queue pair is ready */
	bool deferred; /* its REQ is in message; the listener's backlog is full */
	bool broken; /* memory was short: it cannot go on */
	bool silent; /* the peer is gone without a word: nothing that comes in is looked at */
	struct sv_id *id; /* either may be NULL */
	struct sv_qp *qp;
	struct sv_listener *listener; /* where it came in, until its REQ is understood */
	struct list tx_queue; /* struct sv_tx, in order */
	struct sv_rx rx;
	uint64_t heard_ns; /* when bytes arrived last */
	uint64_t free_ns; /* a slow wire: when it has room again */
	struct sv_cm_message message; /* the payload of a CM frame */
	unsigned stage_used;
	unsigned stage_at;
	uint8_t stage[SV_STAGE_SIZE]; /* heads, and small payload that came with them */
};

void sv_link_init(struct sv_link *link); /* by the wire, which allocates links */

/* for the model */
void sv_link_send(struct sv_link *link, struct sv_tx *tx); /* queues it; the wire is kicked apart */
bool sv_link_send_cm(struct sv_link *link, enum sv_frame_type type,
	const struct sv_cm_message *message); /* false: no memory, or the link is down */
void sv_link_kick(struct sv_link *link);
void sv_link_resume(struct sv_link *link);
void sv_link_cut(struct sv_link *link, struct sv_qp *qp);
void sv_link_unpin(struct sv_link *link, uint32_t key);
void sv_link_cancel_requests(struct sv_link *link, struct sv_qp *qp); /* those not begun */
void sv_link_leave(struct sv_link *link, struct sv_id *id, struct sv_qp *qp);
void sv_link_close(struct sv_link *link); /* no owner any more: sends the rest, then goes away */

static inline bool sv_tx_active(const struct sv_tx *tx)
{
	return !list_empty(&tx->node);
}

/* for wires: the bytes in and out */
int sv_tx_iov(struct sv_link *link, struct iovec *iov, int max);
void sv_tx_sent(struct sv_link *link, size_t n);
void sv_tx_drop_all(struct sv_link *link);
bool sv_tx_fault(struct sv_link *link); /* EFAULT: the first frame's memory is unmapped */
int sv_rx_iov(struct sv_link *link, struct iovec *iov, int max);
void sv_rx_got(struct sv_link *link, size_t n); /* bytes written there */
void sv_rx_parse(struct sv_link *link); /* look at the stage again, after a pause */
void sv_rx_fault(struct sv_link *link); /* EFAULT: the sink's memory is unmapped */

/* what a wire reports: the link is up; or it ended, status 0 or an errno */
void sv_link_up(struct sv_link *link);
void sv_link_down(struct sv_link *link, int status);

#endif
