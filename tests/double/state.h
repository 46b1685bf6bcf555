/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * state.h - what the parts of the double share
 *
 * ASSUMPTIONS
 * - Everything is guarded by one recursive lock: double__enter() takes it, double__leave() gives it
 *   back.
 * - Callbacks of tests run with it held, on the calling thread.
 */

#ifndef RPMA_DOUBLE_STATE_H
#define RPMA_DOUBLE_STATE_H

#include "double.h"

/* the beginning of every object */
struct object {
	struct object *prev;
	struct object *next;
	enum double_kind kind;
	bool is_gone; /* its destruction failed on order: not counted, freed by the next reset */
	unsigned refs; /* objects that live on it */
};

/* an event queue with a descriptor that is readable once per entry */
struct bell {
	int fd;
};

struct channel {
	struct object object;
	struct rdma_event_channel channel;
	struct bell bell;
	struct event *first; /* not fetched yet */
};

#define MAX_OPTIONS 8

struct id {
	struct object object;
	struct rdma_cm_id id;
	bool is_sync;
	bool has_connected; /* rdma_connect or rdma_accept succeeded */
	bool has_disconnected;
	int backlog;
	int timeout_ms;
	unsigned reported; /* events fetched, events acknowledged */
	unsigned acked;
	struct rdma_conn_param param;
	bool has_param;
	uint8_t data[UINT8_MAX];
	struct id *remote; /* automatic mode: the other end in this process */
	struct ibv_sa_path_rec path;
	struct {
		int level;
		int name;
		uint64_t value;
	} options[MAX_OPTIONS];
	unsigned option_count;
};

struct event {
	struct object object;
	struct rdma_cm_event event;
	struct event *next;
	struct id *owner; /* whose destruction waits for the acknowledgement */
	struct id *subject;
	uint8_t data[UINT8_MAX];
};

struct comp_channel {
	struct object object;
	struct ibv_comp_channel channel;
	struct bell bell;
	struct cq_event *first;
};

struct cq_event {
	struct cq_event *next;
	struct cq *cq;
};

struct cqe {
	struct ibv_wc wc;
	bool is_recv;
	struct srq *srq; /* whose receive it was; NULL: that of a queue pair */
	uint64_t number; /* of the work request in its queue; UINT64_MAX: of none */
};

struct cq {
	struct object object;
	struct ibv_cq cq;
	struct cqe *ring;
	unsigned head;
	unsigned count;
	bool is_armed;
	unsigned fetched; /* events */
	unsigned acked;
	unsigned async_unacked;
};

struct pd {
	struct object object;
	struct ibv_pd pd;
};

struct mr {
	struct object object;
	struct ibv_mr mr;
	int access;
};

#define MAX_INLINE 256

struct wr {
	struct double_wr wr;
	uint8_t inline_data[MAX_INLINE];
};

/* one queue of a queue pair; numbers only grow, slot = number % size */
struct queue {
	struct wr *ring;
	unsigned size;
	uint64_t posted;
	uint64_t completed;
	uint64_t reclaimed;
	unsigned doorbells;
	struct double_wr last;
};

/* receives complete in any of its queue pairs; reclaimed counts them, in whatever order */
struct srq {
	struct object object;
	struct ibv_srq srq;
	struct ibv_srq_init_attr attr;
	struct queue rq;
	unsigned async_unacked;
};

struct qp {
	struct object object;
	struct ibv_qp qp;
	struct ibv_qp_init_attr_ex attr;
	struct queue sq;
	struct queue rq;
	struct qp *paired;
	uint8_t rd_atomic;
	uint8_t min_rnr_timer;
	unsigned async_unacked;
	struct ibv_qp_ex native; /* native.c */
	struct double_wr native_wr; /* being built */
	uint64_t native_word;
	int native_ret;
};

#define OF(type, member, pointer) \
	((struct type *)((char *)(uintptr_t)(pointer)-offsetof(struct type, member)))

/* double.c */

extern unsigned double__auto;

/* true: fail, as ordered; errno is set, the lock is not held. false: go on, with the lock held */
bool double__enter(const char *name);
void double__leave(void);
void double__note(const char *name); /* the same for functions that cannot fail */
void double__lock(void);

/* errno for functions that return it */
int double__errno(void);
void double__problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

void *double__new(enum double_kind kind, size_t size);
void double__free(void *object);
void double__gone(void *object); /* the destruction failed on order */
struct object *double__last(
	enum double_kind kind); /* the newest alive; follow next for older ones */

void double__bell_init(struct bell *bell);
void double__bell_ring(struct bell *bell);
int double__bell_wait(struct bell *bell); /* the lock must not be held */
void double__bell_unring(struct bell *bell);

/* cq.c */

void double__push_cqe(struct ibv_cq *cq, const struct cqe *cqe);
void double__cq_forget_srq(const struct srq *srq);
int double__poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int double__req_notify_cq(struct ibv_cq *cq, int solicited_only);
void double__cq_reset(void);

/* verbs.c */

struct ibv_mr *double__find_mr(uint32_t key, uint64_t addr, uint64_t len, int access);
void double__verbs_reset(void);
void double__drop_async(const void *element);

/* qp.c */

struct ibv_qp *double__qp_new(
	struct ibv_pd *pd, struct ibv_qp_init_attr_ex *attr, struct ibv_context *context);
void double__qp_free(struct ibv_qp *ibv_qp);
void double__qp_error(struct ibv_qp *ibv_qp);
void double__qp_polled(uint32_t qp_num, bool is_recv, uint64_t number);
bool double__is_posted(uint32_t lkey); /* in a work request, shared receives too */
int double__post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int double__add_send(struct qp *qp, const struct double_wr *record);
void double__run(struct qp *qp);
int double__post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int double__add_recvs(struct queue *queue, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
void double__run_senders_to(const struct ibv_srq *srq);

/* native.c, where the headers have it */

void double__native_new(struct qp *qp);
uint64_t double__native_caps(void);

/* srq.c */

struct queue *double__recvs(struct qp *qp); /* where its messages find a receive */
int double__post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* complete.c */

uint32_t double__length(const struct double_wr *wr);
void double__copy(const struct wr *wr, uint8_t *flat, uint32_t len, bool to_flat);

/* cm.c */

void double__step_done(struct id *id, enum rdma_cm_event_type type);

/* event.c */

/* owner is the listening id for a request, else the same as subject */
void double__push_event(struct id *owner, struct id *subject, enum rdma_cm_event_type type,
	int status, const void *data, uint8_t len);
void double__drop_events(struct id *id);
void double__cm_forget(struct object *object);

#endif /* RPMA_DOUBLE_STATE_H */
