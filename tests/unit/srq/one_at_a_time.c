/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * one_at_a_time.c - threads may make and delete shared receive queues at once: the provider's calls
 * that may race are made by one thread at a time
 */

#include <pthread.h>

#include "unit.h"

#define THREADS 4
#define ROUNDS  200

/* the linker sends the library's calls here */
void __real_rpma__lock(void);
void __real_rpma__unlock(void);
struct ibv_srq *__real_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int __real_ibv_destroy_srq(struct ibv_srq *srq);
void __wrap_rpma__lock(void);
void __wrap_rpma__unlock(void);
struct ibv_srq *__wrap_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int __wrap_ibv_destroy_srq(struct ibv_srq *srq);

static __thread bool has_lock;
static unsigned calls;
static unsigned calls_without_lock;

void __wrap_rpma__lock(void)
{
	__real_rpma__lock();
	has_lock = true;
}

void __wrap_rpma__unlock(void)
{
	has_lock = false;
	__real_rpma__unlock();
}

static void count(void)
{
	__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
	if (!has_lock)
		__atomic_add_fetch(&calls_without_lock, 1, __ATOMIC_SEQ_CST);
}

struct ibv_srq *__wrap_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	count();
	return __real_ibv_create_srq(pd, attr);
}

int __wrap_ibv_destroy_srq(struct ibv_srq *srq)
{
	count();
	return __real_ibv_destroy_srq(srq);
}

static void *make_and_delete(void *arg)
{
	struct rpma_peer *peer = arg;
	struct rpma_srq *srq;
	uintptr_t failures = 0;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		failures += rpma_srq_new(peer, NULL, &srq) != 0;
		failures += rpma_srq_delete(&srq) != 0;
	}
	return (void *)failures;
}

static void one_at_a_time__threads(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	pthread_t threads[THREADS];
	int i;

	(void)state;
	calls = 0;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_and_delete, peer), 0);
	for (i = 0; i < THREADS; i++) {
		void *failures;

		assert_int_equal(pthread_join(threads[i], &failures), 0);
		assert_null(failures);
	}
	assert_int_equal(calls, THREADS * ROUNDS * 2);
	assert_int_equal(calls_without_lock, 0);
	unit_peer_delete(peer);
}

/* and the lock is given back when the provider refuses */
static void one_at_a_time__refused(void **state)
{
	struct rpma_peer *peer = unit_peer_new();
	struct rpma_srq *srq = NULL;

	(void)state;
	double_fail("ibv_create_srq", 1, UNIT_ERRNO);
	assert_int_equal(rpma_srq_new(peer, NULL, &srq), RPMA_E_PROVIDER);
	assert_false(has_lock);
	assert_int_equal(rpma_srq_new(peer, NULL, &srq), 0);
	double_fail("ibv_destroy_srq", 1, UNIT_ERRNO);
	assert_int_equal(rpma_srq_delete(&srq), RPMA_E_PROVIDER);
	assert_false(has_lock);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(one_at_a_time__refused), UNIT_TEST(one_at_a_time__threads))
