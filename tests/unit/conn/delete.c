/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026, rpma-uv contributors */

/* delete.c - a connection in any state can be deleted, and all of it goes */

#include "unit.h"

#define OWN_CHANNELS                                                              \
	"rdma_destroy_qp ibv_destroy_cq ibv_destroy_comp_channel ibv_destroy_cq " \
	"ibv_destroy_comp_channel rdma_destroy_id rdma_destroy_event_channel ibv_dereg_mr"
#define SHARED_CHANNEL                                                   \
	"rdma_destroy_qp ibv_destroy_cq ibv_destroy_cq rdma_destroy_id " \
	"ibv_destroy_comp_channel rdma_destroy_event_channel ibv_dereg_mr"

static void delete__steps(void **state)
{
	int is_shared;

	(void)state;
	for (is_shared = 0; is_shared < 2; is_shared++) {
		struct rpma_conn_cfg *cfg = unit_cfg(7, is_shared);
		struct unit_conn u;

		unit_conn_new(&u, cfg);
		assert_int_equal(rpma_conn_delete(&u.conn), 0);
		assert_null(u.conn);
		assert_string_equal(double_log(), is_shared ? SHARED_CHANNEL : OWN_CHANNELS);
		unit_peer_delete(u.peer);
		assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
	}
}

static void delete__null(void **state)
{
	struct rpma_conn *conn = NULL;

	(void)state;
	assert_int_equal(rpma_conn_delete(NULL), RPMA_E_INVAL);
	assert_int_equal(rpma_conn_delete(&conn), 0);
	assert_int_equal(double_calls_total(), 0);
}

/* never established, refused, lost, with events and completions that nobody fetched */
static void delete__any_state(void **state)
{
	static const enum rdma_cm_event_type types[] = { RDMA_CM_EVENT_ESTABLISHED,
		RDMA_CM_EVENT_REJECTED, RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_DEVICE_REMOVAL };
	struct rpma_peer *peer = unit_peer_new();
	const struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	struct rpma_conn *conn = NULL;
	size_t i;

	(void)state;
	for (i = 0; i < 2 * sizeof(types) / sizeof(types[0]); i++) {
		struct rpma_conn_req *req = unit_req_active(peer, NULL);
		struct rdma_cm_id *id = double_last_id();
		enum rpma_conn_event event;

		assert_int_equal(rpma_conn_req_connect(&req, NULL, &conn), 0);
		double_push_cm(id, types[i / 2], 0, NULL, 0);
		double_push_wc(id->qp->send_cq, &wc);
		if (i % 2)
			assert_int_equal(rpma_conn_next_event(conn, &event), 0);
		assert_int_equal(rpma_conn_delete(&conn), 0);
	}
	unit_peer_delete(peer);
}

/* a failing step is reported, and the others run all the same */
static void delete__step_fails(void **state)
{
	static const struct {
		const char *call;
		unsigned k;
	} steps[] = { { "ibv_destroy_cq", 1 }, { "ibv_destroy_comp_channel", 1 },
		{ "ibv_destroy_cq", 2 }, { "ibv_destroy_comp_channel", 2 },
		{ "rdma_destroy_id", 1 }, { "ibv_dereg_mr", 1 } };
	struct rpma_conn_cfg *cfg = unit_cfg(7, false);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct unit_conn u;

		unit_conn_new(&u, cfg);
		double_fail(steps[i].call, steps[i].k, UNIT_ERRNO);
		assert_int_equal(rpma_conn_delete(&u.conn), RPMA_E_PROVIDER);
		assert_errno(UNIT_ERRNO);
		assert_null(u.conn);
		assert_string_equal(double_log(), OWN_CHANNELS);
		assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 1);
		unit_peer_delete(u.peer);
	}
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

/* of several failures the first one counts */
static void delete__steps_fail(void **state)
{
	struct rpma_conn_cfg *cfg = unit_cfg(7, true);
	struct unit_conn u;

	(void)state;
	unit_conn_new(&u, cfg);
	double_fail("ibv_destroy_cq", 2, UNIT_ERRNO);
	double_fail("rdma_destroy_id", 1, EBUSY);
	double_fail("ibv_destroy_comp_channel", 1, EBUSY);
	assert_int_equal(rpma_conn_delete(&u.conn), RPMA_E_PROVIDER);
	assert_errno(UNIT_ERRNO);
	assert_null(u.conn);
	assert_int_equal(unit_logged(RPMA_LOG_LEVEL_ERROR), 3);
	unit_peer_delete(u.peer);
	assert_int_equal(rpma_conn_cfg_delete(&cfg), 0);
}

UNIT_MAIN(UNIT_TEST(delete__any_state), UNIT_TEST(delete__null), UNIT_TEST(delete__step_fails),
	UNIT_TEST(delete__steps), UNIT_TEST(delete__steps_fail))
