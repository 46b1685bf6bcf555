/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * librpma.h - remote memory access over RDMA
 *
 * A program registers memory (a local region), describes it to a peer in a few bytes (a
 * descriptor), connects, and then reads the peer's memory without the peer's processor taking part.
 *
 * What follows is how to read the comments, and holds for every function unless its own says
 * otherwise:
 *
 *   Ownership: arguments are borrowed for the time of the call. An object that was made out of
 *              another one borrows it as long as it exists: delete it first.
 *   Threads:   any        from any thread, several at once, on the same object too
 *              one per X  only one thread at a time may use the same X
 *              An object may never be used while it is being deleted.
 *   Returns:   int        0, or one of the RPMA_E_* codes. Outputs are written on success only.
 *   Errors:    RPMA_E_PROVIDER  after RPMA_E_PROVIDER errno holds the error of the verbs or rdma_cm
 *                               call that failed; of several failures in one call, the first. (One
 *                               that is tried again in another way failed with its last error.)
 *                               After any other result errno means nothing.
 *
 * Descriptors and private data travel as they are, neither signed nor encrypted. Exchange them over
 * a connection that you trust.
 */

#ifndef LIBRPMA_H
#define LIBRPMA_H 1

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdbool.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* result codes */

#define RPMA_E_UNKNOWN         (-100000) /* something that no other code describes */
#define RPMA_E_NOSUPP          (-100001) /* not supported */
#define RPMA_E_PROVIDER        (-100002) /* verbs or rdma_cm failed; errno tells how */
#define RPMA_E_NOMEM           (-100003) /* out of memory */
#define RPMA_E_INVAL           (-100004) /* an argument is invalid */
#define RPMA_E_NO_COMPLETION   (-100005) /* nothing completed yet */
#define RPMA_E_NO_EVENT        (-100006) /* no event is waiting */
#define RPMA_E_AGAIN           (-100007) /* a passing failure, call again */
#define RPMA_E_SHARED_CHANNEL  (-100008) /* the completion channel is shared */
#define RPMA_E_NOT_SHARED_CHNL (-100009) /* the completion channel is not shared */

/* kept for programs that name it; no function takes it */
#define RPMA_W_WAIT_FOR_COMPLETION (1)

/*
 * rpma_err_2str - the text for a result code
 *
 * Shape:     for logs and people, in English; cannot fail.
 * Ownership: the text is static, never freed.
 * Returns:   the text; "Unknown error" for an unknown code.
 * Threads:   any
 * Source:    src/err.c
 */
const char *rpma_err_2str(int ret);

/* utilities: devices and texts */

/* whose address it is: the address of this host, or the address of the host to talk to */
enum rpma_util_ibv_context_type { RPMA_UTIL_IBV_CONTEXT_LOCAL, RPMA_UTIL_IBV_CONTEXT_REMOTE };

/*
 * rpma_utils_get_ibv_context - find the RDMA device that an address belongs to
 *
 * Shape:     addr is a name or a numeric IPv4 or IPv6 address. LOCAL: the device that owns the
 *            address. REMOTE: the device from which the address is reached. Waits for the name to
 *            be resolved, and up to 1000 ms more for a REMOTE address.
 * Ownership: the device stays open as long as the process lives; it is not the caller's to close.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     addr or ibv_ctx_ptr is NULL, or type is neither of the two
 *            RPMA_E_NOMEM     never; programs written for other librpma libraries expect it
 *            RPMA_E_PROVIDER  the address cannot be resolved or has no RDMA device; a wildcard
 *                             address (0.0.0.0, ::) names no device either: errno is ENODEV
 * Source:    src/utils.c
 */
int rpma_utils_get_ibv_context(
	const char *addr, enum rpma_util_ibv_context_type type, struct ibv_context **ibv_ctx_ptr);

/*
 * rpma_utils_ibv_context_is_odp_capable - tell whether a device can do without pinned memory
 *
 * Shape:     writes 1 if the device pages on demand (ODP) for remote reads and writes over reliable
 *            connections, else 0. When the query fails, 0 is written too.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     ibv_ctx or is_odp_capable is NULL
 *            RPMA_E_PROVIDER  the device cannot be queried
 * Source:    src/utils.c
 */
int rpma_utils_ibv_context_is_odp_capable(struct ibv_context *ibv_ctx, int *is_odp_capable);

/* what happened to a connection */
enum rpma_conn_event {
	RPMA_CONN_UNDEFINED = -1,
	RPMA_CONN_ESTABLISHED,
	RPMA_CONN_CLOSED,
	RPMA_CONN_LOST,
	RPMA_CONN_REJECTED,
	RPMA_CONN_UNREACHABLE
};

/*
 * rpma_utils_conn_event_2str - the text for a connection event
 *
 * Shape:     for logs and people, in English; cannot fail.
 * Ownership: the text is static, never freed.
 * Returns:   the text; "Unsupported connection event" for an unknown value.
 * Threads:   any
 * Source:    src/utils.c
 */
const char *rpma_utils_conn_event_2str(enum rpma_conn_event conn_event);

/* peer: one RDMA device and a protection domain on it */

struct rpma_peer;

/*
 * rpma_peer_new - make a peer on an RDMA device
 *
 * Shape:     ibv_ctx has to come from rpma_utils_get_ibv_context (or be the one that rdma_cm uses
 *            for the device). Several peers may share a device; regions and connections of
 *            different peers do not work together.
 * Ownership: borrows ibv_ctx for the life of the peer. Delete the peer with rpma_peer_delete.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     ibv_ctx or peer_ptr is NULL
 *            RPMA_E_NOMEM     out of memory
 *            RPMA_E_PROVIDER  the device cannot be queried or gives no protection domain
 *            RPMA_E_UNKNOWN   it gives none and does not say why
 * Source:    src/peer.c
 */
int rpma_peer_new(struct ibv_context *ibv_ctx, struct rpma_peer **peer_ptr);

/*
 * rpma_peer_delete - delete a peer
 *
 * Shape:     sets *peer_ptr to NULL, also when it fails. A pointer to NULL is fine.
 * Ownership: delete everything made out of the peer first: regions, endpoints, requests,
 *            connections, shared receive queues. Otherwise the protection domain is busy, the call
 *            fails, and the domain is leaked.
 * Threads:   one per peer
 * Errors:    RPMA_E_INVAL     peer_ptr is NULL
 *            RPMA_E_PROVIDER  the protection domain could not be freed
 * Source:    src/peer.c
 */
int rpma_peer_delete(struct rpma_peer **peer_ptr);

/* peer configuration: what a host declares about itself, and how to tell its peers */

struct rpma_peer_cfg;

/*
 * rpma_peer_cfg_new - make a peer configuration
 *
 * Shape:     it declares that direct write to persistent memory is not supported.
 * Ownership: delete it with rpma_peer_cfg_delete.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     pcfg_ptr is NULL
 *            RPMA_E_NOMEM     out of memory
 * Source:    src/peer_cfg.c
 */
int rpma_peer_cfg_new(struct rpma_peer_cfg **pcfg_ptr);

/*
 * rpma_peer_cfg_delete - delete a peer configuration
 *
 * Shape:     sets *pcfg_ptr to NULL. A pointer to NULL is fine.
 * Threads:   one per configuration
 * Errors:    RPMA_E_INVAL     pcfg_ptr is NULL
 * Source:    src/peer_cfg.c
 */
int rpma_peer_cfg_delete(struct rpma_peer_cfg **pcfg_ptr);

/*
 * rpma_peer_cfg_set_direct_write_to_pmem - declare whether remote writes reach persistent memory
 *
 * Shape:     true means that on this host bytes written over RDMA go straight to the persistence
 *            domain and do not stop in a processor cache. It is the administrator's word; nothing
 *            verifies it.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     pcfg is NULL
 * Source:    src/peer_cfg.c
 */
int rpma_peer_cfg_set_direct_write_to_pmem(struct rpma_peer_cfg *pcfg, bool supported);

/*
 * rpma_peer_cfg_get_direct_write_to_pmem - what was declared
 *
 * Shape:     writes what rpma_peer_cfg_set_direct_write_to_pmem or the descriptor has declared, false
 *            if nothing has.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     pcfg or supported is NULL
 * Source:    src/peer_cfg.c
 */
int rpma_peer_cfg_get_direct_write_to_pmem(const struct rpma_peer_cfg *pcfg, bool *supported);

/*
 * rpma_peer_cfg_get_descriptor - write a configuration down for another host
 *
 * Shape:     the other host reads it with rpma_peer_cfg_from_descriptor. How it gets there is the
 *            program's choice; it fits into a connection's private data.
 * Units:     writes exactly as many bytes as rpma_peer_cfg_get_descriptor_size says (1).
 * Ownership: desc is the caller's; any alignment.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     pcfg or desc is NULL
 * Source:    src/peer_cfg.c
 */
int rpma_peer_cfg_get_descriptor(const struct rpma_peer_cfg *pcfg, void *desc);

/*
 * rpma_peer_cfg_get_descriptor_size - size of a configuration's descriptor
 *
 * Shape:     the same for every configuration.
 * Units:     bytes
 * Threads:   any
 * Errors:    RPMA_E_INVAL     pcfg or desc_size is NULL
 * Source:    src/peer_cfg.c
 */
int rpma_peer_cfg_get_descriptor_size(const struct rpma_peer_cfg *pcfg, size_t *desc_size);

/*
 * rpma_peer_cfg_from_descriptor - read a configuration that another host wrote down
 *
 * Shape:     any first byte but 0 declares direct write; what follows it is ignored.
 * Units:     desc_size in bytes, at least 1
 * Ownership: desc is read during the call only. Delete the configuration with rpma_peer_cfg_delete.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     desc or pcfg_ptr is NULL, or desc_size is too small
 *            RPMA_E_NOMEM     out of memory
 * Source:    src/peer_cfg.c
 */
int rpma_peer_cfg_from_descriptor(
	const void *desc, size_t desc_size, struct rpma_peer_cfg **pcfg_ptr);

/* local region: memory of this process that the device may touch */

struct rpma_mr_local;

/* what a region will be used for; combine with | */
#define RPMA_MR_USAGE_READ_SRC              (1 << 0) /* the peer reads from it */
#define RPMA_MR_USAGE_READ_DST              (1 << 1) /* our reads land in it */
#define RPMA_MR_USAGE_WRITE_SRC             (1 << 2) /* our writes are taken from it */
#define RPMA_MR_USAGE_WRITE_DST             (1 << 3) /* the peer writes to it */
#define RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY (1 << 4) /* the peer flushes it to visibility */
#define RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT (1 << 5) /* the peer flushes it to persistence */
#define RPMA_MR_USAGE_SEND                  (1 << 6) /* messages are sent from it */
#define RPMA_MR_USAGE_RECV                  (1 << 7) /* messages are received in it */

/*
 * rpma_mr_reg - register memory with the peer's device
 *
 * Shape:     pins the memory, which for large regions takes a while. Memory that cannot be pinned
 *            (files on a DAX file system) is registered for paging on demand, if the device can do
 *            that. Memory that is mapped read-only can be registered as a source (READ_SRC,
 *            WRITE_SRC, SEND).
 * Units:     size in bytes; usage is a combination of RPMA_MR_USAGE_*
 * Ownership: borrows peer and the memory [ptr, ptr + size) until rpma_mr_dereg.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     peer, ptr or mr_ptr is NULL, size is 0, usage is 0 or has an unknown
 *                             bit
 *            RPMA_E_NOMEM     out of memory
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM often means the limit of locked memory
 * Source:    src/mr.c
 */
int rpma_mr_reg(
	struct rpma_peer *peer, void *ptr, size_t size, int usage, struct rpma_mr_local **mr_ptr);

/*
 * rpma_mr_dereg - give a region's memory back
 *
 * Shape:     sets *mr_ptr to NULL, also when it fails. A pointer to NULL is fine.
 * Ownership: every operation on the region has to be completed first. The memory stays the
 *            caller's. When the call fails, the device's registration is leaked and the memory must
 *            stay mapped.
 * Threads:   one per region
 * Errors:    RPMA_E_INVAL     mr_ptr is NULL
 *            RPMA_E_PROVIDER  the device refuses
 * Source:    src/mr.c
 */
int rpma_mr_dereg(struct rpma_mr_local **mr_ptr);

/*
 * rpma_mr_get_descriptor - write a region's description down for a peer
 *
 * Shape:     address, length, key and usage. Whoever knows them can use the region over a
 *            connection of the same peer.
 * Units:     writes exactly as many bytes as rpma_mr_get_descriptor_size says (21).
 * Ownership: desc is the caller's; any alignment.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     mr or desc is NULL
 * Source:    src/mr.c
 */
int rpma_mr_get_descriptor(const struct rpma_mr_local *mr, void *desc);

/*
 * rpma_mr_get_descriptor_size - size of a region's descriptor
 *
 * Shape:     the same for every region.
 * Units:     bytes
 * Threads:   any
 * Errors:    RPMA_E_INVAL     mr or desc_size is NULL
 * Source:    src/mr.c
 */
int rpma_mr_get_descriptor_size(const struct rpma_mr_local *mr, size_t *desc_size);

/*
 * rpma_mr_get_ptr - start of a region's memory
 *
 * Shape:     writes the address that was given to rpma_mr_reg.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     mr or ptr is NULL
 * Source:    src/mr.c
 */
int rpma_mr_get_ptr(const struct rpma_mr_local *mr, void **ptr);

/*
 * rpma_mr_get_size - length of a region
 *
 * Shape:     writes the size that was given to rpma_mr_reg.
 * Units:     bytes
 * Threads:   any
 * Errors:    RPMA_E_INVAL     mr or size is NULL
 * Source:    src/mr.c
 */
int rpma_mr_get_size(const struct rpma_mr_local *mr, size_t *size);

/*
 * rpma_mr_advise - tell the device how a part of a region will be used
 *
 * Shape:     advice and flags are those of ibv_advise_mr(3). Of use for a region that pages on
 *            demand: IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE with IBV_ADVISE_MR_FLAG_FLUSH fetches its
 *            pages and returns when they are there; without that flag it does not wait. The first
 *            operations on the region need not fetch them then. Nothing depends on advice but time.
 * Units:     offset and len in bytes, inside the region; len at most UINT32_MAX
 * Threads:   any
 * Errors:    RPMA_E_INVAL     mr is NULL, the range is outside the region, or the device knows no
 *                             such advice or flags, or finds no memory there
 *            RPMA_E_NOSUPP    the device takes no advice, or the libibverbs that the library was
 *                             built with does not
 *            RPMA_E_PROVIDER  the device refuses for another reason
 * Source:    src/mr.c
 */
int rpma_mr_advise(struct rpma_mr_local *mr, size_t offset, size_t len, int advice, uint32_t flags);

/* remote region: a peer's memory, as its descriptor tells */

struct rpma_mr_remote;

/*
 * rpma_mr_remote_from_descriptor - read a region's description that a peer wrote down
 *
 * Shape:     the usage must not be empty; nothing else in it is verified. Bytes behind the first 21
 *            are ignored.
 * Units:     desc_size in bytes, at least 21
 * Ownership: desc is read during the call only, any alignment. Delete the region with
 *            rpma_mr_remote_delete.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     desc or mr_ptr is NULL, desc_size is too small, or the usage is empty
 *            RPMA_E_NOMEM     out of memory
 * Source:    src/mr.c
 */
int rpma_mr_remote_from_descriptor(
	const void *desc, size_t desc_size, struct rpma_mr_remote **mr_ptr);

/*
 * rpma_mr_remote_get_size - length of a remote region
 *
 * Shape:     writes what the descriptor says.
 * Units:     bytes
 * Threads:   any
 * Errors:    RPMA_E_INVAL     mr or size is NULL
 * Source:    src/mr.c
 */
int rpma_mr_remote_get_size(const struct rpma_mr_remote *mr, size_t *size);

/*
 * rpma_mr_remote_get_flush_type - how a remote region may be flushed
 *
 * Shape:     writes a combination of RPMA_MR_USAGE_FLUSH_TYPE_*, or 0. Beware: these are bits of
 *            the usage, not values of enum rpma_flush_type.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     mr or flush_type is NULL
 * Source:    src/mr.c
 */
int rpma_mr_remote_get_flush_type(const struct rpma_mr_remote *mr, int *flush_type);

/*
 * rpma_mr_remote_delete - delete a remote region
 *
 * Shape:     sets *mr_ptr to NULL. A pointer to NULL is fine. The peer's memory is not affected.
 * Ownership: it may be deleted as soon as the call that used it has returned.
 * Threads:   one per region
 * Errors:    RPMA_E_INVAL     mr_ptr is NULL
 * Source:    src/mr.c
 */
int rpma_mr_remote_delete(struct rpma_mr_remote **mr_ptr);

/* connection configuration: sizes and time-outs, before there is a connection */

struct rpma_conn_cfg;
struct rpma_srq;

/* time-out of a new configuration, in milliseconds */
#define RPMA_DEFAULT_TIMEOUT_MS 1000

/*
 * rpma_conn_cfg_new - make a connection configuration
 *
 * Shape:     with the values that hold when no configuration is given: time-out 1000 ms, completion
 *            queue 10, no receive completion queue (0), send queue 10, receive queue 10, completion
 *            channel not shared, no shared receive queue.
 * Ownership: delete it with rpma_conn_cfg_delete. A call that takes a configuration copies what it
 *            needs.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg_ptr is NULL
 *            RPMA_E_NOMEM     out of memory; *cfg_ptr is then NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_new(struct rpma_conn_cfg **cfg_ptr);

/*
 * rpma_conn_cfg_delete - delete a connection configuration
 *
 * Shape:     sets *cfg_ptr to NULL. A pointer to NULL is fine.
 * Threads:   one per configuration
 * Errors:    RPMA_E_INVAL     cfg_ptr is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_delete(struct rpma_conn_cfg **cfg_ptr);

/*
 * rpma_conn_cfg_set_timeout - how long rpma_conn_req_new may wait
 *
 * Shape:     it counts for the resolution of the address and once more for that of the route; it
 *            does not limit how long the peer may take to answer.
 * Units:     timeout_ms in milliseconds, 0 or more
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg is NULL or timeout_ms is negative
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_set_timeout(struct rpma_conn_cfg *cfg, int timeout_ms);

/*
 * rpma_conn_cfg_get_timeout - the time-out that was set
 *
 * Shape:     writes what rpma_conn_cfg_set_timeout has set, or the default.
 * Units:     milliseconds
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg or timeout_ms is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_get_timeout(const struct rpma_conn_cfg *cfg, int *timeout_ms);

/*
 * rpma_conn_cfg_set_cq_size - length of the main completion queue
 *
 * Shape:     it has to hold every completion that is not fetched yet: those of the send queue and,
 *            without a receive completion queue, those of the receive queue. A queue that overflows
 *            breaks the connection. The device may round up; values above INT_MAX count as INT_MAX.
 * Units:     completions
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_set_cq_size(struct rpma_conn_cfg *cfg, uint32_t cq_size);

/*
 * rpma_conn_cfg_get_cq_size - the length that was set for the main completion queue
 *
 * Shape:     writes what rpma_conn_cfg_set_cq_size has set, or the default.
 * Units:     completions
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg or cq_size is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_get_cq_size(const struct rpma_conn_cfg *cfg, uint32_t *cq_size);

/*
 * rpma_conn_cfg_set_rcq_size - length of a completion queue for receives alone
 *
 * Shape:     0 means that there is none: receives complete in the main completion queue. With a
 *            shared receive queue that has a completion queue the connection gets none either.
 * Units:     completions; values above INT_MAX count as INT_MAX
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_set_rcq_size(struct rpma_conn_cfg *cfg, uint32_t rcq_size);

/*
 * rpma_conn_cfg_get_rcq_size - the length that was set for the receive completion queue
 *
 * Shape:     writes what rpma_conn_cfg_set_rcq_size has set, or the default.
 * Units:     completions
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg or rcq_size is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_get_rcq_size(const struct rpma_conn_cfg *cfg, uint32_t *rcq_size);

/*
 * rpma_conn_cfg_set_sq_size - length of the send queue
 *
 * Shape:     every operation but a receive takes one entry. Entries of operations without a
 *            completion are free again only after a later completion of the same connection was
 *            fetched.
 * Units:     operations
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_set_sq_size(struct rpma_conn_cfg *cfg, uint32_t sq_size);

/*
 * rpma_conn_cfg_get_sq_size - the length that was set for the send queue
 *
 * Shape:     writes what rpma_conn_cfg_set_sq_size has set, or the default.
 * Units:     operations
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg or sq_size is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_get_sq_size(const struct rpma_conn_cfg *cfg, uint32_t *sq_size);

/*
 * rpma_conn_cfg_set_rq_size - length of the receive queue
 *
 * Shape:     every receive that has not completed takes one entry. Of no effect with a shared
 *            receive queue: its length counts.
 * Units:     receives
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_set_rq_size(struct rpma_conn_cfg *cfg, uint32_t rq_size);

/*
 * rpma_conn_cfg_get_rq_size - the length that was set for the receive queue
 *
 * Shape:     writes what rpma_conn_cfg_set_rq_size has set, or the default.
 * Units:     receives
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg or rq_size is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_get_rq_size(const struct rpma_conn_cfg *cfg, uint32_t *rq_size);

/*
 * rpma_conn_cfg_set_compl_channel - one completion channel for both completion queues, or one for
 * each
 *
 * Shape:     shared: wait with rpma_conn_wait. Not shared: wait with rpma_cq_wait. A shared receive
 *            queue with a completion queue of its own excludes a shared channel.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_set_compl_channel(struct rpma_conn_cfg *cfg, bool shared);

/*
 * rpma_conn_cfg_get_compl_channel - tell whether the completion channel is shared
 *
 * Shape:     writes what rpma_conn_cfg_set_compl_channel has set, or false.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg or shared is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_get_compl_channel(const struct rpma_conn_cfg *cfg, bool *shared);

/*
 * rpma_conn_cfg_set_srq - take receives from a shared receive queue
 *
 * Shape:     the connection has no receives of its own then: post them with rpma_srq_recv. They
 *            complete, with the connection's number in qp_num, in the shared receive queue's
 *            completion queue; if it has none, in the connection's completion queue for receives;
 *            if that does not exist either, in the main one. What was set can be replaced but not
 *            taken back: connections without a shared receive queue need another configuration.
 * Ownership: srq is stored, not looked at. A request made with the configuration, and then the
 *            connection, borrows it until it is deleted. It must be of the same peer.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg or srq is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_set_srq(struct rpma_conn_cfg *cfg, struct rpma_srq *srq);

/*
 * rpma_conn_cfg_get_srq - the shared receive queue that was set
 *
 * Shape:     writes NULL if none was.
 * Ownership: it stays whose it is.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg or srq_ptr is NULL
 * Source:    src/conn_cfg.c
 */
int rpma_conn_cfg_get_srq(const struct rpma_conn_cfg *cfg, struct rpma_srq **srq_ptr);

/* connection: queues for operations, their completions, and the events of its life */

struct rpma_conn;
struct rpma_conn_req;
struct rpma_ep;
struct rpma_cq;

/*
 * Bytes that travel with a connection request, or with the answer to it. On InfiniBand and RoCE the
 * limit is 56 bytes in a request and 196 in an answer, and the other side always sees that many,
 * filled up with zeros. On iWARP it sees what was sent.
 */
struct rpma_conn_private_data {
	void *ptr;
	uint8_t len;
};

/*
 * rpma_conn_get_event_fd - file descriptor of a connection's events
 *
 * Shape:     readable while an event is waiting for rpma_conn_next_event. Blocking, until the
 *            caller sets O_NONBLOCK.
 * Ownership: the connection's; do not close it.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn or fd is NULL
 * Source:    src/conn.c
 */
int rpma_conn_get_event_fd(const struct rpma_conn *conn, int *fd);

/*
 * rpma_conn_next_event - fetch the next event of a connection
 *
 * Shape:     waits for it, unless the event descriptor is non-blocking. ESTABLISHED brings the
 *            peer's private data. On the side that connects, this call also takes part in the
 *            handshake: the peer is not connected before it runs. After CLOSED a second CLOSED may
 *            follow. A signal handler that runs during the wait ends it with RPMA_E_NO_EVENT: call
 *            again.
 * Threads:   one per connection
 * Errors:    RPMA_E_INVAL     conn or event is NULL
 *            RPMA_E_NO_EVENT  nothing is waiting (non-blocking), or a signal came; nothing is
 *                             logged
 *            RPMA_E_PROVIDER  the event cannot be fetched or acknowledged
 *            RPMA_E_UNKNOWN   an event with no counterpart in enum rpma_conn_event; it is skipped
 * Source:    src/conn.c
 */
int rpma_conn_next_event(struct rpma_conn *conn, enum rpma_conn_event *event);

/*
 * rpma_conn_get_private_data - the peer's private data
 *
 * Shape:     {NULL, 0} if there is none, and on the connecting side before ESTABLISHED was fetched.
 * Units:     pdata->len in bytes
 * Ownership: the bytes are the connection's and stay until rpma_conn_delete.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn or pdata is NULL
 * Source:    src/conn.c
 */
int rpma_conn_get_private_data(const struct rpma_conn *conn, struct rpma_conn_private_data *pdata);

/*
 * rpma_conn_apply_remote_peer_cfg - tell a connection what its peer declared
 *
 * Shape:     from then on the connection knows whether bytes written to the peer go straight to
 *            persistent memory.
 * Ownership: pcfg is read during the call only.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn or pcfg is NULL
 * Source:    src/conn.c
 */
int rpma_conn_apply_remote_peer_cfg(struct rpma_conn *conn, const struct rpma_peer_cfg *pcfg);

/*
 * rpma_conn_get_qp_num - the number that the connection's completions carry in qp_num
 *
 * Shape:     it tells apart the completions of connections that share a queue.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn or qp_num is NULL
 * Source:    src/conn.c
 */
int rpma_conn_get_qp_num(const struct rpma_conn *conn, uint32_t *qp_num);

/*
 * rpma_conn_get_cq - the connection's main completion queue
 *
 * Shape:     the queue's calls are rpma_cq_wait and rpma_cq_get_wc.
 * Ownership: the connection's; it ends with rpma_conn_delete.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn or cq_ptr is NULL
 * Source:    src/conn.c
 */
int rpma_conn_get_cq(const struct rpma_conn *conn, struct rpma_cq **cq_ptr);

/*
 * rpma_conn_get_rcq - the connection's completion queue for receives
 *
 * Shape:     writes NULL if it has none; see rpma_conn_cfg_set_rcq_size. That of a shared receive
 *            queue is not the connection's: see rpma_srq_get_rcq.
 * Ownership: the connection's; it ends with rpma_conn_delete.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn or rcq_ptr is NULL
 * Source:    src/conn.c
 */
int rpma_conn_get_rcq(const struct rpma_conn *conn, struct rpma_cq **rcq_ptr);

/*
 * rpma_conn_get_compl_fd - file descriptor of a shared completion channel
 *
 * Shape:     readable while rpma_conn_wait has something to fetch. Blocking, until the caller sets
 *            O_NONBLOCK.
 * Ownership: the connection's; do not close it.
 * Threads:   any
 * Errors:    RPMA_E_INVAL            conn or fd is NULL
 *            RPMA_E_NOT_SHARED_CHNL  each completion queue has a channel of its own
 * Source:    src/conn.c
 */
int rpma_conn_get_compl_fd(const struct rpma_conn *conn, int *fd);

/* flag of rpma_conn_wait; its bit is none that other RPMA_ macros have */
#define RPMA_CONN_WAIT_ARM_LATER (1 << 8)

/*
 * rpma_conn_wait - wait until one of the completion queues of a shared channel has something
 *
 * Shape:     waits, unless the descriptor is non-blocking; then asks for the next notification.
 *            Fetch with rpma_cq_get_wc until it says RPMA_E_NO_COMPLETION before waiting again:
 *            what stays behind notifies nobody. It may find nothing, that is normal.
 *            is_rcq may be NULL; it tells the receive queue from the main one.
 *            flags is 0 or RPMA_CONN_WAIT_ARM_LATER; unknown bits are ignored.
 *            ARM_LATER does not ask: *cq notifies nobody for now, and the program may poll it
 *            undisturbed for as long as work is coming in. A later call without the flag does not
 *            wait while there is such a queue, but asks for its next notification and returns it,
 *            one queue a call, for a last look: fetch what completed in between, then wait. With
 *            the flag a call waits for the queues that are still armed.
 * Ownership: *cq is the connection's.
 * Threads:   any
 * Errors:    RPMA_E_INVAL            conn or cq is NULL
 *            RPMA_E_NOT_SHARED_CHNL  the channel is not shared
 *            RPMA_E_NO_COMPLETION    nothing is waiting (non-blocking), or a signal came, or with
 *                                    ARM_LATER no queue is armed that could notify
 *            RPMA_E_UNKNOWN          a notification of a foreign queue; it is acknowledged and
 *                                    dropped
 *            RPMA_E_PROVIDER         the next notification could not be asked for; *cq is NULL, and
 *                                    a later call asks again
 * Source:    src/conn.c
 */
int rpma_conn_wait(struct rpma_conn *conn, int flags, struct rpma_cq **cq, bool *is_rcq);

/*
 * rpma_conn_disconnect - end a connection
 *
 * Shape:     does not wait; rpma_conn_next_event brings CLOSED. What is still posted completes with
 *            a flush error. May be called before and after the peer's.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn is NULL
 *            RPMA_E_PROVIDER  rdma_cm refuses
 * Source:    src/conn.c
 */
int rpma_conn_disconnect(struct rpma_conn *conn);

/*
 * rpma_conn_delete - delete a connection in any state
 *
 * Shape:     runs every step, whatever fails, and sets *conn_ptr to NULL. A pointer to NULL is
 *            fine.
 * Ownership: ends the connection's completion queues and private data. What the device could not
 *            give back is leaked.
 * Threads:   one per connection
 * Errors:    RPMA_E_INVAL     conn_ptr is NULL
 *            RPMA_E_PROVIDER  the first step that failed
 * Source:    src/conn.c
 */
int rpma_conn_delete(struct rpma_conn **conn_ptr);

/* connection request: ours before it is sent, or a peer's before it is answered */

/*
 * rpma_conn_req_new - prepare a connection to addr:port
 *
 * Shape:     resolves, makes the queues and returns; the peer learns nothing yet. Waits for the
 *            name to be resolved, then up to the configuration's time-out for the address and again
 *            for the route. Only the first address of a name is tried. cfg may be NULL: see
 *            rpma_conn_cfg_new.
 * Ownership: borrows peer until the connection is deleted; addr, port and cfg are read during the
 *            call. Goes on with rpma_conn_req_connect, or rpma_conn_req_delete.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     peer, addr, port or req_ptr is NULL, or cfg has a shared completion
 *                             channel and a shared receive queue with a completion queue
 *            RPMA_E_NOMEM     out of memory
 *            RPMA_E_PROVIDER  resolution failed or the device refuses a queue
 * Source:    src/conn_req.c
 */
int rpma_conn_req_new(struct rpma_peer *peer, const char *addr, const char *port,
	const struct rpma_conn_cfg *cfg, struct rpma_conn_req **req_ptr);

/*
 * rpma_conn_req_delete - drop a request; an incoming one is rejected
 *
 * Shape:     runs every step, whatever fails, and sets *req_ptr to NULL. A pointer to NULL is fine.
 * Ownership: what the device could not give back is leaked.
 * Threads:   one per request
 * Errors:    RPMA_E_INVAL     req_ptr is NULL
 *            RPMA_E_PROVIDER  the first step that failed
 * Source:    src/conn_req.c
 */
int rpma_conn_req_delete(struct rpma_conn_req **req_ptr);

/*
 * rpma_conn_req_connect - connect, or accept an incoming request
 *
 * Shape:     does not wait; the end is an event of the connection. The request is used up and
 *            *req_ptr set to NULL whatever the result; when accepting fails, the peer is rejected.
 *            pdata may be NULL; its bytes travel to the peer.
 * Units:     pdata->len in bytes; above the transport's limit the call fails with RPMA_E_PROVIDER
 * Ownership: pdata is read during the call. Delete the connection with rpma_conn_delete. Private
 *            data of an incoming request moves to the connection, at the same address.
 * Threads:   one per request
 * Errors:    RPMA_E_INVAL     req_ptr or *req_ptr is NULL; conn_ptr is NULL, or pdata has a NULL
 *                             ptr or a len of 0: then the request is deleted
 *            RPMA_E_NOMEM     out of memory
 *            RPMA_E_PROVIDER  rdma_cm refuses
 * Source:    src/conn_req.c
 */
int rpma_conn_req_connect(struct rpma_conn_req **req_ptr,
	const struct rpma_conn_private_data *pdata, struct rpma_conn **conn_ptr);

/*
 * rpma_conn_req_recv - post a receive before the connection exists
 *
 * Shape:     queues and returns. A receive posted here is there before the peer's first message.
 * Units:     offset and len in bytes, inside the region; len at most UINT32_MAX
 * Ownership: borrows dst's memory until the receive completes on the connection; op_context comes
 *            back as wr_id and may be NULL.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     req or dst is NULL, or the range is outside the region
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM means that the receive queue is full; with
 *                             a shared receive queue it always does, see rpma_srq_recv
 * Source:    src/conn_req.c
 */
int rpma_conn_req_recv(struct rpma_conn_req *req, struct rpma_mr_local *dst, size_t offset,
	size_t len, const void *op_context);

/*
 * rpma_conn_req_get_private_data - private data of an incoming request
 *
 * Shape:     {NULL, 0} if there is none, and always for a request of our own.
 * Units:     pdata->len in bytes
 * Ownership: the bytes are the request's, then the connection's, at the same address.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     req or pdata is NULL
 * Source:    src/conn_req.c
 */
int rpma_conn_req_get_private_data(
	const struct rpma_conn_req *req, struct rpma_conn_private_data *pdata);

/* endpoint: where requests come in */

/*
 * rpma_ep_listen - listen for connection requests at addr:port
 *
 * Shape:     returns at once, apart from the time that it takes to resolve a name. Requests queue
 *            up in the kernel until rpma_ep_next_conn_req.
 * Ownership: borrows peer until rpma_ep_shutdown; addr and port are read during the call.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     an argument is NULL
 *            RPMA_E_NOMEM     out of memory
 *            RPMA_E_PROVIDER  the address cannot be resolved, bound or listened at
 * Source:    src/ep.c
 */
int rpma_ep_listen(
	struct rpma_peer *peer, const char *addr, const char *port, struct rpma_ep **ep_ptr);

/*
 * rpma_ep_shutdown - stop listening
 *
 * Shape:     sets *ep_ptr to NULL, also when it fails. A pointer to NULL is fine. Requests that
 *            nobody fetched are dropped; those fetched, and connections, go on.
 * Threads:   one per endpoint
 * Errors:    RPMA_E_INVAL     ep_ptr is NULL
 *            RPMA_E_PROVIDER  rdma_cm refuses; what it did not give back is leaked
 * Source:    src/ep.c
 */
int rpma_ep_shutdown(struct rpma_ep **ep_ptr);

/*
 * rpma_ep_get_fd - file descriptor of an endpoint
 *
 * Shape:     readable while rpma_ep_next_conn_req has something to fetch. Blocking, until the
 *            caller sets O_NONBLOCK.
 * Ownership: the endpoint's; do not close it.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     ep or fd is NULL
 * Source:    src/ep.c
 */
int rpma_ep_get_fd(const struct rpma_ep *ep, int *fd);

/*
 * rpma_ep_next_conn_req - fetch the next connection request
 *
 * Shape:     waits for it, unless the endpoint's descriptor is non-blocking. The request comes with
 *            its queues, made after cfg (NULL: see rpma_conn_cfg_new). When they cannot be made,
 *            the peer is rejected. A signal handler that runs during the wait ends it with
 *            RPMA_E_NO_EVENT: call again.
 * Ownership: cfg is read during the call. The request borrows the endpoint's peer, not the
 *            endpoint. Goes on with rpma_conn_req_connect, or rpma_conn_req_delete.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     ep or req_ptr is NULL, or the event is not a request; that event is
 *                             skipped; or cfg does not go together (see rpma_conn_req_new); the
 *                             peer is rejected
 *            RPMA_E_NO_EVENT  nothing is waiting (non-blocking), or a signal came; nothing is
 *                             logged
 *            RPMA_E_NOMEM     out of memory
 *            RPMA_E_PROVIDER  the device refuses a queue, or the event cannot be fetched; when it
 *                             cannot be acknowledged, or the request not be moved away from the
 *                             endpoint, the request is rejected and *req_ptr set to NULL
 * Source:    src/ep.c
 */
int rpma_ep_next_conn_req(
	struct rpma_ep *ep, const struct rpma_conn_cfg *cfg, struct rpma_conn_req **req_ptr);

/* configuration of a shared receive queue: sizes, before there is one */

struct rpma_srq_cfg;

/*
 * rpma_srq_cfg_new - make a configuration for shared receive queues
 *
 * Shape:     with the values that hold when no configuration is given: receive queue 20, receive
 *            completion queue 20.
 * Ownership: delete it with rpma_srq_cfg_delete. A call that takes a configuration copies what it
 *            needs.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg_ptr is NULL
 *            RPMA_E_NOMEM     out of memory; *cfg_ptr is then NULL
 * Source:    src/srq_cfg.c
 */
int rpma_srq_cfg_new(struct rpma_srq_cfg **cfg_ptr);

/*
 * rpma_srq_cfg_delete - delete a configuration for shared receive queues
 *
 * Shape:     sets *cfg_ptr to NULL. A pointer to NULL is fine.
 * Threads:   one per configuration
 * Errors:    RPMA_E_INVAL     cfg_ptr is NULL
 * Source:    src/srq_cfg.c
 */
int rpma_srq_cfg_delete(struct rpma_srq_cfg **cfg_ptr);

/*
 * rpma_srq_cfg_set_rq_size - length of the shared receive queue
 *
 * Shape:     the device may round up; it refuses 0, and more than it can hold, in rpma_srq_new.
 * Units:     receives
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg is NULL
 * Source:    src/srq_cfg.c
 */
int rpma_srq_cfg_set_rq_size(struct rpma_srq_cfg *cfg, uint32_t rq_size);

/*
 * rpma_srq_cfg_get_rq_size - the length that was set for the shared receive queue
 *
 * Shape:     writes what rpma_srq_cfg_set_rq_size has set, or the default.
 * Units:     receives
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg or rq_size is NULL
 * Source:    src/srq_cfg.c
 */
int rpma_srq_cfg_get_rq_size(const struct rpma_srq_cfg *cfg, uint32_t *rq_size);

/*
 * rpma_srq_cfg_set_rcq_size - length of a completion queue for the receives of all connections
 *
 * Shape:     it has to hold every completion that is not fetched yet; rq_size is always enough. 0
 *            means that there is none: receives complete with the connection that took them, see
 *            rpma_conn_cfg_set_srq.
 * Units:     completions; values above INT_MAX count as INT_MAX
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg is NULL
 * Source:    src/srq_cfg.c
 */
int rpma_srq_cfg_set_rcq_size(struct rpma_srq_cfg *cfg, uint32_t rcq_size);

/*
 * rpma_srq_cfg_get_rcq_size - the length that was set for the completion queue
 *
 * Shape:     writes what rpma_srq_cfg_set_rcq_size has set, or the default.
 * Units:     completions
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cfg or rcq_size is NULL
 * Source:    src/srq_cfg.c
 */
int rpma_srq_cfg_get_rcq_size(const struct rpma_srq_cfg *cfg, uint32_t *rcq_size);

/* shared receive queue: receives that several connections of a peer draw from */

/*
 * rpma_srq_new - make a shared receive queue
 *
 * Shape:     cfg may be NULL: see rpma_srq_cfg_new. Connections come to it by
 *            rpma_conn_cfg_set_srq. Receives may be posted before there is one.
 * Ownership: borrows peer until rpma_srq_delete; cfg is read during the call.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     peer or srq_ptr is NULL
 *            RPMA_E_NOMEM     out of memory; *srq_ptr is then NULL
 *            RPMA_E_PROVIDER  the device refuses a queue
 * Source:    src/srq.c
 */
int rpma_srq_new(struct rpma_peer *peer, struct rpma_srq_cfg *cfg, struct rpma_srq **srq_ptr);

/*
 * rpma_srq_delete - delete a shared receive queue
 *
 * Shape:     runs every step, whatever fails, and sets *srq_ptr to NULL, so it cannot be called
 *            again. A pointer to NULL is fine.
 * Ownership: delete its connections and their requests first, or the device refuses. Ends the
 *            queue's completion queue. Receives nobody took are dropped without a completion, and
 *            their memory is the caller's again. What the device could not give back is leaked; it
 *            may still write to memory that was posted.
 * Threads:   one per shared receive queue
 * Errors:    RPMA_E_INVAL     srq_ptr is NULL
 *            RPMA_E_PROVIDER  the first step that failed; EBUSY means that there are connections
 * Source:    src/srq.c
 */
int rpma_srq_delete(struct rpma_srq **srq_ptr);

/*
 * rpma_srq_recv - post one receive for whichever connection gets a message next
 *
 * Shape:     queues and returns; never waits. Completes as in rpma_recv, with the number of the
 *            connection that took it in qp_num (see rpma_conn_get_qp_num). A connection that ends
 *            leaves the receives to the others. A NULL region with offset and len 0 takes an empty
 *            message.
 * Units:     offset and len in bytes, inside the region; len at most UINT32_MAX
 * Ownership: borrows dst's memory until the receive completes, or the shared receive queue was
 *            deleted. op_context comes back as wr_id.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     srq is NULL, dst is NULL and offset or len is not 0, or the range is
 *                             outside the region
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM means that the queue is full
 * Source:    src/srq.c
 */
int rpma_srq_recv(struct rpma_srq *srq, struct rpma_mr_local *dst, size_t offset, size_t len,
	const void *op_context);

/*
 * rpma_srq_get_rcq - the completion queue for the receives of all connections
 *
 * Shape:     writes NULL if there is none; see rpma_srq_cfg_set_rcq_size. Its completion channel is
 *            its own: wait with rpma_cq_wait.
 * Ownership: the shared receive queue's; it ends with rpma_srq_delete.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     srq or rcq_ptr is NULL
 * Source:    src/srq.c
 */
int rpma_srq_get_rcq(const struct rpma_srq *srq, struct rpma_cq **rcq_ptr);

/* remote operations: one work request each */

/* how a flush is meant */
enum rpma_flush_type { RPMA_FLUSH_TYPE_PERSISTENT, RPMA_FLUSH_TYPE_VISIBILITY };

/* flags of an operation: completion only when it fails, or always */
#define RPMA_F_COMPLETION_ON_ERROR (1 << 0)
#define RPMA_F_COMPLETION_ALWAYS   (1 << 1 | RPMA_F_COMPLETION_ON_ERROR)

/* flush and atomic write only: emulated, though the device has the operation itself */
#define RPMA_F_EMULATED (1 << 9)

/* bytes that an atomic write moves, and what its destination is aligned to */
#define RPMA_ATOMIC_WRITE_ALIGNMENT 8

/*
 * rpma_read - start one READ of remote bytes into a local region
 *
 * Shape:     queues and returns; never waits. Completes as IBV_WC_RDMA_READ; the peer's program
 *            notices nothing. NULL for both regions and 0 for all three numbers is a read of no
 *            bytes. flags is RPMA_F_COMPLETION_ALWAYS, or RPMA_F_COMPLETION_ON_ERROR; after a row
 *            of reads with ON_ERROR alone the send queue is full for good: let at least one per
 *            queue length be ALWAYS.
 * Units:     offsets in bytes from each region's start; len in bytes, at most UINT32_MAX; ranges
 *            inside the regions
 * Ownership: borrows dst's memory until the operation completes; src may be deleted at once.
 *            op_context comes back as wr_id.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn is NULL, flags is 0, one region is NULL and the other is not,
 *                             both are NULL and a number is not 0, or a range is outside its region
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM means that the send queue is full
 * Source:    src/op.c
 */
int rpma_read(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t dst_offset,
	const struct rpma_mr_remote *src, size_t src_offset, size_t len, int flags,
	const void *op_context);

/*
 * rpma_write - start one WRITE of local bytes into a remote region
 *
 * Shape:     queues and returns; never waits. Completes as IBV_WC_RDMA_WRITE when the peer's device
 *            has acknowledged it; whether the bytes can be seen there, or survive a loss of power,
 *            is what rpma_flush is for. The peer's program notices nothing. NULL for both regions
 *            and 0 for all three numbers is a write of no bytes. flags as in rpma_read.
 * Units:     offsets in bytes from each region's start; len in bytes, at most UINT32_MAX; ranges
 *            inside the regions
 * Ownership: borrows src's memory until the operation completes; dst may be deleted at once.
 *            op_context comes back as wr_id.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn is NULL, flags is 0, one region is NULL and the other is not,
 *                             both are NULL and a number is not 0, or a range is outside its region
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM means that the send queue is full
 * Source:    src/op.c
 */
int rpma_write(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	const struct rpma_mr_local *src, size_t src_offset, size_t len, int flags,
	const void *op_context);

/*
 * rpma_write_with_imm - write, and tell the peer with 32 bits of immediate data
 *
 * Shape:     as rpma_write. At the peer it takes one receive, whose memory stays as it is; the
 *            completion is IBV_WC_RECV_RDMA_WITH_IMM, has IBV_WC_WITH_IMM in wc_flags, the length
 *            of the write in byte_len, and the number in imm_data, in network byte order: read it
 *            with ntohl.
 * Units:     offsets in bytes from each region's start; len in bytes, at most UINT32_MAX; ranges
 *            inside the regions; imm in host byte order
 * Ownership: borrows src's memory until the operation completes; dst may be deleted at once.
 *            op_context comes back as wr_id.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn is NULL, flags is 0, one region is NULL and the other is not,
 *                             both are NULL and a number is not 0, or a range is outside its region
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM means that the send queue is full
 * Source:    src/op.c
 */
int rpma_write_with_imm(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	const struct rpma_mr_local *src, size_t src_offset, size_t len, int flags, uint32_t imm,
	const void *op_context);

/*
 * rpma_atomic_write - write 8 bytes so that a reader sees all of them or none
 *
 * Shape:     queues and returns; never waits. Takes effect after the writes and flushes that were
 *            posted before it. Completes as IBV_WC_RDMA_WRITE, or as IBV_WC_ATOMIC_WRITE where the
 *            device writes atomically by itself; RPMA_F_EMULATED in flags, or RPMA_NATIVE=0 in the
 *            environment when the peer is made, keeps it from doing so. flags else as in rpma_read.
 * Units:     dst_offset in bytes; it and the remote address are multiples of
 *            RPMA_ATOMIC_WRITE_ALIGNMENT
 * Ownership: src is copied; dst may be deleted at once. op_context comes back as wr_id.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn, dst or src is NULL, flags is 0, the destination is not aligned,
 *                             or not inside the region
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM means that the send queue is full; a
 *                             device without inline data and without native atomic write refuses
 *                             always
 * Source:    src/op.c
 */
int rpma_atomic_write(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset,
	const char src[8], int flags, const void *op_context);

/*
 * rpma_flush - make sure that earlier writes have arrived
 *
 * Shape:     queues and returns; never waits. When it completes, the bytes of the range that were
 *            written by operations posted before it can be seen by the peer's program (VISIBILITY),
 *            or survive a loss of power (PERSISTENT). Where the device flushes by itself the
 *            completion is IBV_WC_FLUSH. Elsewhere, and towards regions that do not take a native
 *            flush, the flush is a small read, IBV_WC_RDMA_READ: it is strong enough for
 *            PERSISTENT because that is refused unless the peer has declared direct write
 *            (rpma_conn_apply_remote_peer_cfg). Whether the peer's device flushes natively cannot
 *            be asked; towards one that does not, the first native flush breaks the connection:
 *            RPMA_F_EMULATED in flags, or RPMA_NATIVE=0 in the environment when the peer is made,
 *            chooses the read. flags else as in rpma_read.
 * Units:     dst_offset and len in bytes, inside the region; len may exceed UINT32_MAX
 * Ownership: dst may be deleted at once. op_context comes back as wr_id.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn or dst is NULL, flags is 0, there is no such type, or the range
 *                             is outside the region
 *            RPMA_E_NOSUPP    PERSISTENT without the peer's declaration of direct write, or the
 *                             region was not registered for that type of flush
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM means that the send queue is full
 * Source:    src/op.c, src/flush.c
 */
int rpma_flush(struct rpma_conn *conn, struct rpma_mr_remote *dst, size_t dst_offset, size_t len,
	enum rpma_flush_type type, int flags, const void *op_context);

/*
 * rpma_send - send one message
 *
 * Shape:     queues and returns; never waits. Completes as IBV_WC_SEND; at the peer it takes one
 *            receive. A NULL region with offset and len 0 sends an empty message. flags as in
 *            rpma_read.
 * Units:     offset and len in bytes, inside the region; len at most UINT32_MAX
 * Ownership: borrows src's memory until the operation completes. op_context comes back as wr_id.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn is NULL, flags is 0, src is NULL and offset or len is not 0, or
 *                             the range is outside the region
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM means that the send queue is full
 * Source:    src/op.c
 */
int rpma_send(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset, size_t len,
	int flags, const void *op_context);

/*
 * rpma_send_with_imm - send one message with 32 bits of immediate data
 *
 * Shape:     as rpma_send. The peer's completion has IBV_WC_WITH_IMM in wc_flags and the number in
 *            imm_data, in network byte order: read it with ntohl.
 * Units:     offset and len in bytes, inside the region; len at most UINT32_MAX; imm in host byte
 *            order
 * Ownership: borrows src's memory until the operation completes. op_context comes back as wr_id.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn is NULL, flags is 0, src is NULL and offset or len is not 0, or
 *                             the range is outside the region
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM means that the send queue is full
 * Source:    src/op.c
 */
int rpma_send_with_imm(struct rpma_conn *conn, const struct rpma_mr_local *src, size_t offset,
	size_t len, int flags, uint32_t imm, const void *op_context);

/*
 * rpma_recv - post one receive
 *
 * Shape:     queues and returns; never waits. Always completes: as IBV_WC_RECV, byte_len telling
 *            the length of the message. A NULL region with offset and len 0 takes an empty message.
 * Units:     offset and len in bytes, inside the region; len at most UINT32_MAX
 * Ownership: borrows dst's memory until the receive completes. op_context comes back as wr_id.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     conn is NULL, dst is NULL and offset or len is not 0, or the range is
 *                             outside the region
 *            RPMA_E_PROVIDER  the device refuses; ENOMEM means that the receive queue is full; with
 *                             a shared receive queue it always does, see rpma_srq_recv
 * Source:    src/op.c
 */
int rpma_recv(struct rpma_conn *conn, struct rpma_mr_local *dst, size_t offset, size_t len,
	const void *op_context);

/* completion queue: what has become of operations */

/*
 * rpma_cq_get_fd - file descriptor of a completion queue's channel
 *
 * Shape:     readable while rpma_cq_wait (shared channel: rpma_conn_wait) has something to fetch.
 *            Blocking, until the caller sets O_NONBLOCK.
 * Ownership: the queue's; do not close it.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     cq or fd is NULL
 * Source:    src/cq.c
 */
int rpma_cq_get_fd(const struct rpma_cq *cq, int *fd);

/*
 * rpma_cq_wait - wait until a completion queue has something
 *
 * Shape:     waits, unless the descriptor is non-blocking; then asks for the next notification.
 *            Fetch with rpma_cq_get_wc until it says RPMA_E_NO_COMPLETION before waiting again:
 *            what stays behind notifies nobody. It may find nothing, that is normal.
 * Threads:   any
 * Errors:    RPMA_E_INVAL           cq is NULL
 *            RPMA_E_SHARED_CHANNEL  the channel is shared: use rpma_conn_wait
 *            RPMA_E_NO_COMPLETION   nothing is waiting (non-blocking), or a signal came
 *            RPMA_E_PROVIDER        the next notification could not be asked for
 * Source:    src/cq.c
 */
int rpma_cq_wait(struct rpma_cq *cq);

/*
 * rpma_cq_get_wc - fetch completions
 *
 * Shape:     never waits. Writes up to num_entries completions to wc and their count to
 *            num_entries_got, which may be NULL if num_entries is 1. In a completion wr_id is the
 *            operation's op_context; if its status is not IBV_WC_SUCCESS, only wr_id, status,
 *            qp_num and vendor_err count.
 * Units:     num_entries in elements of wc, at least 1
 * Threads:   any
 * Errors:    RPMA_E_INVAL          cq or wc is NULL, num_entries is below 1, or above 1 with
 *                                  num_entries_got NULL
 *            RPMA_E_NO_COMPLETION  the queue is empty
 *            RPMA_E_PROVIDER       the queue cannot be polled
 *            RPMA_E_UNKNOWN        the device returned more than was asked for
 * Source:    src/cq.c
 */
int rpma_cq_get_wc(struct rpma_cq *cq, int num_entries, struct ibv_wc *wc, int *num_entries_got);

/* log: what the library has to tell people */

/* a smaller number is more severe */
enum rpma_log_level {
	RPMA_LOG_DISABLED = -1,
	RPMA_LOG_LEVEL_FATAL,
	RPMA_LOG_LEVEL_ERROR,
	RPMA_LOG_LEVEL_WARNING,
	RPMA_LOG_LEVEL_NOTICE,
	RPMA_LOG_LEVEL_INFO,
	RPMA_LOG_LEVEL_DEBUG
};

/* the main threshold decides what is logged at all, the auxiliary one what also goes to stderr */
enum rpma_log_threshold { RPMA_LOG_THRESHOLD, RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_THRESHOLD_MAX };

#define RPMA_LOG_USE_DEFAULT_FUNCTION (NULL)

/*
 * A program's own log function. It runs on the thread that logs, inside the call that logs; no lock
 * is held. message_format ends with a newline. It may change errno.
 */
typedef void rpma_log_function(enum rpma_log_level level, const char *file_name, const int line_no,
	const char *function_name, const char *message_format, ...);

/*
 * rpma_log_set_threshold - set how severe a message has to be
 *
 * Shape:     holds for the whole process: messages of this level and of the more severe ones pass.
 *            A new process has WARNING for the main and DISABLED for the auxiliary threshold; with
 *            a library that was built as Debug, DEBUG and WARNING.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     no such threshold or level
 *            RPMA_E_AGAIN     never; programs written for builds without C11 atomics expect it
 * Source:    src/log.c
 */
int rpma_log_set_threshold(enum rpma_log_threshold threshold, enum rpma_log_level level);

/*
 * rpma_log_get_threshold - how severe a message has to be
 *
 * Shape:     writes what rpma_log_set_threshold has set, or the default.
 * Threads:   any
 * Errors:    RPMA_E_INVAL     no such threshold, or level is NULL
 * Source:    src/log.c
 */
int rpma_log_get_threshold(enum rpma_log_threshold threshold, enum rpma_log_level *level);

/*
 * rpma_log_set_function - log with a function of the program
 *
 * Shape:     holds for the whole process. RPMA_LOG_USE_DEFAULT_FUNCTION selects the built-in one,
 *            which writes to syslog (facility local7, the text starts with "rpma") and, up to the
 *            auxiliary threshold, to stderr. It leaves the program's own syslog settings alone.
 * Ownership: the function has to stay callable as long as it is set.
 * Threads:   any
 * Errors:    RPMA_E_AGAIN     never; programs written for builds without C11 atomics expect it
 * Source:    src/log.c
 */
int rpma_log_set_function(rpma_log_function *log_function);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* LIBRPMA_H */
