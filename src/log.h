/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * log.h - messages to the log
 *
 * ASSUMPTIONS
 * - The format is a string literal without the final newline, which the macros add.
 * - A message never changes errno, whatever the log function does.
 * - A cause is logged once, where it is found.
 */

#ifndef RPMA_LOG_H
#define RPMA_LOG_H

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "librpma.h"

extern _Atomic(rpma_log_function *) rpma__log_function;
extern _Atomic(enum rpma_log_level) rpma__log_thresholds[RPMA_LOG_THRESHOLD_MAX];

/* sizeof evaluates nothing; it makes the compiler compare the arguments with the format */
#define RPMA__LOG(level, format, ...)                                                             \
	do {                                                                                      \
		(void)sizeof(printf(format "\n", ##__VA_ARGS__));                                 \
		if ((level) <= atomic_load(&rpma__log_thresholds[RPMA_LOG_THRESHOLD])) {          \
			const int log_errno = errno;                                              \
			rpma_log_function *const log_function = atomic_load(&rpma__log_function); \
			log_function(                                                             \
				level, __FILE__, __LINE__, __func__, format "\n", ##__VA_ARGS__); \
			errno = log_errno;                                                        \
		}                                                                                 \
	} while (0)

#define RPMA_LOG_FATAL(...)   RPMA__LOG(RPMA_LOG_LEVEL_FATAL, __VA_ARGS__)
#define RPMA_LOG_ERROR(...)   RPMA__LOG(RPMA_LOG_LEVEL_ERROR, __VA_ARGS__)
#define RPMA_LOG_WARNING(...) RPMA__LOG(RPMA_LOG_LEVEL_WARNING, __VA_ARGS__)
#define RPMA_LOG_NOTICE(...)  RPMA__LOG(RPMA_LOG_LEVEL_NOTICE, __VA_ARGS__)
#define RPMA_LOG_INFO(...)    RPMA__LOG(RPMA_LOG_LEVEL_INFO, __VA_ARGS__)
#define RPMA_LOG_DEBUG(...)   RPMA__LOG(RPMA_LOG_LEVEL_DEBUG, __VA_ARGS__)

/* a provider's call failed, errno tells why; call is its name with its main arguments */
#define RPMA_LOG_PROVIDER(call, ...) RPMA_LOG_ERROR(call ": %s", ##__VA_ARGS__, strerror(errno))

#endif /* RPMA_LOG_H */
