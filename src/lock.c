/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* lock.c - one lock for the provider's calls that may race */

#include <assert.h>
#include <pthread.h>

#include "lock.h"

static pthread_mutex_t provider = PTHREAD_MUTEX_INITIALIZER;

void rpma__lock(void)
{
	const int ret = pthread_mutex_lock(&provider);

	assert(ret == 0);
	(void)ret;
}

void rpma__unlock(void)
{
	const int ret = pthread_mutex_unlock(&provider);

	assert(ret == 0);
	(void)ret;
}
