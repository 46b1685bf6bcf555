/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * layout.c - prints numbers and layouts that programs were compiled with, and checks prototypes
 *
 * It is compiled as C and as C++, with our header and with the original's. The transitive includes of
 * librpma.h are part of what programs rely on, so assert.h, and what C++ compares types with, are the
 * only ones that are added here. Nothing of the library is called.
 */

#include <librpma.h>

#include <assert.h>

/* what librpma.h includes for its programs */
static_assert(sizeof(FILE) > 0, "stdio.h");
static_assert(sizeof(size_t) == 8 && sizeof(bool) == 1 && sizeof(uint8_t) == 1, "LP64");
static_assert(sizeof(struct ibv_wc) > 0 && ENOMEM > 0 && sizeof(strlen("")) == 8, "verbs.h");

/* a function type: a program declares its function with it */
rpma_log_function log_of_a_program;
static_assert(sizeof(&log_of_a_program) == sizeof(void *), "to be set");

/* what ours has and the original has not: no list to compare with, but promised all the same */
#ifdef LAYOUT_OURS
static_assert(RPMA_CONN_WAIT_ARM_LATER == 0x100, "RPMA_CONN_WAIT_ARM_LATER");
static_assert(RPMA_F_EMULATED == 0x200, "RPMA_F_EMULATED");
#endif

#ifdef __cplusplus
#include <type_traits>
#define SAME(name, ret, args) std::is_same<decltype(&name), ret(*) args>::value
#else
#define SAME(name, ret, args) __builtin_types_compatible_p(__typeof__(&name), ret(*) args)
#endif

#define NUMBER(name) printf("%s = %lld\n", #name, (long long)(name))
#define FUNCTION(name, ret, args)                            \
	do {                                                 \
		static_assert(SAME(name, ret, args), #name); \
		printf("%s\n", #name);                       \
	} while (0)

static void print_numbers(void)
{
	NUMBER(LIBRPMA_H);
	NUMBER(RPMA_E_UNKNOWN);
	NUMBER(RPMA_E_NOSUPP);
	NUMBER(RPMA_E_PROVIDER);
	NUMBER(RPMA_E_NOMEM);
	NUMBER(RPMA_E_INVAL);
	NUMBER(RPMA_E_NO_COMPLETION);
	NUMBER(RPMA_E_NO_EVENT);
	NUMBER(RPMA_E_AGAIN);
	NUMBER(RPMA_E_SHARED_CHANNEL);
	NUMBER(RPMA_E_NOT_SHARED_CHNL);
	NUMBER(RPMA_W_WAIT_FOR_COMPLETION);
	NUMBER(RPMA_DEFAULT_TIMEOUT_MS);
	NUMBER(RPMA_UTIL_IBV_CONTEXT_LOCAL);
	NUMBER(RPMA_UTIL_IBV_CONTEXT_REMOTE);
	NUMBER(RPMA_CONN_UNDEFINED);
	NUMBER(RPMA_CONN_ESTABLISHED);
	NUMBER(RPMA_CONN_CLOSED);
	NUMBER(RPMA_CONN_LOST);
	NUMBER(RPMA_CONN_REJECTED);
	NUMBER(RPMA_CONN_UNREACHABLE);
	NUMBER(RPMA_FLUSH_TYPE_PERSISTENT);
	NUMBER(RPMA_FLUSH_TYPE_VISIBILITY);
	NUMBER(RPMA_LOG_DISABLED);
	NUMBER(RPMA_LOG_LEVEL_FATAL);
	NUMBER(RPMA_LOG_LEVEL_ERROR);
	NUMBER(RPMA_LOG_LEVEL_WARNING);
	NUMBER(RPMA_LOG_LEVEL_NOTICE);
	NUMBER(RPMA_LOG_LEVEL_INFO);
	NUMBER(RPMA_LOG_LEVEL_DEBUG);
	NUMBER(RPMA_LOG_THRESHOLD);
	NUMBER(RPMA_LOG_THRESHOLD_AUX);
	NUMBER(RPMA_LOG_THRESHOLD_MAX);
	NUMBER(sizeof(enum rpma_util_ibv_context_type));
	NUMBER(sizeof(enum rpma_conn_event));
	NUMBER(sizeof(enum rpma_flush_type));
	NUMBER(sizeof(enum rpma_log_level));
	NUMBER(sizeof(enum rpma_log_threshold));
	NUMBER(RPMA_MR_USAGE_READ_SRC);
	NUMBER(RPMA_MR_USAGE_READ_DST);
	NUMBER(RPMA_MR_USAGE_WRITE_SRC);
	NUMBER(RPMA_MR_USAGE_WRITE_DST);
	NUMBER(RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
	NUMBER(RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	NUMBER(RPMA_MR_USAGE_SEND);
	NUMBER(RPMA_MR_USAGE_RECV);
	NUMBER(RPMA_F_COMPLETION_ON_ERROR);
	NUMBER(RPMA_F_COMPLETION_ALWAYS);
	NUMBER(RPMA_ATOMIC_WRITE_ALIGNMENT);
	NUMBER(sizeof(struct rpma_conn_private_data));
	NUMBER(offsetof(struct rpma_conn_private_data, ptr));
	NUMBER(offsetof(struct rpma_conn_private_data, len));
	NUMBER(sizeof(((struct rpma_conn_private_data *)NULL)->len));
}

static void print_functions(void)
{
	FUNCTION(rpma_atomic_write, int,
		(struct rpma_conn *, struct rpma_mr_remote *, size_t, const char *, int,
			const void *));
	FUNCTION(rpma_conn_apply_remote_peer_cfg, int,
		(struct rpma_conn *, const struct rpma_peer_cfg *));
	FUNCTION(rpma_conn_cfg_delete, int, (struct rpma_conn_cfg **));
	FUNCTION(rpma_conn_cfg_get_compl_channel, int, (const struct rpma_conn_cfg *, bool *));
	FUNCTION(rpma_conn_cfg_get_cq_size, int, (const struct rpma_conn_cfg *, uint32_t *));
	FUNCTION(rpma_conn_cfg_get_rcq_size, int, (const struct rpma_conn_cfg *, uint32_t *));
	FUNCTION(rpma_conn_cfg_get_rq_size, int, (const struct rpma_conn_cfg *, uint32_t *));
	FUNCTION(rpma_conn_cfg_get_sq_size, int, (const struct rpma_conn_cfg *, uint32_t *));
	FUNCTION(rpma_conn_cfg_get_srq, int, (const struct rpma_conn_cfg *, struct rpma_srq **));
	FUNCTION(rpma_conn_cfg_get_timeout, int, (const struct rpma_conn_cfg *, int *));
	FUNCTION(rpma_conn_cfg_new, int, (struct rpma_conn_cfg **));
	FUNCTION(rpma_conn_cfg_set_compl_channel, int, (struct rpma_conn_cfg *, bool));
	FUNCTION(rpma_conn_cfg_set_cq_size, int, (struct rpma_conn_cfg *, uint32_t));
	FUNCTION(rpma_conn_cfg_set_rcq_size, int, (struct rpma_conn_cfg *, uint32_t));
	FUNCTION(rpma_conn_cfg_set_rq_size, int, (struct rpma_conn_cfg *, uint32_t));
	FUNCTION(rpma_conn_cfg_set_sq_size, int, (struct rpma_conn_cfg *, uint32_t));
	FUNCTION(rpma_conn_cfg_set_srq, int, (struct rpma_conn_cfg *, struct rpma_srq *));
	FUNCTION(rpma_conn_cfg_set_timeout, int, (struct rpma_conn_cfg *, int));
	FUNCTION(rpma_conn_delete, int, (struct rpma_conn **));
	FUNCTION(rpma_conn_disconnect, int, (struct rpma_conn *));
	FUNCTION(rpma_conn_get_compl_fd, int, (const struct rpma_conn *, int *));
	FUNCTION(rpma_conn_get_cq, int, (const struct rpma_conn *, struct rpma_cq **));
	FUNCTION(rpma_conn_get_event_fd, int, (const struct rpma_conn *, int *));
	FUNCTION(rpma_conn_get_private_data, int,
		(const struct rpma_conn *, struct rpma_conn_private_data *));
	FUNCTION(rpma_conn_get_qp_num, int, (const struct rpma_conn *, uint32_t *));
	FUNCTION(rpma_conn_get_rcq, int, (const struct rpma_conn *, struct rpma_cq **));
	FUNCTION(rpma_conn_next_event, int, (struct rpma_conn *, enum rpma_conn_event *));
	FUNCTION(rpma_conn_req_connect, int,
		(struct rpma_conn_req **, const struct rpma_conn_private_data *,
			struct rpma_conn **));
	FUNCTION(rpma_conn_req_delete, int, (struct rpma_conn_req **));
	FUNCTION(rpma_conn_req_get_private_data, int,
		(const struct rpma_conn_req *, struct rpma_conn_private_data *));
	FUNCTION(rpma_conn_req_new, int,
		(struct rpma_peer *, const char *, const char *, const struct rpma_conn_cfg *,
			struct rpma_conn_req **));
	FUNCTION(rpma_conn_req_recv, int,
		(struct rpma_conn_req *, struct rpma_mr_local *, size_t, size_t, const void *));
	FUNCTION(rpma_conn_wait, int, (struct rpma_conn *, int, struct rpma_cq **, bool *));
	FUNCTION(rpma_cq_get_fd, int, (const struct rpma_cq *, int *));
	FUNCTION(rpma_cq_get_wc, int, (struct rpma_cq *, int, struct ibv_wc *, int *));
	FUNCTION(rpma_cq_wait, int, (struct rpma_cq *));
	FUNCTION(rpma_ep_get_fd, int, (const struct rpma_ep *, int *));
	FUNCTION(rpma_ep_listen, int,
		(struct rpma_peer *, const char *, const char *, struct rpma_ep **));
	FUNCTION(rpma_ep_next_conn_req, int,
		(struct rpma_ep *, const struct rpma_conn_cfg *, struct rpma_conn_req **));
	FUNCTION(rpma_ep_shutdown, int, (struct rpma_ep **));
	FUNCTION(rpma_err_2str, const char *, (int));
	FUNCTION(rpma_flush, int,
		(struct rpma_conn *, struct rpma_mr_remote *, size_t, size_t, enum rpma_flush_type,
			int, const void *));
	FUNCTION(rpma_log_get_threshold, int, (enum rpma_log_threshold, enum rpma_log_level *));
	FUNCTION(rpma_log_set_function, int, (rpma_log_function *));
	FUNCTION(rpma_log_set_threshold, int, (enum rpma_log_threshold, enum rpma_log_level));
	FUNCTION(rpma_mr_advise, int, (struct rpma_mr_local *, size_t, size_t, int, uint32_t));
	FUNCTION(rpma_mr_dereg, int, (struct rpma_mr_local **));
	FUNCTION(rpma_mr_get_descriptor, int, (const struct rpma_mr_local *, void *));
	FUNCTION(rpma_mr_get_descriptor_size, int, (const struct rpma_mr_local *, size_t *));
	FUNCTION(rpma_mr_get_ptr, int, (const struct rpma_mr_local *, void **));
	FUNCTION(rpma_mr_get_size, int, (const struct rpma_mr_local *, size_t *));
	FUNCTION(rpma_mr_reg, int,
		(struct rpma_peer *, void *, size_t, int, struct rpma_mr_local **));
	FUNCTION(rpma_mr_remote_delete, int, (struct rpma_mr_remote **));
	FUNCTION(rpma_mr_remote_from_descriptor, int,
		(const void *, size_t, struct rpma_mr_remote **));
	FUNCTION(rpma_mr_remote_get_flush_type, int, (const struct rpma_mr_remote *, int *));
	FUNCTION(rpma_mr_remote_get_size, int, (const struct rpma_mr_remote *, size_t *));
	FUNCTION(rpma_peer_cfg_delete, int, (struct rpma_peer_cfg **));
	FUNCTION(rpma_peer_cfg_from_descriptor, int,
		(const void *, size_t, struct rpma_peer_cfg **));
	FUNCTION(rpma_peer_cfg_get_descriptor, int, (const struct rpma_peer_cfg *, void *));
	FUNCTION(rpma_peer_cfg_get_descriptor_size, int, (const struct rpma_peer_cfg *, size_t *));
	FUNCTION(rpma_peer_cfg_get_direct_write_to_pmem, int,
		(const struct rpma_peer_cfg *, bool *));
	FUNCTION(rpma_peer_cfg_new, int, (struct rpma_peer_cfg **));
	FUNCTION(rpma_peer_cfg_set_direct_write_to_pmem, int, (struct rpma_peer_cfg *, bool));
	FUNCTION(rpma_peer_delete, int, (struct rpma_peer **));
	FUNCTION(rpma_peer_new, int, (struct ibv_context *, struct rpma_peer **));
	FUNCTION(rpma_read, int,
		(struct rpma_conn *, struct rpma_mr_local *, size_t, const struct rpma_mr_remote *,
			size_t, size_t, int, const void *));
	FUNCTION(rpma_recv, int,
		(struct rpma_conn *, struct rpma_mr_local *, size_t, size_t, const void *));
	FUNCTION(rpma_send, int,
		(struct rpma_conn *, const struct rpma_mr_local *, size_t, size_t, int,
			const void *));
	FUNCTION(rpma_send_with_imm, int,
		(struct rpma_conn *, const struct rpma_mr_local *, size_t, size_t, int, uint32_t,
			const void *));
	FUNCTION(rpma_srq_cfg_delete, int, (struct rpma_srq_cfg **));
	FUNCTION(rpma_srq_cfg_get_rcq_size, int, (const struct rpma_srq_cfg *, uint32_t *));
	FUNCTION(rpma_srq_cfg_get_rq_size, int, (const struct rpma_srq_cfg *, uint32_t *));
	FUNCTION(rpma_srq_cfg_new, int, (struct rpma_srq_cfg **));
	FUNCTION(rpma_srq_cfg_set_rcq_size, int, (struct rpma_srq_cfg *, uint32_t));
	FUNCTION(rpma_srq_cfg_set_rq_size, int, (struct rpma_srq_cfg *, uint32_t));
	FUNCTION(rpma_srq_delete, int, (struct rpma_srq **));
	FUNCTION(rpma_srq_get_rcq, int, (const struct rpma_srq *, struct rpma_cq **));
	FUNCTION(
		rpma_srq_new, int, (struct rpma_peer *, struct rpma_srq_cfg *, struct rpma_srq **));
	FUNCTION(rpma_srq_recv, int,
		(struct rpma_srq *, struct rpma_mr_local *, size_t, size_t, const void *));
	FUNCTION(rpma_utils_conn_event_2str, const char *, (enum rpma_conn_event));
	FUNCTION(rpma_utils_get_ibv_context, int,
		(const char *, enum rpma_util_ibv_context_type, struct ibv_context **));
	FUNCTION(rpma_utils_ibv_context_is_odp_capable, int, (struct ibv_context *, int *));
	FUNCTION(rpma_write, int,
		(struct rpma_conn *, struct rpma_mr_remote *, size_t, const struct rpma_mr_local *,
			size_t, size_t, int, const void *));
	FUNCTION(rpma_write_with_imm, int,
		(struct rpma_conn *, struct rpma_mr_remote *, size_t, const struct rpma_mr_local *,
			size_t, size_t, int, uint32_t, const void *));
}

int main(void)
{
	print_numbers();
	print_functions();
	return 0;
}
