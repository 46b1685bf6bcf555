/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* resolver.c - names: looked up on libuv's pool, while the loop goes on */

#include <dlfcn.h>
#include <netdb.h>

#include "rig.h"

/* libuv's calls come here, and ours of numeric addresses too */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED int getaddrinfo(
	const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **res);

static uv_sem_t answer_now, asked;
static bool is_silent; /* read by the pool's threads */

int getaddrinfo(
	const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **res)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
		(int (*)(const char *, const char *, const struct addrinfo *,
			struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");

	if (__atomic_load_n(&is_silent, __ATOMIC_SEQ_CST) && !(hints->ai_flags & AI_NUMERICHOST)) {
		uv_sem_post(&asked);
		uv_sem_wait(&answer_now);
	}
	return real(node, service, hints, res);
}

static void silence(void)
{
	uv_sem_init(&answer_now, 0);
	uv_sem_init(&asked, 0);
	__atomic_store_n(&is_silent, true, __ATOMIC_SEQ_CST);
}

static void talk_again(void)
{
	uv_sem_post(&answer_now);
	__atomic_store_n(&is_silent, false, __ATOMIC_SEQ_CST);
}

/* a name: resolved, connected, and shown as a number */
static void resolver__name(void **state)
{
	struct rig_conn c;

	(void)state;
	rig.is_patient = true;
	rig_conn_new(&c, NULL);
	assert_int_equal(rig_await(rpma_uv_connect(c.conn, NULL, "localhost", UNIT_PORT, NULL)), 0);
	assert_non_null(strstr(rpma_uv_conn_remote_addr(c.conn), ":7204"));
}

/* a name that cannot be resolved, and ones that libuv does not even ask for */
static void resolver__no_such_name(void **state)
{
	static char long_name[2000];
	const char *names[] = { "256.256.256.256.invalid", "", long_name };

	(void)state;
	memset(long_name, 'a', sizeof(long_name) - 1);
	rig.is_patient = true;
	for (unsigned i = 0; i < 3; i++) {
		struct rig_conn c;
		int status;

		rig_conn_new(&c, NULL);
		status = rig_await(rpma_uv_connect(c.conn, NULL, names[i], UNIT_PORT, NULL));
		assert_true(status < 0);
		assert_int_not_equal(status, UV_ETIMEDOUT);
		rig_conn_gone(&c);
	}
}

static unsigned ticks;

static void tick(uv_timer_t *timer)
{
	(void)timer;
	ticks++;
}

/* a resolver that never answers: the loop's timers keep firing, and the connect times out */
static void resolver__never_answers(void **state)
{
	static uv_timer_t timer;
	struct rig_done done;
	struct rig_conn c;

	(void)state;
	silence();
	uv_timer_init(&rig.loop, &timer);
	uv_timer_start(&timer, tick, 10, 10);
	ticks = 0;
	rig_conn_new(&c, NULL);
	rig_watch(rpma_uv_connect(c.conn, NULL, "localhost", UNIT_PORT, NULL), &done);
	RIG_UNTIL(done.times > 0); /* the clock jumps from timer to timer */
	assert_done(done, UV_ETIMEDOUT);
	assert_true(ticks >= 90);
	rig_conn_gone(&c);
	uv_close((uv_handle_t *)&timer, NULL);
	talk_again();
	rig_close();
}

/* the same of who only looks for the device */
static void resolver__never_answers_for_a_peer(void **state)
{
	struct rpma_peer *peer = UNIT_UNTOUCHED;
	static uv_timer_t timer;
	struct rig_done done;

	(void)state;
	silence();
	uv_timer_init(&rig.loop, &timer);
	uv_timer_start(&timer, tick, 10, 10);
	ticks = 0;
	rig_watch(rpma_uv_peer_new(
			  &rig.reactor, NULL, "localhost", RPMA_UTIL_IBV_CONTEXT_REMOTE, &peer),
		&done);
	RIG_UNTIL(done.times > 0);
	assert_done(done, UV_ETIMEDOUT);
	assert_true(ticks >= 90);
	assert_ptr_equal(peer, UNIT_UNTOUCHED);
	uv_close((uv_handle_t *)&timer, NULL);
	talk_again();
	rig_close();
}

/* closed while the name is looked up: the answer finds nobody */
static void resolver__abandoned(void **state)
{
	rpma_uv_reactor_opts_t opts = rig_opts();

	(void)state;
	for (unsigned how = 0; how < 3; how++) {
		struct rig_done done;
		rpma_uv_future_t *f;
		struct rig_conn c;

		silence();
		rig_conn_new(&c, NULL);
		f = rig_watch(rpma_uv_connect(c.conn, NULL, "localhost", UNIT_PORT, NULL), &done);
		uv_sem_wait(&asked);
		if (how == 0)
			assert_int_equal(rpma_uv_cancel(f, 0), 0);
		else if (how == 1)
			rig_conn_close(&c);
		else
			rig_close_begin();
		RIG_UNTIL(done.times > 0);
		assert_done(done, UV_ECANCELED);
		if (how == 1)
			RIG_UNTIL(c.closed > 0);
		else if (how == 2)
			RIG_UNTIL(rig.is_closed); /* it waits for no resolver */
		talk_again();
		rig_reactor(&opts);
	}
}

/* no memory for the look-up */
static void resolver__out_of_memory(void **state)
{
	struct rig_conn c;
	rpma_uv_op_t op;

	(void)state;
	rig_conn_new(&c, NULL);
	unit_alloc_fail(1);
	assert_int_equal(
		rig_await(rpma_uv_connect(c.conn, &op, "localhost", UNIT_PORT, NULL)), UV_ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(resolver__name),
		RIG_TEST(resolver__no_such_name),
		RIG_TEST(resolver__never_answers),
		RIG_TEST(resolver__never_answers_for_a_peer),
		RIG_TEST(resolver__abandoned),
		RIG_TEST(resolver__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
