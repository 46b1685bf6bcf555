/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * cm.h - ids, their states, and the events that report them
 */

#ifndef SOFTVERBS_CM_H
#define SOFTVERBS_CM_H

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "clock.h"
#include "fault.h"
#include "link.h"
#include "qp.h"
#include "wire.h"

#define SV_REQ_PRIVATE     56 /* what RoCE leaves of 92 */
#define SV_REP_PRIVATE     196
#define SV_REJ_PRIVATE     148
#define SV_REJ_NO_LISTENER 8 /* IB_CM_REJ_INVALID_SERVICE_ID */
#define SV_REJ_CONSUMER    28 /* IB_CM_REJ_CONSUMER_DEFINED */
#define SV_MAX_BACKLOG     1024

enum sv_id_state {
	SV_ID_IDLE,
	SV_ID_BOUND,
	SV_ID_LISTENING,
	SV_ID_ADDR_QUERY,
	SV_ID_ADDR_RESOLVED,
	SV_ID_ROUTE_QUERY,
	SV_ID_ROUTE_RESOLVED,
	SV_ID_REQ_SENT,
	SV_ID_REP_RECEIVED,
	SV_ID_REQ_RECEIVED,
	SV_ID_REP_SENT,
	SV_ID_ESTABLISHED,
	SV_ID_DREQ_SENT,
	SV_ID_DREQ_RECEIVED,
	SV_ID_TIMEWAIT,
	SV_ID_CLOSED,
};

struct sv_event_channel {
	struct rdma_event_channel base;
	struct sv_signal signal;
	unsigned generation;
	struct list events; /* struct sv_event, not fetched yet */
	struct list late; /* those on their way, in a simulation */
};

struct sv_event {
	struct rdma_cm_event base;
	struct list node;
	struct sv_timer late; /* set: on its way still */
	struct sv_id *owner; /* whose destruction waits for its ack */
	uint8_t private_data[256];
};

struct sv_id {
	struct rdma_cm_id base;
	struct list node; /* on sv_device.ids */
	unsigned generation;
	enum sv_id_state state;
	bool sync; /* calls wait for their event; the channel is our own */
	bool own_cqs; /* made by rdma_create_qp */
	bool connect_failed; /* its ESTABLISHED became CONNECT_ERROR: nothing more is told */
	unsigned number; /* for people */
	uint64_t told_ns; /* in a simulation: when the last of its events arrives */
	unsigned queued; /* events on the channel */
	unsigned fetched; /* events */
	unsigned acked;
	struct sv_link *link;
	struct sv_listener listener;
	struct sv_timer timer; /* of the state it is in */
	bool refused; /* the timer is for another try */
	uint64_t give_up_ns; /* no more tries then */
	uint32_t peer_qp_num;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t ack_timeout;
	bool reuse_addr;
	int resolve_status;
	struct ibv_sa_path_rec path;
	struct ibv_qp_init_attr *ep_attr; /* of rdma_create_ep, for the ids that come in */
	struct ibv_pd *ep_pd;
	struct ibv_context *verbs; /* becomes base.verbs when the event says so */
};

static inline struct sv_id *sv_id(struct rdma_cm_id *id)
{
	return container_of(id, struct sv_id, base);
}

static inline struct sv_event_channel *sv_event_channel(struct rdma_event_channel *channel)
{
	return container_of(channel, struct sv_event_channel, base);
}

/* cm_id.c */
struct sv_id *sv_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps);
bool sv_id_enter_locked(struct sv_id *id);

/* locks; false: an id of another process, or one that has gone; errno is set */
#define sv_id_enter(id) (!SV_DEAD(SV_ID, &(id)->base) && sv_id_enter_locked(id))
int sv_id_bind(struct sv_id *id, const struct sockaddr *addr); /* 0 or an errno */
void sv_id_free(struct sv_id *id); /* hangs up; nobody knows it any more */
unsigned sv_ids_orphan(struct rdma_event_channel *channel); /* they end with it; how many */
struct rdma_event_channel *sv_channel_new(void);
void sv_channel_free(struct rdma_event_channel *channel);

/* cm_event.c */
struct sv_event *sv_event_new(struct sv_id *id, enum rdma_cm_event_type type, int status);
void sv_event_post(struct sv_event *event);
void sv_event_queue(struct sv_event *event); /* the same, without a fault on the way */
void sv_event_free(struct sv_event *event); /* one that nobody has fetched */
void sv_event_tell(struct sv_id *id, enum rdma_cm_event_type type, int status);
void sv_event_private(struct sv_event *event, const struct sv_cm_message *message, unsigned length);
void sv_events_drop(struct sv_id *id);
int sv_id_complete(struct sv_id *id); /* outside the lock: a synchronous id waits for its event */

/* cm_connect.c */
void sv_cm_timer(struct sv_timer *timer);
void sv_cm_more_requests(struct sv_listener *listener); /* the backlog has room again */
void sv_cm_up(struct sv_link *link);
void sv_cm_down(struct sv_link *link, int status);
void sv_cm_frame(struct sv_link *link); /* all of a CM frame is in link->message */
bool sv_cm_fetched(struct sv_event *event); /* now things happen; false: it is not to be seen */
void sv_cm_hang_up(struct sv_id *id); /* says whatever ends this state, without an event */

void sv_cm_wait_for_peer(struct sv_id *id); /* UNREACHABLE when the time has run out */
void sv_cm_timewait(struct sv_id *id);
void sv_cm_close(struct sv_id *id);
void sv_cm_stands(struct sv_id *id);
void sv_cm_established(struct sv_id *id);

/* cm_qp.c */
int sv_cm_qp_attr(struct sv_id *id, struct ibv_qp_attr *attr, int *mask);
int sv_cm_qp_to_init(struct sv_id *id);
int sv_cm_qp_connect(struct sv_id *id); /* the QP of id into RTS, as agreed */

/* addr.c */
unsigned sv_addr_length(const struct sockaddr *addr); /* 0: a family that is not served */
bool sv_addr_is_any(const struct sockaddr *addr);
bool sv_addr_is_local(const struct sockaddr *addr);
uint16_t sv_addr_port(const struct sockaddr *addr); /* in host order */
void sv_addr_set_port(struct sockaddr *addr, uint16_t port);
int sv_addr_source(const struct sockaddr *dst, struct sockaddr_storage *src); /* 0 or an errno */
void sv_addr_gid(const struct sockaddr *addr, union ibv_gid *gid);
void sv_addr_pack(const struct sockaddr *src, const struct sockaddr *dst, struct sv_cm_message *m);
void sv_addr_unpack(const struct sv_cm_message *m, struct sockaddr *src, struct sockaddr *dst);

#endif
