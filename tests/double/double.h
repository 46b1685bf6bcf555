/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * double.h - a stand-in for libibverbs and librdmacm, and how a test controls it
 *
 * It defines the functions of both libraries and is linked instead of them. One RDMA device lives
 * in it. File descriptors are real: they work with poll, epoll and O_NONBLOCK. Nothing happens by
 * itself: the test pushes events and completes work requests, unless it asks for automatic mode.
 *
 * It is strict where hardware is merciless. What a real library would answer with an endless wait
 * or with silent damage is noted as a problem: events that are not acknowledged when their object
 * is destroyed, more acknowledgements than events, an overrun completion queue, objects destroyed
 * under others, a region deregistered under a posted work request. double_assert_clean() fails on
 * the first problem and on everything that was never destroyed.
 *
 * Threads: all functions may be called from any thread.
 */

#ifndef RPMA_DOUBLE_H
#define RPMA_DOUBLE_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the whole ---- */

/* frees everything, forgets everything, default device; to be called before each test */
void double_reset(void);

/* true if nothing is left over and there was no problem; prints what is wrong to stderr */
bool double_is_clean(void);
#define double_assert_clean() assert_true(double_is_clean())

unsigned double_problems(void); /* count of problems so far */
void double_forget_problems(void); /* a test that provoked them on purpose */
bool double_is_inside(void); /* is this thread inside of the double? (for wrapped allocators) */
struct ibv_context *double_ctx(void); /* the device, opened */
void double_route_over(
	struct ibv_context *context); /* addresses lead over a copy of it; NULL: it */

/* kinds of objects that are counted */
enum double_kind {
	DOUBLE_EVENT_CHANNEL,
	DOUBLE_ID,
	DOUBLE_CM_EVENT,
	DOUBLE_ADDRINFO,
	DOUBLE_PD,
	DOUBLE_MR,
	DOUBLE_COMP_CHANNEL,
	DOUBLE_CQ,
	DOUBLE_QP,
	DOUBLE_SRQ,
	DOUBLE_KINDS
};

/* how many of a kind are alive; events count from being pushed until acknowledged or dropped */
unsigned double_live(enum double_kind kind);

/* what the device can; a test changes it before the call that asks for it */
struct double_device {
	enum ibv_transport_type transport; /* default: InfiniBand */
	bool has_odp; /* default: no */
	bool odp_is_complete; /* RC reads and writes too; default: yes */
	bool odp_has_messages; /* RC sends and receives too; default: no */
	bool takes_advice; /* about regions; default: yes */
	uint32_t max_inline; /* bytes; default: 256 */
	uint32_t max_wr; /* per queue, shared ones too; default: 16384 */
	int max_cqe; /* default: 65536 */
	int max_rd_atomic; /* reads in flight; default: 16 */
	uint32_t max_msg_size; /* bytes; default: 1 GiB */
	uint8_t link_layer; /* default: Ethernet */
	bool is_port_down; /* default: no */
	bool has_native; /* flush and atomic write by itself, where the headers have them; default: no */
};
extern struct double_device double_device;

enum double_auto_bits {
	DOUBLE_AUTO_CM = 1 << 0, /* each step of a connection is followed by its event */
	DOUBLE_AUTO_DATA =
		1 << 1, /* work requests complete where they are posted, and move bytes */
	/* a queue pair in error flushes at once; on a shared receive queue: has taken its last */
	DOUBLE_AUTO_FLUSH = 1 << 2,
};

/*
 * Automatic mode: all bits, or some. A connect to a port at which an id of this process listens is
 * a request there; accepting it connects the two. A connect to any other port is established at
 * once.
 */
void double_auto(bool on);
void double_auto_bits(unsigned bits);

/* ---- calls: count, order, failures ---- */

unsigned double_calls(const char *name); /* how often, since the log was cleared */
unsigned double_calls_total(void); /* of all functions that can fail */
const char *double_log(void); /* the names in order, separated by blanks */
void double_log_clear(void);

/*
 * The k-th call from now of the function fails (k = 1: the next); err is the errno, or for
 * rdma_getaddrinfo a negative EAI code; 0 fails without touching errno. One order per function; a
 * new one replaces it. A destroying function that fails on order keeps its object until the next
 * reset, but it counts as gone.
 */
void double_fail(const char *name, unsigned k, int err);
void double_fail_always(const char *name, int err);
/* the k-th call from now of any function that can fail; always: and all after it; k = 0: none */
void double_fail_any(unsigned k, int err, bool always);
void double_fail_none(void);
/*
 * the k-th work request from now, sends and receives alike, is refused with err where it is posted
 */
void double_refuse_wr(unsigned k, int err);

/* ---- rdma_cm ---- */

struct rdma_cm_id *double_last_id(void); /* the one made last that is still alive */

/* queues an event at the id's channel; data is copied */
void double_push_cm(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status,
	const void *data, uint8_t len);

/* a request for a connection, at a listening id; returns its new id, the program's to destroy */
struct rdma_cm_id *double_push_request(struct rdma_cm_id *listen_id, const void *data, uint8_t len);

/* what rdma_connect or rdma_accept was given (private data: a copy); NULL: neither was called */
const struct rdma_conn_param *double_conn_param(const struct rdma_cm_id *id);

/* rdma_set_option: false if it was not called with this level and name */
bool double_option(const struct rdma_cm_id *id, int level, int name, uint64_t *value);

int double_backlog(const struct rdma_cm_id *id); /* of rdma_listen; -1: not listening */
int double_timeout_ms(const struct rdma_cm_id *id); /* of the last rdma_resolve_*; -1: none */
const struct rdma_addrinfo *double_hints(void); /* of the last rdma_getaddrinfo */
const char *double_node(void); /* its arguments; "" for NULL */
const char *double_service(void);

/* ---- completion queues and channels ---- */

struct ibv_cq *double_last_cq(void);
unsigned double_cq_count(const struct ibv_cq *cq); /* completions that wait to be polled */
bool double_cq_is_armed(const struct ibv_cq *cq);
void double_spurious_event(struct ibv_cq *cq); /* an event without a completion, armed or not */
void double_push_wc(struct ibv_cq *cq, const struct ibv_wc *wc); /* any completion, as it is */

/* the next poll returns this, whatever it is; the queue stays as it is */
void double_poll_returns(int ret);

/* runs at every arming, before it takes effect: completions that it adds raise no event */
void double_on_arm(void (*cb)(struct ibv_cq *cq, void *arg), void *arg);

/* ---- queue pairs and work requests ---- */

#define DOUBLE_MAX_SGE 4

struct double_wr {
	uint64_t wr_id;
	bool is_recv;
	enum ibv_wr_opcode opcode; /* sends only, as what follows */
	unsigned send_flags;
	uint32_t imm; /* as posted: network byte order */
	uint64_t remote_addr;
	uint32_t rkey;
	int num_sge;
	struct ibv_sge sge[DOUBLE_MAX_SGE];
	unsigned doorbell; /* number of the post call on its queue, from 1 */
	uint64_t flush_len; /* native flushes only, as what follows */
	uint8_t flush_type;
	uint8_t flush_level;
};

const struct double_wr *double_last_send(const struct ibv_qp *qp); /* NULL: none yet */
const struct double_wr *double_last_recv(const struct ibv_qp *qp);
const struct double_wr *double_pending_send(const struct ibv_qp *qp, unsigned i); /* i-th oldest */
const struct double_wr *double_pending_recv(const struct ibv_qp *qp, unsigned i);
unsigned double_pending_sends(const struct ibv_qp *qp); /* posted and not completed */
unsigned double_pending_recvs(const struct ibv_qp *qp);
unsigned double_send_doorbells(const struct ibv_qp *qp); /* calls of ibv_post_send */
unsigned double_recv_doorbells(const struct ibv_qp *qp);
uint64_t double_sends(const struct ibv_qp *qp); /* work requests posted */

/* attributes that the queue pair was made with */
const struct ibv_qp_init_attr_ex *double_qp_attr(const struct ibv_qp *qp);

void double_qp_state(struct ibv_qp *qp, enum ibv_qp_state state);
void double_qp_rd_atomic(struct ibv_qp *qp, uint8_t depth); /* what was negotiated */
void double_qp_pair(struct ibv_qp *a, struct ibv_qp *b); /* messages of one arrive at the other */

/*
 * Completes up to k of the oldest posted work requests; returns how many. With IBV_WC_SUCCESS bytes
 * are moved (READ, WRITE: within the process, if key, range and access are right, else the status
 * says what is not; SEND: to the paired queue pair, if there is one, as soon as it has a receive).
 * Unsignalled successes complete silently. Another status completes one work request and moves the
 * queue pair to error.
 */
unsigned double_complete_send(struct ibv_qp *qp, unsigned k, enum ibv_wc_status status);
unsigned double_complete_recv(struct ibv_qp *qp, unsigned k, enum ibv_wc_status status);

/* a message arrives: the oldest receive completes; imm may be NULL; false if none is posted */
bool double_deliver(struct ibv_qp *qp, const void *data, uint32_t len, const uint32_t *imm);

/*
 * moves the queue pair to error; everything posted, signalled or not, completes as flushed, but for
 * receives of a shared receive queue, which stay there
 */
unsigned double_flush(struct ibv_qp *qp);

/* ---- shared receive queues ---- */

/* what double_pending_recv() and its like say of a queue pair concerns receives of its own */
struct ibv_srq *double_last_srq(void);
const struct ibv_srq_init_attr *double_srq_attr(const struct ibv_srq *srq);
const struct double_wr *double_srq_last_recv(const struct ibv_srq *srq); /* NULL: none yet */
unsigned double_srq_pending_recvs(const struct ibv_srq *srq);

/* ---- regions and the rest ---- */

int double_last_access(void); /* access flags of the last registration, successful or not */
const struct ibv_mr *double_last_mr(void);

/* what the last ibv_advise_mr was given; pd NULL: it was not called */
struct double_advice {
	const struct ibv_pd *pd;
	int advice;
	uint32_t flags;
	uint32_t num_sge;
	struct ibv_sge sge;
};
const struct double_advice *double_last_advice(void);

/*
 * queues an asynchronous event; element is a queue pair, a completion queue, a shared receive
 * queue, or NULL: port 1. What is not fetched goes with the object.
 */
void double_push_async(enum ibv_event_type type, void *element);
void double_push_async_port(enum ibv_event_type type, int port);
unsigned double_async_pending(void); /* not fetched */

#endif /* RPMA_DOUBLE_H */
