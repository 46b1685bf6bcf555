/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * layout.c - numbers and layouts that programs were compiled with, and prototypes
 *
 * It is compiled, as C and as C++, and not run. The transitive includes of librpma.h are part of
 * what programs rely on, so assert.h is the only one that is added here.
 */

#include "librpma.h"

#include <assert.h>

#define HAS(name, value) static_assert((name) == (value), #name " has changed")

/* what librpma.h includes for its programs */
static_assert(sizeof(FILE) > 0, "stdio.h");
static_assert(sizeof(size_t) == 8 && sizeof(bool) == 1 && sizeof(uint8_t) == 1, "LP64");
static_assert(sizeof(struct ibv_wc) > 0 && ENOMEM > 0 && sizeof(strlen("")) == 8, "verbs.h");

HAS(LIBRPMA_H, 1);

HAS(RPMA_E_UNKNOWN, -100000);
HAS(RPMA_E_NOSUPP, -100001);
HAS(RPMA_E_PROVIDER, -100002);
HAS(RPMA_E_NOMEM, -100003);
HAS(RPMA_E_INVAL, -100004);
HAS(RPMA_E_NO_COMPLETION, -100005);
HAS(RPMA_E_NO_EVENT, -100006);
HAS(RPMA_E_AGAIN, -100007);
HAS(RPMA_E_SHARED_CHANNEL, -100008);
HAS(RPMA_E_NOT_SHARED_CHNL, -100009);
HAS(RPMA_W_WAIT_FOR_COMPLETION, 1);
HAS(RPMA_DEFAULT_TIMEOUT_MS, 1000);

HAS(RPMA_UTIL_IBV_CONTEXT_LOCAL, 0);
HAS(RPMA_UTIL_IBV_CONTEXT_REMOTE, 1);
HAS(RPMA_CONN_UNDEFINED, -1);
HAS(RPMA_CONN_ESTABLISHED, 0);
HAS(RPMA_CONN_CLOSED, 1);
HAS(RPMA_CONN_LOST, 2);
HAS(RPMA_CONN_REJECTED, 3);
HAS(RPMA_CONN_UNREACHABLE, 4);
HAS(RPMA_FLUSH_TYPE_PERSISTENT, 0);
HAS(RPMA_FLUSH_TYPE_VISIBILITY, 1);
HAS(RPMA_LOG_DISABLED, -1);
HAS(RPMA_LOG_LEVEL_FATAL, 0);
HAS(RPMA_LOG_LEVEL_ERROR, 1);
HAS(RPMA_LOG_LEVEL_WARNING, 2);
HAS(RPMA_LOG_LEVEL_NOTICE, 3);
HAS(RPMA_LOG_LEVEL_INFO, 4);
HAS(RPMA_LOG_LEVEL_DEBUG, 5);
HAS(RPMA_LOG_THRESHOLD, 0);
HAS(RPMA_LOG_THRESHOLD_AUX, 1);
HAS(RPMA_LOG_THRESHOLD_MAX, 2);
HAS(sizeof(enum rpma_util_ibv_context_type), 4);
HAS(sizeof(enum rpma_conn_event), 4);
HAS(sizeof(enum rpma_flush_type), 4);
HAS(sizeof(enum rpma_log_level), 4);
HAS(sizeof(enum rpma_log_threshold), 4);

HAS(RPMA_MR_USAGE_READ_SRC, 0x01);
HAS(RPMA_MR_USAGE_READ_DST, 0x02);
HAS(RPMA_MR_USAGE_WRITE_SRC, 0x04);
HAS(RPMA_MR_USAGE_WRITE_DST, 0x08);
HAS(RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, 0x10);
HAS(RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, 0x20);
HAS(RPMA_MR_USAGE_SEND, 0x40);
HAS(RPMA_MR_USAGE_RECV, 0x80);
HAS(RPMA_F_COMPLETION_ON_ERROR, 1);
HAS(RPMA_F_COMPLETION_ALWAYS, 3);
HAS(RPMA_ATOMIC_WRITE_ALIGNMENT, 8);
HAS(RPMA_CONN_WAIT_ARM_LATER, 0x100);

HAS(sizeof(struct rpma_conn_private_data), 16);
HAS(offsetof(struct rpma_conn_private_data, ptr), 0);
HAS(offsetof(struct rpma_conn_private_data, len), 8);
HAS(sizeof(((struct rpma_conn_private_data *)NULL)->len), 1);

/* a function type: a program declares its function with it, and may set it */
rpma_log_function log_of_a_program;
int set_it(void);

int set_it(void)
{
	return rpma_log_set_function(log_of_a_program) +
	       rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION);
}
