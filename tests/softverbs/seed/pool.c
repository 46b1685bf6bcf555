/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/*
 * pool.c - what goes through libuv's thread pool runs in the loop's thread, in the order of the seed
 *
 * Proven: jobs and look-ups keep their loop alive, are done once, on the loop's thread, and called
 *         back later than the call; the order is the same for the same seed, and not for all seeds; a
 *         job that has not begun can be cancelled, one that has run cannot; localhost and numbers are
 *         found, other names are not; a job may wait for the device.
 */

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <rdma/rdma_cma.h>
#include <uv.h>

#include "../softverbs_seed.h"
#include "check.h"

#define JOBS   6
#define WORLDS 50

static struct {
	uv_loop_t loop;
	pthread_t thread;
	char order[4 * JOBS + 1]; /* a letter a step */
	unsigned steps;
	bool in_call;
	uv_work_t jobs[JOBS];
	uv_work_t canceled;
	uv_getaddrinfo_t lookups[3];
	unsigned callbacks;
} w;

static void step(char what)
{
	CHECK(w.steps < sizeof(w.order) - 1);
	w.order[w.steps++] = what;
}

static void on_work(uv_work_t *work)
{
	CHECK(pthread_equal(pthread_self(), w.thread));
	CHECK(!w.in_call);
	CHECK(uv_loop_alive(&w.loop));
	CHECK_INT(uv_cancel((uv_req_t *)work), UV_EBUSY);
	step((char)('a' + (work - w.jobs)));
}

static void after_work(uv_work_t *work, int status)
{
	CHECK_OK(status);
	CHECK(work->loop == &w.loop);
	step((char)('A' + (work - w.jobs)));
	w.callbacks++;
}

static void no_work(uv_work_t *work)
{
	(void)work;
	CHECK(!"a job that was cancelled");
}

static void after_cancel(uv_work_t *work, int status)
{
	CHECK(work == &w.canceled);
	CHECK_INT(status, UV_ECANCELED);
	w.callbacks++;
}

static void on_lookup(uv_getaddrinfo_t *req, int status, struct addrinfo *res)
{
	unsigned i = (unsigned)(req - w.lookups);

	step((char)('0' + i));
	w.callbacks++;
	if (i == 2) {
		CHECK(status != 0);
		CHECK(res == NULL);
		return;
	}
	CHECK_OK(status);
	CHECK_INT(res->ai_family, AF_INET);
	CHECK_INT(ntohl(((struct sockaddr_in *)res->ai_addr)->sin_addr.s_addr),
		i == 0 ? INADDR_LOOPBACK : 0x0a090901);
	CHECK_INT(ntohs(((struct sockaddr_in *)res->ai_addr)->sin_port), 7204);
	uv_freeaddrinfo(res);
}

static void lookup(unsigned i, const char *name)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

	CHECK_OK(uv_getaddrinfo(&w.loop, &w.lookups[i], on_lookup, name, "7204", &hints));
}

/* a synchronous call of the device, which waits for its event inside of the job */
static void resolve(void)
{
	struct sockaddr_in dst = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(7204) };
	struct rdma_cm_id *id;

	CHECK_OK(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&dst, 1000));
	CHECK_OK(rdma_resolve_route(id, 1000));
	CHECK_OK(rdma_destroy_id(id));
}

static void on_device_work(uv_work_t *work)
{
	resolve();
	on_work(work);
}

static void run_world(uint64_t seed, char *order)
{
	check_seed = seed;
	CHECK_OK(softverbs_seed_restart(seed));
	memset(&w, 0, sizeof(w));
	w.thread = pthread_self();
	CHECK_OK(uv_loop_init(&w.loop));
	w.in_call = true;
	CHECK_INT(uv_queue_work(&w.loop, &w.jobs[0], NULL, after_work), UV_EINVAL);
	CHECK_INT(uv_getaddrinfo(&w.loop, &w.lookups[0], on_lookup, NULL, NULL, NULL), UV_EINVAL);
	CHECK(!uv_loop_alive(&w.loop));
	for (unsigned i = 0; i < JOBS; i++)
		CHECK_OK(uv_queue_work(
			&w.loop, &w.jobs[i], i == 0 ? on_device_work : on_work, after_work));
	lookup(0, "localhost");
	lookup(1, "10.9.9.1");
	lookup(2, "no-such-host.invalid");
	CHECK_OK(uv_queue_work(&w.loop, &w.canceled, no_work, after_cancel));
	CHECK_OK(uv_cancel((uv_req_t *)&w.canceled));
	CHECK_INT(uv_loop_close(&w.loop), UV_EBUSY);
	w.in_call = false;
	CHECK_OK(uv_run(&w.loop, UV_RUN_DEFAULT));
	CHECK_INT(w.callbacks, JOBS + 4);
	CHECK_OK(uv_loop_close(&w.loop));
	memcpy(order, w.order, sizeof(w.order));
}

int main(void)
{
	char first[sizeof(w.order)];
	char again[sizeof(w.order)];
	char other[sizeof(w.order)];
	unsigned different = 0;

	run_world(1, first);
	for (uint64_t seed = 2; seed < WORLDS; seed++) {
		uint64_t digest;

		run_world(seed, other);
		digest = softverbs_seed_digest();
		different += strcmp(first, other) != 0;
		run_world(seed, again);
		CHECK(strcmp(other, again) == 0);
		CHECK(digest == softverbs_seed_digest());
	}
	printf("%s, and %u other orders\n", first, different);
	CHECK(different > WORLDS / 2);
	return 0;
}
