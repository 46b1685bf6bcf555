/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright 2026, rpma-uv contributors */

/* map.c - every foreign way of saying "it failed" as one UV_E* */

#include "reactor/status.h"
#include "rig.h"

/* work completions, all of them */
static void map__work_completions(void **state)
{
	static const int expected[] = {
		[IBV_WC_SUCCESS] = 0,
		[IBV_WC_LOC_LEN_ERR] = UV_EMSGSIZE,
		[IBV_WC_LOC_QP_OP_ERR] = UV_EIO,
		[IBV_WC_LOC_EEC_OP_ERR] = UV_EIO,
		[IBV_WC_LOC_PROT_ERR] = UV_EFAULT,
		[IBV_WC_WR_FLUSH_ERR] = UV_EIO,
		[IBV_WC_MW_BIND_ERR] = UV_EIO,
		[IBV_WC_BAD_RESP_ERR] = UV_EIO,
		[IBV_WC_LOC_ACCESS_ERR] = UV_EIO,
		[IBV_WC_REM_INV_REQ_ERR] = UV_EREMOTEIO,
		[IBV_WC_REM_ACCESS_ERR] = UV_EACCES,
		[IBV_WC_REM_OP_ERR] = UV_EREMOTEIO,
		[IBV_WC_RETRY_EXC_ERR] = UV_ETIMEDOUT,
		[IBV_WC_RNR_RETRY_EXC_ERR] = UV_ENOBUFS,
		[IBV_WC_LOC_RDD_VIOL_ERR] = UV_EIO,
		[IBV_WC_REM_INV_RD_REQ_ERR] = UV_EIO,
		[IBV_WC_REM_ABORT_ERR] = UV_EIO,
		[IBV_WC_INV_EECN_ERR] = UV_EIO,
		[IBV_WC_INV_EEC_STATE_ERR] = UV_EIO,
		[IBV_WC_FATAL_ERR] = UV_EIO,
		[IBV_WC_RESP_TIMEOUT_ERR] = UV_EIO,
		[IBV_WC_GENERAL_ERR] = UV_EIO,
	};

	(void)state;
	for (int i = IBV_WC_SUCCESS; i <= IBV_WC_GENERAL_ERR; i++)
		assert_int_equal(rpma_uv__status_wc((enum ibv_wc_status)i), expected[i]);
	assert_int_equal(rpma_uv__status_wc((enum ibv_wc_status)1000), UV_EIO);
}

/* CM events, all of them, with a status that is an errno, a reason code, or nothing */
static void map__cm_events(void **state)
{
	static const struct {
		int with_errno, with_reason;
	} expected[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = { -ENETDOWN, UV_EIO },
		[RDMA_CM_EVENT_ADDR_ERROR] = { -ENETDOWN, UV_EADDRNOTAVAIL },
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = { -ENETDOWN, UV_EIO },
		[RDMA_CM_EVENT_ROUTE_ERROR] = { UV_EHOSTUNREACH, UV_EHOSTUNREACH },
		[RDMA_CM_EVENT_CONNECT_REQUEST] = { -ENETDOWN, UV_EIO },
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = { -ENETDOWN, UV_EIO },
		[RDMA_CM_EVENT_CONNECT_ERROR] = { -ENETDOWN, UV_EIO },
		[RDMA_CM_EVENT_UNREACHABLE] = { UV_EHOSTUNREACH, UV_EHOSTUNREACH },
		[RDMA_CM_EVENT_REJECTED] = { UV_ECONNREFUSED, UV_ECONNREFUSED },
		[RDMA_CM_EVENT_ESTABLISHED] = { -ENETDOWN, UV_EIO },
		[RDMA_CM_EVENT_DISCONNECTED] = { UV_ECONNRESET, UV_ECONNRESET },
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = { UV_ENODEV, UV_ENODEV },
		[RDMA_CM_EVENT_MULTICAST_JOIN] = { -ENETDOWN, UV_EIO },
		[RDMA_CM_EVENT_MULTICAST_ERROR] = { -ENETDOWN, UV_EIO },
		[RDMA_CM_EVENT_ADDR_CHANGE] = { -ENETDOWN, UV_EIO },
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = { UV_ECONNRESET, UV_ECONNRESET },
	};

	(void)state;
	for (int i = RDMA_CM_EVENT_ADDR_RESOLVED; i <= RDMA_CM_EVENT_TIMEWAIT_EXIT; i++) {
		enum rdma_cm_event_type type = (enum rdma_cm_event_type)i;

		assert_int_equal(rpma_uv__status_cm(type, -ENETDOWN), expected[i].with_errno);
		assert_int_equal(rpma_uv__status_cm(type, 28), expected[i].with_reason);
		assert_int_equal(rpma_uv__status_cm(type, 0), expected[i].with_reason);
	}
}

/* return codes of the core */
static void map__core(void **state)
{
	(void)state;
	errno = ENXIO;
	assert_int_equal(rpma_uv__status_core(0), 0);
	assert_int_equal(rpma_uv__status_core(RPMA_E_INVAL), UV_EINVAL);
	assert_int_equal(rpma_uv__status_core(RPMA_E_NOMEM), UV_ENOMEM);
	assert_int_equal(rpma_uv__status_core(RPMA_E_NOSUPP), UV_ENOTSUP);
	assert_int_equal(rpma_uv__status_core(RPMA_E_AGAIN), UV_EAGAIN);
	assert_int_equal(rpma_uv__status_core(RPMA_E_PROVIDER), UV_ENXIO);
	assert_int_equal(rpma_uv__status_core(RPMA_E_NO_COMPLETION), UV_EIO);
	assert_int_equal(rpma_uv__status_core(RPMA_E_UNKNOWN), UV_EIO);
}

/* errno, which is never success */
static void map__errno(void **state)
{
	(void)state;
	errno = EADDRINUSE;
	assert_int_equal(rpma_uv__status_errno(), UV_EADDRINUSE);
	errno = 0;
	assert_int_equal(rpma_uv__status_errno(), UV_EIO);
}

/* the detail of a completion: its status below, the vendor's code above */
static void map__detail(void **state)
{
	const struct ibv_wc wc = { .status = IBV_WC_RETRY_EXC_ERR, .vendor_err = 0x81 };

	(void)state;
	assert_int_equal(rpma_uv__detail_wc(&wc), 0x8100 | IBV_WC_RETRY_EXC_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(map__work_completions),
		RIG_TEST(map__cm_events),
		RIG_TEST(map__core),
		RIG_TEST(map__errno),
		RIG_TEST(map__detail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
