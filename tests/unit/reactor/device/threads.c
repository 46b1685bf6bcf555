/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/*
 * threads.c - reactors in threads of their own, each making and closing connections, while events
 * of all of them go through whoever reads: the thread sanitizer watches, and nothing is lost
 */

#include <pthread.h>

#include "librpma_uv.h"
#include "unit.h"

#define THREADS 3
#define ROUNDS  100

static struct rpma_peer *peer;

/* one connection, from its making to its end by an event of its queue pair: the end's status */
static int live(rpma_uv_reactor_t *r)
{
	rpma_uv_conn_t *c;
	int status;

	if (rpma_uv_conn_new(r, peer, NULL, &c))
		return 1;
	status = rpma_uv_wait(
		rpma_uv_connect(c, NULL, UNIT_ADDR, UNIT_PORT, NULL), UINT64_MAX, NULL);
	if (status == 0) {
		rpma_uv_future_t *end = rpma_uv_conn_end(c, NULL);

		/* for all threads: whose connections are READY at that moment end */
		double_push_async(IBV_EVENT_PORT_ERR, NULL);
		status = rpma_uv_wait(end, UINT64_MAX, NULL);
	}
	rpma_uv_conn_close(c, NULL, NULL);
	while (uv_run(r->loop, UV_RUN_DEFAULT))
		;
	return status;
}

static void *thread(void *arg)
{
	unsigned *failures = arg;
	rpma_uv_reactor_t r;
	uv_loop_t loop;

	if (uv_loop_init(&loop))
		return arg;
	for (unsigned i = 0; i < ROUNDS; i++) {
		/* a reactor for a few rounds: ownership goes round too */
		if (i % 10 == 0 && rpma_uv_reactor_init(&loop, &r, NULL))
			return arg;
		*failures += live(&r) != UV_ENETDOWN;
		if (i % 10 < 9)
			continue;
		rpma_uv_reactor_close(&r, NULL, NULL);
		while (uv_run(&loop, UV_RUN_DEFAULT))
			;
	}
	return uv_loop_close(&loop) ? arg : NULL;
}

static void threads__share_a_device(void **state)
{
	pthread_t threads[THREADS];
	unsigned failures[THREADS] = { 0 };

	(void)state;
	double_auto_bits(DOUBLE_AUTO_CM | DOUBLE_AUTO_FLUSH);
	peer = unit_peer_new();
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, thread, &failures[i]), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *failed;

		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
		assert_int_equal(failures[i], 0);
	}
	assert_int_equal(double_problems(), 0);
	unit_peer_delete(peer);
}

UNIT_MAIN(UNIT_TEST(threads__share_a_device))
