/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* new.c - finding the device behind an address */

#include "rig.h"

static rpma_uv_future_t *find(
	const char *addr, enum rpma_util_ibv_context_type type, struct rpma_peer **peer)
{
	return rpma_uv_peer_new(&rig.reactor, NULL, addr, type, peer);
}

#define LOCAL  RPMA_UTIL_IBV_CONTEXT_LOCAL
#define REMOTE RPMA_UTIL_IBV_CONTEXT_REMOTE

/* local and remote, by number and by name: a peer that works */
static void new__found(void **state)
{
	static const char *const addrs[] = { "192.0.2.1", "2001:db8::1", "localhost" };

	(void)state;
	rig.is_patient = true;
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < 2; k++) {
			struct rpma_peer *peer = NULL;
			struct rig_done done;

			rig_watch(find(addrs[i], k ? REMOTE : LOCAL, &peer), &done);
			assert_int_equal(done.times, 0);
			RIG_UNTIL(done.times > 0);
			assert_done(done, 0);
			assert_non_null(peer);
			unit_peer_delete(peer);
			assert_int_equal(double_live(DOUBLE_ID), 0);
		}
	}
}

/* arguments; a wildcard address is on no device; a name that is none */
static void new__refused(void **state)
{
	struct rpma_peer *peer = UNIT_UNTOUCHED;

	(void)state;
	rig.is_patient = true;
	assert_int_equal(rig_await(find(NULL, LOCAL, &peer)), UV_EINVAL);
	assert_int_equal(rig_await(find(UNIT_ADDR, LOCAL, NULL)), UV_EINVAL);
	assert_int_equal(
		rig_await(find(UNIT_ADDR, (enum rpma_util_ibv_context_type)7, &peer)), UV_EINVAL);
	assert_int_equal(rig_await(find("0.0.0.0", LOCAL, &peer)), UV_EINVAL);
	assert_int_equal(rig_await(find("::", LOCAL, &peer)), UV_EINVAL);
	assert_true(rig_await(find("256.1.1.1.invalid", REMOTE, &peer)) < 0);
	assert_true(rig_await(find("", REMOTE, &peer)) < 0);
	assert_ptr_equal(peer, UNIT_UNTOUCHED);
}

/* each provider call that fails */
static void new__provider_refuses(void **state)
{
	static const struct {
		const char *call;
		enum rpma_util_ibv_context_type type;
	} cases[] = {
		{ "rdma_create_event_channel", LOCAL },
		{ "rdma_create_id", REMOTE },
		{ "rdma_bind_addr", LOCAL },
		{ "rdma_resolve_addr", REMOTE },
		{ "ibv_alloc_pd", LOCAL },
		{ "ibv_alloc_pd", REMOTE },
	};
	struct rpma_peer *peer = UNIT_UNTOUCHED;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double_fail(cases[i].call, 1, ENETDOWN);
		assert_int_equal(rig_await(find(UNIT_ADDR, cases[i].type, &peer)), UV_ENETDOWN);
		assert_int_equal(double_live(DOUBLE_ID), 0);
	}
	assert_ptr_equal(peer, UNIT_UNTOUCHED);
}

/* nobody reaches the address, or nobody answers for it, or the device goes */
static void new__not_found(void **state)
{
	static const struct {
		enum rdma_cm_event_type type;
		int status;
		int expected;
	} cases[] = {
		{ RDMA_CM_EVENT_ADDR_ERROR, -ENODEV, UV_ENODEV },
		{ RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, UV_ETIMEDOUT },
		{ RDMA_CM_EVENT_ADDR_ERROR, 0, UV_EADDRNOTAVAIL },
		{ RDMA_CM_EVENT_DEVICE_REMOVAL, 0, UV_ENODEV },
	};
	struct rpma_peer *peer = UNIT_UNTOUCHED;
	uint64_t start = uv_now(&rig.loop);
	struct rig_done done;

	(void)state;
	double_auto_bits(0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_watch(find(UNIT_ADDR, REMOTE, &peer), &done);
		double_push_cm(double_last_id(), cases[i].type, cases[i].status, NULL, 0);
		RIG_UNTIL(done.times > 0);
		assert_done(done, cases[i].expected);
		assert_int_equal((int)done.detail, cases[i].status);
	}
	assert_int_equal(uv_now(&rig.loop), start);
	rig_watch(find(UNIT_ADDR, REMOTE, &peer), &done);
	RIG_UNTIL(done.times > 0); /* the clock jumps */
	assert_done(done, UV_ETIMEDOUT);
	assert_true(uv_now(&rig.loop) >= start + RPMA_DEFAULT_TIMEOUT_MS);
	assert_ptr_equal(peer, UNIT_UNTOUCHED);
}

/* given up */
static void new__cancelled(void **state)
{
	static const char *const addrs[] = { UNIT_ADDR, "localhost" };
	struct rpma_peer *peer = UNIT_UNTOUCHED;

	(void)state;
	double_auto_bits(0);
	for (unsigned i = 0; i < 2; i++) {
		rpma_uv_future_t *f = find(addrs[i], REMOTE, &peer);

		assert_int_equal(rpma_uv_cancel(f, 0), 0);
		assert_int_equal(rpma_uv_cancel(f, 0), UV_EALREADY);
		assert_int_equal(rig_await(f), UV_ECANCELED);
	}
	assert_ptr_equal(peer, UNIT_UNTOUCHED);
	assert_int_equal(double_live(DOUBLE_ID), 0);
}

/* no memory, whichever allocation it is */
static void new__out_of_memory(void **state)
{
	rpma_uv_op_t op;
	unsigned failed = 0;

	(void)state;
	rig.is_patient = true;
	assert_int_equal(
		rig_await(find("0.0.0.0", LOCAL, &(struct rpma_peer *){ NULL })), UV_EINVAL);
	unit_alloc_fail(1);
	for (unsigned i = 0; i < 64; i++)
		(void)rpma_uv_promise(&rig.reactor, NULL);
	assert_null(
		find(UNIT_ADDR, LOCAL, &(struct rpma_peer *){ NULL })); /* no room for a future */
	for (unsigned k = 1; k < 10; k++) {
		struct rpma_peer *peer = UNIT_UNTOUCHED;
		int status;

		unit_alloc_fail(k);
		status = rig_await(rpma_uv_peer_new(
			&rig.reactor, &op, k % 2 ? "localhost" : UNIT_ADDR, REMOTE, &peer));
		unit_alloc_fail(0);
		if (status == 0) {
			unit_peer_delete(peer);
			continue;
		}
		assert_int_equal(status, UV_ENOMEM);
		assert_ptr_equal(peer, UNIT_UNTOUCHED);
		failed++;
	}
	assert_true(failed >= 2);
	rig.is_patient = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(new__found),
		RIG_TEST(new__refused),
		RIG_TEST(new__provider_refuses),
		RIG_TEST(new__not_found),
		RIG_TEST(new__cancelled),
		RIG_TEST(new__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
